#include "core/run/team.h"

#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/system/fork.h"
#include "core/system/signals.h"

static size_t stack_size; /* of the OpenMP runtime's threads; 0: the system's own */

/* Reads a size in bytes from "512" (kilobytes), "2m" or " 1 G ". Returns 0 for any other text. */
static size_t read_size(const char *text) {
    if (text == NULL) return 0;
    while (isspace((unsigned char)*text)) text++;
    if (!isdigit((unsigned char)*text)) return 0;
    char *end;
    const unsigned long long number = strtoull(text, &end, 10);
    while (isspace((unsigned char)*end)) end++;
    int shift = 10;
    switch (tolower((unsigned char)*end)) {
    case 'b':
        shift = 0;
        end++;
        break;
    case 'k':
        end++;
        break;
    case 'm':
        shift = 20;
        end++;
        break;
    case 'g':
        shift = 30;
        end++;
        break;
    }
    while (isspace((unsigned char)*end)) end++;
    return *end == '\0' && number <= SIZE_MAX >> shift ? (size_t)number << shift : 0;
}

void be_team_init(void) {
    stack_size = read_size(getenv("OMP_STACKSIZE"));
    if (stack_size == 0) stack_size = read_size(getenv("GOMP_STACKSIZE"));
}

/* A thread that ends when the mutex is free. */
static void *wait_for(void *mutex) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

/* How many of `count` more threads can run at the same time. */
static int start(int count, size_t stack) {
    pthread_t *threads = malloc((size_t)count * sizeof *threads);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_attr_t attributes;
    be_signals before;
    int started = 0;
    if (threads == NULL || pthread_attr_init(&attributes) != 0) {
        free(threads);
        return 0;
    }
    /* Fails if the size is too small; then the runtime's threads fail, too. */
    if (stack) (void)pthread_attr_setstacksize(&attributes, stack);
    be_signals_block(&before);
    pthread_mutex_lock(&mutex);
    while (started < count && pthread_create(&threads[started], &attributes, wait_for, &mutex) == 0) started++;
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    be_signals_restore(&before);
    pthread_attr_destroy(&attributes);
    free(threads);
    /* When threads are scarce, somebody else may take one before the runtime does, and the runtime also needs memory
     * beside the stacks. So a quarter of them is left. */
    return started == count ? count : started - (started + 3) / 4;
}

int be_team_size(int wanted, int again) {
    static _Thread_local int size = 1, refused = 0, forks = 0;
    if (forks != be_fork_count()) { /* a forked child has none of the parent's threads */
        forks = be_fork_count();
        size = 1;
        refused = 0;
    }
    if (again) refused = 0;
    if (wanted > size) {
        const int missing = refused && refused < wanted ? refused : wanted;
        const int more = missing > size ? start(missing - size, stack_size) : 0;
        if (size + more < wanted) refused = size + more;
        wanted = size + more;
    }
    if (!again) size = wanted; /* the caller starts its region now; without `again` it may not */
    return wanted;
}

int be_workers_available(int wanted) { return wanted > 1 ? 1 + start(wanted - 1, 0) : wanted; }
