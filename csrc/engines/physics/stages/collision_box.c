/* Spheres and capsules with boxes. */
#include "engines/physics/stages/collision.h"

/* A pair of something round and a box, and what is known of it in the box's own axes. */
typedef struct round_box {
    int geom, box;
    const be_vd *axes, *middle; /* of the box */
    be_vd size[3], radius, begin;
} round_box;

BE_INLINE round_box round_box_of(const be_physics_group *g, const int wide, int pair) {
    const int geom = g->m->pair_geoms[2 * pair], box = g->m->pair_geoms[2 * pair + 1];
    round_box r = {.geom = geom, .box = box, .axes = g->geom_xmat + 9 * box, .middle = g->geom_xpos + 3 * box};
    for (int i = 0; i < 3; i++) r.size[i] = BE_K(geom_size, 3 * box + i);
    r.radius = BE_K(geom_size, 3 * geom);
    r.begin = BE_PAIR(BEGIN, pair, 0);
    return r;
}

/* Lanes in which the two are near enough to touch. */
BE_INLINE be_vl near_box(const be_physics_group *g, const int wide, int pair, const round_box *r) {
    const be_vd reach = BE_PAIR(REACH, pair, 0) + BE_SLACK;
    be_vd apart[3];
    be_sub3(apart, g->geom_xpos + 3 * r->geom, r->middle);
    return be_dot3(apart, apart) <= reach * reach;
}

/* Of a point in the box: the direction to the nearest face, and how far away it is. */
BE_INLINE be_vd nearest_face(be_vd *direction, const be_vd *centre, const be_vd *size) {
    be_vd closest = (size[0] + size[1] + size[2]) * 2;
    be_zero(direction, 3);
    for (int i = 0; i < 6; i++) {
        const be_vd away = be_abs((i % 2 ? size[i / 2] : -size[i / 2]) - centre[i / 2]);
        const be_vl closer = closest > away;
        closest = be_select(closer, away, closest);
        for (int k = 0; k < 3; k++) {
            direction[k] = be_select(closer, be_set1(k == i / 2 ? (i % 2 ? -1 : 1) : 0), direction[k]);
        }
    }
    return closest;
}

/* mjraw_SphereBox: a ball around `point`, as candidate k, in lanes `near`. */
BE_INLINE be_vl ball_box(be_physics_group *g, int k, be_vl near, const round_box *r, const be_vd *point) {
    be_vd apart[3], centre[3], clamped[3], out[3], face[3], place[3], normal[3];
    be_sub3(apart, point, r->middle);
    be_mul_mat_t_vec3(centre, r->axes, apart);
    for (int i = 0; i < 3; i++) clamped[i] = be_clip(centre[i], -r->size[i], r->size[i]);
    be_sub3(out, clamped, centre);
    be_vd distance = be_normalize3(out);
    const be_vl inside = distance <= BE_MINVAL, touches = near & (distance - r->radius <= r->begin);
    ((be_vl *)g->contact_found)[k] = be_lane_numbers() < 0;
    if (!be_any(touches)) return be_lane_numbers() < 0;
    const be_vd closest = nearest_face(face, centre, r->size);
    for (int i = 0; i < 3; i++) {
        const be_vd deepest = centre[i] + out[i] * r->radius, half = 0 + clamped[i] * 0.5;
        place[i] = be_select(inside, centre[i] + face[i] * ((r->radius - closest) / 2), half + deepest * 0.5);
        out[i] = be_select(inside, face[i], out[i]);
    }
    distance = be_select(inside, -closest, distance) - r->radius;
    be_mul_mat_vec3(normal, r->axes, out);
    be_mul_mat_vec3(place, r->axes, place);
    be_add_to(place, r->middle, 3);
    return put_contact(g, k, touches, distance, place, normal);
}

BE_INLINE be_vl sphere_box(be_physics_group *g, const int wide, int pair, int k) {
    const round_box r = round_box_of(g, wide, pair);
    return ball_box(g, k, near_box(g, wide, pair, &r), &r, g->geom_xpos + 3 * r.geom);
}
BE_PHYSICS_LOOK(sphere_box)

/* ---- capsules ---------------------------------------------------------------------------------------- */

/* A capsule's axis in the axes of a box, and what was found of it: numbers of lanes.
 *
 * Places on the axis are between -1 and 1. A corner of the box is three bits, of which each says whether it lies at the
 * positive end of an axis; so is the direction of the capsule's axis. */
typedef struct axis_box {
    be_vd middle[3], half[3], axis[3]; /* half: from the middle to the end */
    be_vl direction;
    be_vd best, at, at_edge;     /* the least squared distance so far, and where it is on the axis and on the edge */
    be_vl of_face, face;         /* lanes in which an end is nearest to a face, and to which one; -1: it is inside */
    be_vl of_edge, edge, corner; /* lanes in which an edge is nearest, the edge's direction and its lower corner */
    be_vl at_corner;             /* lanes in which that point is an end of the edge: `corner` is this end */
} axis_box;

BE_INLINE be_vl choose(be_vl mask, be_vl one, be_vl other) { return (mask & one) | (~mask & other); }
BE_INLINE be_vl number(int64_t value) { return be_lane_numbers() * 0 + value; }

