/* What the tests of the queue's threads share: randomness that gets them out of step, and a table of tests.
 *
 *     PROGRAM [effort]       1 (the default) takes a few seconds; the stress loops run `effort` times as long. */
#ifndef TEST_THREADS_H
#define TEST_THREADS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"
#include "core/system/clock.h"
#include "core/system/memory.h"

#define MS INT64_C(1000000)
#define PATIENCE (60000 * MS) /* for what must come: a failure instead of a hang */

static int effort = 1;

typedef struct named_test {
    const char *name;
    void (*run)(void);
} named_test;

/* A program's main(): runs tests, of each of which a name and the function are given. */
#define MAIN(...)                                                                                                      \
    int main(int argc, char **argv) {                                                                                  \
        const named_test tests[] = {__VA_ARGS__};                                                                      \
        return run_tests(tests, sizeof tests / sizeof tests[0], argc, argv);                                           \
    }

static inline int run_tests(const named_test *tests, size_t count, int argc, char **argv) {
    if (argc > 1) effort = atoi(argv[1]) > 0 ? atoi(argv[1]) : 1;
    for (size_t i = 0; i < count; i++) {
        int64_t start = be_clock();
        long before = atomic_load(&checks);
        now = tests[i].name;
        tests[i].run();
        printf("ok: %-28s %9ld checks %8.0f ms\n", tests[i].name, atomic_load(&checks) - before,
               (double)(be_clock() - start) / 1e6);
        fflush(stdout);
    }
    printf("all good: %ld checks\n", atomic_load(&checks));
    return 0;
}

static inline uint64_t draw(uint64_t *state) { /* xorshift: what is random here is only the order of things */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline void burn(int64_t ns) {
    for (int64_t until = be_clock() + ns; be_clock() < until;) {
    }
}

/* Now and then a little or a long delay, to get threads out of step. */
static inline void stumble(uint64_t *state) {
    uint64_t r = draw(state) % 1000;
    if (r < 2) {
        nanosleep(&(struct timespec){0, 100000}, NULL);
    } else if (r < 20) {
        sched_yield();
    } else if (r < 60) {
        burn((int64_t)(draw(state) % 3000));
    }
}

static inline void *block(size_t bytes) {
    CHECK(bytes && bytes % 64 == 0);
    void *memory = be_aligned_new(64, bytes);
    CHECK(memory != NULL);
    return memory;
}

#endif
