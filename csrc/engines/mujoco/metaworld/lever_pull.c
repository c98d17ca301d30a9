/* Meta-World's lever-pull: the hand is to lift a lever from below, with what is behind its fingers. */
#include "engines/mujoco/metaworld/sawyer.h"

enum { LEVER = SAWYER_READS, FRAME, AXIS };
static const be_read reads[] = {SAWYER_SHARED_READS,
                                [LEVER] = {"site_xpos", "site", "leverStart"},
                                [FRAME] = {"geom_xmat", "geom", "objGeom"},
                                [AXIS] = {"qpos", "joint", "LeverAxis"},
                                {0}};
#define LENGTH 0.2

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    (void)error;
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_add(goal, 0.12, -LENGTH, 0.25, SAWYER_FIELD(b, SAWYER_MARK, lane));
    sawyer_add(goal, 0.12, 0.0, 0.25 + LENGTH, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    return BE_OK;
}

static void object(const be_batch *b, int64_t lane, double *row) {
    sawyer_quat(be_mujoco_read_of(b, lane, FRAME), be_append(row, be_mujoco_read_of(b, lane, LEVER), 3));
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    static const double scale[] = {4.0, 1.0, 4.0};
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_MARK, lane);
    const double *lever = seen + 4;
    double shoulder[3], shoulder_began[3];
    (void)effort;
    sawyer_shoulder(seen, shoulder);
    sawyer_shoulder(SAWYER_FIELD(b, SAWYER_TIP, lane), shoulder_began);
    const double away = sawyer_scaled_distance(b, shoulder, lever, scale);
    const double ready = sawyer_near(away, 0.02, sawyer_scaled_distance(b, shoulder_began, began, scale));
    const double left = fabs(-be_mujoco_read_of(b, lane, AXIS)[0] - M_PI / 2.0);
    const double lifted = sawyer_near(left, M_PI / 48.0, M_PI / 2.0 - M_PI / 12.0);
    const double in_place = sawyer_near(sawyer_distance(b, lever, target), 0.04, sawyer_distance(b, began, target));
    *verdict = (sawyer_verdict){
        left <= M_PI / 24, away < 0.03, ready > 0.9, ready, lifted, away, 10.0 * sawyer_both_floats(ready, in_place)};
}

static const sawyer_task task = {
    .hand = {0, 0.4f, 0.2f}, SAWYER_DEEP_BOUNDS, .placed = 1, .begin = begin, .object = object, .judge = judge};
SAWYER_TYPE(lever_pull, "LeverPull", "lever-pull");
