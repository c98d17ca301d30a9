/* A world with a few moving bodies, joints between them, and ground that never moves: what a step of it is made of,
 * except for the solver of velocities, which is in solver.h. */
#ifndef BOX2D_WORLD_H
#define BOX2D_WORLD_H

#include "impact.h"
#include "manifold.h"
#include "tree.h"

#define MAX_BODIES 5
#define MAX_JOINTS 4
#ifndef MAX_CONTACTS /* pairs of a body and a piece of ground whose boxes overlap */
#define MAX_CONTACTS 33
#endif

#define TIME_STEP ((float)(1.0 / 50))
#define INVERSE_TIME_STEP (1.0f / TIME_STEP)
#define STEP_RATIO (INVERSE_TIME_STEP * TIME_STEP) /* by which impulses of the last step are scaled */
#define VELOCITY_ROUNDS 180
#define POSITION_ROUNDS 60

/* ---- what all lanes share ------------------------------------------------------------------------- */

typedef struct joint_plan {
    int a, b; /* bodies */
    vec2 anchor_a, anchor_b;
    float reference, lower, upper; /* angles, rad */
} joint_plan;

struct world;

typedef struct plan {
    int bodies, joints;
    /* A piece of ground: its shape, which is an edge of two corners or a polygon, and its friction. */
    shape (*ground)(const struct world *w, int index);
    float (*ground_friction)(const struct world *w, int index);
    int one_ground; /* 1 if all pieces of ground are one body, 0 if each is its own */
    shape shape[MAX_BODIES];
    float friction[MAX_BODIES];
    joint_plan joint[MAX_JOINTS]; /* in the order in which the solver goes through them */
} plan;

/* ---- a lane --------------------------------------------------------------------------------------- */

/* What is kept of a body from step to step. */
typedef struct body_state {
    vec2 c, v; /* center of mass and its velocity */
    float a, w;
    transform xf;
    float sleep; /* for how long it has hardly moved, s */
    box box;     /* in the broad phase: with a margin, moved only when the body leaves it */
} body_state;

#define BODY_FLOATS 15
_Static_assert(sizeof(body_state) == BODY_FLOATS * sizeof(float), "a lane's field is an array of these");

typedef struct body {
    body_state s;
    vec2 c0, force;
    float a0, alpha0, torque; /* see sweep */
    rotation q0;              /* by a0 */
    int awake, moved;         /* moved: has a new box */
} body;

enum { LIMIT_INACTIVE, LIMIT_LOWER, LIMIT_UPPER };

typedef struct joint_state {
    float x, y, z, motor; /* impulses of the last step */
} joint_state;

typedef struct contact {
    int ground, body;
    manifold m;
    float normal[2], tangent[2]; /* impulses */
    int enabled, toi_count, in_island, has_toi;
    float toi;
} contact;

typedef struct world {
    const plan *plan;
    const void *terrain; /* for the plan's function */
    int grounds;
    mass mass[MAX_BODIES];
    vec2 arm_a[MAX_JOINTS], arm_b[MAX_JOINTS]; /* of a joint: from the bodies' centers of mass to the anchors */
    float top;                                 /* of the boxes of all ground */
    const tree *tree;    /* or NULL, if the order of contacts needs none: then each piece of ground is compared */
    const int32_t *leaf; /* of each body, then of each piece of ground */
    body body[MAX_BODIES];
    joint_state joint[MAX_JOINTS];
    int limit[MAX_JOINTS];
    float motor_speed[MAX_JOINTS], max_torque[MAX_JOINTS];
    int contacts;
    contact contact[MAX_CONTACTS]; /* the newest last */
    int touches[MAX_BODIES];       /* set when a contact of the body begins, cleared when any of its contacts ends */
    int hit[MAX_BODIES];           /* set when a contact begins */
    int full;                      /* 1 if there were more contacts than fit */
} world;

static inline void wake(body *b) {
    if (!b->awake) {
        b->awake = 1;
        b->s.sleep = 0.0f;
    }
}

static inline sweep sweep_of(const body *b) { return (sweep){b->c0, b->s.c, b->a0, b->s.a, b->alpha0}; }

static inline void place_body(body *b, const mass *m) {
    b->s.xf.q = rotation_by(b->s.a);
    b->s.xf.p = sub(b->s.c, rotate(b->s.xf.q, m->center));
}

