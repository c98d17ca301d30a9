/* Meta-World's handles which the hand is to pull up. */
#ifndef BE_MUJOCO_SAWYER_HANDLE_PULL_H
#define BE_MUJOCO_SAWYER_HANDLE_PULL_H

#include "engines/mujoco/metaworld/handle.h"

#define HANDLE_NEAR 0.05

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return handle_begin(b, lane, goal, -0.1, error);
}

/* left, way: how far the handle is from its goal, and was at first; done: how near it is to be. height: what counts as
 * how high it is; low: as how high it was at first. */
static inline void handle_judge(const be_batch *b, int64_t lane, const double *seen, double left, double way,
                                double done, double height, double low, sawyer_number grasp, sawyer_verdict *verdict) {
    const double *handle = seen + 4, in_place = sawyer_near(left, HANDLE_NEAR, way);
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double away = sawyer_distance(b, handle, tip);
    sawyer_number reward = sawyer_both(grasp, sawyer_float(in_place));
    if (away < 0.035 && seen[3] > 0 && height - 0.01 > low)
        reward = sawyer_plus(reward, sawyer_float(1.0 + 5.0 * in_place));
    if (left < HANDLE_NEAR) reward = sawyer_float(10.0);
    *verdict = (sawyer_verdict){
        left <= done, away <= 0.05, seen[3] > 0 && handle[2] - 0.03 > low, grasp.value, in_place, left, reward.value};
}

#endif
