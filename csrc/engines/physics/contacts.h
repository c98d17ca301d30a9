/* The contacts that were found here. */
#ifndef BE_PHYSICS_CONTACTS_H
#define BE_PHYSICS_CONTACTS_H

#include "engines/physics/group.h"

/* mj_contactForce: the force of candidate k along the axes of its frame, in lanes `here`. */
BE_INLINE void be_contact_force(be_vd *along, const be_physics_group *g, const int wide, unsigned here, int pair,
                                int k) {
    const int count = g->m->pair_dim[pair] == 1 ? 1 : 4;
    const be_vd friction = BE_K(pair_friction, pair);
    be_vd pyramid[4] = {be_set1(0), be_set1(0), be_set1(0), be_set1(0)};
    for (unsigned left = here; left; left &= left - 1) {
        const int lane = __builtin_ctz(left), row = (int)((const double *)&g->contact_row[k])[lane];
        for (int i = 0; i < count; i++) {
            ((double *)&pyramid[i])[lane] = ((const double *)&g->efc_force[row + i])[lane];
        }
    }
    be_zero(along, 3);
    if (count == 1) {
        along[0] = pyramid[0];
        return;
    }
    for (int i = 0; i < 4; i++) along[0] += pyramid[i];
    for (int i = 0; i < 2; i++) along[1 + i] = (pyramid[2 * i] - pyramid[2 * i + 1]) * friction;
}

#endif
