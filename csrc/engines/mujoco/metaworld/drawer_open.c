/* Meta-World's drawer-open: the hand is to pull a drawer out by its handle. */
#include "engines/mujoco/metaworld/sawyer.h"

enum { DRAWER = SAWYER_READS, QUAT };
static const be_read reads[] = {
    SAWYER_SHARED_READS, [DRAWER] = {"xpos", "body", "drawer_link"}, [QUAT] = {"xquat", "body", "drawer_link"}, {0}};
#define WAY 0.2 /* how far it is to be pulled, m */

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    (void)error;
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_add(goal, 0.0, -0.16 - WAY, 0.09, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    return BE_OK;
}

static void object(const be_batch *b, int64_t lane, double *row) {
    sawyer_add(be_mujoco_read_of(b, lane, DRAWER), 0.0, -0.16, 0.0, row);
    (void)be_append(row + 3, be_mujoco_read_of(b, lane, QUAT), 4);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    static const double scale[] = {3.0, 3.0, 1.0}; /* so that the hand comes down on the handle */
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *handle = seen + 4;
    double closed[3];
    (void)effort;
    sawyer_add(target, 0.0, WAY, 0.0, closed);
    const double left = sawyer_distance(b, handle, target), opening = sawyer_near(left, 0.02, WAY);
    const double caging = sawyer_near(sawyer_scaled_distance(b, handle, seen, scale), 0.01,
                                      sawyer_scaled_distance(b, closed, SAWYER_FIELD(b, SAWYER_TIP, lane), scale));
    *verdict = (sawyer_verdict){left <= 0.03,
                                sawyer_distance(b, handle, seen) <= 0.03,
                                seen[3] > 0,
                                caging,
                                opening,
                                left,
                                (caging + opening) * 5.0};
}

static const sawyer_task task = {
    .hand = {0, 0.6f, 0.2f}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = object, .judge = judge};
SAWYER_TYPE(drawer_open, "DrawerOpen", "drawer-open");
