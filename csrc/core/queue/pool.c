#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/queue/pool.h"

#include "core/system/fork.h"
#include "core/system/memory.h"
#include "core/system/signals.h"
#include "core/system/thread.h"
#include "core/queue/event.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SPIN_NS 20000     /* about what putting a thread to sleep and waking it costs */
#define SPIN_LEAST 100000 /* after a parallel loop */
#define SPIN_MOST 500000
#define SPIN_SHARE 4     /* after a parallel loop: 1/4 of the time that this thread worked in it */
#define PUBLISH_EVERY 32 /* while submitting, workers are told after every so many items */
#define WAKE_AT_ONCE 4   /* workers that wake up wake further ones, since the system call takes time for each of them */
#define WAKE_ON 2

typedef void (*for_body)(void *, int64_t, int64_t, int);

/* A parallel loop. `word` consists of an epoch (32 bits), seats (8 bits: how many workers may still join) and the
 * number of ranges that are left to claim (24 bits). It counts down to no ranges left, so a worker needs no other field
 * to know that a job is over. The other fields only change while no ranges are left. A worker reads them between
 * loading the word and a compare-and-swap of it. If that succeeds, the word and therefore the job was the same all the
 * while, and what the worker has read belongs to that job. */
typedef struct be_job {
    alignas(BE_CACHE_LINE) _Atomic uint64_t word;
    alignas(BE_CACHE_LINE) _Atomic(for_body) body;
    _Atomic(void *) context;
    _Atomic int64_t n, grain, ranges;
    alignas(BE_CACHE_LINE) _Atomic int64_t done;
    alignas(BE_CACHE_LINE) be_gate over; /* where the caller waits */
} be_job;

#define RANGES_LEFT(word) ((int64_t)((word) & 0xffffff))
#define SEATS(word) ((int)((word) >> 24 & 0xff))
#define SEAT (UINT64_C(1) << 24)
#define EPOCH (UINT64_C(1) << 32)
#define MAX_RANGES 0xffffff
#define MAX_SEATS 0xff

enum { RUNNING, FINISHING, STOPPING };

typedef struct be_worker {
    pthread_t thread;
    be_pool *pool;
    int index, block;
} be_worker;

struct be_pool {
    be_pool_options options;
    be_ring *items; /* num_queues rings; idle workers wait at the first one */
    be_stream *stream;
    be_worker *workers;
    int num_started, max_spinners, num_queues;
    int crowded; /* 1: the workers need all cores */
    size_t ring_bytes;
    be_spin spin, spin_for; /* the caller's, for queue and loop */
    int forks;              /* be_fork_count() when the pool was made */
    _Atomic int in_for;
    alignas(BE_CACHE_LINE) _Atomic int state;
    _Atomic int event_read, event_write; /* file descriptors, -1: none */
    alignas(BE_CACHE_LINE) _Atomic int spinners;
    be_job job;
};

static int forked(const be_pool *pool) { return pool->forks != be_fork_count(); }

/* ---- waking workers --------------------------------------------------------------------------------- */

static be_ring *queue(const be_pool *pool, int block) {
    return (be_ring *)((unsigned char *)pool->items + (size_t)block * pool->ring_bytes);
}

static int queues_empty(be_pool *pool) {
    for (int i = 0; i < pool->num_queues; i++) {
        if (!be_ring_empty(queue(pool, i))) return 0;
    }
    return 1;
}

static int more_work(void *argument) {
    be_pool *pool = argument;
    uint64_t word = atomic_load(&pool->job.word);
    return (RANGES_LEFT(word) && SEATS(word)) || !queues_empty(pool) || atomic_load(&pool->state) != RUNNING;
}

/* Tells workers that there are `count` new pieces of work. Spinning workers need not be told: a spinner looks once more
 * after it has signed off, and a worker that finds work wakes others if there is more (pass_on). */
static void call_workers(be_pool *pool, int64_t count) {
    count -= atomic_load(&pool->spinners);
    if (count > 0) be_ring_wake(pool->items, count < WAKE_AT_ONCE ? (int)count : WAKE_AT_ONCE);
}

/* A worker that has just been idle may have been counted twice by call_workers (as a spinner), or be the first of many
 * to be woken. So when it has taken one piece of work, it wakes another worker for the next. */
static void pass_on(be_pool *pool) {
    if (atomic_load(&pool->items->filled.sleepers) && more_work(pool)) be_gate_wake(&pool->items->filled, WAKE_ON);
}

/* ---- queue items ------------------------------------------------------------------------------------ */

