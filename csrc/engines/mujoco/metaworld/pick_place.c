/* Meta-World's pick-place: the hand is to lift a puck, and to bring it to a place in the air. */
#include "engines/mujoco/metaworld/caging.h"

static const be_read reads[] = PUCK_READS;
#define NEAR 0.05

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_put(b, lane, SAWYER_TARGET, goal + 3);
    return sawyer_put_object(b, lane, goal, error);
}

/* How well a pad is beside the puck, on its own side: `away` from it. */
static double beside(double away, double puck, double pad) {
    return be_long_tail(away, 0.015, 0.05, fabs(fabs(puck - pad) - 0.05));
}

static sawyer_number grasp_of(const be_batch *b, int64_t lane, const double *puck, const double *tip, float effort) {
    const double left = be_mujoco_read_of(b, lane, CAGING_LEFT_PAD)[1];
    const double right = be_mujoco_read_of(b, lane, CAGING_RIGHT_PAD)[1];
    const double *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane), *tip_began = SAWYER_FIELD(b, SAWYER_TIP, lane);
    const double y = sawyer_both_floats(beside(left - puck[1], puck[1], left), beside(puck[1] - right, puck[1], right));
    /* The package's ways have three numbers, of which y is 0. */
    const double over[] = {tip[0] - puck[0], 0, tip[2] - puck[2]};
    const double over_began[] = {began[0] - tip_began[0], 0, began[2] - tip_began[2]};
    const int fused = be_mujoco_of(b)->fused_dot;
    return caging_reward(y, sawyer_near(be_norm(over, 3, fused), 0.005, be_norm(over_began, 3, fused) - 0.005),
                         sawyer_closed(effort));
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *puck = seen + 4;
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double away = sawyer_distance(b, puck, tip), left = sawyer_distance(b, puck, target);
    const double in_place = sawyer_near(left, NEAR, sawyer_distance(b, began, target));
    const sawyer_number grasp = grasp_of(b, lane, puck, tip, effort);
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
