/* mj_solPGS and mj_dualFinish with dense matrices and pyramidal cones, for models with one tree of joints.
 *
 * MuJoCo visits rows in an order that depends on how many a lane has, and each visit waits for the one before. So lanes
 * do not iterate in the same vectors: each lane has its own problem, in vectors of four rows as MuJoCo's sums have
 * them, and lanes take turns, visit by visit, so that a core computes the visits of several lanes at once. */
#include <math.h>

#include "engines/physics/group.h"

typedef double four __attribute__((vector_size(32)));
typedef int64_t four_bits __attribute__((vector_size(32)));
enum { FOURS = BE_PGS_ROWS / 4 + 1 }; /* in a row: after the last four rows come up to three more, and zeros */

/* One lane's problem. Arrays of rows have MuJoCo's names where it has them; those of fours end in zeros. */
typedef struct problem {
    int lane, rows;
    int fours; /* fours of rows; after them comes one more in each array */
    four AR[BE_PGS_ROWS * FOURS];
    four force[FOURS], previous[FOURS], momentum[FOURS];
    four low[FOURS], high[FOURS]; /* how large forces may be, in models in which not all of them only push */
    double b[BE_PGS_ROWS], inverse[BE_PGS_ROWS], diagonal[BE_PGS_ROWS]; /* ARinv, and 1 / ARinv */
    four improvement;                                                   /* four times the same */
    double tolerance, scale;
    const uint8_t *visits; /* the rows in the order of this sweep */
    int at;                /* how many of them have been visited */
    int sweeps, most;      /* how many there have been, and may be */
    int run;               /* nesterov_k: sweeps since momentum was lost */
} problem;
enum { ALIGNED = sizeof(four) };
_Static_assert(sizeof(problem) <= (BE_PHYSICS_PROBLEM - 4) * sizeof(double), "BE_PHYSICS_PROBLEM is too small");

#if __has_builtin(__builtin_shufflevector) /* clang, and GCC from 12 on */
#define SHUFFLE(v, a, b, c, d) __builtin_shufflevector(v, v, a, b, c, d)
#else
#define SHUFFLE(v, a, b, c, d) __builtin_shuffle(v, (four_bits){a, b, c, d})
#endif
#define SPREAD(v, k) SHUFFLE(v, k, k, k, k)

/* mju_dot of row `row` with `v`, four times. */
BE_INLINE four dot(const four *row, const four *v, int fours) {
    four sums = {0};
    for (int k = 0; k < fours; k++) sums += row[k] * v[k];
    const four rest = row[fours] * v[fours];
    sums += SHUFFLE(sums, 2, 3, 0, 1);
    sums += SHUFFLE(sums, 1, 0, 3, 2);
    return sums + (SPREAD(rest, 0) + SPREAD(rest, 1) + SPREAD(rest, 2));
}

BE_INLINE four same(double x) { return (four){x, x, x, x}; }
BE_INLINE four choose(four_bits mask, four a, four b) { return (four)(((four_bits)a & mask) | ((four_bits)b & ~mask)); }

/* Forces of four rows, from k * 4 on, that are not larger than they may be. */
BE_INLINE four within(const problem *p, int k, four force) {
    const four most = choose(force > p->high[k], p->high[k], force);
    return choose(force < p->low[k], p->low[k], most);
}
BE_INLINE four pushing(four force) { return (four)((four_bits)force & ~(force < 0)); }

/* ---- sweeps -------------------------------------------------------------------------------------------- */

/* Moves on with momentum, and prepares the next sweep. bounded: whether `low` and `high` say how large forces may be;
 * else they only push. */
