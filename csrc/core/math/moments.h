/* Means and variances of a batch's observations, and the normalization of observations by them. */
#ifndef BE_MOMENTS_H
#define BE_MOMENTS_H

#include "batchenv.h"

/* Computes mean[size] and variance[size] over `count` rows of `size` values each, in the precision of the rows (BE_F32
 * or BE_F64) and in NumPy's order of additions (numpy.mean and numpy.var over the first axis), so that results equal
 * Gymnasium's. */
void be_moments(const void *rows, be_dtype dtype, int64_t count, int64_t size, void *mean, void *variance);

/* out = (rows - mean) / deviation, in the rows' precision, then rounded to float32; `out` may be the rows. */
void be_standardize(const void *rows, be_dtype dtype, int64_t count, int64_t size, const void *mean,
                    const void *deviation, float *out);

#endif