static void signal_event(be_pool *pool) {
    int fd = atomic_load(&pool->event_write);
    if (fd >= 0) be_event_set(fd);
}

static void run_item(be_pool *pool, const be_item *item, int index) {
    const be_pool_options *options = &pool->options;
    if (options->work) options->work(options->context, item, index);
    uint64_t slot = be_stream_claim(pool->stream, item->count);
    for (int64_t offset = 0; offset < item->count;) {
        be_stretch rows = be_stream_locate(pool->stream, slot + (uint64_t)offset, item->count - offset);
        options->deliver(options->context, item, offset, &rows, index);
        offset += rows.count;
        if (be_stream_commit(pool->stream, &rows)) signal_event(pool);
    }
}

/* Takes an item of the block of this worker (or of the caller) or, if there is none, of the next block that has one. */
static int take(be_pool *pool, int index, be_item *item) {
    const int n = pool->num_queues;
    if (n == 1) return be_ring_try_pop(pool->items, item);
    const int own =
        index < pool->options.num_workers ? pool->workers[index].block : be_block_here(pool->options.placement);
    for (int i = 0; i < n; i++) {
        if (be_ring_try_pop(queue(pool, (own + i) % n), item)) return 1;
    }
    return 0;
}

static int help(be_pool *pool) {
    be_item item;
    if (!take(pool, pool->options.num_workers, &item)) return 0;
    run_item(pool, &item, pool->options.num_workers);
    return 1;
}

/* ---- the parallel loop ------------------------------------------------------------------------------ */

/* A thread that has done its part waits for the others, or for the next loop. Loops come one after the other, so it
 * spins for at least as long as a caller may need between two of them: to sleep and to be woken costs both threads more
 * than the few microseconds that the system calls take. It spins longer after longer loops, where the time matters
 * less.
 */
static int64_t spin_after(const be_pool *pool, int64_t start) {
    const int64_t part = (be_clock() - start) / SPIN_SHARE;
    if (pool->options.spin_ns < 0) return pool->spin.ns;
    const int64_t least = pool->options.spin_ns > 0 ? pool->spin.ns : SPIN_LEAST;
    return part < least ? least : part < SPIN_MOST ? part : SPIN_MOST;
}

static int run_for(be_pool *pool, int index, int fresh, be_spin *spin) {
    be_job *job = &pool->job;
    int seated = index == pool->options.num_workers; /* the caller needs no seat */
    int64_t ran = 0, ranges = 0, start = 0;
    uint64_t word = atomic_load(&job->word);
    while (RANGES_LEFT(word) && (seated || SEATS(word))) {
        for_body body = atomic_load_explicit(&job->body, memory_order_relaxed);
        void *context = atomic_load_explicit(&job->context, memory_order_relaxed);
        int64_t n = atomic_load_explicit(&job->n, memory_order_relaxed);
        int64_t grain = atomic_load_explicit(&job->grain, memory_order_relaxed);
        ranges = atomic_load_explicit(&job->ranges, memory_order_relaxed);
        if (!atomic_compare_exchange_strong(&job->word, &word, word - 1 - (seated ? 0 : SEAT))) continue;
        int64_t begin = (ranges - RANGES_LEFT(word)) * grain;
        int64_t end = n - begin < grain ? n : begin + grain;
        /* From here on the job cannot end until this thread has reported the ranges that it has done. */
        seated = 1;
        if (fresh) pass_on(pool);
        fresh = 0;
        if (!ran) start = be_clock();
        body(context, begin, end, index);
        ran++;
        word = atomic_load(&job->word);
    }
    if (!ran) return 0;
    spin->ns = spin_after(pool, start);
    if (atomic_fetch_add(&job->done, ran) + ran == ranges) be_gate_notify(&job->over, 1);
    return 1;
}

static int job_done(void *argument) {
    be_job *job = argument;
    return atomic_load(&job->done) == atomic_load_explicit(&job->ranges, memory_order_relaxed);
}

