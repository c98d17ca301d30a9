/* Meta-World's push-wall: the hand is to push a puck around a wall, to a place behind it. */
#include "engines/mujoco/metaworld/past_wall.h"

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return puck_begin_at_rest(b, lane, goal, be_mujoco_read_of(b, lane, PUCK_GEOM)[2], error);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    static const double scale[] = {3.0, 1.0, 1.0};
    const double *puck = seen + 4, beside[] = {-0.05, 0.77, puck[2]};
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double away = sawyer_distance(b, puck, tip);
    const past_wall_ways ways = past_wall_measure(b, lane, puck, beside, scale);
    const sawyer_number grasp = caging_judge(b, lane, puck, effort, 0.015, 0.05, 0.005);
    sawyer_number reward = sawyer_times(sawyer_float(2), grasp);
    if (away < 0.02 && seen[3] > 0) reward = past_wall_reward(reward, ways, puck);
    past_wall_tell(b, lane, seen, away, grasp, ways, reward, verdict);
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .squeezed = PUCK_GEOM,
                                 .begin = begin,
                                 .object = puck_geom_object,
                                 .judge = judge};
SAWYER_TYPE(push_wall, "PushWall", "push-wall");