/* Component `index`, which may differ from lane to lane. */
BE_INLINE be_vd pick(const be_vd *v, be_vl index) {
    return be_select(index == 0, v[0], be_select(index == 1, v[1], v[2]));
}

/* Lowers `value` to `bound` where that is less. */
BE_INLINE void lower(be_vd *value, be_vd bound) { *value = be_select(bound < *value, bound, *value); }

/* Which end of the axis is nearest to the box, where it is beside one face at most. */
BE_INLINE void look_at_ends(axis_box *a, const be_vd *size) {
    for (int end = -1; end <= 1; end += 2) {
        be_vl outside = number(0), face = number(-1);
        be_vd apart[3];
        for (int j = 0; j < 3; j++) {
            const be_vd at = a->middle[j] + a->half[j] * end;
            const be_vl below = at<-size[j], above = at> size[j];
            outside -= below | above;
            face = choose(below | above, number(j), face);
            apart[j] = be_select(below, -size[j], be_select(above, size[j], at)) - at;
        }
        const be_vd squared = be_dot3(apart, apart);
        const be_vl better = (outside <= 1) & (squared < a->best);
        a->best = be_select(better, squared, a->best);
        a->at = be_select(better, be_set1(end), a->at);
        a->of_face |= better;
        a->face = choose(better, face, a->face);
    }
}

/* How near the axis comes to the edge in direction j whose lower corner is `corner`. */
BE_INLINE void look_at_edge(axis_box *a, const be_vd *size, be_vd length, int j, int corner) {
    const be_vd one = be_set1(1);
    be_vd apart[3];
    for (int i = 0; i < 3; i++) {
        const be_vd start = i == j ? be_set1(0) : corner >> i & 1 ? size[i] : -size[i];
        apart[i] = start - a->middle[i];
    }
    const be_vd ma = size[j] * size[j], mb = -size[j] * a->half[j], mc = length * length;
    const be_vd u = -size[j] * apart[j], v = be_dot3(a->half, apart), det = ma * mc - mb * mb;
    const be_vl crossed = be_abs(det) >= BE_MINVAL;
    const be_vd inverse = 1 / det, x1 = (mc * u - mb * v) * inverse, x2 = (ma * v - mb * u) * inverse;
    be_vl upper = x1 > 1, lowest = x1 < -1;
    be_vd on_edge = be_select(upper, one, be_select(lowest, -one, x1));
    be_vd on_axis = be_select(upper, (v - mb) * (1 / mc), be_select(lowest, (v + mb) * (1 / mc), x2));
    const be_vl beyond = on_axis > 1, before = on_axis < -1;
    const be_vd again = be_select(beyond, (u - mb) * (1 / ma), (u + mb) * (1 / ma));
    /* Where `again` lies on the edge, MuJoCo still takes the end that it had before for the nearest. */
    upper = choose(beyond | before, (again > 1) | (upper & ~(again < -1)), upper);
    lowest = choose(beyond | before, (again < -1) | (lowest & ~(again > 1)), lowest);
    on_edge = be_select(beyond | before, be_clip(again, -one, one), on_edge);
    on_axis = be_select(beyond, one, be_select(before, -one, on_axis));
    for (int i = 0; i < 3; i++) apart[i] += a->half[i] * -on_axis;
    apart[j] += size[j] * on_edge;
    const be_vd squared = be_dot3(apart, apart);
    const be_vl better = crossed & (squared < a->best - BE_MINVAL);
    a->best = be_select(better, squared, a->best);
    a->at = be_select(better, on_axis, a->at);
    a->at_edge = be_select(better, on_edge, a->at_edge);
    a->of_edge |= better;
    a->edge = choose(better, number(j), a->edge);
    a->corner = choose(better, choose(upper, number(corner | 1 << j), number(corner)), a->corner);
    a->at_corner = choose(better, upper | lowest, a->at_corner);
}

/* How far from the first point a second one is, where a corner is nearest: along an edge, or over a face. */
BE_INLINE be_vd second_of_corner(const axis_box *a, const be_vd *size, be_vd none) {
    const be_vl across = a->direction ^ a->corner, odd = (across == 1) | (across == 2) | (across == 4);
    const be_vl even = (across == 3) | (across == 5) | (across == 6), bit = choose(even, 7 - across, across);
    const be_vl axis = choose(bit == 1, number(0), choose(bit == 2, number(1), number(2)));
    const be_vd sign = be_select(odd, be_set1(1), be_set1(-1));
    const be_vd ahead = be_select(odd, 1 - a->at, 1 + a->at), back = be_select(odd, 1 + a->at, 1 - a->at);
    be_vd whole[3]; /* how far it is across the box */
    for (int i = 0; i < 3; i++) whole[i] = 2 * size[i] / be_abs(a->half[i]);
    be_vd edge = ahead, face = back;
    lower(&edge, pick(whole, axis));
    const be_vl next = choose(axis == 2, number(0), axis + 1), last = choose(axis == 0, number(2), axis - 1);
    lower(&face, pick(whole, next));
    lower(&face, pick(whole, last));
    const be_vd slope = pick(a->axis, axis);
    const be_vd found = be_select(slope * slope > 0.5, edge * sign, face * -sign);
    return be_select(odd | even, found, none);
}

