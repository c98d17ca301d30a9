/* mj_passive: springs and dampers of joints and of fixed tendons, and a fluid around boxes of the bodies' inertia. */
#include "engines/physics/group.h"

#define PI 3.14159265358979323846

/* The box with a body's mass and inertia. */
BE_INLINE void box_of(be_vd *box, const be_physics_group *g, const int wide, int i) {
    const be_vd x = BE_K(body_inertia, 3 * i), y = BE_K(body_inertia, 3 * i + 1), z = BE_K(body_inertia, 3 * i + 2);
    const be_vd sums[3] = {y + z - x, x + z - y, x + y - z};
    for (int k = 0; k < 3; k++) {
        const be_vd least = be_select(sums[k] > BE_MINVAL, sums[k], be_set1(BE_MINVAL));
        box[k] = be_sqrt(least / BE_K(body_mass, i) * 6.0);
    }
}

/* The fluid's force on a body that moves at `v` (turning first), all in the frame of its inertia. */
BE_INLINE void drag(be_vd *force, const be_physics_group *g, const int wide, const be_vd *box, const be_vd *v) {
    be_zero(force, 6);
    if (BE_K1(opt_viscosity, 0) > 0) {
        const be_vd viscosity = BE_K(opt_viscosity, 0), diameter = (box[0] + box[1] + box[2]) / 3.0;
        const be_vd turning = -PI * diameter * diameter * diameter * viscosity;
        const be_vd moving = -3.0 * PI * diameter * viscosity;
        for (int k = 0; k < 3; k++) {
            force[k] = v[k] * turning;
            force[3 + k] = v[3 + k] * moving;
        }
    }
    if (BE_K1(opt_density, 0) > 0) {
        const be_vd density = BE_K(opt_density, 0);
        be_vd fourth[3];
        for (int k = 0; k < 3; k++) fourth[k] = box[k] * box[k] * box[k] * box[k];
        force[3] -= 0.5 * density * box[1] * box[2] * be_abs(v[3]) * v[3];
        force[4] -= 0.5 * density * box[0] * box[2] * be_abs(v[4]) * v[4];
        force[5] -= 0.5 * density * box[0] * box[1] * be_abs(v[5]) * v[5];
        force[0] -= density * box[0] * (fourth[1] + fourth[2]) * be_abs(v[0]) * v[0] / 64.0;
        force[1] -= density * box[1] * (fourth[0] + fourth[2]) * be_abs(v[1]) * v[1] / 64.0;
        force[2] -= density * box[2] * (fourth[0] + fourth[1]) * be_abs(v[2]) * v[2] / 64.0;
    }
}

/* mj_inertiaBoxFluidModel: adds the fluid's force on body i to `fluid`. */
BE_INLINE void swim(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const be_vd *velocity = g->cvel + 6 * i, *axes = g->ximat + 9 * i;
    be_vd box[3], offset[3], around[3], moving[3], local[6], force[6], torque[3], push[3];
    box_of(box, g, wide, i);
    be_sub3(offset, g->xipos + 3 * i, g->subtree_com + 3 * m->body_rootid[i]);
    be_cross(around, offset, velocity);
    be_sub3(moving, velocity + 3, around);
    for (int k = 0; k < 3; k++) {
        local[k] = axes[k] * velocity[0] + axes[3 + k] * velocity[1] + axes[6 + k] * velocity[2];
        local[3 + k] = axes[k] * moving[0] + axes[3 + k] * moving[1] + axes[6 + k] * moving[2];
    }
    drag(force, g, wide, box, local);
    be_mul_mat_vec3(torque, axes, force);
    be_mul_mat_vec3(push, axes, force + 3);
    /* mj_applyFT */
    const int body = m->body_weldid[i];
    if (body == 0) return;
    for (int d = m->body_dofadr[body] + m->body_dofnum[body] - 1; d >= 0; d = m->dof_parentid[d]) {
        const be_vd *dof = g->cdof + 6 * d;
        be_vd swing[3], sum = be_set1(0);
        be_cross(swing, dof, offset);
        for (int k = 0; k < 3; k++) sum += (dof[3 + k] + swing[k]) * push[k];
        g->fluid[d] += sum;
        sum = be_set1(0);
        for (int k = 0; k < 3; k++) sum += dof[k] * torque[k];
        g->fluid[d] += sum;
    }
}

BE_INLINE void pull_tendon(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const be_vd zero = be_set1(0), length = g->ten_length[i], stiffness = BE_K(tendon_stiffness, i);
    const be_vd lower = BE_K(tendon_lengthspring, 2 * i), upper = BE_K(tendon_lengthspring, 2 * i + 1);
    const be_vd beyond = be_select(length > upper, upper - length, lower - length);
    const be_vd spring = be_select((length > upper) | (length < lower), stiffness * beyond, zero);
    const be_vd damper = -BE_K(tendon_damping, i) * g->ten_velocity[i];
    for (int k = m->ten_J_rowadr[i]; k < m->ten_J_rowadr[i] + m->ten_J_rownnz[i]; k++) {
        const int dof = m->ten_J_colind[k];
        g->qfrc_passive[dof] += g->ten_J[k] * spring;
        g->damper[dof] += g->ten_J[k] * damper;
    }
}

BE_INLINE void passive(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_zero(g->qfrc_passive, m->nv);
    for (int j = 0; j < m->njnt; j++) {
        if (BE_K1(jnt_stiffness, j) == 0) continue;
        const int at = m->jnt_qposadr[j];
        const be_vd stretch = g->qpos[at] - BE_K(qpos_spring, at);
        g->qfrc_passive[m->jnt_dofadr[j]] = -stretch * BE_K(jnt_stiffness, j);
    }
    for (int i = 0; i < m->nv; i++) {
        g->damper[i] = BE_K1(dof_damping, i) != 0 ? -g->qvel[i] * BE_K(dof_damping, i) : be_set1(0);
    }
    for (int i = 0; i < m->ntendon; i++) {
        if (BE_K1(tendon_stiffness, i) != 0 || BE_K1(tendon_damping, i) != 0) pull_tendon(g, wide, i);
    }
    be_add_to(g->qfrc_passive, g->damper, m->nv);
    if (BE_K1(opt_viscosity, 0) == 0 && BE_K1(opt_density, 0) == 0) return;
    be_zero(g->fluid, m->nv);
    for (int i = 0; i < m->nbody; i++) {
        if (BE_K1(body_mass, i) >= BE_MINVAL) swim(g, wide, i);
    }
    be_add_to(g->qfrc_passive, g->fluid, m->nv);
}
BE_PHYSICS_STAGE(passive)
