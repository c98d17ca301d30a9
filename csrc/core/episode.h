/* Lanes' episodes: how they begin, what is seen of them, and what a lane that fails leaves behind. Steps, resets and
 * the queue all use these functions. */
#ifndef BE_EPISODE_H
#define BE_EPISODE_H

#include "batchenv.h"
#include "random_state.h"

typedef enum be_autoreset { BE_NEXT_STEP, BE_SAME_STEP, BE_DISABLED } be_autoreset;

#define BE_LIST 256 /* lanes listed for one call of a kernel's reset or observe */

/* The column of the streams of a type with BE_RANDOM_STATE, or NULL if the type has none. */
be_random_state *be_batch_random_states(const be_batch *batch);

/* Sets the fields of lanes begin..end-1 to 0, if that is what a seed does. */
void be_batch_clear_state(be_batch *batch, int64_t begin, int64_t end);

/* Seeds one lane with the integer `words` (little-endian) plus `add`. */
void be_batch_seed_lane(be_batch *batch, int64_t lane, const uint32_t *words, size_t num_words, uint64_t add);

/* Seeds lanes begin..end-1 with the integer `words` (little-endian) plus the lane's index. */
int be_batch_seed(be_batch *batch, const uint32_t *words, size_t num_words, int64_t begin, int64_t end);

/* Resets those lanes of begin..end-1 for which `mask` (NULL: all lanes) is 1, and clears their pending autoreset.
 * Writes the observation of every lane of the range, reset or not, and the infos of those that were reset; also their
 * reward and flags, which are 0, if `rows` has a place for rewards. `options` NULL means the defaults. Single lanes of
 * types for which be_lanes_may_fail() may fail: see be_batch_take_failures. The next step of such a lane resets it. */
int be_batch_reset(be_batch *batch, int64_t begin, int64_t end, const uint8_t *mask, const double *options,
                   const be_rows *rows, be_error *error);

/* Writes the observation of the present state of lanes begin..end-1. */
int be_batch_observe(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error);

/* Writes the observation of the lanes listed (ascending), and fills their stacks of frames with it. */
int be_batch_observe_first(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error);

/* First lane of begin..end-1 that has finished and waits for a reset, or -1. */
int64_t be_batch_first_pending(const be_batch *batch, int64_t begin, int64_t end);

/* Of all lanes: 1 where that is so. */
uint8_t *be_batch_pending(const be_batch *batch);

/* ---- failures --------------------------------------------------------------------------------------- */

/* Whether single lanes may fail, and the type may truncate episodes. */
static inline int be_lanes_may_fail(const be_env_type *type) {
    return (type->flags & (BE_LANE_BY_LANE | BE_OWN_LIMITS)) != 0;
}

/* Lists the lanes that have failed since the last call: writes their numbers to `lanes` (room for num_lanes),
 * ascending, and returns how many there are. The error of each is be_batch_failure(batch, lane). */
int64_t be_batch_take_failures(be_batch *batch, int64_t *lanes);
int be_batch_take_failure(be_batch *batch, int64_t lane); /* 1 if this one has failed since */

/* Forgets failures, while no thread steps lanes. In a child of fork(), any flag may be set without the others: pages
 * are copied one after the other, and the parent's threads write meanwhile. */
void be_batch_forget_failures(be_batch *batch);
const be_error *be_batch_failure(const be_batch *batch, int64_t lane);

/* Keeps the error of a lane that has failed, until somebody is told. */
void be_note_failure(be_batch *batch, int64_t lane, const be_error *error);

/* ---- for steps: `rows` are those that kernels write. If observations are transformed, these are the raw ones ---- */

/* Starts an episode in each of the lanes listed. `now` is a time in seconds, for the statistics. Single lanes of
 * BE_LANE_BY_LANE types may fail. */
int be_episodes_start(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, double now,
                      be_error *error);

/* Notes that a lane has failed. Its observation and infos become zeros, its episode is over (truncated, unless it has
 * just terminated), `error` is kept for be_batch_failure, and its next step resets it. The other lanes go on. */
void be_lane_fail(be_batch *batch, int64_t lane, const be_rows *rows, const be_error *error);

/* Points `inner` at the rows that kernels write when the caller is to get `rows`. */
void be_rows_inner(const be_batch *batch, be_rows *inner, const be_rows *rows);

/* Lets the type do at once what it can (driver->ahead) for those of the lanes listed (NULL: those from rows->first on;
 * at most BE_LIST) that are about to be stepped: not for those that have finished or whose `skip` (or NULL) is 1. The
 * action of lane lanes[k] is row places[k] or, if `places` is NULL, the lane's row by rows->first. */
void be_step_ahead(be_batch *batch, const int64_t *lanes, const int64_t *places, const uint8_t *skip, int64_t count,
                   const be_rows *rows);

#endif
