/* Meta-World's sweep: the hand is to sweep a puck off the table, sideways. */
#include "engines/mujoco/metaworld/caged.h"
#include "engines/mujoco/metaworld/sweep.h"

enum { GEOM = CAGED_READS, RIGHT, LEFT };
static const be_read reads[] = {CAGED_SHARED_READS("obj"),
                                [GEOM] = {"geom_xpos", "geom", "objGeom"},
                                [RIGHT] = {"geom_xpos", "geom", "rightpad_geom"},
                                [LEFT] = {"geom_xpos", "geom", "leftpad_geom"},
                                {0}};

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    const double place[] = {goal[0], goal[1], 0.02}, target[] = {0.5, goal[1], 0.01};
    sawyer_put(b, lane, SAWYER_OBJECT, place);
    sawyer_put(b, lane, SAWYER_TARGET, target);
    return sawyer_put_object(b, lane, place, error);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    (void)effort;
    sweep_judge(b, lane, seen, SAWYER_FIELD(b, SAWYER_TARGET, lane), 0.01, 0.005, verdict);
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .squeezed = GEOM,
                                 .begin = begin,
                                 .object = caged_object,
                                 .judge = judge};
SAWYER_TYPE(sweep, "Sweep", "sweep");
