/* Worker threads, and the two ways of giving them work. The pool knows nothing about envs: an item is a range of
 * numbers.
 *
 * 1. The queue. Items are submitted and worked on in any order. Their results come back in batches, in the order in
 *    which they are finished, so a slow item delays no other.
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
 *    The item's places among the results are claimed between the two calls, so deliver should be short. It is called
 *    more than once if the item's results lie in several batches. Items that are short themselves need no `work`: they
 *    can produce their results in deliver, right where they belong, without a copy.
 *
 *    Both functions must note errors themselves: for the pool, an item that failed is a finished item.
 *
 * 2. The parallel loop, be_pool_for: ranges of 0..n-1 are claimed one by one by the caller and by workers, and the call
 *    returns when all ranges are done, whether or not all workers have woken up. A worker that comes late finds
 *    nothing left and touches nothing.
 *
 * With a placement (NUMA), each block of numbers has its own queue and its own workers, which look into other queues
 * only when theirs is empty; no item spans two blocks. The parallel loop does not use the placement.
 *
 * `worker` is 0..num_workers-1, or num_workers in the thread that called into the pool.
 *
 * Workers without work spin for some microseconds (after a loop, for a tenth of a millisecond, or a quarter of the time
 * that it took them) and then sleep, so an idle pool uses no CPU time. They inherit the CPU affinity of the thread that
 * creates the pool, and leave all signals to other threads.
 *
 * Only one of the functions below may run at a time: use a single caller, or a lock. Functions that wait take a timeout
 * in ns (below 0: wait forever; 0: only look) and lose nothing when it passes, so a caller who has to look at signals
 * can wait in slices. In a child of fork() there are no workers, and every function returns BE_POOL_FORKED. */
#ifndef BE_POOL_H
#define BE_POOL_H

#include "core/system/numa.h"
#include "core/queue/stream.h"

typedef struct be_pool be_pool;

typedef struct be_item {
    int64_t first;
    int32_t count; /* results: at least 1 */
    uint32_t tag;  /* for the caller's own use */
} be_item;

typedef enum be_pool_status {
    BE_POOL_OK = 0,
    BE_POOL_TIMEOUT, /* nothing is lost: try again */
    BE_POOL_FULL,    /* no room for the results, or for the items: receive and release first; nothing was submitted */
    BE_POOL_STARVED, /* fewer results are under way than a batch has, so it would never be complete */
    BE_POOL_BUSY,    /* be_pool_for was called from a callback, or be_pool_clear with work under way */
    BE_POOL_INVALID, /* an item with a count below 1 */
    BE_POOL_FORKED,
} be_pool_status;

typedef struct be_pool_options {
    int num_workers; /* 0: all work is done by the caller, in be_pool_recv and be_pool_for */
    const int *cpus; /* worker i runs on cpus[i % num_cpus] only; NULL: wherever the caller may */
    int num_cpus;
    const be_placement *placement; /* or NULL; must outlive the pool */
    int64_t batch_rows;            /* results in a batch */
    int batches;                   /* number of buffers; ceil(L / batch_rows) + 1, if at most L results are under way */
    int64_t max_items;             /* the most items that wait at a time; 0: batch_rows * batches, always enough */
    int64_t spin_ns;               /* how long to spin before sleeping; 0: 20 us, below 0: not at all */
    void *context;
    void (*work)(void *context, const be_item *item, int worker); /* or NULL */
    void (*deliver)(void *context, const be_item *item, int64_t offset, const be_stretch *rows, int worker);
} be_pool_options;

/* Returns NULL on failure and writes the reason (a bad option, no memory, a CPU that cannot be used) to message[size].
 * If not all threads can be started, the pool has fewer workers, perhaps none: see be_pool_num_workers. For a pool that
 * only runs parallel loops, leave batch_rows 0 and deliver NULL. */
be_pool *be_pool_create(const be_pool_options *options, char *message, size_t size);

/* Ends the workers: each completes its current item; with `finish`, also every queued one. NULL is fine. */
void be_pool_destroy(be_pool *pool, int finish);

int be_pool_num_workers(const be_pool *pool);

/* ---- the queue -------------------------------------------------------------------------------------- */

/* Submits all of the items or, with BE_POOL_FULL, none. With BE_POOL_NOW, the caller does the work itself in this call;
 * this is for work so short that it is done before a worker has woken up. */
#define BE_POOL_NOW 1u
be_pool_status be_pool_submit(be_pool *pool, const be_item *items, int64_t count, unsigned flags);

/* Waits for the next batch. With BE_POOL_HELP, the caller works on waiting items until the batch is ready. This is best
 * for short items; with long ones the call may return late, after its timeout, and the caller looks at signals late. */
#define BE_POOL_HELP 2u
be_pool_status be_pool_recv(be_pool *pool, int64_t timeout, unsigned flags, be_stretch *rows);

/* Gives back the buffer of the oldest batch received and not yet given back. */
be_pool_status be_pool_release(be_pool *pool);

/* Waits until no item is under way; flags as for be_pool_recv. Finished results can still be received. */
be_pool_status be_pool_finish(be_pool *pool, int64_t timeout, unsigned flags);

/* Forgets all finished results, received or not. No item may be under way. */
be_pool_status be_pool_clear(be_pool *pool);

int64_t be_pool_in_flight(const be_pool *pool); /* results submitted and not received */

/* A file descriptor that is readable while a batch is ready, for select, epoll and asyncio. It belongs to the pool: the
 * caller must only wait on it, and be_pool_recv empties it. It may be readable once for a batch that was already
 * received; be_pool_recv(pool, 0, ...) then returns BE_POOL_TIMEOUT or BE_POOL_STARVED and corrects that. From the
 * first call on, it costs one or two system calls per batch. Returns -1 if no descriptor is available (see errno) or
 * after fork(). */
int be_pool_eventfd(be_pool *pool);

/* ---- the parallel loop ------------------------------------------------------------------------------ */

/* Calls body(context, begin, end, worker) for ranges of `grain` numbers (the last may be shorter) that make up 0..n-1,
 * in at most `threads` threads including the caller (0: as many as there are). The grain is enlarged where there would
 * be more than 2^24 - 1 ranges. Workers that are busy with a queue item do not take part. */
be_pool_status be_pool_for(be_pool *pool, int64_t n, int64_t grain, int threads,
                           void (*body)(void *context, int64_t begin, int64_t end, int worker), void *context);

#endif
