/* The C core by itself, for sanitizers: every env type, autoreset mode and instruction set; bad input; masks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch.h"

#define STEPS 400

static int checks;

static void check(int good, const char *what, const char *type, int64_t lanes) {
    checks++;
    if (good) return;
    fprintf(stderr, "FAILED: %s (%s, %lld lanes)\n", what, type, (long long)lanes);
    exit(1);
}

typedef struct arrays {
    void *action;
    unsigned char *observation, *mask;
    double *reward;
    uint8_t *terminated, *truncated;
    void *info[BE_MAX_INFO];
    double *episode_return, *episode_seconds;
    int64_t *episode_length;
} arrays;

static size_t observation_bytes(const be_batch *batch) {
    return be_transformed_bytes(&batch->observation_space, &batch->driver->transform);
}

/* Exactly as long as promised, so that AddressSanitizer sees the first byte beyond. */
static arrays allocate(const be_batch *batch) {
    size_t n = (size_t)batch->num_lanes;
    arrays a = {
        .action = calloc(n, be_space_row_bytes(&batch->action_space)),
        .observation = calloc(n, observation_bytes(batch)),
        .mask = calloc(n, 1),
        .reward = calloc(n, sizeof(double)),
        .terminated = calloc(n, 1),
        .truncated = calloc(n, 1),
        .episode_return = calloc(n, sizeof(double)),
        .episode_seconds = calloc(n, sizeof(double)),
        .episode_length = calloc(n, sizeof(int64_t)),
    };
    const be_field *info = batch->type->info;
    for (int k = 0; info && info[k].name; k++) {
        a.info[k] = calloc(n, be_dtype_size(info[k].dtype) * (size_t)info[k].size);
    }
    return a;
}

static be_arrays rows_of(const arrays *a) {
    be_arrays rows = {
        .action = a->action,
        .observation = a->observation,
        .reward = a->reward,
        .terminated = a->terminated,
        .truncated = a->truncated,
    };
    memcpy(rows.info, a->info, sizeof rows.info);
    return rows;
}

static void release(arrays *a) {
    free(a->action);
    free(a->observation);
    free(a->mask);
    free(a->reward);
    free(a->terminated);
    free(a->truncated);
    free(a->episode_return);
    free(a->episode_seconds);
    free(a->episode_length);
    for (int k = 0; k < BE_MAX_INFO; k++) free(a->info[k]);
}

static void draw_actions(const be_batch *batch, be_rng *rng, void *action) {
    const be_space *space = &batch->action_space;
    int64_t size = batch->num_lanes * be_space_row_size(space);
    for (int64_t i = 0; i < size; i++) {
        if (space->kind == BE_SPACE_DISCRETE) {
            ((int64_t *)action)[i] = be_rng_integers(rng, 0, space->n);
        } else {
            ((float *)action)[i] = (float)be_rng_uniform(rng, space->low[0], space->high[0]);
        }
    }
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 0x100000001b3;
    return hash;
}

/* A small map for the types that want one. */
static const be_grid *grid_for(const be_env_type *type) {
    static const be_grid map = {(const uint8_t *)"SFFHFSFFHFFG", 3, 4};
    return type->grid ? &map : NULL;
}

