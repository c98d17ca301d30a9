/* mj_transmission of actuators at free and ball joints, at sites and at cranks, and their velocities, which
 * mj_fwdVelocity computes: `moments` says how far each degree of freedom moves them. */
#include "engines/physics/actuators.h"
#include "engines/physics/objects.h"

static const int32_t in_order[] = {0, 1, 2, 3, 4, 5};

/* Half of actuator i's gear: `part` is 0 or 3. */
BE_INLINE void gear_of(be_vd *to, const be_physics_group *g, const int wide, int i, int part) {
    for (int k = 0; k < 3; k++) to[k] = BE_K(actuator_gear, 6 * i + part + k);
}

BE_INLINE void at_joint(be_physics_group *g, const int wide, int i, be_vd *moment) {
    const be_physics_model *m = g->m;
    const int joint = m->actuator_trnid[2 * i], dof = m->jnt_dofadr[joint], is_free = m->jnt_type[joint] == BE_FREE;
    const int count = is_free ? 6 : 3;
    be_vd quat[4], back[4], axis[3], *turning = moment + dof + count - 3;
    be_copy(quat, g->qpos + m->jnt_qposadr[joint] + (is_free ? 3 : 0), 4);
    be_normalize4(quat, *m->version);
    gear_of(moment + dof, g, wide, i, 0);
    if (is_free) gear_of(turning, g, wide, i, 3);
    if (m->actuator_trntype[i] == BE_AT_PARENT) {
        be_turn_back(back, quat);
        be_rot_vec_quat(turning, turning, back);
    }
    g->actuator_length[i] = be_set1(0);
    if (!is_free) {
        be_quat_turn(axis, quat);
        g->actuator_length[i] = be_dot3(axis, turning);
    }
    g->actuator_velocity[i] = be_dot_sparse(moment + dof, g->qvel + dof, count, in_order);
}

/* ---- sites ---------------------------------------------------------------------------------------------- */

/* The velocity of actuator i: MuJoCo leaves out what is 0 in the moment before it adds up four sums, so that lanes may
 * have other sums than their neighbours. */
BE_INLINE be_vd velocity_of(const be_physics_group *g, int i) {
    const be_physics_model *m = g->m;
    int32_t dofs[m->nv], own[m->nv];
    be_vd found[m->nv], left[m->nv], velocity = be_set1(0);
    const int count = be_moments_of(g, i, dofs, found);
    int alike = 1;
    for (int k = 0; k < count; k++) alike &= be_mask_bits(found[k] != 0) == (1u << BE_VL) - 1;
    if (alike) return be_dot_sparse(found, g->qvel, count, dofs);
    for (int lane = 0; lane < BE_VL; lane++) {
        int n = 0;
        for (int k = 0; k < count; k++) {
            if (found[k][lane] != 0) left[n] = found[k], own[n++] = dofs[k];
        }
        velocity[lane] = be_dot_sparse(left, g->qvel, n, own)[lane];
    }
    return velocity;
}

/* The body of a site that degrees of freedom move, the last of these, and where the site is. */
typedef struct place {
    be_object site;
    be_vd offset[3];
    int last;
} place;

static place place_of(const be_physics_group *g, int site) {
    const be_physics_model *m = g->m;
    place p = {.site = be_object_of(g, BE_OBJECT_SITE, site)};
    const int body = m->body_weldid[p.site.body];
    p.last = body ? m->body_dofadr[body] + m->body_dofnum[body] - 1 : -1;
    be_sub3(p.offset, p.site.position, g->subtree_com + 3 * m->body_rootid[p.site.body]);
    return p;
}

BE_INLINE void at_site(be_physics_group *g, const int wide, int i, be_vd *moment) {
    const place p = place_of(g, g->m->actuator_trnid[2 * i]);
    be_vd gear[3], force[3], torque[3], column[3];
    gear_of(gear, g, wide, i, 0);
    be_mul_mat_vec3(force, p.site.axes, gear);
    gear_of(gear, g, wide, i, 3);
    be_mul_mat_vec3(torque, p.site.axes, gear);
    for (int d = p.last; d >= 0; d = g->m->dof_parentid[d]) {
        be_move_point(column, g, d, p.offset);
        moment[d] = be_along(column, force) + be_along(g->cdof + 6 * d, torque);
    }
    g->actuator_length[i] = be_set1(0);
}

/* Adds to the moment how degrees of freedom that move only one of two sites move it along a wrench. `turns`: whether
 * the wrench is a torque. */
BE_INLINE void add_between(be_physics_group *g, int i, be_vd *moment, const place *places, const be_vd *wrench,
                           int turns) {
    for (int side = 0; side < 2; side++) {
        const place *p = &places[side];
        for (int d = p->last; d >= 0 && d != g->m->actuator_common[i]; d = g->m->dof_parentid[d]) {
            be_vd column[3];
            be_copy(column, g->cdof + 6 * d, 3);
            if (!turns) be_move_point(column, g, d, p->offset);
            if (side) {
                for (int k = 0; k < 3; k++) column[k] = 0 - column[k];
            }
            moment[d] += be_along(column, wrench);
        }
    }
}

