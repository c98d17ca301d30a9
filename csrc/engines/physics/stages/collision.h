/* How contacts of pairs of geoms are found: one function for each be_physics_pair_kind, in files by shape. */
#ifndef BE_PHYSICS_COLLISION_H
#define BE_PHYSICS_COLLISION_H

#include "engines/physics/group.h"

/* Finds contacts of a pair, as candidates k, k + 1, ...: contact_found, contact_dist, contact_pos and contact_frame.
 * Returns the lanes that have any: if no lane has, nothing need be written. */
#define BE_PHYSICS_LOOK_NAME(name) BE_ISA_NAME(be_physics_look_##name)
#define BE_PHYSICS_DECLARE_LOOK(name) be_vl BE_PHYSICS_LOOK_NAME(name)(be_physics_group * g, int pair, int k);
BE_PHYSICS_DECLARE_LOOK(plane_sphere)
BE_PHYSICS_DECLARE_LOOK(plane_capsule)
BE_PHYSICS_DECLARE_LOOK(plane_cylinder)
BE_PHYSICS_DECLARE_LOOK(plane_box)
BE_PHYSICS_DECLARE_LOOK(plane_ellipsoid)
BE_PHYSICS_DECLARE_LOOK(capsules)
BE_PHYSICS_DECLARE_LOOK(sphere_box)
BE_PHYSICS_DECLARE_LOOK(capsule_box)
BE_PHYSICS_DECLARE_LOOK(called) /* of a pair with BE_OWN_CALLED; adds to g->num_called how many there are */

/* Such a function is written once with `wide`, as stages are: see BE_PHYSICS_STAGE. */
#define BE_PHYSICS_LOOK(name)                                                                                          \
    be_vl BE_PHYSICS_LOOK_NAME(name)(be_physics_group * g, int pair, int k) {                                          \
        return g->wide ? name(g, 1, pair, k) : name(g, 0, pair, k);                                                    \
    }

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

/* Where candidate k touches: `here` says in which lanes. */
BE_INLINE be_vl put_contact(be_physics_group *g, int k, be_vl here, be_vd distance, const be_vd *place,
                            const be_vd *normal) {
    const be_vd no_tangent[3] = {be_set1(0), be_set1(0), be_set1(0)};
    ((be_vl *)g->contact_found)[k] = here;
    if (!be_any(here)) return here;
    g->contact_dist[k] = distance;
    be_copy(g->contact_pos + 3 * k, place, 3);
    be_copy(g->contact_frame + 9 * k, normal, 3);
    make_frame(g->contact_frame + 9 * k, no_tangent);
    return here;
}

#endif
