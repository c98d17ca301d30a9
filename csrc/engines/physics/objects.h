/* Frames of bodies, geoms and sites, and how they move. */
#ifndef BE_PHYSICS_OBJECTS_H
#define BE_PHYSICS_OBJECTS_H

#include "engines/physics/group.h"

/* Where an object is, and the body that it is fixed to. */
typedef struct be_object {
    const be_vd *position, *axes;
    int body;
} be_object;

/* mj_local2Global, of an orientation: that of a frame of a body, which turns by `own` from it, or has the orientation
 * that `same` says. */
BE_INLINE void be_frame_quat(be_vd *to, const be_physics_group *g, const int wide, int body, int same,
                             const be_vd *own) {
    const be_vd *frame = g->xquat + 4 * body;
    if (same == BE_SAME_BODY || same == BE_SAME_BODYROT) {
        be_copy(to, frame, 4);
        return;
    }
    be_vd inertia[4];
    for (int k = 0; k < 4; k++) inertia[k] = BE_K(body_iquat, 4 * body + k);
    be_mul_quat(to, frame, same == BE_SAME_NONE ? own : inertia, *g->m->version);
}

/* A site's orientation by its own quaternion, as mj_Jdotv has it, and by `sameframe`, which counts from MuJoCo 4 on. */
BE_INLINE void be_own_site_quat(be_vd *to, const be_physics_group *g, const int wide, int site) {
    be_vd own[4];
    for (int k = 0; k < 4; k++) own[k] = BE_K(site_quat, 4 * site + k);
    be_frame_quat(to, g, wide, g->m->site_bodyid[site], BE_SAME_NONE, own);
}
BE_INLINE void be_site_quat(be_vd *to, const be_physics_group *g, const int wide, int site) {
    if (*g->m->version >= 4000) {
        be_copy(to, g->site_xquat + 4 * site, 4);
    } else {
        be_own_site_quat(to, g, wide, site);
    }
}

/* type: BE_OBJECT_..., or another one, such as a joint's: that has no place. */
static inline be_object be_object_of(const be_physics_group *g, int type, int id) {
    switch (type) {
    case BE_OBJECT_BODY:
        return (be_object){g->xipos + 3 * id, g->ximat + 9 * id, id};
    case BE_OBJECT_XBODY:
        return (be_object){g->xpos + 3 * id, g->xmat + 9 * id, id};
    case BE_OBJECT_GEOM:
        return (be_object){g->geom_xpos + 3 * id, g->geom_xmat + 9 * id, g->m->geom_bodyid[id]};
    case BE_OBJECT_SITE:
        return (be_object){g->site_xpos + 3 * id, g->site_xmat + 9 * id, g->m->site_bodyid[id]};
    default:
        return (be_object){0};
    }
}

/* Whether no joint moves the object. */
static inline int be_object_rests(const be_physics_model *m, const be_object *o) {
    return m->body_dofnum[m->body_weldid[o->body]] == 0;
}

/* mju_transformSpatial: a motion of the object's body (or a force on it, with `is_force`), which is given at its tree's
 * centre of mass, seen from the object's place; if `local`, along the object's axes. */
BE_INLINE void be_object_sees(be_vd *to, const be_physics_group *g, const be_object *o, const be_vd *spatial,
                              int is_force, int local) {
    be_vd offset[3], turned[3], moved[6];
    be_copy(moved, spatial, 6);
    be_sub3(offset, o->position, g->subtree_com + 3 * g->m->body_rootid[o->body]);
    be_cross(turned, offset, is_force ? spatial + 3 : spatial);
    be_vd *part = is_force ? moved : moved + 3;
    be_sub3(part, part, turned);
    if (!local) {
        be_copy(to, moved, 6);
        return;
    }
    be_mul_mat_t_vec3(to, o->axes, moved);
    be_mul_mat_t_vec3(to + 3, o->axes, moved + 3);
}

/* mj_objectVelocity: angular and linear */
BE_INLINE void be_object_velocity(be_vd *to, const be_physics_group *g, const be_object *o, int local) {
    if (be_object_rests(g->m, o)) {
        be_zero(to, 6);
        return;
    }
    be_object_sees(to, g, o, g->cvel + 6 * o->body, 0, local);
}

/* mj_objectAcceleration: angular and linear. From MuJoCo 4 on, gravity acts on what is at rest, too. */
BE_INLINE void be_object_acceleration(be_vd *to, const be_physics_group *g, const be_object *o, int local) {
    const int rests = be_object_rests(g->m, o);
    if (rests && *g->m->version < 4000) {
        be_zero(to, 6);
        return;
    }
    be_vd velocity[6], coriolis[3];
    be_object_sees(to, g, o, g->cacc + 6 * o->body, 0, local);
    if (rests) return;
    be_object_sees(velocity, g, o, g->cvel + 6 * o->body, 0, local);
    be_cross(coriolis, velocity, velocity + 3);
    be_add_to(to + 3, coriolis, 3);
}

/* How degree of freedom d moves a point that is `offset` away from its tree's centre of mass (mj_jac). */
BE_INLINE void be_move_point(be_vd *to, const be_physics_group *g, int d, const be_vd *offset) {
    const be_vd *dof = g->cdof + 6 * d;
    be_cross(to, dof, offset);
    for (int k = 0; k < 3; k++) to[k] = dof[3 + k] + to[k];
}

/* How fast that changes at these velocities, and how fast the turning does (mj_jacDot). `moving` is the point's
 * velocity.
 */
BE_INLINE void be_change_moves(be_vd *to, const be_physics_group *g, int d, const be_vd *offset, const be_vd *moving) {
    const be_physics_model *m = g->m;
    const be_vd *dof = g->cdof + 6 * d, *dot = g->cdof_dot + 6 * d;
    const int joint = m->dof_jntid[d], type = m->jnt_type[joint];
    be_vd of_quat[6], turned[3], along[3];
    if (type == BE_BALL || (type == BE_FREE && d >= m->jnt_dofadr[joint] + 3)) {
        be_cross_motion(of_quat, g->cvel + 6 * m->dof_bodyid[d], dof);
        dot = of_quat;
    }
    be_cross(turned, dot, offset);
    be_cross(along, dof, moving);
    for (int k = 0; k < 3; k++) {
        to[k] = be_set1(0) + (dot[3 + k] + turned[k] + along[k]);
        to[3 + k] = be_set1(0) + dot[k];
    }
}

/* The velocity of a point of a body. */
BE_INLINE void be_point_velocity(be_vd *to, const be_physics_group *g, int body, const be_vd *offset) {
    const be_vd *velocity = g->cvel + 6 * body;
    be_vd around[3];
    be_cross(around, offset, velocity);
    be_sub3(to, velocity + 3, around);
}

/* mju_mulMatTVec for one column */
BE_INLINE be_vd be_along(const be_vd *column, const be_vd *wrench) {
    be_vd sum = be_set1(0);
    for (int k = 0; k < 3; k++) sum += column[k] * wrench[k];
    return sum;
}

/* mj_applyFT: adds what a force and a torque on body i, at the given offset from its tree's centre of mass, do to its
 * degrees of freedom. */
BE_INLINE void be_apply(be_vd *to, const be_physics_group *g, int i, const be_vd *offset, const be_vd *force,
                        const be_vd *torque) {
    const be_physics_model *m = g->m;
    const int body = m->body_weldid[i];
    if (body == 0) return;
    for (int d = m->body_dofadr[body] + m->body_dofnum[body] - 1; d >= 0; d = m->dof_parentid[d]) {
        to[d] = be_pushed(to[d], g->cdof + 6 * d, offset, force, torque);
    }
}

#endif
