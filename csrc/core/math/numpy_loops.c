#include "numpy_loops.h"

const char *const be_numpy_names[BE_NUMPY_FUNCTIONS] = {
    [BE_NUMPY_EXP] = "exp",         [BE_NUMPY_LOG] = "log",         [BE_NUMPY_LOG1P] = "log1p",
    [BE_NUMPY_COSH] = "cosh",       [BE_NUMPY_TANH] = "tanh",       [BE_NUMPY_SIN] = "sin",
    [BE_NUMPY_COS] = "cos",         [BE_NUMPY_ARCSINH] = "arcsinh", [BE_NUMPY_ARCCOS] = "arccos",
    [BE_NUMPY_ARCTAN2] = "arctan2",
};

static struct {
    be_numpy_loop *loop;
    void *data;
} loops[BE_NUMPY_FUNCTIONS];

void be_numpy_set(be_numpy_function function, be_numpy_loop *loop, void *data) {
    loops[function].loop = loop;
    loops[function].data = data;
}

double be_numpy_call(be_numpy_function function, double x, double y) {
    double result;
    char *arrays[] = {(char *)&x, (char *)&y, (char *)&result};
    if (function != BE_NUMPY_ARCTAN2) arrays[1] = (char *)&result;
    const intptr_t count = 1, steps[] = {sizeof x, sizeof y, sizeof result};
    loops[function].loop(arrays, &count, steps, loops[function].data);
    return result;
}
