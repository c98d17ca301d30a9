/* Waiting: a thread spins for a short time, then sleeps in the operating system's kernel. Wake-up calls are made only
 * if somebody sleeps.
 *
 * A gate guards no data. The condition waited for lives elsewhere, in sequentially consistent atomics, and each side
 * does two things in an order that must not be swapped:
 *
 *     the one who waits                          the one who changes something
 *     1. announces itself (sleepers + 1)         1. makes the condition true
 *     2. looks at the condition again            2. looks whether anybody sleeps, and if so wakes
 *
 * Whichever comes second sees the other: either the waiter finds the condition true, or the changer finds the waiter.
 * The gate's epoch covers the time between looking and sleeping: the kernel does not put a thread to sleep whose epoch
 * is out of date. If nobody is asleep, a notification costs one load. tests/model proves this by going through every
 * interleaving.
 *
 * A gate holds no pointer, so it works in memory that processes share. There, on systems other than Linux, sleepers
 * wake up at intervals to look.
 */
#ifndef BE_GATE_H
#define BE_GATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/system/clock.h"

typedef struct be_gate {
    _Atomic uint32_t epoch, sleepers;
    uint32_t shared; /* 1: processes share it */
} be_gate;

/* Times are in nanoseconds. A timeout below 0 means to wait forever, 0 not to wait at all. A deadline is a time of
 * be_clock(). */
#define BE_FOREVER INT64_MAX
int64_t be_deadline(int64_t timeout);

void be_gate_init(be_gate *gate, int shared);

/* Wakes up to `count` sleepers, whether or not there are any. */
void be_gate_wake(be_gate *gate, int count);

/* To be called after the condition was made true. */
static inline void be_gate_notify(be_gate *gate, int count) {
    if (atomic_load(&gate->sleepers)) be_gate_wake(gate, count);
}

/* How one waiter spins: for up to `ns`, if that was long enough lately. After it has spun in vain, it spins no more for
 * the next wait, then for the next two, and so on up to 32. So a thread whose waits are long does not spin, but still
 * notices when they become short.
 *
 * Threads of one process do not yield while they spin: when two of them share a core, sleeping hands the core over
 * faster, and the scheduler repays the sleeper on waking. Processes may (`yields`): there are often more of them than
 * cores, and a core that they keep awake need not be woken, which takes a virtual machine a tenth of a millisecond. */
typedef struct be_spin {
    int64_t ns;
    int skip, penalty, yields;
} be_spin;

/* Calls `ready(argument)` again and again until it returns non-zero, for at most `limit` ns, and returns its last
 * result. `ready` may also take what it finds, because nothing more is done after it has returned non-zero. */
int be_gate_spin(int (*ready)(void *), void *argument, be_spin *spin, int64_t limit);

/* Sleeps until `ready(argument)` returns non-zero (returns 1) or the deadline has passed (returns 0); `ready` is called
 * once more after the deadline. */
int be_gate_park(be_gate *gate, int (*ready)(void *), void *argument, int64_t deadline);

/* Spins first, then sleeps. */
int be_gate_wait(be_gate *gate, int (*ready)(void *), void *argument, be_spin *spin, int64_t timeout);

#endif