/* ---- contacts ------------------------------------------------------------------------------------- */

/* The box of a piece of ground in the broad phase. */
static inline box ground_box(const world *w, int ground) {
    if (w->tree) return w->tree->box[w->leaf[w->plan->bodies + ground]];
    const transform nowhere = {{0.0f, 0.0f}, {0.0f, 1.0f}};
    const shape s = w->plan->ground(w, ground);
    return with_margin(box_around(&s, &nowhere));
}

/* Of two polygons in contact, the one with the smaller leaf comes first; an edge comes before any polygon. */
static inline int body_is_first(const world *w, const contact *c) {
    return w->tree != NULL && w->leaf[c->body] < w->leaf[w->plan->bodies + c->ground];
}

/* Computes a contact's points anew; points made by the same features keep their impulses. */
static inline void contact_update(world *w, contact *c) {
    body *b = &w->body[c->body];
    const manifold old = c->m;
    const float normal[2] = {c->normal[0], c->normal[1]}, tangent[2] = {c->tangent[0], c->tangent[1]};
    c->enabled = 1;
    const shape still = w->plan->ground(w, c->ground);
    if (still.count == 2) {
        touch_edge(&c->m, &still, &w->plan->shape[c->body], &b->s.xf);
    } else {
        touch_polygon(&c->m, &still, &w->plan->shape[c->body], &b->s.xf, body_is_first(w, c));
    }
    for (int i = 0; i < c->m.count; i++) {
        c->normal[i] = c->tangent[i] = 0.0f;
        for (int j = 0; j < old.count; j++) {
            if (old.id[j] != c->m.id[i]) continue;
            c->normal[i] = normal[j];
            c->tangent[i] = tangent[j];
            break;
        }
    }
    const int was = old.count > 0, is = c->m.count > 0;
    if (was != is) {
        wake(b);
        w->touches[c->body] = is;
        w->hit[c->body] |= is;
    }
}

static inline void contact_remove(world *w, int i) {
    const contact *c = &w->contact[i];
    if (c->m.count > 0) {
        w->touches[c->body] = 0;
        wake(&w->body[c->body]);
    }
    w->contacts--;
    for (int j = i; j < w->contacts; j++) w->contact[j] = w->contact[j + 1];
}

static inline void collide(world *w) {
    for (int i = w->contacts - 1; i >= 0; i--) {
        contact *c = &w->contact[i];
        if (!w->body[c->body].awake) continue;
        const box still = ground_box(w, c->ground);
        if (overlap(&still, &w->body[c->body].s.box)) {
            contact_update(w, c);
        } else {
            contact_remove(w, i);
        }
    }
}

static inline void contact_add(world *w, int ground, int owner) {
    for (int i = 0; i < w->contacts; i++) {
        if (w->contact[i].ground == ground && w->contact[i].body == owner) return;
    }
    if (w->contacts == MAX_CONTACTS) {
        w->full = 1;
        return;
    }
    w->contact[w->contacts++] = (contact){.ground = ground, .body = owner, .enabled = 1};
    wake(&w->body[owner]);
}

/* A body and a piece of ground whose boxes overlap. */
typedef struct meeting {
    int first, second; /* their leaves, the smaller one first */
    int ground, body;
} meeting;

/* Adds contacts of bodies that have new boxes, in the order of the leaves. */
static inline void find_contacts_in_tree(world *w) {
    enum { MOST = 4 * MAX_CONTACTS };
    const int bodies = w->plan->bodies;
    meeting found[MOST];
    int count = 0;
    for (int b = 0; b < bodies; b++) {
        if (!w->body[b].moved) continue;
        w->body[b].moved = 0;
        int leaves[MOST];
        const int n = tree_query(w->tree, &w->body[b].s.box, leaves, MOST - count);
        for (int i = 0; i < n; i++) {
            const int owner = w->tree->node[leaves[i]].child2, mine = w->leaf[b];
            if (owner < bodies) continue;
            const int ground_first = leaves[i] < mine;
            const meeting p = {ground_first ? leaves[i] : mine, ground_first ? mine : leaves[i], owner - bodies, b};
            int k = count++;
            for (; k > 0 &&
                   (p.first < found[k - 1].first || (p.first == found[k - 1].first && p.second < found[k - 1].second));
                 k--) {
                found[k] = found[k - 1];
            }
            found[k] = p;
        }
    }
    if (count == MOST) w->full = 1;
    for (int k = 0; k < count; k++) contact_add(w, found[k].ground, found[k].body);
}

