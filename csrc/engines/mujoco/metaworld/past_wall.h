/* Meta-World's pucks that the hand is to bring to a place behind a wall, past a place beside or above it. */
#ifndef BE_MUJOCO_SAWYER_PAST_WALL_H
#define BE_MUJOCO_SAWYER_PAST_WALL_H

#include "engines/mujoco/metaworld/caging.h"

static const be_read reads[] = PUCK_READS;
#define PAST_WALL_NEAR 0.05

/* How well the puck is on its way to the wall, and to the goal. */
typedef struct past_wall_ways {
    double there, beyond;
} past_wall_ways;

static inline past_wall_ways past_wall_measure(const be_batch *b, int64_t lane, const double *puck, const double *past,
                                               const double *scale) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    return (past_wall_ways){
        sawyer_near(sawyer_scaled_distance(b, puck, past, scale), PAST_WALL_NEAR,
                    sawyer_scaled_distance(b, began, past, scale)),
        sawyer_near(sawyer_distance(b, puck, target), PAST_WALL_NEAR, sawyer_distance(b, began, target))};
}

/* The reward of a puck that is held, of which `reward` is a part. */
static inline sawyer_number past_wall_reward(sawyer_number reward, past_wall_ways ways, const double *puck) {
    const sawyer_number held = sawyer_plus(reward, sawyer_float(1.0));
    if (!(puck[1] > 0.75)) return sawyer_plus(held, sawyer_float(4.0 * ways.there));
    return sawyer_plus(sawyer_plus(held, sawyer_float(4.0)), sawyer_float(3.0 * ways.beyond));
}

static inline void past_wall_tell(const be_batch *b, int64_t lane, const double *seen, double away, sawyer_number grasp,
                                  past_wall_ways ways, sawyer_number reward, sawyer_verdict *verdict) {
    const double *puck = seen + 4, left = sawyer_distance(b, puck, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    const int lifted = puck[2] - 0.02 > SAWYER_FIELD(b, SAWYER_OBJECT, lane)[2];
    *verdict = (sawyer_verdict){left <= 0.07,
                                away <= 0.03,
                                seen[3] > 0 && lifted,
                                grasp.value,
                                ways.beyond,
                                left,
                                left < PAST_WALL_NEAR ? 10.0 : reward.value};
}

#endif
