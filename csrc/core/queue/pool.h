/* Worker threads, and the two ways of giving them work. The pool knows nothing of envs: an item is a range of numbers.
 *
 * 1. The queue. Items are submitted, worked on in any order, and their results come back in batches in the order in
 *    which they got finished: a slow item delays no other.
 *
 *        be_pool_submit(pool, items, n);                       io_uring's words: submission queue,
 *        ...                                                   completion queue, entry
 *        be_pool_recv(pool, timeout, 0, &rows);                the first batch_rows results
 *        read buffer rows.buffer
 *        be_pool_release(pool);                                it may be written again
 *
 *    An item stands for `count` results (lanes). For each item the pool calls
 *
 *        work(context, item, worker)                           if there is one: everything that takes time
 *        deliver(context, item, offset, rows, worker)          puts results offset..offset+rows->count-1 of the item
 *                                                              into rows rows->row.. of buffer rows->buffer
 *
 *    The item's places among the results are claimed between the two, so deliver should be short. It is called more
 *    than once where an item's results lie in two batches. Items that are short themselves can do without `work` and
 *    produce their results in deliver, right where they belong: no copy.
 *
 *    Both are also the place to note errors: to the pool an item that failed is a finished one.
 *
 * 2. The parallel loop, be_pool_for: ranges of 0..n-1 are claimed one by one by the caller and by workers, and the call
 *    returns when all ranges are done, whether or not all workers have woken up. A worker that comes late finds
 *    nothing left and touches nothing.
 *
 * With a placement (NUMA) each block of numbers has a queue and workers of its own, which look into other queues only
 * when theirs is empty; items do not span blocks. Nothing of that holds for the parallel loop.
 *
 * `worker` is 0..num_workers-1, or num_workers in the thread that called into the pool.
 *
 * Workers without work spin for some microseconds (after a loop for up to a quarter of what it took them) and then
 * sleep: an idle pool uses no CPU. They inherit the CPU affinity of the thread that creates the pool, and leave all
 * signals to other threads.
 *
 * Of the functions below, only one may run at a time: one caller, or a lock around them. Waits take a timeout in ns
 * (below 0: for ever; 0: just look) and lose nothing when it passes, so a caller who has to look at signals waits in
 * slices. In a child of fork() there are no workers; there every function says BE_POOL_FORKED. */
#ifndef BE_POOL_H
#define BE_POOL_H

#include "core/place/numa.h"
#include "core/queue/stream.h"

typedef struct be_pool be_pool;

typedef struct be_item {
    int64_t first;
    int32_t count; /* results: at least 1 */
    uint32_t tag;  /* the caller's */
} be_item;

typedef enum be_pool_status {
    BE_POOL_OK = 0,
    BE_POOL_TIMEOUT, /* nothing lost, try again */
    BE_POOL_FULL,    /* no room for the results, or for the items: receive and release first; nothing was submitted */
    BE_POOL_STARVED, /* fewer results are under way than a batch has: it would never come */
    BE_POOL_BUSY,    /* be_pool_for from inside a callback, be_pool_clear with work under way */
    BE_POOL_INVALID, /* an item with a count below 1 */
    BE_POOL_FORKED,
} be_pool_status;

typedef struct be_pool_options {
    int num_workers; /* 0: all work is done by the caller, in be_pool_recv and be_pool_for */
    const int *cpus; /* worker i runs on cpus[i % num_cpus] only; NULL: wherever the caller may */
    int num_cpus;
    const be_placement *placement; /* or NULL; it has to outlive the pool */
    int64_t batch_rows;            /* results in a batch */
    int batches;                   /* buffers; with L results under way at most: ceil(L / batch_rows) + 1 */
    int64_t max_items;             /* items waiting at a time; 0: batch_rows * batches, which always do */
    int64_t spin_ns;               /* how long to spin before sleeping; 0: 20 us, below 0: not at all */
    void *context;
    void (*work)(void *context, const be_item *item, int worker); /* or NULL */
    void (*deliver)(void *context, const be_item *item, int64_t offset, const be_stretch *rows, int worker);
} be_pool_options;

/* NULL on failure, with the reason (bad option, memory, CPU) in message[size]. Where not so many threads can be started
 * it has fewer workers, perhaps none: see be_pool_num_workers. A pool that is only to run parallel loops leaves
 * batch_rows 0 and deliver NULL. */
be_pool *be_pool_create(const be_pool_options *options, char *message, size_t size);

/* Ends the workers: each completes its current item; with `finish`, also every queued one. NULL is fine. */
void be_pool_destroy(be_pool *pool, int finish);

int be_pool_num_workers(const be_pool *pool);

/* ---- the queue -------------------------------------------------------------------------------------- */

/* All of the items or (BE_POOL_FULL) none. With BE_POOL_NOW the caller works them off itself, in this call: for work so
 * short that it is done before a worker is up. */
#define BE_POOL_NOW 1u
be_pool_status be_pool_submit(be_pool *pool, const be_item *items, int64_t count, unsigned flags);

/* Waits for the next batch. With BE_POOL_HELP the caller works on waiting items while the batch is not ready: the best
 * for short items, but with long ones it may look up late (the timeout is not kept either), and so late for signals. */
#define BE_POOL_HELP 2u
be_pool_status be_pool_recv(be_pool *pool, int64_t timeout, unsigned flags, be_stretch *rows);

/* Gives back the buffer of the oldest batch received and not yet given back. */
be_pool_status be_pool_release(be_pool *pool);

/* Waits until nothing is under way any more; flags as for be_pool_recv. What is finished can still be received. */
be_pool_status be_pool_finish(be_pool *pool, int64_t timeout, unsigned flags);

/* Forgets all finished results, received or not, as at the start. Nothing may be under way. */
be_pool_status be_pool_clear(be_pool *pool);

int64_t be_pool_in_flight(const be_pool *pool); /* results submitted and not received */

/* A file descriptor that is readable while a batch is ready, for select, epoll and asyncio; the pool's own: only wait
 * on it, be_pool_recv empties it. It may once be readable for a batch already received: be_pool_recv(pool, 0, ...) then
 * says BE_POOL_TIMEOUT or BE_POOL_STARVED and puts it right. Costs a system call or two a batch from the first call
 * on. Returns -1 if no descriptor is available (see errno) or after fork(). */
int be_pool_eventfd(be_pool *pool);

/* ---- the parallel loop ------------------------------------------------------------------------------ */

/* Calls body(context, begin, end, worker) for ranges of `grain` numbers (the last may be shorter) that make up 0..n-1,
 * in at most `threads` threads including the caller (0: as many as there are). The grain is enlarged where there would
 * be more than 2^24 - 1 ranges. Workers that are at a queue item do not come. */
be_pool_status be_pool_for(be_pool *pool, int64_t n, int64_t grain, int threads,
                           void (*body)(void *context, int64_t begin, int64_t end, int worker), void *context);

#endif
