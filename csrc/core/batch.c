#include "core/batch.h"

#include "core/episode.h"
#include "core/math/fp.h"
#include "core/system/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int be_fail(be_error *error, be_status status, int64_t lane, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    error->lane = lane;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return (int)status;
}

int be_unexplained(const be_env_type *type, be_error *error) {
    if (error->status != BE_OK) return (int)error->status;
    return be_fail(
        error, BE_ERROR_VALUE, -1,
        "a function of type %s has failed without a message: each must return BE_OK, or what be_fail() returns",
        type->name);
}

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
    for (int k = 0; k < outer->count; k++) { /* only used with SAME_STEP */
        const be_array *array = &outer->arrays[k];
        if (array->group & BE_ROWS_FINAL) COLUMN(driver->final.slot[array->slot], array->bytes);
    }
#undef COLUMN
    offset += be_rows_lay_out(inner, BE_ROWS_ALL, &driver->tail, BE_LANE_BLOCK, base ? base + offset : NULL);
    return offset;
}

static int copy_grid(be_batch *batch, const be_grid *grid) {
    uint8_t *cells = malloc((size_t)(grid->rows * grid->columns));
    if (cells == NULL) return -1;
    memcpy(cells, grid->cells, (size_t)(grid->rows * grid->columns));
    batch->grid = (be_grid){cells, grid->rows, grid->columns};
    return 0;
}

/* Copies the values of TEXT params. */
static int copy_texts(be_batch *batch, const char *const *texts) {
    const be_param *table = batch->type->params;
    char **own = batch->driver->texts;
    batch->texts = (const char *const *)own;
    for (int i = 0; table && table[i].name; i++) {
        if (table[i].kind != BE_PARAM_TEXT) continue;
        const char *text = texts ? texts[i] : table[i].text ? table[i].text : "";
        const size_t bytes = strlen(text) + 1;
        own[i] = malloc(bytes);
        if (own[i] == NULL) return -1;
        memcpy(own[i], text, bytes);
    }
    return 0;
}

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

/* The driver has room for several sets of spaces, of which the present one comes first. */
enum { PRESENT, OF_TABLE, OF_FIRST_LANE, OF_LANE, SPACES };

static be_space *spaces_of(const be_batch *batch, int which) {
    return batch->driver->space + (size_t)(which * batch->driver->num_ports);
}

/* Whether prepare() has left this part of the observation in. */
static int is_observed(const be_batch *batch, int port) {
    return batch->type->ports[port].role == BE_OBSERVATION && be_space_row_size(&batch->space[port]) > 0;
}

/* Says which transforms are asked for that work on observations of one array of numbers only, and which parts there
 * are. */
static int refuse_transforms(const be_batch *batch, const be_transform *transform, be_error *error) {
    const be_env_type *type = batch->type;
    const char *const asked[] = {
        transform->rescale ? "rescale_observation" : NULL, transform->time_aware ? "time_aware" : NULL,
        transform->convert ? "observation_dtype" : NULL, transform->frame_stack ? "frame_stack" : NULL};
    char names[100] = "", parts[200] = "";
    for (size_t k = 0, used = 0; k < sizeof asked / sizeof *asked; k++) {
        if (asked[k]) used += (size_t)snprintf(names + used, sizeof names - used, used ? ", %s" : "%s", asked[k]);
    }
    size_t used = 0;
    int count = 0;
    for (int k = 0; k < batch->driver->num_ports; k++) {
        if (!is_observed(batch, k)) continue;
        count++;
        if (used >= sizeof parts) continue;
        used += (size_t)snprintf(parts + used, sizeof parts - used, used ? ", '%s'" : "'%s'", type->ports[k].name);
    }
    if (count == 1) {
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "%s: only observations of numbers can be transformed so, and those of %s are texts: leave it "
                       "out, and transform what reset() and step() return",
                       names, type->name);
    }
    if (used >= sizeof parts) memcpy(parts + sizeof parts - 4, "...", 4);
    return be_fail(error, BE_ERROR_VALUE, -1,
                   "%s: only observations that are one array can be transformed so, and those of %s have several parts "
                   "(%s): leave it out and transform the parts that reset() and step() return, or, where the "
                   "environment has that keyword, pass observation='flat'",
                   names, type->name, parts);
}

