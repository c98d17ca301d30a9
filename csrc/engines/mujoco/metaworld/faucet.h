/* Meta-World's faucet, whose handle the hand is to turn to a side. */
#ifndef BE_MUJOCO_SAWYER_FAUCET_H
#define BE_MUJOCO_SAWYER_FAUCET_H

#include "engines/mujoco/metaworld/sawyer.h"

enum { FAUCET_HANDLE = SAWYER_READS, FAUCET_QUAT };
#define FAUCET_READS(handle)                                                                                           \
    {SAWYER_SHARED_READS,                                                                                              \
     [FAUCET_HANDLE] = {"site_xpos", "site", handle},                                                                  \
     [FAUCET_QUAT] = {"xquat", "body", "faucetBase"},                                                                  \
     {0}}
#define FAUCET_NEAR 0.07
#define FAUCET_LENGTH 0.175 /* of the handle */

/* side: where the handle is to be, along x. */
static inline void faucet_begin(const be_batch *b, int64_t lane, const double *goal, double side) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_add(goal, side, 0.0, 0.125, SAWYER_FIELD(b, SAWYER_TARGET, lane));
}

static inline void faucet_object(const be_batch *b, int64_t lane, double *row) {
    sawyer_add(be_mujoco_read_of(b, lane, FAUCET_HANDLE), 0.0, 0.0, -0.01, row);
    (void)be_append(row + 3, be_mujoco_read_of(b, lane, FAUCET_QUAT), 4);
}

static inline void faucet_judge(const be_batch *b, int64_t lane, const double *handle, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double radius = 0.01;
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double left = sawyer_distance(b, handle, target);
    const double in_place = sawyer_near(left, FAUCET_NEAR, fabs(sawyer_distance(b, began, target) - FAUCET_NEAR));
    const double away = sawyer_distance(b, handle, tip);
    const double margin = fabs(sawyer_distance(b, began, SAWYER_FIELD(b, SAWYER_TIP, lane)) - radius);
    const double reach = be_gaussian(away, 0, radius, margin, be_constant_of(b, SAWYER_SCALE, 0));
    const int done = left <= FAUCET_NEAR;
    *verdict =
        (sawyer_verdict){done, away <= 0.01, 1, reach, in_place, left, done ? 10 : (2 * reach + 3 * in_place) * 2};
}

#endif
