/* Meta-World's hand-insert: the hand is to put a block into a hole. */
#include "engines/mujoco/metaworld/caged.h"

enum { BLOCK_GEOM = CAGED_READS, BLOCK_RIGHT, BLOCK_LEFT };
static const be_read reads[] = {CAGED_SHARED_READS("obj"),
                                [BLOCK_GEOM] = {"geom_xpos", "geom", "objGeom"},
                                [BLOCK_RIGHT] = {"geom_xpos", "geom", "rightpad_geom"},
                                [BLOCK_LEFT] = {"geom_xpos", "geom", "leftpad_geom"},
                                {0}};
#define NEAR 0.05

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    const double place[] = {goal[0], goal[1], 0.05};
    sawyer_put(b, lane, SAWYER_OBJECT, place);
    sawyer_put(b, lane, SAWYER_TARGET, goal + 3);
    return sawyer_put_object(b, lane, place, error);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *block = seen + 4;
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double left = sawyer_distance(b, block, target), away = sawyer_distance(b, block, tip);
    const double in_place = sawyer_near(left, NEAR, sawyer_distance(b, began, target));
    const sawyer_number grasp = caging_judge(b, lane, block, effort, 0.015, 0.05, 0.005);
    sawyer_number reward = sawyer_both(grasp, sawyer_float(in_place));
    if (away < 0.02 && seen[3] > 0) reward = sawyer_plus(reward, sawyer_float(1.0 + 7.0 * in_place));
    if (left < NEAR) reward = sawyer_float(10.0);
    *verdict =
        (sawyer_verdict){left <= NEAR, away <= 0.03, seen[3] > 0 && block[2] - 0.02 > began[2], grasp.value, in_place,
                         left,         reward.value};
}

static const sawyer_task task = {.hand = {0, 0.6f, 0.2f},
                                 .low = {-0.5, 0.40, -0.15},
                                 .high = {0.5, 1, 0.5},
                                 .squeezed = BLOCK_GEOM,
                                 .begin = begin,
                                 .object = caged_object,
                                 .judge = judge};
SAWYER_TYPE(hand_insert, "HandInsert", "hand-insert");
