/* Meta-World's disassemble: the hand is to lift a nut off a peg. */
#include "engines/mujoco/metaworld/nut.h"

/* The mark is where the model shows the top of the peg. */
static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_add(goal, 0, 0, 0.15, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    sawyer_add(goal, 0, 0, 0.08, SAWYER_FIELD(b, SAWYER_MARK, lane));
    const int status = be_mujoco_evaluate(b, lane, NULL, error); /* with some versions, this changes the warm start */
    return status == BE_OK ? sawyer_put_object(b, lane, goal, error) : status;
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *ring = be_mujoco_read_of(b, lane, NUT_RING);
    double handle[3], above[3];
    tool_handle(seen, 0.02 / 2.0, handle);
    const sawyer_number grasp = caging_reward(tool_hold(b, lane, handle, effort));
    const double turned = nut_turned(b, seen);
    sawyer_add(target, 0.0, 0.0, 0.1, above);
    const double in_place = 0.1 * (ring[2] > 0.02) + 0.9 * sawyer_near(sawyer_distance(b, above, ring), 0.02, 0.2);
    const int done = seen[6] > target[2];
    tool_tell(grasp, in_place, turned, done, done ? 10.0 : tool_reward(grasp, in_place, turned).value, verdict);
}

static const sawyer_task task = {.hand = {0, 0.4f, 0.2f},
                                 SAWYER_USUAL_BOUNDS,
                                 .placed = 1,
                                 .place_by = {0, 0, 0.03},
                                 .begin = begin,
                                 .object = nut_object,
                                 .judge = judge};
SAWYER_TYPE(disassemble, "Disassemble", "disassemble");
