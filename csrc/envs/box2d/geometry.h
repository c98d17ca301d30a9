/* Two-dimensional geometry in float32, as Box2D 2.3 computes it.
 *
 * Gymnasium's Box2D environments run on that library. Here is the part of it that they need, written for worlds whose
 * bodies are known beforehand. Results are to have the same bits, so each expression keeps the library's order of
 * operations, and every operation rounds once (-ffp-contract=off).
 *
 * Erin Catto describes the methods: "Iterative Dynamics with Temporal Coherence" (2005), "Computing Distance" (2010),
 * "Continuous Collision" (2013).
 */
#ifndef BOX2D_GEOMETRY_H
#define BOX2D_GEOMETRY_H

#include <float.h>
#include <math.h>

#include "libm.h"

#define PI_F 3.14159265359f
#define LINEAR_SLOP 0.005f
#define ANGULAR_SLOP (2.0f / 180.0f * PI_F)
#define SKIN (2.0f * LINEAR_SLOP) /* the radius around polygons and edges */

typedef struct vec2 {
    float x, y;
} vec2;

typedef struct rotation {
    float s, c;
} rotation;

typedef struct transform {
    vec2 p;
    rotation q;
} transform;

typedef struct box {
    vec2 low, high;
} box;

static inline float min_f(float a, float b) { return a < b ? a : b; }
static inline float max_f(float a, float b) { return a > b ? a : b; }
static inline float clamp_f(float a, float low, float high) { return max_f(low, min_f(a, high)); }
static inline float abs_f(float a) { return a > 0.0f ? a : -a; }

static inline vec2 add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }
static inline vec2 sub(vec2 a, vec2 b) { return (vec2){a.x - b.x, a.y - b.y}; }
static inline vec2 neg(vec2 a) { return (vec2){-a.x, -a.y}; }
static inline vec2 scale(float s, vec2 a) { return (vec2){s * a.x, s * a.y}; }
static inline float dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }
static inline float cross(vec2 a, vec2 b) { return a.x * b.y - a.y * b.x; }
static inline vec2 right_of(vec2 a) { return (vec2){a.y, -a.x}; } /* turned by -90 degrees */
static inline vec2 turned(float w, vec2 a) { return (vec2){-w * a.y, w * a.x}; }
static inline float length(vec2 a) { return sqrtf(a.x * a.x + a.y * a.y); }

/* Makes a vector's length 1, and returns what it was; a vector of nearly no length stays as it is, and 0 is returned.
 */
static inline float normalize(vec2 *a) {
    const float old = length(*a);
    if (old < FLT_EPSILON) return 0.0f;
    const float inverse = 1.0f / old;
    a->x *= inverse;
    a->y *= inverse;
    return old;
}

static inline rotation rotation_by(float angle) { return (rotation){be_math.sinf(angle), be_math.cosf(angle)}; }
static inline vec2 rotate(rotation q, vec2 v) { return (vec2){q.c * v.x - q.s * v.y, q.s * v.x + q.c * v.y}; }
static inline vec2 rotate_back(rotation q, vec2 v) { return (vec2){q.c * v.x + q.s * v.y, -q.s * v.x + q.c * v.y}; }
static inline vec2 place(const transform *t, vec2 v) {
    return (vec2){(t->q.c * v.x - t->q.s * v.y) + t->p.x, (t->q.s * v.x + t->q.c * v.y) + t->p.y};
}
static inline vec2 place_back(const transform *t, vec2 v) { return rotate_back(t->q, sub(v, t->p)); }

static inline int overlap(const box *a, const box *b) {
    return !(b->low.x > a->high.x || b->low.y > a->high.y || a->low.x > b->high.x || a->low.y > b->high.y);
}

/* ---- shapes --------------------------------------------------------------------------------------- */

#define MAX_CORNERS 8

/* A convex polygon, or with two corners an edge, which has no normals and no center. */
typedef struct shape {
    int count;
    vec2 corner[MAX_CORNERS], normal[MAX_CORNERS], center;
} shape;

typedef struct mass {
    float inverse, inverse_inertia; /* 1 / kg, 1 / (kg m^2) about the center */
    vec2 center;
} mass;

