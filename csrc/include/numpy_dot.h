/* NumPy's own dot of float64 arrays. BLAS takes such a sum in an order that depends on the CPU, so this is what the
 * NumPy that is installed calls: see numpy_loops.h. */
#ifndef BE_NUMPY_DOT_H
#define BE_NUMPY_DOT_H

#include "numpy_loops.h"

#pragma GCC visibility push(default) /* see batchenv.h */

/* Takes the loop of NumPy's matmul and its data. To be called before any env is made. */
void be_numpy_set_matmul(be_numpy_loop *loop, void *data);

/* x.dot(y) of n numbers, one or more; np.linalg.norm(x) is the root of x.dot(x). Of two or three, be_numpy_dot() in
 * engines/mujoco/numpy_sums.h computes the same faster. */
double be_numpy_dot_of(const double *x, const double *y, int64_t n);

#pragma GCC visibility pop

#endif
