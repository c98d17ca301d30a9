/* A lane's fields, and the world that is made of them for a step. */
#ifndef BOX2D_LANE_H
#define BOX2D_LANE_H

#include "batchenv.h"
#include "substeps.h"

/* The range of densities, kg/m^2: bodies far heavier than those that carry them are beyond the solver. */
#define DENSITY_MIN 1e-3
#define DENSITY_MAX 1e3

/* The fields that all worlds have come first in their states. */
enum { BODY, JOINT, LIMIT, CONTACTS, PAIR, POINTS, FEATURE, IMPULSE, WORLD_FIELDS };

/* The rows of one lane in these and in those that say what touches the ground. */
typedef struct lane_fields {
    body_state *body;
    joint_state *joint;
    int32_t *limit, *contacts, *pair, *points, *feature;
    float *impulse;
    int32_t *touches, *over; /* touches: of two bodies */
    const int *touching;     /* which two; `over` says whether body 0 has touched the ground */
} lane_fields;

/* Those of lane i that come first, of which each has room for so many contacts. */
static inline lane_fields world_fields(const be_batch *batch, int64_t i, const plan *p, int64_t contacts) {
    return (lane_fields){
        .body = (body_state *)((float *)batch->state[BODY] + i * p->bodies * BODY_FLOATS),
        .joint = (joint_state *)((float *)batch->state[JOINT] + i * p->joints * 4),
        .limit = (int32_t *)batch->state[LIMIT] + i * p->joints,
        .contacts = (int32_t *)batch->state[CONTACTS] + i,
        .pair = (int32_t *)batch->state[PAIR] + i * contacts,
        .points = (int32_t *)batch->state[POINTS] + i * contacts,
        .feature = (int32_t *)batch->state[FEATURE] + i * contacts * 2,
        .impulse = (float *)batch->state[IMPULSE] + i * contacts * 4,
    };
}

static inline void world_load(world *w, const plan *p, const lane_fields *f) {
    w->plan = p;
    w->full = 0;
    for (int b = 0; b < p->bodies; b++) {
        w->body[b] = (body){.s = f->body[b], .awake = 1};
        w->touches[b] = w->hit[b] = 0;
    }
    for (int j = 0; j < p->joints; j++) {
        w->joint[j] = f->joint[j];
        w->limit[j] = f->limit[j];
    }
    w->contacts = *f->contacts;
    for (int k = 0; k < w->contacts; k++) {
        contact *c = &w->contact[k];
        *c = (contact){.ground = f->pair[k] / p->bodies, .body = f->pair[k] % p->bodies};
        c->m.count = f->points[k];
        for (int i = 0; i < 2; i++) {
            c->m.id[i] = (uint32_t)f->feature[2 * k + i];
            c->normal[i] = f->impulse[4 * k + i];
            c->tangent[i] = f->impulse[4 * k + 2 + i];
        }
    }
    for (int i = 0; i < 2; i++) w->touches[f->touching[i]] = f->touches[i];
    w->hit[0] = *f->over;
}

static inline void world_store(const world *w, const lane_fields *f) {
    const plan *p = w->plan;
    for (int b = 0; b < p->bodies; b++) f->body[b] = w->body[b].s;
    for (int j = 0; j < p->joints; j++) {
        f->joint[j] = w->joint[j];
        f->limit[j] = w->limit[j];
    }
    *f->contacts = w->contacts;
    for (int k = 0; k < w->contacts; k++) {
        const contact *c = &w->contact[k];
        f->pair[k] = c->ground * p->bodies + c->body;
        f->points[k] = c->m.count;
        for (int i = 0; i < 2; i++) {
            f->feature[2 * k + i] = (int32_t)c->m.id[i];
            f->impulse[4 * k + i] = c->normal[i];
            f->impulse[4 * k + 2 + i] = c->tangent[i];
        }
    }
    for (int i = 0; i < 2; i++) f->touches[i] = w->touches[f->touching[i]];
    *f->over = w->hit[0];
}

/* Begins a world without joints' impulses and contacts. */
static inline void world_clear(world *w, const plan *p) {
    memset(w, 0, offsetof(world, contact));
    memset(w->touches, 0, sizeof w->touches);
    memset(w->hit, 0, sizeof w->hit);
    w->plan = p;
    w->contacts = w->full = 0;
}

static inline void world_add_body(world *w, int index, float x, float y, float angle) {
    body *b = &w->body[index];
    *b = (body){.awake = 1, .moved = 1};
    b->s.a = angle;
    b->s.xf = (transform){{x, y}, rotation_by(angle)};
    b->s.c = place(&b->s.xf, w->mass[index].center);
    b->s.box = with_margin(box_around(&w->plan->shape[index], &b->s.xf));
}

/* A joint of a plan. Anchors are in the bodies' coordinates; the angles at which the bodies begin make its angle 0. */
static inline void plan_joint(plan *p, int j, joint_plan joint, float angle_a, float angle_b) {
    joint.reference = (float)((double)angle_b - (double)angle_a);
    p->joint[j] = joint;
}

/* Constants from which a lane's masses are read; see `prepare_masses`. */
enum { INVERSE, INVERSE_INERTIA, CENTER_X, CENTER_Y, MASS_CONSTANTS };

/* Fills the constants with the masses of the plan's bodies. Densities are in kg/m^2. */
static inline void prepare_masses(const plan *p, const double *density, double *constants) {
    for (int b = 0; b < p->bodies; b++) {
        const mass m = mass_of(&p->shape[b], (float)density[b]);
        double *out = constants + b * MASS_CONSTANTS;
        out[INVERSE] = m.inverse;
        out[INVERSE_INERTIA] = m.inverse_inertia;
        out[CENTER_X] = m.center.x;
        out[CENTER_Y] = m.center.y;
    }
}

/* Gives a lane's bodies their masses. */
static inline void put_masses(const be_batch *batch, int64_t lane, world *w) {
    const plan *p = w->plan;
    const double *values = batch->constants;
    double own[MAX_BODIES * MASS_CONSTANTS];
    if (batch->per_lane) {
        for (int k = 0; k < p->bodies * MASS_CONSTANTS; k++) own[k] = be_constant_of(batch, k, lane);
        values = own;
    }
    for (int b = 0; b < p->bodies; b++, values += MASS_CONSTANTS) {
        w->mass[b] = (mass){
            (float)values[INVERSE], (float)values[INVERSE_INERTIA], {(float)values[CENTER_X], (float)values[CENTER_Y]}};
    }
    for (int j = 0; j < p->joints; j++) {
        const joint_plan *joint = &p->joint[j];
        w->arm_a[j] = sub(joint->anchor_a, w->mass[joint->a].center);
        w->arm_b[j] = sub(joint->anchor_b, w->mass[joint->b].center);
    }
}

/* The contacts of a restored lane name each pair once: two of one pair would be more than a body can have. */
static inline int check_pairs(const int32_t *pair, int count, int64_t lane, be_error *error) {
    for (int k = 1; k < count; k++) {
        for (int j = 0; j < k; j++) {
            if (pair[j] != pair[k]) continue;
            return be_fail(error, BE_ERROR_VALUE, lane, "pairs of lane %lld name %d twice", (long long)lane, pair[k]);
        }
    }
    return BE_OK;
}

#endif
