/* mj_comVel: velocities of bodies, and how the degrees of freedom turn along with them. */
#include "engines/physics/group.h"

BE_INLINE void com_vel(be_physics_group *g, const int wide) {
    (void)wide;
    const be_physics_model *m = g->m;
    be_zero(g->cvel, 6);
    for (int i = 1; i < m->nbody; i++) {
        be_vd velocity[6], part[6];
        be_copy(velocity, g->cvel + 6 * m->body_parentid[i], 6);
        const int end = m->body_dofadr[i] + m->body_dofnum[i];
        for (int d = m->body_dofadr[i]; d < end;) {
            const int type = m->jnt_type[m->dof_jntid[d]];
            if (type == BE_FREE) {
                be_zero(g->cdof_dot + 6 * d, 18);
                be_mul_dof_vec(part, g->cdof + 6 * d, g->qvel + d, 3);
                be_add_to(velocity, part, 6);
                d += 3;
            }
            const int n = type == BE_FREE || type == BE_BALL ? 3 : 1;
            for (int k = d; k < d + n; k++) be_cross_motion(g->cdof_dot + 6 * k, velocity, g->cdof + 6 * k);
            be_mul_dof_vec(part, g->cdof + 6 * d, g->qvel + d, n);
            be_add_to(velocity, part, 6);
            d += n;
        }
        be_copy(g->cvel + 6 * i, velocity, 6);
    }
}
BE_PHYSICS_STAGE(com_vel)
