/* Meta-World's peg-unplug-side: the hand is to pull a peg out of a box, sideways. */
#include "engines/mujoco/metaworld/caging.h"

enum { PEG = CAGING_READS, QUAT };
static const be_read reads[] = {
    CAGING_SHARED_READS, [PEG] = {"site_xpos", "site", "pegEnd"}, [QUAT] = {"xquat", "body", "plug1"}, {0}};
#define NEAR 0.05

/* The peg goes on turning as it did. */
static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    static const double quat[] = {1, 0, 0, 0};
    double *const *arrays = be_mujoco_arrays(b, lane), place[3];
    sawyer_add(goal, 0.044, 0.0, 0.131, place);
    sawyer_add(place, 0.15, 0.0, 0.0, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    (void)be_append(be_append(arrays[MJ_QPOS] + 9, place, 3), quat, 4);
    memset(arrays[MJ_QVEL] + 9, 0, 3 * sizeof(double));
    const int status = be_mujoco_evaluate(b, lane, NULL, error);
    if (status == BE_OK) sawyer_put(b, lane, SAWYER_OBJECT, be_mujoco_read_of(b, lane, PEG));
    return status;
}

static void object(const be_batch *b, int64_t lane, double *row) {
    (void)be_append(be_append(row, be_mujoco_read_of(b, lane, PEG), 3), be_mujoco_read_of(b, lane, QUAT), 4);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *peg = seen + 4;
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double away = sawyer_distance(b, peg, tip), left = sawyer_distance(b, peg, target);
    const double in_place = sawyer_near(left, NEAR, sawyer_distance(b, began, target));
    const sawyer_number grasp =
        caging_reward(caging_hold(b, lane, peg, caging_closed(effort, 0.8f), 0.025, 0.05, 0.005));
    const int pulled = seen[3] > 0.5 && peg[0] - began[0] > 0.015;
    sawyer_number reward = sawyer_times(sawyer_float(2), grasp);
    if (pulled && away < 0.035) reward = sawyer_plus(sawyer_plus(sawyer_float(1), reward), sawyer_float(5 * in_place));
    if (left <= NEAR) reward = sawyer_float(10.0);
    *verdict = (sawyer_verdict){left <= 0.07, away <= 0.03, pulled, grasp.value, in_place, left, reward.value};
}

static const sawyer_task task = {
    .hand = {0, 0.6, 0.2}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = object, .judge = judge};
SAWYER_TYPE(peg_unplug_side, "PegUnplugSide", "peg-unplug-side");
