/* NumPy's float32 sin and cos of one number.
 *
 * On CPUs with FMA NumPy computes them itself: reduction by pi/2 in three float32 parts, then a short
 * polynomial (coefficients below), all in fused multiply-adds, so the bits do not depend on the vector width. On
 * other CPUs, and for huge arguments, it calls the C library. Which of the two this process's NumPy does is
 * measured once and set with be_set_numpy_f32_fused().
 */
#ifndef BE_NUMPY_F32_H
#define BE_NUMPY_F32_H

float be_numpy_sinf(float x);
float be_numpy_cosf(float x);
void be_set_numpy_f32_fused(int fused);

#endif
