/* The end of mj_implicitSkip with integrator implicitfast: bodies that have a free joint, and are alone in their tree,
 * get accelerations with the derivative of their bias force, too. These replace what g->moved has of them. */
#include "engines/physics/group.h"

/* From this version on, other bodies may be fixed to such a body: masses and inertias are those of all together. */
#define COMPOSITE 3014

/* to = a * b; mju_mulMatMat3 */
BE_INLINE void multiply(be_vd *to, const be_vd *a, const be_vd *b) {
    for (int i = 0; i < 9; i += 3) {
        for (int j = 0; j < 3; j++) to[i + j] = a[i] * b[j] + a[i + 1] * b[3 + j] + a[i + 2] * b[6 + j];
    }
}

/* to = [a]x * b, where column c of [a]x * b is the cross product of a and b's column. */
BE_INLINE void cross_columns(be_vd *to, const be_vd *a, const be_vd *b) {
    for (int c = 0; c < 3; c++) {
        to[c] = a[1] * b[6 + c] - a[2] * b[3 + c];
        to[3 + c] = a[2] * b[c] - a[0] * b[6 + c];
        to[6 + c] = a[0] * b[3 + c] - a[1] * b[c];
    }
}

BE_INLINE be_vd mass_of(const be_physics_group *g, const int wide, int i) {
    return *g->m->version < COMPOSITE ? BE_K(body_mass, i) : g->crb[10 * i + 9];
}

/* Body i's inertia around its centre of mass, along the axes of the world. */
BE_INLINE void inertia_of(be_vd *I, const be_physics_group *g, const int wide, int i) {
    const be_vd *X = g->ximat + 9 * i, *sums = g->crb + 10 * i;
    const be_vd known[9] = {sums[0], sums[3], sums[4], sums[3], sums[1], sums[5], sums[4], sums[5], sums[2]};
    be_copy(I, known, 9);
    if (*g->m->version >= COMPOSITE) return;
    for (int a = 0; a < 3; a++) {
        be_vd scaled[3];
        for (int k = 0; k < 3; k++) scaled[k] = X[3 * a + k] * BE_K(body_inertia, 3 * i + k);
        for (int b = a; b < 3; b++) I[3 * a + b] = I[3 * b + a] = be_dot3(scaled, X + 3 * b);
    }
}

/* freeBias_vel_blocks: the derivatives of body i's bias force by its angular velocity: the force's, which is to be
 * multiplied by minus its mass, and the torque's. */
BE_INLINE void derive_bias(be_vd *linear, be_vd *angular, const be_physics_group *g, const int wide, int i) {
    const be_vd *R = g->xmat + 9 * i, zero = be_set1(0), mass = mass_of(g, wide, i);
    be_vd offset[3], w[3], I[9], K[9], of_offset[9], of_inertia[9], C[9], Iw[3], moved[3];
    be_sub3(offset, (*g->m->version < COMPOSITE ? g->xipos : g->subtree_com) + 3 * i, g->xpos + 3 * i);
    be_mul_mat_vec3(w, R, g->qvel + g->m->body_dofadr[i] + 3);
    inertia_of(I, g, wide, i);
    be_cross(moved, w, offset);
    be_mul_mat_vec3(Iw, I, w);
    const be_vd along = be_dot3(w, offset);
    const be_vd more[9] = {-along, -moved[2], moved[1], moved[2], -along, -moved[0], -moved[1], moved[0], -along};
    for (int k = 0; k < 9; k++) K[k] = offset[k / 3] * w[k % 3] + more[k];
    multiply(linear, K, R);
    cross_columns(of_offset, offset, K);
    cross_columns(of_inertia, w, I);
    const be_vd last[9] = {zero, Iw[2], -Iw[1], -Iw[2], zero, Iw[0], Iw[1], -Iw[0], zero};
    for (int k = 0; k < 9; k++) C[k] = -mass * of_offset[k] + of_inertia[k] + last[k];
    const be_vd turned[9] = {R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]};
    multiply(K, turned, C);
    multiply(angular, K, R);
}

