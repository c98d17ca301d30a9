/* How a lane's episode begins, and what a lane that fails leaves behind: said here, for steps, resets and the queue.
 *
 * `rows` are those that kernels write: where observations are transformed on their way out, the raw ones. */
#ifndef BE_EPISODE_H
#define BE_EPISODE_H

#include "core/batch.h"

/* Starts an episode in each of the lanes listed. `now` in seconds, for the statistics. Of BE_LANE_BY_LANE types a lane
 * may fail by itself. */
int be_episodes_start(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, double now,
                      be_error *error);

/* A lane has failed: `error` becomes its own, zeros go out, its episode is over (truncated, unless it has just been
 * terminated), and its next step resets it. The other lanes go on. */
void be_lane_fail(be_batch *batch, int64_t lane, const be_rows *rows, const be_error *error);

/* Points `inner` at what kernels write when `rows` are to go out. */
void be_rows_inner(const be_batch *batch, be_rows *inner, const be_rows *rows);

/* Whether an episode of so many steps has reached the limit. */
static inline int be_is_at_limit(const struct be_driver *driver, int32_t elapsed) {
    return driver->max_episode_steps != INT32_MAX && elapsed >= driver->max_episode_steps;
}

#endif
