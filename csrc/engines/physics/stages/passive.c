/* mj_passive: springs and dampers of joints and of tendons, a fluid around boxes of the bodies' inertia, and
 * gravity compensation. */
#include "engines/physics/fluid.h"
#include "engines/physics/objects.h"
#include "engines/physics/polynomials.h"

/* The fluid's force on a body that moves at `v` (turning first), all in the frame of its inertia. */
BE_INLINE void drag(be_vd *force, const be_physics_group *g, const int wide, const be_vd *box, const be_vd *v) {
    be_zero(force, 6);
    if (BE_K1(opt_viscosity, 0) > 0) {
        const be_vd viscosity = BE_K(opt_viscosity, 0), diameter = (box[0] + box[1] + box[2]) / 3.0;
        const be_vd turning = -BE_PI * diameter * diameter * diameter * viscosity;
        const be_vd moving = -3.0 * BE_PI * diameter * viscosity;
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
BE_INLINE void swim(be_physics_group *g, const int wide, int i, int windy) {
    const be_swimmer s = be_swimmer_of(g, wide, i, windy);
    const be_vd *axes = g->ximat + 9 * i;
    be_vd force[6], torque[3], push[3];
    drag(force, g, wide, s.box, s.velocity);
    be_mul_mat_vec3(torque, axes, force);
    be_mul_mat_vec3(push, axes, force + 3);
    be_apply(g->fluid, g, i, s.offset, push, torque);
}

/* The spring of joint j. */
BE_INLINE void pull_joint(be_physics_group *g, const int wide, const int polynomials, int j) {
    const be_physics_model *m = g->m;
    const int type = m->jnt_type[j];
    int at = m->jnt_qposadr[j];
    be_vd *force = g->qfrc_passive + m->jnt_dofadr[j], off[3];
    if (type == BE_SLIDE || type == BE_HINGE) {
        const be_vd stretch = g->qpos[at] - BE_K(qpos_spring, at);
        *force = -stretch * BE_POLY_OF(force, jnt_stiffness, BE_POLY_SPRINGS, j, stretch);
        return;
    }
    if (type == BE_FREE) {
        for (int k = 0; k < 3; k++) off[k] = g->qpos[at + k] - BE_K(qpos_spring, at + k);
        const be_vd length = be_sqrt(be_dot3(off, off));
        const be_vd stiffness = BE_POLY_OF(force, jnt_stiffness, BE_POLY_SPRINGS, j, length);
        for (int k = 0; k < 3; k++) force[k] += off[k] * -stiffness;
        at += 3, force += 3;
    }
    be_vd quat[4], rest[4];
    be_copy(quat, g->qpos + at, 4);
    be_normalize4(quat, *m->version);
    for (int k = 0; k < 4; k++) rest[k] = BE_K(qpos_spring, at + k);
    be_sub_quat(off, quat, rest, *m->version);
    const be_vd angle = be_sqrt(be_dot3(off, off));
    const be_vd stiffness = BE_POLY_OF(force, jnt_stiffness, BE_POLY_SPRINGS, j, angle);
    for (int k = 0; k < 3; k++) force[k] += off[k] * -stiffness;
}

BE_INLINE void pull_tendon(be_physics_group *g, const int wide, const int polynomials, int i) {
    const be_physics_model *m = g->m;
    const be_vd length = g->ten_length[i], velocity = g->ten_velocity[i];
    const be_vd lower = BE_K(tendon_lengthspring, 2 * i), upper = BE_K(tendon_lengthspring, 2 * i + 1);
    const be_vd short_by = be_select(length < lower, length - lower, be_set1(0));
    const be_vd stretch = be_select(length > upper, length - upper, short_by);
    const be_vd spring = -stretch * BE_POLY_OF(force, tendon_stiffness, BE_POLY_TENDON_SPRINGS, i, stretch);
    const be_vd damper = -velocity * BE_POLY_OF(force, tendon_damping, BE_POLY_TENDON_DAMPERS, i, be_abs(velocity));
    for (int k = m->ten_J_rowadr[i]; k < m->ten_J_rowadr[i] + m->ten_J_rownnz[i]; k++) {
        const int dof = m->ten_J_colind[k];
        g->qfrc_passive[dof] += g->ten_J[k] * spring;
        g->damper[dof] += g->ten_J[k] * damper;
    }
}

/* mj_gravcomp: bodies' parts of gravity, with the other sign. Some joints have actuators that take this upon them. */
BE_INLINE void compensate(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    const be_vd torque[3] = {be_set1(0), be_set1(0), be_set1(0)};
    int any = 0;
    be_zero(g->gravcomp, m->nv);
    for (int i = 1; i < m->nbody; i++) {
        if (BE_K1(body_gravcomp, i) == 0) continue;
        const be_vd scale = -(BE_K(body_mass, i) * BE_K(body_gravcomp, i));
        be_vd force[3], offset[3];
        for (int k = 0; k < 3; k++) force[k] = BE_K(opt_gravity, k) * scale;
        be_sub3(offset, g->xipos + 3 * i, g->subtree_com + 3 * m->body_rootid[i]);
        be_apply(g->gravcomp, g, i, offset, force, torque);
        any = 1;
    }
    for (int i = 0; any && i < m->nv; i++) {
        if (!m->jnt_actgravcomp[m->dof_jntid[i]]) g->qfrc_passive[i] += g->gravcomp[i];
    }
}

BE_INLINE void pull(be_physics_group *g, const int wide, const int polynomials) {
    const be_physics_model *m = g->m;
    for (int j = 0; j < m->njnt; j++) {
        if (BE_HAS_POLY(jnt_stiffness, BE_POLY_SPRINGS, j)) pull_joint(g, wide, polynomials, j);
    }
    for (int i = 0; i < m->nv; i++) {
        g->damper[i] = be_set1(0);
        if (!BE_HAS_POLY(dof_damping, BE_POLY_DAMPERS, i)) continue;
        g->damper[i] = -g->qvel[i] * BE_POLY_OF(force, dof_damping, BE_POLY_DAMPERS, i, be_abs(g->qvel[i]));
    }
    for (int i = 0; i < m->ntendon; i++) {
        const int sprung = BE_HAS_POLY(tendon_stiffness, BE_POLY_TENDON_SPRINGS, i);
        if (sprung || BE_HAS_POLY(tendon_damping, BE_POLY_TENDON_DAMPERS, i)) pull_tendon(g, wide, polynomials, i);
    }
}

BE_INLINE void passive(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_zero(g->qfrc_passive, m->nv);
    if (*m->polynomials) {
        pull(g, wide, *m->polynomials);
    } else {
        pull(g, wide, 0);
    }
    be_add_to(g->qfrc_passive, g->damper, m->nv);
    if (be_has_fluid(g)) {
        const int windy = be_has_wind(g);
        be_zero(g->fluid, m->nv);
        for (int i = 0; i < m->nbody; i++) {
            if (be_swims(g, i)) swim(g, wide, i, windy);
        }
        be_add_to(g->qfrc_passive, g->fluid, m->nv);
    }
    if (*m->gravcomp) compensate(g, wide);
}
BE_PHYSICS_STAGE(passive)
