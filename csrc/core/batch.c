#include "core/batch.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int be_fail(be_error *error, be_status status, int64_t lane, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    error->lane = lane;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return (int)status;
}

/* ---- spaces ----------------------------------------------------------------------------------------- */

void be_space_box_f32(be_space *space, int size, const double *low, const double *high) {
    *space = (be_space){.kind = BE_SPACE_BOX, .dtype = BE_F32, .ndim = 1, .shape = {size}};
    for (int i = 0; i < size; i++) {
        space->low[i] = (double)(float)low[i];
        space->high[i] = (double)(float)high[i];
    }
}

void be_space_discrete(be_space *space, int64_t n) {
    *space = (be_space){.kind = BE_SPACE_DISCRETE, .dtype = BE_I64, .n = n};
}

int64_t be_space_row_size(const be_space *space) {
    int64_t size = 1;
    for (int i = 0; i < space->ndim; i++) size *= space->shape[i];
    return size;
}

size_t be_space_row_bytes(const be_space *space) {
    return (size_t)be_space_row_size(space) * be_dtype_size(space->dtype);
}

/* ---- memory ----------------------------------------------------------------------------------------- */

/* Columns start on a cache line, and a few lines apart beyond their length: columns of a power of two of lanes would
 * otherwise all fall into the same cache sets. Pages of a large arena come from mmap untouched, so that the threads
 * that first reset their lanes place them (first touch). */
#define COLUMN_STAGGER 320 /* readable, and never written: list_flagged may look into it */
#define PADDING_LANES 64

static size_t column_bytes(int64_t num_lanes, size_t lane_bytes) {
    size_t lanes = ((size_t)num_lanes + PADDING_LANES - 1) / PADDING_LANES * PADDING_LANES;
    return (lanes * lane_bytes + 63) / 64 * 64 + COLUMN_STAGGER;
}

static void *arena_allocate(size_t bytes) {
    void *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= (size_t)4 << 20) (void)madvise(arena, bytes, MADV_HUGEPAGE);
#endif
    return arena;
}

/* Lays the batch's columns out from `base` and returns the bytes used; base NULL only counts. */
static size_t lay_out(be_batch *batch, unsigned char *base) {
    struct be_driver *driver = batch->driver;
    size_t offset = 0;
#define COLUMN(pointer, lane_bytes)                                                                                    \
    do {                                                                                                               \
        if (base) (pointer) = (void *)(base + offset);                                                                 \
        offset += column_bytes(batch->num_lanes, (lane_bytes));                                                        \
    } while (0)
    for (int i = 0; batch->type->state[i].name; i++) {
        const be_field *field = &batch->type->state[i];
        COLUMN(batch->state[i], be_dtype_size(field->dtype) * (size_t)field->size);
    }
    COLUMN(batch->rng, sizeof(be_rng));
    COLUMN(batch->elapsed, sizeof(int32_t));
    COLUMN(driver->pending, 1);
    if (driver->autoreset == BE_SAME_STEP) COLUMN(driver->final_observation, driver->observation_bytes);
#undef COLUMN
    if (base) {
        driver->tail_action = base + offset;
        driver->tail_observation = base + offset + BE_LANE_BLOCK * driver->action_bytes;
    }
    return offset + BE_LANE_BLOCK * (driver->action_bytes + driver->observation_bytes);
}

