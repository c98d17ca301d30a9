/* Gates, rings, streams and the pool by themselves, for sanitizers: order, loss, double delivery, waiting, shutdown.
 *
 *     test_pool [effort]       1 (the default) takes a few seconds; the stress loops run `effort` times as long. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/queue/pool.h"

#define MS INT64_C(1000000)
#define PATIENCE (60000 * MS) /* for what must come: a failure instead of a hang */

static _Atomic long checks;
static int effort = 1;

#define CHECK(good) check((good) != 0, #good, __LINE__)
static void check(int good, const char *what, int line) {
    atomic_fetch_add_explicit(&checks, 1, memory_order_relaxed);
    if (good) return;
    fprintf(stderr, "FAILED at line %d: %s\n", line, what);
    abort();
}

static uint64_t draw(uint64_t *state) { /* xorshift: what is random here is only the order of things */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void burn(int64_t ns) {
    for (int64_t until = be_clock() + ns; be_clock() < until;) {
    }
}

/* Now and then a little or a long delay, to get threads out of step. */
static void stumble(uint64_t *state) {
    uint64_t r = draw(state) % 1000;
    if (r < 2) {
        nanosleep(&(struct timespec){0, 100000}, NULL);
    } else if (r < 20) {
        sched_yield();
    } else if (r < 60) {
        burn((int64_t)(draw(state) % 3000));
    }
}

static void *block(size_t bytes) {
    CHECK(bytes && bytes % 64 == 0);
    void *memory = aligned_alloc(64, bytes);
    CHECK(memory != NULL);
    return memory;
}

/* ---- gates ------------------------------------------------------------------------------------------ */

typedef struct turns {
    be_gate gate;
    _Atomic int turn;
    int count;
    long plain; /* whose turn it is may write it */
} turns;

typedef struct player {
    turns *game;
    int index;
} player;

static int my_turn(void *argument) {
    player *self = argument;
    return atomic_load(&self->game->turn) % 2 == self->index;
}

/* Never spins: every turn is a chance to lose a wake-up between the look and the nap. */
static void *play(void *argument) {
    player *self = argument;
    uint64_t random = 99 + (uint64_t)self->index;
    be_spin none = {.ns = 0};
    for (int i = 0; i < self->game->count; i++) {
        CHECK(be_gate_wait(&self->game->gate, my_turn, self, &none, i % 2 ? -1 : PATIENCE));
        CHECK(self->game->plain++ == 2 * i + self->index);
        for (uint64_t n = draw(&random) % 512; n > 0; n--) __asm__ __volatile__("");
        atomic_fetch_add(&self->game->turn, 1);
        be_gate_notify(&self->game->gate, 1);
    }
    return NULL;
}

static void test_gate(void) {
    for (int shared = 0; shared < 2; shared++) {
        turns game = {.count = (shared ? 2000 : 20000) * effort};
        be_gate_init(&game.gate, shared);
        player players[2] = {{&game, 0}, {&game, 1}};
        pthread_t other;
        pthread_create(&other, NULL, play, &players[1]);
        play(&players[0]);
        pthread_join(other, NULL);
        CHECK(game.plain == 2 * game.count && atomic_load(&game.gate.sleepers) == 0);
    }
    CHECK(be_deadline(-1) == BE_FOREVER && be_deadline(INT64_MAX) == BE_FOREVER && be_deadline(0) <= be_clock());
}

/* ---- rings ------------------------------------------------------------------------------------------ */

static void test_ring(void) {
    CHECK(be_ring_bytes(0, 8) == 0 && be_ring_bytes(8, 0) == 0 && be_ring_bytes(((size_t)1 << 30) + 1, 8) == 0);
    for (size_t capacity = 1; capacity <= 9; capacity++) {
        for (size_t bytes = 1; bytes <= 40; bytes += 13) {
            size_t size = be_ring_bytes(capacity, bytes);
            unsigned char *memory = block(size), entry[40] = {0}, got[40];
            be_ring *ring = be_ring_init(memory, capacity, bytes, 0);
            int room = (int)ring->capacity;
            CHECK(room >= (int)capacity && room >= 2);
            int in = 0, out = 0;
            for (int lap = 0; lap < 50; lap++) {
                CHECK(be_ring_empty(ring) && !be_ring_try_pop(ring, got));
                CHECK(!be_ring_pop(ring, got, 0) && be_ring_room(ring) == room);
                int count = lap % room + 1;
                for (int i = 0; i < count; i++) {
                    memset(entry, in++, bytes);
                    CHECK(be_ring_try_push(ring, entry));
                    CHECK(!be_ring_empty(ring) && be_ring_room(ring) == room - i - 1);
                }
                CHECK(be_ring_try_push(ring, entry) == (count < room));
                if (count < room) in++, memset(entry, in - 1, 1);
                if (lap % 3 == 0) { /* the block may move, and be found again */
                    unsigned char *moved = block(size);
                    memcpy(moved, memory, size);
                    memset(memory, 0xee, size);
                    CHECK(be_ring_attach(memory, size, bytes) == NULL);
                    free(memory);
                    memory = moved;
                    CHECK(be_ring_attach(memory, size - 64, bytes) == NULL);
                    CHECK(be_ring_attach(memory, size, bytes + 1) == NULL);
                    ring = be_ring_attach(memory, size, bytes);
                    CHECK(ring != NULL);
                }
                while (be_ring_try_pop(ring, got)) {
                    int last = out == in - 1 && count < room; /* the one pushed twice */
                    for (size_t k = 0; k < bytes; k++) {
                        CHECK(got[k] == (unsigned char)(last ? out - 1 : out));
                    }
                    out++;
                }
                CHECK(out == in);
            }
            free(memory);
        }
    }
    be_ring *ring = be_ring_init(block(be_ring_bytes(2, 8)), 2, 8, 0);
    uint64_t entry = 1;
    int64_t start = be_clock();
    CHECK(!be_ring_pop(ring, &entry, 20 * MS));
    CHECK(be_clock() - start >= 20 * MS);
    CHECK(be_ring_push(ring, &entry, 0) && be_ring_push(ring, &entry, 0) && !be_ring_push(ring, &entry, 0));
    start = be_clock();
    CHECK(!be_ring_push(ring, &entry, 20 * MS));
    CHECK(be_clock() - start >= 20 * MS);
    free(ring);
}

#define MAX_THREADS 8

typedef struct ring_test {
    be_ring *ring;
    int producers, consumers, mode;
    uint64_t per_producer;
    _Atomic uint64_t popped;
    _Atomic unsigned char *seen;
} ring_test;

typedef struct ring_thread {
    ring_test *test;
    int index;
    uint64_t random;
} ring_thread;

typedef struct ring_entry {
    uint32_t producer;
    uint64_t number, hash;
} ring_entry;

static void *produce(void *argument) {
    ring_thread *self = argument;
    ring_test *test = self->test;
    for (uint64_t i = 0; i < test->per_producer; i++) {
        ring_entry entry = {(uint32_t)self->index, i, i * 0x9e3779b97f4a7c15u + (uint64_t)self->index};
        if (test->mode == 0) { /* waits as long as it takes */
            CHECK(be_ring_push(test->ring, &entry, PATIENCE));
        } else if (test->mode == 1) { /* gives up soon, and tries again */
            while (!be_ring_push(test->ring, &entry, (int64_t)(draw(&self->random) % 50000))) {
            }
        } else {
            while (!be_ring_try_push(test->ring, &entry)) sched_yield();
        }
        stumble(&self->random);
    }
    return NULL;
}

static void *consume(void *argument) {
    ring_thread *self = argument;
    ring_test *test = self->test;
    uint64_t all = test->per_producer * (uint64_t)test->producers, next[MAX_THREADS] = {0};
    ring_entry entry;
    for (;;) {
        if (test->mode == 0) { /* the last entries tell the consumers to go: see test_ring_stress */
            CHECK(be_ring_pop(test->ring, &entry, PATIENCE));
            if (entry.producer == UINT32_MAX) return NULL;
        } else {
            int got = test->mode == 1 ? be_ring_pop(test->ring, &entry, (int64_t)(draw(&self->random) % 50000))
                                      : be_ring_try_pop(test->ring, &entry);
            if (!got) {
                if (atomic_load(&test->popped) == all) return NULL;
                if (test->mode == 2) sched_yield();
                continue;
            }
        }
        CHECK((int)entry.producer < test->producers && entry.number < test->per_producer);
        CHECK(entry.hash == entry.number * 0x9e3779b97f4a7c15u + entry.producer);
        CHECK(entry.number >= next[entry.producer]); /* a producer's entries come in order */
        next[entry.producer] = entry.number + 1;
        CHECK(atomic_fetch_add(&test->seen[entry.producer * test->per_producer + entry.number], 1) == 0);
        atomic_fetch_add(&test->popped, 1);
        stumble(&self->random);
    }
}

static void test_ring_stress(void) {
    static const int shapes[][3] = {{1, 1, 2}, {2, 2, 2}, {4, 4, 2}, {1, 4, 8}, {4, 1, 4}, {8, 8, 4}, {3, 3, 64}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int mode = 0; mode < 3; mode++) {
            ring_test test = {.producers = shapes[s][0], .consumers = shapes[s][1], .mode = mode};
            size_t capacity = (size_t)shapes[s][2];
            test.per_producer = (uint64_t)(1500 * effort);
            uint64_t all = test.per_producer * (uint64_t)test.producers;
            test.ring = be_ring_init(block(be_ring_bytes(capacity, sizeof(ring_entry))), capacity, sizeof(ring_entry),
                                     mode == 1);
            test.seen = calloc(all, 1);
            pthread_t threads[2 * MAX_THREADS];
            ring_thread arguments[2 * MAX_THREADS];
            for (int i = 0; i < test.producers + test.consumers; i++) {
                int producer = i < test.producers;
                arguments[i] = (ring_thread){&test, producer ? i : i - test.producers, (uint64_t)i * 7919 + 1 + s};
                pthread_create(&threads[i], NULL, producer ? produce : consume, &arguments[i]);
            }
            for (int i = 0; i < test.producers; i++) pthread_join(threads[i], NULL);
            if (mode == 0) {
                ring_entry bye = {.producer = UINT32_MAX};
                for (int i = 0; i < test.consumers; i++) CHECK(be_ring_push(test.ring, &bye, PATIENCE));
            }
            for (int i = 0; i < test.consumers; i++) pthread_join(threads[test.producers + i], NULL);
            CHECK(atomic_load(&test.popped) == all && be_ring_empty(test.ring));
            CHECK(atomic_load(&test.ring->filled.sleepers) == 0 && atomic_load(&test.ring->emptied.sleepers) == 0);
            free(test.ring);
            free((void *)test.seen);
        }
    }
}