BE_INLINE void begin_sweep(problem *p, const int bounded) {
    const double beta = p->sweeps ? (p->run - 1) / (double)(p->run + 2) : 0;
    for (int k = 0; k <= p->fours; k++) {
        const four force = p->force[k];
        if (beta > 0) {
            const four moved = force + beta * (force - p->previous[k]);
            p->force[k] = bounded ? within(p, k, moved) : pushing(moved);
        }
        p->previous[k] = force;
        p->momentum[k] = p->force[k];
    }
    p->visits = be_physics_visits(p->rows, p->sweeps);
    p->at = 0;
    p->improvement = (four){0};
}

/* Returns 0 if the problem is solved. */
static int end_sweep(problem *p) {
    double forward = 0;
    for (int k = 0; k <= p->fours; k++) {
        const four product = (p->force[k] - p->momentum[k]) * (p->momentum[k] - p->previous[k]);
        for (int i = 0; i < 4; i++) forward += product[i];
    }
    p->run = p->sweeps && forward < 0 ? 0 : p->run + 1;
    return !(p->improvement[0] * p->scale < p->tolerance) && ++p->sweeps < p->most;
}

/* Finds the force of the next row. All numbers are there four times: so the force can take its place among its three
 * neighbours, and all four be stored, for the next visit to load without having to wait. */
BE_INLINE void visit(problem *p, const int bounded) {
    static const four_bits only[4] = {{-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, -1, 0}, {0, 0, 0, -1}};
    const int row = p->visits[p->at++];
    four *to = p->force + row / 4;
    const four residual = same(p->b[row]) + dot(p->AR + row * (p->fours + 1), p->force, p->fours);
    const four old = same(((const double *)p->force)[row]);
    four force = old - residual * p->inverse[row];
    if (bounded) {
        const double low = ((const double *)p->low)[row], high = ((const double *)p->high)[row];
        force = choose(force < low, same(low), choose(force > high, same(high), force));
    } else {
        force = pushing(force);
    }
    const four delta = force - old, change = 0.5 * delta * delta * p->diagonal[row] + delta * residual;
    *to = choose(only[row % 4], force, *to); /* before it is known whether the cost is less, as nearly always */
    if (__builtin_expect(change[0] > 1e-10, 0)) {
        *to = choose(only[row % 4], old, *to);
    } else {
        p->improvement -= change;
    }
}

BE_INLINE void sweep(problem *const *problems, int count, const int bounded) {
    problem *open[BE_VL];
    for (int k = 0; k < count; k++) {
        open[k] = problems[k];
        begin_sweep(open[k], bounded);
    }
    while (count) {
        for (int k = 0; k < count; k++) visit(open[k], bounded);
        for (int k = 0; k < count; k++) {
            if (open[k]->at < open[k]->rows) continue;
            if (end_sweep(open[k])) {
                begin_sweep(open[k], bounded);
            } else {
                open[k--] = open[--count];
            }
        }
    }
}

/* ---- a group's problems ------------------------------------------------------------------------------- */

/* What problems are made of, for all lanes: by row. */
typedef struct row_values {
    int count;
    be_vd b[BE_PGS_ROWS], *force;
} row_values;

/* mj_solveM2: Y = J * M^(-1/2), for as many rows as one sum can be interleaved with others. */
enum { TOGETHER = 4 };
static void project(be_physics_group *g, const be_vd *root, int first) {
    const be_physics_model *m = g->m;
    const int64_t nv = m->nv;
    const be_vd *J = g->J + first * nv;
    be_vd *Y = g->Y + first * nv;
    for (int64_t j = nv - 1; j >= 0; j--) {
        const int depth = m->M_rownnz[j] - 1;
        be_vd sums[TOGETHER];
        for (int k = 0; k < TOGETHER; k++) sums[k] = J[k * nv + j];
        for (int64_t i = nv - 1; i > j; i--) { /* degrees of freedom that j carries */
            const int at = m->M_rowadr[i] + depth;
            if (m->M_rownnz[i] <= depth + 1 || m->M_colind[at] != j || m->dof_simplenum[i]) continue;
            const be_vd factor = g->qLD[at];
            for (int k = 0; k < TOGETHER; k++) sums[k] -= factor * Y[k * nv + i];
        }
        for (int k = 0; k < TOGETHER; k++) Y[k * nv + j] = sums[k];
    }
    for (int k = 0; k < TOGETHER; k++) {
        for (int64_t i = 0; i < nv; i++) Y[k * nv + i] *= root[i];
    }
}

