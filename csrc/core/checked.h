/* For those who write an env: a type in front of theirs, which looks after each call whether all outputs were written,
 * and whether lanes that were not to be stepped have drawn random numbers. What is not written holds what was there
 * before, which is often the right thing by accident. `python -m batchenv check FILE.c` asks for it with
 * BATCHENV_CHECK_WRITES=1; it makes calls several times slower. */
#ifndef BE_CHECKED_H
#define BE_CHECKED_H

#include "batchenv.h"

/* Puts such a type in front of the batch's, if the environment variable asks for it and there is none yet. The batch's
 * driver owns it. */
int be_checked_open(be_batch *batch, be_error *error);

#endif
