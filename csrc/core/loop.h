/* A step, reset, seeding or rollout of all lanes: cut into pieces that threads claim. Here it is decided how a call
 * runs, for every kind of call and of env: on one thread or on several, by measured cost (core/plan.h), in pieces of
 * what size, and when to look at signals and at the choice again.
 *
 * Each thread has lanes next to each other, the same ones in every call, and when it is done it takes those that others
 * have not come to: a thread that comes late finds nothing left. The caller brings the threads, so that this knows no
 * runtime:
 *
 *     be_call_init(&call, BE_STEP, batch, isa, arrays);
 *     be_call_begin(&call, plans, threads, pool);
 *     while ((n = be_call_next(&call)) > 0) be_call_work(&call, k) for k = 0..n-1, k = 0 being the calling thread
 *
 * batchenv/_core does it with OpenMP's prange, and where one lane is a piece (BE_LANE_BY_LANE) with be_call_run. */
#ifndef BE_LOOP_H
#define BE_LOOP_H

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#include "core/batch.h"
#include "core/plan.h"
#include "core/queue/pool.h"
#include "core/scattered.h"

typedef enum be_verb { BE_STEP, BE_STEP_LISTED, BE_RESET, BE_RESET_SOME, BE_SEED, BE_ROLLOUT } be_verb;

/* A plan for each verb; for rollouts one for each length (1 to 7 steps, to 63, and so on): what a fork costs counts
 * less and less. */
#define BE_ROLLOUT_PLANS 5
#define BE_NUM_PLANS (BE_ROLLOUT + BE_ROLLOUT_PLANS)

/* Lanes of which a thread takes first those that come first. */
typedef struct be_share {
    alignas(BE_CACHE_LINE) _Atomic int64_t next;
    int64_t end;
} be_share;

typedef struct be_call {
    /* What is to be done. */
    be_verb verb;
    be_batch *batch;
    const be_isa *isa;
    const be_rows *rows;
    const int64_t *lanes;           /* BE_STEP_LISTED: checked; row k is that of lane lanes[k] */
    int64_t num_listed;             /* the same */
    be_scattered *scattered;        /* the same, of a kernel: a part for each thread */
    const uint8_t *mask;            /* BE_RESET_SOME */
    const double *options;          /* resets */
    const uint32_t *words;          /* BE_SEED: see be_batch_seed */
    size_t num_words;               /* the same */
    int64_t steps;                  /* BE_ROLLOUT */
    const be_random_policy *policy; /* BE_ROLLOUT */
    int (*look)(void *context);     /* NULL, or asked by the calling thread every 50 ms: not 0 stops the call */
    void *look_context;

    /* How it went. */
    int stopped;              /* some lanes have done it, others have not */
    _Atomic int64_t finished; /* steps: lanes that this one has finished */

    /* The loop's own. */
    be_plan *plan;
    be_pool *pool;
    const be_placement *placement; /* or NULL; then each thread has a share, else each node */
    int by_lane, most, threads, timed;
    int64_t first_step, num_steps; /* of the rollout: under way */
    int64_t total, grain, left;    /* lanes: of the call; in a piece at most; not done */
    double start, end, next_look;
    _Atomic int64_t done;
    _Atomic int stop, failed, open; /* shares that have lanes left */
    int num_shares;
    be_error error; /* the first; BE_OK: none */
    be_share shares[BE_MAX_NODES];
} be_call;

void be_plans_start(be_plan plans[BE_NUM_PLANS], int64_t lanes, int threads, int by_lane);

/* What every call needs; the rest of the upper half, and what is not needed, is zero. */
static inline void be_call_init(be_call *call, be_verb verb, be_batch *batch, const be_isa *isa, const be_rows *rows) {
    memset(call, 0, offsetof(be_call, error));
    call->error.status = BE_OK;
    call->verb = verb;
    call->batch = batch;
    call->isa = isa;
    call->rows = rows;
}

/* To be called after be_call_init. The call uses at most `threads` threads: those of `pool`, or, where that is NULL,
 * the OpenMP runtime's. */
void be_call_begin(be_call *call, be_plan plans[BE_NUM_PLANS], int threads, be_pool *pool);

/* Instead of all that, after be_call_init: 1 if the call is one piece of work for the calling thread whatever it costs,
 * and is done now. Where a call is some hundred nanoseconds, deciding how to run it would be a good part of it. */
int be_call_alone(be_call *call, const be_plan plans[BE_NUM_PLANS], int threads);

/* On how many threads to go on; 0: all is done, or it was stopped. */
int be_call_next(be_call *call);

/* Thread `part`'s part of that. */
void be_call_work(be_call *call, int part);

/* All of it, on the calling thread and `pool`. BE_OK, or the error's status. */
int be_call_run(be_call *call);

#endif
