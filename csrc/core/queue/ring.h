/* A bounded queue of entries of one size, for any number of producers and consumers, without a lock.
 *
 * It lies in one block of memory that the caller provides and holds no address, so it can be mapped anywhere, also into
 * several processes at once.
 *
 *     void *memory = be_aligned_new(64, be_ring_bytes(1000, sizeof entry));
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
 * order of their positions, each exactly once. A thread that stops forever between the claim and the handing on
 * (because its process was killed) blocks the slot, and with it the ring.
 *
 * try_push and try_pop never wait and wake nobody; push and pop do both. A caller that mixes them must call
 * be_ring_wake itself. */
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

/* How many bytes a ring for at least `capacity` entries takes, a multiple of 64. Returns 0 if the capacity is not 1 to
 * 2^30 or the entry size is not 1 to 2^20 bytes. */
size_t be_ring_bytes(size_t capacity, size_t entry_bytes);

/* Makes an empty ring in `memory`, which is 64-byte aligned and be_ring_bytes() long. `shared`: several processes will
 * wait on it. Returns NULL if be_ring_bytes would return 0. */
be_ring *be_ring_init(void *memory, size_t capacity, size_t entry_bytes, int shared);

/* Returns the ring that another process has made in these `bytes` bytes, or NULL if there is no ring with this entry
 * size. */
be_ring *be_ring_attach(void *memory, size_t bytes, size_t entry_bytes);

/* Return 1 on success, 0 if the ring is full or empty. It also counts as empty while its next entry is still being
 * written. */
int be_ring_try_push(be_ring *ring, const void *entry);
int be_ring_try_pop(be_ring *ring, void *entry);

/* The same, but waiting for up to `timeout` ns. */
int be_ring_push(be_ring *ring, const void *entry, int64_t timeout);
int be_ring_pop(be_ring *ring, void *entry, int64_t timeout);

/* Whether try_pop would find nothing. */
int be_ring_empty(be_ring *ring);

/* How many slots are free. If there is only one producer, that many entries fit, but it may have to wait a moment for a
 * slot that is just being read. */
int64_t be_ring_room(const be_ring *ring);

/* Where consumers wait, for those that wait in their own way and call try_pop then. */
static inline be_gate *be_ring_gate(be_ring *ring) { return &ring->filled; }

/* After try_push: wakes up to `count` consumers asleep. */
static inline void be_ring_wake(be_ring *ring, int count) { be_gate_notify(&ring->filled, count); }

#endif
