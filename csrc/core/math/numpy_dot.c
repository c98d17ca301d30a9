#include "numpy_dot.h"

static struct {
    be_numpy_loop *loop;
    void *data;
} matmul;

void be_numpy_set_matmul(be_numpy_loop *loop, void *data) {
    matmul.loop = loop;
    matmul.data = data;
}

/* As one matrix of a row times one of a column, for which NumPy calls what its dot calls. */
double be_numpy_dot_of(const double *x, const double *y, int64_t n) {
    enum { NUMBER = sizeof(double) };
    double result;
    char *arrays[] = {(char *)(uintptr_t)x, (char *)(uintptr_t)y, (char *)&result};
    const intptr_t counts[] = {1, 1, (intptr_t)n, 1}, row = (intptr_t)n * NUMBER;
    const intptr_t steps[] = {row, row, NUMBER, row, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER};
    matmul.loop(arrays, counts, steps, matmul.data);
    return result;
}
