/* The C core by itself, for sanitizers: every env type, autoreset mode and instruction set; bad input; masks.
 *
 *     test_core [k/n]       only the types k, k + n, k + 2 n, ..., so that n processes share the work */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "core/load/library.h"
#include "random_state.h"
#include "rows.h"

/* So many steps; and fewer of many lanes where a step takes microseconds. With gcov these reach the same lines and the
 * same branches of csrc/envs/box2d as 400 do, in a third of the time. */
static int steps_of(const be_env_type *type, int64_t lanes) {
    return lanes > 8 && type->family && strcmp(type->family, "Box2D") == 0 ? 100 : 400;
}

static char described[128]; /* what is being tested */

static void describe(const be_env_type *type, int64_t lanes) {
    snprintf(described, sizeof described, "%s, %lld lanes", type->name, (long long)lanes);
    now = described;
}

static void draw_actions(const be_batch *batch, be_rng *rng, const be_rows *rows) {
    for (int port = 0; batch->type->ports[port].name; port++) {
        const be_space *space = &batch->space[port];
        const int64_t size = be_space_row_size(space);
        for (int64_t i = 0; batch->type->ports[port].role == BE_ACTION && i < batch->num_lanes * size; i++) {
            const int64_t b = be_bound_of(space, i % size);
            if (space->dtype == BE_F32) {
                ((float *)rows->port[port])[i] = (float)be_rng_uniform(rng, space->low[b], space->high[b]);
            } else {
                const int64_t value = be_rng_integers(rng, (int64_t)space->low[b], (int64_t)space->high[b] + 1);
                be_write_integer(rows->port[port], space->dtype, i, value);
            }
        }
    }
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 0x100000001b3;
    return hash;
}

/* A whole run; returns a hash of everything that came out. */
static uint64_t run(const be_isa *isa, const be_env_type *type, be_autoreset mode, int64_t lanes,
                    const be_transform *transform) {
    be_error error = {0};
    const be_batch_options options = {.type = type,
                                      .num_lanes = lanes,
                                      .autoreset = mode,
                                      .max_episode_steps = 50,
                                      .grid = grid_for(type),
                                      .transform = transform};
    describe(type, lanes);
    be_batch *batch = be_batch_create(&options, &error);
    CHECK(batch != NULL);
    const be_table *table = be_batch_table(batch);
    be_rows rows = make_rows(table, BE_ROWS_ALL & ~BE_ROWS_FINAL, (size_t)lanes);
    be_batch_point_final(batch, &rows);
    const unsigned char *observation = rows.port[be_observation_port(batch)];
    size_t n = (size_t)lanes, row = batch->driver->observation_bytes;
    uint8_t *mask = calloc(n, 1);
    uint32_t seed[] = {7, 1};
    be_batch_seed(batch, seed, 2, 0, lanes);
    CHECK(be_batch_reset(batch, 0, lanes, NULL, NULL, &rows, &error) == BE_OK);
    be_rng rng;
    be_rng_seed_u64(&rng, 99);
    uint64_t hash = 0xcbf29ce484222325;
    const int steps = steps_of(type, lanes);
    for (int step = 0; step < steps; step++) {
        draw_actions(batch, &rng, &rows);
        for (int port = 0; type->ports[port].name; port++) {
            if (type->ports[port].role != BE_ACTION || batch->space[port].dtype == BE_I8) continue;
            const int64_t count = lanes * be_space_row_size(&batch->space[port]);
            const be_dtype dtype = batch->space[port].dtype;
            CHECK(isa->check_actions(batch, port, rows.port[port], dtype, 0, count, 0, NULL, &error) == BE_OK);
        }
        int64_t middle = lanes > 64 ? 64 : lanes; /* two ranges, as two threads would */
        int64_t finished = isa->step(batch, 0, middle, &rows, &error);
        if (middle < lanes) finished += isa->step(batch, middle, lanes, &rows, &error);
        CHECK(finished >= 0);
        for (int k = 0; k < table->count; k++) { /* all but seconds */
            const be_array *array = &table->arrays[k];
            if (array->group & (BE_ROWS_ACTION | BE_ROWS_FINAL) || array->slot == BE_SLOT_EPISODE_SECONDS) continue;
            hash = hash_bytes(hash, rows.slot[array->slot], n * array->bytes);
        }
        int64_t done = 0;
        for (size_t i = 0; i < n; i++) done += mask[i] = rows.terminated[i] | rows.truncated[i];
        CHECK(done == finished);
        if (mode == BE_DISABLED && done) {
            CHECK(be_batch_first_pending(batch, 0, lanes) >= 0);
            unsigned char *before = malloc(n * row);
            memcpy(before, observation, n * row);
            be_batch_reset(batch, 0, lanes, mask, NULL, &rows, &error);
            for (size_t i = 0; i < n; i++) {
                if (!mask[i]) CHECK(!memcmp(before + i * row, observation + i * row, row));
            }
            free(before);
            CHECK(be_batch_first_pending(batch, 0, lanes) < 0);
        }
    }
    free(mask);
    free_rows(table, BE_ROWS_ALL & ~BE_ROWS_FINAL, &rows);
    be_batch_destroy(batch);
    return hash;
}

