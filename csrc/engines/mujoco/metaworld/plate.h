/* Meta-World's plate, which the hand is to slide over the table into a cabinet or out of it. */
#ifndef BE_MUJOCO_SAWYER_PLATE_H
#define BE_MUJOCO_SAWYER_PLATE_H

#include "engines/mujoco/metaworld/sawyer.h"

enum { PLATE = SAWYER_READS, PLATE_FRAME, PLATE_X, PLATE_Y };
static const be_read reads[] = {SAWYER_SHARED_READS,
                                [PLATE] = {"geom_xpos", "geom", "puck"},
                                [PLATE_FRAME] = {"geom_xmat", "geom", "puck"},
                                [PLATE_X] = {"qpos", "joint", "goal_slidex"},
                                [PLATE_Y] = {"qpos", "joint", "goal_slidey"},
                                {0}};
#define PLATE_NEAR 0.05

/* Begins an episode with the plate so far from where the model has it. */
static inline int plate_begin(be_batch *b, int64_t lane, const double *goal, double x, double y, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_put(b, lane, SAWYER_TARGET, goal + 3);
    be_mujoco_read_of(b, lane, PLATE_X)[0] = x;
    be_mujoco_read_of(b, lane, PLATE_Y)[0] = y;
    return be_mujoco_evaluate(b, lane, NULL, error);
}

static void plate_object(const be_batch *b, int64_t lane, double *row) {
    sawyer_quat(be_mujoco_read_of(b, lane, PLATE_FRAME), be_append(row, be_mujoco_read_of(b, lane, PLATE), 3));
}

/* All of a verdict but the reward. off: what margins are less than the ways at first. Returns how far the tip is from
 * the plate. */
static inline double plate_judge(const be_batch *b, int64_t lane, const double *plate, const double *tip, double off,
                                 sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double left = sawyer_distance(b, plate, target), away = sawyer_distance(b, tip, plate);
    *verdict = (sawyer_verdict){
        .success = left <= 0.07,
        .near = away <= 0.03,
        .grasp = sawyer_near(away, PLATE_NEAR, sawyer_distance(b, SAWYER_FIELD(b, SAWYER_TIP, lane), began) - off),
        .in_place = sawyer_near(left, PLATE_NEAR, sawyer_distance(b, began, target) - off),
        .to_target = left,
    };
    return away;
}

/* The verdict of all but one of the tasks: the hand is to come down on the plate. */
static __attribute__((unused)) void plate_judge_from_above(const be_batch *b, int64_t lane, const double *seen,
                                                           float effort, sawyer_verdict *verdict) {
    double tip[3];
    (void)effort;
    sawyer_tip(b, lane, tip);
    const double away = plate_judge(b, lane, seen + 4, tip, PLATE_NEAR, verdict);
    verdict->reward = tip[2] <= 0.03 && away < 0.07 ? 2.0 + 7.0 * verdict->in_place : 1.5 * verdict->grasp;
    if (verdict->to_target < PLATE_NEAR) verdict->reward = 10.0;
}

#define PLATE_USUAL .hand = {0, 0.6f, 0.2f}, SAWYER_USUAL_BOUNDS, .begin = begin, .object = plate_object

#endif
