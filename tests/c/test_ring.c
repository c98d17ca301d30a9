/* Rings: order, loss and double delivery, between threads and between processes. */
#include "threads.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "core/queue/ring.h"

static void test_ring(void) {
    CHECK(be_ring_bytes(0, 8) == 0 && be_ring_bytes(8, 0) == 0 && be_ring_bytes(((size_t)1 << 30) + 1, 8) == 0);
    for (size_t capacity = 1; capacity <= 9; capacity++) {
        for (size_t bytes = 1; bytes <= 40; bytes += 13) {
            size_t size = be_ring_bytes(capacity, bytes);
            unsigned char *memory = block(size), entry[40] = {0}, got[40];
            be_ring *ring = be_ring_init(memory, capacity, bytes, 0);
            int room = (int)ring->capacity;
            CHECK(room >= (int)capacity && room >= 2);
            int in = 0, out = 0;
            for (int lap = 0; lap < 50; lap++) {
                CHECK(be_ring_empty(ring) && !be_ring_try_pop(ring, got));
                CHECK(!be_ring_pop(ring, got, 0) && be_ring_room(ring) == room);
                int count = lap % room + 1;
                for (int i = 0; i < count; i++) {
                    memset(entry, in++, bytes);
                    CHECK(be_ring_try_push(ring, entry));
                    CHECK(!be_ring_empty(ring) && be_ring_room(ring) == room - i - 1);
                }
                CHECK(be_ring_try_push(ring, entry) == (count < room));
                if (count < room) in++, memset(entry, in - 1, 1);
                if (lap % 3 == 0) { /* the block may move, and be found again */
                    unsigned char *moved = block(size);
                    memcpy(moved, memory, size);
                    memset(memory, 0xee, size);
                    CHECK(be_ring_attach(memory, size, bytes) == NULL);
                    be_aligned_free(memory);
                    memory = moved;
                    CHECK(be_ring_attach(memory, size - 64, bytes) == NULL);
                    CHECK(be_ring_attach(memory, size, bytes + 1) == NULL);
                    ring = be_ring_attach(memory, size, bytes);
                    CHECK(ring != NULL);
                }
                while (be_ring_try_pop(ring, got)) {
                    int last = out == in - 1 && count < room; /* the one pushed twice */
                    for (size_t k = 0; k < bytes; k++) {
                        CHECK(got[k] == (unsigned char)(last ? out - 1 : out));
                    }
                    out++;
                }
                CHECK(out == in);
            }
            be_aligned_free(memory);
        }
    }
    be_ring *ring = be_ring_init(block(be_ring_bytes(2, 8)), 2, 8, 0);
    uint64_t entry = 1;
    int64_t start = be_clock();
    CHECK(!be_ring_pop(ring, &entry, 20 * MS));
    CHECK(be_clock() - start >= 20 * MS);
    CHECK(be_ring_push(ring, &entry, 0) && be_ring_push(ring, &entry, 0) && !be_ring_push(ring, &entry, 0));
    start = be_clock();
    CHECK(!be_ring_push(ring, &entry, 20 * MS));
    CHECK(be_clock() - start >= 20 * MS);
    be_aligned_free(ring);
}

#define MAX_THREADS 8

typedef struct ring_test {
    be_ring *ring;
    int producers, consumers, mode;
    uint64_t per_producer;
    _Atomic uint64_t popped;
    _Atomic unsigned char *seen;
} ring_test;

typedef struct ring_thread {
    ring_test *test;
    int index;
    uint64_t random;
} ring_thread;

typedef struct ring_entry {
    uint32_t producer;
    uint64_t number, hash;
} ring_entry;

