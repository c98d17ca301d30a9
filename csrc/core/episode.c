#include "core/episode.h"

#include <stdarg.h>
#include <stdio.h>

static void start_statistics(be_batch *batch, int64_t lane, double now) {
    struct be_driver *driver = batch->driver;
    if (!driver->transform.record_statistics || (driver->game_steps && batch->type->goes_on(batch, lane))) return;
    driver->episode_return[lane] = 0;
    driver->episode_start[lane] = now;
    if (driver->game_steps) driver->game_steps[lane] = 0;
}

int be_episodes_start(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, double now,
                      be_error *error) {
    const be_env_type *type = batch->type;
    for (int64_t k = 0; k < count; k++) {
        batch->elapsed[lanes[k]] = 0;
        batch->driver->pending[lanes[k]] = 0;
        start_statistics(batch, lanes[k], now);
        if (rows->started) rows->started[lanes[k] - rows->first] = 1;
    }
    if (!(type->flags & BE_LANE_BY_LANE)) return type->reset(batch, lanes, count, rows, error);
    for (int64_t k = 0; k < count; k++) {
        be_error lane_error;
        lane_error.status = BE_OK;
        if (type->reset(batch, &lanes[k], 1, rows, &lane_error) != BE_OK) {
            (void)be_unexplained(type, &lane_error);
            be_lane_fail(batch, lanes[k], rows, &lane_error);
        }
    }
    return BE_OK;
}

void be_lane_fail(be_batch *batch, int64_t lane, const be_rows *rows, const be_error *error) {
    struct be_driver *driver = batch->driver;
    const int64_t row = lane - rows->first;
    be_rows_clear(&driver->inner, BE_ROWS_LANE, rows, row);
    if (rows->truncated) rows->truncated[row] |= !rows->terminated[row];
    driver->lost[lane] = driver->pending[lane] = 1;
    be_note_failure(batch, lane, error);
}

void be_note_failure(be_batch *batch, int64_t lane, const be_error *error) {
    struct be_driver *driver = batch->driver;
    driver->failures[lane] = *error;
    driver->failures[lane].lane = lane;
    __atomic_store_n(&driver->failed[lane], 1, __ATOMIC_RELAXED);
    __atomic_store_n(&driver->any_failed, 1, __ATOMIC_RELEASE);
}

void be_fail_lane(be_batch *batch, int64_t lane, const be_rows *rows, const char *format, ...) {
    be_error error = {BE_ERROR_ENGINE, lane, ""};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error.message, sizeof error.message, format, arguments);
    va_end(arguments);
    if (rows->reward) rows->reward[lane - rows->first] = 0;
    be_lane_fail(batch, lane, rows, &error);
}

void be_rows_inner(const be_batch *batch, be_rows *inner, const be_rows *rows) {
    const struct be_driver *driver = batch->driver;
    *inner = *rows;
    if (!driver->transform.transform_observation) return;
    inner->port[driver->observation] = driver->raw_observation + (size_t)rows->first * driver->raw_bytes;
}
