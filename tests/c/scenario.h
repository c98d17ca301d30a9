/* Trajectories of real env types, for tests of calls that step them by other ways: scenarios, batches of them with
 * their agendas and actions, and what plain steps give. */
#ifndef TEST_SCENARIO_H
#define TEST_SCENARIO_H

#include "core/agenda.h"
#include "core/run/loop.h"
#include "rows.h"
#include "world.h"

extern const be_isa BE_ISA_NAME(be_isa);
static const be_isa *const isa = &BE_ISA_NAME(be_isa);

static inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

typedef struct scenario {
    const char *type;
    int64_t lanes;
    be_autoreset autoreset;
    const be_transform *transform;
    int steps, limit;
    int per_lane;   /* float params differ from lane to lane */
    int fail_step;  /* of Synthetic */
    double cost_us; /* of Synthetic */
    int planned;    /* 0: no agenda; else one of this be_agenda_order, plus 1 */
} scenario;

/* ---- batches ---------------------------------------------------------------------------------------- */

/* Params of phase 0 or 1: with per_lane, float params within a few percent of their defaults. */
static inline void set_params(be_batch *batch, const scenario *s, int phase) {
    const be_param *table = batch->type->params;
    double params[BE_MAX_PARAMS] = {0}, *columns[BE_MAX_PARAMS] = {0};
    for (int j = 0; table[j].name; j++) {
        params[j] = table[j].value;
        if (!strcmp(table[j].name, "cost_us")) params[j] = s->cost_us;
        if (!strcmp(table[j].name, "tail_probability")) params[j] = s->cost_us > 0 ? 0.02 : 0;
        if (!strcmp(table[j].name, "end_probability")) params[j] = 0.05;
        if (!strcmp(table[j].name, "fail_step")) params[j] = s->fail_step;
        if (table[j].kind != BE_PARAM_FLOAT || table[j].shared) continue;
        if (phase) params[j] *= 0.97;
        if (!s->per_lane) continue;
        columns[j] = malloc((size_t)s->lanes * sizeof(double));
        for (int64_t i = 0; i < s->lanes; i++) {
            double value = params[j] * (1 - 0.01 * (double)((i + j + phase) % 5));
            columns[j][i] = value < table[j].low ? table[j].low : value;
        }
        params[j] = columns[j][0];
    }
    be_error error = {0};
    int status = be_batch_configure(batch, params, s->per_lane ? (const double *const *)columns : NULL, &error);
    if (status != BE_OK) fprintf(stderr, "%s\n", error.message);
    CHECK(status == BE_OK);
    for (int j = 0; j < BE_MAX_PARAMS; j++) free(columns[j]);
}

/* What an engine does that takes several lanes at once before they are stepped: it reads their actions. */
static inline void look_ahead(be_batch *batch, const int64_t *lanes, const int64_t *places, int64_t count,
                              const be_rows *rows) {
    const size_t bytes = be_space_row_bytes(action_space(batch));
    const unsigned char *actions = rows->port[action_port(batch)];
    unsigned sum = 0;
    for (int64_t k = 0; k < count; k++) {
        if (lanes[k] < 0 || lanes[k] >= batch->num_lanes) abort();
        sum += actions[(size_t)places[k] * bytes];
    }
    if (sum > 255 * (unsigned)count) abort();
}

/* ---- agendas ---------------------------------------------------------------------------------------- */

#define ENTRIES 37

/* All that an agenda points to. They are kept until the end, since batches do not own theirs. */
typedef struct agenda {
    struct agenda *before;
    be_agenda own;
    be_rng rng[ENTRIES];
    uint8_t seeded[ENTRIES];
    double sums[ENTRIES], values[ENTRIES];
    int64_t guides[ENTRIES];
    int param;
    be_agenda_place places[];
} agenda;

static agenda *agendas;

/* Lets lanes be at the beginning of their agenda, if they have one. */
static inline void begin_again(be_batch *batch) {
    be_agenda *own = batch->driver->agenda;
    for (int64_t i = 0; own && i < batch->num_lanes; i++) {
        own->places[i] = (be_agenda_place){i, 0, BE_NO_ENTRY, BE_UNDECIDED};
    }
}

