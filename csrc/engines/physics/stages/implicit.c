/* mj_implicitSkip with integrator implicitfast: the accelerations with which mj_step advances, in g->moved. Derivatives
 * of forces by velocities (mjd_smooth_vel) are those of dampers, and of actuators at joints and fixed tendons. */
#include "engines/physics/group.h"

/* Adds the derivative `slope` of a force on degrees of freedom, of which `moments` says how far each moves what the
 * force acts on, to those entries that a matrix with M's sparsity has (addJTBJSparse). */
BE_INLINE void add(be_physics_group *g, const int32_t *dofs, const be_vd *moments, int count, be_vd slope) {
    const be_physics_model *m = g->m;
    for (int k = 0; k < count; k++) {
        const int first = m->M_rowadr[dofs[k]], end = first + m->M_rownnz[dofs[k]];
        for (int p = 0, at = first; p < count && at < end; p++) {
            while (at < end && m->M_colind[at] < dofs[p]) at++;
            if (at < end && m->M_colind[at] == dofs[p]) g->damped[at] += moments[p] * (moments[k] * slope);
        }
    }
}

/* The lanes in which a force is not at the limits of its range. */
BE_INLINE be_vl within(be_vd force, be_vd low, be_vd high) { return ~((force <= low) | (force >= high)); }

/* The derivative of actuator i's force by its velocity; 0 where the force is at its limit. */
BE_INLINE be_vd slope_of(const be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    be_vd slope = be_set1(0);
    if (m->actuator_biastype[i] == BE_AFFINE) slope = BE_K(actuator_biasprm, BE_GAIN_PARAMS * i + 2);
    if (m->actuator_gaintype[i] == BE_AFFINE) {
        const be_vd gain = BE_K(actuator_gainprm, BE_GAIN_PARAMS * i + 2);
        /* Before 3.13, MuJoCo does not clip it here. */
        const be_vd control = *m->version >= 3013 ? be_control_of(g, wide, i) : g->ctrl[i];
        slope = be_select(gain != 0, slope + gain * control, slope);
    }
    if (!m->actuator_forcelimited[i]) return slope;
    const be_vl free =
        within(g->actuator_force[i], BE_K(actuator_forcerange, 2 * i), BE_K(actuator_forcerange, 2 * i + 1));
    return be_select(free, slope, be_set1(0));
}

BE_INLINE void add_actuator(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const be_vd gear = BE_K(actuator_gear, 6 * i);
    const int id = m->actuator_trnid[2 * i];
    be_vd slope = slope_of(g, wide, i);
    if (m->actuator_trntype[i] == BE_AT_TENDON) {
        const int first = m->ten_J_rowadr[id], count = m->ten_J_rownnz[id];
        be_vd moments[count];
        for (int k = 0; k < count; k++) moments[k] = g->ten_J[first + k] * gear;
        add(g, m->ten_J_colind + first, moments, count, slope);
        return;
    }
    const int32_t dof = m->jnt_dofadr[id];
    if (m->jnt_actfrclimited[id] && *m->version >= 4000) {
        const be_vl free =
            within(g->qfrc_actuator[dof], BE_K(jnt_actfrcrange, 2 * id), BE_K(jnt_actfrcrange, 2 * id + 1));
        slope = be_select(free, slope, be_set1(0));
    }
    add(g, &dof, &gear, 1, slope);
}

BE_INLINE void add_tendon(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int first = m->ten_J_rowadr[i], count = m->ten_J_rownnz[i];
    add(g, m->ten_J_colind + first, g->ten_J + first, count, -BE_K(tendon_damping, i));
}

BE_INLINE void implicit(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    const be_vd time = BE_K(opt_timestep, 0);
    be_zero(g->damped, m->nC);
    for (int i = 0; i < m->nu; i++) add_actuator(g, wide, i);
    for (int i = 0; i < m->nv; i++) g->damped[m->M_rowadr[i] + m->M_rownnz[i] - 1] -= BE_K(dof_damping, i);
    for (int i = 0; i < m->ntendon; i++) {
        if (BE_K1(tendon_damping, i) != 0) add_tendon(g, wide, i);
    }
    for (int i = 0; i < m->nC; i++) g->damped[i] = g->M[i] + g->damped[i] * -time;
    for (int i = 0; i < m->nv; i++) g->moved[i] = g->qfrc_smooth[i] + g->qfrc_constraint[i];
    g->present &= ~be_physics_factor(m, g->damped, g->damped_inverse);
    be_physics_solve(m, 0, (int)m->nv, g->moved, g->damped, g->damped_inverse);
}
BE_PHYSICS_STAGE(implicit)
