/* The pool's parallel loop: each index once, by all threads that were asked for, beside items of the queue. */
#include "world.h"

typedef struct loop {
    int64_t n, grain;
    unsigned char *hits;
    int64_t work_ns, limit;
    be_pool *pool;
    _Atomic int64_t ranges, others;
    _Atomic uint64_t threads[64];
} loop;

static void body(void *context, int64_t begin, int64_t end, int worker) {
    loop *l = context;
    CHECK(begin >= 0 && begin < end && end <= l->n && begin % l->grain == 0);
    CHECK(end == l->n || end - begin == l->grain);
    for (int64_t i = begin; i < end; i++) l->hits[i]++;
    if (worker != be_pool_num_workers(l->pool)) atomic_fetch_add_explicit(&l->others, 1, memory_order_relaxed);
    atomic_fetch_or_explicit(&l->threads[worker % 64], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->ranges, 1, memory_order_relaxed);
    if (l->work_ns) burn(l->work_ns * (begin % 16 == 0 ? 10 : 1));
}

static void nested(void *context, int64_t begin, int64_t end, int worker) {
    (void)begin, (void)end, (void)worker;
    CHECK(be_pool_for(context, 1, 1, 0, nested, context) == BE_POOL_BUSY);
}

static void test_for(void) {
    int64_t loops = 0, ranges = 0, others = 0;
    for (int workers = 0; workers <= 8; workers += workers < 3 ? 1 : 5) {
        be_pool *pool = loop_pool(workers, workers == 2 ? -1 : 0);
        uint64_t random = 12345 + (uint64_t)workers;
        for (int round = 0; round < 3000 * effort; round++) {
            /* Freed as soon as the loop is over: a worker that came late would be seen by the sanitizers. */
            loop *l = calloc(1, sizeof *l);
            l->n = (int64_t)(draw(&random) % 200);
            l->grain = (int64_t)(draw(&random) % 9) + 1;
            l->pool = pool;
            l->work_ns = round % 50 == 0 ? 1000 : 0;
            int threads = (int)(draw(&random) % 5);
            if (round % 2) l->n = 4, l->grain = 1, threads = 0; /* jobs that look alike */
            l->hits = calloc((size_t)l->n + 1, 1);
            CHECK(be_pool_for(pool, l->n, l->grain, threads, body, l) == BE_POOL_OK);
            for (int64_t i = 0; i < l->n; i++) CHECK(l->hits[i] == 1);
            CHECK(atomic_load(&l->ranges) == (l->n + l->grain - 1) / l->grain);
            int used = 0;
            for (int i = 0; i < 64; i++) used += (int)atomic_load(&l->threads[i]);
            CHECK(used <= workers + 1 && (threads == 0 || used <= threads));
            loops++;
            ranges += atomic_load(&l->ranges);
            others += atomic_load(&l->others);
            free(l->hits);
            free(l);
            stumble(&random);
        }
        CHECK(be_pool_for(pool, 1, 1, 1, nested, pool) == BE_POOL_OK);
        be_pool_destroy(pool, 0);
    }
    printf("parallel loop: %lld loops, %lld ranges, %lld of them by workers\n", (long long)loops, (long long)ranges,
           (long long)others);
}

typedef struct meeting {
    int expected;
    _Atomic int inside;
} meeting;

/* Waits until everybody has come. */
static void meet(void *context, int64_t begin, int64_t end, int worker) {
    meeting *m = context;
    (void)worker;
    CHECK(end == begin + 1);
    atomic_fetch_add(&m->inside, 1);
    const int64_t start = be_clock();
    while (atomic_load(&m->inside) < m->expected) {
        CHECK(be_clock() - start < PATIENCE);
        nanosleep(&(struct timespec){0, 20000}, NULL);
    }
}

/* The loop is parallel: workers who sleep are woken, each of them, and no thread works off the ranges of others. A loop
 * that wakes nobody gives the same results, only later. */
static void test_for_wakes_all(void) {
    for (int workers = 1; workers <= 8; workers += workers < 3 ? 1 : 5) {
        for (int spins = 0; spins < 2; spins++) {
            be_pool *pool = loop_pool(workers, spins ? -1 : 0);
            for (int round = 0; round < 20; round++) {
                if (round % 4 == 0) nanosleep(&(struct timespec){0, 5 * MS}, NULL); /* all are asleep */
                const int threads = round % 2 ? workers + 1 : (round / 2) % (workers + 1) + 1;
                meeting m = {.expected = threads};
                CHECK(be_pool_for(pool, threads, 1, threads, meet, &m) == BE_POOL_OK);
                CHECK(atomic_load(&m.inside) == threads);
            }
            be_pool_destroy(pool, 0);
        }
    }
}

/* Loops while the workers are at queue items: the loop does not wait for them. */
static void test_for_and_queue(void) {
    world w;
    world_open(&w, 32, 8);
    w.work_ns = 30000;
    be_pool *pool = world_pool(&w, 3);
    int64_t lanes[32], expected[32] = {0}, num_held = 32;
    for (int64_t i = 0; i < 32; i++) lanes[i] = i;
    unsigned char hits[100];
    for (int round = 0; round < 300 * effort; round++) {
        send_lanes(&w, pool, lanes, num_held, 3, 0);
        memset(hits, 0, sizeof hits);
        loop l = {.n = 100, .grain = 7, .hits = hits, .pool = pool};
        CHECK(be_pool_for(pool, 100, 7, 0, body, &l) == BE_POOL_OK);
        for (int i = 0; i < 100; i++) CHECK(hits[i] == 1);
        be_stretch rows;
        recv_somehow(&w, pool, &rows);
        read_batch(&w, &rows, lanes, expected);
        num_held = 8;
        CHECK(be_pool_release(pool) == BE_POOL_OK);
    }
    be_pool_destroy(pool, 1);
    world_close(&w);

    world_open(&w, 2, 1);
    w.slow_lane = 0;
    w.slow_ns = 100 * MS;
    pool = world_pool(&w, 1);
    int64_t slow = 0;
    send_lanes(&w, pool, &slow, 1, 1, 0);
    int64_t start = be_clock();
    memset(hits, 0, sizeof hits);
    loop l = {.n = 100, .grain = 7, .hits = hits, .pool = pool};
    nanosleep(&(struct timespec){0, 5 * MS}, NULL);
    CHECK(be_pool_for(pool, 100, 7, 0, body, &l) == BE_POOL_OK);
    CHECK(be_clock() - start < 90 * MS || be_pool_in_flight(pool) == 1);
    be_pool_destroy(pool, 1);
    world_close(&w);
}

static void test_for_large(void) {
    be_pool *pool = loop_pool(2, 0);
    _Atomic int64_t sum = 0;
    int64_t n = INT64_C(40000000000); /* more ranges than a word holds: the grain grows */
    CHECK(be_pool_for(pool, n, 20000, 0, add_range, (void *)&sum) == BE_POOL_OK);
    CHECK(atomic_load(&sum) == n);
    be_pool_destroy(pool, 0);
}

MAIN({"parallel loop", test_for}, {"parallel loop, all woken", test_for_wakes_all},
     {"parallel loop and queue", test_for_and_queue}, {"parallel loop, many ranges", test_for_large})
