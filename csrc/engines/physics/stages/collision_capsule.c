/* Spheres and capsules with each other. */
#include "engines/physics/stages/collision.h"

#define PARALLEL 1e-8 /* the squared sine of the angle between axes that MuJoCo takes for parallel */

/* The direction from one geom to the other where both have the same middle: across their axes. */
BE_INLINE void across_axes(be_vd *direction, const be_physics_group *g, int pair) {
    const be_vd *axes[2];
    for (int k = 0; k < 2; k++) axes[k] = g->geom_xmat + 9 * g->m->pair_geoms[2 * pair + k];
    const be_vd one[3] = {axes[0][2], axes[0][5], axes[0][8]}, two[3] = {axes[1][2], axes[1][5], axes[1][8]};
    be_cross(direction, one, two);
    be_normalize3(direction);
}

/* mjraw_SphereSphere, as candidate k: balls around two points, in lanes that are `near`. */
BE_INLINE be_vl balls(be_physics_group *g, const int wide, int pair, int k, be_vl near, const be_vd *one,
                      const be_vd *two) {
    const be_vd no_tangent[3] = {be_set1(0), be_set1(0), be_set1(0)};
    const be_vd radius = BE_K(geom_size, 3 * g->m->pair_geoms[2 * pair]);
    const be_vd other = BE_K(geom_size, 3 * g->m->pair_geoms[2 * pair + 1]);
    be_vd apart[3];
    be_sub3(apart, one, two);
    const be_vd squared = be_dot3(apart, apart), most = BE_PAIR(BEGIN, pair, 0) + radius + other;
    const be_vd distance = be_sqrt(squared) - radius - other;
    const be_vl here = near & (squared <= most * most);
    ((be_vl *)g->contact_found)[k] = here;
    if (!be_any(here)) return here;
    be_vd *frame = g->contact_frame + 9 * k, scale = radius + distance / 2;
    be_sub3(frame, two, one);
    const be_vl same = be_normalize3(frame) < BE_MINVAL;
    if (be_any(here & same)) {
        be_vd across[3];
        across_axes(across, g, pair);
        for (int i = 0; i < 3; i++) frame[i] = be_select(same, across[i], frame[i]);
    }
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

/* The axes of two capsules, from their beginnings on, and the products that mjc_segWeights takes. */
typedef struct two_axes {
    be_vd begin[2][3], axis[2][3];
    be_vd aa, bb, ab, a, b;
} two_axes;

BE_INLINE two_axes two_axes_of(const be_physics_group *g, const int wide, int first, int second, be_vd *apart) {
    const int geoms[2] = {first, second};
    two_axes x;
    for (int k = 0; k < 2; k++) {
        const be_vd half = BE_K(geom_size, 3 * geoms[k] + 1);
        for (int i = 0; i < 3; i++) {
            const be_vd middle = g->geom_xpos[3 * geoms[k] + i], reach = g->geom_xmat[9 * geoms[k] + 3 * i + 2] * half;
            x.begin[k][i] = middle - reach;
            x.axis[k][i] = middle + reach - x.begin[k][i];
        }
    }
    be_sub3(apart, x.begin[0], x.begin[1]);
    x.aa = be_dot3(x.axis[0], x.axis[0]), x.bb = be_dot3(x.axis[1], x.axis[1]), x.ab = be_dot3(x.axis[0], x.axis[1]);
    x.a = be_dot3(x.axis[0], apart), x.b = be_dot3(x.axis[1], apart);
    return x;
}

/* The point of the second axis that is nearest to place `s` of the first; where that is an end, the point of the first
 * axis that is nearest to this end. */
BE_INLINE void nearest_to(be_vd *one, be_vd *two, const two_axes *x, be_vd s) {
    const be_vd zero = be_set1(0), end = be_set1(1);
    be_vd t = (x->ab * s + x->b) / x->bb;
    const be_vl below = t < 0, above = t > 1;
    const be_vd at_begin = be_clip(-x->a / x->aa, zero, end), at_end = be_clip((x->ab - x->a) / x->aa, zero, end);
    s = be_select(below, at_begin, be_select(above, at_end, s));
    t = be_select(below, zero, be_select(above, end, t));
    for (int i = 0; i < 3; i++) {
        one[i] = x->axis[0][i] * s + x->begin[0][i];
        two[i] = x->axis[1][i] * t + x->begin[1][i];
    }
}

/* Two capsules in lanes `near`, as candidates k and k + 1. Where the axes are parallel, both ends of the first one's
 * are looked at; an axis that is only a point is left to the caller. */
BE_INLINE be_vl two_capsules(be_physics_group *g, const int wide, int pair, int k, be_vl near) {
    const int first = g->m->pair_geoms[2 * pair], second = g->m->pair_geoms[2 * pair + 1];
    be_vd apart[3], normal[3], moment[3], one[3], two[3];
    const two_axes x = two_axes_of(g, wide, first, second, apart);
    be_cross(normal, x.axis[0], x.axis[1]);
    be_cross(moment, x.axis[1], apart);
    const be_vd squared = be_dot3(normal, normal), zero = be_set1(0), end = be_set1(1);
    const be_vl parallel = near & ~(squared > PARALLEL * x.aa * x.bb);
    g->left |= be_mask_bits(near & ~((x.aa > BE_MINVAL) & (x.bb > BE_MINVAL)));
    nearest_to(one, two, &x, be_select(parallel, zero, be_clip(be_dot3(normal, moment) / squared, zero, end)));
    const be_vl found = balls(g, wide, pair, k, near, one, two);
    if (!be_any(parallel)) return found;
    nearest_to(one, two, &x, end);
    return found | balls(g, wide, pair, k + 1, parallel, one, two);
}

/* Two spheres or capsules, as candidates k and k + 1. */
BE_INLINE be_vl capsules(be_physics_group *g, const int wide, int pair, int k) {
    const int first = g->m->pair_geoms[2 * pair], second = g->m->pair_geoms[2 * pair + 1];
    const be_vd reach = BE_PAIR(REACH, pair, 0) + BE_SLACK;
    be_vd apart[3], one[3], two[3];
    be_sub3(apart, g->geom_xpos + 3 * second, g->geom_xpos + 3 * first);
    const be_vl near = be_dot3(apart, apart) <= reach * reach;
    if (!be_any(near)) return near;
    ((be_vl *)g->contact_found)[k + 1] = be_lane_numbers() < 0;
    if (g->m->geom_type[first] == BE_CAPSULE) return two_capsules(g, wide, pair, k, near);
    be_copy(one, g->geom_xpos + 3 * first, 3);
    be_copy(two, g->geom_xpos + 3 * second, 3);
    if (g->m->geom_type[second] == BE_CAPSULE) nearest_point(two, g, wide, first, second);
    return balls(g, wide, pair, k, near, one, two);
}
BE_PHYSICS_LOOK(capsules)
