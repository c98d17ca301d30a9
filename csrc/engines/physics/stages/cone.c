/* The Hessian of a cone in its middle zone (mj_constraintUpdate), its factor, and the cone along a line (PrimalEval).
 * (gcc 12 ends with an internal error where the former are inlined.) */
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

/* ---- along a line -------------------------------------------------------------------------------------- */

typedef struct cone_zone {
    be_vl top, bottom, middle;
} cone_zone;

static cone_zone cone_zone_of(be_vd N, be_vd T, be_vl flat, be_vd mu) {
    const be_vl top = (flat & ~(N < 0)) | (~flat & (N >= mu * T));
    const be_vl bottom = ~top & (flat | (mu * N + T <= 0));
    return (cone_zone){top, bottom, ~top & ~bottom};
}

/* A point on a line, at `at`: V is the direction, and U where the point is, of which T is the length; U * V is `along`,
 * and T has changed by `change` in its square. */
typedef struct line_point {
    be_vd N, T, along, change, V[BE_CONE_DIMS], U[BE_CONE_DIMS];
    be_vl flat;
} line_point;

static line_point line_point_of(const solver *s, const cone *c, be_vd at) {
    const int k = c->k;
    const be_vd zero = be_set1(0), UV = CONE_UV(s, k), VV = CONE_VV(s, k);
    line_point p = {.N = CONE_U0(s, k) + at * CONE_V0(s, k)};
    be_vd squared = zero;
    p.along = p.change = zero;
    if (c->version >= 4000) {
        for (int j = 1; j < c->dim; j++) {
            const be_vd from = c->f[j] * s->jar[k + j];
            p.V[j] = c->f[j] * s->Jv[k + j];
            const be_vd move = at * p.V[j];
            p.U[j] = from + move;
            squared += p.U[j] * p.U[j];
            p.along += p.U[j] * p.V[j];
            p.change += move * (from + p.U[j]);
        }
    } else {
        p.change = at * (2 * UV + at * VV);
        squared = CONE_SQUARE(s, k) + p.change;
        p.along = UV + at * VV;
    }
    p.flat = squared <= 0;
    p.T = be_select(p.flat, zero, be_sqrt(squared));
    return p;
}

/* How the length of U bends in the middle zone, times how far the point is beyond the cone. */
static be_vd cone_bend(const solver *s, const cone *c, const line_point *p) {
    const be_vd mu = c->f[0], T = p->T;
    if (c->version < 4000) {
        const be_vd T1 = p->along / T, bend = CONE_VV(s, c->k) / T - p->along * T1 / (T * T);
        return (p->N - mu * T) * (-mu * bend);
    }
    be_vd across = be_set1(0);
    for (int i = 1; i < c->dim; i++) {
        for (int j = i + 1; j < c->dim; j++) {
            const be_vd w = p->U[i] / T * p->V[j] - p->V[i] * (p->U[j] / T);
            across += w * w;
        }
    }
    return -((p->N / T - mu) * (mu * across));
}

void be_physics_evaluate_cone(const solver *s, int k, be_vd at, be_vd *cost, be_vd *slope, be_vd *bend) {
    const cone of_place = cone_of(s, k), *c = &of_place;
    const be_vd mu = c->f[0], U0 = CONE_U0(s, k), V0 = CONE_V0(s, k), square = CONE_SQUARE(s, k);
    const be_vd q0 = CONE_COST(s, k), q1 = CONE_SLOPE(s, k), q2 = CONE_BEND(s, k), half = 0.5 * c->stiffness;
    const be_vl flat0 = square <= 0;
    const be_vd T0 = be_select(flat0, be_set1(0), c->version >= 4000 ? square : be_sqrt(square));
    const line_point p = line_point_of(s, c, at);
    const cone_zone from = cone_zone_of(U0, T0, flat0, mu), to = cone_zone_of(p.N, p.T, p.flat, mu);
    const be_vd over0 = U0 - mu * T0, over = p.N - mu * p.T, edge0 = mu * U0 + T0, edge = mu * p.N + p.T;
    const be_vd moved = at * V0 - mu * (p.change / (p.T + T0)), lower = at * (at * q2 + q1);
    be_vd change = be_set1(0);
    change = be_select(from.bottom & to.bottom, at * at * q2 + at * q1, change);
    change = be_select(from.middle & to.middle, half * moved * (2 * over0 + moved), change);
    change = be_select(from.middle & to.bottom, lower + half * edge0 * edge0, change);
    change = be_select(from.bottom & to.middle, lower - half * edge * edge, change);
    change = be_select(from.top & to.bottom, at * at * q2 + at * q1 + q0, change);
    change = be_select(from.top & to.middle, half * over * over, change);
    change = be_select(from.middle & to.top, -0.5 * c->stiffness * over0 * over0, change);
    change = be_select(from.bottom & to.top, -q0, change);
    *cost = be_select(c->here, *cost + change, *cost);
    *slope = be_select(c->here & to.bottom, *slope + (2 * at * q2 + q1), *slope);
    *bend = be_select(c->here & to.bottom, *bend + 2 * q2, *bend);
    const be_vl middle = c->here & to.middle;
    if (!be_any(middle)) return;
    const be_vd slant = V0 - mu * (p.along / p.T);
    *slope = be_select(middle, *slope + c->stiffness * over * slant, *slope);
    *bend = be_select(middle, *bend + c->stiffness * (slant * slant + cone_bend(s, c, &p)), *bend);
}
