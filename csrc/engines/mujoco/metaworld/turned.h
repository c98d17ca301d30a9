/* How Meta-World judges the way in which an object is turned. */
#ifndef BE_MUJOCO_SAWYER_TURNED_H
#define BE_MUJOCO_SAWYER_TURNED_H

#include "engines/mujoco/metaworld/sawyer.h"

static const double turned_aside[] = {0.707, 0, 0, 0.707};

/* 1 where the observed quaternion is `best`, and 0 where it is `most` or more away from it. */
static inline double turned_like(const be_batch *b, const double *seen, const double *best, double most) {
    double way[4];
    for (int k = 0; k < 4; k++) way[k] = seen[7 + k] - best[k];
    const double well = 1.0 - be_norm(way, 4, be_mujoco_of(b)->fused_dot) / most;
    return well < 0.0 ? 0.0 : well;
}

#endif
