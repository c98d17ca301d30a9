/* mj_sensorPos, mj_sensorVel and mj_sensorAcc, after an evaluation. */
#include "engines/physics/objects.h"

/* get_xquat */
BE_INLINE void quat_of(be_vd *to, const be_physics_group *g, const int wide, int type, int id) {
    const be_physics_model *m = g->m;
    if (type == BE_OBJECT_XBODY) {
        be_copy(to, g->xquat + 4 * id, 4);
        return;
    }
    if (type == BE_OBJECT_SITE) {
        be_site_quat(to, g, wide, id);
        return;
    }
    const int geom = type == BE_OBJECT_GEOM, body = geom ? m->geom_bodyid[id] : id;
    be_vd own[4];
    for (int k = 0; k < 4; k++) own[k] = geom ? BE_K(geom_quat, 4 * id + k) : BE_K(body_iquat, 4 * id + k);
    be_frame_quat(to, g, wide, body, geom && *m->version >= 4000 ? m->geom_sameframe[id] : BE_SAME_NONE, own);
}

/* The orientation of sensor i's object, seen from the sensor's reference frame if it has one. */
BE_INLINE void orientation(be_vd *to, const be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    be_vd reference[4];
    quat_of(to, g, wide, m->sensor_objtype[i], m->sensor_objid[i]);
    if (m->sensor_refid[i] < 0) return;
    quat_of(reference, g, wide, m->sensor_reftype[i], m->sensor_refid[i]);
    for (int k = 1; k < 4; k++) reference[k] = -reference[k];
    be_mul_quat(to, reference, to, *m->version);
}

/* The position of sensor i's object or, with `axis` 0 to 2, one of its axes. */
BE_INLINE void pose(be_vd *to, const be_physics_group *g, const be_object *o, int i, int axis) {
    const be_physics_model *m = g->m;
    be_vd seen[3];
    for (int k = 0; k < 3; k++) seen[k] = axis < 0 ? o->position[k] : o->axes[3 * k + axis];
    if (m->sensor_refid[i] < 0) {
        be_copy(to, seen, 3);
        return;
    }
    const be_object reference = be_object_of(g, m->sensor_reftype[i], m->sensor_refid[i]);
    if (axis < 0) be_sub3(seen, seen, reference.position);
    be_mul_mat_t_vec3(to, reference.axes, seen);
}

/* The velocity of sensor i's object: angular and linear. */
BE_INLINE void velocity(be_vd *to, const be_physics_group *g, const be_object *o, int i) {
    const be_physics_model *m = g->m;
    be_object_velocity(to, g, o, 0);
    if (m->sensor_refid[i] < 0) return;
    const be_object reference = be_object_of(g, m->sensor_reftype[i], m->sensor_refid[i]);
    be_vd other[6], relative[6], offset[3], turned[3];
    be_object_velocity(other, g, &reference, 0);
    for (int k = 0; k < 6; k++) relative[k] = to[k] - other[k];
    be_sub3(offset, o->position, reference.position);
    be_cross(turned, offset, other);
    be_add_to(relative + 3, turned, 3);
    be_mul_mat_t_vec3(to, reference.axes, relative);
    be_mul_mat_t_vec3(to + 3, reference.axes, relative + 3);
}

/* How far a length is inside of the margin of one of its limits; 0 if it is not. */
BE_INLINE be_vd inside_limit(be_vd length, be_vd low, be_vd high, be_vd margin) {
    const be_vd above = length - low, below = high - length;
    const be_vd of_high = be_select(below < margin, below - margin, be_set1(0));
    return be_select(above < margin, above - margin, of_high);
}

/* mju_mulMatTVec, which leaves out zeros. */
BE_INLINE void magnetometer(be_vd *to, const be_physics_group *g, const int wide, const be_vd *axes) {
    be_zero(to, 3);
    for (int r = 0; r < 3; r++) {
        const be_vd field = BE_K(opt_magnetic, r);
        for (int k = 0; k < 3; k++) to[k] = be_select(field == 0, to[k], to[k] + axes[3 * r + k] * field);
    }
}