/* Checks what a type's table of ports must have, for built-in types and those of others. */
static int check_ports(const be_env_type *type, be_error *error) {
    int count = 0, actions = 0, observations = 0;
    for (; type->ports && count <= BE_MAX_PORTS && type->ports[count].name; count++) {
        actions += type->ports[count].role == BE_ACTION;
        observations += type->ports[count].role == BE_OBSERVATION;
    }
    if (count > BE_MAX_PORTS) {
        return be_fail(error, BE_ERROR_VALUE, -1, "type %s has more than %d ports, or {0} is missing at their end",
                       type->name, BE_MAX_PORTS);
    }
    if (actions == 0 || observations == 0) {
        return be_fail(
            error, BE_ERROR_VALUE, -1,
            "type %s has no port with the role %s among the first %d: give .ports a row of it (a row that is "
            "left out between others ends the table there)",
            type->name, actions ? "BE_OBSERVATION" : "BE_ACTION", count);
    }
    return BE_OK;
}

/* Finds the observation that is transformed, and checks that it can be. The spaces must be known. */
static int find_observation(be_batch *batch, const be_transform *transform, be_error *error) {
    struct be_driver *driver = batch->driver;
    int count = 0;
    for (int k = driver->num_ports - 1; k >= 0; k--) {
        if (!is_observed(batch, k)) continue;
        driver->observation = k;
        count++;
    }
    const int texts = batch->space[driver->observation].kind == BE_SPACE_TEXT;
    if (transform->transform_observation && (count > 1 || texts)) return refuse_transforms(batch, transform, error);
    return BE_OK;
}

static be_batch *create(const be_batch_options *options, be_error *error) {
    const be_env_type *type = options->type;
    const be_transform none = {.action_repeat = 1}, *transform = options->transform ? options->transform : &none;
    if (check_ports(type, error) != BE_OK) return NULL;
    be_batch *batch = calloc(1, sizeof *batch);
    struct be_driver *driver = calloc(1, sizeof *driver);
    if (batch == NULL || driver == NULL) {
        free(batch);
        free(driver);
        be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
        return NULL;
    }
    int status;
    driver->checked = be_checked_type(&type, &status);
    batch->type = type;
    batch->driver = driver;
    if (status != 0) {
        be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
        be_batch_destroy(batch);
        return NULL;
    }
    batch->num_lanes = options->num_lanes;
    driver->look = options->look;
    driver->look_context = options->look_context;
    driver->next_look = be_now_seconds() + LOOK_SECONDS;
    driver->autoreset = options->autoreset;
    driver->max_episode_steps = options->max_episode_steps > 0 ? options->max_episode_steps : INT32_MAX;
    driver->transform = *transform;
    double params[BE_MAX_PARAMS] = {0};
    for (int i = 0; type->params && type->params[i].name; i++) {
        params[i] = options->params ? options->params[i] : type->params[i].value;
    }
    for (int i = 0; type->options && type->options[i].name; i++) driver->default_options[i] = type->options[i].value;
    while (type->ports[driver->num_ports].name) driver->num_ports++;
    driver->space = calloc(SPACES * (size_t)driver->num_ports, sizeof *driver->space);
    if (driver->space == NULL) {
        be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
        be_batch_destroy(batch);
        return NULL;
    }
    batch->space = driver->space;
    for (int k = 0; k < driver->num_ports; k++) spaces_of(batch, OF_TABLE)[k] = be_space_of_port(&type->ports[k]);
    if ((options->grid && copy_grid(batch, options->grid) != 0) || copy_texts(batch, options->texts) != 0) {
        be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
        be_batch_destroy(batch);
        return NULL;
    }
    error->status = BE_OK;
    if ((type->open && type->open(batch, options->engine, error) != BE_OK && be_unexplained(type, error)) ||
        be_batch_configure(batch, params, options->columns, error) != BE_OK ||
        find_observation(batch, transform, error) != BE_OK) {
        be_batch_destroy(batch);
        return NULL;
    }
    make_tables(batch);
    if (driver->transform.rescale) {
        const size_t size = (size_t)be_space_row_size(&batch->space[driver->observation]);
        driver->coefficients = calloc(2 * size, sizeof *driver->coefficients);
        if (driver->coefficients == NULL) {
            be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
            be_batch_destroy(batch);
            return NULL;
        }
        driver->transform.gradient = driver->coefficients;
        driver->transform.intercept = driver->coefficients + size;
    }
    driver->arena_bytes = lay_out(batch, NULL, NULL);
    driver->arena = be_pages_new(driver->arena_bytes, arena_is_huge(driver->arena_bytes));
    if (driver->arena == NULL) {
        be_fail(error, BE_ERROR_MEMORY, -1, "cannot allocate %zu bytes for %lld lanes", driver->arena_bytes,
                (long long)batch->num_lanes);
        be_batch_destroy(batch);
        return NULL;
    }
    lay_out(batch, driver->arena, NULL);
    for (int64_t i = batch->num_lanes; i % BE_LANE_BLOCK; i++) be_rng_seed_u64(&batch->rng[i], (uint64_t)i);
    return batch;
}

