/* The C library's mathematical functions, as Python calls them.
 *
 * Results equal Gymnasium's only if batchenv's sin is the one that math.sin and NumPy call. The build may have linked a
 * different one: some toolchains link a C library of their own into every extension module. So kernels call these
 * functions through be_math. At first it holds the linked functions. Before the first env is made, each one is compared
 * with Python's and replaced by the process's own, which is found by name at run time.
 *
 * Only functions whose results are exact by definition and that compilers turn into instructions (sqrt, floor, fabs and
 * the like) are called directly.
 */
#ifndef BE_LIBM_H
#define BE_LIBM_H

#include <stdint.h>

#pragma GCC visibility push(default) /* see batchenv.h */

typedef struct be_libm {
    double (*sin)(double), (*cos)(double), (*exp)(double), (*log1p)(double);
    double (*pow)(double, double), (*fmod)(double, double), (*remainder)(double, double);
    void (*sincos)(double, double *sine, double *cosine);
    double (*fma)(double, double, double);
    float (*sinf)(float), (*cosf)(float), (*powf)(float, float), (*fmaf)(float, float, float);
    double (*tanh)(double);
    double (*atan2)(double, double);
    double (*log)(double);
} be_libm;

extern be_libm be_math;

/* Takes the float32 functions and fma from the process where it has them, since NumPy calls those. They cannot be
 * compared, because Python's math module has no counterpart. */
void be_libm_begin(void);

/* Takes the function `name` (sin, cos, exp, log, log1p, tanh, or of x and y: pow, fmod, remainder, atan2) from the
 * process if it gives the n `expected` results to the last bit, else the linked one if that does. Returns 1 if either
 * does. If neither does, takes the process's and returns 0. `mismatches` gets the number of results that differ: [0]
 * for the process's function (-1 if it has none of that name), [1] for the linked one. */
int be_libm_choose(const char *name, const double *x, const double *y, const double *expected, int64_t n,
                   int64_t mismatches[2]);

/* Takes a sincos that agrees with the chosen sin and cos for the n arguments. */
void be_libm_choose_sincos(const double *x, int64_t n);

#pragma GCC visibility pop

#endif
