/* When two shapes first touch in the course of a step: "Continuous Collision" and the distance of Gilbert, Johnson and
 * Keerthi (1988), on which it is built. */
#ifndef BOX2D_IMPACT_H
#define BOX2D_IMPACT_H

#include "geometry.h"

/* The motion of a body's center and angle from (c0, a0) to (c, a). What has happened before the fraction alpha0 of the
 * step is settled already. */
typedef struct sweep {
    vec2 c0, c;
    float a0, a, alpha0;
} sweep;

typedef struct mover {
    const shape *shape;
    const sweep *sweep; /* NULL: the ground, whose transform is the identity */
    vec2 center;        /* of mass, in the body's coordinates */
} mover;

static inline transform transform_at(const mover *m, float t) {
    if (m->sweep == NULL) return (transform){{0.0f, 0.0f}, {0.0f, 1.0f}};
    const sweep *s = m->sweep;
    transform xf;
    xf.q = rotation_by((1.0f - t) * s->a0 + t * s->a);
    xf.p = sub(add(scale(1.0f - t, s->c0), scale(t, s->c)), rotate(xf.q, m->center));
    return xf;
}

/* ---- distance ------------------------------------------------------------------------------------- */

typedef struct vertex {
    vec2 a, b, w; /* corners of the two shapes, and their difference */
    float part;   /* barycentric coordinate of the closest point */
    int index_a, index_b;
} vertex;

typedef struct simplex {
    vertex v[3];
    int count;
} simplex;

/* The corners of the last simplex, with which the next search begins. */
typedef struct distance_cache {
    float metric;
    int count, index_a[3], index_b[3];
} distance_cache;

static inline vertex vertex_of(const shape *a, const transform *ta, int ia, const shape *b, const transform *tb,
                               int ib) {
    vertex v = {.a = place(ta, a->corner[ia]), .b = place(tb, b->corner[ib]), .index_a = ia, .index_b = ib};
    v.w = sub(v.b, v.a);
    return v;
}

static inline float simplex_metric(const simplex *s) {
    if (s->count == 2) return length(sub(s->v[0].w, s->v[1].w));
    if (s->count == 3) return cross(sub(s->v[1].w, s->v[0].w), sub(s->v[2].w, s->v[0].w));
    return 0.0f;
}

static inline void simplex_keep(simplex *s, int i) {
    s->v[i].part = 1.0f;
    s->v[0] = s->v[i];
    s->count = 1;
}

static inline void simplex_keep_two(simplex *s, int i, int j, float part_i, float part_j) {
    const float inverse = 1.0f / (part_i + part_j);
    s->v[i].part = part_i * inverse;
    s->v[j].part = part_j * inverse;
    const vertex first = s->v[i], second = s->v[j];
    /* Which of the two stands first decides the order of later sums: (0, 1), (0, 2) and (2, 1). */
    s->v[0] = first;
    s->v[1] = second;
    s->count = 2;
}

static inline void simplex_solve2(simplex *s) {
    const vec2 w1 = s->v[0].w, w2 = s->v[1].w, e = sub(w2, w1);
    const float second = -dot(w1, e), first = dot(w2, e);
    if (second <= 0.0f) {
        simplex_keep(s, 0);
    } else if (first <= 0.0f) {
        simplex_keep(s, 1);
    } else {
        simplex_keep_two(s, 0, 1, first, second);
    }
}

static inline void simplex_solve3(simplex *s) {
    const vec2 w1 = s->v[0].w, w2 = s->v[1].w, w3 = s->v[2].w;
    const vec2 e12 = sub(w2, w1), e13 = sub(w3, w1), e23 = sub(w3, w2);
    const float d12_1 = dot(w2, e12), d12_2 = -dot(w1, e12);
    const float d13_1 = dot(w3, e13), d13_2 = -dot(w1, e13);
    const float d23_1 = dot(w3, e23), d23_2 = -dot(w2, e23);
    const float n = cross(e12, e13);
    const float d123_1 = n * cross(w2, w3), d123_2 = n * cross(w3, w1), d123_3 = n * cross(w1, w2);
    if (d12_2 <= 0.0f && d13_2 <= 0.0f) {
        simplex_keep(s, 0);
    } else if (d12_1 > 0.0f && d12_2 > 0.0f && d123_3 <= 0.0f) {
        simplex_keep_two(s, 0, 1, d12_1, d12_2);
    } else if (d13_1 > 0.0f && d13_2 > 0.0f && d123_2 <= 0.0f) {
        simplex_keep_two(s, 0, 2, d13_1, d13_2);
    } else if (d12_1 <= 0.0f && d23_2 <= 0.0f) {
        simplex_keep(s, 1);
    } else if (d13_1 <= 0.0f && d23_1 <= 0.0f) {
        simplex_keep(s, 2);
    } else if (d23_1 > 0.0f && d23_2 > 0.0f && d123_1 <= 0.0f) {
        simplex_keep_two(s, 2, 1, d23_2, d23_1);
    } else {
        const float inverse = 1.0f / (d123_1 + d123_2 + d123_3);
        s->v[0].part = d123_1 * inverse;
        s->v[1].part = d123_2 * inverse;
        s->v[2].part = d123_3 * inverse;
        s->count = 3;
    }
}

