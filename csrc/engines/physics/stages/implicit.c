/* mj_implicitSkip: the accelerations with which mj_step advances, in g->moved. Derivatives of forces by velocities
 * (mjd_smooth_vel) are those of dampers, of fluids, and of actuators. */
#include "engines/physics/actuators.h"
#include "engines/physics/derivatives.h"
#include "engines/physics/fluid.h"
#include "engines/physics/polynomials.h"

/* The lanes in which a force is not at the limits of its range. */
BE_INLINE be_vl within(be_vd force, be_vd low, be_vd high) { return ~((force <= low) | (force >= high)); }

/* The derivative of actuator i's force by its velocity; 0 where the force is at its limit. */
BE_INLINE be_vd slope_of(const be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    be_vd slope = be_set1(0);
    if (m->actuator_biastype[i] == BE_AFFINE) slope = BE_K(actuator_biasprm, BE_GAIN_PARAMS * i + 2);
    if (m->actuator_gaintype[i] == BE_AFFINE || m->actuator_gaintype[i] == BE_MUSCLE) {
        const be_vd gain = m->actuator_gaintype[i] == BE_MUSCLE ? be_muscle_gain(g, wide, i, 1)
                                                                : BE_K(actuator_gainprm, BE_GAIN_PARAMS * i + 2);
        /* Before 3.13, MuJoCo does not clip controls here. */
        const be_vd input = be_has_state(m, i)    ? be_activation_of(g, wide, i)
                            : *m->version >= 3013 ? be_control_of(g, wide, i)
                                                  : g->ctrl[i];
        slope = be_select(gain != 0, slope + gain * input, slope);
    }
    if (!m->actuator_forcelimited[i]) return slope;
    const be_vl free =
        within(g->actuator_force[i], BE_K(actuator_forcerange, 2 * i), BE_K(actuator_forcerange, 2 * i + 1));
    return be_select(free, slope, be_set1(0));
}

/* The lanes in which the forces of all actuators at a tendon are together within the tendon's limits. These forces have
 * been scaled, so MuJoCo allows for rounding. */
BE_INLINE be_vl tendon_within(const be_physics_group *g, const int wide, int tendon) {
    const be_physics_model *m = g->m;
    const be_vd low = BE_K(tendon_actfrcrange, 2 * tendon), high = BE_K(tendon_actfrcrange, 2 * tendon + 1);
    be_vd total = be_set1(0);
    for (int i = 0; i < m->nu; i++) {
        if (m->actuator_trntype[i] == BE_AT_TENDON && m->actuator_trnid[2 * i] == tendon) total += g->actuator_force[i];
    }
    return within(total, low + 1e-10 * be_abs(low), high - 1e-10 * be_abs(high));
}

BE_INLINE void add_actuator(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const be_vd gear = BE_K(actuator_gear, 6 * i);
    const int id = m->actuator_trnid[2 * i];
    be_vd slope = slope_of(g, wide, i);
    if (m->actuator_moment[i] >= 0) {
        int32_t dofs[m->nv];
        be_vd found[m->nv];
        be_add_derivative(g, dofs, found, be_moments_of(g, i, dofs, found), slope);
        return;
    }
    if (m->actuator_trntype[i] == BE_AT_TENDON) {
        const int first = m->ten_J_rowadr[id], count = m->ten_J_rownnz[id];
        be_vd moments[count];
        if (m->tendon_actfrclimited[id] && *m->version >= 4000) {
            slope = be_select(tendon_within(g, wide, id), slope, be_set1(0));
        }
        for (int k = 0; k < count; k++) moments[k] = g->ten_J[first + k] * gear;
        be_add_derivative(g, m->ten_J_colind + first, moments, count, slope);
        return;
    }
    const int32_t dof = m->jnt_dofadr[id];
    if (m->jnt_actfrclimited[id] && *m->version >= 4000) {
        const be_vl free =
            within(g->qfrc_actuator[dof], BE_K(jnt_actfrcrange, 2 * id), BE_K(jnt_actfrcrange, 2 * id + 1));
        slope = be_select(free, slope, be_set1(0));
    }
    be_add_derivative(g, &dof, &gear, 1, slope);
}

BE_INLINE void add_tendon(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int polynomials = *m->polynomials;
    const int first = m->ten_J_rowadr[i], count = m->ten_J_rownnz[i];
    be_add_derivative(g, m->ten_J_colind + first, g->ten_J + first, count,
                      -BE_POLY_OF(slope, tendon_damping, BE_POLY_TENDON_DAMPERS, i, be_abs(g->ten_velocity[i])));
}

/* mjd_smooth_vel */
BE_INLINE void derive(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    const int polynomials = *m->polynomials;
    be_zero(g->qDeriv, m->nD);
    for (int i = 0; i < m->nu && *m->acts; i++) {
        if (!m->actuator_disabled[i]) add_actuator(g, wide, i);
    }
    if (be_has_fluid(g)) BE_PHYSICS_STAGE_NAME(fluid_vel)(g);
    for (int i = 0; i < m->nv; i++) {
        g->qDeriv[m->mapD2M[m->M_rowadr[i] + m->M_rownnz[i] - 1]] -=
            BE_POLY_OF(slope, dof_damping, BE_POLY_DAMPERS, i, be_abs(g->qvel[i]));
    }
    for (int i = 0; i < m->ntendon; i++) {
        if (BE_HAS_POLY(tendon_damping, BE_POLY_TENDON_DAMPERS, i)) add_tendon(g, wide, i);
    }
}

BE_INLINE void implicit(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    const be_vd time = BE_K(opt_timestep, 0);
    derive(g, wide);
    for (int i = 0; i < m->nv; i++) g->moved[i] = g->qfrc_smooth[i] + g->qfrc_constraint[i];
    if (*m->opt_integrator == BE_IMPLICIT) {
        BE_PHYSICS_STAGE_NAME(rne_vel)(g);
        BE_PHYSICS_STAGE_NAME(lu)(g);
        return;
    }
    for (int i = 0; i < m->nC; i++) g->damped[i] = g->M[i] + g->qDeriv[m->mapD2M[i]] * -time;
    for (int k = 0; k < m->num_lone; k++) {
        const int dof = m->body_dofadr[m->lone_bodies[k]], first = m->M_rowadr[dof];
        be_copy(g->damped + first, g->M + first, m->M_rowadr[dof + 5] + m->M_rownnz[dof + 5] - first);
    }
    g->present &= ~be_physics_factor(m, g->damped, g->damped_inverse);
    be_physics_solve(m, 0, (int)m->nv, g->moved, g->damped, g->damped_inverse);
    if (m->num_lone) BE_PHYSICS_STAGE_NAME(lone_bodies)(g);
}
BE_PHYSICS_STAGE(implicit)
