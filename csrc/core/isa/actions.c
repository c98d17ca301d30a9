/* Whether actions are in the action space. */
#include "core/isa/isa.h"

#include <math.h>
#include <stdio.h>

#include "core/math/fp.h"
#include "core/space.h"

#define WHERE 128

/* Writes which port a refused value belongs to, if the action has several parts, and which value of the row it is; -1
 * means that there is only one.
 */
static const char *where(const be_batch *batch, int port, int64_t component, char text[WHERE]) {
    const char *name = batch->type->ports[port].name;
    const char *quote = *name ? "'" : "";
    if (*name == 0 && component < 0) return "";
    if (component < 0) {
        snprintf(text, WHERE, " ('%.80s')", name);
    } else {
        snprintf(text, WHERE, " (%s%.80s%s%scomponent %lld)", quote, name, quote, *name ? ", " : "",
                 (long long)component);
    }
    return text;
}

static int refuse_integer(const be_batch *batch, int port, int64_t value, int64_t lane, int64_t component,
                          be_error *error) {
    const be_space *space = &batch->space[port];
    const int64_t b = be_bound_of(space, component < 0 ? 0 : component);
    char text[WHERE];
    return be_fail(error, BE_ERROR_VALUE, lane,
                   "action %lld of lane %lld%s is not in %lld..%lld: pass integers from the action space; no lane has "
                   "been stepped",
                   (long long)value, (long long)lane, where(batch, port, component, text), (long long)space->low[b],
                   (long long)space->high[b]);
}

static int refuse_number(const be_batch *batch, int port, double value, int finite, int64_t lane, int64_t component,
                         be_error *error) {
    const be_space *space = &batch->space[port];
    const int64_t b = be_bound_of(space, component);
    char text[WHERE];
    where(batch, port, component, text);
    if (!finite) {
        return be_fail(error, BE_ERROR_VALUE, lane,
                       "action %.9g of lane %lld%s is not a finite %s number; no lane has been stepped", value,
                       (long long)lane, text, space->dtype == BE_F32 ? "float32" : "float64");
    }
    return be_fail(error, BE_ERROR_VALUE, lane,
                   "action %.9g of lane %lld%s is not between %.9g and %.9g: clip it, or make the env with "
                   "clip_actions=True; no lane has been stepped",
                   value, (long long)lane, text, space->low[b], space->high[b]);
}

#define CHECK_DISCRETE(TYPE)                                                                                           \
    do {                                                                                                               \
        const TYPE *restrict values = actions;                                                                         \
        const uint64_t start = (uint64_t)(int64_t)space->low[0], n = (uint64_t)be_space_choices(space, 0);             \
        int64_t bad = 0;                                                                                               \
        for (int64_t i = 0; i < count; i++) bad |= -(int64_t)((uint64_t)(int64_t)values[i] - start >= n);              \
        for (int64_t i = 0; __builtin_expect(bad != 0, 0) && i < count; i++) {                                         \
            if ((uint64_t)(int64_t)values[i] - start >= n) {                                                           \
                return refuse_integer(batch, port, values[i], first_lane + i, -1, error);                              \
            }                                                                                                          \
        }                                                                                                              \
        if (canonical) {                                                                                               \
            int64_t *restrict target = canonical;                                                                      \
            for (int64_t i = 0; i < count; i++) target[i] = values[i];                                                 \
        }                                                                                                              \
    } while (0)

