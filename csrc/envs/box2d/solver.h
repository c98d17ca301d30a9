/* The solver of velocities: nearly all of the time of a step goes into its 180 rounds. Box2D solves one world after the
 * other; here SOLVER_LANES of them go through the rounds side by side, one in each place of a float32 vector. */
#ifndef BOX2D_SOLVER_H
#define BOX2D_SOLVER_H

#include <stddef.h>

#include "simd.h"
#include "world.h"

#define SOLVER_LANES (2 * BE_VL)

typedef float vf __attribute__((vector_size(4 * SOLVER_LANES)));
typedef int32_t vi __attribute__((vector_size(4 * SOLVER_LANES)));

/* mask ? a : b, where mask is the result of a comparison. */
BE_INLINE vf vf_select(vi mask, vf a, vf b) {
#if BE_ISA == BE_ISA_AVX512
    return (vf)_mm512_mask_blend_ps(_mm512_movepi32_mask((__m512i)mask), (__m512)b, (__m512)a);
#elif BE_ISA == BE_ISA_AVX2
    return (vf)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)mask);
#else
    return (vf)((mask & (vi)a) | (~mask & (vi)b));
#endif
}
BE_INLINE int vi_any(vi mask) {
#if BE_ISA == BE_ISA_AVX512
    return _mm512_movepi32_mask((__m512i)mask) != 0;
#elif BE_ISA == BE_ISA_AVX2
    return _mm256_movemask_ps((__m256)mask) != 0;
#else
    int any = 0;
    for (int i = 0; i < SOLVER_LANES; i++) any |= mask[i];
    return any != 0;
#endif
}
BE_INLINE vf vf_set1(float x) { return x - (vf){0}; }
BE_INLINE vf vf_min(vf a, vf b) { return vf_select(a < b, a, b); }
BE_INLINE vf vf_max(vf a, vf b) { return vf_select(a > b, a, b); }

/* A body's mass in each lane. */
typedef struct mass_lanes {
    vf inverse, inverse_inertia;
} mass_lanes;

/* A joint of each lane. Its mass matrix is symmetric: k11 to k33. */
typedef struct joint_lanes {
    vf rax, ray, rbx, rby;
    vf k11, k12, k13, k22, k23, k33;
    vf x, y, z, motor; /* impulses */
    vf speed, largest; /* of the motor: wanted speed, largest impulse */
    vf motor_mass;
    vi lower, upper; /* whether the joint is at a limit */
} joint_lanes;

/* A contact of each lane. Without a contact, all numbers are 0. */
typedef struct point_lanes {
    vf rx, ry, normal_mass, tangent_mass, normal, tangent; /* the last two: impulses */
} point_lanes;
typedef struct contact_lanes {
    vf nx, ny, friction;
    point_lanes point[2];
    vf k11, k12, k22, i11, i12, i22; /* of two points: the mass matrix and its inverse */
    vi two;                          /* whether two points are solved together */
} contact_lanes;

#define SOLVER_CONTACTS MAX_CONTACTS

/* The worlds of some lanes, as the solver sees them. */
typedef struct solver {
    vf vx[MAX_BODIES], vy[MAX_BODIES], w[MAX_BODIES];
    mass_lanes mass[MAX_BODIES];
    joint_lanes joint[MAX_JOINTS];
    int slots[MAX_BODIES]; /* how many contacts the body has in the lane where it has most */
    int two[MAX_BODIES];   /* whether some contact of the body has two points */
    int used;              /* of the contacts below, which are the bodies' slots: slot[body][number] says which */
    uint8_t slot[MAX_BODIES][MAX_CONTACTS];
    contact_lanes contact[SOLVER_CONTACTS];
} solver;

#define PUT(vector, lane) (((float *)&(vector))[lane])
#define PUT_MASK(vector, lane) (((int32_t *)&(vector))[lane])

/* ---- one lane in and out -------------------------------------------------------------------------- */

