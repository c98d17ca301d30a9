/* Meta-World's door-lock: the hand is to turn a lock down. */
#include "engines/mujoco/metaworld/lock.h"

static const be_read reads[] = LOCK_READS("lockStartLock");

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    const double *link = be_mujoco_read_of(b, lane, LOCK_LINK);
    (void)goal, (void)error;
    sawyer_put(b, lane, SAWYER_OBJECT, link);
    sawyer_add(link, 0.0, -0.04, -0.1, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    return BE_OK;
}

/* The margin is how far the pad is from the lock now, which the package means to be how far it was at the start. */
static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *lock = seen + 4;
    (void)effort;
    const double away = sawyer_scaled_distance(b, lock, be_mujoco_read_of(b, lane, LOCK_LEFT_PAD), lock_scale);
    const double left = fabs(SAWYER_FIELD(b, SAWYER_TARGET, lane)[2] - lock[2]);
    const double near = sawyer_near(away, 0.01, away);
    lock_verdict(seen, away, near, left, 2 * sawyer_both_floats(seen[3], near) + 8 * lock_turned(left), verdict);
}

static const sawyer_task task = {.hand = {0, 0.6f, 0.2f},
                                 SAWYER_DEEP_BOUNDS,
                                 .placed = 1,
                                 .waits = 1,
                                 .begin = begin,
                                 .object = lock_object,
                                 .judge = judge};
SAWYER_TYPE(door_lock, "DoorLock", "door-lock");
