#include "core/place/fork.h"

#include <pthread.h>

static int forks; /* between the first process and this one; written in children that have one thread */

static void in_child(void) { forks++; }

static void watch(void) { pthread_atfork(NULL, NULL, in_child); }

void be_fork_watch(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
}

int be_forked(void) { return forks != 0; }

int be_fork_count(void) { return forks; }
