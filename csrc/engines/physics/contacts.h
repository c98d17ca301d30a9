/* The forces of contacts. */
#ifndef BE_PHYSICS_CONTACTS_H
#define BE_PHYSICS_CONTACTS_H

#include "engines/physics/group.h"

/* mj_contactForce: the force of candidate k along the axes of its frame, and its torque around them, in lanes `here`.
 */
BE_INLINE void be_contact_force(be_vd *along, const be_physics_group *g, const int wide, unsigned here, int pair,
                                int k) {
    const int dim = g->m->pair_dim[pair], cone = *g->m->opt_cone || dim == 1, count = cone ? dim : 2 * (dim - 1);
    be_vd pyramid[10];
    be_zero(pyramid, count);
    for (unsigned left = here; left; left &= left - 1) {
        const int lane = __builtin_ctz(left), row = (int)((const double *)&g->contact_row[k])[lane];
        for (int i = 0; i < count; i++) {
            ((double *)&pyramid[i])[lane] = ((const double *)&g->efc_force[row + i])[lane];
        }
    }
    be_zero(along, 6);
    if (cone) {
        be_copy(along, pyramid, dim);
        return;
    }
    for (int i = 0; i < count; i++) along[0] += pyramid[i];
    for (int i = 0; i < dim - 1; i++) {
        along[1 + i] = (pyramid[2 * i] - pyramid[2 * i + 1]) * BE_PAIR(FRICTION, pair, i);
    }
}

#endif