/* A whole run; returns a hash of everything that came out. */
static uint64_t run(const be_isa *isa, const be_env_type *type, be_autoreset mode, int64_t lanes,
                    const be_transform *transform) {
    be_error error = {0};
    const be_batch_options options = {
        .type = type,
        .num_lanes = lanes,
        .autoreset = mode,
        .max_episode_steps = 50,
        .grid = grid_for(type),
        .transform = transform,
    };
    be_batch *batch = be_batch_create(&options, &error);
    check(batch != NULL, error.message, type->name, lanes);
    arrays a = allocate(batch);
    be_arrays rows = rows_of(&a);
    if (transform) {
        rows.episode_return = a.episode_return;
        rows.episode_seconds = a.episode_seconds;
        rows.episode_length = a.episode_length;
    }
    be_batch_point_final(batch, &rows);
    size_t n = (size_t)lanes, row = observation_bytes(batch);
    be_dtype dtype = batch->action_space.dtype;
    uint32_t seed[] = {7, 1};
    be_batch_seed(batch, seed, 2, 0, lanes);
    check(be_batch_reset(batch, 0, lanes, NULL, NULL, &rows, &error) == BE_OK, "reset", type->name, lanes);
    be_rng rng;
    be_rng_seed_u64(&rng, 99);
    uint64_t hash = 0xcbf29ce484222325;
    for (int step = 0; step < STEPS; step++) {
        draw_actions(batch, &rng, a.action);
        int64_t count = lanes * be_space_row_size(&batch->action_space);
        check(isa->check_actions(batch, a.action, dtype, 0, count, 0, NULL, &error) == BE_OK, "actions", type->name,
              lanes);
        int64_t middle = lanes > 64 ? 64 : lanes; /* two ranges, as two threads would */
        int64_t finished = isa->step(batch, 0, middle, &rows, &error);
        if (middle < lanes) finished += isa->step(batch, middle, lanes, &rows, &error);
        check(finished >= 0, "step", type->name, lanes);
        hash = hash_bytes(hash, a.observation, n * row);
        hash = hash_bytes(hash, a.reward, n * sizeof(double));
        hash = hash_bytes(hash, a.terminated, n);
        hash = hash_bytes(hash, a.truncated, n);
        for (int k = 0; type->info && type->info[k].name; k++) {
            hash = hash_bytes(hash, a.info[k], n * be_dtype_size(type->info[k].dtype) * (size_t)type->info[k].size);
        }
        hash = hash_bytes(hash, a.episode_return, n * sizeof(double));
        hash = hash_bytes(hash, a.episode_length, n * sizeof(int64_t));
        int64_t done = 0;
        for (size_t i = 0; i < n; i++) done += a.mask[i] = a.terminated[i] | a.truncated[i];
        check(done == finished, "count of finished lanes", type->name, lanes);
        if (mode == BE_DISABLED && done) {
            check(be_batch_first_pending(batch, 0, lanes) >= 0, "pending", type->name, lanes);
            unsigned char *before = malloc(n * row);
            memcpy(before, a.observation, n * row);
            be_batch_reset(batch, 0, lanes, a.mask, NULL, &rows, &error);
            for (size_t i = 0; i < n; i++) {
                if (!a.mask[i])
                    check(!memcmp(before + i * row, a.observation + i * row, row), "mask", type->name, lanes);
            }
            free(before);
            check(be_batch_first_pending(batch, 0, lanes) < 0, "pending after reset", type->name, lanes);
        }
    }
    release(&a);
    be_batch_destroy(batch);
    return hash;
}

static int64_t read_integer(const void *column, be_dtype dtype, int64_t index) {
    switch (dtype) {
    case BE_I64:
        return ((const int64_t *)column)[index];
    case BE_I32:
        return ((const int32_t *)column)[index];
    default:
        return ((const uint8_t *)column)[index];
    }
}

static void write_integer(void *column, be_dtype dtype, int64_t index, int64_t value) {
    switch (dtype) {
    case BE_I64:
        ((int64_t *)column)[index] = value;
        break;
    case BE_I32:
        ((int32_t *)column)[index] = (int32_t)value;
        break;
    default:
        ((uint8_t *)column)[index] = (uint8_t)value;
    }
}

static int is_integer(const be_field *field) {
    return field->dtype == BE_I64 || field->dtype == BE_I32 || field->dtype == BE_U8;
}

