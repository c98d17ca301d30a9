/* The variables of mj_solNewton, for newton.c and its line search. */
#ifndef BE_PHYSICS_SOLVER_H
#define BE_PHYSICS_SOLVER_H

#include "engines/physics/group.h"

/* With sparse matrices, an entry of a column of J: of which row it is, and its place in J. */
typedef struct be_column {
    int place, at;
} be_column;

/* The solver's variables; MuJoCo's names where it has them. Row k of lane i exists if bit i of its mask `exists` is
 * set. */
typedef struct solver {
    be_physics_group *g;
    int first, nv; /* the degrees of freedom of the tree under way; at the start, all */
    int rows;
    be_vd *qacc; /* of these degrees of freedom, as all that follow */
    const be_vd *qacc_smooth, *qfrc_smooth;
    be_vd *qfrc_constraint;
    be_vd tolerance, scale;
    be_vd *jar, *Jv, *quad0, *quad1, *quad2, *base; /* by row */
    be_vl *all, *exists, *active, *middle;          /* by row: `all` of a lane, and those of the tree; see cone.h */
    be_vd *Ma, *Mv, *grad, *Mgrad, *search;         /* by degree of freedom */
    be_vd *by_dof[5];                               /* where the last five begin for all degrees of freedom */
    be_vd *L, *H, *L_with_cones, *cone_rows;        /* nv x nv; 6 x nv */
    int plain;                                      /* 1: all rows only push apart, and none is of a cone */
    int has_cones;                                  /* 1: in the middle zone, in some lane */
    const be_column *columns;                       /* with sparse matrices: of all rows, column by column */
    const int *starts;                              /* where each column starts */
    be_vl *fours, downdates; /* how many of its entries each lane sums up in fours; see sparse.c */
    be_vd *fresh_H, *changes;
    be_vl singular; /* lanes whose Hessian had no factor */
    be_vd cost, line1, line2, evaluations;
} solver;

static inline be_vl none(void) { return be_lane_numbers() < 0; }

/* ---- rows ---------------------------------------------------------------------------------------------
 *
 * The first ne rows are of equalities, and the next nf rows of friction loss. They are of the same objects in all
 * lanes. All others are of limits and contacts, which only push apart. Where J * qacc - aref is `jar`, the cost of a
 * row is quadratic in lanes where it is active. In the others it is 0, or, if it is of friction loss, linear: the joint
 * or tendon slides. */

static inline const be_vd *row_of(const solver *s, int k) { return s->g->J + (int64_t)k * s->g->m->nv + s->first; }

/* Which row of friction loss row k is; -1: none. */
static inline int friction_of(const solver *s, int k) {
    const be_physics_model *m = s->g->m;
    return k >= m->ne && k < m->ne + m->nf ? k - (int)m->ne : -1;
}

/* The place, among the degrees of freedom in focus, of the only one that row k moves, and moves by 1; -1: there is no
 * such one. */
static inline int only_dof(const solver *s, int k) {
    const be_physics_model *m = s->g->m;
    const int friction = friction_of(s, k);
    if (friction < 0 || m->friction_id[friction] >= m->nv) return -1;
    const int dof = m->friction_id[friction] - s->first;
    return dof < s->nv ? dof : -1;
}

/* Row k times x, with sparse matrices. */
#define be_physics_sparse_times BE_ISA_NAME(be_physics_sparse_times)
be_vd be_physics_sparse_times(const solver *s, int k, const be_vd *x);

/* Row k times x. */
BE_INLINE be_vd times_row(const solver *s, int k, const be_vd *x) {
    if (*s->g->m->sparse) return be_physics_sparse_times(s, k, x);
    const int dof = only_dof(s, k);
    return dof < 0 ? be_dot(row_of(s, k), x, s->nv) : be_set1(0) + x[dof];
}

/* Where row k, of friction loss, slides one way, and the other. */
typedef struct sliding {
    be_vl below, above;
} sliding;

