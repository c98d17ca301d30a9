/* Whether the next call goes parallel, by measured cost.
 *
 * The first calls run on one thread and are timed; if the cost of a fork and join says that threads could pay, a few
 * calls try them; from then on the faster way is taken, and now and then the other is tried again, since the machine's
 * load and the user's loop change (threads that sleep between calls cost more to wake). Results do not depend on it. */
#ifndef BE_PLAN_H
#define BE_PLAN_H

#include <stdint.h>
#include <time.h>

#define BE_PLAN_TRIALS 4
#define BE_PLAN_MIN_LANES 256 /* of a kernel: fewer are never worth a fork */
#define BE_PLAN_MIN_NS 2000.0
#define BE_PLAN_LONG_NS 8e3
/* Calls until another look at the other way: twice as many after each look that confirms the choice. */
#define BE_PLAN_PATIENCE 32
#define BE_PLAN_PATIENCE_MAX 4096
#define BE_PLAN_MAX_LOSS_NS 3e5

typedef struct be_plan {
    int threads; /* 1: always serial, nothing is timed */
    int calls;   /* since the last look */
    int parallel, trying;
    int chosen, patience;
    double lost_ns;          /* in this look, beyond what the calls would have cost the other way */
    double fork_ns, cost[2]; /* per call: serial, parallel; least seen lately */
} be_plan;

static inline double be_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* `by_lane`: single lanes are worth a thread, not whole blocks. */
static inline void be_plan_start(be_plan *plan, int64_t lanes, int threads, int by_lane) {
    int64_t most = by_lane ? lanes : lanes < BE_PLAN_MIN_LANES ? 1 : (lanes + 63) / 64;
    if (threads > most) threads = (int)most;
    *plan = (be_plan){.threads = threads, .patience = BE_PLAN_TRIALS};
}

/* Whether threads could pay, going by the cost of one. The cost of a fork was measured once, perhaps in a busy moment:
 * long calls are worth a trial whatever it says. */
static inline int be_plan_promising(const be_plan *plan) {
    double serial = plan->cost[0];
    return serial > BE_PLAN_LONG_NS ||
           (serial > BE_PLAN_MIN_NS && plan->fork_ns + serial / plan->threads < 0.9 * serial);
}

static inline void be_plan_try(be_plan *plan, int parallel) {
    plan->parallel = parallel;
    plan->trying = 1;
    plan->calls = 0;
    plan->lost_ns = 0;
    plan->cost[parallel] = 0;
}

/* Notes that a call took `ns` the way the plan said. */
static inline void be_plan_note(be_plan *plan, double ns) {
    double *cost = &plan->cost[plan->parallel];
    if (*cost == 0 || ns < *cost) {
        *cost = ns;
    } else {
        *cost += (ns - *cost) * (1.0 / 64); /* forgets slowly what no longer holds */
    }
    plan->calls++;
    if (plan->trying) {
        double other = plan->cost[!plan->parallel];
        if (ns > other) plan->lost_ns += ns - other;
        /* Where a core is taken by another program, a parallel call can wait milliseconds for it: no second one. */
        if (plan->calls < BE_PLAN_TRIALS && plan->lost_ns < BE_PLAN_MAX_LOSS_NS + 2 * other) return;
        plan->trying = 0;
        plan->calls = 0;
        plan->parallel = plan->cost[1] < 0.95 * plan->cost[0];
        if (plan->parallel != plan->chosen) plan->patience = BE_PLAN_PATIENCE / 2;
        if (plan->patience < BE_PLAN_PATIENCE_MAX) plan->patience *= 2;
        /* The next look comes late enough for this one's loss to be 1% or so of the calls in between. */
        double calls = 100 * plan->lost_ns / plan->cost[plan->parallel];
        if (calls > plan->patience) plan->patience = calls < 1e6 ? (int)calls : 1000000;
        plan->chosen = plan->parallel;
    } else if (plan->calls >= plan->patience) {
        plan->calls = 0;
        if (plan->parallel || be_plan_promising(plan)) {
            be_plan_try(plan, !plan->parallel);
        } else if (plan->patience < BE_PLAN_PATIENCE_MAX) {
            plan->patience *= 2;
        }
    } else if (plan->parallel && plan->cost[1] > plan->cost[0]) {
        plan->parallel = plan->chosen = 0; /* threads no longer pay */
    }
}

#endif
