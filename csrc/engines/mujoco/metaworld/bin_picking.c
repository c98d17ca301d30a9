/* Meta-World's bin-picking: the hand is to take a cube from one bin to another. */
#include "engines/mujoco/metaworld/caged.h"

enum { BIN = CAGED_READS };
static const be_read reads[] = {CAGED_SHARED_READS("obj"), [BIN] = {"xpos", "body", "bin_goal"}, {0}};
#define NEAR 0.05

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    const double place[] = {goal[0], goal[1], be_mujoco_read_of(b, lane, CAGED)[2]};
    sawyer_put(b, lane, SAWYER_OBJECT, place);
    const int status = sawyer_put_object(b, lane, place, error);
    if (status == BE_OK) sawyer_put(b, lane, SAWYER_TARGET, be_mujoco_read_of(b, lane, BIN));
    return status;
}

/* How high the hand is to be, so that it does not run into a bin: above a funnel around a place. */
static double floor_around(const be_batch *b, const double *hand, const double *place) {
    const double way[] = {hand[0] - place[0], hand[1] - place[1]};
    const double radius = be_norm(way, 2, be_mujoco_of(b)->fused_dot);
    return radius > 0.03 ? 0.02 * be_numpy_log(radius - 0.03) + 0.2 : 0.0;
}

/* The mark's first number is how far the cube was from the goal after the first step. */
static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *cube = seen + 4, left = sawyer_distance(b, cube, target);
    double *first = SAWYER_FIELD(b, SAWYER_MARK, lane);
    if (b->elapsed[lane] == 0) *first = left;
    const double in_place = sawyer_near(left, NEAR, *first);
    const double floor_began = floor_around(b, seen, began), floor_there = floor_around(b, seen, target);
    const double floor = floor_there < floor_began ? floor_there : floor_began;
    const double above = seen[2] >= floor ? 1.0 : sawyer_near(floor - seen[2], 0.01, 0.05);
    const sawyer_number grasp =
        caging_reward(caging_hold(b, lane, cube, caging_closed(effort, 0.7f), 0.015, 0.05, 0.01));
    const int near = sawyer_distance(b, cube, seen) < 0.04;
    const int held = near && cube[2] - 0.02 > began[2] && !(seen[3] < 0.43);
    sawyer_number reward = sawyer_both(grasp, sawyer_float(in_place));
    if (held) reward = sawyer_plus(reward, sawyer_float(1.0 + 5.0 * sawyer_both_floats(above, in_place)));
    if (left < NEAR) reward = sawyer_float(10.0);
    *verdict = (sawyer_verdict){left <= NEAR, near, held, grasp.value, in_place, left, reward.value};
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 .low = {-0.5, 0.40, 0.07},
                                 .high = {0.5, 1, 0.5},
                                 .begin = begin,
                                 .object = caged_object,
                                 .judge = judge};
SAWYER_TYPE(bin_picking, "BinPicking", "bin-picking");
