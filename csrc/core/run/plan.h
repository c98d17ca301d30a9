/* Whether work runs on several threads, by measured cost. There is a plan for each kind of call: see be_verb.
 *
 * The first work of a kind runs on one thread and is timed. If the cost of a fork and join suggests that threads could
 * pay, some work is tried on several threads. From then on the faster way is taken. Now and then the other way is tried
 * again, because the machine's load and the user's loop change (threads that sleep between calls take longer to wake).
 *
 * The cost of one thread is the least seen lately, the cost of several is their mean: when other programs take cores
 * away, a thread without a core sometimes keeps all others waiting for milliseconds, and that is part of the cost of
 * several threads. So work is about as fast as on one thread or faster, whatever other programs do. When a trial has
 * lost milliseconds in this way, no plan of the process tries threads again for a while. Results do not depend on the
 * choice. */
#ifndef BE_PLAN_H
#define BE_PLAN_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/system/clock.h"

#define BE_PLAN_TRIALS 4
#define BE_PLAN_TRIAL_NS 4e6 /* fewer trials, if they have taken this long */
#define BE_PLAN_MIN_NS 2000.0
#define BE_PLAN_LONG_NS 8e3
/* Kernels' calls for fewer lanes than this are mostly so short that even to time them would be a large part of their
 * cost. So after one that was short, many follow that are not timed. Only long ones are tried on several threads. */
#define BE_PLAN_FEW_LANES 256
#define BE_PLAN_FEW_NS 3e4
#define BE_PLAN_FEW_GRAIN 16 /* so few lanes can be worth a thread */
#define BE_PLAN_UNTIMED 512
/* How many pieces of work go by before the other way is tried again; twice as many after each trial that confirms the
 * choice. */
#define BE_PLAN_PATIENCE 32
#define BE_PLAN_PATIENCE_MAX 4096
#define BE_PLAN_PATIENCE_NS 2e9
#define BE_PLAN_MAX_LOSS_NS 3e5
#define BE_PLAN_MEMORY 32 /* the mean covers about this many pieces of work */

typedef struct be_plan {
    int threads;  /* 1: always serial, nothing is timed */
    int fixed;    /* 1: nothing is timed and `parallel` stays, for tests and benchmarks */
    int parallel; /* 1: the next piece of work runs on several threads */
    int trying, calls, patience;
    int few, untimed; /* few: fewer than BE_PLAN_FEW_LANES lanes; untimed: how many calls are not timed from now on */
    double spent_ns, wait_ns; /* since the last trial; and at least until the next one */
    double lost_ns;           /* lost lately, compared with the other way */
    double fork_ns;
    double cost[2]; /* per unit of work: [0] serial, the least seen lately; [1] parallel, the mean */
} be_plan;

extern _Atomic int64_t be_plan_looks_after; /* until this be_now_ns(), no plan tries threads again */

/* Lanes of kernels are shared among threads in multiples of this. */
static inline int64_t be_plan_grain(const be_plan *plan) { return plan->few ? BE_PLAN_FEW_GRAIN : 64; }

/* `by_lane`: a single lane can be worth a thread. */
static inline void be_plan_start(be_plan *plan, int64_t lanes, int threads, int by_lane) {
    *plan = (be_plan){.few = !by_lane && lanes < BE_PLAN_FEW_LANES, .trying = 1, .patience = BE_PLAN_PATIENCE / 2};
    const int64_t grain = by_lane ? 1 : be_plan_grain(plan), most = (lanes + grain - 1) / grain;
    plan->threads = threads > most ? (int)most : threads;
}

/* Whether the next call is to be made on one thread and not noted. */
static inline int be_plan_untimed(be_plan *plan) { return plan->untimed > 0 && plan->untimed--; }

/* Whether threads could pay for `units` units of work, by the measured cost of a unit. The cost of a fork was measured
 * only once, perhaps in a busy moment, so long work is worth a trial in any case. */
static inline int be_plan_promising(const be_plan *plan, double units) {
    const double serial = plan->cost[0] * units;
    if (plan->few) return serial > BE_PLAN_FEW_NS;
    return serial > BE_PLAN_LONG_NS ||
           (serial > BE_PLAN_MIN_NS && plan->fork_ns + serial / plan->threads < 0.9 * serial);
}

/* Which way the next `units` units of work go: 1 if on several threads. */
static inline int be_plan_way(const be_plan *plan, double units) {
    return plan->parallel && (plan->fixed || plan->trying || be_plan_promising(plan, units));
}

static inline void be_plan_forget(be_plan *plan) {
    plan->calls = 0;
    plan->spent_ns = plan->lost_ns = 0;
}

static inline void be_plan_try(be_plan *plan, int parallel) {
    plan->parallel = parallel;
    plan->trying = 1;
    plan->cost[parallel] = 0;
    be_plan_forget(plan);
}

/* Chooses `parallel`. The next trial comes so late that the time which this one has lost is only about 1%. */
static inline void be_plan_settle(be_plan *plan, int parallel) {
    plan->wait_ns = 100 * plan->lost_ns;
    if (plan->parallel && plan->lost_ns > BE_PLAN_MAX_LOSS_NS) {
        atomic_store(&be_plan_looks_after, (int64_t)(be_now_ns() + plan->wait_ns));
    }
    plan->parallel = parallel;
    plan->trying = 0;
    be_plan_forget(plan);
}

