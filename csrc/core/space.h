/* Spaces of ports: what their rows are like, and what they must be. */
#ifndef BE_SPACE_H
#define BE_SPACE_H

#include "batchenv.h"

/* The space that a type's table gives a port. */
be_space be_space_of_port(const be_port *port);
/* Checks what a type's table of ports must have, for built-in types and those of others. */
int be_check_ports(const be_env_type *type, be_error *error);
/* Checks the spaces of a type's ports, which prepare() may have changed; the message names the port. */
int be_check_spaces(const be_env_type *type, const be_space *spaces, be_error *error);
size_t be_space_row_bytes(const be_space *space);
int64_t be_space_row_size(const be_space *space);

/* How many entries of a space's low and high are used: one per value, or a single one if there are more than
 * BE_MAX_BOUNDS values. */
static inline int64_t be_num_bounds(const be_space *space) {
    const int64_t size = be_space_row_size(space);
    return size <= BE_MAX_BOUNDS ? size : 1;
}
/* The index of the bounds of value j of a row. */
static inline int64_t be_bound_of(const be_space *space, int64_t j) {
    return be_space_row_size(space) <= BE_MAX_BOUNDS ? j : 0;
}

static inline int be_is_float(be_dtype dtype) { return dtype == BE_F32 || dtype == BE_F64; }

/* Value j of a row of integers becomes `value`, which fits. */
static inline void be_write_integer(void *row, be_dtype dtype, int64_t j, int64_t value) {
    switch (dtype) {
    case BE_I64:
        ((int64_t *)row)[j] = value;
        break;
    case BE_I32:
        ((int32_t *)row)[j] = (int32_t)value;
        break;
    default:
        ((uint8_t *)row)[j] = (uint8_t)value;
    }
}

#endif
