/* Meta-World's stick-push: the hand is to push a flask with a stick. */
#include "engines/mujoco/metaworld/stick.h"

#define NEAR 0.12

/* The mark is where the flask was. */
static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    const double stick[] = {goal[0], goal[1], 0.02};
    const double target[] = {goal[3], goal[4], be_mujoco_read_of(b, lane, FLASK_HANDLE)[2]};
    sawyer_put(b, lane, SAWYER_OBJECT, stick);
    sawyer_put(b, lane, SAWYER_TARGET, target);
    const int status = stick_put(b, lane, stick, 0.0, error);
    if (status == BE_OK) sawyer_put(b, lane, SAWYER_MARK, be_mujoco_read_of(b, lane, FLASK));
    return status;
}

static void object(const be_batch *b, int64_t lane, double *row) { stick_object(b, lane, 0.09, row); }

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *lay = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *flask = seen + 11, *stood = SAWYER_FIELD(b, SAWYER_MARK, lane);
    double tip[3], stick[3];
    sawyer_tip(b, lane, tip);
    sawyer_add(seen + 4, 0.015, 0.0, 0.0, stick);
    const double away = sawyer_distance(b, stick, tip), left = sawyer_distance(b, flask, target);
    const double at_goal = sawyer_near(sawyer_distance(b, stick, target), NEAR, sawyer_distance(b, lay, target) - NEAR);
    const double in_place = sawyer_near(left, NEAR, sawyer_distance(b, stood, target) - NEAR);
    const int opened = seen[3] > 0, lifted = opened && stick[2] - 0.01 > lay[2], held = away < 0.02 && lifted;
    const sawyer_number grasp = held ? sawyer_float(1) : caging_judge(b, lane, stick, effort, 0.04, 0.05, 0.01);
    double reward = grasp.value;
    if (held) reward = left <= NEAR ? 10.0 : 2.0 + 5.0 * at_goal + 3.0 * in_place;
    *verdict = (sawyer_verdict){left <= NEAR, away <= 0.03, lifted, grasp.value, at_goal, left, reward};
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .squeezed = STICK_GEOM,
                                 .done_held = 1,
                                 .begin = begin,
                                 .object = object,
                                 .judge = judge};
SAWYER_TYPE(stick_push, "StickPush", "stick-push");