/* Prepares a contact: `c` and `q` are its body's center and rotation. Returns how many of its points are solved. */
static inline int contact_prepare(const world *w, const contact *k, float friction, vec2 c, rotation q, int warm,
                                  contact_lanes *out, int lane) {
    const mass *m = &w->mass[k->body];
    transform xf = {.q = q};
    xf.p = sub(c, rotate(q, m->center));
    const vec2 normal = k->m.reference_moves ? rotate(q, k->m.normal) : k->m.normal;
    const vec2 plane = k->m.reference_moves ? place(&xf, k->m.plane) : k->m.plane;
    const vec2 push = k->m.reference_moves ? neg(normal) : normal, tangent = right_of(push);
    PUT(out->nx, lane) = push.x;
    PUT(out->ny, lane) = push.y;
    PUT(out->friction, lane) = friction;
    const float mb = m->inverse, ib = m->inverse_inertia;
    float rn[2] = {0.0f, 0.0f};
    for (int i = 0; i < k->m.count; i++) {
        const vec2 on = k->m.reference_moves ? k->m.point[i] : place(&xf, k->m.point[i]);
        const vec2 first = add(on, scale(SKIN - dot(sub(on, plane), normal), normal));
        const vec2 r = sub(scale(0.5f, add(first, sub(on, scale(SKIN, normal)))), c);
        rn[i] = cross(r, push);
        const float rt = cross(r, tangent), kn = mb + ib * rn[i] * rn[i], kt = mb + ib * rt * rt;
        point_lanes *point = &out->point[i];
        PUT(point->rx, lane) = r.x;
        PUT(point->ry, lane) = r.y;
        PUT(point->normal_mass, lane) = kn > 0.0f ? 1.0f / kn : 0.0f;
        PUT(point->tangent_mass, lane) = kt > 0.0f ? 1.0f / kt : 0.0f;
        PUT(point->normal, lane) = warm ? STEP_RATIO * k->normal[i] : 0.0f;
        PUT(point->tangent, lane) = warm ? STEP_RATIO * k->tangent[i] : 0.0f;
    }
    if (k->m.count < 2) return k->m.count;
    const float k11 = mb + ib * rn[0] * rn[0], k22 = mb + ib * rn[1] * rn[1], k12 = mb + ib * rn[0] * rn[1];
    if (!(k11 * k11 < 1000.0f * (k11 * k22 - k12 * k12))) { /* nearly the same point twice */
        PUT(out->point[1].rx, lane) = PUT(out->point[1].ry, lane) = 0.0f;
        PUT(out->point[1].normal_mass, lane) = PUT(out->point[1].tangent_mass, lane) = 0.0f;
        PUT(out->point[1].normal, lane) = PUT(out->point[1].tangent, lane) = 0.0f;
        return 1;
    }
    float det = k11 * k22 - k12 * k12;
    if (det != 0.0f) det = 1.0f / det;
    PUT(out->k11, lane) = k11;
    PUT(out->k12, lane) = k12;
    PUT(out->k22, lane) = k22;
    PUT(out->i11, lane) = det * k22;
    PUT(out->i12, lane) = -det * k12;
    PUT(out->i22, lane) = det * k11;
    PUT_MASK(out->two, lane) = -1;
    return 2;
}

/* Empties the solver: lanes that are not put into it are at rest. */
static inline void solver_begin(solver *s, const plan *p) {
    memset(s, 0, offsetof(solver, joint) + (size_t)p->joints * sizeof(joint_lanes));
    memset(s->slots, 0, sizeof s->slots);
    memset(s->two, 0, sizeof s->two);
    s->used = 0;
}

/* A contact's place in the solver: slot `number` of its body. Slots that no lane has had are cleared; if there are no
 * more, NULL is returned. */
static inline contact_lanes *contact_slot(solver *s, int owner, int number) {
    if (number == s->slots[owner]) {
        if (s->used == SOLVER_CONTACTS) return NULL;
        memset(&s->contact[s->used], 0, sizeof s->contact[0]);
        s->slot[owner][s->slots[owner]++] = (uint8_t)s->used++;
    }
    return &s->contact[s->slot[owner][number]];
}

