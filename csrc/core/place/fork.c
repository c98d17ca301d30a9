#include "core/place/fork.h"

#include <pthread.h>

static int forks; /* between the first process and this one */

static void in_child(void) { forks++; }

void be_fork_watch(void) { pthread_atfork(NULL, NULL, in_child); }

int be_forked(void) { return forks != 0; }

int be_fork_count(void) { return forks; }
