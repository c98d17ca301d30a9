/* Meta-World's sweep-into: the hand is to sweep a puck into a hole in the table. */
#include "engines/mujoco/metaworld/sweep.h"

static const be_read reads[] = PUCK_READS;

/* The puck is as high as it has been so far. */
static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    const double place[] = {goal[0], goal[1], be_mujoco_read_of(b, lane, PUCK)[2]}, target[] = {0.0, 0.84, 0.02};
    sawyer_put(b, lane, SAWYER_OBJECT, place);
    sawyer_put(b, lane, SAWYER_TARGET, target);
    return sawyer_put_object(b, lane, place, error);
}

/* How deep it is does not count. */
static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), flat[] = {target[0], target[1], seen[6]};
    (void)effort;
    sweep_judge(b, lane, seen, flat, 0.005, 0.01, verdict);
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .squeezed = PUCK_GEOM,
                                 .begin = begin,
                                 .object = puck_object,
                                 .judge = judge};
SAWYER_TYPE(sweep_into, "SweepInto", "sweep-into");
