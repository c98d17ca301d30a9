#include "core/math/moments.h"

#include "core/math/fp.h"

/* Vectors run over columns, so that the additions within a column stay in row order whatever the vector width. */
#define MOMENTS(NAME, TYPE)                                                                                            \
    static void NAME(const TYPE *restrict rows, int64_t count, int64_t size, TYPE *restrict mean,                      \
                     TYPE *restrict variance) {                                                                        \
        for (int64_t j = 0; j < size; j++) mean[j] = variance[j] = 0;                                                  \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            for (int64_t j = 0; j < size; j++) mean[j] += rows[i * size + j];                                          \
        }                                                                                                              \
        for (int64_t j = 0; j < size; j++) mean[j] = (TYPE)((double)mean[j] / (double)count);                          \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            for (int64_t j = 0; j < size; j++) {                                                                       \
                TYPE difference = rows[i * size + j] - mean[j];                                                        \
                TYPE square = difference * difference;                                                                 \
                variance[j] += square;                                                                                 \
            }                                                                                                          \
        }                                                                                                              \
        for (int64_t j = 0; j < size; j++) variance[j] = (TYPE)((double)variance[j] / (double)count);                  \
    }
MOMENTS(moments_f32, float)
MOMENTS(moments_f64, double)

void be_moments(const void *rows, be_dtype dtype, int64_t count, int64_t size, void *mean, void *variance) {
    const be_fp before = be_fp_enter();
    if (dtype == BE_F32) {
        moments_f32(rows, count, size, mean, variance);
    } else {
        moments_f64(rows, count, size, mean, variance);
    }
    be_fp_leave(&before);
}

#define STANDARDIZE(TYPE)                                                                                              \
    do {                                                                                                               \
        const TYPE *row = rows, *m = mean, *d = deviation;                                                             \
        for (int64_t i = 0; i < count; i++, row += size, out += size) {                                                \
            for (int64_t j = 0; j < size; j++) out[j] = (float)((row[j] - m[j]) / d[j]);                               \
        }                                                                                                              \
    } while (0)

void be_standardize(const void *rows, be_dtype dtype, int64_t count, int64_t size, const void *mean,
                    const void *deviation, float *out) {
    const be_fp before = be_fp_enter();
    if (dtype == BE_F32) {
        STANDARDIZE(float);
    } else {
        STANDARDIZE(double);
    }
    be_fp_leave(&before);
}
