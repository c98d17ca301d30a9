#include "core/transform.h"

#include <string.h>

#include "core/batch.h"

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