/* Two processes, two addresses, one ring each way. */
static void test_ring_processes(void) {
    size_t bytes = be_ring_bytes(4, 8);
    FILE *file = tmpfile();
    CHECK(file != NULL && ftruncate(fileno(file), (off_t)(2 * bytes)) == 0);
    unsigned char *here = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    unsigned char *there = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    CHECK(here != MAP_FAILED && there != MAP_FAILED && here != there);
    be_ring *out = be_ring_init(here, 4, 8, 1), *back = be_ring_init(here + bytes, 4, 8, 1);
    uint64_t count = (uint64_t)(2000 * effort);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        be_ring *in = be_ring_attach(there, bytes, 8), *answer = be_ring_attach(there + bytes, bytes, 8);
        uint64_t entry;
        for (uint64_t i = 0; i < count; i++) {
            if (!in || !be_ring_pop(in, &entry, PATIENCE) || entry != i) _exit(1);
            entry = entry * 3 + 1;
            if (!be_ring_push(answer, &entry, PATIENCE)) _exit(2);
        }
        _exit(0);
    }
    uint64_t sent = 0, got;
    for (uint64_t i = 0; i < count; i++) {
        while (sent < count && sent < i + 1 + i % 6 && be_ring_push(out, &sent, i % 6 ? 0 : PATIENCE)) sent++;
        CHECK(be_ring_pop(back, &got, PATIENCE) && got == i * 3 + 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    munmap(here, 2 * bytes);
    munmap(there, 2 * bytes);
    fclose(file);
}

/* ---- streams ---------------------------------------------------------------------------------------- */

static void test_stream(void) {
    be_spin none = {.ns = 0};
    CHECK(be_stream_bytes(0, 1) == 0 && be_stream_bytes(1, 0) == 0);
    size_t bytes = be_stream_bytes(4, 3);
    void *memory = block(bytes);
    be_stream *stream = be_stream_init(memory, 4, 3, 0);
    CHECK(be_stream_attach(memory, bytes) == stream && be_stream_attach(memory, bytes - 64) == NULL);
    CHECK(be_stream_attach(memory, sizeof *stream - 1) == NULL);
    stream->magic ^= 1;
    CHECK(be_stream_attach(memory, bytes) == NULL);
    stream->magic ^= 1;
    be_stretch rows, first, second;
    CHECK(be_stream_next(stream, &none, -1, &rows) == BE_WAIT_STARVED);
    CHECK(be_stream_reserve(stream, 12) && !be_stream_reserve(stream, 1) && be_stream_in_flight(stream) == 12);
    CHECK(be_stream_claim(stream, 3) == 0 && be_stream_claim(stream, 6) == 3);
    rows = be_stream_locate(stream, 0, 3);
    CHECK(rows.batch == 0 && rows.buffer == 0 && rows.row == 0 && rows.count == 3);
    CHECK(be_stream_commit(stream, &rows) == 0);
    first = be_stream_locate(stream, 3, 6);
    CHECK(first.batch == 0 && first.row == 3 && first.count == 1);
    second = be_stream_locate(stream, 4, 5);
    CHECK(second.batch == 1 && second.buffer == 1 && second.row == 0 && second.count == 4);
    CHECK(be_stream_commit(stream, &second) == 0); /* complete, but not its turn */
    CHECK(be_stream_next(stream, &none, 5 * MS, &rows) == BE_WAIT_TIMEOUT && !be_stream_ready(stream));
    CHECK(be_stream_commit(stream, &first) == 1 && be_stream_ready(stream));
    for (uint64_t batch = 0; batch < 2; batch++) {
        CHECK(be_stream_next(stream, &none, 0, &rows) == BE_WAIT_OK);
        CHECK(rows.batch == batch && rows.buffer == (int)batch && rows.row == 0 && rows.count == 4);
    }
    CHECK(be_stream_next(stream, &none, 0, &rows) == BE_WAIT_TIMEOUT && be_stream_in_flight(stream) == 4);
    CHECK(!be_stream_reserve(stream, 1));
    be_stream_release(stream);
    CHECK(!be_stream_reserve(stream, 5) && be_stream_reserve(stream, 4));
    CHECK(!be_stream_finished(stream) && be_stream_finish(stream, &none, 1 * MS) == BE_WAIT_TIMEOUT);
    rows = be_stream_locate(stream, 8, 1); /* the rest of the second claim */
    CHECK(rows.batch == 2 && rows.buffer == 2 && rows.row == 0 && be_stream_commit(stream, &rows) == 0);
    for (uint64_t slot = be_stream_claim(stream, 7), end = slot + 7; slot < end; slot += (uint64_t)rows.count) {
        rows = be_stream_locate(stream, slot, (int64_t)(end - slot));
        be_stream_commit(stream, &rows);
    }
    CHECK(be_stream_finished(stream) && be_stream_finish(stream, &none, -1) == BE_WAIT_OK);
    for (int i = 0; i < 9; i++) be_stream_release(stream); /* no further than what was received */
    CHECK(be_stream_next(stream, &none, 0, &rows) == BE_WAIT_OK && rows.batch == 2 && rows.buffer == 2);
    CHECK(be_stream_next(stream, &none, 0, &rows) == BE_WAIT_OK && rows.batch == 3 && rows.buffer == 0);
    be_stream_clear(stream);
    CHECK(be_stream_in_flight(stream) == 0 && be_stream_next(stream, &none, -1, &rows) == BE_WAIT_STARVED);
    free(memory);
}

/* ---- the pool's queue ------------------------------------------------------------------------------- */

/* A world of lanes that count their steps. Plain memory, all of it: who touches it is for TSan to judge. */
typedef struct world {
    int64_t lanes, batch_rows;
    int batches;
    int64_t *steps;     /* per lane, by whoever has it */
    unsigned char *out; /* per lane: under way */
    int64_t *ids;       /* the sent list, a place per item */
    int64_t *row_id, *row_steps;
    int64_t slow_lane, slow_ns;
    int64_t work_ns; /* at most, drawn */
    int direct;      /* no work(): deliver does everything */
    _Atomic int64_t worked, delivered;
    uint64_t random;
    const be_placement *placement;
} world;

static void step_lanes(world *w, int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; i++) {
        int64_t lane = w->ids[i];
        CHECK(lane >= 0 && lane < w->lanes);
        uint64_t random = (uint64_t)(w->steps[lane] * 1009 + lane * 31 + 7);
        if (lane == w->slow_lane) {
            burn(w->slow_ns);
        } else if (w->work_ns && draw(&random) % 4 == 0) {
            burn((int64_t)(draw(&random) % (uint64_t)w->work_ns));
        }
        w->steps[lane]++;
    }
}

