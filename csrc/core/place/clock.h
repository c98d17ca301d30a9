/* The clock that all code uses: monotonic, with an arbitrary start. */
#ifndef BE_CLOCK_H
#define BE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t be_clock(void) { /* nanoseconds */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double be_now_ns(void) { return (double)be_clock(); }
static inline double be_now_seconds(void) { return (double)be_clock() * 1e-9; }

#endif