static inline int be_plan_may_look(const be_plan *plan, double units) {
    return be_plan_promising(plan, units) && be_now_ns() >= (double)atomic_load(&be_plan_looks_after);
}

static inline void be_plan_learn(be_plan *plan, int parallel, double each) {
    double *cost = &plan->cost[parallel];
    if (!parallel) {
        if (*cost == 0 || each < *cost) {
            *cost = each;
        } else {
            *cost += (each - *cost) * (1.0 / 64); /* old costs are forgotten slowly */
        }
    } else if (*cost == 0 || (plan->trying && plan->calls == 2)) {
        *cost = each; /* the first one also had to wake the threads */
    } else {
        *cost += (each - *cost) / (plan->trying ? plan->calls - 1 : BE_PLAN_MEMORY);
    }
}

/* What a piece of work that went the present way means for the plan. */
typedef enum be_plan_event {
    BE_PLAN_GOES_ON,   /* nothing yet */
    BE_PLAN_MEASURED,  /* the very first trial, which measures one thread, is over, and threads could not pay */
    BE_PLAN_HOPEFUL,   /* the same, and threads could pay */
    BE_PLAN_CONFIRMED, /* a trial is over, and the other way, which was chosen before, is better */
    BE_PLAN_BETTER,    /* a trial is over, and this way is better */
    BE_PLAN_DUE,       /* it is time to try the other way again */
    BE_PLAN_SHORT,     /* the same, but the work is too short for threads */
    BE_PLAN_BARRED,    /* the same, but no plan tries threads for a while */
    BE_PLAN_COSTLY,    /* threads no longer pay */
} be_plan_event;

static inline be_plan_event be_plan_judge(const be_plan *plan, double units) {
    const int parallel = plan->parallel;
    if (plan->trying) {
        const double other = plan->cost[!parallel] * units;
        /* When another program has a core, a call can wait milliseconds for it: there is no second such trial. */
        if (plan->calls < BE_PLAN_TRIALS + parallel && plan->spent_ns < BE_PLAN_TRIAL_NS &&
            plan->lost_ns < BE_PLAN_MAX_LOSS_NS + 2 * other) {
            return BE_PLAN_GOES_ON;
        }
        if (other == 0) return be_plan_may_look(plan, units) ? BE_PLAN_HOPEFUL : BE_PLAN_MEASURED;
        return parallel == (plan->cost[1] < 0.95 * plan->cost[0]) ? BE_PLAN_BETTER : BE_PLAN_CONFIRMED;
    }
    if ((plan->calls < plan->patience && plan->spent_ns < BE_PLAN_PATIENCE_NS) || plan->spent_ns < plan->wait_ns) {
        return parallel && plan->cost[1] > plan->cost[0] ? BE_PLAN_COSTLY : BE_PLAN_GOES_ON;
    }
    if (parallel || be_plan_may_look(plan, units)) return BE_PLAN_DUE;
    return be_plan_promising(plan, units) ? BE_PLAN_BARRED : BE_PLAN_SHORT;
}

static inline void be_plan_turn(be_plan *plan, be_plan_event event) {
    enum { STAY, FORGET, SETTLE, TRY };
    enum { SAME, OTHER, SERIAL };
    enum { KEEP, DOUBLE, RESET };
    static const struct {
        uint8_t act, way, patience;
    } turns[] = {
        [BE_PLAN_GOES_ON] = {STAY, SAME, KEEP},     [BE_PLAN_MEASURED] = {SETTLE, SERIAL, KEEP},
        [BE_PLAN_HOPEFUL] = {TRY, OTHER, KEEP},     [BE_PLAN_CONFIRMED] = {SETTLE, OTHER, DOUBLE},
        [BE_PLAN_BETTER] = {SETTLE, SAME, RESET},   [BE_PLAN_DUE] = {TRY, OTHER, KEEP},
        [BE_PLAN_SHORT] = {FORGET, SAME, DOUBLE},   [BE_PLAN_BARRED] = {FORGET, SAME, KEEP},
        [BE_PLAN_COSTLY] = {SETTLE, SERIAL, RESET},
    };
    const int way = turns[event].way == SERIAL ? 0 : turns[event].way == OTHER ? !plan->parallel : plan->parallel;
    if (turns[event].patience == RESET) plan->patience = BE_PLAN_PATIENCE;
    if (turns[event].patience == DOUBLE && plan->patience < BE_PLAN_PATIENCE_MAX) plan->patience *= 2;
    if (turns[event].act == FORGET) be_plan_forget(plan);
    if (turns[event].act == SETTLE) be_plan_settle(plan, way);
    if (turns[event].act == TRY) be_plan_try(plan, way);
}

/* Notes that `units` units of work have taken `ns` this way. */
static inline void be_plan_note(be_plan *plan, int parallel, double units, double ns) {
    if (plan->fixed || units <= 0) return;
    if (plan->few && !parallel && ns <= BE_PLAN_FEW_NS) plan->untimed = BE_PLAN_UNTIMED;
    const int chosen = parallel == plan->parallel; /* if not, there was too little for threads */
    if (chosen) {
        const double other = plan->cost[!parallel] * units, lost = plan->lost_ns + (other > 0 ? ns - other : 0);
        plan->calls++;
        plan->spent_ns += ns;
        plan->lost_ns = lost > 0 ? lost : 0;
    }
    be_plan_learn(plan, parallel, ns / units);
    if (chosen) be_plan_turn(plan, be_plan_judge(plan, units));
}

#endif