/* The bounds hold for the value as the env will see it: rounded to the space's own precision. */
#define CHECK_BOX(TYPE, OWN)                                                                                           \
    do {                                                                                                               \
        const TYPE *restrict values = actions;                                                                         \
        const int64_t size = be_space_row_size(space), bounds = be_num_bounds(space);                                  \
        const double *restrict low = space->low, *restrict high = space->high;                                         \
        const OWN most = sizeof(OWN) == 4 ? (OWN)3.4e38 : (OWN)1.797e308;                                              \
        int bad = 0;                                                                                                   \
        if (size == 1) {                                                                                               \
            const OWN bottom = clip ? -most : (OWN)low[0], top = clip ? most : (OWN)high[0];                           \
            for (int64_t i = 0; i < count; i++) bad |= !(((OWN)values[i] >= bottom) & ((OWN)values[i] <= top));        \
        } else {                                                                                                       \
            for (int64_t i = 0; i < count; i++) {                                                                      \
                OWN value = (OWN)values[i];                                                                            \
                const int64_t b = i % bounds;                                                                          \
                bad |= clip ? !isfinite(value) : !((double)value >= low[b] && (double)value <= high[b]);               \
            }                                                                                                          \
        }                                                                                                              \
        for (int64_t i = 0; bad && i < count; i++) {                                                                   \
            int64_t lane = first_lane + i / size, j = i % size, b = j % bounds;                                        \
            OWN value = (OWN)values[i];                                                                                \
            const int finite = isfinite(value);                                                                        \
            if (!finite || (!clip && !((double)value >= low[b] && (double)value <= high[b]))) {                        \
                return refuse_number(batch, port, (double)values[i], finite, lane, j, error);                          \
            }                                                                                                          \
        }                                                                                                              \
        if (canonical) {                                                                                               \
            OWN *restrict target = canonical;                                                                          \
            for (int64_t i = 0; i < count; i++) target[i] = (OWN)values[i];                                            \
        }                                                                                                              \
    } while (0)

/* For several integers per lane, and for integers that are not int64. */
static int check_integers(const be_batch *batch, int port, const void *actions, be_dtype dtype, int64_t first_lane,
                          int64_t count, void *canonical, be_error *error) {
    const be_space *space = &batch->space[port];
    const int64_t size = be_space_row_size(space);
    for (int64_t i = 0; i < count; i++) {
        const int64_t value = dtype == BE_I64 ? ((const int64_t *)actions)[i] : ((const int32_t *)actions)[i];
        const int64_t b = be_bound_of(space, i % size);
        if (value < (int64_t)space->low[b] || value > (int64_t)space->high[b]) {
            return refuse_integer(batch, port, value, first_lane + i / size, space->ndim ? i % size : -1, error);
        }
        if (canonical) be_write_integer(canonical, space->dtype, i, value);
    }
    return BE_OK;
}

static int check_values(const be_batch *batch, int port, const void *actions, be_dtype dtype, int64_t first_lane,
                        int64_t count, int clip, void *canonical, be_error *error) {
    const be_space *space = &batch->space[port];
    const int narrow = space->dtype == BE_F32;
    if (be_is_float(space->dtype) != be_is_float(dtype)) {
        return be_fail(error, BE_ERROR_VALUE, -1, "actions of dtype %d cannot be checked", (int)dtype);
    }
    switch (dtype) {
    case BE_F32:
        if (narrow) CHECK_BOX(float, float);
        if (!narrow) CHECK_BOX(float, double);
        return BE_OK;
    case BE_F64:
        if (narrow) CHECK_BOX(double, float);
        if (!narrow) CHECK_BOX(double, double);
        return BE_OK;
    case BE_I64:
        if (space->kind != BE_SPACE_DISCRETE) break;
        CHECK_DISCRETE(int64_t);
        return BE_OK;
    case BE_I32:
        if (space->kind != BE_SPACE_DISCRETE) break;
        CHECK_DISCRETE(int32_t);
        return BE_OK;
    default:
        return be_fail(error, BE_ERROR_VALUE, -1, "actions of dtype %d cannot be checked", (int)dtype);
    }
    return check_integers(batch, port, actions, dtype, first_lane, count, canonical, error);
}

int be_isa_check_actions(const be_batch *batch, int port, const void *actions, be_dtype dtype, int64_t first_lane,
                         int64_t count, int clip, void *canonical, be_error *error) {
    if (!be_is_float(dtype)) {
        return check_values(batch, port, actions, dtype, first_lane, count, clip, canonical, error);
    }
    const be_fp before = be_fp_enter(); /* since doubles are rounded to floats */
    const int status = check_values(batch, port, actions, dtype, first_lane, count, clip, canonical, error);
    be_fp_leave(&before);
    return status;
}
