/* Spaces of ports: how they are made, and what they must be. */
#include "core/space.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void be_space_box_f32(be_space *space, int size, const double *low, const double *high) {
    *space = (be_space){.kind = BE_SPACE_BOX, .dtype = BE_F32, .ndim = 1, .shape = {size}};
    for (int i = 0; i < size; i++) {
        space->low[i] = (double)(float)low[i];
        space->high[i] = (double)(float)high[i];
    }
}

static void fill_bounds(be_space *space, double low, double high) {
    for (int i = 0; i < BE_MAX_BOUNDS; i++) {
        space->low[i] = low;
        space->high[i] = high;
    }
}

void be_space_box(be_space *space, be_dtype dtype, int ndim, const int64_t *shape, double low, double high) {
    *space = (be_space){.kind = BE_SPACE_BOX, .dtype = dtype, .ndim = ndim};
    for (int i = 0; i < ndim; i++) space->shape[i] = shape[i];
    fill_bounds(space, low, high);
}

void be_space_discrete(be_space *space, int64_t n) {
    *space = (be_space){.kind = BE_SPACE_DISCRETE, .dtype = BE_I64};
    fill_bounds(space, 0, (double)(n - 1));
}

void be_space_multi_discrete(be_space *space, int size, const int64_t *choices) {
    *space = (be_space){.kind = BE_SPACE_MULTI_DISCRETE, .dtype = BE_I64, .ndim = 1, .shape = {size}};
    for (int i = 0; i < size; i++) space->high[i] = (double)(choices[i] - 1);
}

be_space be_space_of_port(const be_port *port) {
    be_space space = {.kind = port->kind, .dtype = port->dtype};
    while (space.ndim < BE_MAX_DIMS && port->shape[space.ndim] > 0) {
        space.shape[space.ndim] = port->shape[space.ndim];
        space.ndim++;
    }
    fill_bounds(&space, port->low, port->high);
    for (int64_t j = 0; port->choices && j < port->shape[0] && j < BE_MAX_BOUNDS; j++) {
        space.high[j] = (double)(port->choices[j] - 1);
    }
    return space;
}

int64_t be_space_row_size(const be_space *space) {
    int64_t size = 1;
    for (int i = 0; i < space->ndim; i++) size *= space->shape[i];
    return size;
}

size_t be_space_row_bytes(const be_space *space) {
    return (size_t)be_space_row_size(space) * be_dtype_size(space->dtype);
}

/* ---- what a space must be --------------------------------------------------------------------------- */

#define MAX_ROW_BYTES ((int64_t)1 << 30) /* of all ports of a lane: so no sum of memory overflows */

static const struct {
    const char *name;
    double low, high;
} dtypes[] = {
    [BE_BOOL] = {"BE_BOOL", 0, 1},
    [BE_U8] = {"BE_U8", 0, UINT8_MAX},
    [BE_I32] = {"BE_I32", INT32_MIN, INT32_MAX},
    [BE_I64] = {"BE_I64", -0x1p63, 0x1p63}, /* the double next to its highest value */
    [BE_F32] = {"BE_F32", -FLT_MAX, FLT_MAX},
    [BE_F64] = {"BE_F64", -DBL_MAX, DBL_MAX},
    [BE_I8] = {"BE_I8", INT8_MIN, INT8_MAX},
};

/* A port under examination, for messages. */
typedef struct place {
    const be_env_type *type;
    int row; /* of .ports */
    be_error *error;
} place;

__attribute__((format(printf, 2, 3))) static int bad(const place *at, const char *format, ...) {
    char rule[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rule, sizeof rule, format, arguments);
    va_end(arguments);
    return be_fail(at->error, BE_ERROR_VALUE, -1, "type %s: row %d of .ports (\"%.100s\") %s", at->type->name, at->row,
                   at->type->ports[at->row].name, rule);
}

static int check_shape(const be_space *space, be_role role, int64_t *bytes, const place *at) {
    const int64_t least = role == BE_ACTION; /* other ports may be left out */
    int good = space->ndim >= 0 && space->ndim <= BE_MAX_DIMS;
    for (int i = 0; good && i < space->ndim; i++) good = space->shape[i] >= least;
    if (!good) {
        return bad(at, "must have a shape of at most %d dimensions, each at least %d%s", BE_MAX_DIMS, (int)least,
                   least ? "" : " (a 0 leaves the port out)");
    }
    int64_t size = (int64_t)be_dtype_size(space->dtype);
    for (int i = 0; i < space->ndim; i++) {
        if (space->shape[i] == 0) return BE_OK;
    }
    for (int i = 0; i < space->ndim && size <= MAX_ROW_BYTES; i++) {
        if (__builtin_mul_overflow(size, space->shape[i], &size)) size = INT64_MAX;
    }
    if (size > MAX_ROW_BYTES || (*bytes += size) > MAX_ROW_BYTES) {
        return bad(at, "is too large: the rows of all ports of a lane may have 1 GiB (%lld bytes) together",
                   (long long)MAX_ROW_BYTES);
    }
    return BE_OK;
}

