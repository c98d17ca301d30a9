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

/* Appends candidates first..end-1 of a pair to `touching`, where any lane has them. Adds to `pushing` the lanes that
 * have some within the margin. */
BE_INLINE void touching(be_physics_group *g, const int wide, int pair, int first, int end, be_vl *pushing) {
    for (int k = first; k < end; k++) {
        const be_vl found = ((be_vl *)g->contact_found)[k];
        const be_vl here = found & (g->contact_dist[k] < BE_K(pair_margin, pair));
        if (!be_any(found)) continue;
        ((be_vl *)g->contact_here)[k] = here;
        *pushing |= here;
        g->touching[g->num_touching++] = (be_physics_touching){.pair = pair, .candidate = k};
    }
}

BE_INLINE unsigned collide(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    const int first_called = (int)(m->num_candidates - m->num_called);
    be_vl all = be_lane_numbers() < 0, pushing = all;
    g->num_touching = g->num_called = 0;
    g->crowded = 0;
    for (int pair = 0, k = 0; pair < m->num_pairs; pair++) {
        if (m->pair_own[pair] == BE_OWN_NOT) continue;
        const int called = m->pair_own[pair] == BE_OWN_CALLED;
        const int first = called ? first_called + g->num_called : k;
        const be_vl any = called ? BE_PHYSICS_LOOK_NAME(called)(g, pair, first) : looks[m->pair_kind[pair]](g, pair, k);
        const int end = called ? first_called + g->num_called : k + be_physics_candidates(m->pair_kind[pair]);
        all |= any;
        if (be_any(any)) touching(g, wide, pair, first, end, &pushing);
        if (!called) k = end;
    }
    g->touched = be_mask_bits(all) & g->present;
    return be_mask_bits(pushing);
}

unsigned be_physics_collide(be_physics_group *g) { return g->wide ? collide(g, 1) : collide(g, 0); }
