#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

int be_fail(be_error *error, be_status status, int64_t lane, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    error->lane = lane;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return (int)status;
}

int be_out_of_memory(be_error *error) { return be_fail(error, BE_ERROR_MEMORY, -1, "out of memory"); }

int be_unexplained(const be_env_type *type, be_error *error) {
    if (error->status != BE_OK) return (int)error->status;
    return be_fail(
        error, BE_ERROR_VALUE, -1,
        "a function of type %s has failed without a message: each must return BE_OK, or what be_fail() returns",
        type->name);
}