be_pool_status be_pool_for(be_pool *pool, int64_t n, int64_t grain, int threads, for_body body, void *context) {
    if (forked(pool)) return BE_POOL_FORKED;
    if (atomic_load(&pool->in_for)) return BE_POOL_BUSY;
    if (n <= 0) return BE_POOL_OK;
    if (grain < 1) grain = 1;
    if (n / MAX_RANGES >= grain) grain = n / MAX_RANGES + 1;
    int64_t ranges = n / grain + (n % grain != 0);
    int64_t helpers = pool->options.num_workers;
    if (threads > 0 && threads - 1 < helpers) helpers = threads - 1;
    if (ranges - 1 < helpers) helpers = ranges - 1;
    if (helpers > MAX_SEATS) helpers = MAX_SEATS;
    int index = pool->options.num_workers;
    atomic_store(&pool->in_for, 1);
    if (helpers <= 0) {
        for (int64_t begin = 0; begin < n; begin += grain) {
            body(context, begin, n - begin < grain ? n : begin + grain, index);
        }
    } else {
        be_job *job = &pool->job;
        atomic_store_explicit(&job->body, body, memory_order_relaxed);
        atomic_store_explicit(&job->context, context, memory_order_relaxed);
        atomic_store_explicit(&job->n, n, memory_order_relaxed);
        atomic_store_explicit(&job->grain, grain, memory_order_relaxed);
        atomic_store_explicit(&job->ranges, ranges, memory_order_relaxed);
        atomic_store_explicit(&job->done, 0, memory_order_relaxed);
        uint64_t epoch = (atomic_load(&job->word) / EPOCH + 1) * EPOCH;
        atomic_store(&job->word, epoch + (uint64_t)helpers * SEAT + (uint64_t)ranges);
        call_workers(pool, helpers);
        run_for(pool, index, 0, &pool->spin_for);
        /* If a worker lost its core while it had the last range, it can only go on when a core is free. So the caller
         * does not spin much longer than a worker needs, but sleeps and leaves it this core. */
        be_gate_wait(&job->over, job_done, job, &pool->spin_for, -1);
    }
    atomic_store(&pool->in_for, 0);
    return BE_POOL_OK;
}

/* ---- workers ---------------------------------------------------------------------------------------- */

/* Waits until there is work, or seems to be. Only so many workers spin that one core is left for the caller. */
static void idle(be_pool *pool, be_spin *spin) {
    int found = 0;
    if (atomic_fetch_add(&pool->spinners, 1) < pool->max_spinners) {
        found = be_gate_spin(more_work, pool, spin, BE_FOREVER);
    }
    atomic_fetch_sub(&pool->spinners, 1);
    if (!found) be_gate_park(&pool->items->filled, more_work, pool, BE_FOREVER);
}

static void *run_worker(void *argument) {
    be_worker *self = argument;
    be_pool *pool = self->pool;
    be_spin spin = {.ns = pool->spin.ns};
    int fresh = 0;
    for (;;) {
        int state = atomic_load(&pool->state);
        be_item item;
        if (state == STOPPING) return NULL;
        if (run_for(pool, self->index, fresh, &spin)) {
            fresh = 0;
        } else if (take(pool, self->index, &item)) {
            if (fresh) pass_on(pool);
            fresh = 0;
            run_item(pool, &item, self->index);
            spin.ns = pool->spin.ns;
        } else if (state == FINISHING) {
            return NULL;
        } else {
            idle(pool, &spin);
            fresh = 1;
        }
    }
}

/* ---- start and end ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static be_pool *fail(char *message, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (size) vsnprintf(message, size, format, arguments);
    va_end(arguments);
    return NULL;
}

static void end_workers(be_pool *pool, int state) {
    atomic_store(&pool->state, state);
    be_gate_wake(&pool->items->filled, INT_MAX);
    for (int i = 0; i < pool->num_started; i++) pthread_join(pool->workers[i].thread, NULL);
    pool->num_started = 0;
}

/* Starts the workers. Returns EAGAIN if not all threads could be started; num_started says how many were. */
static int start_workers(be_pool *pool, char *message, size_t size) {
    const be_pool_options *options = &pool->options;
    be_signals before;
    be_signals_block(&before);
    int error = 0;
    for (int i = 0; i < options->num_workers && !error; i++) {
        be_worker *worker = &pool->workers[i];
        worker->pool = pool;
        worker->index = i;
        worker->block = options->placement ? be_block_of_worker(options->placement, i) : 0;
        error = pthread_create(&worker->thread, NULL, run_worker, worker);
        if (error) break;
        pool->num_started++;
        char name[24];
        snprintf(name, sizeof name, "batchenv-%d", i);
        be_thread_name(worker->thread, name); /* here, so that it has its name before anybody sees it */
        if (options->placement) be_block_bind(&options->placement->blocks[worker->block], worker->thread);
        if (options->num_cpus <= 0) continue;
        int cpu = options->cpus[i % options->num_cpus];
        error = be_thread_pin(worker->thread, cpu);
        if (error) {
            fail(message, size, "worker %d cannot run on CPU %d: %s; name CPUs that this process may use", i, cpu,
                 strerror(error));
        }
    }
    be_signals_restore(&before);
    return error;
}

