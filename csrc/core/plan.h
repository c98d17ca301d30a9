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
#define BE_PLAN_RETRY     4000 /* calls between two looks at the other way */
#define BE_PLAN_MIN_LANES 256  /* fewer lanes are never worth a fork */
#define BE_PLAN_MIN_NS    2000.0

typedef struct be_plan {
    int threads; /* 1: always serial, nothing is timed */
    int calls;   /* since the last look */
    int parallel, trying;
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
        if (plan->calls < BE_PLAN_TRIALS) return;
        plan->trying = 0;
        plan->calls = 0;
        plan->parallel = plan->cost[1] < 0.95 * plan->cost[0];
    } else if (plan->calls == BE_PLAN_TRIALS && plan->cost[1] == 0 && !plan->parallel) {
        double expected = plan->fork_ns + plan->cost[0] / plan->threads;
        if (plan->cost[0] > BE_PLAN_MIN_NS && expected < 0.9 * plan->cost[0]) {
            plan->trying = plan->parallel = 1;
            plan->calls = 0;
        }
    } else if (plan->calls >= BE_PLAN_RETRY) {
        double expected = plan->fork_ns + plan->cost[0] / plan->threads;
        plan->calls = BE_PLAN_TRIALS;
        if (plan->parallel || (plan->cost[0] > BE_PLAN_MIN_NS && expected < 0.9 * plan->cost[0])) {
            plan->parallel = !plan->parallel;
            plan->trying = 1;
            plan->calls = 0;
            plan->cost[plan->parallel] = 0;
        }
    } else if (plan->parallel && plan->cost[1] > plan->cost[0]) {
        plan->parallel = 0; /* threads no longer pay */
    }
}

#endif
