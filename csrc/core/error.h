/* What functions say when they fail: see be_fail in batchenv.h. */
#ifndef BE_ERROR_H
#define BE_ERROR_H

#include "batchenv.h"

int be_out_of_memory(be_error *error);

/* What follows when a function of a type's has not returned BE_OK: gives `error`, whose status was BE_OK before the
 * call, a message if the function has not done so. Returns the error's status. */
int be_unexplained(const be_env_type *type, be_error *error);

#endif