static void *produce(void *argument) {
    ring_thread *self = argument;
    ring_test *test = self->test;
    for (uint64_t i = 0; i < test->per_producer; i++) {
        ring_entry entry = {(uint32_t)self->index, i, i * 0x9e3779b97f4a7c15u + (uint64_t)self->index};
        if (test->mode == 0) { /* waits as long as it takes */
            CHECK(be_ring_push(test->ring, &entry, PATIENCE));
        } else if (test->mode == 1) { /* gives up soon, and tries again */
            while (!be_ring_push(test->ring, &entry, (int64_t)(draw(&self->random) % 50000))) {
            }
        } else {
            while (!be_ring_try_push(test->ring, &entry)) sched_yield();
        }
        stumble(&self->random);
    }
    return NULL;
}

static void *consume(void *argument) {
    ring_thread *self = argument;
    ring_test *test = self->test;
    uint64_t all = test->per_producer * (uint64_t)test->producers, next[MAX_THREADS] = {0};
    ring_entry entry;
    for (;;) {
        if (test->mode == 0) { /* the last entries tell the consumers to go: see test_ring_stress */
            CHECK(be_ring_pop(test->ring, &entry, PATIENCE));
            if (entry.producer == UINT32_MAX) return NULL;
        } else {
            int got = test->mode == 1 ? be_ring_pop(test->ring, &entry, (int64_t)(draw(&self->random) % 50000))
                                      : be_ring_try_pop(test->ring, &entry);
            if (!got) {
                if (atomic_load(&test->popped) == all) return NULL;
                if (test->mode == 2) sched_yield();
                continue;
            }
        }
        CHECK((int)entry.producer < test->producers && entry.number < test->per_producer);
        CHECK(entry.hash == entry.number * 0x9e3779b97f4a7c15u + entry.producer);
        CHECK(entry.number >= next[entry.producer]); /* a producer's entries come in order */
        next[entry.producer] = entry.number + 1;
        CHECK(atomic_fetch_add(&test->seen[entry.producer * test->per_producer + entry.number], 1) == 0);
        atomic_fetch_add(&test->popped, 1);
        stumble(&self->random);
    }
}

static void test_ring_stress(void) {
    static const int shapes[][3] = {{1, 1, 2}, {2, 2, 2}, {4, 4, 2}, {1, 4, 8}, {4, 1, 4}, {8, 8, 4}, {3, 3, 64}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int mode = 0; mode < 3; mode++) {
            ring_test test = {.producers = shapes[s][0], .consumers = shapes[s][1], .mode = mode};
            size_t capacity = (size_t)shapes[s][2];
            test.per_producer = (uint64_t)(1500 * effort);
            uint64_t all = test.per_producer * (uint64_t)test.producers;
            test.ring = be_ring_init(block(be_ring_bytes(capacity, sizeof(ring_entry))), capacity, sizeof(ring_entry),
                                     mode == 1);
            test.seen = calloc(all, 1);
            pthread_t threads[2 * MAX_THREADS];
            ring_thread arguments[2 * MAX_THREADS];
            for (int i = 0; i < test.producers + test.consumers; i++) {
                int producer = i < test.producers;
                arguments[i] = (ring_thread){&test, producer ? i : i - test.producers, (uint64_t)i * 7919 + 1 + s};
                pthread_create(&threads[i], NULL, producer ? produce : consume, &arguments[i]);
            }
            for (int i = 0; i < test.producers; i++) pthread_join(threads[i], NULL);
            if (mode == 0) {
                ring_entry bye = {.producer = UINT32_MAX};
                for (int i = 0; i < test.consumers; i++) CHECK(be_ring_push(test.ring, &bye, PATIENCE));
            }
            for (int i = 0; i < test.consumers; i++) pthread_join(threads[test.producers + i], NULL);
            CHECK(atomic_load(&test.popped) == all && be_ring_empty(test.ring));
            CHECK(atomic_load(&test.ring->filled.sleepers) == 0 && atomic_load(&test.ring->emptied.sleepers) == 0);
            be_aligned_free(test.ring);
            free((void *)test.seen);
        }
    }
}

