/* The functions that a library calls in other libraries: their addresses are in its linkage table. */
#ifndef BE_LINKAGE_H
#define BE_LINKAGE_H

typedef void be_any_function(void);

/* The place in a library's linkage table where the address of the function is. NULL: the library does not call it, or
 * the table is read-only. */
be_any_function **be_linkage_entry(void *library, const char *symbol);

typedef struct be_replacement {
    const char *symbol;
    be_any_function *own;     /* what the library calls from now on */
    be_any_function **theirs; /* NULL, or where the address goes that the table had */
} be_replacement;

/* Replaces entries of a library's linkage table. Returns how many of the symbols have one. To be called while no other
 * thread uses the library. */
int be_linkage_replace(void *library, const be_replacement *replacements, int count);

#endif