static inline float mixed_friction(const world *w, const contact *k) {
    return sqrtf(w->plan->ground_friction(w, k->ground) * w->plan->friction[k->body]);
}

/* Begins a step of a lane: forces become velocities, and the last step's impulses are a first guess. */
static inline void solver_put(solver *s, int lane, world *w, float gravity) {
    const plan *p = w->plan;
    int slots[MAX_BODIES] = {0};
    for (int i = 0; i < p->bodies; i++) {
        body *b = &w->body[i];
        b->c0 = b->s.c;
        b->a0 = b->s.a;
        b->q0 = b->s.xf.q;
        const mass *m = &w->mass[i];
        b->s.v.x += TIME_STEP * (m->inverse * b->force.x);
        b->s.v.y += TIME_STEP * (gravity + m->inverse * b->force.y);
        b->s.w += TIME_STEP * m->inverse_inertia * b->torque;
    }
    for (int i = w->contacts - 1; i >= 0; i--) {
        const contact *k = &w->contact[i];
        if (k->m.count == 0) continue;
        body *b = &w->body[k->body];
        contact_lanes *out = contact_slot(s, k->body, slots[k->body]);
        if (out == NULL) {
            w->full = 1;
            break;
        }
        slots[k->body]++;
        const int points = contact_prepare(w, k, mixed_friction(w, k), b->s.c, b->s.xf.q, 1, out, lane);
        s->two[k->body] |= points == 2;
        const vec2 normal = {PUT(out->nx, lane), PUT(out->ny, lane)}, tangent = right_of(normal);
        const mass *m = &w->mass[k->body];
        for (int j = 0; j < points; j++) {
            const point_lanes *point = &out->point[j];
            const vec2 r = {PUT(point->rx, lane), PUT(point->ry, lane)};
            const vec2 impulse =
                add(scale(PUT(point->normal, lane), normal), scale(PUT(point->tangent, lane), tangent));
            b->s.w += m->inverse_inertia * cross(r, impulse);
            b->s.v = add(b->s.v, scale(m->inverse, impulse));
        }
    }
    for (int j = 0; j < p->joints; j++) {
        const joint_plan *jp = &p->joint[j];
        body *a = &w->body[jp->a], *b = &w->body[jp->b];
        const float ma = w->mass[jp->a].inverse, mb = w->mass[jp->b].inverse;
        const float ia = w->mass[jp->a].inverse_inertia, ib = w->mass[jp->b].inverse_inertia;
        const vec2 ra = rotate(a->s.xf.q, w->arm_a[j]), rb = rotate(b->s.xf.q, w->arm_b[j]);
        joint_lanes *out = &s->joint[j];
        PUT(out->rax, lane) = ra.x;
        PUT(out->ray, lane) = ra.y;
        PUT(out->rbx, lane) = rb.x;
        PUT(out->rby, lane) = rb.y;
        PUT(out->k11, lane) = ma + mb + ra.y * ra.y * ia + rb.y * rb.y * ib;
        PUT(out->k12, lane) = -ra.y * ra.x * ia - rb.y * rb.x * ib;
        PUT(out->k13, lane) = -ra.y * ia - rb.y * ib;
        PUT(out->k22, lane) = ma + mb + ra.x * ra.x * ia + rb.x * rb.x * ib;
        PUT(out->k23, lane) = ra.x * ia + rb.x * ib;
        PUT(out->k33, lane) = ia + ib;
        PUT(out->motor_mass, lane) = 1.0f / (ia + ib);
        PUT(out->speed, lane) = w->motor_speed[j];
        PUT(out->largest, lane) = TIME_STEP * w->max_torque[j];
        joint_state *state = &w->joint[j];
        const float angle = b->s.a - a->s.a - jp->reference;
        const int limit = angle <= jp->lower ? LIMIT_LOWER : angle >= jp->upper ? LIMIT_UPPER : LIMIT_INACTIVE;
        if (limit != w->limit[j] || limit == LIMIT_INACTIVE) state->z = 0.0f;
        w->limit[j] = limit;
        PUT_MASK(out->lower, lane) = limit == LIMIT_LOWER ? -1 : 0;
        PUT_MASK(out->upper, lane) = limit == LIMIT_UPPER ? -1 : 0;
        state->x *= STEP_RATIO;
        state->y *= STEP_RATIO;
        state->z *= STEP_RATIO;
        state->motor *= STEP_RATIO;
        PUT(out->x, lane) = state->x;
        PUT(out->y, lane) = state->y;
        PUT(out->z, lane) = state->z;
        PUT(out->motor, lane) = state->motor;
        const vec2 impulse = {state->x, state->y};
        a->s.v = sub(a->s.v, scale(ma, impulse));
        a->s.w -= ia * (cross(ra, impulse) + state->motor + state->z);
        b->s.v = add(b->s.v, scale(mb, impulse));
        b->s.w += ib * (cross(rb, impulse) + state->motor + state->z);
    }
    for (int i = 0; i < p->bodies; i++) {
        PUT(s->vx[i], lane) = w->body[i].s.v.x;
        PUT(s->vy[i], lane) = w->body[i].s.v.y;
        PUT(s->w[i], lane) = w->body[i].s.w;
        PUT(s->mass[i].inverse, lane) = w->mass[i].inverse;
        PUT(s->mass[i].inverse_inertia, lane) = w->mass[i].inverse_inertia;
    }
}

