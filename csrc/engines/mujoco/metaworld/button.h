/* Meta-World's buttons, which the hand is to press along an axis. */
#ifndef BE_MUJOCO_SAWYER_BUTTON_H
#define BE_MUJOCO_SAWYER_BUTTON_H

#include "engines/mujoco/metaworld/sawyer.h"

enum { BUTTON = SAWYER_READS, BUTTON_QUAT, BUTTON_HOLE, BUTTON_TOP, BUTTON_SLIDE, BUTTON_SPEED };
#define BUTTON_READS                                                                                                   \
    {SAWYER_SHARED_READS,                                                                                              \
     [BUTTON] = {"xpos", "body", "button"},                                                                            \
     [BUTTON_QUAT] = {"xquat", "body", "button"},                                                                      \
     [BUTTON_HOLE] = {"site_xpos", "site", "hole"},                                                                    \
     [BUTTON_TOP] = {"site_xpos", "site", "buttonStart"},                                                              \
     [BUTTON_SLIDE] = {"qpos", "joint", "btnbox_joint"},                                                               \
     [BUTTON_SPEED] = {"qvel", "joint", "btnbox_joint"},                                                               \
     {0}}

/* Begins an episode. loose: 1: the button is where the hand's way to its start has left it; else it is put back. */
static inline int button_begin(be_batch *b, int64_t lane, const double *goal, int loose, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    if (!loose) be_mujoco_read_of(b, lane, BUTTON_SLIDE)[0] = be_mujoco_read_of(b, lane, BUTTON_SPEED)[0] = 0;
    const int status = be_mujoco_evaluate(b, lane, NULL, error);
    if (status != BE_OK) return status;
    sawyer_put(b, lane, SAWYER_TARGET, be_mujoco_read_of(b, lane, BUTTON_HOLE));
    sawyer_put(b, lane, SAWYER_MARK, be_mujoco_read_of(b, lane, BUTTON_TOP));
    return BE_OK;
}

static inline void button_object(const be_batch *b, int64_t lane, double y, double z, double *row) {
    sawyer_add(be_mujoco_read_of(b, lane, BUTTON), 0.0, y, z, row);
    (void)be_append(row + 3, be_mujoco_read_of(b, lane, BUTTON_QUAT), 4);
}

/* All of a verdict but the reward. axis: along which it is pressed. done: how near it is then to the hole. near: how
 * near the tip is to come. */
static inline void button_judge(const be_batch *b, int64_t lane, const double *seen, int axis, double done, double near,
                                sawyer_verdict *verdict) {
    const double *button = seen + 4, target = SAWYER_FIELD(b, SAWYER_TARGET, lane)[axis];
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double away = sawyer_distance(b, button, tip), left = fabs(target - button[axis]);
    const double way = fabs(target - SAWYER_FIELD(b, SAWYER_MARK, lane)[axis]);
    *verdict = (sawyer_verdict){
        .success = left <= done,
        .near = away,
        .grasped = seen[3] > 0,
        .grasp = sawyer_near(away, near, sawyer_distance(b, button, SAWYER_FIELD(b, SAWYER_TIP, lane))),
        .in_place = sawyer_near(left, 0.005, way),
        .to_target = left,
    };
}

/* Adds the reward, and whether the tip is near, of which the verdict says so far how far it is away. */
static inline void button_reward(double reward, sawyer_verdict *verdict) {
    verdict->near = verdict->near <= 0.05;
    verdict->reward = reward;
}

#endif
