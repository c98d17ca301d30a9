#include "core/fork.h"

#include <pthread.h>

static int watched, forked;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void in_child(void) { forked = watched; }

static void install(void) { pthread_atfork(NULL, NULL, in_child); }

void be_fork_watch(void) {
    pthread_once(&once, install);
    watched = 1;
}

int be_forked(void) { return forked; }
