/* Meta-World's push-back: the hand is to pull a puck towards the arm. */
#include "engines/mujoco/metaworld/between.h"

static const be_read reads[] = PUCK_READS;
#define NEAR 0.05

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return puck_begin_at_rest(b, lane, goal, be_mujoco_read_of(b, lane, PUCK_GEOM)[2], error);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *puck = seen + 4;
    double tip[3];
    (void)effort;
    sawyer_tip(b, lane, tip);
    const double away = sawyer_distance(b, puck, tip), left = sawyer_distance(b, puck, target);
    const double way = sawyer_distance(b, began, target), in_place = sawyer_near(left, NEAR, way);
    const double grasp = between_judge(b, lane, puck, 0.007, 0.003, 0.01);
    double reward = sawyer_both_floats(grasp, in_place);
    if (away < 0.01 && 0 < seen[3] && seen[3] < 0.55 && way - left > 0.01) reward += 1.0 + 5.0 * in_place;
    if (left < NEAR) reward = 10.0;
    *verdict = (sawyer_verdict){left <= 0.07, away <= 0.03, seen[3] > 0 && puck[2] - 0.02 > began[2], grasp, in_place,
                                left,         reward};
}

static const sawyer_task task = {.hand = {0, 0.6f, 0.2f},
                                 SAWYER_USUAL_BOUNDS,
                                 .squeezed = PUCK_GEOM,
                                 .begin = begin,
                                 .object = puck_geom_object,
                                 .judge = judge};
SAWYER_TYPE(push_back, "PushBack", "push-back");
