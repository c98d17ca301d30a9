/* Loads shared libraries of env types that others have written, and checks their tables before use. */
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

/* Loads the library at `path` and never unloads it, because nothing tells when the last lane of its types is gone. The
 * library finds the functions that batchenv's headers declare in this module, which becomes visible to libraries loaded
 * later. Fails if the file is not a library, holds no type, was compiled with another version of the contract, or has a
 * table that breaks a rule. */
int be_library_load(const char *path, be_loaded *loaded, be_error *error);

/* The type of that name for an instruction set or, if there is none, for any CPU. Returns NULL if the library has no
 * type of that name. */
const be_env_type *be_loaded_type(const be_loaded *loaded, const char *isa, const char *name);

#endif