BE_INLINE be_vd tendon_force(const be_physics_group *g, int tendon) {
    const be_physics_model *m = g->m;
    be_vd sum = be_set1(0);
    for (int j = 0; j < m->nu; j++) {
        if (m->actuator_trntype[j] == BE_AT_TENDON && m->actuator_trnid[2 * j] == tendon) sum += g->actuator_force[j];
    }
    return sum;
}

/* Sensors with one number. */
BE_INLINE be_vd number(const be_physics_group *g, const int wide, int kind, int id) {
    const be_physics_model *m = g->m;
    switch (kind) {
    case BE_SENSOR_JOINTPOS:
        return g->qpos[m->jnt_qposadr[id]];
    case BE_SENSOR_JOINTVEL:
        return g->qvel[m->jnt_dofadr[id]];
    case BE_SENSOR_JOINTACTFRC:
        return g->qfrc_actuator[m->jnt_dofadr[id]];
    case BE_SENSOR_TENDONPOS:
        return g->ten_length[id];
    case BE_SENSOR_TENDONVEL:
        return g->ten_velocity[id];
    case BE_SENSOR_TENDONACTFRC:
        return tendon_force(g, id);
    case BE_SENSOR_ACTUATORPOS:
        return g->actuator_length[id];
    case BE_SENSOR_ACTUATORVEL:
        return g->actuator_velocity[id];
    case BE_SENSOR_ACTUATORFRC:
        return g->actuator_force[id];
    case BE_SENSOR_JOINTLIMITPOS:
        if (!m->jnt_limited[id]) return be_set1(0);
        return inside_limit(g->qpos[m->jnt_qposadr[id]], BE_K(jnt_range, 2 * id), BE_K(jnt_range, 2 * id + 1),
                            BE_K(jnt_margin, id));
    case BE_SENSOR_TENDONLIMITPOS:
        if (!m->tendon_limited[id]) return be_set1(0);
        return inside_limit(g->ten_length[id], BE_K(tendon_range, 2 * id), BE_K(tendon_range, 2 * id + 1),
                            BE_K(tendon_margin, id));
    default: /* BE_SENSOR_CLOCK */
        return g->time;
    }
}

/* Sensors whose object has a place. Returns whether sensor i is one. */
BE_INLINE int of_object(be_vd *to, const be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int kind = m->sensor_kind[i];
    const be_object o = be_object_of(g, m->sensor_objtype[i], m->sensor_objid[i]);
    be_vd both[6]; /* what turns, and what moves */
    switch (kind) {
    case BE_SENSOR_FRAMEPOS:
        pose(to, g, &o, i, -1);
        return 1;
    case BE_SENSOR_FRAMEXAXIS:
    case BE_SENSOR_FRAMEYAXIS:
    case BE_SENSOR_FRAMEZAXIS:
        pose(to, g, &o, i, kind - BE_SENSOR_FRAMEXAXIS);
        return 1;
    case BE_SENSOR_FRAMEQUAT:
        orientation(to, g, wide, i);
        return 1;
    case BE_SENSOR_MAGNETOMETER:
        magnetometer(to, g, wide, o.axes);
        return 1;
    case BE_SENSOR_GYRO:
    case BE_SENSOR_VELOCIMETER:
        be_object_velocity(both, g, &o, 1);
        break;
    case BE_SENSOR_FRAMEANGVEL:
    case BE_SENSOR_FRAMELINVEL:
        velocity(both, g, &o, i);
        break;
    case BE_SENSOR_ACCELEROMETER:
        be_object_acceleration(both, g, &o, 1);
        break;
    case BE_SENSOR_FRAMEANGACC:
    case BE_SENSOR_FRAMELINACC:
        be_object_acceleration(both, g, &o, 0);
        break;
    case BE_SENSOR_FORCE:
    case BE_SENSOR_TORQUE:
        be_object_sees(both, g, &o, g->cfrc_int + 6 * o.body, 1, 1);
        break;
    default:
        return 0;
    }
    const int turns = kind == BE_SENSOR_GYRO || kind == BE_SENSOR_FRAMEANGVEL || kind == BE_SENSOR_FRAMEANGACC ||
                      kind == BE_SENSOR_TORQUE;
    be_copy(to, turns ? both : both + 3, 3);
    return 1;
}

