/* What tasks with goals have in common: an observation is a Dict of what the robot senses, what it has achieved, and
 * what it is to achieve. */
#ifndef BE_MUJOCO_GOALS_H
#define BE_MUJOCO_GOALS_H

#include "engines/mujoco/gymnasium.h"

/* The ports of a goal, from the one numbered `at` on. The first part of the observation is the robot's. */
enum { GOAL_ACHIEVED, GOAL_DESIRED, GOAL_PORTS };
#define GOAL_SHARED_PORTS(at)                                                                                          \
    [MJ_ACTION_PORT] = {"", BE_ACTION}, [MJ_OBSERVATION_PORT] = {"observation", BE_OBSERVATION},                       \
    [(at) + GOAL_ACHIEVED] = {"achieved_goal", BE_OBSERVATION},                                                        \
    [(at) + GOAL_DESIRED] = {"desired_goal", BE_OBSERVATION}

/* Sets their spaces, for goals of `size` numbers. */
static inline void goal_spaces(be_setup *setup, int at, int64_t size) {
    for (int k = 0; k < GOAL_PORTS; k++) be_space_box(&setup->space[at + k], BE_F64, 1, &size, -HUGE_VAL, HUGE_VAL);
}

/* Writes a lane's rows of them. */
static inline void goal_write(const be_rows *rows, int64_t lane, int at, const double *achieved, const double *desired,
                              int64_t size) {
    (void)be_append(BE_ROW(double, rows->port[at + GOAL_ACHIEVED], rows, lane, size), achieved, size);
    (void)be_append(BE_ROW(double, rows->port[at + GOAL_DESIRED], rows, lane, size), desired, size);
}

/* np.linalg.norm(a - b, axis=-1): NumPy sums the squares, where without an axis it asks BLAS. */
static inline double goal_distance_along_axis(const double *a, const double *b, int64_t size) {
    double sum = 0;
    for (int64_t k = 0; k < size; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(sum);
}

#endif
