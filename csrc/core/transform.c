#include "core/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/driver.h"
#include "core/error.h"
#include "core/space.h"

int64_t be_frame_size(const be_space *space, const be_transform *transform) {
    if (!transform->time_aware) return be_space_row_size(space);
    int64_t size = 1; /* for the time */
    switch (space->kind) {
    case BE_SPACE_DISCRETE:
    case BE_SPACE_MULTI_DISCRETE:
    case BE_SPACE_TUPLE:
        for (int64_t j = 0; j < be_space_row_size(space); j++) size += be_space_choices(space, be_bound_of(space, j));
        return size;
    default:
        return size + be_space_row_size(space);
    }
}

/* numpy.result_type of the observation and an int32 time. */
be_dtype be_frame_dtype(const be_space *space, const be_transform *transform) {
    if (transform->convert) return transform->dtype;
    if (!transform->time_aware) return space->dtype;
    switch (space->dtype) {
    case BE_F32:
    case BE_F64:
        return BE_F64;
    case BE_I64:
        return BE_I64;
    default:
        return BE_I32;
    }
}

static size_t frame_bytes(const be_space *space, const be_transform *transform) {
    return (size_t)be_frame_size(space, transform) * be_dtype_size(be_frame_dtype(space, transform));
}

size_t be_transformed_bytes(const be_space *space, const be_transform *transform) {
    return frame_bytes(space, transform) * (size_t)(transform->frame_stack ? transform->frame_stack : 1);
}

static double read_value(const void *row, be_dtype dtype, int64_t j) {
    switch (dtype) {
    case BE_BOOL:
    case BE_U8:
        return ((const uint8_t *)row)[j];
    case BE_I8:
        return ((const int8_t *)row)[j];
    case BE_I32:
        return ((const int32_t *)row)[j];
    case BE_I64:
        return (double)((const int64_t *)row)[j];
    case BE_F32:
        return (double)((const float *)row)[j];
    default:
        return ((const double *)row)[j];
    }
}

/* Fractions are cut off in the conversion to integers, as in NumPy. Values that do not fit become the nearest value
 * that does, and NaN becomes 0. */
static double held(double value, double low, double high) {
    if (value != value) return 0;
    return value < low ? low : value > high ? high : value;
}

static void write_value(void *row, be_dtype dtype, int64_t j, double value) {
    switch (dtype) {
    case BE_BOOL:
        ((uint8_t *)row)[j] = value != 0;
        break;
    case BE_U8:
        ((uint8_t *)row)[j] = (uint8_t)held(value, 0, 255);
        break;
    case BE_I8:
        ((int8_t *)row)[j] = (int8_t)held(value, -128, 127);
        break;
    case BE_I32:
        ((int32_t *)row)[j] = (int32_t)held(value, INT32_MIN, INT32_MAX);
        break;
    case BE_I64:
        ((int64_t *)row)[j] = (int64_t)held(value, -0x1p63, 0x1.fffffffffffffp62);
        break;
    case BE_F32:
        ((float *)row)[j] = (float)value;
        break;
    default:
        ((double *)row)[j] = value;
    }
}

/* One product and one sum, each rounded to the observation's precision. */
static double rescale(const be_space *space, const be_transform *transform, int64_t j, double value) {
    if (space->dtype == BE_F32) {
        float product = (float)transform->gradient[j] * (float)value;
        return (double)(product + (float)transform->intercept[j]);
    }
    double product = transform->gradient[j] * value;
    return product + transform->intercept[j];
}

static void write_frame(const be_batch *batch, int64_t lane, const void *raw, void *frame) {
    const be_transform *transform = &batch->driver->transform;
    const be_space *space = &batch->space[batch->driver->observation];
    const be_dtype dtype = be_frame_dtype(space, transform);
    const int64_t size = be_space_row_size(space);
    if (!transform->rescale && !transform->time_aware && dtype == space->dtype) {
        /* By way of doubles pictures would take long, and large integers would become others. */
        memcpy(frame, raw, batch->driver->raw_bytes);
        return;
    }
    const int is_one_hot = space->kind != BE_SPACE_BOX && space->kind != BE_SPACE_MULTI_BINARY;
    int64_t next = 0;
    for (int64_t j = 0; j < size; j++) {
        double value = read_value(raw, space->dtype, j);
        if (transform->time_aware && is_one_hot) {
            const int64_t b = be_bound_of(space, j), n = be_space_choices(space, b);
            for (int64_t k = 0; k < n; k++) write_value(frame, dtype, next++, (double)k + space->low[b] == value);
        } else {
            write_value(frame, dtype, next++, transform->rescale ? rescale(space, transform, j, value) : value);
        }
    }
    if (transform->time_aware) write_value(frame, dtype, next, (double)be_decisions(batch, lane));
}

