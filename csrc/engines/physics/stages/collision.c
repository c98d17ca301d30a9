/* mj_collision for planes of the world with spheres, capsules and cylinders, and for spheres and capsules with each
 * other. */
#include "engines/physics/group.h"

#define PARALLEL 1e-8 /* the squared sine of the angle between axes that MuJoCo takes for parallel */

/* mju_makeFrame: completes a frame whose first axis is its normal; `tangent` is a hint, or 0. */
BE_INLINE void make_frame(be_vd *frame, const be_vd *tangent) {
    be_normalize3(frame);
    be_copy(frame + 3, tangent, 3);
    const be_vl none = be_dot3(tangent, tangent) < 0.25, flat = (frame[1] < 0.5) & (frame[1] > -0.5);
    const be_vd zero = be_set1(0), one = be_set1(1);
    frame[3] = be_select(none, zero, frame[3]);
    frame[4] = be_select(none, be_select(flat, one, zero), frame[4]);
    frame[5] = be_select(none, be_select(flat, zero, one), frame[5]);
    const be_vd along = be_dot3(frame, frame + 3);
    for (int k = 0; k < 3; k++) frame[3 + k] -= frame[k] * along;
    be_normalize3(frame + 3);
    be_cross(frame + 6, frame, frame + 3);
}

/* A plane and a ball at `centre`, as candidate k. */
BE_INLINE be_vl touch(be_physics_group *g, const int wide, int pair, int k, const be_vd *centre, be_vd radius,
                      const be_vd *tangent) {
    const int plane = g->m->pair_geoms[2 * pair];
    const be_vd *axes = g->geom_xmat + 9 * plane, margin = BE_K(pair_margin, pair);
    const be_vd normal[3] = {axes[2], axes[5], axes[8]};
    be_vd apart[3];
    be_sub3(apart, centre, g->geom_xpos + 3 * plane);
    const be_vd height = be_dot3(apart, normal), distance = height - radius;
    const be_vl here = (height <= margin + radius) & (distance < margin);
    ((be_vl *)g->contact_here)[k] = here;
    if (!be_any(here)) return here;
    const be_vd scale = -distance / 2 - radius;
    g->contact_dist[k] = distance;
    for (int i = 0; i < 3; i++) g->contact_pos[3 * k + i] = centre[i] + normal[i] * scale;
    be_copy(g->contact_frame + 9 * k, normal, 3);
    make_frame(g->contact_frame + 9 * k, tangent);
    return here;
}

/* Where candidate k touches: `here` says in which lanes. */
BE_INLINE be_vl touch_at(be_physics_group *g, int k, be_vl here, be_vd distance, const be_vd *place,
                         const be_vd *normal) {
    const be_vd no_tangent[3] = {be_set1(0), be_set1(0), be_set1(0)}, scale = -distance * 0.5;
    ((be_vl *)g->contact_here)[k] = here;
    if (!be_any(here)) return here;
    g->contact_dist[k] = distance;
    for (int i = 0; i < 3; i++) g->contact_pos[3 * k + i] = place[i] + normal[i] * scale;
    be_copy(g->contact_frame + 9 * k, normal, 3);
    make_frame(g->contact_frame + 9 * k, no_tangent);
    return here;
}

/* mjc_PlaneCylinder, as candidates k..k+3: the lowest point, the one at the other end of the cylinder, and two more of
 * the lower disk, which make a triangle with the first. */
