/* mj_transmission, the velocities of actuators, which mj_fwdVelocity computes, and mj_fwdActuation: for actuators
 * without states at slide and hinge joints and at fixed tendons. */
#include "engines/physics/group.h"

/* A gain or a bias: what actuator i's row of parameters comes to. */
#define AFFINE(which, i)                                                                                               \
    (BE_K(which, BE_GAIN_PARAMS * (i)) + BE_K(which, BE_GAIN_PARAMS * (i) + 1) * g->actuator_length[i] +               \
     BE_K(which, BE_GAIN_PARAMS * (i) + 2) * g->actuator_velocity[i])

/* What actuator i pulls with. */
BE_INLINE be_vd force_of(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    be_vd gain = BE_K(actuator_gainprm, BE_GAIN_PARAMS * i), bias = be_set1(0);
    if (m->actuator_gaintype[i] == BE_AFFINE) gain = AFFINE(actuator_gainprm, i);
    if (m->actuator_biastype[i] == BE_AFFINE) bias = AFFINE(actuator_biasprm, i);
    const be_vd force = gain * be_control_of(g, wide, i) + bias;
    if (!m->actuator_forcelimited[i]) return force;
    return be_clip(force, BE_K(actuator_forcerange, 2 * i), BE_K(actuator_forcerange, 2 * i + 1));
}

BE_INLINE void at_joint(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int joint = m->actuator_trnid[2 * i], dof = m->jnt_dofadr[joint];
    const be_vd gear = BE_K(actuator_gear, 6 * i);
    g->actuator_length[i] = g->qpos[m->jnt_qposadr[joint]] * gear;
    g->actuator_velocity[i] = be_set1(0) + gear * g->qvel[dof];
    g->actuator_force[i] = force_of(g, wide, i);
    g->qfrc_actuator[dof] += gear * g->actuator_force[i];
}

BE_INLINE void at_tendon(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int tendon = m->actuator_trnid[2 * i], first = m->ten_J_rowadr[tendon], count = m->ten_J_rownnz[tendon];
    const int32_t *dofs = m->ten_J_colind + first;
    const be_vd gear = BE_K(actuator_gear, 6 * i);
    be_vd moment[count];
    for (int k = 0; k < count; k++) moment[k] = g->ten_J[first + k] * gear;
    g->actuator_length[i] = g->ten_length[tendon] * gear;
    g->actuator_velocity[i] = be_dot_sparse(moment, g->qvel, count, dofs);
    g->actuator_force[i] = force_of(g, wide, i);
    for (int k = 0; k < count; k++) g->qfrc_actuator[dofs[k]] += moment[k] * g->actuator_force[i];
}

BE_INLINE void actuation(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_zero(g->qfrc_actuator, m->nv);
    for (int i = 0; i < m->nu; i++) {
        if (m->actuator_trntype[i] == BE_AT_TENDON) {
            at_tendon(g, wide, i);
        } else {
            at_joint(g, wide, i);
        }
    }
    for (int j = 0; j < m->njnt; j++) {
        if (!m->jnt_actfrclimited[j]) continue;
        be_vd *force = &g->qfrc_actuator[m->jnt_dofadr[j]];
        *force = be_clip(*force, BE_K(jnt_actfrcrange, 2 * j), BE_K(jnt_actfrcrange, 2 * j + 1));
    }
}
BE_PHYSICS_STAGE(actuation)
