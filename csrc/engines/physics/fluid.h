/* A fluid around boxes of the bodies' inertia. */
#ifndef BE_PHYSICS_FLUID_H
#define BE_PHYSICS_FLUID_H

#include "engines/physics/group.h"

#define BE_PI 3.14159265358979323846

/* Whether there is a fluid, and whether it flows. */
static inline int be_has_fluid(const be_physics_group *g) {
    return BE_K1(opt_viscosity, 0) != 0 || BE_K1(opt_density, 0) != 0;
}
static inline int be_has_wind(const be_physics_group *g) {
    return BE_K1(opt_wind, 0) != 0 || BE_K1(opt_wind, 1) != 0 || BE_K1(opt_wind, 2) != 0;
}

/* Whether the fluid moves body i. */
static inline int be_swims(const be_physics_group *g, int i) {
    return BE_K1(body_mass, i) >= BE_MINVAL && g->m->body_weldid[i] != 0;
}

/* A body in the fluid: the box with its mass and inertia, where its centre is seen from that of its tree, and how it
 * moves in the fluid (turning first), in the frame of its inertia. */
typedef struct be_swimmer {
    be_vd box[3], offset[3], velocity[6];
} be_swimmer;

BE_INLINE be_swimmer be_swimmer_of(const be_physics_group *g, const int wide, int i, int windy) {
    const be_vd *velocity = g->cvel + 6 * i, *axes = g->ximat + 9 * i;
    const be_vd x = BE_K(body_inertia, 3 * i), y = BE_K(body_inertia, 3 * i + 1), z = BE_K(body_inertia, 3 * i + 2);
    const be_vd sums[3] = {y + z - x, x + z - y, x + y - z};
    be_vd around[3], moving[3];
    be_swimmer s;
    for (int k = 0; k < 3; k++) {
        const be_vd least = be_select(sums[k] > BE_MINVAL, sums[k], be_set1(BE_MINVAL));
        s.box[k] = be_sqrt(least / BE_K(body_mass, i) * 6.0);
    }
    be_sub3(s.offset, g->xipos + 3 * i, g->subtree_com + 3 * g->m->body_rootid[i]);
    be_cross(around, s.offset, velocity);
    be_sub3(moving, velocity + 3, around);
    be_mul_mat_t_vec3(s.velocity, axes, velocity);
    be_mul_mat_t_vec3(s.velocity + 3, axes, moving);
    if (windy) {
        const be_vd wind[3] = {BE_K(opt_wind, 0), BE_K(opt_wind, 1), BE_K(opt_wind, 2)};
        be_mul_mat_t_vec3(moving, axes, wind);
        be_sub3(s.velocity + 3, s.velocity + 3, moving);
    }
    return s;
}

#endif
