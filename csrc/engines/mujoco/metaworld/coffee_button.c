/* Meta-World's coffee-button: the hand is to press a coffee machine's button. */
#include "engines/mujoco/metaworld/button.h"

enum { START = SAWYER_READS };
static const be_read reads[] = {SAWYER_SHARED_READS, [START] = {"site_xpos", "site", "buttonStart"}, {0}};
#define WAY 0.03 /* how far it is to be pressed, m */

/* A mug stands in front of the machine. Its joint is before the arm's. What is put to rest as if it were the mug is a
 * part of the arm. */
static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane), *target = SAWYER_FIELD(b, SAWYER_TARGET, lane);
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_add(goal, 0.0, -0.22, 0.0, arrays[MJ_QPOS]);
    memset(arrays[MJ_QVEL] + 9, 0, 6 * sizeof(double));
    sawyer_add(goal, 0.0, -0.22, 0.3, target);
    target[1] += WAY;
    return be_mujoco_evaluate(b, lane, NULL, error);
}

static void object(const be_batch *b, int64_t lane, double *row) {
    static const double quat[] = {1, 0, 0, 0};
    (void)be_append(be_append(row, be_mujoco_read_of(b, lane, START), 3), quat, 4);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    (void)effort;
    button_judge(b, lane, seen, 1, 0.02, 0.05, verdict);
    verdict->in_place = sawyer_near(verdict->to_target, 0.005, WAY);
    double reward = 2 * sawyer_both_floats(seen[3], verdict->grasp);
    if (verdict->near <= 0.05) reward += 8 * verdict->in_place;
    button_reward(reward, verdict);
}

static const sawyer_task task = {
    .hand = {0, 0.4, 0.2}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = object, .judge = judge};
SAWYER_TYPE(coffee_button, "CoffeeButton", "coffee-button");
