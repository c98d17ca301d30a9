/* mj_transmission and the velocities of actuators, which mj_fwdVelocity computes, for those at slide and hinge joints
 * and at tendons; and mj_fwdActuation. */
#include "engines/physics/actuators.h"

/* A gain or a bias: what actuator i's row of parameters comes to. */
#define AFFINE(which, i)                                                                                               \
    (BE_K(which, BE_GAIN_PARAMS * (i)) + BE_K(which, BE_GAIN_PARAMS * (i) + 1) * g->actuator_length[i] +               \
     BE_K(which, BE_GAIN_PARAMS * (i) + 2) * g->actuator_velocity[i])

/* How fast the state of actuator i changes. */
BE_INLINE be_vd rate_of(const be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const be_vd control = be_control_of(g, wide, i);
    if (m->actuator_dyntype[i] == BE_INTEGRATOR) return control;
    if (m->actuator_dyntype[i] == BE_MUSCLE_STATE) return be_muscle_rate(g, wide, i, control);
    const be_vd tau = be_at_least_tiny(BE_K(actuator_dynprm, BE_GAIN_PARAMS * i));
    return (control - g->act[m->actuator_actadr[i]]) / tau;
}

/* What actuator i pulls with, before limits. */
BE_INLINE be_vd force_of(be_physics_group *g, const int wide, const int plain, int i) {
    const be_physics_model *m = g->m;
    be_vd gain = BE_K(actuator_gainprm, BE_GAIN_PARAMS * i), bias = be_set1(0);
    if (m->actuator_gaintype[i] == BE_AFFINE) gain = AFFINE(actuator_gainprm, i);
    if (m->actuator_biastype[i] == BE_AFFINE) bias = AFFINE(actuator_biasprm, i);
    if (plain) return gain * be_control_of(g, wide, i) + bias;
    if (m->actuator_gaintype[i] == BE_MUSCLE) gain = be_muscle_gain(g, wide, i, 0);
    if (m->actuator_biastype[i] == BE_MUSCLE) bias = be_muscle_bias(g, wide, i);
    be_vd input;
    if (be_has_state(m, i)) {
        input = be_activation_of(g, wide, i);
    } else {
        input = be_control_of(g, wide, i);
    }
    if (m->actuator_wraps[i]) input = be_wrapped(g, wide, i, input);
    return gain * input + bias;
}

/* Finds the length and the velocity of actuator i at a slide or hinge joint. */
BE_INLINE void see_joint(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int joint = m->actuator_trnid[2 * i];
    const be_vd gear = BE_K(actuator_gear, 6 * i);
    g->actuator_length[i] = g->qpos[m->jnt_qposadr[joint]] * gear;
    g->actuator_velocity[i] = be_set1(0) + gear * g->qvel[m->jnt_dofadr[joint]];
}

BE_INLINE void see_tendon(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int tendon = m->actuator_trnid[2 * i], first = m->ten_J_rowadr[tendon], count = m->ten_J_rownnz[tendon];
    const be_vd gear = BE_K(actuator_gear, 6 * i);
    be_vd moment[count];
    for (int k = 0; k < count; k++) moment[k] = g->ten_J[first + k] * gear;
    g->actuator_length[i] = g->ten_length[tendon] * gear;
    g->actuator_velocity[i] = be_dot_sparse(moment, g->qvel, count, m->ten_J_colind + first);
}

/* Finds the force of actuator i, before limits. */
BE_INLINE void pull(be_physics_group *g, const int wide, const int plain, int i) {
    const be_physics_model *m = g->m;
    if (m->actuator_trntype[i] == BE_AT_TENDON) {
        see_tendon(g, wide, i);
    } else if (plain || m->actuator_moment[i] < 0) {
        see_joint(g, wide, i);
    }
    if (!plain && !*m->acts) return;
    if (!plain && be_has_state(m, i)) g->act_dot[m->actuator_actadr[i]] = rate_of(g, wide, i);
    g->actuator_force[i] = !plain && m->actuator_disabled[i] ? be_set1(0) : force_of(g, wide, plain, i);
}

/* Scales forces of actuators at tendons, all of which together have a limit. */
BE_INLINE void limit_tendons(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_vd total[m->ntendon];
    be_zero(total, m->ntendon);
    for (int i = 0; i < m->nu; i++) {
        if (m->actuator_trntype[i] == BE_AT_TENDON) total[m->actuator_trnid[2 * i]] += g->actuator_force[i];
    }
    for (int i = 0; i < m->nu; i++) {
        const int tendon = m->actuator_trnid[2 * i];
        if (m->actuator_trntype[i] != BE_AT_TENDON || !m->tendon_actfrclimited[tendon]) continue;
        const be_vd sum = total[tendon], force = g->actuator_force[i];
        const be_vd low = BE_K(tendon_actfrcrange, 2 * tendon), high = BE_K(tendon_actfrcrange, 2 * tendon + 1);
        const be_vd below = be_select(sum < low, force * (low / sum), force);
        const be_vd scaled = be_select(sum > high, force * (high / sum), below);
        g->actuator_force[i] = be_select(sum != 0, scaled, force);
    }
}

/* Limits the force of actuator i, and has it act. */
BE_INLINE void push(be_physics_group *g, const int wide, const int plain, int i) {
    const be_physics_model *m = g->m;
    const int id = m->actuator_trnid[2 * i];
    be_vd force = g->actuator_force[i];
    if (m->actuator_forcelimited[i]) {
        force = be_clip(force, BE_K(actuator_forcerange, 2 * i), BE_K(actuator_forcerange, 2 * i + 1));
        g->actuator_force[i] = force;
    }
    if (!plain && m->actuator_moment[i] >= 0) {
        const be_vd *moment = g->moments + m->actuator_moment[i] * m->nv;
        for (int d = 0; d < m->nv; d++) g->qfrc_actuator[d] += moment[d] * force;
        return;
    }
    const be_vd gear = BE_K(actuator_gear, 6 * i);
    if (m->actuator_trntype[i] != BE_AT_TENDON) {
        g->qfrc_actuator[m->jnt_dofadr[id]] += gear * force;
        return;
    }
    for (int k = m->ten_J_rowadr[id]; k < m->ten_J_rowadr[id] + m->ten_J_rownnz[id]; k++) {
        g->qfrc_actuator[m->ten_J_colind[k]] += g->ten_J[k] * gear * force;
    }
}

BE_INLINE void actuation(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_zero(g->qfrc_actuator, m->nv);
    if (*m->acts_plainly) {
        for (int i = 0; i < m->nu; i++) {
            pull(g, wide, 1, i);
            push(g, wide, 1, i);
        }
    } else {
        for (int i = 0; i < m->nu; i++) pull(g, wide, 0, i);
        if (!*m->acts) {
            be_zero(g->actuator_velocity, m->nu);
            return;
        }
        if (*m->limits_tendons) limit_tendons(g, wide);
        for (int i = 0; i < m->nu; i++) push(g, wide, 0, i);
    }
    for (int i = 0; *m->gravcomp && i < m->nv; i++) {
        if (m->jnt_actgravcomp[m->dof_jntid[i]]) g->qfrc_actuator[i] += g->gravcomp[i];
    }
    for (int j = 0; j < m->njnt; j++) {
        if (!m->jnt_actfrclimited[j]) continue;
        be_vd *force = &g->qfrc_actuator[m->jnt_dofadr[j]];
        *force = be_clip(*force, BE_K(jnt_actfrcrange, 2 * j), BE_K(jnt_actfrcrange, 2 * j + 1));
    }
}
BE_PHYSICS_STAGE(actuation)
