/* Elliptic cones of friction, for mj_solNewton: `dim` rows from row k on are of one contact, whose force is in a cone.
 * First comes the normal direction, then those of friction. In the bottom zone (where nothing slides) the cost is
 * quadratic in each row, in the top zone it is 0, and in the middle the cone is what counts. */
#ifndef BE_PHYSICS_CONE_H
#define BE_PHYSICS_CONE_H

#include "engines/physics/solver.h"

typedef struct cone {
    int k, dim, version;
    be_vl here;     /* lanes that have it */
    const be_vd *f; /* by row: mu of the regularised cone, then the coefficients of friction */
    const be_vd *D;
    be_vd stiffness; /* in the middle zone */
} cone;

BE_INLINE cone cone_of(const solver *s, int k) {
    const be_physics_group *g = s->g;
    const be_vd mu = g->cone_friction[k];
    return (cone){k,
                  g->row_dim[k],
                  *g->m->version,
                  s->exists[k],
                  g->cone_friction + k,
                  g->D + k,
                  g->D[k] / (mu * mu * (1 + mu * mu))};
}

/* ---- mj_constraintUpdate ------------------------------------------------------------------------------ */

/* Where a cone's J * qacc - aref is: U, of which N is the first number and T the length of the others, and its zone. */
typedef struct cone_point {
    be_vl bottom, middle;
    be_vd N, T, U[BE_CONE_DIMS];
} cone_point;

/* The squared length of 2, 3 or 5 numbers (mju_dot). */
BE_INLINE be_vd squared_length(const be_vd *v, int n) {
    if (n == 2) return v[0] * v[0] + v[1] * v[1];
    if (n == 3) return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    return (v[0] * v[0] + v[2] * v[2]) + (v[1] * v[1] + v[3] * v[3]) + v[4] * v[4];
}

BE_INLINE cone_point cone_point_of(const cone *c, const be_vd *jar) {
    cone_point p = {.U = {jar[0] * c->f[0]}};
    for (int j = 1; j < c->dim; j++) p.U[j] = jar[j] * c->f[j];
    p.N = p.U[0], p.T = be_sqrt(squared_length(p.U + 1, c->dim - 1));
    const be_vd mu = c->f[0];
    const be_vl top = (p.N >= mu * p.T) | ((p.T <= 0) & (p.N >= 0));
    p.bottom = c->here & ~top & ((mu * p.N + p.T <= 0) | ((p.T <= 0) & (p.N < 0)));
    p.middle = c->here & ~top & ~p.bottom;
    return p;
}

BE_INLINE be_vd add_cone_cost(const cone *c, const be_vd *jar, const cone_point *p, be_vd cost) {
    const be_vd beyond = p->N - c->f[0] * p->T;
    for (int j = 0; j < c->dim; j++) cost = be_select(p->bottom, cost + 0.5 * c->D[j] * jar[j] * jar[j], cost);
    return be_select(p->middle, cost + 0.5 * c->stiffness * beyond * beyond, cost);
}

BE_INLINE void cone_forces(const cone *c, const be_vd *jar, const cone_point *p, be_vd *force) {
    const be_vd normal = -c->stiffness * (p->N - c->f[0] * p->T) * c->f[0], per_length = -normal / p->T;
    for (int j = 0; j < c->dim; j++) {
        be_vd slides = normal;
        if (j) slides = c->version >= 4000 ? -normal * (p->U[j] / p->T) * c->f[j] : per_length * p->U[j] * c->f[j];
        force[j] = be_select(p->middle, slides, be_select(p->bottom, -c->D[j] * jar[j], be_set1(0)));
    }
}

/* The factor of the second derivatives of the cost in the middle zone: dim x dim numbers. */
#define be_physics_factor_cone BE_ISA_NAME(be_physics_factor_cone)
void be_physics_factor_cone(const cone *c, const cone_point *p, be_vd *H);

/* ---- along a line -------------------------------------------------------------------------------------- */

/* What is computed once for a line, in the places that rows have for it (PrimalPrepare). From MuJoCo 4 on, `square` is
 * a root. */
#define CONE_COST(s, k) (s)->quad0[k] /* with its two derivatives, in the bottom zone */
#define CONE_SLOPE(s, k) (s)->quad1[k]
#define CONE_BEND(s, k) (s)->quad2[k]
#define CONE_U0(s, k) (s)->quad0[(k) + 1]
#define CONE_V0(s, k) (s)->quad1[(k) + 1]
#define CONE_SQUARE(s, k) (s)->quad2[(k) + 1]
#define CONE_UV(s, k) (s)->quad0[(k) + 2]
#define CONE_VV(s, k) (s)->quad1[(k) + 2]

BE_INLINE void prepare_cone(const solver *s, int k) {
    const cone of_place = cone_of(s, k), *c = &of_place;
    const be_vd *jar = s->jar + k, *Jv = s->Jv + k, zero = be_set1(0);
    be_vd cost = zero, slope = zero, bend = zero, UU = zero, UV = zero, VV = zero;
    for (int j = 0; j < c->dim; j++) {
        const be_vd pull = c->D[j] * jar[j], U = jar[j] * c->f[j], V = Jv[j] * c->f[j];
        cost = j ? cost + jar[j] * pull : jar[j] * pull;
        slope = j ? slope + Jv[j] * pull : Jv[j] * pull;
        bend = j ? bend + Jv[j] * c->D[j] * Jv[j] : Jv[j] * c->D[j] * Jv[j];
        if (j) UU += U * U, UV += U * V, VV += V * V;
    }
    CONE_COST(s, k) = cost * 0.5, CONE_SLOPE(s, k) = slope, CONE_BEND(s, k) = bend * 0.5;
    CONE_U0(s, k) = jar[0] * c->f[0], CONE_V0(s, k) = Jv[0] * c->f[0];
    CONE_SQUARE(s, k) = c->version >= 4000 ? be_sqrt(UU) : UU;
    CONE_UV(s, k) = UV, CONE_VV(s, k) = VV;
}

/* Adds the cone at row k to a point on the line, at `at`: what it costs more than where the line starts, and its
 * derivatives. */
#define be_physics_evaluate_cone BE_ISA_NAME(be_physics_evaluate_cone)
void be_physics_evaluate_cone(const solver *s, int k, be_vd at, be_vd *cost, be_vd *slope, be_vd *bend);

#endif
