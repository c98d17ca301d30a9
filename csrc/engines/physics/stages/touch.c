/* mj_sensorAcc for sensors of contacts, <contact> and <touch>, where contacts were found here. */
#include "engines/physics/contacts.h"

/* mjtConDataField: what a sensor shows of each contact, and how many numbers these are. */
enum { FOUND, FORCE, TORQUE, DIST, POS, NORMAL, TANGENT, FIELDS };
static const int sizes[FIELDS] = {1, 3, 3, 1, 3, 3, 3};
enum { NEAREST = 1, STRONGEST, NET }; /* which contacts go first; or all as one */

/* A contact that a sensor shows. */
typedef struct match {
    be_vl here; /* in which lanes */
    int candidate, flips;
    be_vd force[6], criterion, rank; /* `force` is that of be_contact_force */
} match;
_Static_assert(sizeof(match) <= BE_PHYSICS_MATCH * sizeof(be_vd),
               "there is too little room in be_physics_group.matches");

/* A sensor under way. */
typedef struct sensor {
    match *matches;
    int count;
    be_vd found;       /* how many contacts each lane has */
    be_vd *at[FIELDS]; /* where each field of the first contact goes, or NULL */
    int size;          /* of a contact's fields */
    int contacts;      /* how many there is room for */
} sensor;

/* Puts the n numbers of `values` into a field of contact `place` of the lanes of `here`. */
BE_INLINE void put(const sensor *s, int field, int place, be_vl here, const be_vd *values) {
    be_vd *to = s->at[field];
    if (!to) return;
    to += place * s->size;
    for (int k = 0; k < sizes[field]; k++) to[k] = be_select(here, values[k], to[k]);
}

/* Puts a contact into the places that it has by its rank. */
BE_INLINE void show(const be_physics_group *g, const sensor *s, const match *contact) {
    const double sign = contact->flips ? -1 : 1;
    const be_vd *frame = g->contact_frame + 9 * contact->candidate, *force = contact->force;
    const be_vd forces[3] = {force[0], force[1], sign * force[2]}, torques[3] = {force[3], force[4], sign * force[5]};
    be_vd axes[6];
    for (int k = 0; k < 6; k++) axes[k] = contact->flips ? frame[k] * sign : frame[k];
    for (int place = 0; place < s->contacts; place++) {
        const be_vl here = contact->here & (contact->rank == place);
        if (!be_any(here)) continue;
        put(s, FOUND, place, here, &s->found);
        put(s, FORCE, place, here, forces);
        put(s, TORQUE, place, here, torques);
        put(s, DIST, place, here, &g->contact_dist[contact->candidate]);
        put(s, POS, place, here, g->contact_pos + 3 * contact->candidate);
        put(s, NORMAL, place, here, axes);
        put(s, TANGENT, place, here, axes + 3);
    }
}

BE_INLINE void rank(const sensor *s) {
    const be_vd zero = be_set1(0), one = be_set1(1);
    for (int i = 0; i < s->count; i++) {
        match *mine = &s->matches[i];
        mine->rank = zero;
        for (int j = 0; j < s->count; j++) {
            const match *other = &s->matches[j];
            be_vl before = other->criterion < mine->criterion;
            if (j < i) before |= other->criterion == mine->criterion;
            mine->rank += be_select(before & other->here, one, zero);
        }
    }
}

/* All contacts as one force and torque at the middle of their places, weighted by forces. In old versions there is a
 * normal and a tangent also without contacts. */
BE_INLINE void show_net(const be_physics_group *g, const sensor *s) {
    const be_vd zero = be_set1(0), one = be_set1(1), least = be_set1(BE_MINVAL);
    be_vd point[3] = {zero, zero, zero}, force[3] = {zero, zero, zero}, torque[3] = {zero, zero, zero}, total = zero;
    for (int i = 0; i < s->count; i++) {
        const match *contact = &s->matches[i];
        const be_vd *place = g->contact_pos + 3 * contact->candidate, *along = contact->force;
        const be_vd weight = be_sqrt(be_dot3(along, along));
        for (int k = 0; k < 3; k++) point[k] = be_select(contact->here, point[k] + place[k] * weight, point[k]);
        total = be_select(contact->here, total + weight, total);
    }
    const be_vd share = 1.0 / be_select(total > BE_MINVAL, total, least);
    for (int k = 0; k < 3; k++) point[k] *= share;
    for (int i = 0; i < s->count; i++) {
        const match *contact = &s->matches[i];
        const be_vd *frame = g->contact_frame + 9 * contact->candidate;
        be_vd along[6], part[6], arm[3], turn[3];
        for (int k = 0; k < 6; k++) along[k] = contact->flips ? contact->force[k] * -1 : contact->force[k];
        for (int k = 0; k < 6; k += 3) be_mul_mat_t_vec3(part + k, frame, along + k);
        be_sub3(arm, g->contact_pos + 3 * contact->candidate, point);
        be_cross(turn, arm, part);
        for (int k = 0; k < 3; k++) {
            force[k] = be_select(contact->here, force[k] + part[k], force[k]);
            torque[k] = be_select(contact->here, torque[k] + part[3 + k] + turn[k], torque[k]);
        }
    }
    const be_vl here = *g->m->version < 3016 ? ~be_lanes_of(g->asked) : s->found > 0;
    const be_vd x[3] = {one, zero, zero}, y[3] = {zero, one, zero};
    put(s, FOUND, 0, here, &s->found);
    put(s, FORCE, 0, here, force);
    put(s, TORQUE, 0, here, torque);
    put(s, POS, 0, here, point);
    put(s, NORMAL, 0, here, x);
    put(s, TANGENT, 0, here, y);
}

