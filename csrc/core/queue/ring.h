/* A bounded queue of entries of one size, for any number of producers and consumers, without a lock.
 *
 * All of it lies in one block of memory that the caller provides, and nothing in it is an address: it can be mapped
 * anywhere, also into several processes at once.
 *
 *     void *memory = aligned_alloc(64, be_ring_bytes(1000, sizeof entry));
 *     be_ring *ring = be_ring_init(memory, 1000, sizeof entry, 0);
 *     be_ring_push(ring, &entry, -1);         ...elsewhere...        be_ring_pop(ring, &entry, -1);
 *
 * Every slot carries a sequence number that says whose turn it is. In slot i of a ring of `capacity` slots it is
 *
 *     position               the producer of that position may write
 *     position + 1           the consumer of that position may read
 *     position + capacity    read: the producer of the next lap may write
 *
 * where positions count up for ever and position % capacity == i. A thread claims a position with one compare-and-swap
 * on `tail` or `head`, works on its slot alone, and hands the slot on by its sequence number. Entries are taken in the
 * order of their positions, each exactly once. A thread that stops for good between the claim and the handing on (a
 * process killed there) blocks the slot, and with it the ring.
 *
 * try_push and try_pop never wait and wake nobody; push and pop do both. Who mixes them calls be_ring_wake itself. */
#ifndef BE_RING_H
#define BE_RING_H

#include <stdalign.h>
#include <stddef.h>

#include "core/queue/gate.h"

#define BE_CACHE_LINE 64

typedef struct be_ring {
    uint32_t magic;
    uint32_t capacity; /* a power of two, at least 2 */
    uint32_t entry_bytes;
    uint32_t stride; /* from slot to slot */
    alignas(BE_CACHE_LINE) _Atomic uint64_t tail;
    alignas(BE_CACHE_LINE) _Atomic uint64_t head;
    alignas(BE_CACHE_LINE) be_gate filled;  /* where consumers wait */
    alignas(BE_CACHE_LINE) be_gate emptied; /* where producers wait */
    /* The slots follow: a sequence number and an entry each. */
} be_ring;

/* How much memory a ring for at least `capacity` entries takes: a multiple of 64; 0 where that is no possible ring
 * (capacity 1 to 2^30, entries 1 to 2^20 bytes). */
size_t be_ring_bytes(size_t capacity, size_t entry_bytes);

/* Makes an empty ring in `memory`, which is 64-byte aligned and be_ring_bytes() long. `shared`: processes will wait on
 * it. Returns NULL where be_ring_bytes returns 0. */
be_ring *be_ring_init(void *memory, size_t capacity, size_t entry_bytes, int shared);

/* The ring that somebody else has made in these `bytes` bytes, or NULL if there is none of this entry size. */
be_ring *be_ring_attach(void *memory, size_t bytes, size_t entry_bytes);

/* 1: done; 0: the ring is full / empty. Empty includes: the next entry is still being written. */
int be_ring_try_push(be_ring *ring, const void *entry);
int be_ring_try_pop(be_ring *ring, void *entry);

/* The same, waiting up to `timeout` ns. */
int be_ring_push(be_ring *ring, const void *entry, int64_t timeout);
int be_ring_pop(be_ring *ring, void *entry, int64_t timeout);

/* Whether try_pop would find nothing. */
int be_ring_empty(be_ring *ring);

/* How many slots are not claimed by an entry. For one producer alone, so many entries fit; a slot that is just being
 * read may still make it wait for a moment. */
int64_t be_ring_room(const be_ring *ring);

/* After try_push: wakes up to `count` consumers asleep. */
static inline void be_ring_wake(be_ring *ring, int count) { be_gate_notify(&ring->filled, count); }

#endif
