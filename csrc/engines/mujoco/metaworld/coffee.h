/* Meta-World's mug, which the hand is to bring to a coffee machine, or away from one. */
#ifndef BE_MUJOCO_SAWYER_COFFEE_H
#define BE_MUJOCO_SAWYER_COFFEE_H

#include "engines/mujoco/metaworld/caging.h"

enum { MUG = CAGING_READS, MUG_FRAME, MUG_GEOM };
static const be_read reads[] = {CAGING_SHARED_READS,
                                [MUG] = {"xpos", "body", "obj"},
                                [MUG_FRAME] = {"geom_xmat", "geom", "mug"},
                                [MUG_GEOM] = {"geom_xpos", "geom", "mug"},
                                {"geom_xpos", "geom", "rightpad_geom"},
                                {"geom_xpos", "geom", "leftpad_geom"},
                                {0}};
#define COFFEE_NEAR 0.05

/* The mug's joint comes first, before the arm's; but the speeds that stop are those of the arm's last six joints. */
static int coffee_begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_put(b, lane, SAWYER_TARGET, goal + 3);
    (void)be_append(arrays[MJ_QPOS], goal, 3);
    memset(arrays[MJ_QVEL] + 9, 0, 6 * sizeof(double));
    return be_mujoco_evaluate(b, lane, NULL, error);
}

static void coffee_object(const be_batch *b, int64_t lane, double *row) {
    sawyer_quat(be_mujoco_read_of(b, lane, MUG_FRAME), be_append(row, be_mujoco_read_of(b, lane, MUG), 3));
}

static void coffee_judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    static const double scale[] = {2.0, 2.0, 1.0};
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *mug = seen + 4;
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double scaled = sawyer_scaled_distance(b, mug, target, scale), away = sawyer_distance(b, mug, tip);
    const double in_place = sawyer_near(scaled, COFFEE_NEAR, sawyer_scaled_distance(b, began, target, scale));
    const caging_grip grip = caging_hold(b, lane, mug, caging_closed(effort, 0.7f), 0.02, 0.05, 0.05);
    const sawyer_number grasp = caging_judge_reach(b, lane, mug, grip.held, 0.04);
    const double left = sawyer_distance(b, mug, target);
    sawyer_number reward = sawyer_both(grasp, sawyer_float(in_place));
    if (away < 0.04 && seen[3] > 0) reward = sawyer_plus(reward, sawyer_float(1.0 + 5.0 * in_place));
    if (scaled < COFFEE_NEAR) reward = sawyer_float(10.0);
    *verdict = (sawyer_verdict){left <= 0.07, away <= 0.03, seen[3] > 0, grasp.value, in_place, left, reward.value};
}

#endif