/* A site's quaternion. Before 3.17, mj_transmission multiplies in the wrong order. */
BE_INLINE void turn_of(be_vd *to, const be_physics_group *g, const int wide, int site) {
    if (*g->m->version >= 3017) {
        be_site_quat(to, g, wide, site);
        return;
    }
    be_vd quat[4];
    for (int k = 0; k < 4; k++) quat[k] = BE_K(site_quat, 4 * site + k);
    be_mul_quat(to, quat, g->xquat + 4 * g->m->site_bodyid[site], *g->m->version);
}

/* At a site, seen from another one. */
BE_INLINE void between_sites(be_physics_group *g, const int wide, int i, be_vd *moment) {
    const int32_t *ids = g->m->actuator_trnid + 2 * i;
    const place places[] = {place_of(g, ids[0]), place_of(g, ids[1])};
    be_vd gear[3], off[3], wrench[3], length = be_set1(0), quats[8];
    gear_of(gear, g, wide, i, 0);
    if (be_mask_bits((gear[0] != 0) | (gear[1] != 0) | (gear[2] != 0))) {
        be_sub3(off, places[0].site.position, places[1].site.position);
        be_mul_mat_t_vec3(off, places[1].site.axes, off);
        length += be_dot3(off, gear);
        be_mul_mat_vec3(wrench, places[1].site.axes, gear);
        add_between(g, i, moment, places, wrench, 0);
    }
    gear_of(gear, g, wide, i, 3);
    if (be_mask_bits((gear[0] != 0) | (gear[1] != 0) | (gear[2] != 0))) {
        turn_of(quats, g, wide, ids[0]);
        turn_of(quats + 4, g, wide, ids[1]);
        be_sub_quat(off, quats, quats + 4, *g->m->version);
        length += be_dot3(off, gear);
        be_mul_mat_vec3(wrench, places[1].site.axes, gear);
        add_between(g, i, moment, places, wrench, 1);
    }
    g->actuator_length[i] = length;
}

/* At a slider that a rod ties to a crank: how far along the slider's axis. */
BE_INLINE void at_crank(be_physics_group *g, const int wide, int i, be_vd *moment) {
    const be_physics_model *m = g->m;
    const place crank = place_of(g, m->actuator_trnid[2 * i]), slider = place_of(g, m->actuator_trnid[2 * i + 1]);
    const be_vd *axes = slider.site.axes, axis[3] = {axes[2], axes[5], axes[8]};
    const be_vd rod = BE_K(actuator_cranklength, i), gear = BE_K(actuator_gear, 6 * i);
    be_vd off[3], by_axis[3], by_point[3];
    be_sub3(off, crank.site.position, slider.site.position);
    const be_vd along = be_dot3(off, axis), square = along * along + rod * rod - be_dot3(off, off);
    const be_vl reaches = ~(square <= 0); /* the rod is long enough */
    const be_vd root = be_sqrt(square), lever = 1 - along / root;
    for (int k = 0; k < 3; k++) {
        by_axis[k] = be_select(reaches, off[k] * lever, off[k]);
        by_point[k] = be_select(reaches, axis[k] * lever + off[k] * (1 / root), axis[k]);
    }
    for (int c = crank.last, s = slider.last; c >= 0 || s >= 0;) {
        const int d = c > s ? c : s;
        be_vd moves[3], other[3], turns[3];
        be_zero(moves, 3);
        be_zero(turns, 3);
        if (c == d) {
            be_move_point(moves, g, d, crank.offset);
            c = m->dof_parentid[d];
        }
        if (s == d) {
            be_move_point(other, g, d, slider.offset);
            be_sub3(moves, moves, other);
            be_cross(turns, g->cdof + 6 * d, axis);
            s = m->dof_parentid[d];
        }
        for (int k = 0; k < 3; k++) moment[d] += by_axis[k] * turns[k] + by_point[k] * moves[k];
        moment[d] *= gear;
    }
    g->actuator_length[i] = be_select(reaches, along - root, along) * gear;
}

BE_INLINE void transmission(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < m->nu; i++) {
        if (m->actuator_moment[i] < 0) continue;
        be_vd *moment = g->moments + m->actuator_moment[i] * m->nv;
        be_zero(moment, m->nv);
        if (m->actuator_trntype[i] <= BE_AT_PARENT) {
            at_joint(g, wide, i, moment);
            continue;
        }
        if (m->actuator_trntype[i] == BE_AT_CRANK) {
            at_crank(g, wide, i, moment);
        } else if (m->actuator_trnid[2 * i + 1] < 0) {
            at_site(g, wide, i, moment);
        } else {
            between_sites(g, wide, i, moment);
        }
        g->actuator_velocity[i] = velocity_of(g, i);
    }
}
BE_PHYSICS_STAGE(transmission)