static void work(void *context, const be_item *item, int worker) {
    world *w = context;
    CHECK(worker >= 0 && item->count >= 1 && item->tag == (uint32_t)(item->first * 3));
    if (!w->direct) step_lanes(w, item->first, item->count);
    /* Relaxed: these counts must not order what the pool has to order. */
    atomic_fetch_add_explicit(&w->worked, 1, memory_order_relaxed);
}

static void deliver(void *context, const be_item *item, int64_t offset, const be_stretch *rows, int worker) {
    world *w = context;
    (void)worker;
    CHECK(rows->row >= 0 && rows->count >= 1 && rows->row + rows->count <= w->batch_rows);
    CHECK(rows->buffer == (int)(rows->batch % (uint64_t)w->batches) && offset + rows->count <= item->count);
    if (w->direct) step_lanes(w, item->first + offset, rows->count);
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t lane = w->ids[item->first + offset + i], at = rows->buffer * w->batch_rows + rows->row + i;
        CHECK(w->row_id[at] == -1); /* nothing is overwritten before it is released */
        w->row_id[at] = lane;
        w->row_steps[at] = w->steps[lane];
    }
    atomic_fetch_add_explicit(&w->delivered, rows->count, memory_order_relaxed);
}

static void world_open(world *w, int64_t lanes, int64_t batch_rows) {
    *w = (world){.lanes = lanes, .batch_rows = batch_rows, .slow_lane = -1, .random = 88172645463325252u};
    w->batches = (int)((lanes + batch_rows - 1) / batch_rows + 1);
    w->steps = calloc((size_t)lanes, sizeof *w->steps);
    w->out = calloc((size_t)lanes, 1);
    w->ids = malloc((size_t)lanes * sizeof *w->ids);
    w->row_id = malloc((size_t)(batch_rows * w->batches) * sizeof *w->row_id);
    w->row_steps = malloc((size_t)(batch_rows * w->batches) * sizeof *w->row_steps);
    for (int64_t i = 0; i < batch_rows * w->batches; i++) w->row_id[i] = -1;
}

