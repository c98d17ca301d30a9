/* The pool's queue: what is submitted is worked off once, delivered in whole batches, and dropped or finished at the
 * end. */
#include "world.h"

#include <poll.h>

static void test_queue_stress(void) {
    static const int shapes[][4] = {/* lanes, batch, workers, chunk */
                                    {1, 1, 1, 1},    {2, 1, 2, 1},      {8, 3, 2, 1},   {8, 8, 3, 2},
                                    {64, 32, 2, 16}, {64, 16, 4, 1},    {50, 7, 2, 20}, {100, 1, 3, 40},
                                    {33, 32, 2, 5},  {256, 100, 2, 64}, {64, 16, 0, 7}, {40, 10, 8, 3}};
    int64_t batches = 0, lane_steps = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int kind = 0; kind < 8; kind++) {
            be_placement *placement = kind >= 4 ? fake_placement(3, shapes[s][2], shapes[s][0], 1) : NULL;
            if (kind >= 4 && !placement) continue;
            world w;
            world_open(&w, shapes[s][0], shapes[s][1]);
            w.direct = kind & 1;
            w.work_ns = kind & 2 ? 20000 : 0;
            w.random += s;
            w.placement = placement;
            be_pool *pool = world_pool(&w, shapes[s][2]);
            int64_t *lanes = malloc((size_t)w.lanes * sizeof *lanes);
            int64_t *expected = calloc((size_t)w.lanes, sizeof *expected);
            int64_t num_held = w.lanes;
            for (int64_t i = 0; i < w.lanes; i++) lanes[i] = i;
            int64_t rounds = (kind & 2 ? 40 : 150) * effort;
            for (int64_t round = 0; round < rounds; round++) {
                unsigned flags = draw(&w.random) % 3 == 0 ? BE_POOL_NOW : 0;
                send_lanes(&w, pool, lanes, num_held, shapes[s][3], flags);
                CHECK(be_pool_in_flight(pool) == w.lanes);
                be_stretch rows;
                recv_somehow(&w, pool, &rows);
                read_batch(&w, &rows, lanes, expected);
                num_held = rows.count;
                CHECK(be_pool_release(pool) == BE_POOL_OK);
                stumble(&w.random);
                batches++;
            }
            CHECK(be_pool_finish(pool, PATIENCE, s & 1 ? BE_POOL_HELP : 0) == BE_POOL_OK);
            CHECK(atomic_load(&w.delivered) == rounds * w.batch_rows + be_pool_in_flight(pool));
            lane_steps += atomic_load(&w.delivered);
            be_pool_destroy(pool, 0);
            world_close(&w);
            free(placement);
            free(lanes);
            free(expected);
        }
    }
    printf("queue: %lld batches, %lld lane-steps\n", (long long)batches, (long long)lane_steps);
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

#define NEAR_LANES 40

/* Two workers of two nodes. Both hold an item until everything is submitted; then the second, at the next item of its
 * own, waits until the first has come for one. */
typedef struct near_world {
    be_placement *placement;
    _Atomic int held, submitted, strangers[2];
    int out_of_order[2];
} near_world;

static void near_work(void *context, const be_item *item, int worker) {
    near_world *w = context;
    const int block = be_block_of_lane(w->placement, item->first);
    const int64_t start = be_clock();
    if (item->tag) {
        atomic_fetch_add(&w->held, 1);
        while (!atomic_load(&w->submitted)) CHECK(be_clock() - start < PATIENCE && sched_yield() == 0);
        return;
    }
    if (block != worker) {
        atomic_fetch_add(&w->strangers[worker], 1);
    } else if (atomic_load(&w->strangers[worker])) {
        w->out_of_order[worker]++; /* it took another's while it had its own */
    }
    if (worker == 1) {
        while (!atomic_load(&w->strangers[0])) CHECK(be_clock() - start < PATIENCE && sched_yield() == 0);
    }
}

static void near_deliver(void *context, const be_item *item, int64_t offset, const be_stretch *rows, int worker) {
    (void)context, (void)item, (void)offset, (void)rows, (void)worker;
}