static size_t rounded(size_t bytes) { return (bytes + BE_CACHE_LINE - 1) / BE_CACHE_LINE * BE_CACHE_LINE; }

be_pool *be_pool_create(const be_pool_options *given, char *message, size_t size) {
    be_pool_options options = *given;
    if (options.num_workers < 0 || options.num_workers > 4096) {
        return fail(message, size, "num_workers is %d, must be 0 to 4096", options.num_workers);
    }
    const int num_queues = options.placement ? options.placement->num_blocks : 1;
    if (options.num_cpus > 0 && !options.cpus) {
        return fail(message, size, "num_cpus is %d, but cpus is NULL: pass the CPUs, or 0", options.num_cpus);
    }
    if (options.batch_rows == 0 && !options.deliver) options.batch_rows = options.batches = 1; /* loops only */
    if (options.batch_rows < 1 || options.batches < 1 || !be_stream_bytes(options.batch_rows, options.batches)) {
        return fail(message, size, "batch_rows is %lld, must be 1 to 2^40; batches is %d, must be 1 to 2^20",
                    (long long)options.batch_rows, options.batches);
    }
    if (options.max_items < 0) {
        return fail(message, size, "max_items is %lld, must not be below 0", (long long)options.max_items);
    }
    if (options.max_items == 0) options.max_items = options.batch_rows * options.batches;
    size_t ring_bytes = be_ring_bytes((size_t)options.max_items, sizeof(be_item));
    if (!ring_bytes) {
        return fail(message, size, "room for %lld items is too much: at most 2^30", (long long)options.max_items);
    }
    size_t stream_bytes = be_stream_bytes(options.batch_rows, options.batches);
    size_t pool_bytes = rounded(sizeof(be_pool)),
           worker_bytes = rounded((size_t)options.num_workers * sizeof(be_worker));
    unsigned char *memory =
        be_aligned_new(BE_CACHE_LINE, pool_bytes + worker_bytes + stream_bytes + (size_t)num_queues * ring_bytes);
    if (!memory) return fail(message, size, "no memory for a queue of %lld items", (long long)options.max_items);
    be_fork_watch();

    be_pool *pool = memset(memory, 0, pool_bytes + worker_bytes);
    pool->options = options;
    pool->workers = (be_worker *)(memory + pool_bytes);
    pool->stream = be_stream_init(memory + pool_bytes + worker_bytes, options.batch_rows, options.batches, 0);
    pool->num_queues = num_queues;
    pool->ring_bytes = ring_bytes;
    pool->items = (be_ring *)(memory + pool_bytes + worker_bytes + stream_bytes);
    for (int i = 0; i < num_queues; i++) {
        be_ring_init(queue(pool, i), (size_t)options.max_items, sizeof(be_item), 0);
    }
    pool->spin.ns = options.spin_ns == 0 ? SPIN_NS : options.spin_ns;
    pool->spin_for = pool->spin;
    int cpus = be_thread_cpus();
    pool->max_spinners = cpus > 2 ? cpus - 1 : 1;
    pool->crowded = options.num_workers >= cpus;
    pool->forks = be_fork_count();
    atomic_init(&pool->event_read, -1);
    atomic_init(&pool->event_write, -1);
    be_gate_init(&pool->job.over, 0);
    /* Fewer workers do the same work, only slower. They are started anew, because each knows how many there are, and
     * one fewer than could be started, because other code may need a thread, too. */
    int error;
    while ((error = start_workers(pool, message, size)) == EAGAIN) {
        const int had = pool->num_started;
        end_workers(pool, STOPPING);
        atomic_store(&pool->state, RUNNING);
        pool->options.num_workers = had > 0 ? had - 1 : 0;
    }
    if (error) {
        be_pool_destroy(pool, 0);
        return NULL;
    }
    return pool;
}

void be_pool_destroy(be_pool *pool, int finish) {
    if (!pool) return;
    if (!forked(pool)) {
        if (finish && pool->options.num_workers == 0) be_pool_finish(pool, 0, BE_POOL_HELP);
        end_workers(pool, finish ? FINISHING : STOPPING);
    }
    be_event_close(atomic_load(&pool->event_read), atomic_load(&pool->event_write));
    be_aligned_free(pool);
}

int be_pool_num_workers(const be_pool *pool) { return pool->options.num_workers; }

