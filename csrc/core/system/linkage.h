/* The functions that a library calls in other libraries: their addresses are in its linkage table. */
#ifndef BE_LINKAGE_H
#define BE_LINKAGE_H

typedef void be_any_function(void);

typedef struct be_replacement {
    const char *symbol;
    be_any_function *own;     /* what the library calls from now on */
    be_any_function **theirs; /* NULL, or where the address goes that the table had */
} be_replacement;

/* Replaces entries of a library's linkage table. Returns how many of the symbols were found: the library may not call
 * all of them, and its table may be read-only. To be called while no other thread uses the library. */
int be_linkage_replace(void *library, const be_replacement *replacements, int count);

#endif
