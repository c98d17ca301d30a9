#include "core/episode.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/agenda.h"
#include "core/driver.h"
#include "core/error.h"
#include "core/math/fp.h"
#include "core/system/clock.h"

/* ---- in a step -------------------------------------------------------------------------------------- */

static void start_statistics(be_batch *batch, int64_t lane, double now) {
    struct be_driver *driver = batch->driver;
    if (!driver->transform.record_statistics || (driver->game_steps && batch->type->goes_on(batch, lane))) return;
    driver->episode_return[lane] = 0;
    driver->episode_start[lane] = now;
    if (driver->game_steps) driver->game_steps[lane] = 0;
}

static int reset_lanes(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    const be_env_type *type = batch->type;
    if (!(type->flags & BE_LANE_BY_LANE)) return type->reset(batch, lanes, count, rows, error);
    if (batch->driver->starting) batch->driver->starting(batch, lanes, count);
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

/* Starts the episode of one lane as its agenda's entry says. */
static int start_planned(be_batch *batch, int64_t lane, const be_rows *rows, be_error *error) {
    const struct be_driver *driver = batch->driver;
    const be_agenda *agenda = driver->agenda;
    const int64_t entry = agenda->places[lane].entry;
    if (be_agenda_load(batch, lane)) {
        be_rows_clear(&driver->inner, BE_ROWS_INFO, rows, lane - rows->first); /* observe() writes no infos */
        return batch->type->observe(batch, &lane, 1, rows, error);
    }
    if (entry < 0 || agenda->has_options == NULL || !agenda->has_options[entry] ||
        rows->options != driver->default_options) { /* the caller's own come first */
        return reset_lanes(batch, &lane, 1, rows, error);
    }
    be_rows own = *rows;
    own.options = agenda->options + entry * agenda->num_options;
    return reset_lanes(batch, &lane, 1, &own, error);
}

/* The same of at most BE_LIST lanes. Those that cannot take their entries have failed, and are not reset. */
static int start_all_planned(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows,
                             be_error *error) {
    const be_agenda *agenda = batch->driver->agenda;
    int64_t able[BE_LIST];
    int status = be_agenda_begin(batch, lanes, count, rows, error);
    if (agenda->prepare || agenda->num_params) {
        int64_t num_able = 0;
        for (int64_t k = 0; k < count; k++) {
            if (!batch->driver->pending[lanes[k]]) able[num_able++] = lanes[k];
        }
        lanes = able;
        count = num_able;
    }
    if (status == BE_OK && !be_agenda_is_apart(agenda)) return reset_lanes(batch, lanes, count, rows, error);
    for (int64_t k = 0; k < count && status == BE_OK; k++) status = start_planned(batch, lanes[k], rows, error);
    return status;
}

int be_episodes_start(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, double now,
                      be_error *error) {
    const be_agenda *agenda = batch->driver->agenda;
    for (int64_t k = 0; k < count; k++) {
        batch->elapsed[lanes[k]] = 0;
        batch->driver->pending[lanes[k]] = 0;
        start_statistics(batch, lanes[k], now);
        if (rows->started) rows->started[lanes[k] - rows->first] = 1;
    }
    return agenda ? start_all_planned(batch, lanes, count, rows, error) : reset_lanes(batch, lanes, count, rows, error);
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

void be_step_ahead(be_batch *batch, const int64_t *lanes, const int64_t *places, const uint8_t *skip, int64_t count,
                   const be_rows *rows) {
    int64_t due[BE_LIST], due_places[BE_LIST], n = 0;
    if (batch->driver->ahead == NULL || count < 2) return;
    for (int64_t k = 0; k < count; k++) {
        const int64_t lane = lanes ? lanes[k] : rows->first + k;
        if (batch->driver->pending[lane] || (skip && skip[k])) continue;
        due[n] = lane;
        due_places[n++] = places ? places[k] : lane - rows->first;
    }
    if (n > 1) batch->driver->ahead(batch, due, due_places, n, rows);
}

/* ---- failures --------------------------------------------------------------------------------------- */

int64_t be_batch_take_failures(be_batch *batch, int64_t *lanes) {
    struct be_driver *driver = batch->driver;
    if (!driver->failed || !__atomic_exchange_n(&driver->any_failed, 0, __ATOMIC_ACQ_REL)) return 0;
    int64_t count = 0;
    for (int64_t i = 0; i < batch->num_lanes; i++) {
        if (__atomic_exchange_n(&driver->failed[i], 0, __ATOMIC_RELAXED)) lanes[count++] = i;
    }
    return count;
}

void be_batch_forget_failures(be_batch *batch) {
    struct be_driver *driver = batch->driver;
    if (!driver->failed) return;
    memset(driver->failed, 0, (size_t)batch->num_lanes);
    __atomic_store_n(&driver->any_failed, 0, __ATOMIC_RELEASE);
}

int be_batch_take_failure(be_batch *batch, int64_t lane) {
    uint8_t *failed = batch->driver->failed;
    return failed && __atomic_exchange_n(&failed[lane], 0, __ATOMIC_RELAXED);
}

const be_error *be_batch_failure(const be_batch *batch, int64_t lane) {
    /* Kernels give no reasons for single lanes. */
    static const be_error whole_range = {BE_ERROR_ENGINE, -1, "the step failed"};
    return batch->driver->failures ? &batch->driver->failures[lane] : &whole_range;
}

/* ---- seeding and resets ----------------------------------------------------------------------------- */

be_random_state *be_batch_random_states(const be_batch *batch) {
    if (!(batch->flags & BE_RANDOM_STATE)) return NULL;
    const be_field *fields = batch->type->state;
    int k = 0;
    while (strcmp(fields[k].name, BE_RANDOM_STATE_NAME) != 0) k++;
    return batch->state[k];
}

void be_batch_clear_state(be_batch *batch, int64_t begin, int64_t end) {
    const be_field *fields = batch->type->state;
    for (int k = 0; (batch->flags & BE_SEED_CLEARS) && fields[k].name; k++) {
        const size_t row = (size_t)batch->field_size[k] * be_dtype_size(fields[k].dtype);
        memset((unsigned char *)batch->state[k] + (size_t)begin * row, 0, (size_t)(end - begin) * row);
    }
}

void be_batch_seed_lane(be_batch *batch, int64_t lane, const uint32_t *words, size_t num_words, uint64_t add) {
    be_batch_clear_state(batch, lane, lane + 1);
    be_random_state *streams = be_batch_random_states(batch);
    if (streams) be_random_state_seed(&streams[lane], words, num_words, add);
    (void)be_rng_seed_words_plus(&batch->rng[lane], words, num_words, add);
}

int be_batch_seed(be_batch *batch, const uint32_t *words, size_t num_words, int64_t begin, int64_t end) {
    if (num_words <= 2 && !(batch->flags & BE_RANDOM_STATE)) {
        uint64_t base = (num_words > 0 ? words[0] : 0) | (uint64_t)(num_words > 1 ? words[1] : 0) << 32;
        if (base <= UINT64_MAX - (uint64_t)end) {
            be_batch_clear_state(batch, begin, end);
            for (int64_t i = begin; i < end; i++) be_rng_seed_u64(&batch->rng[i], base + (uint64_t)i);
            return 0;
        }
    }
    for (int64_t i = begin; i < end; i++) be_batch_seed_lane(batch, i, words, num_words, (uint64_t)i);
    return 0;
}

int be_batch_reset(be_batch *batch, int64_t begin, int64_t end, const uint8_t *mask, const double *options,
                   const be_rows *rows, be_error *error) {
    const struct be_driver *driver = batch->driver;
    const int transformed = driver->transform.transform_observation;
    be_rows inner;
    be_rows_inner(batch, &inner, rows);
    inner.options = options ? options : driver->default_options;
    const double now = driver->transform.record_statistics ? be_now_seconds() : 0;
    int64_t chosen[BE_LIST], others[BE_LIST];
    for (int64_t i = begin; i < end;) {
        int64_t num_chosen = 0, num_others = 0;
        for (; i < end && num_chosen < BE_LIST && num_others < BE_LIST; i++) {
            if (mask == NULL || mask[i] != 0) {
                /* Final rows, too: they are handed out if the reset fails. */
                const int groups = BE_ROWS_RESULT | BE_ROWS_DRIVER | BE_ROWS_FINAL;
                if (rows->reward) {
                    be_rows_clear(&driver->outer, groups, rows, i - rows->first);
                    if (driver->tells_entries) rows->episode_entry[i - rows->first] = BE_NO_ENTRY;
                }
                chosen[num_chosen++] = i;
            } else {
                others[num_others++] = i;
            }
        }
        int status = be_episodes_start(batch, chosen, num_chosen, &inner, now, error);
        if (status == BE_OK) status = batch->type->observe(batch, others, num_others, &inner, error);
        if (status != BE_OK) return be_unexplained(batch->type, error);
        if (transformed) {
            be_transform_observations(batch, chosen, num_chosen, rows->first, rows->port[driver->observation],
                                      BE_FRAME_NEXT);
            be_transform_observations(batch, others, num_others, rows->first, rows->port[driver->observation],
                                      BE_FRAME_SAME);
        }
    }
    return BE_OK;
}

/* At most BE_LIST lanes. */
static int observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_frame frame_is,
                   be_error *error) {
    const struct be_driver *driver = batch->driver;
    be_rows inner;
    be_rows_inner(batch, &inner, rows);
    const be_fp before = be_fp_enter();
    error->status = BE_OK;
    int status = batch->type->observe(batch, lanes, count, &inner, error);
    if (status != BE_OK) status = be_unexplained(batch->type, error);
    if (status == BE_OK && driver->transform.transform_observation) {
        be_transform_observations(batch, lanes, count, rows->first, rows->port[driver->observation], frame_is);
    }
    be_fp_leave(&before);
    return status;
}

int be_batch_observe(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    int64_t lanes[BE_LIST];
    int status = BE_OK;
    for (int64_t i = begin; i < end && status == BE_OK;) {
        int64_t count = 0;
        while (i < end && count < BE_LIST) lanes[count++] = i++;
        status = observe(batch, lanes, count, rows, BE_FRAME_SAME, error);
    }
    return status;
}

int be_batch_observe_first(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    int status = BE_OK;
    for (int64_t k = 0; k < count && status == BE_OK; k += BE_LIST) {
        status = observe(batch, lanes + k, count - k < BE_LIST ? count - k : BE_LIST, rows, BE_FRAME_FIRST, error);
    }
    return status;
}

int64_t be_batch_first_pending(const be_batch *batch, int64_t begin, int64_t end) {
    const uint8_t *found = memchr(batch->driver->pending + begin, 1, (size_t)(end - begin));
    return found ? found - batch->driver->pending : -1;
}

uint8_t *be_batch_pending(const be_batch *batch) { return batch->driver->pending; }
