/* Restores damaged snapshots, under sanitizers: each must be refused, or restored and stepped without harm.
 *
 * fuzz_snapshot INPUTS: the number of mutated snapshots, over all env types. Half of them get a right checksum, so that
 * the checks after that of the checksum are tried, too. */
#include <stdio.h>
#include <stdlib.h>

#include "core/snapshot.c" /* for its checksum */
#include "rows.h"

#define LANES 5

typedef struct target {
    const be_isa *isa;
    be_batch *batch;
    be_rows rows;
    unsigned char *snapshot;
    int64_t bytes;
} target;

static void *zeros(size_t bytes) {
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory) exit(2);
    return memory;
}

static void check(int good, const char *what, const be_error *error) {
    if (good) return;
    fprintf(stderr, "FAILED: %s: status %d: %s\n", what, (int)error->status, error->message);
    exit(1);
}

static void step(target *t) {
    be_error error;
    check(t->isa->step(t->batch, 0, LANES, &t->rows, &error) >= 0, "step after a restore", &error);
}

static target prepare_target(const be_isa *isa, const be_env_type *type, be_autoreset mode) {
    target t = {.isa = isa};
    be_error error;
    const be_batch_options options = {
        .type = type, .num_lanes = LANES, .autoreset = mode, .max_episode_steps = 20, .grid = grid_for(type)};
    t.batch = be_batch_create(&options, &error);
    check(t.batch != NULL, type->name, &error);
    t.rows = make_rows(be_batch_table(t.batch), BE_ROWS_ALL & ~BE_ROWS_FINAL, LANES);
    be_batch_point_final(t.batch, &t.rows);
    const uint32_t seed = 1;
    be_batch_seed(t.batch, &seed, 1, 0, LANES);
    be_batch_reset(t.batch, 0, LANES, NULL, NULL, &t.rows, &error);
    for (int k = 0; k < 3; k++) step(&t);
    const int64_t lanes[] = {4, 0, 2};
    t.bytes = be_snapshot_bytes(t.batch, 3);
    t.snapshot = zeros((size_t)t.bytes);
    be_snapshot_save(t.batch, lanes, 3, t.snapshot);
    check(be_snapshot_check(t.batch, t.snapshot, t.bytes, &error) == BE_OK, "a sound snapshot is refused", &error);
    return t;
}

static void release(target *t) {
    free_rows(be_batch_table(t->batch), BE_ROWS_ALL & ~BE_ROWS_FINAL, &t->rows);
    free(t->snapshot);
    be_batch_destroy(t->batch);
}

/* Restores a snapshot that was accepted, with its parameters, as the Python side does, and steps. */
static void restore(target *t, const unsigned char *bytes) {
    be_error error;
    const int64_t count = be_snapshot_count(bytes), lanes[] = {0, 1, 2, 3, 4}, rows[LANES] = {0};
    double params[BE_MAX_PARAMS];
    if (count == 0) return;
    be_snapshot_params(bytes, count - 1, params);
    (void)be_batch_configure(t->batch, params, NULL, &error);
    be_snapshot_load(t->batch, bytes, rows, lanes, LANES);
    be_batch_observe(t->batch, 0, LANES, &t->rows, &error);
    for (int k = 0; k < 3; k++) step(t);
}

static int64_t fuzz(target *t, be_rng *rng, int64_t inputs) {
    int64_t accepted = 0;
    be_error error;
    for (int64_t input = 0; input < inputs; input++) {
        int64_t size = t->bytes;
        if (be_rng_bounded(rng, 7) == 0) size = (int64_t)be_rng_bounded(rng, (uint64_t)t->bytes + 16);
        unsigned char *bytes = malloc((size_t)size + (size == 0)); /* exactly as long as the snapshot says */
        if (!bytes) exit(2);
        memset(bytes, 0, (size_t)size);
        memcpy(bytes, t->snapshot, (size_t)(size < t->bytes ? size : t->bytes));
        for (uint64_t k = be_rng_bounded(rng, 7); size && k < 8; k++) {
            uint64_t at = be_rng_bounded(rng, (uint64_t)size - 1);
            static const uint64_t words[] = {0, UINT64_MAX,        INT64_MAX, INT64_MIN, 0x7ff8000000000000,
                                             1, 0x7ff0000000000000};
            if (be_rng_bounded(rng, 3) == 0 && size >= 8) {
                at = be_rng_bounded(rng, (uint64_t)size / 8 - 1) * 8;
                memcpy(bytes + at, &words[be_rng_bounded(rng, 6)], 8);
            } else {
                bytes[at] ^= (unsigned char)(1u << be_rng_bounded(rng, 7));
            }
        }
        if (size >= 8 && be_rng_bounded(rng, 1)) {
            be_snapshot_header header;
            if (size >= (int64_t)sizeof header && be_rng_bounded(rng, 1)) {
                /* Fields stay intact that would always be refused if they were damaged. */
                memcpy(&header, bytes, sizeof header);
                memcpy(header.magic, MAGIC, sizeof MAGIC);
                header.version = BE_SNAPSHOT_VERSION;
                header.layout = hash_layout(t->batch);
                header.grid = hash_grid(t->batch);
                header.bytes = (uint64_t)size;
                memcpy(bytes, &header, sizeof header);
            }
            uint64_t checksum = hash_bytes(HASH_START, bytes, (size_t)size - 8);
            memcpy(bytes + size - 8, &checksum, 8);
        }
        if (be_snapshot_check(t->batch, bytes, size, &error) == BE_OK) {
            accepted++;
            restore(t, bytes);
        } else {
            check(error.status == BE_ERROR_VALUE, "refused otherwise", &error);
        }
        free(bytes);
    }
    return accepted;
}

int main(int count, char **words) {
    const int64_t inputs = count > 1 ? atoll(words[1]) : 20000;
    const be_isa *isa = be_isa_supported()[0];
    be_rng rng;
    be_rng_seed_u64(&rng, 3);
    const be_env_type *type;
    int types = 0;
    for (int k = 0; (type = be_type_at(isa, k)); k++) types += !type->open; /* the others need Python's handles */
    int64_t accepted = 0;
    for (int k = 0; (type = be_type_at(isa, k)); k++) {
        if (type->open) continue;
        target t = prepare_target(isa, type, (be_autoreset)(k % 2));
        accepted += fuzz(&t, &rng, inputs / types + 1);
        release(&t);
    }
    printf("%lld damaged snapshots, %lld of them restored, no harm\n", (long long)(inputs / types + 1) * types,
           (long long)accepted);
    return accepted == 0; /* if none was accepted, nothing behind the checksum was tried */
}