/* Lets lanes follow an agenda of seeds, some entries without, and of the first float param. */
static inline void plan(be_batch *batch, const scenario *s) {
    agenda *a = calloc(1, sizeof *a + (size_t)s->lanes * sizeof *a->places);
    a->before = agendas;
    agendas = a;
    const be_param *table = batch->type->params;
    while (table[a->param].name && (table[a->param].kind != BE_PARAM_FLOAT || table[a->param].shared)) a->param++;
    double sum = 0;
    for (int e = 0; e < ENTRIES; e++) {
        be_rng_seed_u64(&a->rng[e], (uint64_t)e + 1000);
        a->seeded[e] = e % 5 != 0;
        a->sums[e] = sum += e % 4;
        if (table[a->param].name) a->values[e] = table[a->param].value * (1 - 0.002 * e);
    }
    be_agenda_guide(a->sums, ENTRIES, a->guides);
    a->own = (be_agenda){.order = (be_agenda_order)(s->planned - 1),
                         .repeat = 1,
                         .key = 99,
                         .streams = s->lanes,
                         .count = ENTRIES,
                         .sums = a->sums,
                         .guides = a->guides,
                         .sum_rows = 1,
                         .rng = a->rng,
                         .seeded = a->seeded,
                         .params = &a->param,
                         .values = a->values,
                         .num_params = table[a->param].name && s->per_lane ? 1 : 0,
                         .places = a->places};
    be_batch_set_agenda(batch, &a->own, 1);
    begin_again(batch);
}

static inline void free_agendas(void) {
    for (agenda *before; agendas; agendas = before) {
        before = agendas->before;
        free(agendas);
    }
}

static inline be_batch *make_batch(const scenario *s) {
    const be_env_type *type = be_type_named(isa, s->type);
    CHECK(type != NULL);
    be_error error = {0};
    const be_batch_options options = {.type = type,
                                      .num_lanes = s->lanes,
                                      .autoreset = s->autoreset,
                                      .max_episode_steps = s->limit,
                                      .grid = grid_for(type),
                                      .transform = s->transform};
    be_batch *batch = be_batch_create(&options, &error);
    CHECK(batch != NULL);
    if (type->flags & BE_LANE_BY_LANE && s->autoreset == BE_NEXT_STEP) {
        batch->driver->ahead = look_ahead;
        batch->driver->together = 64;
        batch->driver->group = 4;
    }
    if (s->planned) plan(batch, s);
    set_params(batch, s, 0);
    CHECK(be_batch_seed(batch, (uint32_t[]){11}, 1, 0, s->lanes) == 0);
    return batch;
}

/* Lane `lane`'s action in its step `t`. */
static inline void write_action(const be_batch *batch, int64_t lane, int t, void *row) {
    const be_space *space = action_space(batch);
    const uint64_t bits = mix((uint64_t)lane * 1000003 + (uint64_t)t + 1);
    if (space->kind == BE_SPACE_DISCRETE) {
        *(int64_t *)row = (int64_t)(bits % (uint64_t)be_space_choices(space, 0));
        return;
    }
    for (int64_t j = 0; j < be_space_row_size(space); j++) {
        ((float *)row)[j] = (float)((double)(mix(bits + (uint64_t)j) >> 40) * 0x1p-24 * 2 - 1);
    }
}

/* ---- rows ------------------------------------------------------------------------------------------- */

/* All arrays of results: of a batch itself and, as the queue has them, with lanes and failures. */
static inline be_table results_of(const be_batch *batch) {
    be_table table = *be_batch_table(batch);
    be_table_add(&table, BE_SLOT_LANE, BE_ROWS_DRIVER, sizeof(int64_t));
    be_table_add(&table, BE_SLOT_FAILED, BE_ROWS_DRIVER, 1);
    return table;
}

static inline be_rows allocate(const be_batch *batch, size_t n) {
    const be_table table = results_of(batch);
    return make_rows(&table, BE_ROWS_ALL, n);
}

static inline void release(const be_batch *batch, be_rows *rows) {
    const be_table table = results_of(batch);
    free_rows(&table, BE_ROWS_ALL, rows);
}