/* The distance of two shapes, without their skins. */
static inline float distance_of(distance_cache *cache, const shape *a, const transform *ta, const shape *b,
                                const transform *tb) {
    simplex s;
    s.count = cache->count;
    for (int i = 0; i < s.count; i++) s.v[i] = vertex_of(a, ta, cache->index_a[i], b, tb, cache->index_b[i]);
    if (s.count > 1) {
        const float metric = simplex_metric(&s);
        if (metric < 0.5f * cache->metric || 2.0f * cache->metric < metric || metric < FLT_EPSILON) s.count = 0;
    }
    if (s.count == 0) {
        s.v[0] = vertex_of(a, ta, 0, b, tb, 0);
        s.v[0].part = 1.0f;
        s.count = 1;
    }
    for (int round = 0; round < 20; round++) {
        const int saved = s.count;
        int saved_a[3], saved_b[3];
        for (int i = 0; i < saved; i++) {
            saved_a[i] = s.v[i].index_a;
            saved_b[i] = s.v[i].index_b;
        }
        if (s.count == 2) simplex_solve2(&s);
        if (s.count == 3) simplex_solve3(&s);
        if (s.count == 3) break;
        vec2 d;
        if (s.count == 1) {
            d = neg(s.v[0].w);
        } else {
            const vec2 e = sub(s.v[1].w, s.v[0].w);
            d = cross(e, neg(s.v[0].w)) > 0.0f ? neg(right_of(e)) : right_of(e);
        }
        if (dot(d, d) < FLT_EPSILON * FLT_EPSILON) break;
        const int ia = farthest(a, rotate_back(ta->q, neg(d))), ib = farthest(b, rotate_back(tb->q, d));
        s.v[s.count] = vertex_of(a, ta, ia, b, tb, ib);
        int seen = 0;
        for (int i = 0; i < saved; i++) seen |= saved_a[i] == ia && saved_b[i] == ib;
        if (seen) break;
        s.count++;
    }
    float result = 0.0f; /* of three corners: inside */
    if (s.count == 1) result = length(s.v[0].w);
    if (s.count == 2) {
        const vec2 pa = add(scale(s.v[0].part, s.v[0].a), scale(s.v[1].part, s.v[1].a));
        const vec2 pb = add(scale(s.v[0].part, s.v[0].b), scale(s.v[1].part, s.v[1].b));
        result = length(sub(pa, pb));
    }
    cache->metric = simplex_metric(&s);
    cache->count = s.count;
    for (int i = 0; i < s.count; i++) {
        cache->index_a[i] = s.v[i].index_a;
        cache->index_b[i] = s.v[i].index_b;
    }
    return result;
}

/* ---- time of impact ------------------------------------------------------------------------------- */

enum { AXIS_POINTS, AXIS_FACE_A, AXIS_FACE_B };

/* An axis along which the shapes' separation is followed. */
typedef struct axis {
    int kind;
    vec2 point, direction; /* a face's middle and normal in its body's coordinates; between points, in the world's */
} axis;