/* Row i of Y * Y' up to the diagonal, into the lanes' problems. */
static void multiply_row(const be_physics_group *g, problem *const *problems, int count, int i) {
    const int64_t nv = g->m->nv;
    const be_vd *row = g->Y + i * nv;
    int used[nv], uses = 0;
    for (int k = 0; k < nv; k++) {
        if (be_any(row[k] != 0)) used[uses++] = k;
    }
    for (int j = 0; j <= i; j += 4) {
        be_vd sums[4] = {be_set1(0), be_set1(0), be_set1(0), be_set1(0)};
        const be_vd *others = g->Y + j * nv;
        for (int n = 0; n < uses; n++) {
            const int k = used[n];
            for (int c = 0; c < 4; c++) sums[c] += others[c * nv + k] * row[k];
        }
        for (int n = 0; n < count; n++) {
            const int lane = problems[n]->lane;
            if (i >= problems[n]->rows) continue;
            const double *from = (const double *)sums + lane;
            problems[n]->AR[i * (problems[n]->fours + 1) + j / 4] =
                (four){from[0], from[BE_VL], from[2 * BE_VL], from[3 * BE_VL]};
        }
    }
}

/* Fills in what is above the diagonal and beside the matrix, and adds R to the diagonal (mj_makeAR). */
static void complete(const be_physics_group *g, problem *p) {
    const int stride = 4 * (p->fours + 1), rows = p->rows;
    double *AR = (double *)p->AR;
    for (int i = 0; i < rows; i++) {
        AR[i * (stride + 1)] += ((const double *)&g->R[i])[p->lane];
        for (int j = 0; j < i; j++) AR[j * stride + i] = AR[i * stride + j];
        for (int j = rows; j < stride; j++) AR[i * stride + j] = 0;
        p->inverse[i] = 1 / AR[i * (stride + 1)];
        p->diagonal[i] = 1 / p->inverse[i];
    }
}

/* Begins with the forces at qacc_warmstart, if they are better than none. */
static void warmstart(problem *p, const row_values *r) {
    four b[FOURS], product[FOURS];
    b[p->fours] = product[p->fours] = p->force[p->fours] = (four){0};
    for (int i = 0; i < p->rows; i++) {
        p->b[i] = ((double *)b)[i] = ((const double *)&r->b[i])[p->lane];
        ((double *)p->force)[i] = ((const double *)&r->force[i])[p->lane];
    }
    for (int i = 0; i < p->rows; i++) {
        ((double *)product)[i] = dot(p->AR + i * (p->fours + 1), p->force, p->fours)[0];
    }
    if ((dot(p->force, b, p->fours) + 0.5 * dot(p->force, product, p->fours))[0] > 0) {
        for (int k = 0; k <= p->fours; k++) p->force[k] = (four){0};
    }
}

/* The costs' derivatives at qacc_smooth, and the forces at qacc_warmstart. */
static void evaluate_rows(const be_physics_group *g, row_values *r) {
    const int64_t nv = g->m->nv;
    for (int k = 0; k < r->count; k++) {
        const be_vd *row = g->J + k * nv, jar = be_dot(row, g->qacc_warmstart, nv) - g->aref[k];
        r->b[k] = be_dot(row, g->qacc_smooth, nv) - g->aref[k];
        r->force[k] = be_select(jar < 0, -g->D[k] * jar, be_set1(0));
        if (k >= g->m->ne + g->m->nf) continue;
        r->force[k] = -g->D[k] * jar;
        if (k < g->m->ne) continue;
        const be_vd loss = g->loss[k - g->m->ne], bound = g->bound[k - g->m->ne];
        r->force[k] = be_select(jar <= -bound, loss, be_select(jar >= bound, -loss, r->force[k]));
    }
}

