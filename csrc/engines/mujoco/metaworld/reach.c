/* Meta-World's reach: the hand is to get to a place. */
#include "engines/mujoco/metaworld/sawyer.h"

enum { OBJECT = SAWYER_READS, FRAME };
static const be_read reads[] = {
    SAWYER_SHARED_READS, [OBJECT] = {"xpos", "body", "obj"}, [FRAME] = {"geom_xmat", "geom", "objGeom"}, {0}};

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_put(b, lane, SAWYER_TARGET, goal + 3);
    return sawyer_put_object(b, lane, goal, error);
}

static void object(const be_batch *b, int64_t lane, double *row) {
    sawyer_quat(be_mujoco_read_of(b, lane, FRAME), be_append(row, be_mujoco_read_of(b, lane, OBJECT), 3));
}

static const sawyer_task task;
static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane);
    double tip[3];
    (void)seen, (void)effort;
    sawyer_tip(b, lane, tip);
    const double distance = sawyer_distance(b, tip, target);
    const double in_place = sawyer_near(distance, 0.05, sawyer_distance(b, task.hand, target));
    *verdict = (sawyer_verdict){distance <= 0.05, distance, 1, distance, in_place, distance, 10 * in_place};
}

static const sawyer_task task = {
    .hand = {0, 0.6, 0.2}, SAWYER_USUAL_BOUNDS, .begin = begin, .object = object, .judge = judge};
SAWYER_TYPE(reach, "Reach", "reach");
