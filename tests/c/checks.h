/* What the C tests share: checks that are counted, of which the first that does not hold ends the program; and a table
 * of tests, which run one after the other. */
#ifndef TEST_CHECKS_H
#define TEST_CHECKS_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic long checks;
static const char *now = ""; /* what is being tested */

#define CHECK(good) check((good) != 0, #good, __FILE__, __LINE__)
static inline void check(int good, const char *what, const char *file, int line) {
    atomic_fetch_add_explicit(&checks, 1, memory_order_relaxed);
    if (good) return;
    fprintf(stderr, "FAILED at %s:%d: %s (%s)\n", file, line, what, now);
    abort();
}

#endif