/* The same where an edge is nearest. */
BE_INLINE be_vd second_of_edge(const axis_box *a, const be_vd *size, be_vd none) {
    const be_vl bit = choose(a->edge == 0, number(1), choose(a->edge == 1, number(2), number(4)));
    const be_vl across = (a->direction ^ a->corner) & ~bit, crosses = (across == 1) | (across == 2) | (across == 4);
    const be_vl next = choose(a->edge == 2, number(0), a->edge + 1),
                last = choose(a->edge == 0, number(2), a->edge - 1);
    const be_vl flat = be_abs(pick(a->axis, next)) > be_abs(pick(a->axis, last));
    const be_vl along =
        choose(flat, next, last); /* of the two directions across the edge, the one that the axis follows more */
    const be_vl along_bit = choose(along == 0, number(1), choose(along == 1, number(2), number(4)));
    const be_vl up = (across & along_bit) != 0, forward = (a->direction & bit) != 0;
    be_vd whole[3], edge[3];
    for (int i = 0; i < 3; i++) {
        const be_vd half = be_abs(a->half[i]);
        whole[i] = 2 * size[i] / half;
        edge[i] = size[i] * be_select(~(forward ^ up), 1 - a->at_edge, 1 + a->at_edge) / half;
    }
    be_vd found = be_select(up, 1 - a->at, 1 + a->at);
    lower(&found, pick(whole, along));
    lower(&found, pick(edge, a->edge));
    return be_select(crosses, be_select(up, found, -found), none);
}

/* The same where an end is nearest to a face: the farthest point over this face. */
BE_INLINE be_vd second_of_face(const axis_box *a, const be_vd *size, be_vd none) {
    const be_vd sign = -a->at; /* from this end to the other */
    be_vd found = be_set1(2);
    for (int i = 0; i < 3; i++) {
        const be_vd at = a->middle[i] + a->half[i] * -sign;
        for (int side = 0; side < 2; side++) {
            const be_vd leaves = ((side ? -size[i] : size[i]) - at) / a->half[i] * sign;
            const be_vl sooner = (a->face != i) & (leaves > 0) & (leaves < found);
            found = be_select(sooner, leaves, found);
        }
    }
    return be_select(a->face == -1, none, found * sign);
}

/* mjraw_CapsuleBox, as candidates k and k + 1: balls at the point of the axis that is nearest to the box, and at
 * another if the axis is not steep. */
BE_INLINE be_vl capsule_box(be_physics_group *g, const int wide, int pair, int k) {
    const round_box r = round_box_of(g, wide, pair);
    const be_vl near = near_box(g, wide, pair, &r) & be_lanes_of(be_physics_pair_near(g, pair));
    if (!be_any(near)) return near;
    const be_vd *axes = g->geom_xmat + 9 * r.geom, length = BE_K(geom_size, 3 * r.geom + 1), none = be_set1(-4);
    const be_vd axis[3] = {axes[2], axes[5], axes[8]}, zero = be_set1(0);
    axis_box a = {.at = zero, .at_edge = zero, .direction = number(0), .face = number(-1), .edge = number(0)};
    be_vd apart[3], point[3];
    be_sub3(apart, g->geom_xpos + 3 * r.geom, r.middle);
    be_mul_mat_t_vec3(a.middle, r.axes, apart);
    be_mul_mat_t_vec3(a.axis, r.axes, axis);
    for (int i = 0; i < 3; i++) {
        a.half[i] = a.axis[i] * length;
        a.direction |= (a.half[i] > 0) & (int64_t)(1 << i);
    }
    a.best = r.begin + 2 * (r.radius + length + r.size[0] + r.size[1] + r.size[2]);
    a.of_face = a.of_edge = a.at_corner = a.corner = number(0);
    look_at_ends(&a, r.size);
    for (int j = 0; j < 3; j++) {
        for (int corner = 0; corner < 8; corner++) {
            if (!(corner >> j & 1)) look_at_edge(&a, r.size, length, j, corner);
        }
    }
    be_vd second = be_select(a.at_corner, second_of_corner(&a, r.size, none), second_of_edge(&a, r.size, none));
    second = be_select(a.of_edge, second, second_of_face(&a, r.size, none));
    const be_vl found = near & (a.of_face | a.of_edge);
    for (int i = 0; i < 3; i++) point[i] = a.middle[i] + a.half[i] * a.at;
    be_mul_mat_vec3(point, r.axes, point);
    be_add_to(point, r.middle, 3);
    const be_vl first = ball_box(g, k, found, &r, point);
    for (int i = 0; i < 3; i++) point[i] = a.middle[i] + a.half[i] * (second + a.at);
    be_mul_mat_vec3(point, r.axes, point);
    be_add_to(point, r.middle, 3);
    return first | ball_box(g, k + 1, found & (second > -3), &r, point);
}
BE_PHYSICS_LOOK(capsule_box)
