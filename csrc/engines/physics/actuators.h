/* What the stages that compute actuators' forces, their derivatives, and their next states have in common. */
#ifndef BE_PHYSICS_ACTUATORS_H
#define BE_PHYSICS_ACTUATORS_H

#include <limits.h>
#include <math.h>

#include "engines/physics/group.h"

BE_INLINE be_vd be_at_least_tiny(be_vd x) { return be_select(x > BE_MINVAL, x, be_set1(BE_MINVAL)); }

/* Actuator i's control, within its range. */
BE_INLINE be_vd be_control_of(const be_physics_group *g, const int wide, int i) {
    if (!g->m->actuator_ctrllimited[i]) return g->ctrl[i];
    return be_clip(g->ctrl[i], BE_K(actuator_ctrlrange, 2 * i), BE_K(actuator_ctrlrange, 2 * i + 1));
}

/* mj_nextActivation: the state of actuator i at the end of a step in which it changes at `rate`. */
BE_INLINE be_vd be_next_activation(const be_physics_group *g, const int wide, int i, be_vd rate) {
    const be_physics_model *m = g->m;
    be_vd change = rate * BE_K(opt_timestep, 0);
    if (m->actuator_dyntype[i] == BE_FILTEREXACT) {
        const be_vd tau = be_at_least_tiny(BE_K(actuator_dynprm, BE_GAIN_PARAMS * i));
        change = rate * tau * BE_K(actuator_decay, i);
    }
    const be_vd next = g->act[m->actuator_actadr[i]] + change;
    if (!m->actuator_actlimited[i]) return next;
    return be_clip(next, BE_K(actuator_actrange, 2 * i), BE_K(actuator_actrange, 2 * i + 1));
}

/* What actuator i's gain is multiplied by, if it has a state. */
BE_INLINE be_vd be_activation_of(const be_physics_group *g, const int wide, int i) {
    const int at = g->m->actuator_actadr[i];
    return g->m->actuator_actearly[i] ? be_next_activation(g, wide, i, g->act_dot[at]) : g->act[at];
}
BE_INLINE int be_has_state(const be_physics_model *m, int i) { return m->na && m->actuator_actadr[i] >= 0; }

/* wrapPeriod, wrapSetpoint: of a setpoint that is an angle, the one that is nearest to the actuator's length. */
BE_INLINE be_vd be_wrapped(const be_physics_group *g, const int wide, int i, be_vd setpoint) {
    const be_vd period = BE_K(actuator_period, i), turns = (setpoint - g->actuator_length[i]) / period;
    be_vd whole = turns;
    for (int lane = 0; lane < BE_VL; lane++) {
        whole[lane] = fmin(fmax(round(turns[lane]), INT_MIN), INT_MAX); /* mju_round returns an int */
    }
    return be_select(period > 0, setpoint - period * whole, setpoint);
}

/* The degrees of freedom that move actuator i, which has a row of `moments`, in some lane, and how far they move it.
 * Returns their number. */
static inline int be_moments_of(const be_physics_group *g, int i, int32_t *dofs, be_vd *found) {
    const be_vd *moment = g->moments + g->m->actuator_moment[i] * g->m->nv;
    int count = 0;
    for (int d = 0; d < g->m->nv; d++) {
        if (!be_mask_bits(moment[d] != 0)) continue;
        dofs[count] = d, found[count++] = moment[d];
    }
    return count;
}

/* ---- muscles ------------------------------------------------------------------------------------------- */

/* Parameters, as mju_muscleGain and mju_muscleBias take them, and what follows from them and from the length. */
typedef struct be_muscle {
    be_vd shortest, longest, passive_most, active_most;
    be_vd force, speed, length; /* speed: that of V = 1; length: 1 is the best one */
} be_muscle;

/* `prm`: 9 numbers. */
BE_INLINE be_muscle be_muscle_of(const be_physics_group *g, const int wide, int i, const be_vd *prm) {
    const be_vd low = BE_K(actuator_lengthrange, 2 * i), high = BE_K(actuator_lengthrange, 2 * i + 1);
    const be_vd best = (high - low) / be_at_least_tiny(prm[1] - prm[0]);
    const be_vd scaled = prm[3] / be_at_least_tiny(BE_K(actuator_acc0, i));
    return (be_muscle){.shortest = prm[4],
                       .longest = prm[5],
                       .passive_most = prm[7],
                       .active_most = prm[8],
                       .force = be_select(prm[2] < 0, scaled, prm[2]),
                       .speed = be_at_least_tiny(best * prm[6]),
                       .length = prm[0] + (g->actuator_length[i] - low) / be_at_least_tiny(best)};
}

