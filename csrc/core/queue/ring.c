#include "core/queue/ring.h"

#include <string.h>

#define MAGIC 0x62657267u /* "berg" */
#define MAX_CAPACITY ((size_t)1 << 30)
#define MAX_ENTRY_BYTES ((size_t)1 << 20)
#define SPIN_NS 5000

typedef struct be_slot {
    _Atomic uint64_t sequence;
    unsigned char entry[];
} be_slot;

static size_t rounded_capacity(size_t capacity) {
    size_t rounded = 2; /* in a ring of one, "may read" and "may write the next lap" would be the same number */
    while (rounded < capacity) rounded *= 2;
    return rounded;
}

static size_t stride_of(size_t entry_bytes) { return (sizeof(be_slot) + entry_bytes + 7) / 8 * 8; }

static be_slot *slot_at(be_ring *ring, uint64_t position) {
    size_t index = position & (ring->capacity - 1);
    return (be_slot *)((unsigned char *)ring + sizeof(be_ring) + index * ring->stride);
}

size_t be_ring_bytes(size_t capacity, size_t entry_bytes) {
    if (capacity < 1 || capacity > MAX_CAPACITY || entry_bytes < 1 || entry_bytes > MAX_ENTRY_BYTES) return 0;
    size_t bytes = sizeof(be_ring) + rounded_capacity(capacity) * stride_of(entry_bytes);
    return (bytes + BE_CACHE_LINE - 1) / BE_CACHE_LINE * BE_CACHE_LINE;
}

be_ring *be_ring_init(void *memory, size_t capacity, size_t entry_bytes, int shared) {
    if (!be_ring_bytes(capacity, entry_bytes)) return NULL;
    be_ring *ring = memory;
    ring->magic = MAGIC;
    ring->capacity = (uint32_t)rounded_capacity(capacity);
    ring->entry_bytes = (uint32_t)entry_bytes;
    ring->stride = (uint32_t)stride_of(entry_bytes);
    atomic_init(&ring->tail, 0);
    atomic_init(&ring->head, 0);
    be_gate_init(&ring->filled, shared);
    be_gate_init(&ring->emptied, shared);
    for (uint64_t i = 0; i < ring->capacity; i++) atomic_init(&slot_at(ring, i)->sequence, i);
    return ring;
}

be_ring *be_ring_attach(void *memory, size_t bytes, size_t entry_bytes) {
    be_ring *ring = memory;
    if (bytes < sizeof(be_ring) || ring->magic != MAGIC || ring->entry_bytes != entry_bytes) return NULL;
    size_t needed = be_ring_bytes(ring->capacity, entry_bytes);
    int sound = needed && needed <= bytes && ring->capacity == rounded_capacity(ring->capacity) &&
                ring->stride == stride_of(entry_bytes);
    return sound ? ring : NULL;
}

/* The claim itself orders nothing (relaxed); the slot's sequence number does. All accesses to it are sequentially
 * consistent, because gates need the publication to come before the look at the sleepers. */
int be_ring_try_push(be_ring *ring, const void *entry) {
    uint64_t position = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    for (;;) {
        be_slot *slot = slot_at(ring, position);
        int64_t ahead = (int64_t)(atomic_load(&slot->sequence) - position);
        if (ahead < 0) return 0; /* last lap's entry is still there */
        if (ahead > 0) {         /* another producer was faster */
            position = atomic_load_explicit(&ring->tail, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(&ring->tail, &position, position + 1, memory_order_relaxed,
                                                         memory_order_relaxed)) {
            memcpy(slot->entry, entry, ring->entry_bytes);
            atomic_store(&slot->sequence, position + 1);
            return 1;
        }
    }
}

int be_ring_try_pop(be_ring *ring, void *entry) {
    uint64_t position = atomic_load_explicit(&ring->head, memory_order_relaxed);
    for (;;) {
        be_slot *slot = slot_at(ring, position);
        int64_t ahead = (int64_t)(atomic_load(&slot->sequence) - (position + 1));
        if (ahead < 0) return 0;
        if (ahead > 0) {
            position = atomic_load_explicit(&ring->head, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(&ring->head, &position, position + 1, memory_order_relaxed,
                                                         memory_order_relaxed)) {
            memcpy(entry, slot->entry, ring->entry_bytes);
            atomic_store(&slot->sequence, position + ring->capacity);
            return 1;
        }
    }
}

int be_ring_empty(be_ring *ring) {
    for (;;) {
        uint64_t position = atomic_load_explicit(&ring->head, memory_order_relaxed);
        int64_t ahead = (int64_t)(atomic_load(&slot_at(ring, position)->sequence) - (position + 1));
        if (ahead <= 0) return ahead < 0;
    }
}

int64_t be_ring_room(const be_ring *ring) {
    /* The head is read first. It only increases, so the difference can only be too large and the room too small, never
     * the reverse.
     */
    uint64_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail);
    int64_t waiting = (int64_t)(tail - head);
    return waiting < (int64_t)ring->capacity ? (int64_t)ring->capacity - waiting : 0;
}

typedef struct transfer {
    be_ring *ring;
    const void *in;
    void *out;
} transfer;

static int pushed(void *argument) {
    transfer *t = argument;
    return be_ring_try_push(t->ring, t->in);
}

static int popped(void *argument) {
    transfer *t = argument;
    return be_ring_try_pop(t->ring, t->out);
}

static int has_room(be_ring *ring) {
    for (;;) {
        uint64_t position = atomic_load_explicit(&ring->tail, memory_order_relaxed);
        int64_t ahead = (int64_t)(atomic_load(&slot_at(ring, position)->sequence) - position);
        if (ahead <= 0) return ahead == 0;
    }
}

/* Slots are not handed on in the order of their positions. A thread may be woken for a slot that it cannot use yet,
 * because the slot before it is late, and then it sleeps again. So a thread that succeeds also looks whether there is
 * more, and wakes others. */
int be_ring_push(be_ring *ring, const void *entry, int64_t timeout) {
    if (!be_gate_wait(&ring->emptied, pushed, &(transfer){ring, entry, NULL}, &(be_spin){.ns = SPIN_NS}, timeout))
        return 0;
    be_gate_notify(&ring->filled, 1);
    if (atomic_load(&ring->emptied.sleepers) && has_room(ring)) be_gate_wake(&ring->emptied, 1);
    return 1;
}

int be_ring_pop(be_ring *ring, void *entry, int64_t timeout) {
    if (!be_gate_wait(&ring->filled, popped, &(transfer){ring, NULL, entry}, &(be_spin){.ns = SPIN_NS}, timeout))
        return 0;
    be_gate_notify(&ring->emptied, 1);
    if (atomic_load(&ring->filled.sleepers) && !be_ring_empty(ring)) be_gate_wake(&ring->filled, 1);
    return 1;
}
