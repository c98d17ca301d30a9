/* Meta-World's button-press-wall: the same behind a wall, with other rewards. */
#include "engines/mujoco/metaworld/button.h"

static const be_read reads[] = BUTTON_READS;

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return button_begin(b, lane, goal, 0, error);
}
static void object(const be_batch *b, int64_t lane, double *row) { button_object(b, lane, -0.193, 0.0, row); }

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    (void)effort;
    button_judge(b, lane, seen, 1, 0.03, 0.01, verdict);
    const double pressed = verdict->in_place;
    const double reward = verdict->near > 0.07 ? 2 * sawyer_both_floats((1 - seen[3]) / 2.0, verdict->grasp)
                                               : 2 + 2 * (1 + seen[3]) + 4 * be_math.pow(pressed, 2);
    button_reward(reward, verdict);
}

static const sawyer_task task = {
    .hand = {0, 0.4f, 0.2f}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = object, .judge = judge};
SAWYER_TYPE(button_press_wall, "ButtonPressWall", "button-press-wall");
