/* Which lanes may have contacts that are not found here: those where a pair of geoms is nearer than it can be without
 * one. */
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

BE_INLINE be_vl pair_near(const be_physics_group *g, const int wide, int pair) {
    const int first = g->m->pair_geoms[2 * pair], second = g->m->pair_geoms[2 * pair + 1];
    const int kind = g->m->pair_kind[pair];
    const be_vd reach = BE_K(pair_reach, 2 * pair) + BE_SLACK;
    be_vd apart[3], a[3], b[3];
    be_sub3(apart, g->geom_xpos + 3 * second, g->geom_xpos + 3 * first);
    if (kind != BE_PAIR_BALLS && kind != BE_PAIR_CAPSULES) {
        const be_vd *plane = g->geom_xmat + 9 * first;
        const be_vd normal[3] = {plane[2], plane[5], plane[8]};
        be_vd height = be_dot3(apart, normal);
        if (kind == BE_PAIR_PLANE_CAPSULE) {
            half_axis(b, g, wide, second);
            height -= be_abs(be_dot3(b, normal));
        }
        return ~(height >= reach); /* also where it is NaN */
    }
    const be_vl near = ~(be_dot3(apart, apart) >= reach * reach);
    if (kind == BE_PAIR_BALLS || !be_any(near)) return near;
    const be_vd radii = BE_K(pair_reach, 2 * pair + 1) + BE_SLACK;
    half_axis(a, g, wide, first);
    half_axis(b, g, wide, second);
    return near & ~(axes_apart(apart, a, b) >= radii * radii);
}

BE_INLINE be_vl near(const be_physics_group *g, const int wide) {
    be_vl found = be_lane_numbers() < 0;
    for (int k = 0; k < g->m->num_pairs; k++) {
        if (!g->m->pair_own[k]) found |= pair_near(g, wide, k);
    }
    return found;
}

unsigned be_physics_near(be_physics_group *g) { return be_mask_bits(g->wide ? near(g, 1) : near(g, 0)); }
