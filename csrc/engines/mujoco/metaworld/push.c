/* Meta-World's push: the hand is to push a puck to a place. */
#include "engines/mujoco/metaworld/caging.h"

static const be_read reads[] = PUCK_READS;
#define NEAR 0.05

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return puck_begin_at_rest(b, lane, goal, be_mujoco_read_of(b, lane, PUCK)[2], error);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *puck = seen + 4;
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double away = sawyer_distance(b, puck, tip), left = sawyer_distance(b, puck, target);
    const double in_place = sawyer_near(left, NEAR, sawyer_distance(b, began, target));
    const sawyer_number grasp = caging_judge(b, lane, puck, effort, 0.015, 0.05, 0.005);
    sawyer_number reward = sawyer_times(sawyer_float(2), grasp);
    if (away < 0.02 && seen[3] > 0) {
        const sawyer_number more = sawyer_plus(sawyer_float(1.0), reward);
        reward = sawyer_plus(reward, sawyer_plus(more, sawyer_float(5.0 * in_place)));
    }
    if (left < NEAR) reward = sawyer_float(10.0);
    *verdict =
        (sawyer_verdict){left <= NEAR, away <= 0.03, seen[3] > 0 && puck[2] - 0.02 > began[2], grasp.value, in_place,
                         left,         reward.value};
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .squeezed = PUCK_GEOM,
                                 .begin = begin,
                                 .object = puck_object,
                                 .judge = judge};
SAWYER_TYPE(push, "Push", "push");