BE_INLINE be_vl cylinder(be_physics_group *g, const int wide, int pair, int k) {
    const int plane = g->m->pair_geoms[2 * pair], geom = g->m->pair_geoms[2 * pair + 1];
    const be_vd *ground = g->geom_xmat + 9 * plane, *axes = g->geom_xmat + 9 * geom, *middle = g->geom_xpos + 3 * geom;
    const be_vd margin = BE_K(pair_margin, pair), radius = BE_K(geom_size, 3 * geom),
                half = BE_K(geom_size, 3 * geom + 1);
    const be_vd normal[3] = {ground[2], ground[5], ground[8]};
    be_vd axis[3] = {axes[2], axes[5], axes[8]}, out[3], aside[3], place[3];
    be_vd along = be_dot3(normal, axis);
    const be_vl up = along > 0; /* the axis is to point to the plane */
    for (int i = 0; i < 3; i++) axis[i] = be_select(up, -axis[i], axis[i]);
    along = be_select(up, -along, along);
    be_sub3(out, middle, g->geom_xpos + 3 * plane);
    const be_vd height = be_dot3(out, normal);
    for (int i = 0; i < 3; i++) out[i] = axis[i] * along - normal[i];
    const be_vd squared = be_dot3(out, out), scale = radius / be_sqrt(squared);
    const be_vl flat = squared < BE_MINVAL * BE_MINVAL; /* the disk is parallel to the plane */
    for (int i = 0; i < 3; i++) out[i] = be_select(flat, axes[3 * i] * radius, out[i] * scale);
    const be_vd down = be_dot3(out, normal);
    for (int i = 0; i < 3; i++) axis[i] *= half;
    along *= half;

    be_vd distance = height + along + down;
    const be_vl touches = distance <= margin;
    for (int i = 0; i < 3; i++) place[i] = middle[i] + out[i] + axis[i];
    be_vl found = touch_at(g, k, touches & (distance < margin), distance, place, normal);
    distance = height - along + down;
    for (int i = 0; i < 3; i++) place[i] = middle[i] + out[i] - axis[i];
    found |= touch_at(g, k + 1, touches & (distance < margin), distance, place, normal);

    distance = height + along + -down * 0.5;
    const be_vl more = touches & (distance < margin);
    be_cross(aside, out, axis);
    be_normalize3(aside);
    for (int i = 0; i < 3; i++) aside[i] *= radius * __builtin_sqrt(3.0) / 2;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < 3; i++) {
            const be_vd corner = side ? middle[i] - aside[i] : middle[i] + aside[i];
            place[i] = corner + axis[i] + out[i] * -0.5;
        }
        found |= touch_at(g, k + 2 + side, more, distance, place, normal);
    }
    return found;
}

/* mjraw_SphereSphere, as candidate k: balls around two points, in lanes that are `near`. Where both points are the
 * same, MuJoCo takes another normal: such lanes are left to the caller. */
BE_INLINE be_vl balls(be_physics_group *g, const int wide, int pair, int k, be_vl near, const be_vd *one,
                      const be_vd *two) {
    const be_vd no_tangent[3] = {be_set1(0), be_set1(0), be_set1(0)}, margin = BE_K(pair_margin, pair);
    const be_vd radius = BE_K(geom_size, 3 * g->m->pair_geoms[2 * pair]);
    const be_vd other = BE_K(geom_size, 3 * g->m->pair_geoms[2 * pair + 1]);
    be_vd apart[3];
    be_sub3(apart, one, two);
    const be_vd squared = be_dot3(apart, apart), most = margin + radius + other;
    const be_vd distance = be_sqrt(squared) - radius - other;
    const be_vl here = near & (squared <= most * most) & (distance < margin);
    ((be_vl *)g->contact_here)[k] = here;
    if (!be_any(here)) return here;
    be_vd *frame = g->contact_frame + 9 * k, scale = radius + distance / 2;
    be_sub3(frame, two, one);
    g->left |= be_mask_bits(here & ~(be_normalize3(frame) >= BE_MINVAL));
    g->contact_dist[k] = distance;
    for (int i = 0; i < 3; i++) g->contact_pos[3 * k + i] = frame[i] * scale + one[i];
    make_frame(frame, no_tangent);
    return here;
}

/* The point of a capsule's axis that is nearest to a sphere's middle (mjraw_SphereCapsule). */
BE_INLINE void nearest_point(be_vd *point, const be_physics_group *g, const int wide, int sphere, int capsule) {
    const be_vd *axes = g->geom_xmat + 9 * capsule, *middle = g->geom_xpos + 3 * capsule;
    const be_vd half = BE_K(geom_size, 3 * capsule + 1), axis[3] = {axes[2], axes[5], axes[8]};
    be_vd apart[3];
    be_sub3(apart, g->geom_xpos + 3 * sphere, middle);
    const be_vd along = be_clip(be_dot3(axis, apart), -half, half);
    for (int i = 0; i < 3; i++) point[i] = axis[i] * along + middle[i];
}

/* The points of two capsules' axes that are nearest to each other (mjc_segWeights). Returns the lanes in which the axes
 * are parallel, or points: there may be two contacts. */
