/* How a lane's episode begins, and what a lane that fails leaves behind. Steps, resets and the queue all use these
 * functions.
 *
 * `rows` are the rows that kernels write. If observations are transformed, these are the raw ones. */
#ifndef BE_EPISODE_H
#define BE_EPISODE_H

#include "core/batch.h"

/* Starts an episode in each of the lanes listed. `now` is a time in seconds, for the statistics. Single lanes of
 * BE_LANE_BY_LANE types may fail. */
int be_episodes_start(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, double now,
                      be_error *error);

/* Notes that a lane has failed. Its observation and infos become zeros, its episode is over (truncated, unless it has
 * just terminated), `error` is kept for be_batch_failure, and its next step resets it. The other lanes go on. */
void be_lane_fail(be_batch *batch, int64_t lane, const be_rows *rows, const be_error *error);

/* Keeps the error of a lane that has failed, until somebody is told. */
void be_note_failure(be_batch *batch, int64_t lane, const be_error *error);

/* Points `inner` at the rows that kernels write when the caller is to get `rows`. */
void be_rows_inner(const be_batch *batch, be_rows *inner, const be_rows *rows);

/* Whether an episode of `elapsed` steps has reached the time limit. */
static inline int be_is_at_limit(const struct be_driver *driver, int32_t elapsed) {
    return driver->max_episode_steps != INT32_MAX && elapsed >= driver->max_episode_steps;
}

#endif
