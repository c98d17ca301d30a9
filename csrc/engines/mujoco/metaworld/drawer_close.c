/* Meta-World's drawer-close: the hand is to push a drawer in. */
#include "engines/mujoco/metaworld/sawyer.h"

enum { DRAWER = SAWYER_READS, SLIDE };
static const be_read reads[] = {
    SAWYER_SHARED_READS, [DRAWER] = {"xpos", "body", "drawer_link"}, [SLIDE] = {"qpos", "joint", "goal_slidey"}, {0}};
#define NEAR 0.05

static void place(const be_batch *b, int64_t lane, double *row) {
    sawyer_add(be_mujoco_read_of(b, lane, DRAWER), 0.0, -0.16, 0.05, row);
}

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    sawyer_add(goal, 0.0, -0.16, 0.09, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    be_mujoco_read_of(b, lane, SLIDE)[0] = -0.15;
    const int status = be_mujoco_evaluate(b, lane, NULL, error);
    if (status == BE_OK) place(b, lane, SAWYER_FIELD(b, SAWYER_OBJECT, lane));
    return status;
}

static void object(const be_batch *b, int64_t lane, double *row) {
    place(b, lane, row);
    memset(row + 3, 0, 4 * sizeof *row);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *drawer = seen + 4, radius = 0.005;
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double left = sawyer_distance(b, drawer, target);
    const double in_place = sawyer_near(left, NEAR, fabs(sawyer_distance(b, began, target) - NEAR));
    const double away = sawyer_distance(b, drawer, tip);
    const double margin = fabs(sawyer_distance(b, began, SAWYER_FIELD(b, SAWYER_TIP, lane)) - radius);
    const double near = be_gaussian(away, 0, radius, margin, be_constant_of(b, SAWYER_SCALE, 0));
    const sawyer_number reach = sawyer_both(sawyer_float(near), sawyer_closed(effort));
    const int done = left <= NEAR + 0.015;
    const sawyer_number reward = done ? sawyer_float(1.0) : sawyer_both(reach, sawyer_float(in_place));
    *verdict = (sawyer_verdict){
        done, away <= 0.01, 1, reach.value, in_place, left, sawyer_times(reward, sawyer_float(10)).value};
}

static const sawyer_task task = {
    .hand = {0, 0.6f, 0.2f}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = object, .judge = judge};
SAWYER_TYPE(drawer_close, "DrawerClose", "drawer-close");
