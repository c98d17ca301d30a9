/* What rows of constraints are made with. */
#ifndef BE_PHYSICS_ROWS_H
#define BE_PHYSICS_ROWS_H

#include "engines/physics/group.h"

/* What rows of a constraint have in common. */
typedef struct be_curve {
    be_vd stiffness, damping, impedance;
} be_curve;

/* getimpedance: of a constraint that is `inside` by so much. `which` is jnt_curve or another array of such numbers. */
#define BE_CURVE_OF(which, index, n) BE_K(which, BE_CURVE *(index) + (n))
#define BE_IMPEDANCE(which, index, shape, inside) BE_IMPEDANCE_AT(which, BE_CURVE *(index), shape, inside)
/* The same for numbers that begin at `first`. */
#define BE_IMPEDANCE_AT(which, first, shape, inside)                                                                   \
    be_impedance_of(shape, inside, BE_K(which, (first) + BE_LEAST), BE_K(which, (first) + BE_MOST),                    \
                    BE_K(which, (first) + BE_WIDTH), BE_K(which, (first) + BE_MIDPOINT),                               \
                    BE_K(which, (first) + BE_BELOW), BE_K(which, (first) + BE_ABOVE))
BE_INLINE be_vd be_impedance_of(int shape, be_vd inside, be_vd least, be_vd most, be_vd width, be_vd midpoint,
                                be_vd below, be_vd above) {
    if (shape == BE_FLAT) return 0.5 * (least + most);
    const be_vd x = be_abs(inside / width), rest = 1 - x;
    be_vd y = x;
    if (shape == BE_QUADRATIC) y = be_select(x <= midpoint, below * (x * x), 1 - above * (rest * rest));
    const be_vd impedance = be_select(x >= 1, most, least + y * (most - least));
    return be_select(x <= 0, least, impedance);
}

BE_INLINE be_vd be_positive(be_vd x) { return be_select(x > BE_MINVAL, x, be_set1(BE_MINVAL)); }

/* Writes how each degree of freedom moves a tendon to a row, which is 0 elsewhere. */
static inline void be_tendon_row(be_vd *row, const be_physics_group *g, int tendon) {
    const int first = g->m->ten_J_rowadr[tendon];
    for (int k = first; k < first + g->m->ten_J_rownnz[tendon]; k++) row[g->m->ten_J_colind[k]] = g->ten_J[k];
}

/* The number of the tree of joints that a degree of freedom belongs to. */
static inline int be_tree_of(const be_physics_model *m, int dof) {
    int tree = 0;
    while (m->tree_dofs[tree + 1] <= dof) tree++;
    return tree;
}

/* Appends a row to the lanes of `here` in which it moves anything: MuJoCo leaves out the others. Trees that it moves
 * become one island. `weight` is the approximate inverse of the inertia that it moves (mj_diagApprox). With sparse
 * matrices, the row is that of a chain. */
#define be_physics_append_row BE_ISA_NAME(be_physics_append_row)
void be_physics_append_row(be_physics_group *g, unsigned here, const be_vd *row, be_chain chain, be_vd weight,
                           const be_curve *c, be_vd inside);

/* A row times x. */
BE_INLINE be_vd be_times_chain(const be_physics_model *m, be_chain chain, const be_vd *row, const be_vd *x) {
    return *m->sparse ? be_dot_sparse(row, x, chain.count, be_chain_dofs(m, chain)) : be_dot(row, x, m->nv);
}

/* Appends rows for the limits of tendons, and of ball joint j, to the lanes of `lanes` that are at these limits. */
#define be_physics_limit_tendons BE_ISA_NAME(be_physics_limit_tendons)
#define be_physics_limit_ball BE_ISA_NAME(be_physics_limit_ball)
void be_physics_limit_tendons(be_physics_group *g, unsigned lanes);
void be_physics_limit_ball(be_physics_group *g, unsigned lanes, int j);

/* The last degree of freedom that moves a body, or -1. */
static inline int be_last_dof(const be_physics_model *m, int body) {
    const int weld = m->body_weldid[body];
    return m->body_dofnum[weld] ? m->body_dofadr[weld] + m->body_dofnum[weld] - 1 : -1;
}

/* Makes the rows of equalities, which exist in `lanes`. Lanes in which MuJoCo leaves out others than at the start get a
 * bit in `left`. */
#define be_physics_make_equalities BE_ISA_NAME(be_physics_make_equalities)
void be_physics_make_equalities(be_physics_group *g, unsigned lanes);

/* Makes one island of those of two trees of joints, in some lanes. */
#define be_physics_join BE_ISA_NAME(be_physics_join)
void be_physics_join(be_physics_group *g, be_vl lanes, int one, int two);

/* Notes which trees of joints a row moves, in those of `lanes` where it moves any, which are returned: these trees
 * become one island. `first` gets one of them. */
#define be_physics_join_trees BE_ISA_NAME(be_physics_join_trees)
be_vl be_physics_join_trees(be_physics_group *g, be_vl lanes, const be_vd *row, be_vd *first);

#endif
