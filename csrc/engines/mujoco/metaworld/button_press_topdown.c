/* Meta-World's button-press-topdown: the hand is to press a button from above. */
#include "engines/mujoco/metaworld/sawyer.h"

enum { BUTTON = SAWYER_READS, QUAT, HOLE, TOP };
static const be_read reads[] = {SAWYER_SHARED_READS,
                                [BUTTON] = {"xpos", "body", "button"},
                                [QUAT] = {"xquat", "body", "button"},
                                [HOLE] = {"site_xpos", "site", "hole"},
                                [TOP] = {"site_xpos", "site", "buttonStart"},
                                {0}};

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    const int status = be_mujoco_evaluate(b, lane, NULL, error);
    if (status != BE_OK) return status;
    sawyer_put(b, lane, SAWYER_TARGET, be_mujoco_read_of(b, lane, HOLE));
    sawyer_put(b, lane, SAWYER_MARK, be_mujoco_read_of(b, lane, TOP));
    return BE_OK;
}

static void object(const be_batch *b, int64_t lane, double *row) {
    sawyer_add(be_mujoco_read_of(b, lane, BUTTON), 0.0, 0.0, 0.193, row);
    (void)be_append(row + 3, be_mujoco_read_of(b, lane, QUAT), 4);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *button = seen + 4, target = SAWYER_FIELD(b, SAWYER_TARGET, lane)[2];
    double tip[3];
    (void)effort;
    sawyer_tip(b, lane, tip);
    const double away = sawyer_distance(b, button, tip);
    const double left = fabs(target - button[2]), way = fabs(target - SAWYER_FIELD(b, SAWYER_MARK, lane)[2]);
    const double near = sawyer_near(away, 0.01, sawyer_distance(b, button, SAWYER_FIELD(b, SAWYER_TIP, lane)));
    const double pressed = sawyer_near(left, 0.005, way);
    double reward = 5 * sawyer_both_floats(1 - seen[3], near);
    if (away <= 0.03) reward += 5 * pressed;
    *verdict = (sawyer_verdict){left <= 0.024, away <= 0.05, seen[3] > 0, near, pressed, left, reward};
}

static const sawyer_task task = {
    .hand = {0, 0.4f, 0.2f}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = object, .judge = judge};
SAWYER_TYPE(button_press_topdown, "ButtonPressTopdown", "button-press-topdown");