static int64_t read_integer(const void *column, be_dtype dtype, int64_t index) {
    switch (dtype) {
    case BE_I64:
        return ((const int64_t *)column)[index];
    case BE_I32:
        return ((const int32_t *)column)[index];
    case BE_I8:
        return ((const int8_t *)column)[index];
    default:
        return ((const uint8_t *)column)[index];
    }
}

static int is_integer(const be_field *field) {
    return field->dtype == BE_I64 || field->dtype == BE_I32 || field->dtype == BE_I8 || field->dtype == BE_U8;
}

/* The end of its range; a random stream has none, because all of its bytes may have any value. */
static int64_t highest(const be_field *field) {
    return strcmp(field->name, BE_RANDOM_STATE_NAME) == 0 ? UINT8_MAX : field->high;
}

static be_batch *small_batch(const be_env_type *type, int64_t lanes) {
    be_error error = {0};
    return be_batch_create(&(be_batch_options){.type = type, .num_lanes = lanes, .grid = grid_for(type)}, &error);
}

/* Gives some of a lane's integers another value in their field's range: any, one of the lowest, or a neighbour. */
static void disturb(be_batch *batch, int64_t lane, be_rng *rng) {
    const be_field *fields = batch->type->state;
    int num_fields = 0;
    while (fields[num_fields].name) num_fields++;
    for (int64_t edits = be_rng_integers(rng, 0, 4); edits > 0; edits--) {
        const int j = (int)be_rng_integers(rng, 0, num_fields);
        if (!is_integer(&fields[j])) continue;
        const int64_t index = lane * batch->field_size[j] + be_rng_integers(rng, 0, batch->field_size[j]);
        const int64_t low = fields[j].low, high = highest(&fields[j]), kind = be_rng_integers(rng, 0, 3);
        int64_t value = be_rng_integers_inclusive(rng, low, high);
        const uint64_t some = (uint64_t)value; /* unsigned: fields may have any int64, and sums may wrap around */
        if (kind == 1) value = (int64_t)((uint64_t)low + some % 4);
        if (kind == 2) {
            value = (int64_t)((uint64_t)read_integer(batch->state[j], fields[j].dtype, index) + some % 3 - 1);
        }
        be_write_integer(batch->state[j], fields[j].dtype, index, value < low ? low : value > high ? high : value);
    }
}

static void *copy_of_row(const be_batch *batch, int field, int64_t lane) {
    const size_t bytes = be_field_bytes(batch, field);
    return memcpy(malloc(bytes), (const unsigned char *)batch->state[field] + (size_t)lane * bytes, bytes);
}

/* Whatever a state's integer fields hold within their ranges is refused by check_state, or can be stepped (this is for
 * the sanitizers: no index may leave its table). */
static void check_states(const be_env_type *type) {
    enum { LANES = 64 };
    int integers = 0;
    for (int j = 0; type->state[j].name; j++) {
        if (!is_integer(&type->state[j])) continue;
        CHECK(type->state[j].low < highest(&type->state[j]));
        integers++;
    }
    if (!integers) return;
    describe(type, LANES);
    be_batch *target = small_batch(type, LANES);
    const be_table *table = be_batch_table(target);
    be_rows rows = make_rows(table, BE_ROWS_ALL, LANES);
    uint8_t mask[LANES];
    be_error error = {0};
    be_batch_seed(target, (uint32_t[]){3}, 1, 0, LANES);
    CHECK(be_batch_reset(target, 0, LANES, NULL, NULL, &rows, &error) == BE_OK);
    be_rng rng;
    be_rng_seed_u64(&rng, 5);
    int64_t refused = 0, taken = 0;
    for (int round = 0; round < 300; round++) {
        memset(mask, 0, LANES);
        const void *columns[BE_MAX_FIELDS];
        for (int j = 0; type->state[j].name; j++) columns[j] = target->state[j];
        CHECK(!type->check_state || type->check_state(target, columns, LANES, &error) == BE_OK); /* as played */
        for (int i = 0; i < LANES; i++) {
            void *kept[BE_MAX_FIELDS];
            for (int j = 0; type->state[j].name; j++) kept[j] = copy_of_row(target, j, i);
            disturb(target, i, &rng);
            /* Every lane by itself: those refused get their former state back, and are reset. */
            for (int j = 0; type->state[j].name; j++) {
                columns[j] = (unsigned char *)target->state[j] + (size_t)i * be_field_bytes(target, j);
            }
            mask[i] = type->check_state && type->check_state(target, columns, 1, &error) != BE_OK;
            for (int j = 0; type->state[j].name; j++) {
                if (mask[i]) memcpy((void *)columns[j], kept[j], be_field_bytes(target, j));
                free(kept[j]);
            }
            refused += mask[i];
            taken += !mask[i];
        }
        CHECK(be_batch_reset(target, 0, LANES, mask, NULL, &rows, &error) == BE_OK);
        for (int step = 0; step < 4; step++) {
            draw_actions(target, &rng, &rows);
            CHECK(be_isa_supported()[0]->step(target, 0, LANES, &rows, &error) >= 0);
        }
    }
    CHECK((refused > 0) == (type->check_state != NULL) && taken > 0);
    free_rows(table, BE_ROWS_ALL, &rows);
    be_batch_destroy(target);
}