static inline void *actions_of(const be_batch *batch, const be_rows *rows) { return rows->port[action_port(batch)]; }
static inline size_t action_bytes(const be_batch *batch) { return be_space_row_bytes(action_space(batch)); }

static inline int same(const void *a, int64_t i, const void *b, int64_t j, size_t bytes) {
    return memcmp((const char *)a + (size_t)i * bytes, (const char *)b + (size_t)j * bytes, bytes) == 0;
}

/* Whether all arrays of these groups but the actions and the clock's have the same in row k as in row `lane`. */
static inline int alike(const be_batch *batch, int groups, const be_rows *a, int64_t k, const be_rows *b,
                        int64_t lane) {
    const be_table *table = be_batch_table(batch);
    for (int j = 0; j < table->count; j++) {
        const be_array *array = &table->arrays[j];
        if (!(array->group & groups) || array->slot == BE_SLOT_EPISODE_SECONDS) continue;
        if (!same(a->slot[array->slot], k, b->slot[array->slot], lane, array->bytes)) return 0;
    }
    return 1;
}

static inline void compare(const be_batch *batch, const be_rows *a, int64_t k, const be_rows *b, int64_t lane,
                           int first) {
    CHECK(alike(batch, BE_ROWS_LANE, a, k, b, lane));
    if (first) {
        CHECK(a->reward[k] == 0 && !a->terminated[k] && !a->truncated[k] && !a->failed[k]);
        return;
    }
    CHECK(alike(batch, BE_ROWS_RESULT | BE_ROWS_DRIVER, a, k, b, lane));
    CHECK(a->failed[k] == b->failed[lane]);
    if (a->terminated[k] | a->truncated[k]) CHECK(alike(batch, BE_ROWS_FINAL, a, k, b, lane));
}

/* ---- calls of all lanes -------------------------------------------------------------------------------- */

/* Three threads, always in parallel. */
static inline void parallel_plans(be_plan *plans) {
    be_plans_start(plans, 4096, 3, 1);
    for (int i = 0; i < BE_NUM_PLANS; i++) plans[i].parallel = plans[i].fixed = 1;
}

/* All of it on up to three threads, kernels too: as measured, or (`fixed`) always in parallel. */
static inline int call_all(be_verb verb, int64_t steps, be_batch *batch, be_pool *pool, const be_rows *rows,
                           int fixed) {
    static be_plan measured[BE_NUM_PLANS]; /* kept from call to call, so that all ways are gone */
    be_plan always[BE_NUM_PLANS];
    be_call call;
    parallel_plans(always);
    if (measured[0].threads == 0) be_plans_start(measured, 4096, 3, 1);
    be_call_init(&call, verb, batch, isa, rows);
    call.steps = steps;
    be_call_begin(&call, fixed ? always : measured, 3, pool);
    const int status = be_call_run(&call);
    CHECK(!call.stopped && call.left == 0);
    CHECK(!pool || call.placement == be_batch_placement(batch)); /* results do not show where lanes are stepped */
    return status;
}

/* ---- what a plain step gives ------------------------------------------------------------------------ */

/* Results of the reset and of `steps` steps, params changing half way; BE_LANE_BY_LANE types on a loop's workers. */
static inline be_rows *expect(const scenario *s, be_batch *batch) {
    const size_t n = (size_t)s->lanes, bytes = action_bytes(batch);
    be_rows *all = calloc((size_t)s->steps + 1, sizeof *all);
    int64_t *failures = malloc(n * sizeof *failures);
    be_error error = {0};
    be_pool *pool = batch->type->flags & BE_LANE_BY_LANE ? loop_pool(2, 0) : NULL;
    for (int t = 0; t <= s->steps; t++) {
        all[t] = allocate(batch, n);
        const be_rows rows = all[t];
        if (t == 0 && pool) {
            CHECK(call_all(BE_RESET, 0, batch, pool, &rows, t % 2) == BE_OK);
        } else if (t == 0) {
            CHECK(be_batch_reset(batch, 0, s->lanes, NULL, NULL, &rows, &error) == BE_OK);
        } else {
            if (t == s->steps / 2 + 1) set_params(batch, s, 1);
            for (int64_t i = 0; i < s->lanes; i++)
                write_action(batch, i, t, (char *)actions_of(batch, &rows) + (size_t)i * bytes);
            if (pool) {
                CHECK(call_all(BE_STEP, 0, batch, pool, &rows, t % 2) == BE_OK);
            } else {
                CHECK(isa->step(batch, 0, s->lanes, &rows, &error) >= 0);
            }
        }
        int64_t count = be_batch_take_failures(batch, failures);
        for (int64_t k = 0; k < count; k++) all[t].failed[failures[k]] = 1;
    }
    be_pool_destroy(pool, 0);
    free(failures);
    return all;
}

