#include "core/batch.h"

#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/driver.h"
#include "core/error.h"
#include "core/math/fp.h"
#include "core/params.h"
#include "core/space.h"
#include "core/system/clock.h"
#include "core/system/memory.h"

/* ---- memory ----------------------------------------------------------------------------------------- */

/* Each column starts on a cache line, with a gap of a few lines after the one before. Without the gaps, the columns of
 * a batch with a power of two of lanes would all fall into the same cache sets. The pages of a large arena come from
 * be_pages_new, so each is placed on the node of the thread that first resets its lanes (first touch), unless
 * be_batch_place has placed it. */
#define COLUMN_STAGGER 320 /* never written, but readable: list_flagged may read beyond the end of a column */
#define PADDING_LANES 64

static size_t column_bytes(int64_t num_lanes, size_t lane_bytes) {
    size_t lanes = ((size_t)num_lanes + PADDING_LANES - 1) / PADDING_LANES * PADDING_LANES;
    return (lanes * lane_bytes + 63) / 64 * 64 + COLUMN_STAGGER;
}

static int arena_is_huge(size_t bytes) { return bytes >= (size_t)4 << 20; }

/* Lays out the batch's columns from `base` on and returns the bytes used. If base is NULL, only counts them. */
static size_t lay_out(be_batch *batch, unsigned char *base, const be_placement *placement) {
    struct be_driver *driver = batch->driver;
    size_t offset = 0;
#define COLUMN(pointer, lane_bytes)                                                                                    \
    do {                                                                                                               \
        if (base) (pointer) = (void *)(base + offset);                                                                 \
        if (placement) be_place_column(placement, base + offset, (lane_bytes), arena_is_huge(driver->arena_bytes));    \
        offset += column_bytes(batch->num_lanes, (lane_bytes));                                                        \
    } while (0)
    for (int i = 0; batch->type->state[i].name; i++) {
        COLUMN(batch->state[i], be_field_bytes(batch, i));
    }
    COLUMN(batch->rng, sizeof(be_rng));
    COLUMN(batch->elapsed, sizeof(int32_t));
    COLUMN(driver->pending, 1);
    if (be_lanes_may_fail(batch->type)) {
        COLUMN(driver->failures, sizeof(be_error));
        COLUMN(driver->failed, 1);
        COLUMN(driver->lost, 1);
    }
    const be_table *inner = &driver->inner, *outer = &driver->outer;
    if (driver->transform.transform_observation) COLUMN(driver->raw_observation, driver->raw_bytes);
    if (driver->transform.frame_stack) COLUMN(driver->frames, driver->observation_bytes);
    if (driver->transform.record_statistics) {
        COLUMN(driver->episode_return, sizeof(double));
        COLUMN(driver->episode_start, sizeof(double));
        if (batch->type->goes_on) COLUMN(driver->game_steps, sizeof(int64_t));
    }
    if (driver->transform.action_repeat > 1) {
        for (int i = 0; batch->type->state[i].name; i++) {
            COLUMN(driver->stopped[i], be_field_bytes(batch, i));
        }
        for (int k = 0; k < inner->count; k++) {
            const be_array *array = &inner->arrays[k];
            if (array->slot < BE_SLOT_PORT || array->group == BE_ROWS_ACTION) continue;
            COLUMN(driver->stopped_rows.slot[array->slot], array->bytes);
        }
    }
    BE_ARRAYS(array, outer, BE_ROWS_FINAL) COLUMN(driver->final.slot[array->slot], array->bytes); /* of SAME_STEP */
#undef COLUMN
    offset += be_rows_lay_out(inner, BE_ROWS_ALL, &driver->tail, BE_LANE_BLOCK, base ? base + offset : NULL);
    return offset;
}

