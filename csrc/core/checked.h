/* For those who write an env: a type in front of theirs, which looks after each call whether all outputs were written,
 * and whether lanes that were not to be stepped have drawn random numbers. What is not written holds what was there
 * before, which is often the right thing by accident. `python -m batchenv check FILE.c` asks for it with
 * BATCHENV_CHECK_WRITES=1; it makes calls several times slower. */
#ifndef BE_CHECKED_H
#define BE_CHECKED_H

#include "batchenv.h"

typedef struct be_checked be_checked;

/* Sets *type to a type that checks *type, if the environment variable asks for it and it does not check yet. Returns
 * what is to be freed after the batch, or NULL where there is nothing; -1 in *status: out of memory. */
be_checked *be_checked_type(const be_env_type **type, int *status);

#endif