BE_INLINE be_vl nearest_points(be_vd *one, be_vd *two, const be_physics_group *g, const int wide, int first,
                               int second) {
    const int geoms[2] = {first, second};
    be_vd begin[2][3], axis[2][3], apart[3], normal[3], moment[3];
    for (int k = 0; k < 2; k++) {
        const be_vd half = BE_K(geom_size, 3 * geoms[k] + 1);
        for (int i = 0; i < 3; i++) {
            const be_vd middle = g->geom_xpos[3 * geoms[k] + i], reach = g->geom_xmat[9 * geoms[k] + 3 * i + 2] * half;
            begin[k][i] = middle - reach;
            axis[k][i] = middle + reach - begin[k][i];
        }
    }
    be_sub3(apart, begin[0], begin[1]);
    const be_vd aa = be_dot3(axis[0], axis[0]), bb = be_dot3(axis[1], axis[1]), ab = be_dot3(axis[0], axis[1]);
    const be_vd a = be_dot3(axis[0], apart), b = be_dot3(axis[1], apart), zero = be_set1(0), end = be_set1(1);
    be_cross(normal, axis[0], axis[1]);
    be_cross(moment, axis[1], apart);
    const be_vd squared = be_dot3(normal, normal);
    be_vd s = be_clip(be_dot3(normal, moment) / squared, zero, end), t = (ab * s + b) / bb;
    const be_vl below = t < 0, above = t > 1;
    s = be_select(below, be_clip(-a / aa, zero, end), be_select(above, be_clip((ab - a) / aa, zero, end), s));
    t = be_select(below, zero, be_select(above, end, t));
    for (int i = 0; i < 3; i++) {
        one[i] = axis[0][i] * s + begin[0][i];
        two[i] = axis[1][i] * t + begin[1][i];
    }
    return ~((squared > PARALLEL * aa * bb) & (aa > BE_MINVAL) & (bb > BE_MINVAL));
}

/* Two spheres or capsules, as candidate k. */
BE_INLINE be_vl round_ones(be_physics_group *g, const int wide, int pair, int k) {
    const int first = g->m->pair_geoms[2 * pair], second = g->m->pair_geoms[2 * pair + 1];
    const be_vd reach = BE_K(pair_reach, 2 * pair) + BE_SLACK;
    be_vd apart[3], one[3], two[3];
    be_sub3(apart, g->geom_xpos + 3 * second, g->geom_xpos + 3 * first);
    const be_vl near = be_dot3(apart, apart) <= reach * reach;
    if (!be_any(near)) return ((be_vl *)g->contact_here)[k] = near;
    be_copy(one, g->geom_xpos + 3 * first, 3);
    be_copy(two, g->geom_xpos + 3 * second, 3);
    if (g->m->geom_type[first] == BE_CAPSULE) {
        g->left |= be_mask_bits(near & nearest_points(one, two, g, wide, first, second));
    } else if (g->m->geom_type[second] == BE_CAPSULE) {
        nearest_point(two, g, wide, first, second);
    }
    return balls(g, wide, pair, k, near, one, two);
}

/* A plane and a capsule, as candidates k and k + 1. */
BE_INLINE be_vl plane_capsule(be_physics_group *g, const int wide, int pair, int k) {
    const int geom = g->m->pair_geoms[2 * pair + 1];
    const be_vd *middle = g->geom_xpos + 3 * geom, *axes = g->geom_xmat + 9 * geom;
    const be_vd radius = BE_K(geom_size, 3 * geom), half = BE_K(geom_size, 3 * geom + 1);
    const be_vd axis[3] = {axes[2], axes[5], axes[8]};
    be_vd ends[2][3];
    for (int i = 0; i < 3; i++) {
        const be_vd along = half * axis[i];
        ends[0][i] = middle[i] + along;
        ends[1][i] = middle[i] - along;
    }
    return touch(g, wide, pair, k, ends[0], radius, axis) | touch(g, wide, pair, k + 1, ends[1], radius, axis);
}

BE_INLINE be_vl collide(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    const be_vd no_tangent[3] = {be_set1(0), be_set1(0), be_set1(0)};
    be_vl found = be_lane_numbers() < 0;
    for (int pair = 0, k = 0; pair < m->num_pairs; pair++) {
        const int kind = m->pair_kind[pair], geom = m->pair_geoms[2 * pair + 1];
        if (!m->pair_own[pair]) continue;
        if (kind == BE_PAIR_PLANE_CYLINDER) {
            found |= cylinder(g, wide, pair, k);
        } else if (kind == BE_PAIR_PLANE_CAPSULE) {
            found |= plane_capsule(g, wide, pair, k);
        } else if (kind == BE_PAIR_CAPSULES) {
            found |= round_ones(g, wide, pair, k);
        } else {
            found |= touch(g, wide, pair, k, g->geom_xpos + 3 * geom, BE_K(geom_size, 3 * geom), no_tangent);
        }
        k += be_physics_candidates(kind);
    }
    return found;
}

unsigned be_physics_collide(be_physics_group *g) { return be_mask_bits(g->wide ? collide(g, 1) : collide(g, 0)); }
