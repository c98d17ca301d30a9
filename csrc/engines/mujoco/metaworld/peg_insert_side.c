/* Meta-World's peg-insert-side: the hand is to put a peg into a hole in the side of a box. */
#include "engines/mujoco/metaworld/caging.h"

enum { PEG = CAGING_READS, FRAME, HEAD, LOW_CORNER_1, HIGH_CORNER_1, LOW_CORNER_2, HIGH_CORNER_2 };
static const be_read reads[] = {CAGING_SHARED_READS,
                                [PEG] = {"site_xpos", "site", "pegGrasp"},
                                [FRAME] = {"site_xmat", "site", "pegGrasp"},
                                [HEAD] = {"site_xpos", "site", "pegHead"},
                                [LOW_CORNER_1] = {"site_xpos", "site", "bottom_right_corner_collision_box_1"},
                                [HIGH_CORNER_1] = {"site_xpos", "site", "top_left_corner_collision_box_1"},
                                [LOW_CORNER_2] = {"site_xpos", "site", "bottom_right_corner_collision_box_2"},
                                [HIGH_CORNER_2] = {"site_xpos", "site", "top_left_corner_collision_box_2"},
                                {0}};
#define NEAR 0.07

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_put(b, lane, SAWYER_MARK, be_mujoco_read_of(b, lane, HEAD));
    sawyer_add(goal + 3, 0.03, 0.0, 0.13, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    return sawyer_put_object(b, lane, goal, error);
}

static void object(const be_batch *b, int64_t lane, double *row) {
    sawyer_quat(be_mujoco_read_of(b, lane, FRAME), be_append(row, be_mujoco_read_of(b, lane, PEG), 3));
}

/* Within a part of the box from corner `zero` to corner `one`: less, the nearer to `zero`; 1 outside of it. */
static sawyer_number within(const double *place, const double *zero, const double *one) {
    double share[3];
    for (int k = 0; k < 3; k++) {
        const int up = one[k] >= zero[k];
        const double low = up ? zero[k] : one[k], high = up ? one[k] : zero[k];
        if (!BE_WITHIN(place[k], low, high)) return sawyer_float(1.0);
        share[k] = (place[k] - zero[k]) / (one[k] - zero[k]);
    }
    return (sawyer_number){share[0] * share[1] * share[2], SAWYER_FLOAT64};
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    static const double scale[] = {1.0, 2.0, 2.0};
    const double *peg = seen + 4, *head = be_mujoco_read_of(b, lane, HEAD);
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double away = sawyer_distance(b, peg, tip), left = sawyer_scaled_distance(b, head, target, scale);
    const double margin = sawyer_scaled_distance(b, SAWYER_FIELD(b, SAWYER_MARK, lane), target, scale);
    const sawyer_number part1 =
        within(head, be_mujoco_read_of(b, lane, LOW_CORNER_1), be_mujoco_read_of(b, lane, HIGH_CORNER_1));
    const sawyer_number part2 =
        within(head, be_mujoco_read_of(b, lane, LOW_CORNER_2), be_mujoco_read_of(b, lane, HIGH_CORNER_2));
    const sawyer_number in_place =
        sawyer_both(sawyer_float(sawyer_near(left, NEAR, margin)), sawyer_both(part2, part1));
    const int opened = seen[3] > 0, lifted = opened && peg[2] - 0.01 > began[2];
    sawyer_number grasp = caging_judge(b, lane, peg, effort, 0.0075, 0.03, 0.005);
    if (away < 0.08 && lifted) grasp = sawyer_float(1.0);
    sawyer_number reward = sawyer_both(grasp, in_place);
    if (away < 0.08 && lifted)
        reward = sawyer_plus(reward, sawyer_plus(sawyer_float(1.0), sawyer_times(sawyer_float(5), in_place)));
    if (left <= NEAR) reward = sawyer_float(10.0);
    *verdict = (sawyer_verdict){left <= NEAR,   away <= 0.03, away < 0.02 && lifted, grasp.value,
                                in_place.value, left,         reward.value};
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .placed = 1,
                                 .place_at = 3,
                                 .begin = begin,
                                 .object = object,
                                 .judge = judge};
SAWYER_TYPE(peg_insert_side, "PegInsertSide", "peg-insert-side");
