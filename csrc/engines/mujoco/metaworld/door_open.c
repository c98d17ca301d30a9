/* Meta-World's door-open: the hand is to pull a door open by its handle. */
#include "engines/mujoco/metaworld/door.h"

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return door_begin(b, lane, goal, -0.3, -0.45, 0, error);
}

/* How well the hand is placed between the handle and the door. On its way there it is to stay above a funnel. */
static double readiness(const be_batch *b, const double *hand, const double *door) {
    const double away[] = {hand[0] - door[0], hand[1] - door[1]}, near = 0.12;
    const double radius = be_norm(away, 2, be_mujoco_of(b)->fused_dot);
    const double floor = radius <= near ? 0.0 : 0.04 * be_numpy_log(radius - near) + 0.4;
    const double above = hand[2] >= floor ? 1.0 : sawyer_near(floor - hand[2], 0.01, floor / 2.0);
    const double way[] = {hand[0] - door[0] - 0.05, hand[1] - door[1] - 0.03, hand[2] - door[2] - -0.01};
    const double in_place = sawyer_near(be_norm(way, 3, be_mujoco_of(b)->fused_dot), near / 2.0, 0.5);
    return sawyer_both_floats(above, in_place);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double angle = be_mujoco_read_of(b, lane, DOOR_HINGE)[0], target = SAWYER_FIELD(b, SAWYER_TARGET, lane)[0];
    const double grab = (double)((effort + 1.0f) / 2.0f);
    double door[3];
    sawyer_add(seen + 4, -0.05, 0, 0, door);
    const double ready = readiness(b, seen, door);
    const double wide = sawyer_near(M_PI / 2.0 + M_PI / 6 - -angle, 0.5, M_PI / 3.0);
    const double opened = 0.2 * (angle < -M_PI / 90.0) + 0.8 * wide;
    const int done = fabs(seen[4] - target) <= 0.08;
    const double reward = done ? 10.0 : 0 + 2.0 * sawyer_both_floats(ready, grab) + 8.0 * opened;
    *verdict = (sawyer_verdict){done, ready, grab >= 0.5, grab, opened, 0, reward};
}

static const sawyer_task task = {
    .hand = {0, 0.6, 0.2}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = door_object, .judge = judge};
SAWYER_TYPE(door_open, "DoorOpen", "door-open");