/* Puts lanes into any order. */
static inline void shuffle(int64_t *lanes, int64_t count, uint64_t *random) {
    for (int64_t k = count - 1; k > 0; k--) {
        const int64_t other = (int64_t)(draw(random) % (uint64_t)(k + 1)), lane = lanes[k];
        lanes[k] = lanes[other];
        lanes[other] = lane;
    }
}

/* Runs `test` with each scenario and its results. */
static inline int each_scenario(int argc, char **argv, void (*test)(const scenario *s, const be_rows *expected)) {
    static const be_transform everything = EVERYTHING(2);
    static const be_transform statistics = {.record_statistics = 1, .action_repeat = 1};
    if (argc > 1) effort = atoi(argv[1]);
    const int many = 24 * effort, few = 12 * effort;
    const scenario scenarios[] = {
        {"CartPole", 523, BE_NEXT_STEP, NULL, many, 9, 0, 0, 0},
        {"CartPole", 200, BE_SAME_STEP, &everything, many, 17, 1, 0, 0},
        {"Pendulum", 260, BE_NEXT_STEP, &statistics, many, 7, 1, 0, 0},
        {"Pendulum", 67, BE_SAME_STEP, NULL, many, 5, 0, 0, 0},
        {"FrozenLake", 330, BE_SAME_STEP, &statistics, many, 11, 0, 0, 0},
        {"FrozenLake", 131, BE_NEXT_STEP, &everything, many, 11, 0, 0, 0},
        {"Blackjack", 130, BE_NEXT_STEP, NULL, many, 0, 0, 0, 0},
        {"Synthetic", 100, BE_NEXT_STEP, NULL, few, 50, 1, 0, 10},
        {"Synthetic", 70, BE_SAME_STEP, &everything, few, 50, 1, 3, 2},
        {"Synthetic", 65, BE_NEXT_STEP, &everything, few, 9, 0, 4, 0},
        {"Synthetic", 64, BE_SAME_STEP, NULL, few, 9, 0, 2, 5},
        {"CartPole", 260, BE_NEXT_STEP, NULL, many, 9, 0, 0, 0, .planned = 1 + BE_IN_ORDER},
        {"CartPole", 200, BE_SAME_STEP, &everything, many, 17, 1, 0, 0, .planned = 1 + BE_SAMPLED},
        {"FrozenLake", 131, BE_SAME_STEP, &statistics, many, 11, 0, 0, 0, .planned = 1 + BE_SHUFFLED},
        {"Synthetic", 70, BE_NEXT_STEP, NULL, few, 9, 0, 3, 2, .planned = 1 + BE_SAMPLED},
    };
    for (size_t j = 0; j < sizeof scenarios / sizeof scenarios[0]; j++) {
        const scenario *s = &scenarios[j];
        now = s->type;
        be_batch *batch = make_batch(s);
        be_rows *expected = expect(s, batch);
        int64_t finished = 0, failed = 0;
        for (int t = 1; t <= s->steps; t++) {
            for (int64_t i = 0; i < s->lanes; i++) {
                finished += expected[t].terminated[i] | expected[t].truncated[i];
                failed += expected[t].failed[i];
            }
        }
        CHECK(finished > s->lanes / 2 && (failed > 0) == (s->fail_step > 0));
        test(s, expected);
        for (int t = 0; t <= s->steps; t++) release(batch, &expected[t]);
        free(expected);
        be_batch_destroy(batch);
    }
    free_agendas();
    printf("%s: %ld passed, 0 failed\n", isa->name, checks);
    return 0;
}

#endif
