/* mju_factorLUSparse and mju_solveLUSparse: M - timestep * derivatives, which is not symmetric, and what it solves. */
#include "engines/physics/group.h"

/* Factors the matrix in place, from the last row on. Returns the lanes in which a number on its diagonal is nearly 0:
 * there, MuJoCo raises an error. */
static be_vl factor(const be_physics_model *m, be_vd *matrix) {
    be_vl singular = be_lane_numbers() < 0;
    int left[m->nv]; /* entries of each row that have not been met */
    for (int i = 0; i < m->nv; i++) left[i] = m->D_rownnz[i];
    for (int i = (int)m->nv - 1; i >= 0; i--) {
        const int first = m->D_rowadr[i], below = --left[i];
        const be_vd diagonal = matrix[first + below];
        singular |= ~(be_abs(diagonal) >= BE_MINVAL);
        for (int a = below - 1; a >= 0; a--) { /* rows in which there is a number in column i, too */
            const int j = m->D_colind[first + a], row = m->D_rowadr[j], end = row + --left[j];
            const be_vd scale = matrix[end] = matrix[end] / diagonal;
            for (int at = row, k = first; at < end; at++) {
                if (m->D_colind[at] == m->D_colind[k]) matrix[at] -= matrix[k++] * scale;
            }
        }
    }
    return singular;
}

static void solve(const be_physics_model *m, const be_vd *matrix, be_vd *x) {
    for (int i = (int)m->nv - 1; i >= 0; i--) {
        const int first = m->D_diag[i] + 1, count = m->D_rownnz[i] - first, at = m->D_rowadr[i] + first;
        if (count > 0) x[i] -= be_dot_sparse(matrix + at, x, count, m->D_colind + at);
    }
    for (int i = 0; i < m->nv; i++) {
        const int count = m->D_diag[i], at = m->D_rowadr[i];
        if (count > 0) x[i] -= be_dot_sparse(matrix + at, x, count, m->D_colind + at);
        x[i] /= matrix[at + count];
    }
}

BE_INLINE void lu(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    const be_vd time = BE_K(opt_timestep, 0), zero = be_set1(0);
    for (int k = 0; k < m->nD; k++) {
        g->qDeriv[k] = (m->mapM2D[k] < 0 ? zero : g->M[m->mapM2D[k]]) + g->qDeriv[k] * -time;
    }
    g->present &= ~be_mask_bits(factor(m, g->qDeriv));
    solve(m, g->qDeriv, g->moved);
}
BE_PHYSICS_STAGE(lu)