/* Gives some of a lane's integers another value in their field's range: any, one of the lowest, or a neighbour. */
static void disturb(be_batch *batch, int64_t lane, be_rng *rng) {
    const be_field *fields = batch->type->state;
    int num_fields = 0;
    while (fields[num_fields].name) num_fields++;
    for (int64_t edits = be_rng_integers(rng, 0, 4); edits > 0; edits--) {
        const int j = (int)be_rng_integers(rng, 0, num_fields);
        if (!is_integer(&fields[j])) continue;
        const int64_t index = lane * fields[j].size + be_rng_integers(rng, 0, fields[j].size);
        const int64_t low = fields[j].low, high = fields[j].high, kind = be_rng_integers(rng, 0, 3);
        int64_t value = be_rng_integers_inclusive(rng, low, high);
        if (kind == 1) value = low + value % 4;
        if (kind == 2) value = read_integer(batch->state[j], fields[j].dtype, index) + value % 3 - 1;
        write_integer(batch->state[j], fields[j].dtype, index, value < low ? low : value > high ? high : value);
    }
}

/* Whatever a state's integer fields hold within their ranges is refused by check_state, or can be stepped (this is for
 * the sanitizers: no index may leave its table). */
static void check_states(const be_env_type *type) {
    enum { LANES = 64 };
    int integers = 0;
    for (int j = 0; type->state[j].name; j++) {
        if (!is_integer(&type->state[j])) continue;
        check(type->state[j].low < type->state[j].high, type->state[j].name, type->name, LANES);
        integers++;
    }
    if (!integers) return;
    be_batch *target =
        be_batch_create(&(be_batch_options){.type = type, .num_lanes = LANES, .grid = grid_for(type)}, &(be_error){0});
    arrays a = allocate(target);
    be_arrays rows = rows_of(&a);
    be_error error = {0};
    be_batch_seed(target, (uint32_t[]){3}, 1, 0, LANES);
    check(be_batch_reset(target, 0, LANES, NULL, NULL, &rows, &error) == BE_OK, "reset", type->name, LANES);
    be_rng rng;
    be_rng_seed_u64(&rng, 5);
    int64_t refused = 0, taken = 0;
    for (int round = 0; round < 300; round++) {
        memset(a.mask, 0, LANES);
        const void *columns[BE_MAX_FIELDS];
        for (int j = 0; type->state[j].name; j++) columns[j] = target->state[j];
        check(!type->check_state || type->check_state(target, columns, LANES, &error) == BE_OK, "states as played",
              type->name, LANES);
        for (int i = 0; i < LANES; i++) {
            disturb(target, i, &rng);
            /* Every lane by itself: those refused are reset. */
            for (int j = 0; type->state[j].name; j++) {
                size_t bytes = be_dtype_size(type->state[j].dtype) * (size_t)type->state[j].size;
                columns[j] = (unsigned char *)target->state[j] + (size_t)i * bytes;
            }
            a.mask[i] = type->check_state && type->check_state(target, columns, 1, &error) != BE_OK;
            refused += a.mask[i];
            taken += !a.mask[i];
        }
        check(be_batch_reset(target, 0, LANES, a.mask, NULL, &rows, &error) == BE_OK, "reset", type->name, LANES);
        for (int step = 0; step < 4; step++) {
            draw_actions(target, &rng, a.action);
            check(be_isa_supported()[0]->step(target, 0, LANES, &rows, &error) >= 0, "step", type->name, LANES);
        }
    }
    check((refused > 0) == (type->check_state != NULL) && taken > 0, "states refused and taken", type->name, LANES);
    release(&a);
    be_batch_destroy(target);
}

