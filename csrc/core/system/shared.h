/* Shared libraries in this process. */
#ifndef BE_SHARED_H
#define BE_SHARED_H

/* Loads a library, with its functions for the caller alone. Returns NULL if that fails; then be_shared_problem says
 * why. */
void *be_shared_open(const char *path);
void be_shared_close(void *library);
/* The address of a function or a variable of a library, or NULL. */
void *be_shared_find(void *library, const char *name);
/* The function that the process calls by this name: first from what it was started with, then from the system's library
 * of mathematics. NULL: there is none. */
void *be_shared_math(const char *name);
/* Whether the address is in something that is loaded. */
int be_shared_holds(const void *address);
/* The library that the address is in, as if it was opened once more; NULL: none. */
void *be_shared_holder(const void *address);
/* Shows what this module exports to libraries that are loaded later. Returns 0 if that fails. */
int be_shared_show(void);
/* Why the last call in this thread failed. */
const char *be_shared_problem(void);

#endif
