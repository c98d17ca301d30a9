/* Meta-World's reach-wall: the hand is to get to a place behind a wall. */
#include "engines/mujoco/metaworld/reach.h"

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    (void)seen, (void)effort;
    reach_judge(b, lane, verdict);
    verdict->near = verdict->grasped = verdict->grasp = 0;
}

static const sawyer_task task = {
    .hand = REACH_HAND, SAWYER_USUAL_BOUNDS, .begin = reach_begin, .object = reach_object, .judge = judge};
SAWYER_TYPE(reach_wall, "ReachWall", "reach-wall");
