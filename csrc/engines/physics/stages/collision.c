/* mj_collision, for the pairs of geoms that are not the caller's. */
#include "engines/physics/stages/collision.h"

typedef be_vl look(be_physics_group *g, int pair, int k);
static look *const looks[] = {
    [BE_PAIR_PLANE_BALL] = BE_PHYSICS_LOOK_NAME(plane_sphere), /* of these, own pairs are of spheres */
    [BE_PAIR_PLANE_CAPSULE] = BE_PHYSICS_LOOK_NAME(plane_capsule),
    [BE_PAIR_PLANE_CYLINDER] = BE_PHYSICS_LOOK_NAME(plane_cylinder),
    [BE_PAIR_PLANE_BOX] = BE_PHYSICS_LOOK_NAME(plane_box),
    [BE_PAIR_PLANE_ELLIPSOID] = BE_PHYSICS_LOOK_NAME(plane_ellipsoid),
    [BE_PAIR_CAPSULES] = BE_PHYSICS_LOOK_NAME(capsules),
    [BE_PAIR_SPHERE_BOX] = BE_PHYSICS_LOOK_NAME(sphere_box),
    [BE_PAIR_CAPSULE_BOX] = BE_PHYSICS_LOOK_NAME(capsule_box),
};

/* By how much less than this, times its place, a contact must be nearer than where contacts begin. If it is not, it
 * depends on rounding in MuJoCo's boxes around geoms whether MuJoCo finds it. */
#define EDGE 1e-12

/* Leaves the lanes of `found` in which a candidate is at such an edge to the caller. */
BE_INLINE void look_at_edges(be_physics_group *g, const int wide, int pair, int k, be_vl found) {
    const be_vd *pos = g->contact_pos + 3 * k;
    const be_vd size = 1 + be_abs(pos[0]) + be_abs(pos[1]) + be_abs(pos[2]);
    const be_vl edge = found & (be_abs(g->contact_dist[k] - BE_PAIR(BEGIN, pair, 0)) < size * EDGE);
    if (!be_any(edge)) return;
    g->edges |= be_mask_bits(edge) & g->present;
    g->left |= g->edges;
}

/* Appends candidates first..end-1 of a pair to `touching`, where any lane has them. Adds to `pushing` the lanes that
 * have some within the margin. */
BE_INLINE void touching(be_physics_group *g, const int wide, int pair, int first, int end, be_vl *pushing) {
    for (int k = first; k < end; k++) {
        const be_vl found = ((be_vl *)g->contact_found)[k];
        const be_vl here = found & (g->contact_dist[k] < BE_PAIR(MARGIN, pair, 0));
        if (!be_any(found)) continue;
        if (g->m->geom_type[g->m->pair_geoms[2 * pair]] != BE_PLANE) look_at_edges(g, wide, pair, k, found);
        ((be_vl *)g->contact_here)[k] = here;
        *pushing |= here;
        g->touching[g->num_touching++] = (be_physics_touching){.pair = pair, .candidate = k};
    }
}

/* Leaves lanes in which a pair may touch to the caller: there is no room for its candidates. */
static void crowd(be_physics_group *g, int pair) {
    const unsigned lanes = be_physics_pair_near(g, pair) & g->present;
    g->left |= lanes;
    g->crowded |= lanes;
}

BE_INLINE unsigned collide(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    const int first_called = (int)(m->num_candidates - m->num_called);
    be_vl all = be_lane_numbers() < 0, pushing = all;
    g->num_touching = g->num_called = 0;
    g->crowded = g->edges = 0;
    int k = 0;
    BE_FOR_NEAR(g, pair) {
        if (m->pair_own[pair] == BE_OWN_NOT) continue;
        const int called = m->pair_own[pair] == BE_OWN_CALLED;
        const int first = called ? first_called + g->num_called : k;
        const int last = called ? first : k + be_physics_candidates(m->pair_kind[pair]);
        if (!called && last > first_called) {
            crowd(g, pair);
            continue;
        }
        const be_vl any = called ? BE_PHYSICS_LOOK_NAME(called)(g, pair, first) : looks[m->pair_kind[pair]](g, pair, k);
        const int end = called ? first_called + g->num_called : last;
        all |= any;
        if (!be_any(any)) continue;
        touching(g, wide, pair, first, end, &pushing);
        if (!called) k = end;
    }
    g->touched = be_mask_bits(all) & g->present;
    return be_mask_bits(pushing);
}

unsigned be_physics_collide(be_physics_group *g) { return g->wide ? collide(g, 1) : collide(g, 0); }
