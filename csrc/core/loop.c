#include "core/loop.h"

#include <stdalign.h>
#include <stdatomic.h>

typedef void (*loop_body)(void *, int64_t, int64_t, int);

/* A block's next lane. */
typedef struct counter {
    alignas(BE_CACHE_LINE) _Atomic int64_t next;
} counter;

typedef struct call {
    be_batch *batch;
    const be_isa *isa;
    const uint8_t *mask;
    const double *options;
    int64_t steps;
    const be_random_policy *policy;
    const be_arrays *arrays;
    be_error *error; /* the first */
    _Atomic int failed;
    _Atomic int64_t finished;
    /* With a placement: */
    const be_placement *placement;
    counter *counters;
    loop_body body;
    int workers;
} call;

static void note(call *c, const be_error *error) {
    if (atomic_exchange(&c->failed, 1) == 0) *c->error = *error;
}

static void step(void *context, int64_t begin, int64_t end, int worker) {
    (void)worker;
    call *c = context;
    be_error error = {0};
    int64_t finished = c->isa->step(c->batch, begin, end, c->arrays, &error);
    if (finished < 0) {
        note(c, &error);
    } else {
        atomic_fetch_add(&c->finished, finished);
    }
}

static void roll(void *context, int64_t begin, int64_t end, int worker) {
    (void)worker;
    call *c = context;
    be_error error = {0};
    if (c->isa->rollout(c->batch, begin, end, c->steps, c->arrays, c->policy, &error) < 0) note(c, &error);
}

static void reset(void *context, int64_t begin, int64_t end, int worker) {
    (void)worker;
    call *c = context;
    be_error error = {0};
    if (be_batch_reset(c->batch, begin, end, c->mask, c->options, c->arrays, &error) != BE_OK) note(c, &error);
}

/* A lane of the block of this worker's node, or, when they are gone, of the next that has some. There is one for every
 * call: as many are claimed as there are. */
static int64_t claim(call *c, int worker) {
    const be_placement *placement = c->placement;
    int block = worker < c->workers ? be_block_of_worker(placement, worker) : be_block_here(placement);
    for (;; block = (block + 1) % placement->num_blocks) {
        const int64_t end = placement->blocks[block].end_lane;
        if (atomic_load_explicit(&c->counters[block].next, memory_order_relaxed) >= end) continue;
        const int64_t lane = atomic_fetch_add_explicit(&c->counters[block].next, 1, memory_order_relaxed);
        if (lane < end) return lane;
    }
}

/* What the pool hands out are no lanes here, but rights to claim one. */
static void run_claimed(void *context, int64_t begin, int64_t end, int worker) {
    call *c = context;
    for (int64_t k = begin; k < end; k++) {
        const int64_t lane = claim(c, worker);
        c->body(c, lane, lane + 1, worker);
    }
}

static int run(be_pool *pool, int threads, call *c, loop_body body) {
    counter counters[BE_MAX_NODES];
    c->placement = be_batch_placement(c->batch);
    if (c->placement) {
        for (int i = 0; i < c->placement->num_blocks; i++) {
            atomic_init(&counters[i].next, i == 0 ? 0 : c->placement->blocks[i - 1].end_lane);
        }
        c->counters = counters;
        c->workers = be_pool_num_workers(pool);
        c->body = body;
        body = run_claimed;
    }
    be_pool_status status = be_pool_for(pool, c->batch->num_lanes, 1, threads, body, c);
    if (status == BE_POOL_OK) return atomic_load(&c->failed) ? (int)c->error->status : BE_OK;
    return be_fail(c->error, BE_ERROR_ENGINE, -1, "the workers cannot be used (status %d)", (int)status);
}

int64_t be_loop_step(be_pool *pool, int threads, be_batch *batch, const be_isa *isa, const be_arrays *arrays,
                     be_error *error) {
    call c = {.batch = batch, .isa = isa, .arrays = arrays, .error = error};
    return run(pool, threads, &c, step) == BE_OK ? atomic_load(&c.finished) : -1;
}

int be_loop_rollout(be_pool *pool, int threads, be_batch *batch, const be_isa *isa, int64_t steps,
                    const be_arrays *arrays, const be_random_policy *policy, be_error *error) {
    call c = {.batch = batch, .isa = isa, .steps = steps, .arrays = arrays, .policy = policy, .error = error};
    return run(pool, threads, &c, roll);
}

int be_loop_reset(be_pool *pool, int threads, be_batch *batch, const uint8_t *mask, const double *options,
                  const be_arrays *arrays, be_error *error) {
    call c = {.batch = batch, .mask = mask, .options = options, .arrays = arrays, .error = error};
    return run(pool, threads, &c, reset);
}
