/* Which lanes may have contacts of pairs that are not looked for in all lanes at once: those where the geoms are nearer
 * than they can be without one. */
#include "engines/physics/group.h"

/* Half of a capsule's axis, as a vector; that of a sphere is 0. */
BE_INLINE void half_axis(be_vd *axis, const be_physics_group *g, const int wide, int geom) {
    const be_vd half = g->m->geom_type[geom] == BE_CAPSULE ? be_abs(BE_K(geom_size, 3 * geom + 1)) : be_set1(0);
    for (int k = 0; k < 3; k++) axis[k] = g->geom_xmat[9 * geom + 3 * k + 2] * half;
}

/* The least squared distance between two axes whose middles are d apart, or less. */
BE_INLINE be_vd axes_apart(const be_vd *d, const be_vd *a, const be_vd *b) {
    const be_vd aa = be_dot3(a, a) + 1e-300, bb = be_dot3(b, b) + 1e-300, ab = be_dot3(a, b);
    const be_vd u = be_dot3(a, d), v = -be_dot3(b, d), det = aa * bb - ab * ab, one = be_set1(1);
    be_vd s = be_clip((bb * u + ab * v) / (be_abs(det) + 1e-300), -one, one);
    const be_vd t = be_clip((v + ab * s) / bb, -one, one);
    s = be_clip((u + ab * t) / aa, -one, one);
    be_vd gap[3];
    for (int k = 0; k < 3; k++) gap[k] = d[k] + b[k] * t - a[k] * s;
    /* Of nearly parallel axes the nearest points are uncertain. */
    return be_select(det < 1e-6 * aa * bb, be_set1(0), be_dot3(gap, gap));
}

/* The vector from one geom's box to the other's: `apart` is that from geom to geom. */
BE_INLINE void between_boxes(be_vd *to, const be_physics_group *g, const int wide, int first, int second,
                             const be_vd *apart) {
    const int geoms[2] = {first, second};
    be_vd middle[2][3];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 3; i++) middle[k][i] = BE_K(geom_box, 6 * geoms[k] + i);
        be_mul_mat_vec3(middle[k], g->geom_xmat + 9 * geoms[k], middle[k]);
    }
    for (int i = 0; i < 3; i++) to[i] = apart[i] + (middle[1][i] - middle[0][i]);
}

/* Lanes in which the boxes around two geoms are surely `gap` apart: along an axis of one of them, or across two.
 * room: of the boxes, by which they are larger than MuJoCo's, how much is taken away. */
BE_INLINE be_vl boxes_apart(const be_physics_group *g, const int wide, int first, int second, const be_vd *apart,
                            be_vd gap, double room) {
    const be_vd *a = g->geom_xmat + 9 * first, *b = g->geom_xmat + 9 * second;
    be_vd to[3], along[3], size[2][3], turn[3][3], span[3][3]; /* in the axes of the first box */
    between_boxes(to, g, wide, first, second, apart);
    for (int i = 0; i < 3; i++) {
        size[0][i] = (BE_K(geom_box, 6 * first + 3 + i) - room) / (1 + room);
        size[1][i] = (BE_K(geom_box, 6 * second + 3 + i) - room) / (1 + room);
        along[i] = to[0] * a[i] + to[1] * a[3 + i] + to[2] * a[6 + i];
        for (int j = 0; j < 3; j++) {
            turn[i][j] = a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j];
            span[i][j] = be_abs(turn[i][j]);
        }
    }
    be_vl found = be_lane_numbers() < 0;
    for (int i = 0; i < 3; i++) {
        const be_vd other = along[0] * turn[0][i] + along[1] * turn[1][i] + along[2] * turn[2][i];
        found |= be_abs(along[i]) >= size[0][i] + be_dot3(span[i], size[1]) + gap;
        found |= be_abs(other) >=
                 size[1][i] + span[0][i] * size[0][0] + span[1][i] * size[0][1] + span[2][i] * size[0][2] + gap;
    }
    for (int i = 0; i < 9; i++) { /* across axis u of one and v of the other: that direction is 1 long, or less */
        const int u = i / 3, v = i % 3, u1 = (u + 1) % 3, u2 = (u + 2) % 3, v1 = (v + 1) % 3, v2 = (v + 2) % 3;
        const be_vd across = along[u2] * turn[u1][v] - along[u1] * turn[u2][v];
        found |= be_abs(across) >= size[0][u1] * span[u2][v] + size[0][u2] * span[u1][v] + size[1][v1] * span[u][v2] +
                                       size[1][v2] * span[u][v1] + gap;
    }
    return found;
}

