/* Meta-World's windows, which the hand is to slide open or closed. */
#ifndef BE_MUJOCO_SAWYER_WINDOW_H
#define BE_MUJOCO_SAWYER_WINDOW_H

#include "engines/mujoco/metaworld/sawyer.h"

enum { WINDOW_HANDLE = SAWYER_READS, WINDOW_SLIDE };
#define WINDOW_READS(handle)                                                                                           \
    {SAWYER_SHARED_READS,                                                                                              \
     [WINDOW_HANDLE] = {"site_xpos", "site", handle},                                                                  \
     [WINDOW_SLIDE] = {"qpos", "joint", "window_slide"},                                                               \
     {0}}
#define WINDOW_NEAR 0.05

/* Begins an episode whose window is open so far. What is observed at first is of before it was put there. */
static inline void window_put(be_batch *b, int64_t lane, double open) {
    const int64_t joint = be_mujoco_of(b)->reads[WINDOW_SLIDE].first[0];
    be_mujoco_next_positions_of(b, lane)[joint] = be_mujoco_read_of(b, lane, WINDOW_SLIDE)[0] = open;
}

static inline void window_object(const be_batch *b, int64_t lane, double *row) {
    memset(be_append(row, be_mujoco_read_of(b, lane, WINDOW_HANDLE), 3), 0, 4 * sizeof *row);
}

/* start: where the handle was at the start, along x. gaussian: 1: nearness to the handle is a gaussian. */
static inline void window_judge(const be_batch *b, int64_t lane, double start, int gaussian, sawyer_verdict *verdict) {
    const double *handle = be_mujoco_read_of(b, lane, WINDOW_HANDLE);
    const double target = SAWYER_FIELD(b, SAWYER_TARGET, lane)[0], radius = 0.02;
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double left = fabs(handle[0] - target);
    const double in_place = sawyer_near(left, WINDOW_NEAR, fabs(fabs(start - target) - WINDOW_NEAR));
    const double away = sawyer_distance(b, handle, tip);
    const double began = sawyer_distance(b, SAWYER_FIELD(b, SAWYER_MARK, lane), SAWYER_FIELD(b, SAWYER_TIP, lane));
    const double margin = fabs(began - radius);
    const double reach = gaussian ? be_gaussian(away, 0, radius, margin, be_constant_of(b, SAWYER_SCALE, 0))
                                  : sawyer_near(away, radius, margin);
    *verdict = (sawyer_verdict){
        left <= WINDOW_NEAR, away <= 0.05, 1, reach, in_place, left, 10 * sawyer_both_floats(reach, in_place)};
}

#endif
