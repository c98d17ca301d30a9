/* mj_rnePostConstraint: the forces on bodies that are applied, and those of contacts and equalities (cfrc_ext), then
 * the bodies' accelerations (cacc), and the forces between them and their parents (cfrc_int). */
#include "engines/physics/contacts.h"

/* Adds torque and force at a point to those on a body; `sign` -1 takes them away. */
BE_INLINE void push(be_physics_group *g, be_vl here, int body, const be_vd *point, const be_vd *force, int sign) {
    be_vd arm[3], around[3], *to = g->cfrc_ext + 6 * body;
    if (body == 0) return;
    be_sub3(arm, g->subtree_com + 3 * g->m->body_rootid[body], point);
    be_cross(around, arm, force + 3);
    for (int i = 0; i < 6; i++) {
        const be_vd part = i < 3 ? force[i] - around[i] : force[i];
        to[i] = be_select(here, sign < 0 ? to[i] - part : to[i] + part, to[i]);
    }
}

void be_physics_begin_forces(be_physics_group *g) {
    be_zero(g->cfrc_ext, 6 * g->m->nbody);
    for (int i = 1; g->job->pushed && i < g->m->nbody; i++) {
        const be_vd *applied = g->xfrc_applied + 6 * i;
        const be_vd turned[6] = {applied[3], applied[4], applied[5], applied[0], applied[1], applied[2]};
        push(g, be_not_zero6(applied), i, g->xipos + 3 * i, turned, 1);
    }
}

BE_INLINE void post(be_physics_group *g, const int wide, unsigned lanes) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < g->num_touching; i++) {
        const int pair = g->touching[i].pair, k = g->touching[i].candidate;
        const be_vl here = ((const be_vl *)g->contact_here)[k] & be_lanes_of(lanes);
        if (!be_any(here)) continue;
        be_vd along[6], force[6];
        be_contact_force(along, g, wide, be_mask_bits(here), pair, k);
        be_mul_mat_t_vec3(force, g->contact_frame + 9 * k, along + 3);
        be_mul_mat_t_vec3(force + 3, g->contact_frame + 9 * k, along);
        push(g, here, m->geom_bodyid[m->pair_geoms[2 * pair]], g->contact_pos + 3 * k, force, -1);
        push(g, here, m->geom_bodyid[m->pair_geoms[2 * pair + 1]], g->contact_pos + 3 * k, force, 1);
    }
}

/* The torque of a weld. Before 3.14, MuJoCo takes the forces of its rows for it. */
BE_INLINE void weld_torque(be_vd *torque, const be_physics_group *g, const int wide, int i) {
    const be_vd *force = g->efc_force + g->m->eq_row[i] + 3, *quats = g->weld_quats + 8 * i;
    const int version = *g->m->version;
    be_vd half[4], back[4], whole[4];
    be_mul_quat_axis(half, quats + 4, force, version);
    be_neg_quat(back, quats);
    be_mul_quat(whole, half, back, version);
    const be_vd scale = 0.5 * BE_K(eq_data, BE_EQUALITY_DATA * i + 10);
    for (int k = 0; k < 3; k++) torque[k] = version >= 3014 ? whole[1 + k] * scale : force[k];
}

/* The force of a connect or weld. */
BE_INLINE void post_equality(be_physics_group *g, const int wide, unsigned lanes, int i) {
    const be_physics_model *m = g->m;
    const int welds = m->eq_kind[i] == BE_EQUAL_WELD;
    be_vd force[6];
    be_zero(force, 3);
    be_copy(force + 3, g->efc_force + m->eq_row[i], 3);
    if (welds) weld_torque(force, g, wide, i);
    for (int side = 0; side < 2; side++) {
        const int body = m->eq_bodies[2 * i + side];
        be_vd local[3], point[3];
        for (int k = 0; k < 3; k++) {
            local[k] = m->eq_sites[i] ? BE_K(site_pos, 3 * m->eq_objects[2 * i + side] + k)
                                      : BE_K(eq_data, BE_EQUALITY_DATA * i + 3 * (side ^ welds) + k);
        }
        be_mul_mat_vec3(point, g->xmat + 9 * body, local);
        be_add_to(point, g->xpos + 3 * body, 3);
        push(g, be_lanes_of(lanes), body, point, force, side ? -1 : 1);
    }
}

