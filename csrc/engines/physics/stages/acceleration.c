/* mj_fwdAcceleration: the accelerations that there would be without constraints. */
#include "engines/physics/group.h"

/* mj_xfrcAccumulate: adds the forces and torques on bodies, which act at their centres of mass. */
static void push_bodies(be_physics_group *g) {
    const be_physics_model *m = g->m;
    for (int i = 1; i < m->nbody; i++) {
        const be_vd *force = g->xfrc_applied + 6 * i;
        const int body = m->body_weldid[i];
        const be_vl here = be_not_zero6(force);
        if (body == 0 || !be_any(here)) continue;
        be_vd offset[3];
        be_sub3(offset, g->xipos + 3 * i, g->subtree_com + 3 * m->body_rootid[i]);
        for (int d = m->body_dofadr[body] + m->body_dofnum[body] - 1; d >= 0; d = m->dof_parentid[d]) {
            const be_vd sum = be_pushed(g->qfrc_smooth[d], g->cdof + 6 * d, offset, force, force + 3);
            g->qfrc_smooth[d] = be_select(here, sum, g->qfrc_smooth[d]);
        }
    }
}

BE_INLINE void acceleration(be_physics_group *g, const int wide) {
    (void)wide;
    const be_physics_model *m = g->m;
    const int pushed = g->job->pushed;
    for (int i = 0; i < m->nv; i++) {
        const be_vd applied = pushed ? g->qfrc_applied[i] : be_set1(0);
        g->qfrc_smooth[i] = g->qfrc_passive[i] - g->qfrc_bias[i] + applied + g->qfrc_actuator[i];
    }
    if (pushed) push_bodies(g);
    be_copy(g->qacc_smooth, g->qfrc_smooth, m->nv);
    be_physics_solve(m, 0, (int)m->nv, g->qacc_smooth, g->qLD, g->qLDiagInv);
}
BE_PHYSICS_STAGE(acceleration)