static int make_arena(be_batch *batch, be_error *error) {
    struct be_driver *driver = batch->driver;
    driver->arena_bytes = lay_out(batch, NULL, NULL);
    driver->arena = be_pages_new(driver->arena_bytes, arena_is_huge(driver->arena_bytes));
    if (driver->arena == NULL) {
        return be_fail(error, BE_ERROR_MEMORY, -1, "cannot allocate %zu bytes for %lld lanes", driver->arena_bytes,
                       (long long)batch->num_lanes);
    }
    lay_out(batch, driver->arena, NULL);
    for (int64_t i = batch->num_lanes; i % BE_LANE_BLOCK; i++) be_rng_seed_u64(&batch->rng[i], (uint64_t)i);
    return BE_OK;
}

void be_batch_place(be_batch *batch, be_placement *placement) {
    if (placement == NULL) return;
    batch->driver->placement = placement;
    if (!be_memory_policy_is_set()) lay_out(batch, batch->driver->arena, placement);
}

const be_placement *be_batch_placement(const be_batch *batch) { return batch->driver->placement; }

int be_lane_columns(const be_batch *batch, be_lane_column *columns) {
    const struct be_driver *driver = batch->driver;
    int count = 0;
    for (const be_field *field = batch->type->state; field->name; field++, count++) {
        columns[count] = (be_lane_column){batch->state[count], be_field_bytes(batch, count)};
    }
    columns[count++] = (be_lane_column){batch->rng, sizeof *batch->rng};
    columns[count++] = (be_lane_column){batch->elapsed, sizeof *batch->elapsed};
    columns[count++] = (be_lane_column){driver->pending, 1};
    if (driver->episode_return) columns[count++] = (be_lane_column){driver->episode_return, sizeof(double)};
    if (driver->game_steps) columns[count++] = (be_lane_column){driver->game_steps, sizeof(int64_t)};
    if (driver->frames) columns[count++] = (be_lane_column){driver->frames, driver->observation_bytes};
    return count;
}

size_t be_engine_bytes(const be_batch *batch) { return batch->type->saved_bytes ? batch->type->saved_bytes(batch) : 0; }

/* ---- making ------------------------------------------------------------------------------------------ */

#define LOOK_SECONDS 0.05

int be_interrupted(const be_batch *batch, be_error *error) {
    struct be_driver *driver = batch->driver;
    if (driver->look == NULL || be_now_seconds() < driver->next_look) return 0;
    driver->next_look = be_now_seconds() + LOOK_SECONDS;
    if (!driver->look(driver->look_context)) return 0;
    be_fail(error, BE_ERROR_ENGINE, -1, "interrupted");
    return 1;
}

/* Fills the tables of arrays. The spaces must be known. */
static void make_tables(be_batch *batch) {
    struct be_driver *driver = batch->driver;
    const be_port *ports = batch->type->ports;
    const be_transform *transform = &driver->transform;
    be_table *inner = &driver->inner, *outer = &driver->outer;
    const be_space *observation = &batch->space[driver->observation];
    driver->raw_bytes = be_space_row_bytes(observation);
    driver->observation_bytes =
        transform->transform_observation ? be_transformed_bytes(observation, transform) : driver->raw_bytes;
    be_table_add(inner, BE_SLOT_REWARD, BE_ROWS_RESULT, sizeof(double));
    be_table_add(inner, BE_SLOT_TERMINATED, BE_ROWS_RESULT, 1);
    if (batch->type->flags & BE_OWN_LIMITS) be_table_add(inner, BE_SLOT_TRUNCATED, BE_ROWS_RESULT, 1);
    for (int k = 0; k < driver->num_ports; k++) {
        const size_t bytes = be_space_row_bytes(&batch->space[k]);
        if (bytes == 0) continue; /* prepare() has left it out */
        if (ports[k].role == BE_REWARD) driver->rewards[driver->num_rewards++] = k;
        be_table_add(inner, BE_SLOT_PORT + k, 1 << ports[k].role, bytes);
    }
    *outer = *inner;
    for (int k = 0; k < outer->count; k++) {
        if (outer->arrays[k].slot == BE_SLOT_PORT + driver->observation) {
            outer->arrays[k].bytes = driver->observation_bytes;
        }
    }
    if (!(batch->type->flags & BE_OWN_LIMITS)) be_table_add(outer, BE_SLOT_TRUNCATED, BE_ROWS_RESULT, 1);
    be_table_add(outer, BE_SLOT_STARTED, BE_ROWS_DRIVER, 1);
    if (transform->record_statistics) {
        be_table_add(outer, BE_SLOT_EPISODE_RETURN, BE_ROWS_DRIVER, sizeof(double));
        be_table_add(outer, BE_SLOT_EPISODE_SECONDS, BE_ROWS_DRIVER, sizeof(double));
        be_table_add(outer, BE_SLOT_EPISODE_LENGTH, BE_ROWS_DRIVER, sizeof(int64_t));
    }
    const int count = driver->autoreset == BE_SAME_STEP ? outer->count : 0;
    for (int k = 0; k < count; k++) {
        const be_array *array = &outer->arrays[k];
        if (!(array->group & BE_ROWS_LANE)) continue;
        be_table_add(outer, array->slot - BE_SLOT_PORT + BE_SLOT_FINAL, BE_ROWS_FINAL, array->bytes);
    }
}

