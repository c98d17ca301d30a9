/* What was some steps ago, for tasks of robots: histories of what is observed, and actions that come late. Each keeps
 * its numbers in fields of the task's state. batchenv.robots has the same for tasks in NumPy. */
#ifndef BE_MUJOCO_MEMORY_H
#define BE_MUJOCO_MEMORY_H

#include <string.h>

#include "rng.h"

/* ---- histories: a field of steps * size doubles, the oldest values first -------------------------------- */

#define BE_HISTORY_FIELD(name_, steps, size)                                                                           \
    {name_, BE_F64, (steps) * (size), "the last values, the oldest first: " #steps " of them"}

/* At an episode's start, its first values stand for those before. */
static inline void be_history_start(double *history, int64_t steps, int64_t size, const double *values) {
    for (int64_t k = 0; k < steps; k++) memcpy(history + k * size, values, (size_t)size * sizeof *history);
}
/* After the physics: takes the values of this step, and forgets the oldest. */
static inline void be_history_add(double *history, int64_t steps, int64_t size, const double *values) {
    memmove(history, history + size, (size_t)((steps - 1) * size) * sizeof *history);
    memcpy(history + (steps - 1) * size, values, (size_t)size * sizeof *history);
}

/* ---- actions that reach the robot a number of MuJoCo's steps late, which is drawn for each episode ------- */

/* How many earlier actions are needed for delays of up to `most` steps; at least one, since a field has a size. Users
 * may set frame_skip, and be_delayed must not read more than there is: a task that lets them needs those of a
 * frame_skip of 1. */
#define BE_DELAY_KEPT(most, frame_skip)                                                                                \
    (((most) + (frame_skip) - 1) / (frame_skip) > 0 ? ((most) + (frame_skip) - 1) / (frame_skip) : 1)

/* Two fields that follow each other: the steps, and the earlier actions, the latest first. */
#define BE_DELAY_FIELDS(first, kept, size)                                                                             \
    [first] = {"delay_steps", BE_I64, 1, "by how many of MuJoCo's steps actions come late"},                           \
    [(first) + 1] = {"delay_actions", BE_F64, (kept) * (size), "earlier actions, the latest first"}

static inline void be_delay_start(int64_t *steps, double *earlier, int64_t kept, int64_t size, int64_t least,
                                  int64_t most, be_rng *rng) {
    *steps = be_rng_integers_inclusive(rng, least, most);
    memset(earlier, 0, (size_t)(kept * size) * sizeof *earlier);
}

/* For control() (step 0) and recontrol(): number j of the action that is there by MuJoCo's step `step` of this step. */
static inline double be_delayed(int64_t steps, const double *earlier, int64_t size, int64_t frame_skip, int64_t step,
                                const float *action, int64_t j) {
    const int64_t late = steps - step;
    return late <= 0 ? (double)action[j] : earlier[((late - 1) / frame_skip) * size + j];
}

/* For step(), when the physics has been stepped: control() may not write, since it may be asked more than once. */
static inline void be_delay_add(double *earlier, int64_t kept, int64_t size, const float *action) {
    memmove(earlier + size, earlier, (size_t)((kept - 1) * size) * sizeof *earlier);
    for (int64_t j = 0; j < size; j++) earlier[j] = (double)action[j];
}

#endif
