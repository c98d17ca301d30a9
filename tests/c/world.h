/* A pool over lanes that count their steps, for the tests of the pool's queue. */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H

#include "threads.h"

#include "core/queue/pool.h"

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

static inline void step_lanes(world *w, int64_t first, int64_t count) {
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

static inline void work(void *context, const be_item *item, int worker) {
    world *w = context;
    CHECK(worker >= 0 && item->count >= 1 && item->tag == (uint32_t)(item->first * 3));
    if (!w->direct) step_lanes(w, item->first, item->count);
    /* Relaxed: these counts must not order what the pool has to order. */
    atomic_fetch_add_explicit(&w->worked, 1, memory_order_relaxed);
}

static inline void deliver(void *context, const be_item *item, int64_t offset, const be_stretch *rows, int worker) {
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

static inline void world_open(world *w, int64_t lanes, int64_t batch_rows) {
    *w = (world){.lanes = lanes, .batch_rows = batch_rows, .slow_lane = -1, .random = 88172645463325252u};
    w->batches = (int)((lanes + batch_rows - 1) / batch_rows + 1);
    w->steps = calloc((size_t)lanes, sizeof *w->steps);
    w->out = calloc((size_t)lanes, 1);
    w->ids = malloc((size_t)lanes * sizeof *w->ids);
    w->row_id = malloc((size_t)(batch_rows * w->batches) * sizeof *w->row_id);
    w->row_steps = malloc((size_t)(batch_rows * w->batches) * sizeof *w->row_steps);
    for (int64_t i = 0; i < batch_rows * w->batches; i++) w->row_id[i] = -1;
}

static inline void world_close(world *w) {
    free(w->steps);
    free(w->out);
    free(w->ids);
    free(w->row_id);
    free(w->row_steps);
}

static inline be_pool *world_pool(world *w, int workers) {
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

/* A pool for parallel loops alone. */
static inline be_pool *loop_pool(int workers, int64_t spin_ns) {
    be_pool *pool = be_pool_create(&(be_pool_options){.num_workers = workers, .spin_ns = spin_ns}, NULL, 0);
    CHECK(pool != NULL);
    return pool;
}

/* As on a machine of up to 3 nodes, all of which have the CPUs of this one: of the highest number that leaves none of
 * them without workers or lanes. NULL where there is no such number. */
static inline be_placement *fake_placement(int most, int workers, int64_t lanes, int64_t grain) {
    be_node nodes[3];
    be_placement *placement = NULL;
    for (int i = 0; i < 3; i++) nodes[i] = (be_node){.id = i, .num_cpus = be_cpus_usable(&nodes[i].cpus)};
    for (int n = most; n > 1 && !placement; n--) placement = be_place(nodes, n, workers, lanes, grain);
    return placement;
}

/* Sends `count` lanes in items of at most `chunk`. Places in the list that nobody uses are found by lane: a lane's own
 * place is free while it is not under way, and an item's places must follow each other, so lists are sorted runs. */
static inline void send_lanes(world *w, be_pool *pool, const int64_t *lanes, int64_t count, int64_t chunk,
                              unsigned flags) {
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

static inline int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Reads and clears the rows of a batch; its lanes go to `lanes`, in ascending order. */
static inline void read_batch(world *w, const be_stretch *rows, int64_t *lanes, int64_t *expected) {
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

/* The batch that must come. */
static inline void receive_batch(world *w, be_pool *pool, int64_t *lanes, int64_t *expected) {
    be_stretch rows;
    CHECK(be_pool_recv(pool, PATIENCE, 0, &rows) == BE_POOL_OK);
    read_batch(w, &rows, lanes, expected);
}

/* The same, waited for in all the ways there are. */
static inline void recv_somehow(world *w, be_pool *pool, be_stretch *rows) {
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

/* A body of the pool's parallel loop: adds how many there were. */
static inline void add_range(void *context, int64_t begin, int64_t end, int worker) {
    (void)worker;
    atomic_fetch_add((_Atomic int64_t *)context, end - begin);
}

#endif
