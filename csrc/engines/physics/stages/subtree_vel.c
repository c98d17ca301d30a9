/* mj_subtreeVel: linear velocities and angular momenta of subtrees. */
#include "engines/physics/objects.h"

/* Those of each body alone. `velocity` gets 6 numbers per body. */
BE_INLINE void bodies(be_physics_group *g, const int wide, be_vd *velocity) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < m->nbody; i++) {
        const be_object body = be_object_of(g, BE_OBJECT_BODY, i);
        be_vd turn[3];
        be_object_velocity(velocity + 6 * i, g, &body, 0);
        for (int k = 0; k < 3; k++) g->subtree_linvel[3 * i + k] = velocity[6 * i + 3 + k] * BE_K(body_mass, i);
        be_mul_mat_t_vec3(turn, g->ximat + 9 * i, velocity + 6 * i);
        for (int k = 0; k < 3; k++) turn[k] *= BE_K(body_inertia, 3 * i + k);
        be_mul_mat_vec3(g->subtree_angmom + 3 * i, g->ximat + 9 * i, turn);
    }
}

/* Adds to angular momenta what a mass that moves at `velocity` adds, at an offset. */
BE_INLINE void add_moment(be_vd *to, const be_vd *offset, const be_vd *velocity, be_vd mass) {
    be_vd momentum[3], moment[3];
    for (int k = 0; k < 3; k++) momentum[k] = velocity[k] * mass;
    be_cross(moment, offset, momentum);
    be_add_to(to, moment, 3);
}

BE_INLINE void subtree_vel(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_vd *velocity = g->body_force; /* free after mj_rne */
    be_vd *linear = g->subtree_linvel, *angular = g->subtree_angmom, *com = g->subtree_com;
    bodies(g, wide, velocity);
    for (int i = (int)m->nbody - 1; i >= 0; i--) {
        if (i) be_add_to(linear + 3 * m->body_parentid[i], linear + 3 * i, 3);
        const be_vd mass = BE_K(body_subtreemass, i);
        const be_vd share = 1 / be_select(mass > BE_MINVAL, mass, be_set1(BE_MINVAL));
        for (int k = 0; k < 3; k++) linear[3 * i + k] *= share;
    }
    for (int i = (int)m->nbody - 1; i > 0; i--) {
        const int parent = m->body_parentid[i];
        be_vd offset[3], relative[3];
        be_sub3(offset, g->xipos + 3 * i, com + 3 * i);
        be_sub3(relative, velocity + 6 * i + 3, linear + 3 * i);
        add_moment(angular + 3 * i, offset, relative, BE_K(body_mass, i));
        be_add_to(angular + 3 * parent, angular + 3 * i, 3);
        be_sub3(offset, com + 3 * i, com + 3 * parent);
        be_sub3(relative, linear + 3 * i, linear + 3 * parent);
        add_moment(angular + 3 * parent, offset, relative, BE_K(body_subtreemass, i));
    }
}
BE_PHYSICS_STAGE(subtree_vel)