/* mju_muscleGainLength: how much of its force a muscle has at its length. Two parabolas on either side of 1. */
BE_INLINE be_vd be_muscle_at_length(const be_muscle *s) {
    const be_vd length = s->length, left = 0.5 * (s->shortest + 1), right = 0.5 * (1 + s->longest);
    const be_vl first = length <= left, second = length <= 1, third = length <= right;
    be_vd x = s->longest - length, width = s->longest - right;
    x = be_select(third, length - 1, x), width = be_select(third, right - 1, width);
    x = be_select(second, 1 - length, x), width = be_select(second, 1 - left, width);
    x = be_select(first, length - s->shortest, x), width = be_select(first, left - s->shortest, width);
    x = x / be_at_least_tiny(width);
    const be_vd half = 0.5 * x * x, part = be_select(~first & (second | third), 1 - half, half);
    return be_select((s->shortest <= length) & (length <= s->longest), part, be_set1(0));
}

/* mju_muscleGain; and mjd_muscleGain_vel, its derivative by the velocity, with `derivative`. */
BE_INLINE be_vd be_muscle_gain(const be_physics_group *g, const int wide, int i, int derivative) {
    be_vd prm[9];
    for (int k = 0; k < 9; k++) prm[k] = BE_K(actuator_gainprm, BE_GAIN_PARAMS * i + k);
    const be_muscle s = be_muscle_of(g, wide, i, prm);
    const be_vd v = g->actuator_velocity[i] / s.speed, y = s.active_most - 1;
    const be_vd slow = be_at_least_tiny(y), zero = be_set1(0);
    be_vd part = derivative ? zero : s.active_most;
    const be_vd longer = derivative ? (-2 * v + 2 * y) / slow : s.active_most - (y - v) * (y - v) / slow;
    const be_vd shorter = derivative ? 2 * v + 2 : (v + 1) * (v + 1);
    part = be_select(v <= y, longer, part);
    part = be_select(v <= 0, shorter, part);
    part = be_select(v <= -1, zero, part);
    const be_vd gain = -s.force * be_muscle_at_length(&s) * part;
    return derivative ? gain / s.speed : gain;
}

/* mju_muscleBias: the force of a muscle that is stretched. */
BE_INLINE be_vd be_muscle_bias(const be_physics_group *g, const int wide, int i) {
    be_vd prm[9];
    for (int k = 0; k < 9; k++) prm[k] = BE_K(actuator_biasprm, BE_GAIN_PARAMS * i + k);
    const be_muscle s = be_muscle_of(g, wide, i, prm);
    const be_vd middle = 0.5 * (1 + s.longest), width = be_at_least_tiny(middle - 1);
    const be_vd near = (s.length - 1) / width, far = (s.length - middle) / width;
    const be_vd most = -s.force * s.passive_most;
    const be_vd stretched = be_select(s.length <= middle, most * 0.5 * near * near, most * (0.5 + far));
    return be_select(s.length <= 1, be_set1(0), stretched);
}

/* mju_muscleDynamics: how fast the activation of actuator i changes. */
BE_INLINE be_vd be_muscle_rate(const be_physics_group *g, const int wide, int i, be_vd control) {
    const be_vd zero = be_set1(0), one = be_set1(1), act = g->act[g->m->actuator_actadr[i]];
    const be_vd clipped = be_clip(act, zero, one), excess = be_clip(control, zero, one) - act;
    const be_vd rises = BE_K(actuator_dynprm, BE_GAIN_PARAMS * i) * (0.5 + 1.5 * clipped);
    const be_vd falls = BE_K(actuator_dynprm, BE_GAIN_PARAMS * i + 1) / (0.5 + 1.5 * clipped);
    const be_vd width = BE_K(actuator_dynprm, BE_GAIN_PARAMS * i + 2), x = excess / width + 0.5;
    be_vd share = x * x * x * (3 * x * (2 * x - 5) + 10); /* mju_sigmoid */
    share = be_select(x >= 1, one, share);
    share = be_select(x <= 0, zero, share);
    const be_vd soft = falls + (rises - falls) * share, hard = be_select(excess > 0, rises, falls);
    return excess / be_at_least_tiny(be_select(width < BE_MINVAL, hard, soft));
}

#endif