void be_transform_observations(be_batch *batch, const int64_t *lanes, int64_t count, int64_t first, void *rows,
                               be_frame frame_is) {
    struct be_driver *driver = batch->driver;
    const size_t bytes = frame_bytes(&batch->space[driver->observation], &driver->transform);
    const int frames = driver->transform.frame_stack;
    for (int64_t k = 0; k < count; k++) {
        const int64_t lane = lanes ? lanes[k] : first + k;
        const unsigned char *raw = driver->raw_observation + (size_t)lane * driver->raw_bytes;
        unsigned char *row = (unsigned char *)rows + (size_t)(lane - first) * driver->observation_bytes;
        if (frames == 0) {
            write_frame(batch, lane, raw, row);
            continue;
        }
        unsigned char *stack = driver->frames + (size_t)lane * driver->observation_bytes;
        if (frame_is != BE_FRAME_SAME) {
            unsigned char *newest = stack + (size_t)(frames - 1) * bytes;
            memmove(stack, stack + bytes, (size_t)(frames - 1) * bytes);
            write_frame(batch, lane, raw, newest);
            if (frame_is == BE_FRAME_FIRST || batch->elapsed[lane] == 0) {
                /* an episode's first observation fills the stack */
                for (int j = 0; j < frames - 1; j++) memcpy(stack + (size_t)j * bytes, newest, bytes);
            }
        }
        memcpy(row, stack, (size_t)frames * bytes);
    }
}

/* ---- making ------------------------------------------------------------------------------------------ */

/* Whether prepare() has left this part of the observation in. */
static int is_observed(const be_batch *batch, int port) {
    return batch->type->ports[port].role == BE_OBSERVATION && be_space_row_size(&batch->space[port]) > 0;
}

/* Says which transforms are asked for that work on observations of one array of numbers only, and which parts there
 * are. */
static int refuse_transforms(const be_batch *batch, const be_transform *transform, be_error *error) {
    const be_env_type *type = batch->type;
    const char *const asked[] = {
        transform->rescale ? "rescale_observation" : NULL, transform->time_aware ? "time_aware" : NULL,
        transform->convert ? "observation_dtype" : NULL, transform->frame_stack ? "frame_stack" : NULL};
    char names[100] = "", parts[200] = "";
    for (size_t k = 0, used = 0; k < sizeof asked / sizeof *asked; k++) {
        if (asked[k]) used += (size_t)snprintf(names + used, sizeof names - used, used ? ", %s" : "%s", asked[k]);
    }
    size_t used = 0;
    int count = 0;
    for (int k = 0; k < batch->driver->num_ports; k++) {
        if (!is_observed(batch, k)) continue;
        count++;
        if (used >= sizeof parts) continue;
        used += (size_t)snprintf(parts + used, sizeof parts - used, used ? ", '%s'" : "'%s'", type->ports[k].name);
    }
    if (count == 1) {
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "%s: only observations of numbers can be transformed so, and those of %s are texts: leave it "
                       "out, and transform what reset() and step() return",
                       names, type->name);
    }
    if (used >= sizeof parts) memcpy(parts + sizeof parts - 4, "...", 4);
    return be_fail(error, BE_ERROR_VALUE, -1,
                   "%s: only observations that are one array can be transformed so, and those of %s have several parts "
                   "(%s): leave it out and transform the parts that reset() and step() return, or, where the "
                   "environment has that keyword, pass observation='flat'",
                   names, type->name, parts);
}

int be_transform_open(be_batch *batch, be_error *error) {
    struct be_driver *driver = batch->driver;
    be_transform *transform = &driver->transform;
    int count = 0;
    for (int k = driver->num_ports - 1; k >= 0; k--) {
        if (!is_observed(batch, k)) continue;
        driver->observation = k;
        count++;
    }
    const be_space *space = &batch->space[driver->observation];
    if (transform->transform_observation && (count > 1 || space->kind == BE_SPACE_TEXT)) {
        return refuse_transforms(batch, transform, error);
    }
    if (!transform->rescale) return BE_OK;
    const size_t size = (size_t)be_space_row_size(space);
    driver->coefficients = calloc(2 * size, sizeof *driver->coefficients);
    if (driver->coefficients == NULL) return be_out_of_memory(error);
    transform->gradient = driver->coefficients;
    transform->intercept = driver->coefficients + size;
    return BE_OK;
}

void be_batch_rescale(be_batch *batch, const double *gradient, const double *intercept) {
    struct be_driver *driver = batch->driver;
    const size_t size = (size_t)be_space_row_size(&batch->space[driver->observation]);
    driver->configured++;
    memcpy(driver->coefficients, gradient, size * sizeof *gradient);
    memcpy(driver->coefficients + size, intercept, size * sizeof *intercept);
}
