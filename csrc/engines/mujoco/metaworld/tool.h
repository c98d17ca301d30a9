/* Rewards of Meta-World's nuts and hammers, which the hand is to hold by a handle. */
#ifndef BE_MUJOCO_SAWYER_TOOL_H
#define BE_MUJOCO_SAWYER_TOOL_H

#include "engines/mujoco/metaworld/caging.h"
#include "engines/mujoco/metaworld/turned.h"

/* Where the handle is to be held: anywhere along x that is nearer to its middle than `reach`, which is where the hand
 * is. */
static inline void tool_handle(const double *seen, double reach, double *place) {
    (void)be_append(place, seen + 4, 3);
    if (fabs(seen[4] - seen[0]) < reach) place[0] = seen[0];
}

static inline caging_grip tool_hold(const be_batch *b, int64_t lane, const double *place, float effort) {
    return caging_hold(b, lane, place, sawyer_closed(effort), 0.015, 0.02, 0.01);
}

/* turned: how well the tool lies. */
static inline sawyer_number tool_reward(sawyer_number grasp, double in_place, double turned) {
    const sawyer_number placed = sawyer_float(6.0 * in_place);
    return sawyer_times(sawyer_plus(sawyer_times(sawyer_float(2.0), grasp), placed), sawyer_float(turned));
}

static inline void tool_tell(sawyer_number grasp, double in_place, double turned, int done, double reward,
                             sawyer_verdict *verdict) {
    *verdict = (sawyer_verdict){done, turned, grasp.value >= 0.5, grasp.value, in_place, 0, reward};
}

#endif
