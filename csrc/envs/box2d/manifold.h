/* Where two shapes touch: the contact points that the solver pushes apart. */
#ifndef BOX2D_MANIFOLD_H
#define BOX2D_MANIFOLD_H

#include <stdint.h>

#include "geometry.h"

/* In the environments here, one of the two bodies in contact never moves: the ground. Its transform is the identity.
 * So a manifold needs to say only which of the two has the *reference* face, along whose normal they are pushed apart;
 * the contact points belong to the other one, and are in its coordinates. */
typedef struct manifold {
    int count;           /* contact points: 0, 1 or 2 */
    int reference_moves; /* 1 if the reference face is the moving body's, 0 if it is the ground's */
    vec2 normal, plane;  /* of the reference face, and a point on it, in its body's coordinates */
    vec2 point[2];
    uint32_t id[2]; /* which features made the point: with them, points of successive steps are matched */
} manifold;

enum { CORNER, FACE };
#define FEATURES(index_a, index_b, type_a, type_b)                                                                     \
    ((uint32_t)(index_a) | (uint32_t)(index_b) << 8 | (uint32_t)(type_a) << 16 | (uint32_t)(type_b) << 24)

/* The features as the other body sees them. */
static inline uint32_t features_swapped(uint32_t id) { return (id & 0x00ff00ff) << 8 | (id >> 8 & 0x00ff00ff); }

typedef struct clipped {
    vec2 v;
    uint32_t id;
} clipped;

/* Cuts off the part of a segment that is beyond a line. Returns how many points are left. */
static inline int clip(clipped out[2], const clipped in[2], vec2 normal, float offset, int corner) {
    int count = 0;
    const float first = dot(normal, in[0].v) - offset, second = dot(normal, in[1].v) - offset;
    if (first <= 0.0f) out[count++] = in[0];
    if (second <= 0.0f) out[count++] = in[1];
    if (first * second < 0.0f) {
        const float part = first / (first - second);
        out[count].v = add(in[0].v, scale(part, sub(in[1].v, in[0].v)));
        out[count].id = FEATURES(corner, in[0].id >> 8 & 0xff, CORNER, FACE);
        count++;
    }
    return count;
}

/* A moving polygon against an edge of the ground. The edge has two sides; the polygon is pushed to the one on which its
 * center is. */
static inline void touch_edge(manifold *m, const shape *edge, const shape *polygon, const transform *t) {
    const float radius = 2.0f * SKIN;
    const vec2 v1 = edge->corner[0], v2 = edge->corner[1];
    m->count = 0;
    vec2 along = sub(v2, v1);
    normalize(&along);
    const vec2 edge_normal = right_of(along);
    const int front = dot(edge_normal, sub(place(t, polygon->center), v1)) >= 0.0f;
    const vec2 normal = front ? edge_normal : neg(edge_normal);

    vec2 corner[MAX_CORNERS], normals[MAX_CORNERS];
    float edge_separation = FLT_MAX;
    for (int i = 0; i < polygon->count; i++) {
        corner[i] = place(t, polygon->corner[i]);
        const float s = dot(normal, sub(corner[i], v1));
        if (s < edge_separation) edge_separation = s;
    }
    if (edge_separation > radius) return;

    int face = -1;
    float face_separation = -FLT_MAX;
    for (int i = 0; i < polygon->count; i++) {
        normals[i] = rotate(t->q, polygon->normal[i]);
        const vec2 n = neg(normals[i]);
        const float s = min_f(dot(n, sub(corner[i], v1)), dot(n, sub(corner[i], v2)));
        if (s > radius) return;
        if (dot(add(n, normal), normal) < -ANGULAR_SLOP) continue;
        if (s > face_separation) {
            face = i;
            face_separation = s;
        }
    }

    const int count = polygon->count;
    clipped incident[2], once[2], twice[2];
    vec2 from, to, reference;
    int from_index, to_index;
    const int by_face = face >= 0 && face_separation > 0.98f * edge_separation + 0.001f;
    if (by_face) {
        incident[0] = (clipped){v1, FEATURES(0, face, CORNER, FACE)};
        incident[1] = (clipped){v2, FEATURES(0, face, CORNER, FACE)};
        from_index = face;
        to_index = face + 1 < count ? face + 1 : 0;
        from = corner[from_index];
        to = corner[to_index];
        reference = normals[face];
    } else {
        int best = 0;
        float value = dot(normal, normals[0]);
        for (int i = 1; i < count; i++) {
            const float other = dot(normal, normals[i]);
            if (other < value) {
                value = other;
                best = i;
            }
        }
        const int next = best + 1 < count ? best + 1 : 0;
        incident[0] = (clipped){corner[best], FEATURES(0, best, FACE, CORNER)};
        incident[1] = (clipped){corner[next], FEATURES(0, next, FACE, CORNER)};
        from_index = front ? 0 : 1;
        to_index = front ? 1 : 0;
        from = front ? v1 : v2;
        to = front ? v2 : v1;
        reference = normal;
    }
    const vec2 side = right_of(reference), other_side = neg(side);
    if (clip(once, incident, side, dot(side, from), from_index) < 2) return;
    if (clip(twice, once, other_side, dot(other_side, to), to_index) < 2) return;

    m->reference_moves = by_face;
    m->normal = by_face ? polygon->normal[face] : reference;
    m->plane = by_face ? polygon->corner[face] : from;
    for (int i = 0; i < 2; i++) {
        if (dot(reference, sub(twice[i].v, from)) > radius) continue;
        m->point[m->count] = by_face ? twice[i].v : place_back(t, twice[i].v);
        m->id[m->count++] = by_face ? features_swapped(twice[i].id) : twice[i].id;
    }
}

