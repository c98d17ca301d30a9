/* Lanes in flight with real env types, for sanitizers: whatever the batch size, the workers and the order in which
 * lanes are sent, a lane goes exactly through what be_isa's step gives it in a batch of the same seeds.
 *
 *     test_async [effort]       trajectories are `effort` times as long */
#include "core/run/async.h"
#include "scenario.h"

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

static void test(const scenario *s, const be_rows *expected) {
    static int number;
    const int64_t sizes[] = {1, 7, 64, s->lanes};
    roll(s, expected, 0);
    roll(s, expected, 1);
    step_listed(s, expected);
    interrupt(s);
    for (int i = 0; i < 4; i++) run(s, expected, sizes[i], 1 + (i + number) % 4, 0);
    for (int i = 0; i < 4; i += 2) run(s, expected, sizes[i + number % 2], 2 + (i + number) % 3, 1);
    number++;
}

int main(int argc, char **argv) { return each_scenario(argc, argv, test); }