/* ---- the caller's side of the queue ----------------------------------------------------------------- */

be_pool_status be_pool_submit(be_pool *pool, const be_item *items, int64_t count, unsigned flags) {
    if (forked(pool)) return BE_POOL_FORKED;
    int64_t rows = 0;
    for (int64_t i = 0; i < count; i++) {
        if (items[i].count < 1) return BE_POOL_INVALID;
        rows += items[i].count;
    }
    const int now = (flags & BE_POOL_NOW) != 0;
    for (int i = 0; !now && i < pool->num_queues; i++) {
        if (count > be_ring_room(queue(pool, i))) return BE_POOL_FULL;
    }
    if (!be_stream_reserve(pool->stream, rows)) return BE_POOL_FULL;
    for (int64_t i = 0; now && i < count; i++) run_item(pool, &items[i], pool->options.num_workers);
    if (now) return BE_POOL_OK;
    for (int64_t i = 0, told = 0; i < count; i++) {
        int block = pool->num_queues == 1 ? 0 : be_block_of_lane(pool->options.placement, items[i].first);
        /* There is room, but a worker may have lost its core just as it was emptying its slot. */
        while (!be_ring_try_push(queue(pool, block), &items[i])) sched_yield();
        if (i + 1 == count || (i + 1) % PUBLISH_EVERY == 0) {
            call_workers(pool, i + 1 - told);
            told = i + 1;
        }
    }
    return BE_POOL_OK;
}

/* Before it waits, the caller does the work that it may do itself. */
static void lend_hand(be_pool *pool, unsigned flags, int (*enough)(const be_stream *)) {
    if ((flags & BE_POOL_HELP) || pool->options.num_workers == 0) {
        while (!enough(pool->stream) && help(pool)) {
        }
    }
}

/* The descriptor is emptied before the stream is looked at. A thread that completes a batch does the two in the
 * opposite order, so the descriptor never stays empty while a batch is ready. */
static void settle_event(be_pool *pool) {
    int fd = atomic_load(&pool->event_read);
    if (fd < 0) return;
    be_event_empty(fd);
    if (be_stream_ready(pool->stream)) signal_event(pool);
}

/* How the caller waits. It does not spin if workers with long items need all cores, because it would take time from a
 * worker. */
static be_spin *spin_of(be_pool *pool, unsigned flags, be_spin *none) {
    *none = (be_spin){0};
    return pool->crowded && !(flags & BE_POOL_HELP) ? none : &pool->spin;
}

static be_pool_status settle(be_pool *pool, be_wait wait) {
    settle_event(pool);
    return wait == BE_WAIT_OK ? BE_POOL_OK : wait == BE_WAIT_TIMEOUT ? BE_POOL_TIMEOUT : BE_POOL_STARVED;
}

be_pool_status be_pool_recv(be_pool *pool, int64_t timeout, unsigned flags, be_stretch *rows) {
    if (forked(pool)) return BE_POOL_FORKED;
    lend_hand(pool, flags, be_stream_ready);
    be_spin none;
    return settle(pool, be_stream_next(pool->stream, spin_of(pool, flags, &none), timeout, rows));
}

be_pool_status be_pool_release(be_pool *pool) {
    if (forked(pool)) return BE_POOL_FORKED;
    be_stream_release(pool->stream);
    return BE_POOL_OK;
}

be_pool_status be_pool_finish(be_pool *pool, int64_t timeout, unsigned flags) {
    if (forked(pool)) return BE_POOL_FORKED;
    lend_hand(pool, flags, be_stream_finished);
    be_spin none;
    return settle(pool, be_stream_finish(pool->stream, spin_of(pool, flags, &none), timeout));
}

be_pool_status be_pool_clear(be_pool *pool) {
    if (forked(pool)) return BE_POOL_FORKED;
    if (!be_stream_finished(pool->stream)) return BE_POOL_BUSY;
    be_stream_clear(pool->stream);
    return settle(pool, BE_WAIT_OK);
}

int64_t be_pool_in_flight(const be_pool *pool) { return be_stream_in_flight(pool->stream); }

int be_pool_eventfd(be_pool *pool) {
    if (forked(pool)) return -1;
    int fd = atomic_load(&pool->event_read);
    if (fd >= 0) return fd;
    int ends[2];
    if (be_event_open(ends)) return -1;
    atomic_store(&pool->event_read, ends[0]);
    atomic_store(&pool->event_write, ends[1]);
    settle_event(pool);
    return ends[0];
}