/* ---- two polygons --------------------------------------------------------------------------------- */

/* A polygon and its place. */
typedef struct placed {
    const shape *shape;
    transform at;
} placed;

/* How far the other polygon is beyond this face. */
static inline float face_separation(const placed *p, int face, const placed *other) {
    const vec2 normal = rotate(p->at.q, p->shape->normal[face]);
    const vec2 direction = rotate_back(other->at.q, normal);
    int nearest = 0;
    float value = FLT_MAX;
    for (int i = 0; i < other->shape->count; i++) {
        const float d = dot(other->shape->corner[i], direction);
        if (d < value) {
            value = d;
            nearest = i;
        }
    }
    const vec2 from = place(&p->at, p->shape->corner[face]), to = place(&other->at, other->shape->corner[nearest]);
    return dot(sub(to, from), normal);
}

/* The face of p that separates the two most: found uphill from the face that looks at the other's center. */
static inline float most_separating(const placed *p, const placed *other, int *face) {
    const int count = p->shape->count;
    const vec2 way = sub(place(&other->at, other->shape->center), place(&p->at, p->shape->center));
    const vec2 direction = rotate_back(p->at.q, way);
    int best = 0;
    float value = -FLT_MAX;
    for (int i = 0; i < count; i++) {
        const float d = dot(p->shape->normal[i], direction);
        if (d > value) {
            value = d;
            best = i;
        }
    }
    float s = face_separation(p, best, other);
    const int before = best > 0 ? best - 1 : count - 1, after = best + 1 < count ? best + 1 : 0;
    const float s_before = face_separation(p, before, other), s_after = face_separation(p, after, other);
    int way_on;
    if (s_before > s && s_before > s_after) {
        way_on = -1;
        best = before;
        s = s_before;
    } else if (s_after > s) {
        way_on = 1;
        best = after;
        s = s_after;
    } else {
        *face = best;
        return s;
    }
    for (int i = 0; i < count; i++) {
        const int next = way_on < 0 ? (best > 0 ? best - 1 : count - 1) : (best + 1 < count ? best + 1 : 0);
        const float s_next = face_separation(p, next, other);
        if (!(s_next > s)) break;
        best = next;
        s = s_next;
    }
    *face = best;
    return s;
}

/* A moving polygon against one of the ground. The two are not treated alike; `swapped` is 1 if the moving one comes
 * first. */
static inline void touch_polygon(manifold *m, const shape *still, const shape *moving, const transform *t,
                                 int swapped) {
    const placed ground = {still, {{0.0f, 0.0f}, {0.0f, 1.0f}}}, body = {moving, *t};
    const placed *a = swapped ? &body : &ground, *b = swapped ? &ground : &body;
    const float radius = SKIN + SKIN;
    m->count = 0;
    int face_a, face_b;
    const float separation_a = most_separating(a, b, &face_a);
    if (separation_a > radius) return;
    const float separation_b = most_separating(b, a, &face_b);
    if (separation_b > radius) return;
    const int flip = separation_b > 0.98f * separation_a + 0.001f;
    const placed *reference = flip ? b : a, *other = flip ? a : b;
    const int face = flip ? face_b : face_a;

    const vec2 looks = rotate_back(other->at.q, rotate(reference->at.q, reference->shape->normal[face]));
    int best = 0;
    float value = FLT_MAX;
    for (int i = 0; i < other->shape->count; i++) {
        const float d = dot(looks, other->shape->normal[i]);
        if (d < value) {
            value = d;
            best = i;
        }
    }
    const int best2 = best + 1 < other->shape->count ? best + 1 : 0;
    const int face2 = face + 1 < reference->shape->count ? face + 1 : 0;
    clipped incident[2], once[2], twice[2];
    incident[0] = (clipped){place(&other->at, other->shape->corner[best]), FEATURES(face, best, FACE, CORNER)};
    incident[1] = (clipped){place(&other->at, other->shape->corner[best2]), FEATURES(face, best2, FACE, CORNER)};
    vec2 v1 = reference->shape->corner[face], v2 = reference->shape->corner[face2], local = sub(v2, v1);
    normalize(&local);
    const vec2 local_normal = right_of(local), middle = scale(0.5f, add(v1, v2));
    const vec2 tangent = rotate(reference->at.q, local), normal = right_of(tangent);
    v1 = place(&reference->at, v1);
    v2 = place(&reference->at, v2);
    const float front = dot(normal, v1);
    if (clip(once, incident, neg(tangent), -dot(tangent, v1) + radius, face) < 2) return;
    if (clip(twice, once, tangent, dot(tangent, v2) + radius, face2) < 2) return;
    m->reference_moves = reference == &body;
    m->normal = local_normal;
    m->plane = middle;
    for (int i = 0; i < 2; i++) {
        if (dot(normal, twice[i].v) - front > radius) continue;
        m->point[m->count] = place_back(&other->at, twice[i].v);
        m->id[m->count++] = flip ? features_swapped(twice[i].id) : twice[i].id;
    }
}

#endif
