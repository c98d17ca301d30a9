/* Meta-World's lock of a door, which the hand is to turn. */
#ifndef BE_MUJOCO_SAWYER_LOCK_H
#define BE_MUJOCO_SAWYER_LOCK_H

#include "engines/mujoco/metaworld/sawyer.h"

enum { LOCK = SAWYER_READS, LOCK_DOOR, LOCK_LINK, LOCK_LEFT_PAD };
#define LOCK_READS(place)                                                                                              \
    {SAWYER_SHARED_READS,                                                                                              \
     [LOCK] = {"site_xpos", "site", place},                                                                            \
     [LOCK_DOOR] = {"xquat", "body", "door_link"},                                                                     \
     [LOCK_LINK] = {"xpos", "body", "lock_link"},                                                                      \
     [LOCK_LEFT_PAD] = {"xpos", "body", "leftpad"},                                                                    \
     {0}}
static const double lock_scale[] = {0.25, 1.0, 0.5};

static inline void lock_object(const be_batch *b, int64_t lane, double *row) {
    (void)be_append(be_append(row, be_mujoco_read_of(b, lane, LOCK), 3), be_mujoco_read_of(b, lane, LOCK_DOOR), 4);
}

/* How far the lock is turned, of how far it still is from its goal along an axis. */
static inline double lock_turned(double left) { return sawyer_near(left, 0.005, 0.1); }

/* away: how far the hand is from the lock; near: how well it is placed. */
static inline void lock_verdict(const double *seen, double away, double near, double left, double reward,
                                sawyer_verdict *verdict) {
    *verdict = (sawyer_verdict){left <= 0.02, away <= 0.05, seen[3] > 0, near, lock_turned(left), left, reward};
}

#endif