static void bad_input(const be_isa *isa, const be_env_type *type) {
    be_error error = {0};
    if (type->grid) {
        check(be_batch_create(&(be_batch_options){.type = type, .num_lanes = 3}, &error) == NULL, "no map", type->name,
              3);
    }
    be_batch *batch =
        be_batch_create(&(be_batch_options){.type = type, .num_lanes = 3, .grid = grid_for(type)}, &error);
    double params[BE_MAX_PARAMS], kept[BE_MAX_PARAMS];
    memcpy(kept, batch->params, sizeof kept);
    for (int i = 0; type->params && type->params[i].name; i++) {
        memcpy(params, kept, sizeof params);
        params[i] = NAN;
        check(be_batch_configure(batch, params, NULL, &error) == BE_ERROR_VALUE, type->params[i].name, type->name, 3);
        check(!memcmp(batch->params, kept, sizeof kept), "params kept", type->name, 3);
    }
    double options[BE_MAX_PARAMS] = {NAN, 1};
    if (type->options) {
        check(be_batch_check_options(batch, options, &error) == BE_ERROR_VALUE, "options", type->name, 3);
    }
    check_states(type);
    if (batch->action_space.kind == BE_SPACE_DISCRETE) {
        const int64_t wrong[] = {-1, batch->action_space.n, INT64_MIN, INT64_MAX};
        for (int i = 0; i < 4; i++) {
            int64_t actions[] = {0, wrong[i], 0}, canonical[3];
            check(isa->check_actions(batch, actions, BE_I64, 0, 3, 0, NULL, &error) != BE_OK, "action", type->name, 3);
            check(error.lane == 1, "lane named", type->name, 3);
            int32_t narrow[] = {0, 0, i % 2 ? 1 << 30 : -1};
            check(isa->check_actions(batch, narrow, BE_I32, 0, 3, 0, canonical, &error) != BE_OK, "int32", type->name,
                  3);
        }
    } else {
        const float wrong[] = {NAN, INFINITY, -1e9f, (float)batch->action_space.high[0] * 1.001f};
        for (int i = 0; i < 4; i++) {
            float actions[] = {0, 0, wrong[i]};
            check(isa->check_actions(batch, actions, BE_F32, 0, 3, 0, NULL, &error) != BE_OK, "action", type->name, 3);
            check(error.lane == 2, "lane named", type->name, 3);
            check((isa->check_actions(batch, actions, BE_F32, 0, 3, 1, NULL, &error) == BE_OK) == (i >= 2), "clip",
                  type->name, 3);
        }
    }
    be_batch_destroy(batch);
}

int main(void) {
    static const int64_t lanes[] = {1, 5, 64, 131};
    static const be_transform everything = {
        .record_statistics = 1,
        .action_repeat = 3,
        .transform_reward = 1,
        .reward_scale = 0.5,
        .reward_low = -1,
        .reward_high = 0.4,
        .transform_observation = 1,
        .time_aware = 1,
        .convert = 1,
        .dtype = BE_F64,
        .frame_stack = 3,
    };
    const be_isa *const *isas = be_isa_supported();
    for (int i = 0; isas[i]; i++) {
        int64_t mismatches[5];
        isas[i]->probe(mismatches);
        printf("%s: sin %lld, cos %lld, square %lld, float32 square %lld, remainder %lld differ from the C library\n",
               isas[i]->name, (long long)mismatches[0], (long long)mismatches[1], (long long)mismatches[2],
               (long long)mismatches[3], (long long)mismatches[4]);
    }
    const be_env_type *type;
    for (int t = 0; (type = be_type_at(isas[0], t)); t++) {
        if (type->open) continue; /* needs handles from Python */
        for (int i = 0; isas[i]; i++) bad_input(isas[i], be_type_at(isas[i], t));
        for (int mode = BE_NEXT_STEP; mode <= BE_DISABLED; mode++) {
            for (int n = 0; n < 8; n++) {
                const be_transform *transform = n % 2 ? &everything : NULL;
                uint64_t first = run(isas[0], type, (be_autoreset)mode, lanes[n / 2], transform);
                for (int i = 1; isas[i]; i++) {
                    uint64_t other = run(isas[i], be_type_at(isas[i], t), (be_autoreset)mode, lanes[n / 2], transform);
                    check(other == first, "instruction sets agree", type->name, lanes[n / 2]);
                }
            }
        }
    }
    printf("%d passed, 0 failed\n", checks);
    return 0;
}