/* How far above a plane the box around a geom is. */
BE_INLINE be_vd box_above(const be_physics_group *g, const int wide, int plane, int geom, const be_vd *apart,
                          const be_vd *normal) {
    const be_vd *axes = g->geom_xmat + 9 * geom;
    be_vd to[3];
    between_boxes(to, g, wide, plane, geom, apart);
    be_vd height = be_dot3(to, normal);
    for (int i = 0; i < 3; i++) {
        const be_vd axis[3] = {axes[i], axes[3 + i], axes[6 + i]};
        height -= be_abs(be_dot3(axis, normal)) * BE_K(geom_box, 6 * geom + 3 + i);
    }
    return height;
}

BE_INLINE be_vl pair_near(const be_physics_group *g, const int wide, int pair) {
    const int first = g->m->pair_geoms[2 * pair], second = g->m->pair_geoms[2 * pair + 1];
    const int kind = g->m->pair_kind[pair];
    const be_vd reach = BE_PAIR(REACH, pair, 0) + BE_SLACK;
    const be_vd gap = BE_K(geom_reach, first) + BE_K(geom_reach, second) + BE_SLACK;
    be_vd apart[3], a[3], b[3];
    be_sub3(apart, g->geom_xpos + 3 * second, g->geom_xpos + 3 * first);
    if (g->m->geom_type[first] == BE_PLANE) {
        const be_vd *plane = g->geom_xmat + 9 * first;
        const be_vd normal[3] = {plane[2], plane[5], plane[8]};
        be_vd height = be_dot3(apart, normal);
        if (kind == BE_PAIR_PLANE_CAPSULE) {
            half_axis(b, g, wide, second);
            height -= be_abs(be_dot3(b, normal));
        }
        const be_vl low = ~(height >= reach); /* also where it is NaN */
        if (kind == BE_PAIR_PLANE_CAPSULE || !be_any(low)) return low;
        return low & ~(box_above(g, wide, first, second, apart, normal) >= gap);
    }
    const be_vl near = ~(be_dot3(apart, apart) >= reach * reach);
    if (!be_any(near)) return near;
    if (kind != BE_PAIR_CAPSULES) return near & ~boxes_apart(g, wide, first, second, apart, gap, 0);
    const be_vd radii = BE_PAIR(REACH, pair, 1) + BE_SLACK;
    half_axis(a, g, wide, first);
    half_axis(b, g, wide, second);
    return near & ~(axes_apart(apart, a, b) >= radii * radii);
}

BE_INLINE be_vl near(const be_physics_group *g, const int wide) {
    be_vl found = be_lane_numbers() < 0;
    BE_FOR_NEAR(g, pair) {
        if (g->m->pair_own[pair] == BE_OWN_NOT) found |= pair_near(g, wide, pair);
    }
    return found;
}

unsigned be_physics_near(be_physics_group *g) { return be_mask_bits(g->wide ? near(g, 1) : near(g, 0)); }

BE_INLINE be_vl pair_apart(const be_physics_group *g, const int wide, int pair) {
    const int first = g->m->pair_geoms[2 * pair], second = g->m->pair_geoms[2 * pair + 1];
    be_vd apart[3];
    if (g->m->geom_type[first] == BE_PLANE) return be_lane_numbers() < 0;
    be_sub3(apart, g->geom_xpos + 3 * second, g->geom_xpos + 3 * first);
    /* Across parallel axes, nothing is apart by more than 0: what is uncertain is taken from the boxes, not the gap. */
    const be_vd begin = BE_PAIR(BEGIN, pair, 0), gap = be_select(begin > 0, begin, be_set1(0)) + BE_SLACK;
    return boxes_apart(g, wide, first, second, apart, gap, BE_BOX_ROOM + BE_SLACK);
}

unsigned be_physics_pair_apart(const be_physics_group *g, int pair) {
    return be_mask_bits(g->wide ? pair_apart(g, 1, pair) : pair_apart(g, 0, pair));
}

unsigned be_physics_pair_near(const be_physics_group *g, int pair) {
    return be_mask_bits(g->wide ? pair_near(g, 1, pair) : pair_near(g, 0, pair));
}
