/* Shared libraries that hold env types of others: loaded, and their tables checked before anything relies on them. */
#ifndef BE_LIBRARY_H
#define BE_LIBRARY_H

#include "batchenv.h"

#define BE_MAX_TYPES 256 /* of a library */

typedef struct be_part {
    const char *isa; /* "avx512", "avx2", "baseline" or "any" */
    const be_library *types;
} be_part;

/* What a shared library holds: its types for each instruction set that it was compiled for, best first. */
typedef struct be_loaded {
    be_part parts[4];
    int num_parts;
} be_loaded;

/* Loads the library at `path`, for good: nothing says when the last lane of its types has gone. What headers for
 * authors declare is found in this module, which becomes visible to libraries loaded later. Fails where it is no
 * library, holds no type, was compiled with another version of the contract, or has a table that breaks a rule. */
int be_library_load(const char *path, be_loaded *loaded, be_error *error);

/* The type for an instruction set, or for one that every CPU has; NULL: there is none of that name. */
const be_env_type *be_loaded_type(const be_loaded *loaded, const char *isa, const char *name);

#endif
