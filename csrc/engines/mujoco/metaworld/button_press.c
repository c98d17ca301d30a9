/* Meta-World's button-press: the hand is to press a button from its side. */
#include "engines/mujoco/metaworld/button.h"

static const be_read reads[] = BUTTON_READS;

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return button_begin(b, lane, goal, 0, error);
}
static void object(const be_batch *b, int64_t lane, double *row) { button_object(b, lane, -0.193, 0.0, row); }

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    (void)effort;
    button_judge(b, lane, seen, 1, 0.02, 0.05, verdict);
    double reward = 2 * sawyer_both_floats(seen[3], verdict->grasp);
    if (verdict->near <= 0.05) reward += 8 * verdict->in_place;
    button_reward(reward, verdict);
}

static const sawyer_task task = {
    .hand = {0, 0.4f, 0.2f}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = object, .judge = judge};
SAWYER_TYPE(button_press, "ButtonPress", "button-press");
