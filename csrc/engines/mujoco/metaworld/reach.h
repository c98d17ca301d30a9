/* Places that the hand of Meta-World's arm is to get to. */
#ifndef BE_MUJOCO_SAWYER_REACH_H
#define BE_MUJOCO_SAWYER_REACH_H

#include "engines/mujoco/metaworld/sawyer.h"

enum { REACH_OBJECT = SAWYER_READS, REACH_FRAME };
static const be_read reads[] = {SAWYER_SHARED_READS,
                                [REACH_OBJECT] = {"xpos", "body", "obj"},
                                [REACH_FRAME] = {"geom_xmat", "geom", "objGeom"},
                                {0}};
#define REACH_HAND {0, 0.6, 0.2}

static int reach_begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_put(b, lane, SAWYER_TARGET, goal + 3);
    return sawyer_put_object(b, lane, goal, error);
}

static void reach_object(const be_batch *b, int64_t lane, double *row) {
    sawyer_quat(be_mujoco_read_of(b, lane, REACH_FRAME), be_append(row, be_mujoco_read_of(b, lane, REACH_OBJECT), 3));
}

static inline void reach_judge(const be_batch *b, int64_t lane, sawyer_verdict *verdict) {
    const double hand[] = REACH_HAND, *target = SAWYER_FIELD(b, SAWYER_TARGET, lane);
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double distance = sawyer_distance(b, tip, target);
    const double in_place = sawyer_near(distance, 0.05, sawyer_distance(b, hand, target));
    *verdict = (sawyer_verdict){distance <= 0.05, distance, 1, distance, in_place, distance, 10 * in_place};
}

#endif
