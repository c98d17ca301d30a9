/* mj_forward, without sensors. */
#include "engines/physics/group.h"

void be_physics_forward(be_physics_group *g) {
    BE_PHYSICS_STAGE_NAME(kinematics)(g);
    BE_PHYSICS_STAGE_NAME(com_pos)(g);
    if (g->m->ntendon) BE_PHYSICS_STAGE_NAME(tendon)(g);
    BE_PHYSICS_STAGE_NAME(inertia)(g);
    BE_PHYSICS_STAGE_NAME(com_vel)(g);
    BE_PHYSICS_STAGE_NAME(passive)(g);
    BE_PHYSICS_STAGE_NAME(rne)(g);
    if (*g->m->arms_tendons) BE_PHYSICS_STAGE_NAME(tendon_bias)(g);
    if (g->m->num_moments) BE_PHYSICS_STAGE_NAME(transmission)(g);
    BE_PHYSICS_STAGE_NAME(actuation)(g);
    BE_PHYSICS_STAGE_NAME(acceleration)(g);
    be_physics_constrain_lanes(g);
}
