/* A step, reset, seeding or rollout of all lanes, cut into pieces that threads claim. This file decides how a call
 * runs, for every kind of call and env: on one thread or on several (by measured cost, see core/run/plan.h), how large
 * the pieces are, and when to look at signals and to reconsider the choice.
 *
 * Each thread has neighbouring lanes of its own, the same ones in every call. When it is done with them, it takes lanes
 * that other threads have not reached yet, so a thread that comes late may find nothing left. The caller provides the
 * threads, so this file depends on no thread runtime:
 *
 *     be_call_init(&call, BE_STEP, batch, isa, arrays);
 *     be_call_begin(&call, plans, threads, pool);
 *     while ((n = be_call_next(&call)) > 0) be_call_work(&call, k) for k = 0..n-1, k = 0 being the calling thread
 *
 * batchenv/_core uses OpenMP's prange for this, and be_call_run where each lane is a piece (BE_LANE_BY_LANE). */
#ifndef BE_LOOP_H
#define BE_LOOP_H

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#include "core/load/types.h"
#include "core/run/plan.h"
#include "core/queue/pool.h"
#include "core/run/scattered.h"

typedef enum be_verb { BE_STEP, BE_STEP_LISTED, BE_RESET, BE_RESET_SOME, BE_SEED, BE_ROLLOUT } be_verb;

/* There is a plan for each verb, and for rollouts one for each range of lengths (1 to 7 steps, 8 to 63, and so on),
 * because the cost of a fork matters less in longer ones. */
#define BE_ROLLOUT_PLANS 5
#define BE_NUM_PLANS (BE_ROLLOUT + BE_ROLLOUT_PLANS)

/* Neighbouring lanes, from which threads take pieces in ascending order. */
typedef struct be_share {
    alignas(BE_CACHE_LINE) _Atomic int64_t next;
    int64_t end;
} be_share;

/* One of several batches that are stepped or reset in one call, as if their lanes were one batch's. */
typedef struct be_member {
    be_batch *batch;
    int64_t first;          /* the number that its lane 0 has in the call; parts are in ascending order, without gaps */
    const double *options;  /* resets: as be_call has them */
    int64_t options_stride; /* the same */
    be_scattered *scattered;
} be_member;

typedef struct be_call {
    /* What is to be done. */
    be_verb verb;
    be_batch *batch; /* or, with parts, the first one's */
    const be_isa *isa;
    const be_rows *rows;
    const int64_t *lanes;    /* BE_STEP_LISTED: checked; row k belongs to lane lanes[k] */
    int64_t num_listed;      /* the same */
    be_scattered *scattered; /* the same, for kernels: one part per thread */
    const uint8_t *resets;   /* the same, for BE_LANE_BY_LANE types: row k is reset if resets[k]; or NULL */
    const uint8_t *mask;     /* BE_RESET_SOME */
    const double *options;   /* resets */
    int64_t options_stride;  /* where options[] has those of each lane: how many there are; 0: all have the same */
    const be_member *parts;  /* steps and resets of several batches; NULL: there is only `batch` */
    int num_parts;           /* the same */
    const int32_t *part_of;  /* the same, BE_STEP_LISTED: row k is of lane lanes[k] of this one of the parts */
    const uint32_t *words;   /* BE_SEED: see be_batch_seed */
    size_t num_words;        /* the same */
    int64_t steps;           /* BE_ROLLOUT */
    const be_random_policy *policy; /* BE_ROLLOUT */
    int (*look)(void *context);     /* or NULL; called every 50 ms; if it is not 0, the call stops */
    void *look_context;

    /* How it went. */
    int stopped;              /* 1: the call was stopped, and only some lanes have done it */
    _Atomic int64_t finished; /* steps: how many lanes have finished in this one */

    /* The loop's own. */
    be_plan *plan;
    be_pool *pool;
    const be_placement *placement; /* or NULL; with a placement each node has a share, without one each thread */
    int by_lane, most, threads, timed;
    int64_t first_step, num_steps; /* the steps of the rollout that are under way */
    int64_t total, lone;           /* numbers of lanes: in the call; at most in a piece of a kernel's on one thread; */
    int64_t grain, left;           /* at most in a piece now; not yet done */
    double start, end, next_look;
    _Atomic int64_t done;
    _Atomic int stop, failed, open; /* open: how many shares have lanes left */
    int num_shares;
    be_error error; /* the first error; its status is BE_OK if there was none */
    be_share shares[BE_MAX_NODES];
} be_call;

void be_plans_start(be_plan plans[BE_NUM_PLANS], int64_t lanes, int threads, int by_lane);

/* Sets what every call needs, and all other members to zero. The caller then sets those that its verb needs. */
static inline void be_call_init(be_call *call, be_verb verb, be_batch *batch, const be_isa *isa, const be_rows *rows) {
    memset(call, 0, offsetof(be_call, error));
    call->error.status = BE_OK;
    call->verb = verb;
    call->batch = batch;
    call->isa = isa;
    call->rows = rows;
}

/* To be called after be_call_init. The call uses at most `threads` threads: those of `pool` or, if that is NULL, those
 * of the OpenMP runtime. */
void be_call_begin(be_call *call, be_plan plans[BE_NUM_PLANS], int threads, be_pool *pool);

/* A short cut, to be called after be_call_init. If the call can only be one piece of work for the calling thread, or is
 * known to be too short for several threads, does it and returns 1; otherwise returns 0. In calls of some hundred
 * nanoseconds, deciding how to run them would be a large part of the cost. */
int be_call_inline(be_call *call, be_plan plans[BE_NUM_PLANS], int threads);

/* On how many threads to go on. Returns 0 when everything is done or the call was stopped. */
int be_call_next(be_call *call);

/* Does the part of thread `part`. */
void be_call_work(be_call *call, int part);

/* Runs the whole call on the calling thread and the threads of `pool`. Returns BE_OK or the status of the error. */
int be_call_run(be_call *call);

#endif
