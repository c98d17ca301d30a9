/* mj_tendon for fixed tendons, and their velocities, which mj_fwdVelocity computes. */
#include "engines/physics/group.h"

BE_INLINE void tendon(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < m->ntendon; i++) {
        const int first = m->ten_J_rowadr[i], count = m->ten_J_rownnz[i];
        be_vd length = be_set1(0), *row = g->ten_J + first;
        for (int k = m->tendon_adr[i]; k < m->tendon_adr[i] + m->tendon_num[i]; k++) {
            length += BE_K(wrap_prm, k) * g->qpos[m->jnt_qposadr[m->wrap_objid[k]]];
        }
        for (int k = 0; k < count; k++) row[k] = BE_K(tendon_coefs, first + k);
        g->ten_length[i] = length;
        g->ten_velocity[i] = be_dot_sparse(row, g->qvel, count, m->ten_J_colind + first);
    }
}
BE_PHYSICS_STAGE(tendon)
