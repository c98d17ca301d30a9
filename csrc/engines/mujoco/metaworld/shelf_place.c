/* Meta-World's shelf-place: the hand is to put a cube onto a shelf. */
#include "engines/mujoco/metaworld/caging.h"

static const be_read reads[] = PUCK_READS;
#define NEAR 0.05
#define SHELF 0.24 /* how high the shelf's board is, m */

/* The cube is as high as it has been so far. */
static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    const double place[] = {goal[0], goal[1], be_mujoco_read_of(b, lane, PUCK)[2]};
    sawyer_put(b, lane, SAWYER_OBJECT, place);
    sawyer_add(SAWYER_FIELD(b, SAWYER_PLACE, lane), 0, 0, 0.3, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    const int status = be_mujoco_evaluate(b, lane, NULL, error); /* with some versions, this changes the warm start */
    return status == BE_OK ? sawyer_put_object(b, lane, place, error) : status;
}

/* How well the cube is placed, less what it is worth below the board, where it cannot get there. */
static sawyer_number above_board(const double *cube, const double *target, double in_place) {
    const double front = target[1] - 3 * NEAR;
    const int below = 0.0 < cube[2] && cube[2] < SHELF && target[0] - 0.15 < cube[0] && cube[0] < target[0] + 0.15;
    if (below && cube[1] > target[1]) return sawyer_float(0.0);
    if (!(below && front < cube[1] && cube[1] < target[1])) return sawyer_float(in_place);
    const double loss = sawyer_both_floats((cube[1] - front) / (3 * NEAR), (SHELF - cube[2]) / SHELF);
    return (sawyer_number){be_clip_one(in_place - loss, 0.0, 1.0), SAWYER_FLOAT64};
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *cube = seen + 4;
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double left = sawyer_distance(b, cube, target), away = sawyer_distance(b, cube, tip);
    const double near = sawyer_near(left, NEAR, sawyer_distance(b, began, target));
    const sawyer_number in_place = above_board(cube, target, near);
    const sawyer_number grasp = caging_hold(b, lane, cube, sawyer_closed(effort), 0.02, 0.05, 0.01).held;
    sawyer_number reward = sawyer_both(grasp, sawyer_float(near));
    if (away < 0.025 && seen[3] > 0 && cube[2] - 0.01 > began[2])
        reward = sawyer_plus(reward, sawyer_plus(sawyer_float(1.0), sawyer_times(sawyer_float(5.0), in_place)));
    if (left < NEAR) reward = sawyer_float(10.0);
    *verdict = (sawyer_verdict){left <= 0.07, away <= 0.03,   seen[3] > 0 && cube[2] - 0.02 > began[2],
                                grasp.value,  in_place.value, left,
                                reward.value};
}

static const sawyer_task task = {.hand = {0, 0.6f, 0.2f},
                                 SAWYER_USUAL_BOUNDS,
                                 .placed = 1,
                                 .place_at = 3,
                                 .place_by = {0, 0, -0.3},
                                 .squeezed = PUCK_GEOM,
                                 .begin = begin,
                                 .object = puck_object,
                                 .judge = judge};
SAWYER_TYPE(shelf_place, "ShelfPlace", "shelf-place");