void be_step_ahead(be_batch *batch, const int64_t *lanes, const int64_t *places, int64_t count, const be_rows *rows) {
    int64_t due[BE_LIST], due_places[BE_LIST], n = 0;
    if (batch->driver->ahead == NULL) return;
    for (int64_t k = 0; k < count; k++) {
        if (batch->driver->pending[lanes[k]]) continue;
        due[n] = lanes[k];
        due_places[n++] = places[k];
    }
    if (n > 1) batch->driver->ahead(batch, due, due_places, n, rows);
}

be_batch *be_batch_create(const be_batch_options *options, be_error *error) {
    const be_fp before = be_fp_enter(); /* types compute tables when they are opened and configured */
    be_batch *batch = create(options, error);
    be_fp_leave(&before);
    return batch;
}

void be_batch_destroy(be_batch *batch) {
    if (batch == NULL) return;
    if (batch->engine && batch->type->close) batch->type->close(batch);
    if (batch->driver->arena) be_pages_free(batch->driver->arena, batch->driver->arena_bytes);
    free((void *)batch->grid.cells);
    for (int i = 0; i < BE_MAX_PARAMS; i++) free(batch->driver->texts[i]);
    be_aligned_free(batch->driver->values);
    free(batch->driver->coefficients);
    free(batch->driver->placement);
    free(batch->driver->space);
    free(batch->driver->checked);
    free(batch->driver);
    free(batch);
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

int64_t be_batch_take_failures(be_batch *batch, int64_t *lanes) {
    struct be_driver *driver = batch->driver;
    if (!driver->failed || !__atomic_exchange_n(&driver->any_failed, 0, __ATOMIC_ACQ_REL)) return 0;
    int64_t count = 0;
    for (int64_t i = 0; i < batch->num_lanes; i++) {
        if (__atomic_exchange_n(&driver->failed[i], 0, __ATOMIC_RELAXED)) lanes[count++] = i;
    }
    return count;
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

int64_t be_batch_bytes(const be_batch *batch) {
    return (int64_t)(batch->driver->arena_bytes + batch->driver->values_bytes + sizeof *batch + sizeof *batch->driver);
}

void be_batch_point_final(const be_batch *batch, be_rows *rows) {
    memcpy(rows->final, batch->driver->final.final, sizeof rows->final);
}

const be_table *be_batch_table(const be_batch *batch) { return &batch->driver->outer; }

int be_observation_port(const be_batch *batch) { return batch->driver->observation; }

/* ---- params and options ----------------------------------------------------------------------------- */

int be_param_holds(const be_param *p, double value) {
    int count = 0;
    if (!isfinite(value) || (p->kind != BE_PARAM_FLOAT && value != floor(value))) return 0;
    switch (p->kind) {
    case BE_PARAM_TEXT:
        return value == 0;
    case BE_PARAM_BOOL:
        return value == 0 || value == 1;
    case BE_PARAM_CHOICE:
        while (p->choices[count]) count++;
        return value >= 0 && value < count;
    default:
        return value >= p->low && value <= p->high;
    }
}

static int check_value(const char *what, const be_param *p, double value, int64_t lane, be_error *error) {
    if (be_param_holds(p, value)) return BE_OK;
    const char *number = p->kind == BE_PARAM_INT ? "whole" : "finite";
    if (lane < 0) {
        return be_fail(error, BE_ERROR_VALUE, -1, "%s%s=%.17g must be a %s number between %g and %g", what, p->name,
                       value, number, p->low, p->high);
    }
    return be_fail(error, BE_ERROR_VALUE, lane, "%s%s=%.17g of lane %lld must be a %s number between %g and %g", what,
                   p->name, value, (long long)lane, number, p->low, p->high);
}

static int check_values(const char *what, const be_param *table, const double *values, be_error *error) {
    for (int i = 0; table && table[i].name; i++) {
        int status = check_value(what, &table[i], values[i], -1, error);
        if (status != BE_OK) return status;
    }
    return BE_OK;
}

/* Checks the sizes of fields that prepare() has set. */
static int check_field_sizes(const be_env_type *type, const be_setup *setup, be_error *error) {
    for (int k = 0; type->state[k].name; k++) {
        if (setup->field_size[k] >= 1 && setup->field_size[k] <= BE_MAX_FIELD_SIZE) continue;
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "type %s: prepare() gives the field %s %d values per lane, which must be from 1 to %d",
                       type->name, type->state[k].name, setup->field_size[k], BE_MAX_FIELD_SIZE);
    }
    return BE_OK;
}

/* `which` says where the spaces go: OF_FIRST_LANE or OF_LANE. */
static int prepare(const be_batch *batch, const double *params, be_setup *setup, int which, be_error *error) {
    memset(setup, 0, sizeof *setup);
    setup->params = params;
    setup->texts = batch->texts;
    setup->grid = batch->grid;
    setup->engine = batch->engine;
    setup->flags = batch->type->flags;
    setup->space = spaces_of(batch, which);
    memcpy(setup->space, spaces_of(batch, OF_TABLE), (size_t)batch->driver->num_ports * sizeof *setup->space);
    for (int k = 0; batch->type->state[k].name; k++) setup->field_size[k] = batch->type->state[k].size;
    error->status = BE_OK;
    if (batch->type->prepare && batch->type->prepare(setup, error) != BE_OK) return be_unexplained(batch->type, error);
    const int status = be_check_spaces(batch->type, setup->space, error);
    return status == BE_OK ? check_field_sizes(batch->type, setup, error) : status;
}

static void widen(be_space *space, const be_space *other) {
    for (int i = 0; i < BE_MAX_BOUNDS; i++) {
        if (other->low[i] < space->low[i]) space->low[i] = other->low[i];
        if (other->high[i] > space->high[i]) space->high[i] = other->high[i];
    }
}

static int same_shape(const be_space *space, const be_space *other) {
    return space->kind == other->kind && space->dtype == other->dtype && space->ndim == other->ndim &&
           memcmp(space->shape, other->shape, sizeof space->shape) == 0;
}

/* The first field that has another size in the one set than in the other; -1: none. */
static int other_size(const be_env_type *type, const int *sizes, const int *others) {
    for (int k = 0; type->state[k].name; k++) {
        if (sizes[k] != others[k]) return k;
    }
    return -1;
}

static void adopt(be_batch *batch, const be_setup *setup) {
    memcpy(batch->constants, setup->constants, sizeof batch->constants);
    memcpy(batch->field_size, setup->field_size, sizeof batch->field_size);
    memcpy(spaces_of(batch, PRESENT), setup->space, (size_t)batch->driver->num_ports * sizeof *setup->space);
    batch->flags = setup->flags;
}

/* Makes columns for values that differ from lane to lane, and blocks of equal values for the others. `varies` has one
 * bit per constant.
 */
static int make_columns(be_batch *batch, const double *params, const double *const *columns, uint64_t varies,
                        be_error *error) {
    const size_t n = (size_t)batch->num_lanes, padded = (n + 63) / 64 * 64;
    int num_params = 0;
    size_t count = 0;
    for (; batch->type->params[num_params].name; num_params++) count += columns[num_params] ? padded : BE_LANE_BLOCK;
    for (int k = 0; k < BE_MAX_CONSTANTS; k++) count += varies >> k & 1 ? padded : BE_LANE_BLOCK;
    double *values = be_aligned_new(64, count * sizeof *values), *next = values;
    if (values == NULL) return be_fail(error, BE_ERROR_MEMORY, -1, "cannot allocate params for %zu lanes", n);
    double lane_params[BE_MAX_PARAMS];
    memcpy(lane_params, params, sizeof lane_params);
    be_setup setup;
    for (int j = 0; j < num_params; j++) {
        batch->param_columns[j] = (be_column){next, columns[j] ? -1 : 0};
        for (size_t i = 0; i < (columns[j] ? padded : BE_LANE_BLOCK); i++) {
            *next++ = columns[j] ? columns[j][i < n ? i : n - 1] : params[j];
        }
    }
    double *constants = next;
    for (int k = 0; k < BE_MAX_CONSTANTS; k++) {
        batch->constant_columns[k] = (be_column){next, varies >> k & 1 ? -1 : 0};
        next += varies >> k & 1 ? padded : BE_LANE_BLOCK;
    }
    for (size_t i = 0; i < padded; i++) {
        for (int j = 0; j < num_params && i < n; j++) {
            if (columns[j]) lane_params[j] = columns[j][i];
        }
        if (i < n) (void)prepare(batch, lane_params, &setup, OF_LANE, error);
        next = constants;
        for (int k = 0; k < BE_MAX_CONSTANTS; k++) {
            size_t size = varies >> k & 1 ? padded : BE_LANE_BLOCK;
            if (i < size) next[i] = setup.constants[k];
            next += size;
        }
    }
    be_aligned_free(batch->driver->values);
    batch->driver->values = values;
    batch->driver->values_bytes = count * sizeof *values;
    return BE_OK;
}

static int configure(be_batch *batch, const double *params, const double *const *columns, be_error *error) {
    const be_param *table = batch->type->params;
    be_setup setup, first;
    int status = check_values("", table, params, error), any = 0;
    if (status == BE_OK) status = prepare(batch, params, &first, OF_FIRST_LANE, error);
    if (status != BE_OK) return status;
    double lane_params[BE_MAX_PARAMS];
    memcpy(lane_params, params, sizeof lane_params);
    for (int j = 0; columns && table[j].name; j++) {
        if (columns[j] == NULL) continue;
        any = 1;
        if (!be_may_differ(&table[j])) {
            return be_fail(error, BE_ERROR_VALUE, -1, "%s must be one value for all lanes", table[j].name);
        }
        for (int64_t i = 0; i < batch->num_lanes; i++) {
            status = check_value("", &table[j], columns[j][i], i, error);
            if (status != BE_OK) return status;
        }
    }
    uint64_t varies = 0;
    for (int64_t i = 0; any && i < batch->num_lanes; i++) {
        for (int j = 0; table[j].name; j++) {
            if (columns[j]) lane_params[j] = columns[j][i];
        }
        status = prepare(batch, lane_params, &setup, i ? OF_LANE : OF_FIRST_LANE, error);
        if (status != BE_OK) {
            error->lane = i;
            size_t length = strlen(error->message);
            snprintf(error->message + length, sizeof error->message - length, " (lane %lld)", (long long)i);
            return status;
        }
        if (i == 0) first = setup;
        for (int k = 0; k < BE_MAX_CONSTANTS; k++) {
            varies |= (uint64_t)(memcmp(&setup.constants[k], &first.constants[k], sizeof(double)) != 0) << k;
        }
        for (int k = 0; k < batch->driver->num_ports; k++) {
            if (!same_shape(&first.space[k], &setup.space[k])) {
                return be_fail(
                    error, BE_ERROR_VALUE, i,
                    "the params of lane %lld give \"%s\" another shape or dtype than those of lane 0: a param "
                    "that decides about these must have one value for all lanes",
                    (long long)i, batch->type->ports[k].name);
            }
            widen(&first.space[k], &setup.space[k]);
        }
        const int other = other_size(batch->type, first.field_size, setup.field_size);
        if (other >= 0) {
            return be_fail(
                error, BE_ERROR_VALUE, i,
                "the params of lane %lld give the state's field %s %d values, and those of lane 0 give it %d: "
                "a param that decides about this must have one value for all lanes",
                (long long)i, batch->type->state[other].name, setup.field_size[other], first.field_size[other]);
        }
        first.flags &= setup.flags;
    }
    for (int k = 0; k < batch->driver->num_ports && batch->driver->inner.count; k++) {
        if (same_shape(&first.space[k], &batch->space[k])) continue;
        return be_fail(error, BE_ERROR_VALUE, -1, "these params change the shape of a space: make a new env with them");
    }
    if (batch->driver->inner.count && other_size(batch->type, first.field_size, batch->field_size) >= 0) {
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "these params change the size of a lane's state: make a new env with them");
    }
    if (any) {
        status = make_columns(batch, params, columns, varies, error);
        if (status != BE_OK) return status;
    } else {
        be_aligned_free(batch->driver->values);
        batch->driver->values = NULL;
        batch->driver->values_bytes = 0;
    }
    batch->per_lane = any;
    batch->driver->configured++;
    memcpy(batch->params, params, sizeof batch->params);
    adopt(batch, &first);
    return BE_OK;
}

