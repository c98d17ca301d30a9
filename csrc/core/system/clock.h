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

/* The time that this thread has had a CPU for, or on Windows, which counts that in steps of 16 ms, be_clock(). */
static inline int64_t be_thread_clock(void) {
#ifdef _WIN32
    return be_clock();
#else
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
#endif
}

static inline double be_now_ns(void) { return (double)be_clock(); }
static inline double be_now_seconds(void) { return (double)be_clock() * 1e-9; }

#endif
