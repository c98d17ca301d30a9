/* mj_kinematics: where bodies, joints, geoms and sites are. */
#include "engines/physics/objects.h"

/* n numbers of the model. */
#define GET(to, name, index, n)                                                                                        \
    for (int k_ = 0; k_ < (n); k_++) (to)[k_] = BE_K(name, (index) + k_)

/* mj_local2Global: a frame that is fixed to body `body`, where it is (sameframe) or as its position and rotation in the
 * body's frame say. */
BE_INLINE void place(const be_physics_group *g, int body, int same, const be_vd *position, const be_vd *quat,
                     be_vd *xpos, be_vd *xmat) {
    if (same == BE_SAME_BODY || same == BE_SAME_INERTIA) {
        be_copy(xpos, (same == BE_SAME_BODY ? g->xpos : g->xipos) + 3 * body, 3);
        be_copy(xmat, (same == BE_SAME_BODY ? g->xmat : g->ximat) + 9 * body, 9);
        return;
    }
    be_mul_mat_vec3(xpos, g->xmat + 9 * body, position);
    be_add_to(xpos, g->xpos + 3 * body, 3);
    if (same == BE_SAME_NONE) {
        be_vd turned[4];
        be_mul_quat(turned, g->xquat + 4 * body, quat, *g->m->version);
        be_quat_mat(xmat, turned, *g->m->version);
    } else {
        be_copy(xmat, (same == BE_SAME_BODYROT ? g->xmat : g->ximat) + 9 * body, 9);
    }
}

/* Moves a body's frame as its joint j says. */
BE_INLINE void turn(be_physics_group *g, const int wide, int j, be_vd *position, be_vd *quat) {
    const be_physics_model *m = g->m;
    const int at = m->jnt_qposadr[j], type = m->jnt_type[j];
    be_vd axis[3], anchor[3], *xaxis = g->xaxis + 3 * j, *xanchor = g->xanchor + 3 * j;
    GET(axis, jnt_axis, 3 * j, 3);
    GET(anchor, jnt_pos, 3 * j, 3);
    be_rot_vec_quat(xaxis, axis, quat);
    be_rot_vec_quat(xanchor, anchor, quat);
    be_add_to(xanchor, position, 3);
    if (type == BE_SLIDE) {
        const be_vd by = g->qpos[at] - BE_K(qpos0, at);
        for (int k = 0; k < 3; k++) position[k] += xaxis[k] * by;
        return;
    }
    be_vd local[4];
    if (type == BE_BALL) {
        be_copy(local, g->qpos + at, 4);
        be_normalize4(local, *m->version);
    } else {
        be_axis_angle_quat(local, axis, g->qpos[at] - BE_K(qpos0, at));
    }
    be_mul_quat(quat, quat, local, *m->version);
    be_vd offset[3]; /* the anchor stays where it is */
    be_rot_vec_quat(offset, anchor, quat);
    be_sub3(position, xanchor, offset);
}

BE_INLINE void move_body(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int first = m->body_jntadr[i], joints = m->body_jntnum[i];
    be_vd position[3], quat[4];
    if (joints == 1 && m->jnt_type[first] == BE_FREE) {
        const int at = m->jnt_qposadr[first];
        be_copy(position, g->qpos + at, 3);
        be_copy(quat, g->qpos + at + 3, 4);
        be_normalize4(quat, *m->version);
        be_copy(g->xanchor + 3 * first, position, 3);
        GET(g->xaxis + 3 * first, jnt_axis, 3 * first, 3);
    } else {
        const int parent = m->body_parentid[i], mocap = m->body_mocapid[i];
        if (mocap < 0) {
            GET(position, body_pos, 3 * i, 3);
            GET(quat, body_quat, 4 * i, 4);
        } else {
            be_copy(position, g->mocap_pos + 3 * mocap, 3);
            be_copy(quat, g->mocap_quat + 4 * mocap, 4);
            be_normalize4(quat, *m->version);
        }
        if (parent) {
            be_mul_mat_vec3(position, g->xmat + 9 * parent, position);
            be_add_to(position, g->xpos + 3 * parent, 3);
            be_mul_quat(quat, g->xquat + 4 * parent, quat, *m->version);
        }
        for (int j = first; j < first + joints; j++) turn(g, wide, j, position, quat);
    }
    be_normalize4(quat, *m->version);
    be_copy(g->xpos + 3 * i, position, 3);
    be_copy(g->xquat + 4 * i, quat, 4);
    be_quat_mat(g->xmat + 9 * i, quat, *m->version);
}

BE_INLINE void kinematics(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_zero(g->xpos, 3);
    be_zero(g->xipos, 3);
    for (int k = 0; k < 4; k++) g->xquat[k] = be_set1(k == 0);
    for (int k = 0; k < 9; k++) g->xmat[k] = g->ximat[k] = be_set1(k % 4 == 0);
    const int known = g->still; /* what never moves has its place */
    for (int i = 1; i < m->nbody; i++) {
        if (!known || !m->body_still[i]) move_body(g, wide, i);
    }
    for (int i = 1; i < m->nbody; i++) {
        if (known && m->body_still[i]) continue;
        be_vd position[3], quat[4];
        GET(position, body_ipos, 3 * i, 3);
        GET(quat, body_iquat, 4 * i, 4);
        place(g, i, m->body_sameframe[i], position, quat, g->xipos + 3 * i, g->ximat + 9 * i);
    }
    for (int i = 0; i < m->ngeom; i++) {
        if (known && m->body_still[m->geom_bodyid[i]]) continue;
        be_vd position[3], quat[4];
        GET(position, geom_pos, 3 * i, 3);
        GET(quat, geom_quat, 4 * i, 4);
        place(g, m->geom_bodyid[i], m->geom_sameframe[i], position, quat, g->geom_xpos + 3 * i, g->geom_xmat + 9 * i);
    }
    for (int i = 0; i < m->nsite; i++) {
        be_vd position[3], quat[4];
        GET(position, site_pos, 3 * i, 3);
        GET(quat, site_quat, 4 * i, 4);
        place(g, m->site_bodyid[i], m->site_sameframe[i], position, quat, g->site_xpos + 3 * i, g->site_xmat + 9 * i);
        if (*m->version >= 4000) {
            be_frame_quat(g->site_xquat + 4 * i, g, wide, m->site_bodyid[i], m->site_sameframe[i], quat);
        }
    }
    if (!known) be_physics_bound_still(g);
    g->still = 1;
}
BE_PHYSICS_STAGE(kinematics)