/* The same without a tree: in the order of their numbers, ground first. */
static inline void find_contacts(world *w) {
    if (w->tree) {
        find_contacts_in_tree(w);
        return;
    }
    int any = 0;
    for (int b = 0; b < w->plan->bodies; b++) any |= w->body[b].moved && w->body[b].s.box.low.y <= w->top;
    for (int g = 0; any && g < w->grounds; g++) {
        const box still = ground_box(w, g);
        for (int b = 0; b < w->plan->bodies; b++) {
            if (w->body[b].moved && overlap(&still, &w->body[b].s.box)) contact_add(w, g, b);
        }
    }
    for (int b = 0; b < w->plan->bodies; b++) w->body[b].moved = 0;
}

/* Moves a body's box if the body, on its way from c0, has left it. */
static inline void synchronize(world *w, int index) {
    body *b = &w->body[index];
    const shape *s = &w->plan->shape[index];
    transform start;
    start.q = b->q0;
    start.p = sub(b->c0, rotate(start.q, w->mass[index].center));
    const box first = box_around(s, &start), last = box_around(s, &b->s.xf);
    const box both = {{min_f(first.low.x, last.low.x), min_f(first.low.y, last.low.y)},
                      {max_f(first.high.x, last.high.x), max_f(first.high.y, last.high.y)}};
    box *fat = &b->s.box;
    if (fat->low.x <= both.low.x && fat->low.y <= both.low.y && both.high.x <= fat->high.x &&
        both.high.y <= fat->high.y) {
        return;
    }
    *fat = with_margin(both);
    const vec2 ahead = scale(2.0f, sub(b->s.xf.p, start.p));
    *(ahead.x < 0.0f ? &fat->low.x : &fat->high.x) += ahead.x;
    *(ahead.y < 0.0f ? &fat->low.y : &fat->high.y) += ahead.y;
    b->moved = 1;
    if (w->tree) tree_move(w->tree, w->leaf[index], *fat);
}

/* Pushes a body out of the ground at each point of a contact. Returns the smallest separation, or 0. */
static inline float push_out(const world *w, const contact *c, vec2 *center, float *angle, float strength) {
    const mass *m = &w->mass[c->body];
    float smallest = 0.0f;
    for (int i = 0; i < c->m.count; i++) {
        transform xf;
        xf.q = rotation_by(*angle);
        xf.p = sub(*center, rotate(xf.q, m->center));
        vec2 normal = c->m.normal, point = c->m.point[i];
        float s;
        if (c->m.reference_moves) {
            normal = rotate(xf.q, normal);
            s = dot(sub(point, place(&xf, c->m.plane)), normal);
            normal = neg(normal);
        } else {
            point = place(&xf, point);
            s = dot(sub(point, c->m.plane), normal);
        }
        s = s - SKIN - SKIN;
        const vec2 r = sub(point, *center);
        smallest = min_f(smallest, s);
        const float error = clamp_f(strength * (s + LINEAR_SLOP), -0.2f, 0.0f);
        const float rn = cross(r, normal), k = m->inverse + m->inverse_inertia * rn * rn;
        const vec2 impulse = scale(k > 0.0f ? -error / k : 0.0f, normal);
        *center = add(*center, scale(m->inverse, impulse));
        *angle += m->inverse_inertia * cross(r, impulse);
    }
    return smallest;
}

/* ---- positions ------------------------------------------------------------------------------------ */

/* Moves a body by its velocity, which is cut down first if it is extreme. */
static inline void advance(vec2 *c, float *a, vec2 *v, float *w, float h) {
    const vec2 way = scale(h, *v);
    if (dot(way, way) > 2.0f * 2.0f) *v = scale(2.0f / length(way), *v);
    const float turn = h * *w;
    if (turn * turn > (0.5f * PI_F) * (0.5f * PI_F)) *w *= (0.5f * PI_F) / abs_f(turn);
    *c = add(*c, scale(h, *v));
    *a += h * *w;
}

