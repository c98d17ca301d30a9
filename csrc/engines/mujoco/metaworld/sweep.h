/* What Meta-World's two tasks have in common in which the hand is to sweep a puck over the table. */
#ifndef BE_MUJOCO_SAWYER_SWEEP_H
#define BE_MUJOCO_SAWYER_SWEEP_H

#include "engines/mujoco/metaworld/between.h"

#define SWEEP_NEAR 0.05

/* target: where the puck is to be. grip, over: of between_judge. */
static inline void sweep_judge(const be_batch *b, int64_t lane, const double *seen, const double *target, double grip,
                               double over, sawyer_verdict *verdict) {
    const double *puck = seen + 4;
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double left = sawyer_distance(b, puck, target);
    const double in_place =
        sawyer_near(left, SWEEP_NEAR, sawyer_distance(b, SAWYER_FIELD(b, SAWYER_OBJECT, lane), target));
    const double grasp = between_judge(b, lane, puck, 0.02, grip, over);
    const double reward = left < SWEEP_NEAR ? 10.0 : 2 * grasp + 6 * sawyer_both_floats(grasp, in_place);
    *verdict = (sawyer_verdict){
        left <= SWEEP_NEAR, sawyer_distance(b, puck, tip) <= 0.03, seen[3] > 0, grasp, in_place, left, reward};
}

#endif