/* mjd_freeMhat: M minus the timestep times the derivatives of body i's forces. */
BE_INLINE void matrix_of(be_vd *A, const be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int first = m->body_dofadr[i];
    const be_vd time = BE_K(opt_timestep, 0), mass = mass_of(g, wide, i);
    be_vd linear[9], angular[9];
    be_zero(A, 36);
    for (int r = 0; r < 6; r++) {
        for (int k = m->M_rowadr[first + r]; k < m->M_rowadr[first + r] + m->M_rownnz[first + r]; k++) {
            const int c = m->M_colind[k] - first;
            A[6 * r + c] = A[6 * c + r] = g->M[k];
        }
    }
    for (int r = 0; r < 6; r++) {
        for (int k = m->D_rowadr[first + r]; k < m->D_rowadr[first + r] + m->D_rownnz[first + r]; k++) {
            A[6 * r + m->D_colind[k] - first] -= time * g->qDeriv[k];
        }
    }
    derive_bias(linear, angular, g, wide, i);
    for (int k = 0; k < 9; k++) {
        A[6 * (k / 3) + 3 + k % 3] += *m->version < COMPOSITE ? -time * mass * linear[k] : time * (-mass * linear[k]);
        A[6 * (3 + k / 3) + 3 + k % 3] += time * angular[k];
    }
}

BE_INLINE void swap(be_vd *a, be_vd *b, int n, be_vl where) {
    for (int k = 0; k < n; k++) {
        const be_vd kept = a[k];
        a[k] = be_select(where, b[k], kept);
        b[k] = be_select(where, kept, b[k]);
    }
}

/* mju_factorLU6 and mju_solveLU6 at once: solves A * x = x. Returns the lanes whose matrix is singular. */
BE_INLINE be_vl solve(be_vd *A, be_vd *x) {
    be_vl singular = be_lane_numbers() < 0;
    for (int k = 0; k < 6; k++) {
        be_vd most = be_abs(A[7 * k]), pivot = be_set1(k);
        for (int i = k + 1; i < 6; i++) {
            const be_vd size = be_abs(A[6 * i + k]);
            pivot = be_select(size > most, be_set1(i), pivot);
            most = be_select(size > most, size, most);
        }
        singular |= ~(most >= BE_MINVAL);
        for (int i = k + 1; i < 6; i++) {
            const be_vl here = pivot == i;
            if (!be_mask_bits(here)) continue;
            swap(A + 6 * k, A + 6 * i, 6, here);
            swap(x + k, x + i, 1, here);
        }
        const be_vd inverse = 1.0 / A[7 * k];
        for (int i = k + 1; i < 6; i++) {
            A[6 * i + k] *= inverse;
            for (int j = k + 1; j < 6; j++) A[6 * i + j] -= A[6 * i + k] * A[6 * k + j];
        }
    }
    for (int i = 1; i < 6; i++) {
        for (int j = 0; j < i; j++) x[i] -= A[6 * i + j] * x[j];
    }
    for (int i = 5; i >= 0; i--) {
        for (int j = i + 1; j < 6; j++) x[i] -= A[6 * i + j] * x[j];
        x[i] /= A[7 * i];
    }
    return singular;
}

BE_INLINE void lone_bodies(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    for (int k = 0; k < m->num_lone; k++) {
        const int first = m->body_dofadr[m->lone_bodies[k]];
        be_vd A[36], x[6];
        matrix_of(A, g, wide, m->lone_bodies[k]);
        for (int i = 0; i < 6; i++) x[i] = g->qfrc_smooth[first + i] + g->qfrc_constraint[first + i];
        g->present &= ~be_mask_bits(solve(A, x));
        be_copy(g->moved + first, x, 6);
    }
}
BE_PHYSICS_STAGE(lone_bodies)
