/* Arms of gymnasium-robotics whose hand is welded to a mocap body, which actions move. */
#ifndef BE_MUJOCO_MOCAP_ARM_H
#define BE_MUJOCO_MOCAP_ARM_H

#include "engines/mujoco/robotics/goals.h"

/* What a task reads of the hand, and of where a body moves: the row of its part of MuJoCo's cdof (or the first of
 * several), that of its tree's centre of mass, and of the site at which it is looked at. */
typedef struct mocap_motion {
    int joints, centre, site;
} mocap_motion;
enum { MOCAP_MOST_SPEEDS = 64 }; /* of a model */

/* Puts the mocap body where the hand is, plus an action (which becomes 0.05 m at most), and turns it. */
static inline void mocap_move(const be_batch *b, int64_t lane, const double *hand, const double *hand_quat,
                              const float *action) {
    static const double turn[] = {1, 0, 1, 0};
    double *place = be_mujoco_mocap_pos_of(b, lane), *quat = be_mujoco_mocap_quat_of(b, lane);
    for (int k = 0; k < 3; k++) place[k] = hand[k] + (double)(action[k] * 0.05f);
    for (int k = 0; k < 4; k++) quat[k] = hand_quat[k] + turn[k];
}

/* How a site moves in a step: mj_jacSite @ qvel * dt, of its place and, unless it is NULL, of how it is turned. `cdof`
 * is the row of all of mjData's cdof. */
static inline void mocap_velocity(const be_batch *b, int64_t lane, const mocap_motion *motion, int cdof, double *linear,
                                  double *angular) {
    const be_mujoco_view *view = be_mujoco_of(b);
    const be_mujoco_read *joints = &view->reads[motion->joints];
    const double *axes = be_mujoco_read_of(b, lane, cdof), *qvel = be_mujoco_arrays(b, lane)[MJ_QVEL];
    const double *site = be_mujoco_read_of(b, lane, motion->site);
    const double *centre = be_mujoco_read_of(b, lane, motion->centre), dt = be_mujoco_dt(b);
    const int64_t nv = view->num_qvel;
    const double arm[] = {site[0] - centre[0], site[1] - centre[1], site[2] - centre[2]};
    double places[3 * MOCAP_MOST_SPEEDS] = {0}, turns[3 * MOCAP_MOST_SPEEDS] = {0};
    for (int64_t j = 0; j < joints->count * joints->size; j++) {
        const int64_t i = joints->first[j / joints->size] + j % joints->size;
        const double *axis = axes + 6 * i;
        places[i] = axis[3] + (axis[1] * arm[2] - axis[2] * arm[1]);
        places[nv + i] = axis[4] + (axis[2] * arm[0] - axis[0] * arm[2]);
        places[2 * nv + i] = axis[5] + (axis[0] * arm[1] - axis[1] * arm[0]);
        for (int k = 0; k < 3; k++) turns[k * nv + i] = axis[k];
    }
    be_numpy_matvec3(places, qvel, nv, view->fused_matvec, linear);
    for (int k = 0; k < 3; k++) linear[k] *= dt;
    if (!angular) return;
    be_numpy_matvec3(turns, qvel, nv, view->fused_matvec, angular);
    for (int k = 0; k < 3; k++) angular[k] *= dt;
}

#endif
