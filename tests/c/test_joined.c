/* Several batches that are stepped in one call, as if their lanes were one batch's: each lane goes exactly through what
 * its own batch gives it alone, on however many threads, in whatever order lanes are listed.
 *
 *     test_joined [effort]       trajectories are `effort` times as long */
#include "scenario.h"

#define PARTS 3

typedef struct joined {
    be_member parts[PARTS];
    int64_t total;
    be_pool *pool;
    be_rows rows;
} joined;

/* Batches of a scenario, of which the one in the middle has fewer lanes: with an agenda, that would change them. */
static void join(joined *j, const scenario *s) {
    be_error error = {0};
    j->total = 0;
    j->pool = loop_pool(2, 0);
    for (int k = 0; k < PARTS; k++) {
        scenario own = *s;
        if (k == 1 && !s->planned) own.lanes = s->lanes / 3;
        be_batch *batch = make_batch(&own);
        be_scattered *scattered = NULL;
        if (!(batch->type->flags & BE_LANE_BY_LANE)) {
            scattered = be_scattered_create(batch, 3, &error);
            CHECK(scattered != NULL);
        }
        j->parts[k] = (be_member){.batch = batch, .first = j->total, .scattered = scattered};
        j->total += own.lanes;
    }
    j->rows = allocate(j->parts[0].batch, (size_t)j->total);
}

static void part(joined *j) {
    release(j->parts[0].batch, &j->rows);
    be_pool_destroy(j->pool, 0);
    for (int k = 0; k < PARTS; k++) {
        be_scattered_destroy(j->parts[k].scattered);
        be_batch_destroy(j->parts[k].batch);
    }
}

static void change_params(joined *j, const scenario *s, int phase) {
    for (int k = 0; k < PARTS; k++) {
        scenario own = *s;
        own.lanes = j->parts[k].batch->num_lanes;
        set_params(j->parts[k].batch, &own, phase);
    }
}

/* Runs a call, whose members have been set, on up to three threads: as measured, or (`fixed`) always in parallel. */
static void run(joined *j, be_call *call, int fixed) {
    static be_plan measured[BE_NUM_PLANS]; /* kept from call to call, so that all ways are gone */
    be_plan always[BE_NUM_PLANS];
    parallel_plans(always);
    if (measured[0].threads == 0) be_plans_start(measured, 4096, 3, 1);
    call->parts = j->parts;
    call->num_parts = PARTS;
    be_call_begin(call, fixed ? always : measured, 3, j->pool);
    CHECK(be_call_run(call) == BE_OK && !call->stopped && call->left == 0);
}

/* Row k has what the part's own lane has there. */
static void compare_row(joined *j, int64_t k, int number, int64_t lane, const be_rows *expected, int first) {
    be_batch *batch = j->parts[number].batch;
    j->rows.failed[k] = (uint8_t)be_batch_take_failure(batch, lane);
    compare(batch, &j->rows, k, expected, lane, first);
}

static void action(joined *j, int64_t k, int number, int64_t lane, int t) {
    const be_batch *batch = j->parts[number].batch;
    write_action(batch, lane, t, (char *)actions_of(batch, &j->rows) + (size_t)k * action_bytes(batch));
}

/* A reset, and steps of all lanes. */
static void step_all(const scenario *s, const be_rows *expected) {
    joined j;
    join(&j, s);
    for (int t = 0; t <= s->steps; t++) {
        be_call call;
        if (t == s->steps / 2 + 1) change_params(&j, s, 1);
        for (int k = 0; t && k < PARTS; k++) {
            for (int64_t i = 0; i < j.parts[k].batch->num_lanes; i++) action(&j, j.parts[k].first + i, k, i, t);
        }
        be_call_init(&call, t ? BE_STEP : BE_RESET, j.parts[0].batch, isa, &j.rows);
        run(&j, &call, t % 2);
        for (int k = 0; k < PARTS; k++) {
            for (int64_t i = 0; i < j.parts[k].batch->num_lanes; i++)
                compare_row(&j, j.parts[k].first + i, k, i, &expected[t], t == 0);
        }
    }
    part(&j);
}