static inline shape shape_box(float half_width, float half_height) {
    const float w = half_width, h = half_height;
    return (shape){.count = 4,
                   .corner = {{-w, -h}, {w, -h}, {w, h}, {-w, h}},
                   .normal = {{0.0f, -1.0f}, {1.0f, 0.0f}, {0.0f, 1.0f}, {-1.0f, 0.0f}}};
}

/* The convex hull of up to MAX_CORNERS points, counterclockwise from the rightmost. */
static inline shape shape_hull(const vec2 *points, int count) {
    shape s = {0};
    int start = 0;
    for (int i = 1; i < count; i++) {
        const vec2 p = points[i], best = points[start];
        if (p.x > best.x || (p.x == best.x && p.y < best.y)) start = i;
    }
    int last = start;
    do {
        const vec2 from = points[last];
        s.corner[s.count++] = from;
        int next = 0;
        for (int j = 1; j < count; j++) {
            if (next == last) {
                next = j;
                continue;
            }
            const vec2 r = sub(points[next], from), v = sub(points[j], from);
            const float c = cross(r, v);
            if (c < 0.0f || (c == 0.0f && dot(v, v) > dot(r, r))) next = j;
        }
        last = next;
    } while (last != start && s.count < MAX_CORNERS);
    float area = 0.0f;
    for (int i = 0; i < s.count; i++) {
        const vec2 a = s.corner[i], b = s.corner[i + 1 < s.count ? i + 1 : 0];
        s.normal[i] = right_of(sub(b, a));
        normalize(&s.normal[i]);
        const float triangle = 0.5f * cross(a, b);
        area += triangle;
        s.center = add(s.center, scale(triangle * (1.0f / 3.0f), add(a, b)));
    }
    s.center = scale(1.0f / area, s.center);
    return s;
}

/* The mass of a body that is this one polygon. */
static inline mass mass_of(const shape *s, float density) {
    vec2 middle = {0.0f, 0.0f}, center = {0.0f, 0.0f};
    float area = 0.0f, inertia = 0.0f;
    const float third = 1.0f / 3.0f;
    for (int i = 0; i < s->count; i++) middle = add(middle, s->corner[i]);
    middle = scale(1.0f / (float)s->count, middle);
    for (int i = 0; i < s->count; i++) {
        const vec2 a = sub(s->corner[i], middle), b = sub(s->corner[i + 1 < s->count ? i + 1 : 0], middle);
        const float d = cross(a, b), triangle = 0.5f * d;
        area += triangle;
        center = add(center, scale(triangle * third, add(a, b)));
        const float xx = a.x * a.x + b.x * a.x + b.x * b.x, yy = a.y * a.y + b.y * a.y + b.y * b.y;
        inertia += (0.25f * third * d) * (xx + yy);
    }
    mass m;
    const float value = density * area;
    center = scale(1.0f / area, center);
    const vec2 from_origin = add(center, middle);
    inertia = density * inertia + value * (dot(from_origin, from_origin) - dot(center, center));
    m.inverse = 1.0f / value;
    m.center = scale(m.inverse, scale(value, from_origin));
    m.inverse_inertia = 1.0f / (inertia - value * dot(m.center, m.center));
    return m;
}

/* The box around a shape, in the place that the transform gives it. */
static inline box box_around(const shape *s, const transform *t) {
    vec2 low = place(t, s->corner[0]), high = low;
    for (int i = 1; i < s->count; i++) {
        const vec2 v = place(t, s->corner[i]);
        low = (vec2){min_f(low.x, v.x), min_f(low.y, v.y)};
        high = (vec2){max_f(high.x, v.x), max_f(high.y, v.y)};
    }
    return (box){{low.x - SKIN, low.y - SKIN}, {high.x + SKIN, high.y + SKIN}};
}

#define BOX_MARGIN 0.1f /* by which the boxes of the broad phase are larger, so that they need not move often */

static inline box with_margin(box b) {
    return (box){{b.low.x - BOX_MARGIN, b.low.y - BOX_MARGIN}, {b.high.x + BOX_MARGIN, b.high.y + BOX_MARGIN}};
}

/* The index of the corner that is farthest in this direction. */
static inline int farthest(const shape *s, vec2 direction) {
    int best = 0;
    float value = dot(s->corner[0], direction);
    for (int i = 1; i < s->count; i++) {
        const float other = dot(s->corner[i], direction);
        if (other > value) {
            best = i;
            value = other;
        }
    }
    return best;
}

#endif