static inline axis axis_of(const distance_cache *cache, const mover *a, const mover *b, float t) {
    const transform ta = transform_at(a, t), tb = transform_at(b, t);
    const vec2 *ca = a->shape->corner, *cb = b->shape->corner;
    axis x = {0};
    if (cache->count == 1) {
        x.kind = AXIS_POINTS;
        x.direction = sub(place(&tb, cb[cache->index_b[0]]), place(&ta, ca[cache->index_a[0]]));
        normalize(&x.direction);
        return x;
    }
    const int on_b = cache->index_a[0] == cache->index_a[1];
    x.kind = on_b ? AXIS_FACE_B : AXIS_FACE_A;
    const vec2 first = on_b ? cb[cache->index_b[0]] : ca[cache->index_a[0]];
    const vec2 second = on_b ? cb[cache->index_b[1]] : ca[cache->index_a[1]];
    const transform *face = on_b ? &tb : &ta, *other = on_b ? &ta : &tb;
    x.direction = right_of(sub(second, first));
    normalize(&x.direction);
    x.point = scale(0.5f, add(first, second));
    const vec2 corner = place(other, on_b ? ca[cache->index_a[0]] : cb[cache->index_b[0]]);
    if (dot(sub(corner, place(face, x.point)), rotate(face->q, x.direction)) < 0.0f) x.direction = neg(x.direction);
    return x;
}

/* The separation at time t, of the corners given; with `search` set, of the nearest corners, which are then given. */
static inline float separation(const axis *x, const mover *a, const mover *b, float t, int *ia, int *ib, int search) {
    const transform ta = transform_at(a, t), tb = transform_at(b, t);
    if (x->kind == AXIS_POINTS) {
        if (search) {
            *ia = farthest(a->shape, rotate_back(ta.q, x->direction));
            *ib = farthest(b->shape, rotate_back(tb.q, neg(x->direction)));
        }
        return dot(sub(place(&tb, b->shape->corner[*ib]), place(&ta, a->shape->corner[*ia])), x->direction);
    }
    const int on_b = x->kind == AXIS_FACE_B;
    const transform *face = on_b ? &tb : &ta, *other = on_b ? &ta : &tb;
    const shape *corners = on_b ? a->shape : b->shape;
    int *index = on_b ? ia : ib;
    const vec2 normal = rotate(face->q, x->direction);
    if (search) *index = farthest(corners, rotate_back(other->q, neg(normal)));
    return dot(sub(place(other, corners->corner[*index]), place(face, x->point)), normal);
}

/* The fraction of the step at which a and b come to within a skin of each other: 1 if they do not, or if they are too
 * close already for an answer. */
static inline float time_of_impact(mover a, mover b) {
    sweep normal_a, normal_b;
    const float turn = 2.0f * PI_F;
    for (int i = 0; i < 2; i++) {
        mover *m = i ? &b : &a;
        sweep *s = i ? &normal_b : &normal_a;
        if (m->sweep == NULL) continue;
        *s = *m->sweep;
        const float d = turn * floorf(s->a0 / turn);
        s->a0 -= d;
        s->a -= d;
        m->sweep = s;
    }
    const float target = max_f(LINEAR_SLOP, (SKIN + SKIN) - 3.0f * LINEAR_SLOP), tolerance = 0.25f * LINEAR_SLOP;
    float t1 = 0.0f;
    distance_cache cache = {0};
    for (int round = 0; round < 20; round++) {
        const transform ta = transform_at(&a, t1), tb = transform_at(&b, t1);
        const float distance = distance_of(&cache, a.shape, &ta, b.shape, &tb);
        if (distance <= 0.0f) return 1.0f;
        if (distance < target + tolerance) return t1;
        const axis x = axis_of(&cache, &a, &b, t1);
        float t2 = 1.0f;
        for (int push = 0; push < 16; push++) {
            int ia = 0, ib = 0;
            float s2 = separation(&x, &a, &b, t2, &ia, &ib, 1);
            if (s2 > target + tolerance) return 1.0f;
            if (s2 > target - tolerance) {
                t1 = t2;
                break;
            }
            float s1 = separation(&x, &a, &b, t1, &ia, &ib, 0);
            if (s1 < target - tolerance) return 1.0f;
            if (s1 <= target + tolerance) return t1;
            float low = t1, high = t2;
            for (int root = 0; root < 50; root++) {
                const float t = root & 1 ? low + (target - s1) * (high - low) / (s2 - s1) : 0.5f * (low + high);
                const float s = separation(&x, &a, &b, t, &ia, &ib, 0);
                if (abs_f(s - target) < tolerance) {
                    t2 = t;
                    break;
                }
                if (s > target) {
                    low = t;
                    s1 = s;
                } else {
                    high = t;
                    s2 = s;
                }
            }
        }
    }
    return 1.0f;
}

#endif