static int check_dtype(const be_space *space, const place *at) {
    if ((unsigned)space->kind > BE_SPACE_TEXT || (unsigned)space->dtype > BE_I8) {
        return bad(at, "has a kind %d or dtype %d, from prepare(), that there is not", (int)space->kind,
                   (int)space->dtype);
    }
    const be_dtype needed = space->kind == BE_SPACE_MULTI_BINARY ? BE_I8 : BE_I64;
    if (space->kind == BE_SPACE_BOX || space->dtype == needed) return BE_OK;
    return bad(at,
               "has the dtype %s, but a space of this kind has %s: write it with BE_DISCRETE(...), "
               "BE_MULTI_DISCRETE(...), BE_MULTI_BINARY(...) or BE_TUPLE(...)",
               dtypes[space->dtype].name, dtypes[needed].name);
}

static int check_bound(const be_space *space, double bound, const place *at) {
    const char *name = dtypes[space->dtype].name;
    if (isnan(bound)) return bad(at, "has a bound that is NaN: take a number");
    if (be_is_float(space->dtype) && isinf(bound)) return BE_OK;
    if (bound < dtypes[space->dtype].low || bound > dtypes[space->dtype].high) {
        return bad(at, "has the bound %g, which its dtype %s cannot hold: it goes from %g to %g%s", bound, name,
                   dtypes[space->dtype].low, dtypes[space->dtype].high,
                   be_is_float(space->dtype) ? "; INFINITY means no bound" : "");
    }
    if (!be_is_float(space->dtype) && bound != floor(bound)) {
        return bad(at, "has the bound %g, but its dtype %s has whole numbers only", bound, name);
    }
    return BE_OK;
}

static int check_bounds(const be_space *space, const place *at) {
    const int counted = space->kind != BE_SPACE_BOX && space->kind != BE_SPACE_MULTI_BINARY;
    for (int64_t j = 0; j < be_num_bounds(space); j++) {
        if (check_bound(space, space->low[j], at) != BE_OK) return BE_ERROR_VALUE;
        if (check_bound(space, space->high[j], at) != BE_OK) return BE_ERROR_VALUE;
        if (space->low[j] <= space->high[j]) continue;
        if (counted)
            return bad(at, "has a value with %g choices: there must be at least 1", space->high[j] - space->low[j] + 1);
        return bad(at, "has a low, %g, above its high, %g: exchange them", space->low[j], space->high[j]);
    }
    return BE_OK;
}

static int check_role(const be_port *port, const be_space *space, const place *at) {
    if (space->kind == BE_SPACE_TUPLE && (port->role != BE_OBSERVATION || port->name[0])) {
        return bad(at, "has BE_TUPLE, which is only for a whole observation, whose port is named \"\": give each part "
                       "of the Tuple a port of its own, named by its number (\"0\", or \"arm/0\" in a Dict)");
    }
    if (port->role == BE_REWARD && (space->kind != BE_SPACE_BOX || space->dtype != BE_F64)) {
        return bad(at, "has further rewards, which must be BE_VALUE(BE_F64) or BE_VALUES(BE_F64, ...)");
    }
    if (space->kind == BE_SPACE_TEXT && (port->role != BE_OBSERVATION || space->dtype != BE_I64 || space->ndim > 1 ||
                                         (port->texts == NULL) == (port->write_text == NULL))) {
        return bad(at, "has texts, which must be part of the observation, with BE_TEXTS(...), BE_TEXT_OF(...) or "
                       "BE_TEXT_CODES(...)");
    }
    return BE_OK;
}

int be_check_ports(const be_env_type *type, be_error *error) {
    int count = 0, actions = 0, observations = 0;
    for (; type->ports && count <= BE_MAX_PORTS && type->ports[count].name; count++) {
        actions += type->ports[count].role == BE_ACTION;
        observations += type->ports[count].role == BE_OBSERVATION;
    }
    if (count > BE_MAX_PORTS) {
        return be_fail(error, BE_ERROR_VALUE, -1, "type %s has more than %d ports, or {0} is missing at their end",
                       type->name, BE_MAX_PORTS);
    }
    if (actions == 0 || observations == 0) {
        return be_fail(
            error, BE_ERROR_VALUE, -1,
            "type %s has no port with the role %s among the first %d: give .ports a row of it (a row that is "
            "left out between others ends the table there)",
            type->name, actions ? "BE_OBSERVATION" : "BE_ACTION", count);
    }
    return BE_OK;
}

int be_check_spaces(const be_env_type *type, const be_space *spaces, be_error *error) {
    int observations = 0;
    int64_t bytes = 0;
    for (int k = 0; type->ports[k].name; k++) {
        const be_port *port = &type->ports[k];
        const be_space *space = &spaces[k];
        const place at = {type, k, error};
        const int told = port->role == BE_INFO || port->role == BE_REWARD; /* has no bounds */
        if (check_role(port, space, &at) != BE_OK || check_dtype(space, &at) != BE_OK ||
            check_shape(space, port->role, &bytes, &at) != BE_OK || (!told && check_bounds(space, &at) != BE_OK)) {
            return BE_ERROR_VALUE;
        }
        observations += port->role == BE_OBSERVATION && be_space_row_size(space) > 0;
    }
    if (observations > 0) return BE_OK;
    return be_fail(error, BE_ERROR_VALUE, -1,
                   "type %s: prepare() has left out all parts of the observation (a 0 in the shape of each): keep one",
                   type->name);
}
