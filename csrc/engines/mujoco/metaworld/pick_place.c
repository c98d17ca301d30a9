/* Meta-World's pick-place: the hand is to lift a puck, and to bring it to a place in the air. */
#include "engines/mujoco/metaworld/between.h"

static const be_read reads[] = PUCK_READS;
#define NEAR 0.05

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_put(b, lane, SAWYER_TARGET, goal + 3);
    return sawyer_put_object(b, lane, goal, error);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *puck = seen + 4;
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double away = sawyer_distance(b, puck, tip), left = sawyer_distance(b, puck, target);
    const double in_place = sawyer_near(left, NEAR, sawyer_distance(b, began, target));
    const sawyer_number grasp = caging_reward(caging_grip_of(
        between_pads(b, lane, puck, 0.015, BETWEEN_NEAR), between_over(b, lane, puck, 0.005), sawyer_closed(effort)));
    sawyer_number reward = sawyer_both(grasp, sawyer_float(in_place));
    if (away < 0.02 && seen[3] > 0 && puck[2] - 0.01 > began[2])
        reward = sawyer_plus(reward, sawyer_float(1.0 + 5.0 * in_place));
    if (left < NEAR) reward = sawyer_float(10.0);
    *verdict =
        (sawyer_verdict){left <= 0.07, away <= 0.03, seen[3] > 0 && puck[2] - 0.02 > began[2], grasp.value, in_place,
                         left,         reward.value};
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .squeezed = PUCK_GEOM,
                                 .begin = begin,
                                 .object = puck_object,
                                 .judge = judge};
SAWYER_TYPE(pick_place, "PickPlace", "pick-place");