static void world_close(world *w) {
    free(w->steps);
    free(w->out);
    free(w->ids);
    free(w->row_id);
    free(w->row_steps);
}

static be_pool *world_pool(world *w, int workers) {
    char message[256] = "";
    be_pool_options options = {.num_workers = workers,
                               .placement = w->placement,
                               .batch_rows = w->batch_rows,
                               .batches = w->batches,
                               .context = w,
                               .work = work,
                               .deliver = deliver};
    be_pool *pool = be_pool_create(&options, message, sizeof message);
    if (!pool) fprintf(stderr, "%s\n", message);
    CHECK(pool != NULL);
    return pool;
}

/* As on a machine of `num_nodes` nodes, all of which have the CPUs of this one. NULL where a node would get nothing. */
static be_placement *fake_placement(int num_nodes, int workers, int64_t lanes) {
    be_node *nodes = calloc((size_t)num_nodes, sizeof *nodes);
    for (int i = 0; i < num_nodes; i++) {
        nodes[i].id = i;
        nodes[i].num_cpus = be_cpus_usable(&nodes[i].cpus);
    }
    be_placement *placement = be_place(nodes, num_nodes, workers, lanes, 1);
    free(nodes);
    return placement;
}

/* Sends `count` lanes in items of at most `chunk`. Places in the list that nobody uses are found by lane: a lane's own
 * place is free while it is not under way, and an item's places must follow each other, so lists are sorted runs. */
