/* The Shadow hand of gymnasium-robotics: what all of its tasks do with it. */
#ifndef BE_MUJOCO_HAND_H
#define BE_MUJOCO_HAND_H

#include "engines/mujoco/robotics/goals.h"

/* The params that all of them have. */
enum { HAND_REWARD = MJ_PARAMS, HAND_DISTANCE, HAND_PARAMS };
enum { HAND_SPARSE, HAND_DENSE };
static const char *const hand_rewards[] = {"sparse", "dense", NULL};
#define HAND_THRESHOLD(name, value, doc) {name, BE_PARAM_FLOAT, value, 0, 1e300, NULL, doc, 1}
#define HAND_SHARED_PARAMS(reward_doc, distance)                                                                       \
    MJ_SHARED_PARAMS(20),                                                                                              \
        [HAND_REWARD] = {"reward_type",                                                                                \
                         BE_PARAM_CHOICE,                                                                              \
                         HAND_SPARSE,                                                                                  \
                         0,                                                                                            \
                         0,                                                                                            \
                         hand_rewards,                                                                                 \
                         "'sparse': 0 at the goal, and else -1; 'dense': " reward_doc},                                \
        [HAND_DISTANCE] = HAND_THRESHOLD("distance_threshold", distance, "how close to the goal is there, m")

enum { HAND_UNSTABLE = MJ_PORTS, HAND_GOAL, HAND_SUCCESS = HAND_GOAL + GOAL_PORTS };
static const be_port hand_ports[] = {
    [HAND_UNSTABLE] = MJ_UNSTABLE_INFO,
    GOAL_SHARED_PORTS(HAND_GOAL),
    [HAND_SUCCESS] = MJ_INFO_STEP_F32("is_success", "1 at the goal, and else 0"),
    {0},
};

/* What all of them read: the robot's joints. */
enum { HAND_ANGLES, HAND_SPEEDS, HAND_READS };
#define HAND_SHARED_READS [HAND_ANGLES] = {"qpos", "joint", "robot.*"}, [HAND_SPEEDS] = {"qvel", "joint", "robot.*"}

/* Sets the spaces, for observations of `others` numbers besides the joints' and the `goal` numbers of what has been
 * achieved. */
static inline int hand_prepare(be_setup *setup, int64_t others, int64_t goal, be_error *error) {
    const be_mujoco_view *view = setup->engine;
    const be_mujoco_read *joints = &view->reads[HAND_ANGLES];
    if (joints->count * joints->size != view->reads[HAND_SPEEDS].count || view->num_ctrl < 1)
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "the XML's model needs actuators, and joints whose names begin with 'robot', all of which are "
                       "hinges or slides");
    const int status =
        be_mujoco_spaces_between(setup, 2 * joints->count + others + goal, joints->count, joints->count, -1, 1, error);
    if (status == BE_OK) goal_spaces(setup, HAND_GOAL, goal);
    return status;
}

/* Where the joints are to be for the action in one actuator: -1 and 1 are the bounds of its control. */
static inline double hand_target(const be_mujoco_view *view, int64_t actuator, float action) {
    const double low = view->control_low[actuator], high = view->control_high[actuator];
    const double target = (high + low) / 2 + (double)action * ((high - low) / 2);
    return be_clip_one(target, low, high);
}
static inline void hand_control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    const be_mujoco_view *view = be_mujoco_of(b);
    (void)lane;
    for (int64_t j = 0; j < view->num_ctrl; j++) controls[j] = hand_target(view, j, action[j]);
}

/* Appends where the joints are, then how fast they move. */
static inline double *hand_append_joints(const be_batch *b, int64_t lane, double *row) {
    for (int index = HAND_ANGLES; index <= HAND_SPEEDS; index++) {
        for (int64_t k = 0; k < be_mujoco_count_of(b, index); k++) *row++ = *be_mujoco_read_at(b, lane, index, k);
    }
    return row;
}

#endif