static inline sliding sliding_of(const solver *s, int k, be_vd jar) {
    const be_vd bound = s->g->bound[friction_of(s, k)];
    const be_vl below = jar <= -bound;
    return (sliding){below & s->exists[k], (jar >= bound) & ~below & s->exists[k]};
}

/* Where row k, of a limit or contact, is active. */
static inline be_vl pushes(const solver *s, int k, be_vd jar) { return (jar < 0) & s->exists[k]; }

/* Where row k, of an equality or friction loss, is active. */
static inline be_vl is_active(const solver *s, int k, be_vd jar) {
    if (k < s->g->m->ne) return s->exists[k];
    const sliding slides = sliding_of(s, k, jar);
    return s->exists[k] & ~slides.below & ~slides.above;
}

/* Adds the cost of row k, of an equality or friction loss, to `cost`. */
static inline be_vd add_cost(const solver *s, int k, be_vd jar, be_vd cost) {
    const be_physics_group *g = s->g;
    const int friction = friction_of(s, k);
    const be_vd active = be_select(is_active(s, k, jar), cost + 0.5 * g->D[k] * jar * jar, cost);
    if (friction < 0) return active;
    const sliding slides = sliding_of(s, k, jar);
    const be_vd loss = g->loss[friction], least = -0.5 * g->R[k] * loss * loss;
    return be_select(slides.below, cost + (least - loss * jar),
                     be_select(slides.above, cost + (least + loss * jar), active));
}

/* Where rows k, k + 1, ..., which only push apart, end: at the next cone, or with all rows. */
static inline int plain_end(const solver *s, int k) {
    if (!*s->g->m->opt_cone) return s->rows;
    while (k < s->rows && s->g->row_dim[k] == 1) k++;
    return k;
}

/* The force of row k, of which s->jar and s->active are known. */
static inline be_vd force_of(const solver *s, int k) {
    const be_physics_group *g = s->g;
    const int friction = friction_of(s, k);
    const be_vd force = be_select(s->active[k], -g->D[k] * s->jar[k], be_set1(0));
    if (friction < 0) return force;
    const sliding slides = sliding_of(s, k, s->jar[k]);
    return be_select(slides.below, g->loss[friction], be_select(slides.above, -g->loss[friction], force));
}

/* ---- sparse matrices ----------------------------------------------------------------------------------- */

/* How many entries all columns of J have. */
#define be_physics_sparse_count BE_ISA_NAME(be_physics_sparse_count)
int be_physics_sparse_count(const be_physics_group *g);

/* Notes the columns of J, in room for as many entries, and for nv + 1 starts. */
#define be_physics_sparse_begin BE_ISA_NAME(be_physics_sparse_begin)
void be_physics_sparse_begin(solver *s, be_column *columns, int *starts);

/* Fills in qfrc_constraint, given the forces of all rows. */
#define be_physics_sparse_push BE_ISA_NAME(be_physics_sparse_push)
void be_physics_sparse_push(solver *s, const be_vd *force);

/* Makes the Hessian and its factor; or brings them up to date after rows, which were active in the lanes `before`, have
 * changed in lanes `going`. Returns the lanes in which rounding has left it without a factor. */
#define be_physics_sparse_factor BE_ISA_NAME(be_physics_sparse_factor)
#define be_physics_sparse_update BE_ISA_NAME(be_physics_sparse_update)
be_vl be_physics_sparse_factor(solver *s);
be_vl be_physics_sparse_update(solver *s, const be_vl *before, be_vl going);

/* mju_cholSolveSparse, in Mgrad. */
#define be_physics_sparse_solve BE_ISA_NAME(be_physics_sparse_solve)
void be_physics_sparse_solve(solver *s);

/* What a search has found: lanes that are done are taken out of `going`. */
typedef struct result {
    be_vl going;
    be_vd at, improvement;
} result;

/* PrimalSearch: how far to go along `search`, in lanes `going`; 0 where nothing is gained. `Mv` is M times `search`. */
#define be_physics_search_line BE_ISA_NAME(be_physics_search_line)
result be_physics_search_line(solver *s, be_vl going);

#endif