/* The same steps, the lanes of all parts listed in a new order in each, in one call or two. */
static void step_listed(const scenario *s, const be_rows *expected) {
    joined j;
    join(&j, s);
    const size_t n = (size_t)j.total;
    int64_t *order = malloc(n * sizeof *order), *lanes = malloc(n * sizeof *lanes);
    int32_t *part_of = malloc(n * sizeof *part_of);
    uint64_t random = 7;
    be_call call;
    be_call_init(&call, BE_RESET, j.parts[0].batch, isa, &j.rows);
    run(&j, &call, 1);
    for (int64_t i = 0; i < j.total; i++) order[i] = i;
    for (int k = 0; k < PARTS; k++) be_batch_forget_failures(j.parts[k].batch);
    for (int t = 1; t <= s->steps; t++) {
        if (t == s->steps / 2 + 1) change_params(&j, s, 1);
        if (t % 3) shuffle(order, j.total, &random);
        if (t % 4 == 0) qsort(order, n, sizeof *order, by_value); /* neighbours */
        for (int64_t k = 0; k < j.total; k++) {
            int number = PARTS - 1;
            while (j.parts[number].first > order[k]) number--;
            part_of[k] = number;
            lanes[k] = order[k] - j.parts[number].first;
            action(&j, k, number, lanes[k], t);
        }
        const int64_t half = t % 2 ? j.total : j.total / 2;
        for (int64_t begin = 0, end = half; begin < j.total; begin = end, end = j.total) {
            be_rows rows;
            be_rows_slice(be_batch_table(j.parts[0].batch), &rows, &j.rows, begin);
            be_call_init(&call, BE_STEP_LISTED, j.parts[0].batch, isa, &rows);
            call.lanes = lanes + begin;
            call.part_of = part_of + begin;
            call.num_listed = end - begin;
            run(&j, &call, t % 2);
        }
        for (int64_t k = 0; k < j.total; k++) compare_row(&j, k, part_of[k], lanes[k], &expected[t], 0);
    }
    free(order);
    free(lanes);
    free(part_of);
    part(&j);
}

/* A reset of some lanes leaves the others alone, and gives the same whether lanes are parts of one call or not. */
static void reset_some(const scenario *s, const be_rows *expected) {
    joined j;
    join(&j, s);
    uint8_t *mask = calloc((size_t)j.total, 1);
    be_call call;
    be_call_init(&call, BE_RESET, j.parts[0].batch, isa, &j.rows);
    run(&j, &call, 1);
    for (int64_t i = 0; i < j.total; i++) mask[i] = i % 3 == 1;
    for (int k = 0; k < PARTS; k++) be_batch_forget_failures(j.parts[k].batch);
    be_rows before = allocate(j.parts[0].batch, (size_t)j.total), alone = allocate(j.parts[0].batch, (size_t)s->lanes);
    const be_rows kept = j.rows;
    j.rows = before;
    be_call_init(&call, BE_RESET_SOME, j.parts[0].batch, isa, &j.rows);
    call.mask = mask;
    run(&j, &call, 1);
    for (int k = 0; k < PARTS; k++) {
        be_batch *batch = j.parts[k].batch, *other = make_batch(s);
        be_error error = {0};
        const uint8_t *own = mask + j.parts[k].first;
        uint8_t *lanes = calloc((size_t)s->lanes, 1);
        memcpy(lanes, own, (size_t)batch->num_lanes);
        CHECK(be_batch_reset(other, 0, s->lanes, NULL, NULL, &alone, &error) == BE_OK);
        be_batch_forget_failures(other);
        CHECK(be_batch_reset(other, 0, s->lanes, lanes, NULL, &alone, &error) == BE_OK);
        for (int64_t i = 0; i < batch->num_lanes; i++) {
            const int64_t row = j.parts[k].first + i;
            if (own[i]) CHECK(alike(batch, BE_ROWS_LANE, &j.rows, row, &alone, i));
            if (!own[i]) CHECK(alike(batch, BE_ROWS_LANE, &kept, row, &expected[0], i));
        }
        free(lanes);
        be_batch_destroy(other);
    }
    j.rows = kept;
    release(j.parts[0].batch, &before);
    release(j.parts[0].batch, &alone);
    free(mask);
    part(&j);
}

static void test(const scenario *s, const be_rows *expected) {
    step_all(s, expected);
    step_listed(s, expected);
    reset_some(s, expected);
}

int main(int argc, char **argv) { return each_scenario(argc, argv, test); }
