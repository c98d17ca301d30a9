/* Sums with NumPy's roundings, from which Gymnasium's rewards are computed. */
#ifndef BE_NUMPY_SUMS_H
#define BE_NUMPY_SUMS_H

#include <math.h>
#include <stdint.h>

#include "libm.h"

/* np.sum of n values, where value(i) is an expression of i: pairwise over blocks of up to 128 values, with eight
 * running sums in a block. */
#define BE_PAIRWISE(name, type, source_type, term)                                                                     \
    static inline type name(const source_type *x, int64_t n) {                                                         \
        if (n < 8) {                                                                                                   \
            type sum = 0;                                                                                              \
            for (int64_t i = 0; i < n; i++) sum += term(x[i]);                                                         \
            return sum;                                                                                                \
        }                                                                                                              \
        if (n > 128) {                                                                                                 \
            const int64_t half = n / 2 - n / 2 % 8;                                                                    \
            return name##_rest(x, half) + name##_rest(x + half, n - half);                                             \
        }                                                                                                              \
        type r[8];                                                                                                     \
        for (int j = 0; j < 8; j++) r[j] = term(x[j]);                                                                 \
        int64_t i = 8;                                                                                                 \
        for (; i < n - n % 8; i += 8) {                                                                                \
            for (int j = 0; j < 8; j++) r[j] += term(x[i + j]);                                                        \
        }                                                                                                              \
        type sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));                                  \
        for (; i < n; i++) sum += term(x[i]);                                                                          \
        return sum;                                                                                                    \
    }
#define BE_SUM(name, type, source_type, term)                                                                          \
    static type name##_rest(const source_type *x, int64_t n);                                                          \
    BE_PAIRWISE(name, type, source_type, term)                                                                         \
    static __attribute__((noinline, unused)) type name##_rest(const source_type *x, int64_t n) { return name(x, n); }

#define BE_ITSELF(x) (x)
#define BE_TIMES_ITSELF(x) ((x) * (x))
BE_SUM(be_sum, double, double, BE_ITSELF)                 /* np.sum(x) */
BE_SUM(be_sum_squares, double, double, BE_TIMES_ITSELF)   /* np.sum(np.square(x)) */
BE_SUM(be_sum_squares_f32, float, float, BE_TIMES_ITSELF) /* the same in float32 */

/* x.dot(y) of two to four values, which BLAS computes with or without fused multiply-adds; and np.linalg.norm, the
 * root of x.dot(x). */
static inline double be_numpy_dot(const double *x, const double *y, int n, int fused) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum = fused ? be_math.fma(x[i], y[i], sum) : sum + x[i] * y[i];
    return sum;
}
static inline double be_norm(const double *x, int n, int fused) { return sqrt(be_numpy_dot(x, x, n, fused)); }

/* A @ x for a matrix of three rows of n numbers. OpenBLAS has two running sums for each of the first two rows, and four
 * for the third. What is left of four numbers follows, with or without fused multiply-adds. */
static inline void be_numpy_matvec3(const double *matrix, const double *x, int64_t n, int64_t fused, double y[3]) {
    const int64_t whole = n / 4 * 4, left = n - whole;
    const double *end = x + whole;
    for (int row = 0; row < 3; row++) {
        const double *a = matrix + row * n, *b = a + whole;
        const int sums = row < 2 ? 2 : 4;
        double sum[4] = {0};
        for (int64_t i = 0; i < whole; i++) sum[i % sums] += a[i] * x[i];
        y[row] = row < 2 ? sum[0] + sum[1] : sum[0] + sum[2] + (sum[1] + sum[3]);
        if (left == 1) {
            y[row] = fused ? be_math.fma(b[0], end[0], y[row]) : y[row] + b[0] * end[0];
        } else if (left > 1) {
            double rest = b[1] * end[1];
            for (int64_t i = 0; i < left; i += 2) rest = fused ? be_math.fma(b[i], end[i], rest) : rest + b[i] * end[i];
            y[row] += rest;
        }
    }
}

static inline double be_clip_one(double x, double low, double high) {
    x = x < low ? low : x; /* NaN stays NaN */
    return x > high ? high : x;
}

#endif