static void send_lanes(world *w, be_pool *pool, const int64_t *lanes, int64_t count, int64_t chunk, unsigned flags) {
    be_item items[256];
    int num_items = 0;
    for (int64_t i = 0; i < count;) {
        int64_t run = 1;
        while (i + run < count && run < chunk && lanes[i + run] == lanes[i] + run &&
               (!w->placement ||
                be_block_of_lane(w->placement, lanes[i + run]) == be_block_of_lane(w->placement, lanes[i]))) {
            run++;
        }
        for (int64_t k = 0; k < run; k++) {
            CHECK(!w->out[lanes[i + k]]);
            w->out[lanes[i + k]] = 1;
            w->ids[lanes[i + k]] = lanes[i + k];
        }
        items[num_items++] = (be_item){lanes[i], (int32_t)run, (uint32_t)(lanes[i] * 3)};
        i += run;
        if (num_items == 256 || i == count) {
            CHECK(be_pool_submit(pool, items, num_items, flags) == BE_POOL_OK);
            num_items = 0;
        }
    }
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Reads and clears the rows of a batch; its lanes go to `lanes`, in ascending order. */
static void read_batch(world *w, const be_stretch *rows, int64_t *lanes, int64_t *expected) {
    CHECK(rows->count == w->batch_rows && rows->row == 0);
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t at = rows->buffer * w->batch_rows + i, lane = w->row_id[at];
        CHECK(lane >= 0 && w->out[lane]);
        CHECK(w->row_steps[at] == ++expected[lane]); /* each step's result once, none lost */
        w->out[lane] = 0;
        w->row_id[at] = -1;
        lanes[i] = lane;
    }
    qsort(lanes, (size_t)rows->count, sizeof *lanes, by_value);
}

