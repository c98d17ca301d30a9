/* The variables of mj_solNewton, for newton.c and its line search. */
#ifndef BE_PHYSICS_SOLVER_H
#define BE_PHYSICS_SOLVER_H

#include "engines/physics/group.h"

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
    be_vl *all, *exists, *active;                   /* by row: `all` of a lane, and those of the tree */
    be_vd *Ma, *Mv, *grad, *Mgrad, *search;         /* by degree of freedom */
    be_vd *by_dof[5];                               /* where the last five begin for all degrees of freedom */
    be_vd *L, *H;                                   /* nv x nv */
    be_vl singular;                                 /* lanes whose Hessian had no factor */
    be_vd cost, line1, line2, evaluations;
} solver;

static inline be_vl none(void) { return be_lane_numbers() < 0; }

static inline const be_vd *row_of(const solver *s, int k) { return s->g->J + (int64_t)k * s->g->m->nv + s->first; }

/* Lanes in which row k pushes where J * qacc - aref is `jar`. All rows are of limits and contacts, which only push
 * apart; those of equalities would push in every lane that has them, and those of friction have a cost of their own. */
static inline be_vl pushes(const solver *s, int k, be_vd jar) { return (jar < 0) & s->exists[k]; }

/* What a search has found: lanes that are done are taken out of `going`. */
typedef struct result {
    be_vl going;
    be_vd at, improvement;
} result;

/* PrimalSearch: how far to go along `search`, in lanes `going`; 0 where nothing is gained. `Mv` is M times `search`. */
#define be_physics_search_line BE_ISA_NAME(be_physics_search_line)
result be_physics_search_line(solver *s, be_vl going);

#endif
