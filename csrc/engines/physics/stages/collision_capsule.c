/* Spheres and capsules with each other. */
#include "engines/physics/stages/collision.h"

#define PARALLEL 1e-8 /* the squared sine of the angle between axes that MuJoCo takes for parallel */

/* mjraw_SphereSphere, as candidate k: balls around two points, in lanes that are `near`. Where both points are the
 * same, MuJoCo takes another normal: such lanes are left to the caller. */
BE_INLINE be_vl balls(be_physics_group *g, const int wide, int pair, int k, be_vl near, const be_vd *one,
                      const be_vd *two) {
    const be_vd no_tangent[3] = {be_set1(0), be_set1(0), be_set1(0)}, margin = BE_K(pair_margin, pair);
    const be_vd radius = BE_K(geom_size, 3 * g->m->pair_geoms[2 * pair]);
    const be_vd other = BE_K(geom_size, 3 * g->m->pair_geoms[2 * pair + 1]);
    be_vd apart[3];
    be_sub3(apart, one, two);
    const be_vd squared = be_dot3(apart, apart), most = BE_K(pair_begin, pair) + radius + other;
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
BE_INLINE be_vl capsules(be_physics_group *g, const int wide, int pair, int k) {
    const int first = g->m->pair_geoms[2 * pair], second = g->m->pair_geoms[2 * pair + 1];
    const be_vd reach = BE_K(pair_reach, 3 * pair) + BE_SLACK;
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
BE_PHYSICS_LOOK(capsules)
