/* mj_makeM (whose first part was once mj_crb) and mj_factorM: the joint-space inertia and its factors. */
#include "engines/physics/group.h"

/* mj_tendonArmature: adds what tendons' armature does, in the entries that M has. */
BE_INLINE void arm_tendons(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    for (int t = 0; t < m->ntendon; t++) {
        const int32_t *dofs = m->ten_J_colind + m->ten_J_rowadr[t];
        const be_vd *moves = g->ten_J + m->ten_J_rowadr[t];
        if (BE_K1(tendon_armature, t) == 0) continue;
        for (int k = 0; k < m->ten_J_rownnz[t]; k++) {
            const be_vd scale = BE_K(tendon_armature, t) * moves[k];
            const int first = m->M_rowadr[dofs[k]], end = first + m->M_rownnz[dofs[k]];
            for (int p = 0, at = first; p <= k; p++) {
                while (at < end && m->M_colind[at] < dofs[p]) at++;
                if (at < end && m->M_colind[at] == dofs[p]) g->M[at] += scale * moves[p];
            }
        }
    }
}

BE_INLINE void inertia(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_copy(g->crb, g->cinert, 10 * m->nbody);
    for (int i = (int)m->nbody - 1; i >= 0; i--) {
        const int parent = m->body_parentid[i];
        if (parent > 0) be_add_to(g->crb + 10 * parent, g->crb + 10 * i, 10);
    }
    for (int i = 0; i < m->nv; i++) {
        be_vd *row = g->M + m->M_rowadr[i], force[6];
        if (m->dof_simplenum[i]) {
            row[0] = BE_K(dof_M0, i);
            continue;
        }
        int k = m->M_rownnz[i] - 1;
        be_mul_inert_vec(force, g->crb + 10 * m->dof_bodyid[i], g->cdof + 6 * i);
        row[k] = BE_K(dof_armature, i) + be_dot6(g->cdof + 6 * i, force);
        for (int j = m->dof_parentid[i]; j >= 0; j = m->dof_parentid[j]) {
            row[--k] = be_set1(0) + be_dot6(g->cdof + 6 * j, force);
        }
    }
    if (*m->arms_tendons) arm_tendons(g, wide);
    be_copy(g->qLD, g->M, m->nC);
    g->present &= ~be_physics_factor(m, g->qLD, g->qLDiagInv);
}
BE_PHYSICS_STAGE(inertia)

unsigned be_physics_factor(const be_physics_model *m, be_vd *restrict matrix, be_vd *restrict inverse) {
    be_vl singular = be_lane_numbers() < 0;
    for (int k = (int)m->nv - 1; k >= 0; k--) {
        const int diagonal = m->M_rownnz[k] - 1;
        be_vd *row = matrix + m->M_rowadr[k];
        const int32_t *columns = m->M_colind + m->M_rowadr[k];
        singular |= ~(row[diagonal] >= BE_MINVAL);
        inverse[k] = 1 / row[diagonal];
        for (int a = diagonal - 1; a >= 0; a--) {
            const int i = columns[a], n = m->M_rownnz[i];
            const be_vd scale = -row[a] * inverse[k];
            be_vd *other = matrix + m->M_rowadr[i];
            for (int q = 0; q < n; q++) other[q] += row[q] * scale;
        }
        for (int q = 0; q < diagonal; q++) row[q] *= inverse[k];
    }
    return be_mask_bits(singular);
}

void be_physics_solve(const be_physics_model *m, int first, int end, be_vd *restrict x, const be_vd *matrix,
                      const be_vd *inverse) {
    for (int i = end - 1; i >= first; i--) {
        const int below = m->M_rownnz[i] - 1;
        const be_vd *row = matrix + m->M_rowadr[i], value = x[i];
        const int32_t *columns = m->M_colind + m->M_rowadr[i];
        const be_vl zero = value == 0; /* MuJoCo skips these: subtracting 0 could change the sign of a 0 */
        for (int a = 0; a < below; a++) {
            const int j = columns[a];
            x[j] = be_select(zero, x[j], x[j] - row[a] * value);
        }
    }
    for (int i = first; i < end; i++) x[i] *= inverse[i];
    for (int i = first; i < end; i++) {
        const int below = m->M_rownnz[i] - 1;
        if (below) x[i] -= be_dot_sparse(matrix + m->M_rowadr[i], x, below, m->M_colind + m->M_rowadr[i]);
    }
}