/* Reads a lane's velocities and impulses. */
static inline void solver_get(const solver *s, int lane, world *w) {
    const plan *p = w->plan;
    int slots[MAX_BODIES] = {0};
    for (int i = 0; i < p->bodies; i++) {
        body_state *b = &w->body[i].s;
        b->v = (vec2){PUT(s->vx[i], lane), PUT(s->vy[i], lane)};
        b->w = PUT(s->w[i], lane);
    }
    for (int j = 0; j < p->joints; j++) {
        const joint_lanes *joint = &s->joint[j];
        w->joint[j] =
            (joint_state){PUT(joint->x, lane), PUT(joint->y, lane), PUT(joint->z, lane), PUT(joint->motor, lane)};
    }
    for (int i = w->contacts - 1; i >= 0; i--) {
        contact *k = &w->contact[i];
        if (k->m.count == 0) continue;
        if (slots[k->body] == s->slots[k->body]) break; /* there were more than fit */
        const contact_lanes *in = &s->contact[s->slot[k->body][slots[k->body]++]];
        const int points = k->m.count == 2 && PUT_MASK(in->two, lane) ? 2 : 1;
        for (int j = 0; j < points; j++) {
            k->normal[j] = PUT(in->point[j].normal, lane);
            k->tangent[j] = PUT(in->point[j].tangent, lane);
        }
    }
}

/* ---- the rounds ----------------------------------------------------------------------------------- */

typedef struct velocity {
    vf x, y, w;
} velocity;

/* What does not change in the rounds. */
typedef struct joint_constants {
    vf cx, cy, cz, det3, det2; /* see joint_solve */
} joint_constants;

BE_INLINE vf inverse_unless_zero(vf d) { return vf_select(d != 0.0f, 1.0f / d, d); }

BE_INLINE joint_constants joint_constants_of(const joint_lanes *j) {
    joint_constants c;
    c.cx = j->k22 * j->k33 - j->k23 * j->k23;
    c.cy = j->k23 * j->k13 - j->k12 * j->k33;
    c.cz = j->k12 * j->k23 - j->k22 * j->k13;
    c.det3 = inverse_unless_zero(j->k11 * c.cx + j->k12 * c.cy + j->k13 * c.cz);
    c.det2 = inverse_unless_zero(j->k11 * j->k22 - j->k12 * j->k12);
    return c;
}