/* The batch that must come, waited for in all the ways there are. */
static void recv_somehow(world *w, be_pool *pool, be_stretch *rows) {
    int64_t start = be_clock();
    for (;;) {
        uint64_t r = draw(&w->random) % 8;
        unsigned flags = r & 1 ? BE_POOL_HELP : 0;
        int64_t timeout = r < 2 ? -1 : r < 4 ? 0 : r < 6 ? (int64_t)(draw(&w->random) % 40000) : PATIENCE;
        be_pool_status status = be_pool_recv(pool, timeout, flags, rows);
        if (status == BE_POOL_OK) return;
        CHECK(status == BE_POOL_TIMEOUT && timeout >= 0 && be_clock() - start < PATIENCE);
    }
}

static void test_queue_stress(void) {
    static const int shapes[][4] = {/* lanes, batch, workers, chunk */
                                    {1, 1, 1, 1},    {2, 1, 2, 1},      {8, 3, 2, 1},   {8, 8, 3, 2},
                                    {64, 32, 2, 16}, {64, 16, 4, 1},    {50, 7, 2, 20}, {100, 1, 3, 40},
                                    {33, 32, 2, 5},  {256, 100, 2, 64}, {64, 16, 0, 7}, {40, 10, 8, 3}};
    int64_t batches = 0, lane_steps = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int kind = 0; kind < 8; kind++) {
            be_placement *placement = NULL; /* kinds 4 to 7: nodes, as many as there can be up to 3 */
            for (int nodes = 3; kind >= 4 && nodes > 1 && !placement; nodes--) {
                placement = fake_placement(nodes, shapes[s][2], shapes[s][0]);
            }
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
        near_world w = {.placement = fake_placement(2, 2, NEAR_LANES)};
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
                CHECK(be_pool_recv(pool, PATIENCE, 0, &rows) == BE_POOL_OK);
                read_batch(&plain, &rows, &got, expected);
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
        CHECK(be_pool_recv(pool, PATIENCE, 0, &rows) == BE_POOL_OK);
        read_batch(&w, &rows, lanes, expected);
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
    be_stretch rows;
    send_lanes(&w, pool, lanes, 8, 8, 0);
    CHECK(be_pool_recv(pool, PATIENCE, 0, &rows) == BE_POOL_OK);
    read_batch(&w, &rows, got, expected);
    send_lanes(&w, pool, got, 4, 1, 0);
    CHECK(be_pool_recv(pool, PATIENCE, 0, &rows) == BE_POOL_OK);
    read_batch(&w, &rows, got, expected);
    be_item one = {got[0], 1, (uint32_t)(got[0] * 3)};
    CHECK(be_pool_submit(pool, &one, 1, 0) == BE_POOL_FULL); /* two batches held, one under way */
    CHECK(be_pool_release(pool) == BE_POOL_OK);
    send_lanes(&w, pool, got, 4, 1, 0);
    for (int i = 0; i < 2; i++) {
        CHECK(be_pool_recv(pool, PATIENCE, 0, &rows) == BE_POOL_OK);
        read_batch(&w, &rows, got, expected);
    }
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

/* ---- the parallel loop ------------------------------------------------------------------------------ */

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
        be_pool_options options = {.num_workers = workers, .spin_ns = workers == 2 ? -1 : 0};
        be_pool *pool = be_pool_create(&options, NULL, 0);
        CHECK(pool != NULL);
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
            be_pool_options options = {.num_workers = workers, .spin_ns = spins ? -1 : 0};
            be_pool *pool = be_pool_create(&options, NULL, 0);
            CHECK(pool != NULL);
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

static void add_range(void *context, int64_t begin, int64_t end, int worker) {
    (void)worker;
    atomic_fetch_add((_Atomic int64_t *)context, end - begin);
}

static void test_for_large(void) {
    be_pool_options options = {.num_workers = 2};
    be_pool *pool = be_pool_create(&options, NULL, 0);
    _Atomic int64_t sum = 0;
    int64_t n = INT64_C(40000000000); /* more ranges than a word holds: the grain grows */
    CHECK(be_pool_for(pool, n, 20000, 0, add_range, (void *)&sum) == BE_POOL_OK);
    CHECK(atomic_load(&sum) == n);
    be_pool_destroy(pool, 0);
}

/* ---- the process around it -------------------------------------------------------------------------- */

#ifdef __linux__
/* Counts workers (of two) whose affinity is not the first allowed CPU alone. */
static void where(void *context, int64_t begin, int64_t end, int worker) {
    (void)begin, (void)end;
    burn(20000);
    cpu_set_t mine;
    if (worker == 2) return;
    CHECK(pthread_getaffinity_np(pthread_self(), sizeof mine, &mine) == 0);
    if (CPU_COUNT(&mine) != 1) atomic_fetch_add((_Atomic int64_t *)context, 1);
}
#endif

static void test_options(void) {
    char message[128];
    be_pool_options options = {.num_workers = -1};
    CHECK(!be_pool_create(&options, message, sizeof message) && strstr(message, "num_workers is -1"));
    world w;
    world_open(&w, 4, 2);
    options = (be_pool_options){.num_workers = 1, .batch_rows = -5, .batches = 1, .deliver = deliver};
    CHECK(!be_pool_create(&options, message, sizeof message) && strstr(message, "batch_rows is -5"));
    options = (be_pool_options){.num_workers = 1, .batch_rows = 1 << 20, .batches = 1 << 20, .deliver = deliver};
    CHECK(!be_pool_create(&options, message, sizeof message) && strstr(message, "items"));
#ifdef __linux__
    int far = 9999;
    options = (be_pool_options){.num_workers = 2, .cpus = &far, .num_cpus = 1};
    CHECK(!be_pool_create(&options, message, sizeof message) && strstr(message, "CPU 9999"));
    cpu_set_t allowed;
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &allowed)) cpu++;
    options.cpus = &cpu;
    be_pool *pool = be_pool_create(&options, message, sizeof message);
    CHECK(pool != NULL);
    _Atomic int64_t elsewhere_count = 0;
    CHECK(be_pool_for(pool, 200, 1, 0, where, (void *)&elsewhere_count) == BE_POOL_OK);
    CHECK(atomic_load(&elsewhere_count) == 0);
    be_pool_destroy(pool, 0);
