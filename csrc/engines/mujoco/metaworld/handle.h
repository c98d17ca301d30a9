/* Meta-World's handles, which the hand is to press down. */
#ifndef BE_MUJOCO_SAWYER_HANDLE_H
#define BE_MUJOCO_SAWYER_HANDLE_H

#include "engines/mujoco/metaworld/sawyer.h"

enum { HANDLE = SAWYER_READS, HANDLE_DOWN };
static const be_read reads[] = {SAWYER_SHARED_READS,
                                [HANDLE] = {"site_xpos", "site", "handleStart"},
                                [HANDLE_DOWN] = {"site_xpos", "site", "goalPress"},
                                {0}};
#define HANDLE_NEAR 0.02
enum { HANDLE_JOINT = 9 }; /* after the arm's nine; it has no name */

static int handle_begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    arrays[MJ_QPOS][HANDLE_JOINT] = -0.001;
    arrays[MJ_QVEL][HANDLE_JOINT] = 0;
    const int status = be_mujoco_evaluate(b, lane, NULL, error);
    if (status != BE_OK) return status;
    sawyer_put(b, lane, SAWYER_TARGET, be_mujoco_read_of(b, lane, HANDLE_DOWN));
    sawyer_put(b, lane, SAWYER_MARK, be_mujoco_read_of(b, lane, HANDLE));
    return BE_OK;
}

static void handle_object(const be_batch *b, int64_t lane, double *row) {
    memset(be_append(row, be_mujoco_read_of(b, lane, HANDLE), 3), 0, 4 * sizeof *row);
}

static void handle_judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
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

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .placed = 1,
                                 .begin = handle_begin,
                                 .object = handle_object,
                                 .judge = handle_judge};

#endif