int be_batch_configure(be_batch *batch, const double *params, const double *const *columns, be_error *error) {
    const be_fp before = be_fp_enter();
    const int status = configure(batch, params, columns, error);
    be_fp_leave(&before);
    return status;
}

int be_batch_check_options(const be_batch *batch, const double *options, be_error *error) {
    int status = check_values("reset option ", batch->type->options, options, error);
    if (status != BE_OK || batch->type->check_options == NULL) return status;
    error->status = BE_OK;
    return batch->type->check_options(batch, options, error) == BE_OK ? BE_OK : be_unexplained(batch->type, error);
}

int be_check_low_high(const be_batch *batch, const double *options, be_error *error) {
    (void)batch;
    if (options[0] > options[1]) {
        return be_fail(error, BE_ERROR_VALUE, -1, "Lower bound (%.17g) must be lower than higher bound (%.17g).",
                       options[0], options[1]);
    }
    return BE_OK;
}

/* ---- seeding and resets ----------------------------------------------------------------------------- */

int be_batch_seed(be_batch *batch, const uint32_t *words, size_t num_words, int64_t begin, int64_t end) {
    if (num_words <= 2) {
        uint64_t base = (num_words > 0 ? words[0] : 0) | (uint64_t)(num_words > 1 ? words[1] : 0) << 32;
        if (base <= UINT64_MAX - (uint64_t)end) {
            for (int64_t i = begin; i < end; i++) be_rng_seed_u64(&batch->rng[i], base + (uint64_t)i);
            return 0;
        }
    }
    for (int64_t i = begin; i < end; i++) {
        if (be_rng_seed_words_plus(&batch->rng[i], words, num_words, (uint64_t)i) != 0) return -1;
    }
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
                if (rows->reward) be_rows_clear(&driver->outer, groups, rows, i - rows->first);
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

void be_batch_rescale(be_batch *batch, const double *gradient, const double *intercept) {
    struct be_driver *driver = batch->driver;
    const size_t size = (size_t)be_space_row_size(&batch->space[driver->observation]);
    driver->configured++;
    memcpy(driver->coefficients, gradient, size * sizeof *gradient);
    memcpy(driver->coefficients + size, intercept, size * sizeof *intercept);
}

int64_t be_batch_first_pending(const be_batch *batch, int64_t begin, int64_t end) {
    const uint8_t *found = memchr(batch->driver->pending + begin, 1, (size_t)(end - begin));
    return found ? found - batch->driver->pending : -1;
}
