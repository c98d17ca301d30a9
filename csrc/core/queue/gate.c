#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/queue/gate.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <time.h>

#if defined(__linux__) && !defined(BE_NO_FUTEX)
#define FUTEX 1
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#define FUTEX 0
#include <pthread.h>
#endif

#define TURNS_A_CLOCK 8 /* how many looks there are between two readings of the clock */
#define MAX_PENALTY 32

int64_t be_deadline(int64_t timeout) {
    if (timeout < 0) return BE_FOREVER;
    int64_t now = be_clock();
    return timeout < BE_FOREVER - now ? now + timeout : BE_FOREVER;
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

/* ---- sleeping --------------------------------------------------------------------------------------- */

/* sleep_while sleeps until it is woken, the epoch has changed, or the deadline has passed; in the last case it returns
 * 0. It may also return for no reason. */
#if FUTEX

_Static_assert(sizeof(_Atomic uint32_t) == 4 && ATOMIC_INT_LOCK_FREE == 2, "the kernel compares the epoch itself");

static int sleep_while(be_gate *gate, uint32_t epoch, int64_t deadline) {
    struct timespec until = {deadline / 1000000000, deadline % 1000000000};
    int operation = FUTEX_WAIT_BITSET | (gate->shared ? 0 : FUTEX_PRIVATE_FLAG); /* _BITSET: an absolute time */
    long result = syscall(SYS_futex, &gate->epoch, operation, epoch, deadline == BE_FOREVER ? NULL : &until, NULL,
                          FUTEX_BITSET_MATCH_ANY);
    return result == 0 || errno != ETIMEDOUT;
}

void be_gate_wake(be_gate *gate, int count) {
    atomic_fetch_add(&gate->epoch, 1);
    syscall(SYS_futex, &gate->epoch, FUTEX_WAKE | (gate->shared ? 0 : FUTEX_PRIVATE_FLAG), count, NULL, NULL, 0);
}

#else /* a few conditions for all gates of the process: waking is rare, and a needless wake-up harmless. What          \
         processes share cannot use them, and looks every now and then. */

#define BEDS 16
#define NAP_NS 100000
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t woken;
} beds[BEDS] = {
#define BED {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER}
    BED, BED, BED, BED, BED, BED, BED, BED, BED, BED, BED, BED, BED, BED, BED, BED,
};

static int bed_of(const be_gate *gate) { return (int)(((uintptr_t)gate >> 6) % BEDS); }

static int sleep_while(be_gate *gate, uint32_t epoch, int64_t deadline) {
    int bed = bed_of(gate), result = 0;
    struct timespec until = {0};
    if (gate->shared) {
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
        return be_clock() < deadline;
    }
    if (deadline != BE_FOREVER) {
        int64_t left = deadline - be_clock();
        if (left <= 0) return 0;
        clock_gettime(CLOCK_REALTIME, &until); /* the only clock that every condition variable supports */
        if (left > INT64_C(1000000000000000)) left = INT64_C(1000000000000000);
        left += until.tv_nsec;
        until.tv_sec += (time_t)(left / 1000000000);
        until.tv_nsec = (long)(left % 1000000000);
    }
    pthread_mutex_lock(&beds[bed].mutex);
    if (atomic_load(&gate->epoch) == epoch) {
        result = deadline == BE_FOREVER ? pthread_cond_wait(&beds[bed].woken, &beds[bed].mutex)
                                        : pthread_cond_timedwait(&beds[bed].woken, &beds[bed].mutex, &until);
    }
    pthread_mutex_unlock(&beds[bed].mutex);
    return result == 0;
}

void be_gate_wake(be_gate *gate, int count) {
    (void)count; /* gates share conditions, so all sleepers are woken */
    int bed = bed_of(gate);
    pthread_mutex_lock(&beds[bed].mutex);
    atomic_fetch_add(&gate->epoch, 1);
    pthread_cond_broadcast(&beds[bed].woken);
    pthread_mutex_unlock(&beds[bed].mutex);
}

#endif

/* ---- waiting ---------------------------------------------------------------------------------------- */

void be_gate_init(be_gate *gate, int shared) {
    atomic_init(&gate->epoch, 0);
    atomic_init(&gate->sleepers, 0);
    gate->shared = shared != 0;
}

int be_gate_spin(int (*ready)(void *), void *argument, be_spin *spin, int64_t limit) {
    if (ready(argument)) return 1;
    if (spin->ns <= 0 || limit <= 0) return 0;
    if (spin->skip > 0) {
        spin->skip--;
        return 0;
    }
    int64_t until = be_deadline(limit < spin->ns ? limit : spin->ns);
    for (unsigned turn = 1;; turn++) {
        if (spin->yields)
            sched_yield();
        else
            relax();
        if (ready(argument)) {
            spin->penalty = 0;
            return 1;
        }
        if (!spin->yields && turn % TURNS_A_CLOCK) continue;
        if (be_clock() >= until) break;
    }
    spin->penalty = spin->penalty == 0 ? 1 : spin->penalty < MAX_PENALTY ? 2 * spin->penalty : MAX_PENALTY;
    spin->skip = spin->penalty;
    return 0;
}

int be_gate_park(be_gate *gate, int (*ready)(void *), void *argument, int64_t deadline) {
    for (int in_time = 1;;) {
        atomic_fetch_add(&gate->sleepers, 1);
        uint32_t epoch = atomic_load(&gate->epoch);
        int found = ready(argument);
        if (!found && in_time) in_time = sleep_while(gate, epoch, deadline);
        atomic_fetch_sub(&gate->sleepers, 1);
        /* Looks once more when the time is up, because the condition may have become true at the last moment. */
        if (found || ready(argument)) return 1;
        if (!in_time) return 0;
    }
}

int be_gate_wait(be_gate *gate, int (*ready)(void *), void *argument, be_spin *spin, int64_t timeout) {
    if (timeout == 0) return ready(argument);
    int64_t deadline = be_deadline(timeout);
    return be_gate_spin(ready, argument, spin, timeout < 0 ? BE_FOREVER : timeout) ||
           be_gate_park(gate, ready, argument, deadline);
}