/* Appends candidate k of a contact, which sensor i shows. */
BE_INLINE void collect(be_physics_group *g, const int wide, sensor *s, int i, int pair, int k, int flips) {
    const int forces = s->at[FORCE] || s->at[TORQUE] || g->m->sensor_reduce[i] >= STRONGEST;
    match *contact = &s->matches[s->count];
    const be_vl here = ((const be_vl *)g->contact_found)[k] & be_lanes_of(g->touched);
    const be_vl pushing = here & ((const be_vl *)g->contact_here)[k];
    if (!be_any(here)) return;
    *contact = (match){.here = here, .candidate = k, .flips = flips};
    contact->criterion = be_set1(0);
    if (forces) be_contact_force(contact->force, g, wide, be_mask_bits(pushing), pair, k);
    if (g->m->sensor_reduce[i] == NEAREST) contact->criterion = g->contact_dist[k];
    if (g->m->sensor_reduce[i] == STRONGEST) contact->criterion = -be_dot3(contact->force, contact->force);
    s->found += be_select(here, be_set1(1), be_set1(0));
    s->count++;
}

/* Sensor i. `shown` says for each pair whether its contacts are shown: 1, or -1: with the normal turned around. */
BE_INLINE void feel(be_physics_group *g, const int wide, int i, const int32_t *shown) {
    const be_physics_model *m = g->m;
    be_vd *to = g->sensordata + m->sensor_adr[i];
    sensor s = {.matches = (match *)g->matches};
    s.found = be_set1(0);
    for (int field = 0; field < FIELDS; field++) {
        if (!(m->sensor_spec[i] >> field & 1)) continue;
        s.at[field] = to + s.size;
        s.size += sizes[field];
    }
    s.contacts = m->sensor_dim[i] / s.size;
    for (int j = 0; g->touched && j < g->num_touching; j++) {
        const int pair = g->touching[j].pair;
        if (shown[pair]) collect(g, wide, &s, i, pair, g->touching[j].candidate, shown[pair] < 0);
    }
    if (m->sensor_reduce[i] == NET) {
        show_net(g, &s);
        return;
    }
    rank(&s);
    for (int j = 0; j < s.count; j++) show(g, &s, &s.matches[j]);
}

/* Whether the ray from a point meets a site of a lane. */
static int meets(const be_physics_group *g, int lane, int site, const double *point, const double *along) {
    double pos[3], mat[9];
    for (int i = 0; i < 9; i++) mat[i] = ((const double *)&g->site_xmat[9 * site + i])[lane];
    for (int i = 0; i < 3; i++) pos[i] = ((const double *)&g->site_xpos[3 * site + i])[lane];
    const double *size = &BE_K1(site_size, 3 * site);
    return g->job->functions->mju_rayGeom(pos, mat, size, point, along, g->m->site_type[site], NULL) >= 0;
}

/* The lanes of `here` in which the ray from candidate k along `direction` meets a site. */
static be_vl rays(const be_physics_group *g, unsigned here, int site, int k, const be_vd *direction) {
    unsigned met = 0;
    for (unsigned left = here; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        double point[3], along[3];
        for (int i = 0; i < 3; i++) {
            point[i] = ((const double *)&g->contact_pos[3 * k + i])[lane];
            along[i] = ((const double *)&direction[i])[lane];
        }
        if (meets(g, lane, site, point, along)) met |= 1u << lane;
    }
    return be_lanes_of(met);
}

/* Sensor i, of touch: adds up normal forces of the body's contacts that push towards the site. */
BE_INLINE void feel_touch(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int site = m->sensor_objid[i], body = m->site_bodyid[site];
    be_vd *sum = g->sensordata + m->sensor_adr[i];
    for (int j = 0; g->touched && j < g->num_touching; j++) {
        const int pair = g->touching[j].pair, k = g->touching[j].candidate;
        const int first = m->geom_bodyid[m->pair_geoms[2 * pair]], second = m->geom_bodyid[m->pair_geoms[2 * pair + 1]];
        const be_vl here = ((const be_vl *)g->contact_here)[k] & be_lanes_of(g->touched);
        if ((body != first && body != second) || !be_any(here)) continue;
        be_vd force[6], direction[3];
        be_contact_force(force, g, wide, be_mask_bits(here), pair, k);
        for (int c = 0; c < 3; c++) direction[c] = g->contact_frame[9 * k + c] * force[0];
        be_normalize3(direction);
        for (int c = 0; c < 3 && body == second; c++) direction[c] *= -1;
        const be_vl met = rays(g, be_mask_bits(here & ~(force[0] <= 0)), site, k, direction);
        *sum = be_select(met, *sum + force[0], *sum);
    }
}

BE_INLINE void touch(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    const be_vl asked = be_lanes_of(g->asked);
    const int32_t *shown = m->contact_shown;
    for (int i = 0; i < m->nsensor; i++) {
        if (m->sensor_kind[i] != BE_SENSOR_CONTACT && m->sensor_kind[i] != BE_SENSOR_TOUCH) continue;
        be_vd *to = g->sensordata + m->sensor_adr[i];
        for (int k = 0; k < m->sensor_dim[i]; k++) to[k] = be_select(asked, to[k], be_set1(0));
        if (m->sensor_kind[i] == BE_SENSOR_TOUCH) {
            feel_touch(g, wide, i);
            continue;
        }
        feel(g, wide, i, shown);
        shown += m->num_pairs;
    }
}
BE_PHYSICS_STAGE(touch)
