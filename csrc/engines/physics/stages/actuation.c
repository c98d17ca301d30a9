/* mj_transmission and mj_fwdActuation, for motors at slide and hinge joints. */
#include "engines/physics/algebra.h"
#include "engines/physics/group.h"

BE_INLINE void actuation(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_zero(g->qfrc_actuator, m->nv);
    for (int i = 0; i < m->nu; i++) {
        const int joint = m->actuator_trnid[2 * i];
        const be_vd gear = BE_K(actuator_gear, 6 * i);
        g->actuator_length[i] = g->qpos[m->jnt_qposadr[joint]] * gear;
        be_vd control = g->ctrl[i];
        if (m->actuator_ctrllimited[i]) {
            control = be_clip(control, BE_K(actuator_ctrlrange, 2 * i), BE_K(actuator_ctrlrange, 2 * i + 1));
        }
        g->actuator_force[i] = BE_K(actuator_gainprm, BE_GAIN_PARAMS * i) * control + 0.0; /* the bias is 0 */
        g->qfrc_actuator[m->jnt_dofadr[joint]] += gear * g->actuator_force[i];
    }
}
BE_PHYSICS_STAGE(actuation)
