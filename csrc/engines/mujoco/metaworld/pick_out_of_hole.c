/* Meta-World's pick-out-of-hole: the hand is to lift a puck out of a hole. */
#include "engines/mujoco/metaworld/caged.h"

static const be_read reads[] = {CAGED_SHARED_READS("obj"), {0}};

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_put(b, lane, SAWYER_TARGET, goal + 3);
    return sawyer_put_object(b, lane, goal, error);
}

/* How well the tip stays above a funnel around where the puck was, so that it does not run into the edge. */
static double clearance(const be_batch *b, const double *tip, const double *began) {
    const double way[] = {tip[0] - began[0], tip[1] - began[1]}, near = 0.03;
    const double radius = be_norm(way, 2, be_mujoco_of(b)->fused_dot);
    const double floor = radius <= near ? 0.0 : 0.015 * be_numpy_log(radius - near) + 0.15;
    return tip[2] >= floor ? 1.0 : sawyer_near(floor - tip[2], 0.01, 0.02);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *puck = seen + 4;
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double left = sawyer_distance(b, puck, target), away = sawyer_distance(b, puck, tip);
    const double in_place = sawyer_near(left, 0.02, sawyer_distance(b, began, target));
    const sawyer_number grasp =
        caging_reward(caging_hold(b, lane, puck, caging_closed(effort, 0.1f), 0.015, 0.02, 0.03));
    const int held = away < 0.04 && puck[2] - 0.02 > began[2] && !(seen[3] < 0.33);
    sawyer_number reward = sawyer_both(grasp, sawyer_float(in_place));
    if (held)
        reward = sawyer_plus(reward, sawyer_float(1.0 + 5.0 * sawyer_both_floats(in_place, clearance(b, tip, began))));
    if (left < 0.05) reward = sawyer_float(10.0);
    *verdict = (sawyer_verdict){left <= 0.07, away <= 0.03, held, grasp.value, in_place, left, reward.value};
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 .low = {-0.5, 0.40, -0.05},
                                 .high = {0.5, 1, 0.5},
                                 .begin = begin,
                                 .object = caged_object,
                                 .judge = judge};
SAWYER_TYPE(pick_out_of_hole, "PickOutOfHole", "pick-out-of-hole");
