/* Planes of the world, with spheres, capsules, cylinders, boxes and ellipsoids. */
#include "engines/physics/stages/collision.h"

/* A plane and a ball at `centre`, as candidate k. */
BE_INLINE be_vl touch(be_physics_group *g, const int wide, int pair, int k, const be_vd *centre, be_vd radius,
                      const be_vd *tangent) {
    const int plane = g->m->pair_geoms[2 * pair];
    const be_vd *axes = g->geom_xmat + 9 * plane;
    const be_vd normal[3] = {axes[2], axes[5], axes[8]};
    be_vd apart[3];
    be_sub3(apart, centre, g->geom_xpos + 3 * plane);
    const be_vd height = be_dot3(apart, normal), distance = height - radius;
    const be_vl here = height <= BE_PAIR(BEGIN, pair, 0) + radius;
    ((be_vl *)g->contact_found)[k] = here;
    if (!be_any(here)) return here;
    const be_vd scale = -distance / 2 - radius;
    g->contact_dist[k] = distance;
    for (int i = 0; i < 3; i++) g->contact_pos[3 * k + i] = centre[i] + normal[i] * scale;
    be_copy(g->contact_frame + 9 * k, normal, 3);
    make_frame(g->contact_frame + 9 * k, tangent);
    return here;
}

BE_INLINE be_vl plane_sphere(be_physics_group *g, const int wide, int pair, int k) {
    const int geom = g->m->pair_geoms[2 * pair + 1];
    const be_vd no_tangent[3] = {be_set1(0), be_set1(0), be_set1(0)};
    return touch(g, wide, pair, k, g->geom_xpos + 3 * geom, BE_K(geom_size, 3 * geom), no_tangent);
}
BE_PHYSICS_LOOK(plane_sphere)

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
BE_PHYSICS_LOOK(plane_capsule)

/* Where candidate k touches a plane: half way between the plane and `place`. */
BE_INLINE be_vl touch_at(be_physics_group *g, int k, be_vl here, be_vd distance, const be_vd *place,
                         const be_vd *normal) {
    const be_vd scale = -distance * 0.5;
    be_vd middle[3];
    for (int i = 0; i < 3; i++) middle[i] = place[i] + normal[i] * scale;
    return put_contact(g, k, here, distance, middle, normal);
}

/* mjc_PlaneCylinder, as candidates k..k+3: the lowest point, the one at the other end of the cylinder, and two more of
 * the lower disk, which make a triangle with the first. */
BE_INLINE be_vl plane_cylinder(be_physics_group *g, const int wide, int pair, int k) {
    const int plane = g->m->pair_geoms[2 * pair], geom = g->m->pair_geoms[2 * pair + 1];
    const be_vd *ground = g->geom_xmat + 9 * plane, *axes = g->geom_xmat + 9 * geom, *middle = g->geom_xpos + 3 * geom;
    const be_vd begin = BE_PAIR(BEGIN, pair, 0), radius = BE_K(geom_size, 3 * geom),
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
    const be_vl touches = distance <= begin;
    for (int i = 0; i < 3; i++) place[i] = middle[i] + out[i] + axis[i];
    be_vl found = touch_at(g, k, touches, distance, place, normal);
    distance = height - along + down;
    for (int i = 0; i < 3; i++) place[i] = middle[i] + out[i] - axis[i];
    found |= touch_at(g, k + 1, touches & (distance <= begin), distance, place, normal);

    distance = height + along + -down * 0.5;
    const be_vl more = touches & (distance <= begin);
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
BE_PHYSICS_LOOK(plane_cylinder)

/* mjc_PlaneBox, as candidates k..k+7: the first four corners, in their order, that are low enough. */
BE_INLINE be_vl plane_box(be_physics_group *g, const int wide, int pair, int k) {
    const int plane = g->m->pair_geoms[2 * pair], geom = g->m->pair_geoms[2 * pair + 1];
    const be_vd *ground = g->geom_xmat + 9 * plane, *middle = g->geom_xpos + 3 * geom;
    const be_vd normal[3] = {ground[2], ground[5], ground[8]};
    be_vd apart[3];
    be_sub3(apart, middle, g->geom_xpos + 3 * plane);
    const be_vd height = be_dot3(apart, normal), reach = BE_PAIR(REACH, pair, 0) + BE_SLACK;
    be_vl found = be_lane_numbers() < 0, count = be_lane_numbers() * 0;
    if (!be_any(height <= reach)) return found;
    for (int i = 0; i < 8; i++) {
        be_vd corner[3];
        for (int axis = 0; axis < 3; axis++) {
            const be_vd half = BE_K(geom_size, 3 * geom + axis);
            corner[axis] = i >> axis & 1 ? half : -half;
        }
        be_mul_mat_vec3(corner, g->geom_xmat + 9 * geom, corner);
        const be_vd down = be_dot3(normal, corner), distance = height + down;
        const be_vl low = (distance <= BE_PAIR(BEGIN, pair, 0)) & (down <= 0) & (count < 4);
        count -= low; /* which is -1 */
        be_add_to(corner, middle, 3);
        found |= touch_at(g, k + i, low, distance, corner, normal);
    }
    return found;
}
BE_PHYSICS_LOOK(plane_box)

/* mjc_PlaneConvex of an ellipsoid: its lowest point. */
BE_INLINE be_vl plane_ellipsoid(be_physics_group *g, const int wide, int pair, int k) {
    const int plane = g->m->pair_geoms[2 * pair], geom = g->m->pair_geoms[2 * pair + 1];
    const be_vd *ground = g->geom_xmat + 9 * plane, *axes = g->geom_xmat + 9 * geom;
    const be_vd normal[3] = {ground[2], ground[5], ground[8]}, down[3] = {-normal[0], -normal[1], -normal[2]};
    be_vd local[3], point[3], apart[3], size[3];
    for (int i = 0; i < 3; i++) size[i] = BE_K(geom_size, 3 * geom + i);
    be_mul_mat_t_vec3(local, axes, down);
    for (int i = 0; i < 3; i++) local[i] *= size[i];
    const be_vd squared = be_dot3(local, local), inverse = 1 / be_sqrt(squared);
    const be_vl tiny = squared < BE_MINVAL * BE_MINVAL;
    const int together = *g->m->version >= 3013; /* MuJoCo multiplies by both at once */
    for (int i = 0; i < 3; i++) local[i] = together ? local[i] * (inverse * size[i]) : local[i] * inverse * size[i];
    be_mul_mat_vec3(point, axes, local);
    for (int i = 0; i < 3; i++) point[i] = be_select(tiny, axes[3 * i] * size[0], point[i]);
    be_add_to(point, g->geom_xpos + 3 * geom, 3);
    be_sub3(apart, point, g->geom_xpos + 3 * plane);
    const be_vd distance = be_dot3(normal, apart);
    return touch_at(g, k, distance <= BE_PAIR(BEGIN, pair, 0), distance, point, normal);
}
BE_PHYSICS_LOOK(plane_ellipsoid)