static void test_nodes(void) {
    for (int round = 0; round < 20 * effort; round++) {
        near_world w = {.placement = fake_placement(2, 2, NEAR_LANES, 1)};
        CHECK(w.placement && w.placement->num_blocks == 2 && w.placement->blocks[0].end_lane == NEAR_LANES / 2);
        be_pool_options options = {.num_workers = 2,
                                   .placement = w.placement,
                                   .batch_rows = NEAR_LANES,
                                   .batches = 2,
                                   .context = &w,
                                   .work = near_work,
                                   .deliver = near_deliver};
        be_pool *pool = be_pool_create(&options, NULL, 0);
        CHECK(pool != NULL);
        be_item items[NEAR_LANES];
        for (int i = 0; i < NEAR_LANES; i++) items[i] = (be_item){(i * 7 + 3) % NEAR_LANES, 1, i < 2};
        CHECK(be_pool_submit(pool, items, 2, 0) == BE_POOL_OK);
        const int64_t start = be_clock();
        while (atomic_load(&w.held) < 2) CHECK(be_clock() - start < PATIENCE && sched_yield() == 0);
        CHECK(be_pool_submit(pool, items + 2, NEAR_LANES - 2, 0) == BE_POOL_OK);
        atomic_store(&w.submitted, 1);
        be_stretch rows;
        CHECK(be_pool_recv(pool, PATIENCE, 0, &rows) == BE_POOL_OK && rows.count == NEAR_LANES);
        CHECK(w.out_of_order[0] == 0 && w.out_of_order[1] == 0);
        CHECK(atomic_load(&w.strangers[0]) > 0);
        be_pool_destroy(pool, 0);

        /* One item, of either block, is done by whoever is there: also by the caller, and by a worker woken for it. */
        for (int workers = 0; workers <= 1; workers++) {
            world plain;
            world_open(&plain, NEAR_LANES, 1);
            plain.placement = w.placement;
            pool = world_pool(&plain, workers);
            for (int64_t lane = 0; lane < NEAR_LANES; lane += NEAR_LANES - 1) {
                int64_t got, *expected = calloc(NEAR_LANES, sizeof *expected);
                expected[lane] = plain.steps[lane];
                send_lanes(&plain, pool, &lane, 1, 1, 0);
                receive_batch(&plain, pool, &got, expected);
                CHECK(got == lane && be_pool_release(pool) == BE_POOL_OK);
                free(expected);
            }
            be_pool_destroy(pool, 0);
            world_close(&plain);
        }
        free(w.placement);
    }
}

/* One lane takes 100 ms: meanwhile the others go round many times. Then timeouts. */
static void test_slow_lane(void) {
    world w;
    world_open(&w, 8, 2);
    w.slow_lane = 3;
    w.slow_ns = 100 * MS;
    be_pool *pool = world_pool(&w, 2);
    int64_t lanes[8] = {0, 1, 2, 3, 4, 5, 6, 7}, expected[8] = {0};
    be_stretch rows;
    send_lanes(&w, pool, lanes, 8, 1, 0);
    int64_t rounds = 0;
    for (int slow = 0; !slow; rounds++) {
        receive_batch(&w, pool, lanes, expected);
        CHECK(be_pool_release(pool) == BE_POOL_OK);
        slow = lanes[0] == 3 || lanes[1] == 3;
        if (!slow) send_lanes(&w, pool, lanes, 2, 1, 0);
    }
    CHECK(rounds > 20);
    printf("slow lane: %lld batches of the others went by\n", (long long)rounds);
    CHECK(be_pool_finish(pool, PATIENCE, 0) == BE_POOL_OK);
    CHECK(be_pool_clear(pool) == BE_POOL_OK && be_pool_in_flight(pool) == 0);
    CHECK(be_pool_recv(pool, -1, 0, &rows) == BE_POOL_STARVED);
    be_pool_destroy(pool, 1);
    world_close(&w);

    world_open(&w, 2, 2);
    w.slow_lane = 0;
    w.slow_ns = 60 * MS;
    pool = world_pool(&w, 1);
    int64_t both[2] = {0, 1}, seen[2] = {0};
    send_lanes(&w, pool, both, 1, 1, 0);
    CHECK(be_pool_recv(pool, -1, 0, &rows) == BE_POOL_STARVED); /* one of two: would never come */
    CHECK(be_pool_clear(pool) == BE_POOL_BUSY);
    send_lanes(&w, pool, both + 1, 1, 1, 0);
    int64_t start = be_clock();
    CHECK(be_pool_recv(pool, 10 * MS, 0, &rows) == BE_POOL_TIMEOUT);
    CHECK(be_pool_finish(pool, 1 * MS, 0) == BE_POOL_TIMEOUT);
    CHECK(be_clock() - start >= 11 * MS);
    CHECK(be_pool_recv(pool, -1, 0, &rows) == BE_POOL_OK);
    read_batch(&w, &rows, both, seen);
    CHECK(seen[0] == 1 && seen[1] == 1);
    be_item bad = {0, 0, 0};
    CHECK(be_pool_submit(pool, &bad, 1, 0) == BE_POOL_INVALID);
    be_pool_destroy(pool, 0);
    world_close(&w);
}

