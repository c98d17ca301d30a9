/* Lanes in flight with real env types, for sanitizers: whatever the batch size, the workers and the order in which
 * lanes are sent, a lane goes exactly through what be_isa's step gives it in a batch of the same seeds.
 *
 *     test_async [effort]       trajectories are `effort` times as long */
#include "core/agenda.h"
#include "core/run/async.h"
#include "core/run/loop.h"
#include "rows.h"
#include "world.h"

extern const be_isa BE_ISA_NAME(be_isa);
static const be_isa *const isa = &BE_ISA_NAME(be_isa);

static uint64_t mix(uint64_t x) {
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
static void set_params(be_batch *batch, const scenario *s, int phase) {
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
static void look_ahead(be_batch *batch, const int64_t *lanes, const int64_t *places, int64_t count,
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
static void begin_again(be_batch *batch) {
    be_agenda *own = batch->driver->agenda;
    for (int64_t i = 0; own && i < batch->num_lanes; i++) {
        own->places[i] = (be_agenda_place){i, 0, BE_NO_ENTRY, BE_UNDECIDED};
    }
}

/* Lets lanes follow an agenda of seeds, some entries without, and of the first float param. */
static void plan(be_batch *batch, const scenario *s) {
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

static void free_agendas(void) {
    for (agenda *before; agendas; agendas = before) {
        before = agendas->before;
        free(agendas);
    }
}

static be_batch *make_batch(const scenario *s) {
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
static void write_action(const be_batch *batch, int64_t lane, int t, void *row) {
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
static be_table results_of(const be_batch *batch) {
    be_table table = *be_batch_table(batch);
    be_table_add(&table, BE_SLOT_LANE, BE_ROWS_DRIVER, sizeof(int64_t));
    be_table_add(&table, BE_SLOT_FAILED, BE_ROWS_DRIVER, 1);
    return table;
}

static be_rows allocate(const be_batch *batch, size_t n) {
    const be_table table = results_of(batch);
    return make_rows(&table, BE_ROWS_ALL, n);
}

static void release(const be_batch *batch, be_rows *rows) {
    const be_table table = results_of(batch);
    free_rows(&table, BE_ROWS_ALL, rows);
}

static void *actions_of(const be_batch *batch, const be_rows *rows) { return rows->port[action_port(batch)]; }
static size_t action_bytes(const be_batch *batch) { return be_space_row_bytes(action_space(batch)); }

static int same(const void *a, int64_t i, const void *b, int64_t j, size_t bytes) {
    return memcmp((const char *)a + (size_t)i * bytes, (const char *)b + (size_t)j * bytes, bytes) == 0;
}

/* Whether all arrays of these groups but the actions and the clock's have the same in row k as in row `lane`. */
static int alike(const be_batch *batch, int groups, const be_rows *a, int64_t k, const be_rows *b, int64_t lane) {
    const be_table *table = be_batch_table(batch);
    for (int j = 0; j < table->count; j++) {
        const be_array *array = &table->arrays[j];
        if (!(array->group & groups) || array->slot == BE_SLOT_EPISODE_SECONDS) continue;
        if (!same(a->slot[array->slot], k, b->slot[array->slot], lane, array->bytes)) return 0;
    }
    return 1;
}

static void compare(const be_batch *batch, const be_rows *a, int64_t k, const be_rows *b, int64_t lane, int first) {
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
static void parallel_plans(be_plan *plans) {
    be_plans_start(plans, 4096, 3, 1);
    for (int i = 0; i < BE_NUM_PLANS; i++) plans[i].parallel = plans[i].fixed = 1;
}

/* All of it on up to three threads, kernels too: as measured, or (`fixed`) always in parallel. */
static int call_all(be_verb verb, int64_t steps, be_batch *batch, be_pool *pool, const be_rows *rows, int fixed) {
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
static be_rows *expect(const scenario *s, be_batch *batch) {
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

static void place(be_batch *batch, int workers) {
    const int64_t grain = batch->type->flags & BE_LANE_BY_LANE ? 1 : 64;
    be_placement *placement = fake_placement(3, workers, batch->num_lanes, grain);
    CHECK(placement != NULL);
    be_batch_place(batch, placement);
}

/* The first half of those steps as a rollout on the loop's workers. */
static void roll(const scenario *s, const be_rows *expected, int nodes) {
    be_batch *batch = make_batch(s);
    if (nodes) place(batch, 3);
    const int steps = s->steps / 2;
    const int64_t rows_in_all = steps * s->lanes;
    const size_t bytes = action_bytes(batch);
    be_pool *pool = loop_pool(2, 0);
    be_rows first = allocate(batch, (size_t)s->lanes), all = allocate(batch, (size_t)rows_in_all);
    CHECK(call_all(BE_RESET, 0, batch, pool, &first, 1) == BE_OK);
    unsigned char *actions = actions_of(batch, &all);
    for (int64_t k = 0; k < rows_in_all; k++) {
        write_action(batch, k % s->lanes, 1 + (int)(k / s->lanes), actions + (size_t)k * bytes);
        all.failed[k] = expected[1 + k / s->lanes].failed[k % s->lanes]; /* reported for a rollout as a whole */
    }
    CHECK(call_all(BE_ROLLOUT, steps, batch, pool, &all, nodes) == BE_OK);
    for (int64_t k = 0; k < rows_in_all; k++) {
        compare(batch, &all, k, &expected[1 + k / s->lanes], k % s->lanes, 0);
    }
    release(batch, &first);
    release(batch, &all);
    be_pool_destroy(pool, 0);
    be_batch_destroy(batch);
}

/* Puts lanes into any order. */
static void shuffle(int64_t *lanes, int64_t count, uint64_t *random) {
    for (int64_t k = count - 1; k > 0; k--) {
        const int64_t other = (int64_t)(draw(random) % (uint64_t)(k + 1)), lane = lanes[k];
        lanes[k] = lanes[other];
        lanes[other] = lane;
    }
}

/* The same steps, the lanes listed in a new order in each, on three threads. */
static void step_listed(const scenario *s, const be_rows *expected) {
    be_batch *batch = make_batch(s);
    const size_t n = (size_t)s->lanes, bytes = action_bytes(batch);
    be_error error = {0};
    be_pool *pool = loop_pool(2, 0);
    be_scattered *scattered = NULL;
    if (!(batch->type->flags & BE_LANE_BY_LANE)) scattered = be_scattered_create(batch, 3, &error);
    CHECK((scattered || batch->type->flags & BE_LANE_BY_LANE));
    int64_t *lanes = malloc(n * sizeof *lanes);
    uint64_t random = 5;
    be_rows rows = allocate(batch, n);
    CHECK(call_all(BE_RESET, 0, batch, pool, &rows, 1) == BE_OK);
    for (int64_t i = 0; i < s->lanes; i++) {
        be_batch_take_failure(batch, i);
        lanes[i] = i;
    }
    for (int t = 1; t <= s->steps; t++) {
        if (t == s->steps / 2 + 1) set_params(batch, s, 1);
        if (t % 3) shuffle(lanes, s->lanes, &random);             /* each third step in the order before */
        if (t % 4 == 0) qsort(lanes, n, sizeof *lanes, by_value); /* neighbours */
        const int64_t half = t % 2 ? s->lanes : s->lanes / 2;     /* in one call, or two */
        for (int64_t begin = 0, end = half; begin < s->lanes; begin = end, end = s->lanes) {
            be_call call;
            be_plan plans[BE_NUM_PLANS];
            parallel_plans(plans);
            be_rows part;
            be_rows_slice(be_batch_table(batch), &part, &rows, begin);
            be_call_init(&call, BE_STEP_LISTED, batch, isa, &part);
            for (int64_t k = begin; k < end; k++)
                write_action(batch, lanes[k], t, (char *)actions_of(batch, &rows) + (size_t)k * bytes);
            call.lanes = lanes + begin;
            call.num_listed = end - begin;
            call.scattered = scattered;
            be_call_begin(&call, plans, 3, pool);
            CHECK(be_call_run(&call) == BE_OK && call.left == 0);
        }
        for (int64_t k = 0; k < s->lanes; k++) {
            rows.failed[k] = (uint8_t)be_batch_take_failure(batch, lanes[k]);
            compare(batch, &rows, k, &expected[t], lanes[k], 0);
        }
    }
    release(batch, &rows);
    free(lanes);
    be_scattered_destroy(scattered);
    be_pool_destroy(pool, 0);
    be_batch_destroy(batch);
}

static int stop_at_once(void *context) {
    (*(int *)context)++;
    return 1;
}

/* A call that is stopped has been stopped in all threads when it returns, and says so; the next one is a call like any
 * other. */
static void interrupt(const scenario *s) {
    be_batch *batch = make_batch(s);
    const int steps = 8;
    const size_t rows_in_all = (size_t)(steps * s->lanes);
    int looks = 0;
    be_pool *pool = loop_pool(2, 0);
    be_rows all = allocate(batch, rows_in_all);
    CHECK(call_all(BE_RESET, 0, batch, pool, &all, 1) == BE_OK);
    be_call call;
    be_plan plans[BE_NUM_PLANS];
    be_plans_start(plans, 4096, 3, 1);
    be_call_init(&call, BE_ROLLOUT, batch, isa, &all);
    call.steps = steps;
    call.look = stop_at_once;
    call.look_context = &looks;
    be_call_begin(&call, plans, 3, pool);
    int rounds = 0;
    for (int threads; (threads = be_call_next(&call)) > 0; rounds++) {
        call.next_look = 0;
        for (int part = 0; part < threads; part++) be_call_work(&call, part);
    }
    CHECK(rounds <= 1 && looks == call.stopped);
    CHECK(call.stopped || !(batch->type->flags & BE_LANE_BY_LANE)); /* so few lanes of a kernel are one piece */
    CHECK(call_all(BE_RESET, 0, batch, pool, &all, 1) == BE_OK);
    release(batch, &all);
    be_pool_destroy(pool, 0);
    be_batch_destroy(batch);
}

/* ---- the same in flight ----------------------------------------------------------------------------- */

typedef struct flight {
    const scenario *s;
    be_batch *batch;
    be_async *async;
    be_rows *buffers;
    int num_buffers;
    int64_t batch_rows;
    int *taken; /* by lane: steps received, -1 before the reset */
    int64_t *idle, num_idle, submitted;
    uint64_t random;
} flight;

static void take_off(flight *f, const scenario *s, be_batch *batch, int64_t batch_rows, int workers) {
    be_error error = {0};
    *f = (flight){.s = s, .batch = batch, .batch_rows = batch_rows, .random = (uint64_t)batch_rows * 7 + 1};
    f->async = be_async_create(batch, isa, batch_rows, workers, NULL, 0, &error);
    CHECK(f->async != NULL);
    f->num_buffers = be_async_num_buffers(f->async);
    f->buffers = calloc((size_t)f->num_buffers, sizeof *f->buffers);
    for (int i = 0; i < f->num_buffers; i++) {
        f->buffers[i] = allocate(batch, (size_t)batch_rows);
        be_async_set_buffer(f->async, i, &f->buffers[i]);
    }
    f->taken = malloc((size_t)s->lanes * sizeof *f->taken);
    f->idle = malloc((size_t)s->lanes * sizeof *f->idle);
    for (int64_t i = 0; i < s->lanes; i++) f->taken[i] = -1;
}

static void land(flight *f) {
    be_async_destroy(f->async);
    for (int i = 0; i < f->num_buffers; i++) release(f->batch, &f->buffers[i]);
    free(f->buffers);
    free(f->taken);
    free(f->idle);
}

static void reset_all(flight *f) {
    int what = 0;
    for (int64_t i = 0; i < f->s->lanes; i++) f->idle[i] = i;
    CHECK(be_async_check(f->async, f->idle, f->s->lanes, &what) == -1);
    CHECK(be_async_submit(f->async, f->idle, f->s->lanes, NULL, NULL) == BE_POOL_OK);
    CHECK(be_async_check(f->async, f->idle, 1, &what) == 0 && what == BE_LANE_TAKEN);
    CHECK(be_async_in_flight(f->async) == f->s->lanes);
    f->num_idle = 0;
}

/* Sends lanes, their actions being those of their next steps, or of step 0 for lanes that have all theirs. */
static void send(flight *f, const int64_t *lanes, int64_t count) {
    const size_t bytes = action_bytes(f->batch);
    /* As long as promised, and gone after the call. */
    be_rows rows = make_rows(be_batch_table(f->batch), BE_ROWS_ACTION, (size_t)count);
    unsigned char *actions = actions_of(f->batch, &rows);
    int what = 0;
    for (int64_t k = 0; k < count; k++) {
        write_action(f->batch, lanes[k], f->taken[lanes[k]] + 1, actions + (size_t)k * bytes);
        if (f->taken[lanes[k]] < f->s->steps) f->submitted++;
    }
    CHECK(be_async_check(f->async, lanes, count, &what) == -1);
    CHECK(be_async_submit(f->async, lanes, count, &rows, NULL) == BE_POOL_OK);
    free_rows(be_batch_table(f->batch), BE_ROWS_ACTION, &rows);
}

/* Some or all of the idle lanes that have taken fewer than `until` steps: in the order of their numbers, so that
 * neighbours go together, or in any. */
static int send_some(flight *f, int until) {
    int64_t count = 0;
    for (int64_t k = 0; k < f->num_idle; k++) {
        if (f->taken[f->idle[k]] >= until) continue;
        int64_t lane = f->idle[k];
        f->idle[k] = f->idle[count];
        f->idle[count++] = lane;
    }
    if (count == 0) return 0;
    if (draw(&f->random) % 2) {
        qsort(f->idle, (size_t)count, sizeof *f->idle, by_value);
    } else {
        shuffle(f->idle, count, &f->random);
    }
    int64_t n = draw(&f->random) % 4 ? count : 1 + (int64_t)(draw(&f->random) % (uint64_t)count);
    send(f, f->idle, n);
    memmove(f->idle, f->idle + n, (size_t)(f->num_idle - n) * sizeof *f->idle);
    f->num_idle -= n;
    return 1;
}

static void receive(flight *f, const be_rows *expected) {
    int buffer = -1;
    CHECK(be_async_recv(f->async, PATIENCE, &buffer) == BE_POOL_OK);
    be_rows rows = f->buffers[buffer]; /* a new one takes its place: what is written late into it is seen */
    f->buffers[buffer] = allocate(f->batch, (size_t)f->batch_rows);
    be_async_set_buffer(f->async, buffer, &f->buffers[buffer]);
    for (int64_t k = 0; k < f->batch_rows; k++) {
        const int64_t lane = rows.lane[k];
        CHECK(lane >= 0 && lane < f->s->lanes);
        if (f->batch_rows == f->s->lanes) CHECK(lane == k);
        if (f->taken[lane] < f->s->steps) {
            const int t = ++f->taken[lane];
            if (expected) compare(f->batch, &rows, k, &expected[t], lane, t == 0);
        }
        f->idle[f->num_idle++] = lane;
    }
    release(f->batch, &rows);
}

static void finish(flight *f) { CHECK(be_async_finish(f->async, PATIENCE) == BE_POOL_OK); }

/* Fewer lanes are in flight than a batch has: their results cannot be received, and go unseen. */
static void drop(flight *f) {
    const int64_t count = be_async_in_flight(f->async);
    int64_t *lanes = malloc((size_t)count * sizeof *lanes);
    CHECK(be_async_list_in_flight(f->async, NULL, lanes, count) == count);
    finish(f);
    CHECK(be_async_clear(f->async) == BE_POOL_OK && be_async_in_flight(f->async) == 0);
    for (int64_t k = 0; k < count; k++) {
        f->taken[lanes[k]]++;
        f->idle[f->num_idle++] = lanes[k];
    }
    free(lanes);
}

/* Until all lanes have been sent on their way to step `until`, their results received or not. */
static void fly(flight *f, int until, const be_rows *expected) {
    for (;;) {
        while (draw(&f->random) % 8 && send_some(f, until)) {
        }
        if (f->submitted == f->s->lanes * until) return;
        if (be_async_in_flight(f->async) >= f->batch_rows) {
            receive(f, expected);
        } else if (!send_some(f, until)) {
            drop(f);
        }
    }
}

static void run(const scenario *s, const be_rows *expected, int64_t batch_rows, int workers, int nodes) {
    static char text[128];
    snprintf(text, sizeof text, "%s, %lld lanes, batches of %lld, %d workers, mode %d, nodes %d", s->type,
             (long long)s->lanes, (long long)batch_rows, workers, (int)s->autoreset, nodes);
    now = text;
    be_batch *batch = make_batch(s);
    if (nodes) place(batch, workers);
    flight f;
    take_off(&f, s, batch, batch_rows, workers);
    reset_all(&f);
    fly(&f, s->steps / 2, expected);
    CHECK(f.submitted == s->lanes * (s->steps / 2));
    finish(&f); /* results wait, and params change under them */
    set_params(batch, s, 1);
    fly(&f, s->steps, expected);
    CHECK(f.submitted == s->lanes * s->steps);
    while (be_async_in_flight(f.async) >= batch_rows) receive(&f, expected);
    while (be_async_in_flight(f.async) > 0) { /* lanes that are done fill the last batch */
        send(&f, f.idle, 1);
        memmove(f.idle, f.idle + 1, (size_t)--f.num_idle * sizeof *f.idle);
        if (be_async_in_flight(f.async) == batch_rows) receive(&f, expected);
    }
    for (int64_t i = 0; i < s->lanes; i++) CHECK(f.taken[i] == s->steps);

    /* Everything dropped; then again from the start with the same seeds. */
    send(&f, f.idle, s->lanes / 2 + 1);
    finish(&f);
    CHECK(be_async_clear(f.async) == BE_POOL_OK && be_async_in_flight(f.async) == 0);
    CHECK(be_async_recv(f.async, 0, &(int){0}) == BE_POOL_STARVED);
    set_params(batch, s, 0);
    be_batch_seed(batch, (uint32_t[]){11}, 1, 0, s->lanes);
    begin_again(batch);
    for (int64_t i = 0; i < s->lanes; i++) f.taken[i] = -1;
    f.submitted = 0;
    reset_all(&f);
    receive(&f, expected);
    fly(&f, s->steps / 4, expected);
    land(&f); /* with lanes in flight */
    be_batch_destroy(batch);
}

int main(int argc, char **argv) {
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
        const int64_t sizes[] = {1, 7, 64, s->lanes};
        roll(s, expected, 0);
        roll(s, expected, 1);
        step_listed(s, expected);
        interrupt(s);
        for (int i = 0; i < 4; i++) run(s, expected, sizes[i], 1 + (i + (int)j) % 4, 0);
        for (int i = 0; i < 4; i += 2) run(s, expected, sizes[i + (int)j % 2], 2 + (i + (int)j) % 3, 1);
        for (int t = 0; t <= s->steps; t++) release(batch, &expected[t]);
        free(expected);
        be_batch_destroy(batch);
    }
    free_agendas();
    printf("%s: %ld passed, 0 failed\n", isa->name, checks);
    return 0;
}