static void set_options(be_batch *batch, const be_batch_options *options) {
    struct be_driver *driver = batch->driver;
    const be_param *table = options->type->options;
    batch->type = options->type;
    batch->num_lanes = options->num_lanes;
    driver->look = options->look;
    driver->look_context = options->look_context;
    driver->next_look = be_now_seconds() + LOOK_SECONDS;
    driver->autoreset = options->autoreset;
    driver->max_episode_steps = options->max_episode_steps > 0 ? options->max_episode_steps : INT32_MAX;
    driver->transform = options->transform ? *options->transform : (be_transform){.action_repeat = 1};
    for (int i = 0; table && table[i].name; i++) driver->default_options[i] = table[i].value;
}

static int open_type(be_batch *batch, const void *engine, be_error *error) {
    const be_env_type *type = batch->type;
    error->status = BE_OK;
    return type->open && type->open(batch, engine, error) != BE_OK ? be_unexplained(type, error) : BE_OK;
}

static int fill(be_batch *batch, const be_batch_options *options, be_error *error) {
    set_options(batch, options);
    if (be_check_ports(batch->type, error) != BE_OK || be_checked_open(batch, error) != BE_OK ||
        be_params_open(batch, options->grid, options->texts, error) != BE_OK ||
        open_type(batch, options->engine, error) != BE_OK ||
        be_batch_configure(batch, options->params, options->columns, error) != BE_OK ||
        be_transform_open(batch, error) != BE_OK) {
        return (int)error->status;
    }
    make_tables(batch);
    return make_arena(batch, error);
}

be_batch *be_batch_create(const be_batch_options *options, be_error *error) {
    struct whole {
        be_batch batch;
        struct be_driver driver;
    } *whole = calloc(1, sizeof *whole);
    if (whole == NULL) {
        be_out_of_memory(error);
        return NULL;
    }
    whole->batch.driver = &whole->driver;
    const be_fp before = be_fp_enter(); /* types compute tables when they are opened and configured */
    const int status = fill(&whole->batch, options, error);
    be_fp_leave(&before);
    if (status == BE_OK) return &whole->batch;
    be_batch_destroy(&whole->batch);
    return NULL;
}

void be_batch_destroy(be_batch *batch) {
    if (batch == NULL) return;
    if (batch->engine && batch->type->close) batch->type->close(batch);
    if (batch->driver->arena) be_pages_free(batch->driver->arena, batch->driver->arena_bytes);
    be_params_close(batch);
    free(batch->driver->coefficients);
    free(batch->driver->placement);
    free(batch->driver->checked);
    free(batch); /* and the driver: see be_batch_create */
}

/* ---- looking ----------------------------------------------------------------------------------------- */

int64_t be_batch_bytes(const be_batch *batch) {
    return (int64_t)(batch->driver->arena_bytes + batch->driver->values_bytes + sizeof *batch + sizeof *batch->driver);
}

void be_batch_point_final(const be_batch *batch, be_rows *rows) {
    memcpy(rows->final, batch->driver->final.final, sizeof rows->final);
}

const be_table *be_batch_table(const be_batch *batch) { return &batch->driver->outer; }

int be_observation_port(const be_batch *batch) { return batch->driver->observation; }
