/* Meta-World's door-unlock: the hand is to turn a lock sideways. */
#include "engines/mujoco/metaworld/lock.h"

static const be_read reads[] = LOCK_READS("lockStartUnlock");

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    (void)goal;
    sawyer_turn_object(b, lane, 1.5708);
    const int status = be_mujoco_evaluate(b, lane, NULL, error);
    if (status != BE_OK) return status;
    const double *link = be_mujoco_read_of(b, lane, LOCK_LINK);
    sawyer_put(b, lane, SAWYER_OBJECT, link);
    sawyer_add(link, 0.1, -0.04, 0.0, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    return BE_OK;
}

/* The margin is of where the lock's middle is now, which the package means to be where it was at the start. */
static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *lock = seen + 4;
    double shoulder[3], began[3];
    (void)effort;
    sawyer_shoulder(seen, shoulder);
    sawyer_shoulder(SAWYER_FIELD(b, SAWYER_TIP, lane), began);
    const double away = sawyer_scaled_distance(b, shoulder, lock, lock_scale);
    const double margin = sawyer_scaled_distance(b, began, be_mujoco_read_of(b, lane, LOCK_LINK), lock_scale);
    const double left = fabs(SAWYER_FIELD(b, SAWYER_TARGET, lane)[0] - lock[0]);
    const double near = sawyer_near(away, 0.02, margin);
    lock_verdict(seen, away, near, left, 2 * near + 8 * lock_turned(left), verdict);
}

static const sawyer_task task = {
    .hand = {0, 0.6f, 0.2f}, SAWYER_DEEP_BOUNDS, .placed = 1, .begin = begin, .object = lock_object, .judge = judge};
SAWYER_TYPE(door_unlock, "DoorUnlock", "door-unlock");