/* No room: nothing is submitted, nothing is lost. */
static void test_full(void) {
    world w;
    world_open(&w, 8, 4); /* 3 buffers: 12 results */
    be_pool *pool = world_pool(&w, 2);
    int64_t lanes[8] = {0, 1, 2, 3, 4, 5, 6, 7}, expected[8] = {0}, got[8];
    send_lanes(&w, pool, lanes, 8, 8, 0);
    receive_batch(&w, pool, got, expected);
    send_lanes(&w, pool, got, 4, 1, 0);
    receive_batch(&w, pool, got, expected);
    be_item one = {got[0], 1, (uint32_t)(got[0] * 3)};
    CHECK(be_pool_submit(pool, &one, 1, 0) == BE_POOL_FULL); /* two batches held, one under way */
    CHECK(be_pool_release(pool) == BE_POOL_OK);
    send_lanes(&w, pool, got, 4, 1, 0);
    for (int i = 0; i < 2; i++) receive_batch(&w, pool, got, expected);
    CHECK(atomic_load(&w.delivered) == 16);
    be_pool_destroy(pool, 1);
    world_close(&w);
}

static void test_shutdown(void) {
    int64_t dropped = 0;
    for (int round = 0; round < 60 * effort; round++) {
        world w;
        world_open(&w, 64, 16);
        w.work_ns = 20000;
        w.random += (uint64_t)round * 77;
        int workers = round % 5, finish = round / 5 % 2;
        be_pool *pool = world_pool(&w, workers);
        int64_t lanes[64];
        for (int64_t i = 0; i < 64; i++) lanes[i] = i;
        if (round % 7) send_lanes(&w, pool, lanes, 64, 1, round % 3 ? 0 : BE_POOL_NOW);
        if (round % 2) burn((int64_t)(draw(&w.random) % 200000));
        be_pool_destroy(pool, finish);
        int64_t worked = atomic_load(&w.worked);
        CHECK(worked <= 64 && worked == atomic_load(&w.delivered));
        if (finish && round % 7) CHECK(worked == 64);
        dropped += round % 7 ? 64 - worked : 0;
        world_close(&w);
    }
    be_pool_destroy(NULL, 0);
    printf("shutdown: %lld waiting items were dropped\n", (long long)dropped);
}

/* Only ever waits on the descriptor: a lost signal would be a hang. */
static void test_eventfd(void) {
    world w;
    world_open(&w, 16, 4);
    be_pool *pool = world_pool(&w, 2);
    int64_t lanes[16], expected[16] = {0}, num_held = 16, needless = 0;
    for (int64_t i = 0; i < 16; i++) lanes[i] = i;
    int fd = -1;
    nanosleep(&(struct timespec){0, 5 * MS}, NULL); /* the workers sleep: who wakes them for quiet items? */
    for (int64_t round = 0; round < 3000 * effort; round++) {
        send_lanes(&w, pool, lanes, num_held, 2, round % 2 ? 0 : BE_POOL_NOW);
        if (fd < 0) {
            fd = be_pool_eventfd(pool); /* asked for late: a batch may be ready */
            CHECK(fd >= 0 && be_pool_eventfd(pool) == fd);
        }
        be_stretch rows;
        for (;;) {
            struct pollfd wanted = {fd, POLLIN, 0};
            int events = poll(&wanted, 1, 60000);
            CHECK(events == 1);
            be_pool_status status = be_pool_recv(pool, 0, 0, &rows);
            if (status == BE_POOL_OK) break;
            CHECK(status == BE_POOL_TIMEOUT);
            needless++;
        }
        read_batch(&w, &rows, lanes, expected);
        num_held = 4;
        CHECK(be_pool_release(pool) == BE_POOL_OK);
        if (round % 500 == 0) nanosleep(&(struct timespec){0, 3 * MS}, NULL);
    }
    be_stretch rows;
    CHECK(be_pool_finish(pool, PATIENCE, 0) == BE_POOL_OK);
    while (be_pool_recv(pool, 0, 0, &rows) == BE_POOL_OK) {
    }
    struct pollfd wanted = {fd, POLLIN, 0};
    CHECK(poll(&wanted, 1, 0) == 0); /* level: nothing ready, not readable */
    be_pool_destroy(pool, 0);
    world_close(&w);
    printf("eventfd: %lld of %d wake-ups needless\n", (long long)needless, 3000 * effort);
}

MAIN({"queue, stress", test_queue_stress}, {"queue, nodes", test_nodes}, {"slow lane, timeouts", test_slow_lane},
     {"full", test_full}, {"shutdown", test_shutdown}, {"eventfd", test_eventfd})
