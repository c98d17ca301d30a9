/* Waiting: spin a little, then sleep in the kernel, and be woken only if somebody sleeps.
 *
 * A gate guards no data. The condition waited for lives elsewhere, in sequentially consistent atomics, and each side
 * does two things in an order that must not be swapped:
 *
 *     the one who waits                          the one who changes something
 *     1. announces itself (sleepers + 1)         1. makes the condition true
 *     2. looks at the condition again            2. looks whether anybody sleeps, and if so wakes
 *
 * Whichever comes second sees the other: either the waiter finds the condition true, or the changer finds the waiter.
 * In between, the gate's epoch closes the gap: the kernel puts nobody to sleep whose epoch is out of date. Nobody
 * asleep: a notification costs one load. tests/model proves this by going through every interleaving.
 *
 * A gate holds no pointer, so it works in memory that processes share. Outside Linux, sleepers there wake up to look.
 */
#ifndef BE_GATE_H
#define BE_GATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/place/clock.h"

typedef struct be_gate {
    _Atomic uint32_t epoch, sleepers;
    uint32_t shared; /* between processes */
} be_gate;

/* Times are in nanoseconds. A timeout below 0 means for ever, 0 not at all; a deadline is a point of be_clock(). */
#define BE_FOREVER INT64_MAX
int64_t be_deadline(int64_t timeout);

void be_gate_init(be_gate *gate, int shared);

/* Wakes up to `count` sleepers, whether or not there are any. */
void be_gate_wake(be_gate *gate, int count);

/* To be called after the condition was made true. */
static inline void be_gate_notify(be_gate *gate, int count) {
    if (atomic_load(&gate->sleepers)) be_gate_wake(gate, count);
}

/* One waiter's way of spinning: for up to `ns`, if lately that was enough. After a time in vain the next one is left
 * out, then the next two, and so on up to 32: who waits long does not spin, and yet finds out when things get quick.
 * Nobody yields: where two have to share a core, sleeping hands it over faster, and is paid back on waking. */
typedef struct be_spin {
    int64_t ns;
    int skip, penalty;
} be_spin;

/* Asks again and again whether `ready(argument)`, no longer than `limit` ns, and returns what it said last. `ready` may
 * also take what it finds: nothing is done after it has said yes. */
int be_gate_spin(int (*ready)(void *), void *argument, be_spin *spin, int64_t limit);

/* Sleeps until `ready(argument)` says yes (1), or the deadline has passed (0). It is asked once more after that. */
int be_gate_park(be_gate *gate, int (*ready)(void *), void *argument, int64_t deadline);

/* First the one, then the other. */
int be_gate_wait(be_gate *gate, int (*ready)(void *), void *argument, be_spin *spin, int64_t timeout);

#endif
