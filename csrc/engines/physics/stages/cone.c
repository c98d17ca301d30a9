/* The Hessian of a cone in its middle zone (mj_constraintUpdate), and its factor. (It has a file of its own because gcc
 * 12 ends with an internal error where it is inlined.) */
#include "engines/physics/cone.h"

/* dim x dim numbers */
static void cone_hessian(const cone *c, const cone_point *p, be_vd *H) {
    const int dim = c->dim, newer = c->version >= 4000;
    const be_vd mu = c->f[0], N = p->N, T = p->T;
    const be_vd outer = newer ? mu * (N / T) : mu * N / (T * T * T);
    const be_vd diagonal = newer ? mu * mu - outer : mu * mu - mu * N / T;
    be_vd u[BE_CONE_DIMS];
    for (int j = 1; j < dim; j++) u[j] = newer ? p->U[j] / T : p->U[j];
    H[0] = be_set1(1);
    for (int j = 1; j < dim; j++) H[j] = newer ? -mu * u[j] : -mu / T * u[j];
    for (int k = 1; k < dim; k++) {
        for (int j = k; j < dim; j++) H[k * dim + j] = outer * u[j] * u[k];
        H[k * (dim + 1)] += diagonal;
    }
    for (int k = 0; k < dim; k++) {
        const be_vd scale = c->stiffness * c->f[k];
        for (int j = k; j < dim; j++) H[j * dim + k] = H[k * dim + j] *= scale * c->f[j];
    }
}

/* mju_cholFactor of such a matrix. Before 3.12, MuJoCo kept what is below a diagonal that was too small. */
void be_physics_factor_cone(const cone *c, const cone_point *p, be_vd *H) {
    cone_hessian(c, p, H);
    const int dim = c->dim;
    for (int j = 0; j < dim; j++) {
        be_vd diagonal = H[j * (dim + 1)];
        if (j) diagonal -= be_dot(H + j * dim, H + j * dim, j);
        const be_vl deficient = diagonal < BE_MINVAL;
        H[j * (dim + 1)] = diagonal = be_sqrt(be_select(deficient, be_set1(BE_MINVAL), diagonal));
        const be_vd inverse = 1 / diagonal;
        for (int i = j + 1; i < dim; i++) {
            const be_vd below = (H[i * dim + j] - be_dot(H + i * dim, H + j * dim, j)) * inverse;
            H[i * dim + j] = c->version >= 3012 ? be_select(deficient, be_set1(0), below) : below;
        }
    }
}