/* Returns 1 if the joint's error was small enough. */
static inline int joint_position(world *w, int j) {
    const joint_plan *p = &w->plan->joint[j];
    body *a = &w->body[p->a], *b = &w->body[p->b];
    const mass *ma = &w->mass[p->a], *mb = &w->mass[p->b];
    const float largest = 8.0f / 180.0f * PI_F;
    float angle_error = 0.0f;
    if (w->limit[j] != LIMIT_INACTIVE) {
        const float angle = b->s.a - a->s.a - p->reference,
                    motor_mass = 1.0f / (ma->inverse_inertia + mb->inverse_inertia);
        float c, impulse;
        if (w->limit[j] == LIMIT_LOWER) {
            c = angle - p->lower;
            angle_error = -c;
            c = clamp_f(c + ANGULAR_SLOP, -largest, 0.0f);
        } else {
            c = angle - p->upper;
            angle_error = c;
            c = clamp_f(c - ANGULAR_SLOP, 0.0f, largest);
        }
        impulse = -motor_mass * c;
        a->s.a -= ma->inverse_inertia * impulse;
        b->s.a += mb->inverse_inertia * impulse;
    }
    const vec2 ra = rotate(rotation_by(a->s.a), w->arm_a[j]), rb = rotate(rotation_by(b->s.a), w->arm_b[j]);
    const vec2 c = sub(sub(add(b->s.c, rb), a->s.c), ra);
    const float ia = ma->inverse_inertia, ib = mb->inverse_inertia, m = ma->inverse + mb->inverse;
    const float k11 = m + ia * ra.y * ra.y + ib * rb.y * rb.y, k12 = -ia * ra.x * ra.y - ib * rb.x * rb.y;
    const float k22 = m + ia * ra.x * ra.x + ib * rb.x * rb.x;
    float det = k11 * k22 - k12 * k12;
    if (det != 0.0f) det = 1.0f / det;
    const vec2 impulse = {-(det * (k22 * c.x - k12 * c.y)), -(det * (k11 * c.y - k12 * c.x))};
    a->s.c = sub(a->s.c, scale(ma->inverse, impulse));
    a->s.a -= ia * cross(ra, impulse);
    b->s.c = add(b->s.c, scale(mb->inverse, impulse));
    b->s.a += ib * cross(rb, impulse);
    return length(c) <= LINEAR_SLOP && angle_error <= ANGULAR_SLOP;
}

/* What follows the velocities in a step: new positions, sleep, boxes, contacts. */
static inline void solve_positions(world *w) {
    const plan *p = w->plan;
    for (int i = 0; i < p->bodies; i++) {
        body_state *s = &w->body[i].s;
        advance(&s->c, &s->a, &s->v, &s->w, TIME_STEP);
    }
    int solved = 0;
    for (int round = 0; round < POSITION_ROUNDS && !solved; round++) {
        float smallest = 0.0f;
        for (int i = w->contacts - 1; i >= 0; i--) {
            contact *c = &w->contact[i];
            if (c->m.count == 0) continue;
            body_state *s = &w->body[c->body].s;
            smallest = min_f(smallest, push_out(w, c, &s->c, &s->a, 0.2f));
        }
        solved = smallest >= -3.0f * LINEAR_SLOP;
        for (int j = 0; j < p->joints; j++) solved &= joint_position(w, j);
    }
    float rest = FLT_MAX;
    for (int i = 0; i < p->bodies; i++) {
        body *b = &w->body[i];
        place_body(b, &w->mass[i]);
        if (b->s.w * b->s.w > ANGULAR_SLOP * ANGULAR_SLOP || dot(b->s.v, b->s.v) > 0.01f * 0.01f) {
            b->s.sleep = 0.0f;
        } else {
            b->s.sleep += TIME_STEP;
        }
        rest = min_f(rest, b->s.sleep);
    }
    if (rest >= 0.5f && solved) {
        for (int i = 0; i < p->bodies; i++) {
            body *b = &w->body[i];
            b->awake = 0;
            b->s.sleep = b->s.w = 0.0f;
            b->s.v = (vec2){0.0f, 0.0f};
        }
    }
    for (int i = p->bodies - 1; i >= 0; i--) synchronize(w, i); /* the newest body first, for the tree */
    find_contacts(w);
}

#endif