#endif
    world_close(&w);
}

static pthread_t main_thread;
static volatile sig_atomic_t in_main, elsewhere;

static void on_signal(int number) {
    (void)number;
    if (pthread_equal(pthread_self(), main_thread)) {
        in_main++;
    } else {
        elsewhere++;
    }
}

static void test_signals_and_idleness(void) {
    main_thread = pthread_self();
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigaction(SIGUSR1, &action, &before);
    world w;
    world_open(&w, 4, 2);
    be_pool *pool = world_pool(&w, 3);
    int64_t lanes[4] = {0, 1, 2, 3}, expected[4] = {0};
    send_lanes(&w, pool, lanes, 4, 1, 0);
    be_stretch rows;
    CHECK(be_pool_recv(pool, PATIENCE, 0, &rows) == BE_POOL_OK);
    read_batch(&w, &rows, lanes, expected);
    for (int i = 0; i < 50; i++) kill(getpid(), SIGUSR1);
    CHECK(in_main > 0 && elsewhere == 0);
    sigaction(SIGUSR1, &before, NULL);

    nanosleep(&(struct timespec){0, 20 * MS}, NULL);
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    int64_t used = -(cpu.tv_sec * 1000 * MS + cpu.tv_nsec);
    nanosleep(&(struct timespec){0, 200 * MS}, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    used += cpu.tv_sec * 1000 * MS + cpu.tv_nsec;
    CHECK(used < 40 * MS);
    be_pool_destroy(pool, 0);
    world_close(&w);
    printf("idle pool: %lld us of CPU in 200 ms\n", (long long)(used / 1000));
}

static int child_sees_fork(be_pool *pool) {
    be_stretch rows;
    be_item item = {0, 1, 0};
    _Atomic int64_t sum = 0;
    int good = be_pool_recv(pool, -1, BE_POOL_HELP, &rows) == BE_POOL_FORKED &&
               be_pool_submit(pool, &item, 1, 0) == BE_POOL_FORKED && be_pool_release(pool) == BE_POOL_FORKED &&
               be_pool_finish(pool, -1, 0) == BE_POOL_FORKED && be_pool_clear(pool) == BE_POOL_FORKED &&
               be_pool_for(pool, 100, 1, 0, add_range, (void *)&sum) == BE_POOL_FORKED && sum == 0 &&
               be_pool_eventfd(pool) == -1;
    be_pool_destroy(pool, 1);
#ifndef __SANITIZE_THREAD__                       /* which allows no threads here */
    be_pool_options options = {.num_workers = 2}; /* the child may have its own */
    pool = be_pool_create(&options, NULL, 0);
    good = good && pool && be_pool_for(pool, 100, 1, 0, add_range, (void *)&sum) == BE_POOL_OK && sum == 100;
    be_pool_destroy(pool, 0);
#endif
    return good;
}

static void test_fork(void) {
    world w;
    world_open(&w, 8, 2);
    be_pool *pool = world_pool(&w, 2);
    int64_t lanes[8] = {0, 1, 2, 3, 4, 5, 6, 7}, expected[8] = {0};
    be_stretch rows;
    for (int round = 0; round < 5; round++) {
        send_lanes(&w, pool, lanes, round ? 2 : 8, 1, 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) _exit(child_sees_fork(pool) ? 0 : 1);
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(be_pool_recv(pool, PATIENCE, 0, &rows) == BE_POOL_OK); /* the parent goes on */
        read_batch(&w, &rows, lanes, expected);
        CHECK(be_pool_release(pool) == BE_POOL_OK);
    }
    be_pool_destroy(pool, 1);
    world_close(&w);
}

int main(int argc, char **argv) {
    if (argc > 1) effort = atoi(argv[1]) > 0 ? atoi(argv[1]) : 1;
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"gate", test_gate},
        {"ring", test_ring},
        {"ring, many threads", test_ring_stress},
        {"ring, two processes", test_ring_processes},
        {"stream", test_stream},
        {"queue, stress", test_queue_stress},
        {"queue, nodes", test_nodes},
        {"slow lane, timeouts", test_slow_lane},
        {"full", test_full},
        {"shutdown", test_shutdown},
        {"eventfd", test_eventfd},
        {"parallel loop", test_for},
        {"parallel loop, all woken", test_for_wakes_all},
        {"parallel loop and queue", test_for_and_queue},
        {"parallel loop, many ranges", test_for_large},
        {"options", test_options},
        {"signals, idleness", test_signals_and_idleness},
        {"fork", test_fork},
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        int64_t start = be_clock();
        long before = atomic_load(&checks);
        tests[i].run();
        printf("ok: %-28s %9ld checks %8.0f ms\n", tests[i].name, atomic_load(&checks) - before,
               (double)(be_clock() - start) / 1e6);
        fflush(stdout);
    }
    printf("all good: %ld checks\n", atomic_load(&checks));
    return 0;
}
