/* Whether the next call goes parallel, by measured cost.
 *
 * The first calls run on one thread and are timed; if the cost of a fork and join says that threads could pay, a few
 * calls try them; from then on the faster way is taken, and now and then the other is tried again, since the machine's
 * load and the user's loop change (threads that sleep between calls cost more to wake). Results do not depend on it. */
#ifndef BE_PLAN_H
#define BE_PLAN_H

#include <stdint.h>
#include <time.h>

#define BE_PLAN_TRIALS    4
#define BE_PLAN_MIN_LANES 256 /* fewer lanes are never worth a fork */
#define BE_PLAN_MIN_NS    2000.0
#define BE_PLAN_LONG_NS   1e5
/* Another look at the other way after so many calls, or so many and so long. */
#define BE_PLAN_RETRY_MAX 4000
#define BE_PLAN_RETRY_MIN 256
#define BE_PLAN_RETRY_NS  5e8

typedef struct be_plan {
    int threads; /* 1: always serial, nothing is timed */
    int calls;   /* since the last look */
    int parallel, trying;
    double spent_ns;         /* since the last look */
    double fork_ns, cost[2]; /* per call: serial, parallel; least seen lately */
} be_plan;

static inline double be_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void be_plan_start(be_plan *plan, int64_t lanes, int threads) {
    int64_t most = (lanes + 63) / 64;
    if (threads > most) threads = (int)most;
    *plan = (be_plan){.threads = lanes < BE_PLAN_MIN_LANES ? 1 : threads};
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
    plan->spent_ns = 0;
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
    plan->spent_ns += ns;
    if (plan->trying) {
        if (plan->calls < BE_PLAN_TRIALS) return;
        plan->trying = 0;
        plan->calls = 0;
        plan->parallel = plan->cost[1] < 0.95 * plan->cost[0];
    } else if (plan->calls == BE_PLAN_TRIALS && plan->cost[1] == 0) {
        if (be_plan_promising(plan)) be_plan_try(plan, 1);
    } else if (plan->calls >= BE_PLAN_RETRY_MAX ||
               (plan->calls >= BE_PLAN_RETRY_MIN && plan->spent_ns > BE_PLAN_RETRY_NS)) {
        plan->calls = BE_PLAN_TRIALS;
        plan->spent_ns = 0;
        if (plan->parallel || be_plan_promising(plan)) be_plan_try(plan, !plan->parallel);
    } else if (plan->parallel && plan->cost[1] > plan->cost[0]) {
        plan->parallel = 0; /* threads no longer pay */
    }
}

#endif
