/* The plans of csrc/core/run/plan.h over a clock that a test sets, for tests/core/test_plan.py. */
#define BE_CLOCK_H /* instead of csrc/core/system/clock.h */
static double now_ns;
static inline double be_now_ns(void) { return now_ns; }

#include "core/run/plan.h"

_Atomic int64_t be_plan_looks_after;

void plan_set_clock(double ns) { now_ns = ns; }

void plan_start(be_plan *plan, int64_t lanes, int threads, int by_lane) {
    be_plan_start(plan, lanes, threads, by_lane);
}

int plan_untimed(be_plan *plan) { return be_plan_untimed(plan); }

int plan_way(const be_plan *plan, double units) { return be_plan_way(plan, units); }

void plan_note(be_plan *plan, int parallel, double units, double ns) { be_plan_note(plan, parallel, units, ns); }
