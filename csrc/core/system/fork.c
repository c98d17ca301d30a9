#include "core/system/fork.h"

#ifdef _WIN32 /* has no fork */

void be_fork_watch(void) {}
int be_forked(void) { return 0; }
int be_fork_count(void) { return 0; }
void be_fork_beside(void (*before)(void), void (*after)(void)) {
    (void)before;
    (void)after;
}

#else

#include <pthread.h>

/* How many forks there were between the first process and this one. Written only in a child, which has one thread. */
static int forks;

static void in_child(void) { forks++; }

static void watch(void) { pthread_atfork(NULL, NULL, in_child); }

void be_fork_watch(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
}

int be_forked(void) { return forks != 0; }

int be_fork_count(void) { return forks; }

void be_fork_beside(void (*before)(void), void (*after)(void)) { pthread_atfork(before, after, after); }

#endif
