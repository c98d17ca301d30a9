/* Meta-World's assembly: the hand is to put a nut onto a peg. */
#include "engines/mujoco/metaworld/nut.h"

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_put(b, lane, SAWYER_TARGET, goal + 3);
    return sawyer_put_object(b, lane, goal, error);
}

/* How near the ring is to the peg. On its way there it is to stay above a funnel. done: whether it is around the peg.
 */
static double placement(const be_batch *b, const double *ring, const double *target, int *done) {
    static const double scale[] = {1.0, 1.0, 3.0};
    const double way[] = {target[0] - ring[0], target[1] - ring[1]};
    const double radius = be_norm(way, 2, be_mujoco_of(b)->fused_dot);
    *done = radius < 0.02 && target[2] - ring[2] > 0.0;
    const double near = *done ? 0.02 : 0.01;
    const double height = radius > near ? 0.02 * be_numpy_log(radius - near) + 0.2 : 0.0;
    const double best[] = {target[0], target[1], height};
    const int lifted = ring[2] > 0.02 || radius < near;
    return 0.1 * lifted + 0.9 * sawyer_near(sawyer_scaled_distance(b, best, ring, scale), 0.02, 0.4);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    double handle[3];
    int done;
    tool_handle(seen, 0.02 / 2.0, handle);
    const sawyer_number grasp = caging_judge_reach(b, lane, handle, tool_hold(b, lane, handle, effort).held, 0.01);
    const double turned = nut_turned(b, seen);
    const double in_place =
        placement(b, be_mujoco_read_of(b, lane, NUT_RING), SAWYER_FIELD(b, SAWYER_TARGET, lane), &done);
    tool_tell(grasp, in_place, turned, done, done ? 10.0 : tool_reward(grasp, in_place, turned).value, verdict);
}

static const sawyer_task task = {.hand = {0, 0.6f, 0.2f},
                                 SAWYER_USUAL_BOUNDS,
                                 .placed = 1,
                                 .place_at = 3,
                                 .place_by = {0, 0, -0.05},
                                 .begin = begin,
                                 .object = nut_object,
                                 .judge = judge};
SAWYER_TYPE(assembly, "Assembly", "assembly");
