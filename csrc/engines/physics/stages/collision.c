/* mj_collision for planes of the world with spheres and capsules. */
#include "engines/physics/algebra.h"
#include "engines/physics/group.h"

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

BE_INLINE be_vl collide(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_vl found = be_lane_numbers() < 0;
    for (int pair = 0, k = 0; pair < m->num_pairs; pair++) {
        if (!m->pair_own[pair]) continue;
        const int geom = m->pair_geoms[2 * pair + 1];
        const be_vd *middle = g->geom_xpos + 3 * geom, *axes = g->geom_xmat + 9 * geom;
        const be_vd radius = BE_K(geom_size, 3 * geom);
        if (m->pair_kind[pair] == BE_PAIR_PLANE_BALL) {
            const be_vd no_tangent[3] = {be_set1(0), be_set1(0), be_set1(0)};
            found |= touch(g, wide, pair, k++, middle, radius, no_tangent);
            continue;
        }
        const be_vd half = BE_K(geom_size, 3 * geom + 1), axis[3] = {axes[2], axes[5], axes[8]};
        be_vd ends[2][3];
        for (int i = 0; i < 3; i++) {
            const be_vd along = half * axis[i];
            ends[0][i] = middle[i] + along;
            ends[1][i] = middle[i] - along;
        }
        for (int end = 0; end < 2; end++) found |= touch(g, wide, pair, k++, ends[end], radius, axis);
    }
    return found;
}

unsigned be_physics_collide(be_physics_group *g) { return be_mask_bits(g->wide ? collide(g, 1) : collide(g, 0)); }
