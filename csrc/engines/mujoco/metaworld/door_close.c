/* Meta-World's door-close: the hand is to push a door shut. */
#include "engines/mujoco/metaworld/door.h"

#define NEAR 0.05
static const double hand[] = {-0.5, 0.6f, 0.2f};

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return door_begin(b, lane, goal, 0.2, -0.2, -1.5708, error);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *door = seen + 4;
    const double scale = be_constant_of(b, SAWYER_SCALE, 0);
    double tip[3];
    (void)effort;
    sawyer_tip(b, lane, tip);
    const double left = sawyer_distance(b, door, target);
    const double margin = sawyer_distance(b, SAWYER_FIELD(b, SAWYER_OBJECT, lane), target);
    const double in_place = be_gaussian(left, 0, NEAR, margin, scale);
    const double hand_in_place =
        be_gaussian(sawyer_distance(b, tip, target), 0, 0.25 * NEAR, sawyer_distance(b, hand, door) + 0.1, scale);
    const double reward = left < NEAR ? 10 : 3 * hand_in_place + 6 * in_place;
    *verdict = (sawyer_verdict){left <= 0.08, 0, 1, 1, hand_in_place, left, reward};
}

static const sawyer_task task = {.hand = {-0.5, 0.6f, 0.2f},
                                 SAWYER_USUAL_BOUNDS,
                                 .placed = 1,
                                 .begin = begin,
                                 .object = door_object,
                                 .judge = judge};
SAWYER_TYPE(door_close, "DoorClose", "door-close");
