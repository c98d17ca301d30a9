/* Whether actions are in the action space. */
#include "core/fp.h"
#include "core/isa/isa.h"

#include <math.h>

#define CHECK_DISCRETE(TYPE)                                                                                           \
    do {                                                                                                               \
        const TYPE *restrict values = actions;                                                                         \
        const uint64_t n = (uint64_t)batch->action_space.n;                                                            \
        int64_t bad = 0;                                                                                               \
        for (int64_t i = 0; i < count; i++) bad |= -(int64_t)((uint64_t)(int64_t)values[i] >= n);                      \
        if (__builtin_expect(bad != 0, 0)) {                                                                           \
            for (int64_t i = 0; i < count; i++) {                                                                      \
                if ((uint64_t)(int64_t)values[i] >= n) {                                                               \
                    return be_fail(error, BE_ERROR_VALUE, first_lane + i,                                              \
                                   "action %lld of lane %lld is not in 0..%lld: pass integers from the action "        \
                                   "space; no lane has been stepped",                                                  \
                                   (long long)values[i], (long long)(first_lane + i), (long long)n - 1);               \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        if (canonical) {                                                                                               \
            int64_t *restrict target = canonical;                                                                      \
            for (int64_t i = 0; i < count; i++) target[i] = values[i];                                                 \
        }                                                                                                              \
    } while (0)

/* The bounds hold for the value as the env will see it: rounded to float32. */
#define CHECK_BOX(TYPE)                                                                                                \
    do {                                                                                                               \
        const TYPE *restrict values = actions;                                                                         \
        const int64_t size = be_space_row_size(&batch->action_space), bounds = be_num_bounds(&batch->action_space);    \
        const double *restrict low = batch->action_space.low, *restrict high = batch->action_space.high;               \
        int bad = 0;                                                                                                   \
        if (size == 1) {                                                                                               \
            const float bottom = clip ? -3.4e38f : (float)low[0], top = clip ? 3.4e38f : (float)high[0];               \
            for (int64_t i = 0; i < count; i++) {                                                                      \
                bad |= !(((float)values[i] >= bottom) & ((float)values[i] <= top));                                    \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < count; i++) {                                                                      \
                float value = (float)values[i];                                                                        \
                const int64_t b = i % bounds;                                                                          \
                bad |= clip ? !isfinite(value) : !((double)value >= low[b] && (double)value <= high[b]);               \
            }                                                                                                          \
        }                                                                                                              \
        for (int64_t i = 0; bad && i < count; i++) {                                                                   \
            int64_t lane = first_lane + i / size, j = i % size, b = j % bounds;                                        \
            float value = (float)values[i];                                                                            \
            if (!isfinite(value)) {                                                                                    \
                return be_fail(error, BE_ERROR_VALUE, lane,                                                            \
                               "action %.9g of lane %lld (component %lld) is not a finite float32 number; no "         \
                               "lane has been stepped",                                                                \
                               (double)values[i], (long long)lane, (long long)j);                                      \
            }                                                                                                          \
            if (!clip && !((double)value >= low[b] && (double)value <= high[b])) {                                     \
                return be_fail(error, BE_ERROR_VALUE, lane,                                                            \
                               "action %.9g of lane %lld (component %lld) is not between %.9g and %.9g: clip "         \
                               "it, or make the env with clip_actions=True; no lane has been stepped",                 \
                               (double)values[i], (long long)lane, (long long)j, low[b], high[b]);                     \
            }                                                                                                          \
        }                                                                                                              \
        if (canonical) {                                                                                               \
            float *restrict target = canonical;                                                                        \
            for (int64_t i = 0; i < count; i++) target[i] = (float)values[i];                                          \
        }                                                                                                              \
    } while (0)

static int check_values(const be_batch *batch, const void *actions, be_dtype dtype, int64_t first_lane, int64_t count,
                        int clip, void *canonical, be_error *error) {
    switch (dtype) {
    case BE_I64:
        CHECK_DISCRETE(int64_t);
        return BE_OK;
    case BE_I32:
        CHECK_DISCRETE(int32_t);
        return BE_OK;
    case BE_F32:
        CHECK_BOX(float);
        return BE_OK;
    case BE_F64:
        CHECK_BOX(double);
        return BE_OK;
    default:
        return be_fail(error, BE_ERROR_VALUE, -1, "actions of dtype %d cannot be checked", (int)dtype);
    }
}

int be_isa_check_actions(const be_batch *batch, const void *actions, be_dtype dtype, int64_t first_lane, int64_t count,
                         int clip, void *canonical, be_error *error) {
    if (dtype == BE_I64 || dtype == BE_I32) {
        return check_values(batch, actions, dtype, first_lane, count, clip, canonical, error);
    }
    const be_fp before = be_fp_enter(); /* for doubles become floats */
    const int status = check_values(batch, actions, dtype, first_lane, count, clip, canonical, error);
    be_fp_leave(&before);
    return status;
}
