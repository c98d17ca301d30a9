/* mj_fwdAcceleration: the accelerations that there would be without constraints. */
#include "engines/physics/group.h"

BE_INLINE void acceleration(be_physics_group *g, const int wide) {
    (void)wide;
    const be_physics_model *m = g->m;
    for (int i = 0; i < m->nv; i++) {
        const be_vd applied = g->qfrc_passive[i] - g->qfrc_bias[i] + 0.0; /* qfrc_applied is 0 */
        g->qfrc_smooth[i] = g->qacc_smooth[i] = applied + g->qfrc_actuator[i];
    }
    be_physics_solve(m, 0, (int)m->nv, g->qacc_smooth, g->qLD, g->qLDiagInv);
}
BE_PHYSICS_STAGE(acceleration)
