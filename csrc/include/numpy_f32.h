/* NumPy's float32 sin and cos of one number.
 *
 * On CPUs with FMA NumPy computes them itself: reduction by pi/2 in three float32 parts, then a short
 * polynomial (coefficients below), all in fused multiply-adds, so the bits do not depend on the vector width. On
 * other CPUs, and for huge arguments, it calls the C library. Which of the two the NumPy of this process does is
 * measured once, and set with be_set_numpy_f32_fused().
 */
#ifndef BE_NUMPY_F32_H
#define BE_NUMPY_F32_H

#include <stdint.h>

#pragma GCC visibility push(default) /* see batchenv.h */

float be_numpy_sinf(float x);
float be_numpy_cosf(float x);

/* To be called once, before the first env is made, because kernels read the setting. */
void be_set_numpy_f32_fused(int fused);

/* For how many of n arguments be_numpy_sinf or be_numpy_cosf would differ from NumPy's results with this value of
 * `fused`. */
int64_t be_numpy_f32_mismatches(int fused, const float *x, const float *sines, const float *cosines, int64_t n);

#pragma GCC visibility pop

#endif