BE_INLINE void joint_solve(joint_lanes *j, const joint_constants *c, velocity *a, velocity *b, const mass_lanes *mass_a,
                           const mass_lanes *mass_b) {
    const vf ma = mass_a->inverse, ia = mass_a->inverse_inertia, mb = mass_b->inverse, ib = mass_b->inverse_inertia;
    const vf zero = {0};
    /* The motor. */
    const vf old = j->motor, wanted = old + -j->motor_mass * (b->w - a->w - j->speed);
    j->motor = vf_max(-j->largest, vf_min(wanted, j->largest));
    const vf turn = j->motor - old;
    a->w = a->w - ia * turn;
    b->w = b->w + ib * turn;
    /* The point that the bodies share, alone ... */
    const vf ux = b->x + -b->w * j->rby - a->x - -a->w * j->ray, uy = b->y + b->w * j->rbx - a->y - a->w * j->rax;
    const vi limited = j->lower | j->upper;
    vf px = c->det2 * (j->k22 * -ux - j->k12 * -uy), py = c->det2 * (j->k11 * -uy - j->k12 * -ux), pz = zero;
    vf cross_a, cross_b;
    if (vi_any(limited)) { /* ... or together with the limit of the angle, which only pushes */
        const vf uz = b->w - a->w;
        vf lx = -(c->det3 * (ux * c->cx + uy * c->cy + uz * c->cz));
        vf ly = -(c->det3 * (j->k11 * (uy * j->k33 - uz * j->k23) + j->k12 * (uz * j->k13 - ux * j->k33) +
                             j->k13 * (ux * j->k23 - uy * j->k13)));
        vf lz = -(c->det3 * (j->k11 * (j->k22 * uz - j->k23 * uy) + j->k12 * (j->k23 * ux - j->k12 * uz) +
                             j->k13 * (j->k12 * uy - j->k22 * ux)));
        const vf sum = j->z + lz;
        const vi pulls = (j->lower & (sum < zero)) | (j->upper & (sum > zero));
        const vf rx = -ux + j->z * j->k13, ry = -uy + j->z * j->k23;
        lx = vf_select(pulls, c->det2 * (j->k22 * rx - j->k12 * ry), lx);
        ly = vf_select(pulls, c->det2 * (j->k11 * ry - j->k12 * rx), ly);
        lz = vf_select(pulls, -j->z, lz);
        px = vf_select(limited, lx, px);
        py = vf_select(limited, ly, py);
        pz = vf_select(limited, lz, pz);
        j->z = vf_select(limited, vf_select(pulls, zero, sum), j->z);
    }
    cross_a = j->rax * py - j->ray * px + pz;
    cross_b = j->rbx * py - j->rby * px + pz;
    j->x = j->x + px;
    j->y = j->y + py;
    a->x = a->x - ma * px;
    a->y = a->y - ma * py;
    a->w = a->w - ia * cross_a;
    b->x = b->x + mb * px;
    b->y = b->y + mb * py;
    b->w = b->w + ib * cross_b;
}

/* The velocity of a contact's point along a direction. */
BE_INLINE vf point_speed(const point_lanes *p, const velocity *v, vf x, vf y) {
    return (v->x + -v->w * p->ry) * x + (v->y + v->w * p->rx) * y;
}

