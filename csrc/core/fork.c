#include "core/fork.h"

#include <pthread.h>

static int forked;

static void in_child(void) { forked = 1; }

void be_fork_watch(void) { pthread_atfork(NULL, NULL, in_child); }

int be_forked(void) { return forked; }
