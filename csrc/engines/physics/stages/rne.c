/* mj_rne without accelerations: the bias force, of gravity and of velocities. */
#include "engines/physics/group.h"

BE_INLINE void rne(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_zero(g->body_acceleration, 3);
    for (int k = 0; k < 3; k++) g->body_acceleration[3 + k] = BE_K(opt_gravity, k) * -1;
    for (int i = 1; i < m->nbody; i++) {
        const int first = m->body_dofadr[i], n = m->body_dofnum[i];
        be_vd *acceleration = g->body_acceleration + 6 * i, part[6], momentum[6], force[6];
        const be_vd *of_parent = g->body_acceleration + 6 * m->body_parentid[i];
        be_mul_dof_vec(part, g->cdof_dot + 6 * first, g->qvel + first, n);
        for (int k = 0; k < 6; k++) acceleration[k] = of_parent[k] + part[k];
        be_mul_inert_vec(force, g->cinert + 10 * i, acceleration);
        be_mul_inert_vec(momentum, g->cinert + 10 * i, g->cvel + 6 * i);
        be_cross_force(part, g->cvel + 6 * i, momentum);
        for (int k = 0; k < 6; k++) g->body_force[6 * i + k] = force[k] + part[k];
    }
    for (int i = (int)m->nbody - 1; i > 0; i--) {
        const int parent = m->body_parentid[i];
        if (parent) be_add_to(g->body_force + 6 * parent, g->body_force + 6 * i, 6);
    }
    for (int i = 0; i < m->nv; i++) g->qfrc_bias[i] = be_dot6(g->cdof + 6 * i, g->body_force + 6 * m->dof_bodyid[i]);
}
BE_PHYSICS_STAGE(rne)
