/* Calls of a library that ends the process when something is wrong. While such a call is guarded, what would end the
 * process ends the call. What the call was working on must not be used again, not even to be freed. */
#ifndef BE_GUARD_H
#define BE_GUARD_H

/* Puts functions of batchenv's own into the linkage tables of the library and of Qt, in place of exit(), printf(),
 * C++'s `new` and those that throw exceptions. In calls that are not guarded, they do what the others do. Calls can be
 * guarded only if this returns 1: the table may be read-only. To be called once, while no other thread uses the
 * library. */
int be_guard_install(void *library);

/* Calls `call`. Returns 1 if it has returned, and 0 if it was ended; be_guard_said() is then why. */
int be_guard_run(void (*call)(void *), void *context);

/* Whether this thread is in a guarded call. */
int be_guard_is_running(void);

/* What the last guarded call of this thread has printed last, or the name of the function that it was ended by. */
const char *be_guard_said(void);

#endif