be_batch *be_batch_create(const be_isa *isa, const be_env_type *type, int64_t num_lanes, be_autoreset autoreset,
                          int32_t max_episode_steps, be_error *error) {
    (void)isa;
    be_batch *batch = calloc(1, sizeof *batch);
    struct be_driver *driver = calloc(1, sizeof *driver);
    if (batch == NULL || driver == NULL) {
        free(batch);
        free(driver);
        be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
        return NULL;
    }
    batch->type = type;
    batch->num_lanes = num_lanes;
    batch->driver = driver;
    driver->autoreset = autoreset;
    driver->max_episode_steps = max_episode_steps > 0 ? max_episode_steps : INT32_MAX;
    double params[BE_MAX_PARAMS] = {0};
    for (int i = 0; type->params && type->params[i].name; i++) params[i] = type->params[i].value;
    for (int i = 0; type->options && type->options[i].name; i++) driver->default_options[i] = type->options[i].value;
    if (be_batch_configure(batch, params, error) != BE_OK) {
        be_batch_destroy(batch);
        return NULL;
    }
    driver->observation_bytes = be_space_row_bytes(&batch->observation_space);
    driver->action_bytes = be_space_row_bytes(&batch->action_space);
    driver->arena_bytes = lay_out(batch, NULL);
    driver->arena = arena_allocate(driver->arena_bytes);
    if (driver->arena == NULL) {
        be_fail(error, BE_ERROR_MEMORY, -1, "cannot allocate %zu bytes for %lld lanes", driver->arena_bytes,
                (long long)num_lanes);
        be_batch_destroy(batch);
        return NULL;
    }
    lay_out(batch, driver->arena);
    return batch;
}

void be_batch_destroy(be_batch *batch) {
    if (batch == NULL) return;
    if (batch->driver->arena) munmap(batch->driver->arena, batch->driver->arena_bytes);
    free(batch->driver);
    free(batch);
}

int64_t be_batch_bytes(const be_batch *batch) {
    return (int64_t)(batch->driver->arena_bytes + sizeof *batch + sizeof *batch->driver);
}

const uint8_t *be_batch_pending(const be_batch *batch) { return batch->driver->pending; }
const void *be_batch_final_observation(const be_batch *batch) { return batch->driver->final_observation; }

/* ---- params and options ----------------------------------------------------------------------------- */

static int check_values(const char *what, const be_param *table, const double *values, be_error *error) {
    for (int i = 0; table && table[i].name; i++) {
        const be_param *p = &table[i];
        int in_range = isfinite(values[i]);
        if (p->kind == BE_PARAM_FLOAT) in_range = in_range && values[i] >= p->low && values[i] <= p->high;
        if (!in_range) {
            return be_fail(error, BE_ERROR_VALUE, -1, "%s%s=%.17g must be a finite number between %g and %g", what,
                           p->name, values[i], p->low, p->high);
        }
    }
    return BE_OK;
}

int be_batch_configure(be_batch *batch, const double *params, be_error *error) {
    int status = check_values("", batch->type->params, params, error);
    if (status != BE_OK) return status;
    be_batch before = *batch;
    memcpy(batch->params, params, sizeof batch->params);
    batch->flags = batch->type->flags;
    status = batch->type->prepare(batch, error);
    if (status != BE_OK) *batch = before;
    return status;
}

int be_batch_check_options(const be_batch *batch, const double *options, be_error *error) {
    int status = check_values("reset option ", batch->type->options, options, error);
    if (status == BE_OK && batch->type->check_options) status = batch->type->check_options(batch, options, error);
    return status;
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
                   void *observation, be_error *error) {
    struct be_driver *driver = batch->driver;
    const be_io io = {.observation = observation, .options = options ? options : driver->default_options};
    int64_t chosen[BE_LIST], others[BE_LIST];
    for (int64_t i = begin; i < end;) {
        int64_t num_chosen = 0, num_others = 0;
        for (; i < end && num_chosen < BE_LIST && num_others < BE_LIST; i++) {
            if (mask == NULL || mask[i] != 0) {
                batch->elapsed[i] = 0;
                driver->pending[i] = 0;
                chosen[num_chosen++] = i;
            } else {
                others[num_others++] = i;
            }
        }
        int status = batch->type->reset(batch, chosen, num_chosen, &io, error);
        if (status == BE_OK) status = batch->type->observe(batch, others, num_others, &io, error);
        if (status != BE_OK) return status;
    }
    return BE_OK;
}

int64_t be_batch_first_pending(const be_batch *batch, int64_t begin, int64_t end) {
    const uint8_t *found = memchr(batch->driver->pending + begin, 1, (size_t)(end - begin));
    return found ? found - batch->driver->pending : -1;
}
