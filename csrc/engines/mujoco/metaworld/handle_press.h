/* Meta-World's handles which the hand is to press down. */
#ifndef BE_MUJOCO_SAWYER_HANDLE_PRESS_H
#define BE_MUJOCO_SAWYER_HANDLE_PRESS_H

#include "engines/mujoco/metaworld/handle.h"

static const be_read reads[] = HANDLE_READS("handleStart", "goalPress");
#define HANDLE_NEAR 0.02

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return handle_begin(b, lane, goal, -0.001, error);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *handle = be_mujoco_read_of(b, lane, HANDLE), *began = SAWYER_FIELD(b, SAWYER_MARK, lane);
    const double target = SAWYER_FIELD(b, SAWYER_TARGET, lane)[2], radius = 0.02;
    double tip[3];
    (void)seen, (void)effort;
    sawyer_tip(b, lane, tip);
    const double left = fabs(handle[2] - target);
    const double in_place = sawyer_near(left, HANDLE_NEAR, fabs(fabs(began[2] - target) - HANDLE_NEAR));
    const double away = sawyer_distance(b, handle, tip);
    const double reach =
        sawyer_near(away, radius, fabs(sawyer_distance(b, began, SAWYER_FIELD(b, SAWYER_TIP, lane)) - radius));
    const int done = left <= HANDLE_NEAR;
    const double reward = done ? 1.0 : sawyer_both_floats(reach, in_place);
    *verdict = (sawyer_verdict){done, away <= 0.05, 1, reach, in_place, left, reward * 10};
}

static const sawyer_task task = {
    .hand = {0, 0.6, 0.2}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = handle_object, .judge = judge};

#endif