static void bad_input(const be_isa *isa, const be_env_type *type) {
    be_error error = {0};
    check_states(type);
    describe(type, 3);
    if (type->grid) CHECK(be_batch_create(&(be_batch_options){.type = type, .num_lanes = 3}, &error) == NULL);
    be_batch *batch = small_batch(type, 3);
    double params[BE_MAX_PARAMS], kept[BE_MAX_PARAMS];
    memcpy(kept, batch->params, sizeof kept);
    for (int i = 0; type->params && type->params[i].name; i++) {
        memcpy(params, kept, sizeof params);
        params[i] = NAN;
        CHECK(be_batch_configure(batch, params, NULL, &error) == BE_ERROR_VALUE);
        CHECK(!memcmp(batch->params, kept, sizeof kept));
    }
    double options[BE_MAX_PARAMS] = {NAN, 1};
    if (type->options) CHECK(be_batch_check_options(batch, options, &error) == BE_ERROR_VALUE);
    const int port = action_port(batch);
    if (action_space(batch)->kind == BE_SPACE_MULTI_DISCRETE) {
        for (int j = 0; j < 3; j++) {
            int64_t actions[9] = {0};
            actions[3 + j] = (int64_t)action_space(batch)->high[j] + 1;
            CHECK(isa->check_actions(batch, port, actions, BE_I64, 0, 9, 0, NULL, &error) != BE_OK && error.lane == 1);
        }
    } else if (action_space(batch)->kind == BE_SPACE_DISCRETE) {
        const int64_t wrong[] = {-1, be_space_choices(action_space(batch), 0), INT64_MIN, INT64_MAX};
        for (int i = 0; i < 4; i++) {
            int64_t actions[] = {0, wrong[i], 0}, canonical[3];
            CHECK(isa->check_actions(batch, port, actions, BE_I64, 0, 3, 0, NULL, &error) != BE_OK && error.lane == 1);
            int32_t narrow[] = {0, 0, i % 2 ? 1 << 30 : -1};
            CHECK(isa->check_actions(batch, port, narrow, BE_I32, 0, 3, 0, canonical, &error) != BE_OK);
        }
    } else {
        const float wrong[] = {NAN, INFINITY, -1e9f, (float)action_space(batch)->high[0] * 1.001f};
        for (int i = 0; i < 4; i++) {
            const int64_t size = be_space_row_size(action_space(batch));
            float actions[3 * 8] = {0};
            CHECK(size <= 8);
            actions[2 * size] = wrong[i];
            CHECK(isa->check_actions(batch, port, actions, BE_F32, 0, 3 * size, 0, NULL, &error) != BE_OK);
            CHECK(error.lane == 2);
            const int clipped = isa->check_actions(batch, port, actions, BE_F32, 0, 3 * size, 1, NULL, &error);
            CHECK((clipped == BE_OK) == (i >= 2));
        }
    }
    be_batch_destroy(batch);
}

/* Whether its observations are of several parts, which are not transformed. */
static int in_parts(const be_env_type *type) {
    int count = 0;
    for (int k = 0; type->ports[k].name; k++) count += type->ports[k].role == BE_OBSERVATION;
    return count > 1;
}

