/* Derivatives of forces by velocities, in the entries that g->qDeriv has. */
#ifndef BE_PHYSICS_DERIVATIVES_H
#define BE_PHYSICS_DERIVATIVES_H

#include "engines/physics/group.h"

/* Adds the derivative `slope` of a force on degrees of freedom, which are in increasing order; `moments` says how far
 * each moves what the force acts on (addJTBJSparse). */
BE_INLINE void be_add_derivative(be_physics_group *g, const int32_t *dofs, const be_vd *moments, int count,
                                 be_vd slope) {
    const be_physics_model *m = g->m;
    for (int k = 0; k < count; k++) {
        const int first = m->D_rowadr[dofs[k]], end = first + m->D_rownnz[dofs[k]];
        for (int p = 0, at = first; p < count && at < end; p++) {
            while (at < end && m->D_colind[at] < dofs[p]) at++;
            if (at < end && m->D_colind[at] == dofs[p]) g->qDeriv[at] += moments[p] * (moments[k] * slope);
        }
    }
}

#endif
