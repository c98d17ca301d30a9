/* mj_tendon for fixed tendons, and their velocities, which mj_fwdVelocity computes. */
#include "engines/physics/algebra.h"
#include "engines/physics/group.h"

BE_INLINE void tendon(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < m->ntendon; i++) {
        be_vd length = be_set1(0), velocity = be_set1(0);
        for (int j = m->tendon_adr[i]; j < m->tendon_adr[i] + m->tendon_num[i]; j++) {
            const int joint = m->wrap_objid[j];
            length += BE_K(wrap_prm, j) * g->qpos[m->jnt_qposadr[joint]];
            velocity += BE_K(wrap_prm, j) * g->qvel[m->jnt_dofadr[joint]];
        }
        g->ten_length[i] = length;
        g->ten_velocity[i] = velocity;
    }
}
BE_PHYSICS_STAGE(tendon)