/* Of a type with parts of each kind: a value that is not in the space is refused, and the message names the part. */
static void bad_parts(const be_isa *isa, const be_env_type *type) {
    static const struct {
        const char *name, *message;
        double wrong[2];
    } parts[] = {
        {"0", "action 0 of lane 0 ('0') is not in 1..3", {0, 4}},
        {"1/keys", "action -1 of lane 0 ('1/keys', component 0) is not in 0..1", {-1, 2}},
        {"1/push", "action -2 of lane 0 ('1/push', component 0) is not between -1 and 1", {-2, 2}},
        {"2", "action -1 of lane 0 ('2', component 0) is not in 0..1", {-1, 2}},
    };
    be_error error = {0};
    describe(type, 1);
    be_batch *batch = small_batch(type, 1);
    for (int k = 0; k < 4; k++) {
        int port = 0;
        while (strcmp(type->ports[port].name, parts[k].name) != 0) port++;
        const be_dtype dtype = be_is_float(batch->space[port].dtype) ? BE_F64 : BE_I64;
        for (int j = 0; j < 2; j++) {
            double numbers[3] = {parts[k].wrong[j], 1, 1};
            int64_t integers[3] = {(int64_t)parts[k].wrong[j], 1, 1};
            const void *values = dtype == BE_F64 ? (void *)numbers : (void *)integers;
            const int64_t count = be_space_row_size(&batch->space[port]);
            CHECK(isa->check_actions(batch, port, values, dtype, 0, count, 0, NULL, &error) == BE_ERROR_VALUE);
            if (j == 0) CHECK(strstr(error.message, parts[k].message) != NULL);
        }
    }
    be_batch_destroy(batch);
    const be_transform stack = {.action_repeat = 1, .transform_observation = 1, .frame_stack = 2};
    const be_batch_options options = {.type = type, .num_lanes = 1, .transform = &stack};
    CHECK(be_batch_create(&options, &error) == NULL && strstr(error.message, "several parts"));
}

/* The best set's type comes first, other sets serve where it has none, and nothing past a list's end is looked at. */
static void find_types(void) {
    static const be_env_type a = {.name = "A"}, wide_a = {.name = "A"}, b = {.name = "B"}, past_the_end = {.name = "C"};
    static const be_env_type *const wide[] = {&wide_a, &past_the_end}, *const plain[] = {&a, &b, &past_the_end};
    const be_library first = {.begin = wide, .end = wide + 1}, second = {.begin = plain, .end = plain + 2};
    const be_loaded loaded = {{{"avx2", &first}, {"baseline", &second}}, 2};
    CHECK(be_loaded_type(&loaded, "avx2", "A") == &wide_a && be_loaded_type(&loaded, "baseline", "A") == &a);
    CHECK(be_loaded_type(&loaded, "avx512", "A") == &a); /* a set that the library has not */
    CHECK(be_loaded_type(&loaded, "avx2", "B") == &b);   /* a type for any CPU */
    CHECK(be_loaded_type(&loaded, "avx2", "C") == NULL);
}

int main(int count, char **words) {
    static const int64_t lanes[] = {1, 5, 64, 131};
    static const be_transform everything = EVERYTHING(3), rewards = {TRANSFORMED_REWARDS(3)};
    int part = 0, parts = 1;
    if (count > 1 && (sscanf(words[1], "%d/%d", &part, &parts) != 2 || part < 0 || part >= parts)) {
        fprintf(stderr, "test_core [k/n]: k is in 0..n-1, and not %s\n", words[1]);
        return 2;
    }
    const be_isa *const *isas = be_isa_supported();
    for (int i = 0; isas[i] && part == 0; i++) {
        int64_t mismatches[5];
        isas[i]->probe(mismatches);
        printf("%s: sin %lld, cos %lld, square %lld, float32 square %lld, remainder %lld differ from the C library\n",
               isas[i]->name, (long long)mismatches[0], (long long)mismatches[1], (long long)mismatches[2],
               (long long)mismatches[3], (long long)mismatches[4]);
    }
    if (part == 0) find_types();
    const be_env_type *type;
    for (int t = part; (type = be_type_at(isas[0], t)); t += parts) {
        if (type->open) continue; /* needs handles from Python */
        for (int i = 0; isas[i]; i++) {
            (strcmp(type->name, "SyntheticNested") ? bad_input : bad_parts)(isas[i], be_type_at(isas[i], t));
        }
        for (int mode = BE_NEXT_STEP; mode <= BE_DISABLED; mode++) {
            for (int n = 0; n < 8; n++) {
                const be_transform *transform = n % 2 == 0 ? NULL : in_parts(type) ? &rewards : &everything;
                uint64_t first = run(isas[0], type, (be_autoreset)mode, lanes[n / 2], transform);
                for (int i = 1; isas[i]; i++) {
                    uint64_t other = run(isas[i], be_type_at(isas[i], t), (be_autoreset)mode, lanes[n / 2], transform);
                    CHECK(other == first);
                }
            }
        }
    }
    printf("%ld passed, 0 failed\n", checks);
    return 0;
}
