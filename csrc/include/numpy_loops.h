/* NumPy's own float64 functions. Where NumPy has a vectorised exp, tanh or the like, its results differ from the C
 * library's in the last bit, and from one version of NumPy or CPU to another. So these are the very loops of the NumPy
 * that is installed: the ones that a ufunc has for float64. They need no lock of Python's. */
#ifndef BE_NUMPY_LOOPS_H
#define BE_NUMPY_LOOPS_H

#include <stdint.h>

#pragma GCC visibility push(default) /* see batchenv.h */

typedef enum be_numpy_function {
    BE_NUMPY_EXP,
    BE_NUMPY_LOG,
    BE_NUMPY_LOG1P,
    BE_NUMPY_COSH,
    BE_NUMPY_TANH,
    BE_NUMPY_SIN,
    BE_NUMPY_COS,
    BE_NUMPY_ARCSINH,
    BE_NUMPY_ARCCOS,
    BE_NUMPY_ARCTAN2, /* of two arguments */
    BE_NUMPY_FUNCTIONS
} be_numpy_function;

/* Their names in NumPy. */
extern const char *const be_numpy_names[BE_NUMPY_FUNCTIONS];

/* What NumPy calls a PyUFuncGenericFunction: arrays, their lengths, bytes from item to item of each, and its data. */
typedef void be_numpy_loop(char **arrays, const intptr_t *count, const intptr_t *steps, void *data);

/* Takes the loop of a function and its data. To be called before any env is made. */
void be_numpy_set(be_numpy_function function, be_numpy_loop *loop, void *data);

/* Calls such a loop for one number. The second argument is only that of functions of two. */
double be_numpy_call(be_numpy_function function, double x, double y);

static inline double be_numpy_exp(double x) { return be_numpy_call(BE_NUMPY_EXP, x, 0); }
static inline double be_numpy_log(double x) { return be_numpy_call(BE_NUMPY_LOG, x, 0); }
static inline double be_numpy_log1p(double x) { return be_numpy_call(BE_NUMPY_LOG1P, x, 0); }
static inline double be_numpy_cosh(double x) { return be_numpy_call(BE_NUMPY_COSH, x, 0); }
static inline double be_numpy_tanh(double x) { return be_numpy_call(BE_NUMPY_TANH, x, 0); }
static inline double be_numpy_sin(double x) { return be_numpy_call(BE_NUMPY_SIN, x, 0); }
static inline double be_numpy_cos(double x) { return be_numpy_call(BE_NUMPY_COS, x, 0); }
static inline double be_numpy_arcsinh(double x) { return be_numpy_call(BE_NUMPY_ARCSINH, x, 0); }
static inline double be_numpy_arccos(double x) { return be_numpy_call(BE_NUMPY_ARCCOS, x, 0); }
static inline double be_numpy_arctan2(double y, double x) { return be_numpy_call(BE_NUMPY_ARCTAN2, y, x); }

#pragma GCC visibility pop

#endif
