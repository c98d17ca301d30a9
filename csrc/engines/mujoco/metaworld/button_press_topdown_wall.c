/* Meta-World's button-press-topdown-wall: the same behind a wall. */
#include "engines/mujoco/metaworld/button.h"

static const be_read reads[] = BUTTON_READS;

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return button_begin(b, lane, goal, 1, error);
}
static void object(const be_batch *b, int64_t lane, double *row) { button_object(b, lane, 0.0, 0.193, row); }

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    (void)effort;
    button_judge(b, lane, seen, 2, 0.024, 0.01, verdict);
    double reward = 5 * sawyer_both_floats(seen[3], verdict->grasp);
    if (verdict->near <= 0.03) reward += 5 * verdict->in_place;
    button_reward(reward, verdict);
}

static const sawyer_task task = {
    .hand = {0, 0.4f, 0.2f}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = object, .judge = judge};
SAWYER_TYPE(button_press_topdown_wall, "ButtonPressTopdownWall", "button-press-topdown-wall");