BE_INLINE void contact_solve(contact_lanes *c, velocity *v, const mass_lanes *m, int some_two) {
    const vf mb = m->inverse, ib = m->inverse_inertia;
    const vf zero = {0}, nx = c->nx, ny = c->ny, tx = ny, ty = -nx;
    for (int i = 0; i < 1 + some_two; i++) {
        point_lanes *p = &c->point[i];
        const vf most = c->friction * p->normal;
        const vf wanted = p->tangent + p->tangent_mass * -point_speed(p, v, tx, ty);
        const vf now = vf_max(-most, vf_min(wanted, most)), change = now - p->tangent;
        p->tangent = now;
        const vf px = change * tx, py = change * ty;
        v->x = v->x + mb * px;
        v->y = v->y + mb * py;
        v->w = v->w + ib * (p->rx * py - p->ry * px);
    }
    point_lanes *p = &c->point[0], *q = &c->point[1];
    const vf u1 = point_speed(p, v, nx, ny);
    const vf one = vf_max(p->normal + -p->normal_mass * u1, zero);
    if (!some_two) {
        const vf change = one - p->normal, px = change * nx, py = change * ny;
        p->normal = one;
        v->x = v->x + mb * px;
        v->y = v->y + mb * py;
        v->w = v->w + ib * (p->rx * py - p->ry * px);
        return;
    }
    /* Two points: the linear complementarity problem by trying its four cases in turn. */
    const vf a1 = p->normal, a2 = q->normal;
    const vf b1 = u1 - (c->k11 * a1 + c->k12 * a2), b2 = point_speed(q, v, nx, ny) - (c->k12 * a1 + c->k22 * a2);
    const vf both1 = -(c->i11 * b1 + c->i12 * b2), both2 = -(c->i12 * b1 + c->i22 * b2);
    const vf only1 = -p->normal_mass * b1, only2 = -q->normal_mass * b2;
    const vi case1 = (both1 >= zero) & (both2 >= zero);
    const vi case2 = (only1 >= zero) & (c->k12 * only1 + b2 >= zero);
    const vi case3 = (only2 >= zero) & (c->k12 * only2 + b1 >= zero);
    const vi case4 = (b1 >= zero) & (b2 >= zero);
    vf x1 = vf_select(case4, zero, a1), x2 = vf_select(case4, zero, a2);
    x1 = vf_select(case3, zero, x1);
    x2 = vf_select(case3, only2, x2);
    x1 = vf_select(case2, only1, x1);
    x2 = vf_select(case2, zero, x2);
    x1 = vf_select(case1, both1, x1);
    x2 = vf_select(case1, both2, x2);
    x1 = vf_select(c->two, x1, one);
    x2 = vf_select(c->two, x2, zero);
    const vf d1 = x1 - a1, d2 = x2 - a2;
    const vf p1x = d1 * nx, p1y = d1 * ny, p2x = d2 * nx, p2y = d2 * ny;
    p->normal = x1;
    q->normal = x2;
    v->x = v->x + mb * (p1x + p2x);
    v->y = v->y + mb * (p1y + p2y);
    v->w = v->w + ib * ((p->rx * p1y - p->ry * p1x) + (q->rx * p2y - q->ry * p2x));
}

/* Solves for the velocities of all lanes. `bodies` and `joints` are the plan's; as constants they let the compiler keep
 * the velocities in registers, like the numbers of the bodies that each joint connects. */
BE_INLINE void solver_run(solver *s, int bodies, int joints, const int *joint_a, const int *joint_b) {
    velocity v[MAX_BODIES];
    joint_constants constants[MAX_JOINTS];
#pragma GCC unroll 8
    for (int i = 0; i < bodies; i++) v[i] = (velocity){s->vx[i], s->vy[i], s->w[i]};
#pragma GCC unroll 8
    for (int j = 0; j < joints; j++) constants[j] = joint_constants_of(&s->joint[j]);
    for (int round = 0; round < VELOCITY_ROUNDS; round++) {
#pragma GCC unroll 8
        for (int j = 0; j < joints; j++) {
            const int a = joint_a[j], b = joint_b[j];
            joint_solve(&s->joint[j], &constants[j], &v[a], &v[b], &s->mass[a], &s->mass[b]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < bodies; i++) {
            for (int k = 0; k < s->slots[i]; k++) {
                contact_solve(&s->contact[s->slot[i][k]], &v[i], &s->mass[i], s->two[i]);
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < bodies; i++) {
        s->vx[i] = v[i].x;
        s->vy[i] = v[i].y;
        s->w[i] = v[i].w;
    }
}

#endif