BE_INLINE void post_equalities(be_physics_group *g, const int wide, unsigned lanes) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < m->num_equalities; i++) {
        const int holds = m->eq_kind[i] == BE_EQUAL_CONNECT || m->eq_kind[i] == BE_EQUAL_WELD;
        if (holds && m->eq_row[i] >= 0) post_equality(g, wide, lanes, i);
    }
}

/* Of contacts that the caller has found. */
static void post_foreign(be_physics_group *g, unsigned lanes) {
    for (; lanes; lanes &= lanes - 1) {
        const int lane = __builtin_ctz(lanes);
        for (int k = 0; k < g->num_foreign[lane]; k++) {
            const be_foreign *contact = &g->foreign[lane * BE_MOST_FOREIGN + k];
            be_vd along[6], force[6], frame[9], point[3];
            be_foreign_force(along, g, lane, contact);
            for (int i = 0; i < 9; i++) frame[i] = be_set1(contact->frame[i]);
            for (int i = 0; i < 3; i++) point[i] = be_set1(contact->pos[i]);
            be_mul_mat_t_vec3(force, frame, along + 3);
            be_mul_mat_t_vec3(force + 3, frame, along);
            for (int side = 0; side < 2; side++) {
                push(g, be_lanes_of(1u << lane), g->m->geom_bodyid[contact->geoms[side]], point, force, side ? 1 : -1);
            }
        }
    }
}

void be_physics_post_constraint(be_physics_group *g, unsigned own, unsigned asked, unsigned held) {
    post_foreign(g, asked);
    if (g->wide) {
        post(g, 1, own);
        post_equalities(g, 1, held);
    } else {
        post(g, 0, own);
        post_equalities(g, 0, held);
    }
}

BE_INLINE void body_motion(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_zero(g->cacc, 3);
    for (int k = 0; k < 3; k++) g->cacc[3 + k] = BE_K(opt_gravity, k) * -1;
    for (int i = 1; i < m->nbody; i++) {
        const int first = m->body_dofadr[i], n = m->body_dofnum[i];
        be_vd *acceleration = g->cacc + 6 * i, part[6];
        be_copy(acceleration, g->cacc + 6 * m->body_parentid[i], 6);
        be_mul_dof_vec(part, g->cdof_dot + 6 * first, g->qvel + first, n);
        be_add_to(acceleration, part, 6);
        be_mul_dof_vec(part, g->cdof + 6 * first, g->qacc + first, n);
        be_add_to(acceleration, part, 6);
    }
}
BE_PHYSICS_STAGE(body_motion)

BE_INLINE void body_forces(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    body_motion(g, wide);
    be_zero(g->cfrc_int, 6);
    for (int i = 1; i < m->nbody; i++) {
        be_vd part[6], momentum[6], force[6];
        be_mul_inert_vec(force, g->cinert + 10 * i, g->cacc + 6 * i);
        be_mul_inert_vec(momentum, g->cinert + 10 * i, g->cvel + 6 * i);
        be_cross_force(part, g->cvel + 6 * i, momentum);
        be_add_to(force, part, 6);
        for (int k = 0; k < 6; k++) g->cfrc_int[6 * i + k] = force[k] - g->cfrc_ext[6 * i + k];
    }
    for (int i = (int)m->nbody - 1; i > 0; i--)
        be_add_to(g->cfrc_int + 6 * m->body_parentid[i], g->cfrc_int + 6 * i, 6);
}
BE_PHYSICS_STAGE(body_forces)
