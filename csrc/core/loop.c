#include "core/loop.h"

#include <stdalign.h>
#include <stdatomic.h>

typedef void (*loop_body)(void *, int64_t, int64_t, int);

/* Lanes next to each other that a thread takes first: bookkeeping of neighbours shares cache lines, and a lane's state
 * is still in the cache of who stepped it last. */
typedef struct share {
    alignas(BE_CACHE_LINE) _Atomic int64_t next;
    int64_t end;
} share;

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
    loop_body body;
    const be_placement *placement; /* or NULL; then each node has a share, else each thread */
    int num_shares, workers;
    share shares[BE_MAX_NODES];
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

static int first_share(const call *c, int worker) {
    const int is_caller = worker >= c->workers;
    if (c->placement) return is_caller ? be_block_here(c->placement) : be_block_of_worker(c->placement, worker);
    return is_caller ? 0 : (worker + 1) % c->num_shares;
}

/* The lanes of this thread's share, and when they are gone, one by one those that others have not come to. */
static void run_share(void *context, int64_t begin, int64_t end, int worker) {
    (void)begin, (void)end;
    call *c = context;
    const int first = first_share(c, worker);
    for (int i = 0; i < c->num_shares; i++) {
        share *from = &c->shares[(first + i) % c->num_shares];
        while (atomic_load_explicit(&from->next, memory_order_relaxed) < from->end) {
            const int64_t lane = atomic_fetch_add_explicit(&from->next, 1, memory_order_relaxed);
            if (lane < from->end) c->body(c, lane, lane + 1, worker);
        }
    }
}

static int run(be_pool *pool, int threads, call *c, loop_body body) {
    const int64_t lanes = c->batch->num_lanes;
    c->placement = be_batch_placement(c->batch);
    c->workers = be_pool_num_workers(pool);
    c->body = body;
    if (threads < 1 || threads > c->workers + 1) threads = c->workers + 1;
    if (threads > lanes) threads = (int)lanes;
    c->num_shares = c->placement ? c->placement->num_blocks : threads < BE_MAX_NODES ? threads : BE_MAX_NODES;
    for (int64_t i = 0, start = 0; i < c->num_shares; i++) {
        atomic_init(&c->shares[i].next, start);
        start = c->placement ? c->placement->blocks[i].end_lane : lanes * (i + 1) / c->num_shares;
        c->shares[i].end = start;
    }
    be_pool_status status = be_pool_for(pool, threads, 1, threads, run_share, c);
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