/* How large the forces of equalities and of friction loss may be, and that all others only push. */
static void bound(const be_physics_group *g, problem *p) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < 4 * (p->fours + 1); i++) {
        double *low = (double *)p->low + i, *high = (double *)p->high + i;
        *high = HUGE_VAL, *low = i < m->ne ? -HUGE_VAL : 0;
        if (i < m->ne || i >= m->ne + m->nf) continue;
        *high = ((const double *)&g->loss[i - m->ne])[p->lane], *low = -*high;
    }
}

/* mj_dualFinish, for lanes that have rows: the others keep what they have. */
static void finish(be_physics_group *g, const row_values *r, be_vl here) {
    const be_physics_model *m = g->m;
    const int64_t nv = m->nv;
    be_vd force[nv];
    be_zero(force, nv);
    for (int k = 0; k < r->count; k++) {
        const be_vl pushes = r->force[k] != 0;
        for (int i = 0; i < nv; i++) {
            force[i] = be_select(pushes, force[i] + g->J[k * nv + i] * r->force[k], force[i]);
        }
    }
    for (int i = 0; i < nv; i++) g->qfrc_constraint[i] = be_select(here, force[i], g->qfrc_constraint[i]);
    be_physics_solve(m, 0, (int)nv, force, g->qLD, g->qLDiagInv);
    for (int i = 0; i < nv; i++) g->qacc[i] = be_select(here, force[i] + g->qacc_smooth[i], g->qacc[i]);
}

void be_physics_pgs(be_physics_group *g, unsigned lanes) {
    const be_physics_model *m = g->m;
    problem *problems[BE_VL], *next = (problem *)(((uintptr_t)g->solver + ALIGNED - 1) & ~(uintptr_t)(ALIGNED - 1));
    row_values r = {.force = g->efc_force};
    be_vd trace = be_set1(0);
    be_vl here = be_lane_numbers() < 0;
    const int bounded = m->ne + m->nf > 0;
    int count = 0;
    for (int i = 0; i < m->nv; i++) trace += g->M[m->M_rowadr[i] + m->M_rownnz[i] - 1];
    for (; lanes; lanes &= lanes - 1) {
        const int lane = __builtin_ctz(lanes), rows = (int)g->nefc[lane];
        if (rows == 0) continue;
        if (rows > r.count) r.count = rows;
        here |= be_lane_numbers() == lane;
        problem *p = problems[count++] = next++;
        p->lane = lane, p->rows = rows, p->fours = rows / 4;
        p->tolerance = g->floats[m->at.opt_tolerance], p->most = *m->opt_iterations;
        p->scale = 1 / ((const double *)&trace)[lane];
        p->sweeps = p->run = 0;
    }
    if (count == 0) return;
    be_vd root[m->nv];
    for (int i = 0; i < m->nv; i++) root[i] = 1 / be_sqrt(g->qLD[m->M_rowadr[i] + m->M_rownnz[i] - 1]);
    for (int i = 0; i < r.count; i += TOGETHER) project(g, root, i);
    for (int i = 0; i < r.count; i++) multiply_row(g, problems, count, i);
    evaluate_rows(g, &r);
    for (int k = 0; k < count; k++) {
        complete(g, problems[k]);
        warmstart(problems[k], &r);
        if (bounded) bound(g, problems[k]);
    }
    if (bounded) {
        sweep(problems, count, 1);
    } else {
        sweep(problems, count, 0);
    }
    be_zero(r.force, r.count);
    for (int k = 0; k < count; k++) {
        const problem *p = problems[k];
        for (int i = 0; i < p->rows; i++) ((double *)&r.force[i])[p->lane] = ((const double *)p->force)[i];
    }
    finish(g, &r, here);
}