/* Two processes, two addresses, one ring each way. */
static void test_ring_processes(void) {
    size_t bytes = be_ring_bytes(4, 8);
    FILE *file = tmpfile();
    CHECK(file != NULL && ftruncate(fileno(file), (off_t)(2 * bytes)) == 0);
    unsigned char *here = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    unsigned char *there = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    CHECK(here != MAP_FAILED && there != MAP_FAILED && here != there);
    be_ring *out = be_ring_init(here, 4, 8, 1), *back = be_ring_init(here + bytes, 4, 8, 1);
    uint64_t count = (uint64_t)(2000 * effort);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        be_ring *in = be_ring_attach(there, bytes, 8), *answer = be_ring_attach(there + bytes, bytes, 8);
        uint64_t entry;
        for (uint64_t i = 0; i < count; i++) {
            if (!in || !be_ring_pop(in, &entry, PATIENCE) || entry != i) _exit(1);
            entry = entry * 3 + 1;
            if (!be_ring_push(answer, &entry, PATIENCE)) _exit(2);
        }
        _exit(0);
    }
    uint64_t sent = 0, got;
    for (uint64_t i = 0; i < count; i++) {
        while (sent < count && sent < i + 1 + i % 6 && be_ring_push(out, &sent, i % 6 ? 0 : PATIENCE)) sent++;
        CHECK(be_ring_pop(back, &got, PATIENCE) && got == i * 3 + 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    munmap(here, 2 * bytes);
    munmap(there, 2 * bytes);
    fclose(file);
}

/* Where a slot says whose turn it is. */
static _Atomic uint64_t *turn_of(be_ring *ring, uint64_t position) {
    return (_Atomic uint64_t *)((unsigned char *)(ring + 1) + position % ring->capacity * ring->stride);
}

static void *push_one(void *ring) {
    CHECK(be_ring_push(ring, &(uint64_t){7}, PATIENCE));
    return NULL;
}

static void *pop_one(void *ring) {
    uint64_t entry;
    CHECK(be_ring_pop(ring, &entry, PATIENCE));
    return NULL;
}

/* Two threads sleep, and two slots are handed on, the second one first: whoever is woken for it cannot use it yet. The
 * late one then wakes one thread, which has to wake the other. */
static void test_a_late_slot(void) {
    for (int push = 0; push < 2; push++) {
        be_ring *ring = be_ring_init(block(be_ring_bytes(2, 8)), 2, 8, 0);
        be_gate *gate = push ? &ring->emptied : &ring->filled;
        uint64_t entry = 5;
        for (int i = 0; push && i < 2; i++) CHECK(be_ring_try_push(ring, &entry));
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, push ? push_one : pop_one, ring);
        while (atomic_load(&gate->sleepers) < 2) sched_yield();
        nanosleep(&(struct timespec){0, 2 * MS}, NULL);                    /* announced, and then asleep */
        CHECK(atomic_fetch_add(push ? &ring->head : &ring->tail, 1) == 0); /* the claim of the one that is late */
        CHECK(push ? be_ring_pop(ring, &entry, 0) : be_ring_push(ring, &entry, 0));
        nanosleep(&(struct timespec){0, 2 * MS}, NULL);
        CHECK(atomic_load(&gate->sleepers) == 2);
        atomic_store(turn_of(ring, 0), push ? 2 : 1);
        be_gate_notify(gate, 1);
        const int64_t until = be_clock() + PATIENCE / 6; /* at the end of their own time they would look, too */
        while (atomic_load(&gate->sleepers) && be_clock() < until) nanosleep(&(struct timespec){0, MS / 10}, NULL);
        CHECK(atomic_load(&gate->sleepers) == 0);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        CHECK(be_ring_room(ring) == (push ? 0 : 2));
        be_aligned_free(ring);
    }
}

MAIN({"ring", test_ring}, {"ring, a late slot", test_a_late_slot}, {"ring, many threads", test_ring_stress},
     {"ring, two processes", test_ring_processes})