BE_INLINE void sense(be_vd *to, const be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int id = m->sensor_objid[i];
    switch (m->sensor_kind[i]) {
    case BE_SENSOR_BALLQUAT:
        be_copy(to, g->qpos + m->jnt_qposadr[id], 4);
        be_normalize4(to, *m->version);
        break;
    case BE_SENSOR_BALLANGVEL:
        be_copy(to, g->qvel + m->jnt_dofadr[id], 3);
        break;
    case BE_SENSOR_SUBTREECOM:
        be_copy(to, g->subtree_com + 3 * id, 3);
        break;
    case BE_SENSOR_SUBTREELINVEL:
        be_copy(to, g->subtree_linvel + 3 * id, 3);
        break;
    case BE_SENSOR_SUBTREEANGMOM:
        be_copy(to, g->subtree_angmom + 3 * id, 3);
        break;
    default:
        if (!of_object(to, g, wide, i)) to[0] = number(g, wide, m->sensor_kind[i], id);
    }
}

/* apply_cutoff */
BE_INLINE void cut_off(be_vd *to, const be_physics_group *g, const int wide, int i) {
    const be_vd cutoff = BE_K(sensor_cutoff, i);
    const int type = g->m->sensor_datatype[i];
    if (!(BE_K1(sensor_cutoff, i) > 0)) return;
    for (int k = 0; k < g->m->sensor_dim[i]; k++) {
        if (type == BE_DATA_REAL) {
            to[k] = be_clip(to[k], -cutoff, cutoff);
        } else if (type == BE_DATA_POSITIVE) {
            to[k] = be_select(to[k] < cutoff, to[k], cutoff);
        }
    }
}

/* The sensors that the caller computes. */
static void ask(be_physics_group *g) {
    const be_physics_model *m = g->m;
    for (unsigned left = g->present; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const double *values = g->job->sense(g->job->context, g, lane);
        if (!values) g->present &= ~(1u << lane);
        for (int i = 0; values && i < m->nsensor; i++) {
            const int first = m->sensor_adr[i];
            if (m->sensor_kind[i] != -2) continue;
            for (int k = first; k < first + m->sensor_dim[i]; k++) ((double *)&g->sensordata[k])[lane] = values[k];
        }
    }
}

BE_INLINE void sensors(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    if (*m->senses & BE_SENSES_SUBTREES) BE_PHYSICS_STAGE_NAME(subtree_vel)(g);
    if (*m->senses & BE_SENSES_FORCES) {
        BE_PHYSICS_STAGE_NAME(body_forces)(g);
    } else if (*m->senses & BE_SENSES_ACCELERATIONS) {
        BE_PHYSICS_STAGE_NAME(body_motion)(g);
    }
    if (*m->senses & BE_SENSES_CONTACTS) BE_PHYSICS_STAGE_NAME(touch)(g);
    if (*m->senses & BE_SENSES_OTHERS) ask(g);
    for (int i = 0; i < m->nsensor; i++) {
        if (m->sensor_kind[i] < 0) continue;
        be_vd *to = g->sensordata + m->sensor_adr[i];
        if (m->sensor_kind[i] == BE_SENSOR_CONTACT) continue;
        if (m->sensor_kind[i] != BE_SENSOR_TOUCH) sense(to, g, wide, i);
        cut_off(to, g, wide, i);
    }
}
BE_PHYSICS_STAGE(sensors)

BE_INLINE void state_sensors(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    if (*m->senses & BE_SENSES_SUBTREES) BE_PHYSICS_STAGE_NAME(subtree_vel)(g);
    if (*m->senses & BE_SENSES_OTHERS) ask(g);
    for (int i = 0; i < m->nsensor; i++) {
        if (m->sensor_kind[i] < 0 || m->sensor_kind[i] >= BE_SENSOR_OF_ACCELERATIONS) continue;
        be_vd *to = g->sensordata + m->sensor_adr[i];
        sense(to, g, wide, i);
        cut_off(to, g, wide, i);
    }
}
BE_PHYSICS_STAGE(state_sensors)
