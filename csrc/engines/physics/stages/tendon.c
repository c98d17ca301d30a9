/* mj_tendon for fixed tendons, and their velocities, which mj_fwdVelocity computes. */
#include "engines/physics/group.h"

BE_INLINE void tendon(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < m->ntendon; i++) {
        const int first = m->tendon_adr[i], count = m->tendon_num[i];
        be_vd length = be_set1(0), coefs[count];
        for (int k = 0; k < count; k++) {
            length += BE_K(wrap_prm, first + k) * g->qpos[m->jnt_qposadr[m->wrap_objid[first + k]]];
            coefs[k] = BE_K(tendon_coefs, first + k);
        }
        g->ten_length[i] = length;
        g->ten_velocity[i] = be_dot_sparse(coefs, g->qvel, count, m->tendon_dofs + first);
    }
}
BE_PHYSICS_STAGE(tendon)
