/* What a call costs without Python: the kernel alone (the bare arithmetic loop over all lanes, outputs preallocated),
 * and the driver around it (blocks, time limits, autoreset). And a rollout as one would write it by hand in C over the
 * same kernel. Built and run by tools/bench/bare_loop.py, the rollouts through ctypes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/batch.h"
#include "core/driver.h"
#include "core/load/types.h"
#include "core/space.h"

#define BATCHES 8
#define ROUNDS 9

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *allocate(size_t bytes) {
    bytes = (bytes + 4095) / 4096 * 4096;
    void *memory = aligned_alloc(4096, bytes);
    if (!memory) exit(1);
    return memset(memory, 0, bytes);
}

static int port_of(const be_env_type *type, be_role role) {
    int port = 0;
    while (type->ports[port].role != role) port++;
    return port;
}

static be_batch *make(const be_env_type *type, int64_t lanes, void *observation) {
    be_error error = {0};
    const uint32_t seed = 1;
    be_batch *batch =
        be_batch_create(&(be_batch_options){.type = type, .num_lanes = lanes, .max_episode_steps = 500}, &error);
    be_rows rows = {0};
    rows.port[port_of(type, BE_OBSERVATION)] = observation;
    if (!batch || be_batch_seed(batch, &seed, 1, 0, lanes) != 0 ||
        be_batch_reset(batch, 0, lanes, NULL, NULL, &rows, &error) != BE_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    return batch;
}

static void fill_actions(const be_batch *batch, void *actions, int64_t count) {
    const be_space *space = &batch->space[port_of(batch->type, BE_ACTION)];
    be_rng rng;
    be_rng_seed_u64(&rng, 2);
    for (int64_t i = 0; i < count; i++) {
        double u = be_rng_uniform(&rng, 0, 1);
        if (space->kind == BE_SPACE_DISCRETE) {
            ((int64_t *)actions)[i] = (int64_t)(u * (double)be_space_choices(space, 0));
        } else {
            ((float *)actions)[i] = (float)(space->low[0] + u * (space->high[0] - space->low[0]));
        }
    }
}

/* Both see the same lanes: before each slice of BATCHES calls the kernel's lanes take over the state of the driver's,
 * whose finished lanes have started again. (Otherwise the kernel's lanes would fall and spin faster and faster.) */
static void measure(const be_isa *isa, const be_env_type *type, int64_t lanes, double seconds) {
    be_error error = {0};
    size_t padded = (size_t)(lanes + 63) / 64 * 64;
    void *observation = allocate(padded * 128);
    be_batch *driven = make(type, lanes, observation), *bare = make(type, lanes, observation);
    const int action = port_of(type, BE_ACTION);
    size_t row = (size_t)be_space_row_size(&driven->space[action]);
    size_t action_bytes = padded * row * be_dtype_size(driven->space[action].dtype);
    unsigned char *actions = allocate(BATCHES * action_bytes);
    fill_actions(driven, actions, (int64_t)(BATCHES * padded * row));
    be_rows rows = {
        .reward = allocate(padded * 8),
        .terminated = allocate(padded),
        .truncated = allocate(padded),
    };
    uint8_t *skip = allocate(padded);
    rows.port[port_of(type, BE_OBSERVATION)] = observation;
    rows.skip = skip;
    int64_t end = (lanes + BE_LANE_BLOCK - 1) / BE_LANE_BLOCK * BE_LANE_BLOCK;
    double kernel[ROUNDS], driver[ROUNDS], share[ROUNDS];
    double clock_ns = 1e9;
    for (int i = 0; i < 1000; i++) {
        double start = now_ns(), taken = now_ns() - start;
        if (taken < clock_ns) clock_ns = taken;
    }
    for (int round = -1; round < ROUNDS; round++) { /* round -1 warms up */
        double spent[2] = {0, 0}, until = now_ns() + seconds / (ROUNDS + 1) * 1e9;
        int64_t calls = 0;
        do {
            for (int j = 0; type->state[j].name; j++) {
                size_t bytes = be_dtype_size(type->state[j].dtype) * (size_t)type->state[j].size;
                memcpy(bare->state[j], driven->state[j], bytes * (size_t)lanes);
            }
            memcpy(bare->elapsed, driven->elapsed, (size_t)lanes * sizeof *bare->elapsed);
            double start = now_ns();
            for (int k = 0; k < BATCHES; k++) {
                rows.port[action] = actions + (size_t)k * action_bytes;
                if (type->step(bare, 0, end, &rows, &error) != BE_OK) exit(1);
            }
            double middle = now_ns();
            for (int k = 0; k < BATCHES; k++) {
                rows.port[action] = actions + (size_t)k * action_bytes;
                if (isa->step(driven, 0, lanes, &rows, &error) < 0) exit(1);
            }
            spent[0] += middle - start - clock_ns;
            spent[1] += now_ns() - middle - clock_ns;
            calls += BATCHES;
        } while (now_ns() < until);
        if (round < 0) continue;
        kernel[round] = spent[0] / (double)calls;
        driver[round] = spent[1] / (double)calls;
        share[round] = kernel[round] / driver[round];
    }
    qsort(kernel, ROUNDS, sizeof *kernel, ascending);
    qsort(driver, ROUNDS, sizeof *driver, ascending);
    qsort(share, ROUNDS, sizeof *share, ascending);
    double k = kernel[ROUNDS / 2], d = driver[ROUNDS / 2];
    printf("%-22s %-9s %8lld %12.1f %12.1f %9.3f %9.3f %6.2f\n", type->name, isa->name, (long long)lanes, k, d,
           k / (double)lanes, d / (double)lanes, share[ROUNDS / 2]);
    fflush(stdout);
    be_batch_destroy(driven);
    be_batch_destroy(bare);
    free(observation);
    free(actions);
    free(rows.reward);
    free(rows.terminated);
    free(rows.truncated);
    free(skip);
}

/* ---- rollouts --------------------------------------------------------------------------------------- */

be_batch *bare_open(const char *isa_name, int64_t lanes, float *observation);
void bare_start(be_batch *batch, float *observation);
void bare_rollout(be_batch *batch, int64_t chunk, int64_t steps, int32_t limit, const int64_t *action,
                  float *observation, double *reward, uint8_t *terminated, uint8_t *truncated);

/* Lanes of CartPole, or NULL where the CPU lacks the instruction set. */
be_batch *bare_open(const char *isa_name, int64_t lanes, float *observation) {
    for (const be_isa *const *isa = be_isa_supported(); *isa; isa++) {
        if (strcmp((*isa)->name, isa_name) == 0) return make(be_type_named(*isa, "CartPole"), lanes, observation);
    }
    return NULL;
}

/* As env.reset(seed=1). */
void bare_start(be_batch *batch, float *observation) {
    const uint32_t seed = 1;
    be_rows rows = {0};
    be_error error;
    rows.port[port_of(batch->type, BE_OBSERVATION)] = observation;
    if (be_batch_seed(batch, &seed, 1, 0, batch->num_lanes) != 0 ||
        be_batch_reset(batch, 0, batch->num_lanes, NULL, NULL, &rows, &error) != BE_OK) {
        exit(1);
    }
}

#define BARE_CHUNK 1024

/* `steps` steps, `chunk` lanes at a time so that their state stays in the cache; arrays are (steps, lanes, ...). With
 * `restarts` also a limit of 500 steps, and a finished lane starts again in the step after its last, like autoreset's
 * NextStep; without, lanes go on for ever and `truncated` is 0. */
void bare_rollout(be_batch *batch, int64_t chunk, int64_t steps, int32_t limit, const int64_t *action,
                  float *observation, double *reward, uint8_t *terminated, uint8_t *truncated) {
    static const double low_high[] = {-0.05, 0.05};
    const be_env_type *type = batch->type;
    const int64_t all = batch->num_lanes;
    uint8_t *done = batch->driver->pending;
    be_error error;
    for (int64_t first = 0; first < all; first += chunk) {
        const int64_t n = first + chunk < all ? chunk : all - first;
        for (int64_t t = 0; t < steps; t++) {
            const int64_t row = t * all + first;
            be_rows rows = {
                .first = first,
                .reward = reward + row,
                .terminated = terminated + row,
                .skip = done + first,
                .options = low_high,
            };
            rows.port[port_of(type, BE_ACTION)] = (void *)(action + row);
            rows.port[port_of(type, BE_OBSERVATION)] = observation + row * 4;
            if (type->step(batch, first, first + n, &rows, &error) != BE_OK) exit(1);
            uint8_t *restrict cut = truncated + row, *restrict fallen = terminated + row,
                              *restrict again = done + first;
            if (!limit) {
                memset(cut, 0, (size_t)n);
                continue;
            }
            int32_t *restrict elapsed = batch->elapsed + first;
            for (int64_t i = 0; i < n; i++) elapsed[i]++;
            for (int64_t i = 0; i < n; i++) cut[i] = elapsed[i] >= limit;
            int64_t lanes[BARE_CHUNK], count = 0;
            for (int64_t i = 0; i < n; i++) {
                lanes[count] = first + i;
                count += again[i];
            }
            for (int64_t k = 0; k < count; k++) {
                const int64_t i = lanes[k] - first;
                elapsed[i] = 0;
                reward[row + i] = 0;
                fallen[i] = cut[i] = 0;
            }
            if (type->reset(batch, lanes, count, &rows, &error) != BE_OK) exit(1);
            for (int64_t i = 0; i < n; i++) again[i] = fallen[i] | cut[i];
        }
    }
}

/* bare_loop SECONDS ISA|all ENV|all LANES... */
int main(int count, char **words) {
    if (count < 5) return 2;
    printf("%-22s %-9s %8s %12s %12s %9s %9s %6s\n", "env", "isa", "lanes", "kernel ns", "driver ns", "kernel/ln",
           "driver/ln", "share");
    for (const be_isa *const *isa = be_isa_supported(); *isa; isa++) {
        if (strcmp(words[2], "all") != 0 && strcmp(words[2], (*isa)->name) != 0) continue;
        const be_env_type *type;
        for (int64_t k = 0; (type = be_type_at(*isa, k)); k++) {
            if (strcmp(words[3], "all") != 0 && strcmp(words[3], type->name) != 0) continue;
            if (type->grid || type->open || (type->flags & BE_LANE_BY_LANE)) continue; /* no plain kernel */
            for (int i = 4; i < count; i++) measure(*isa, type, atoll(words[i]), atof(words[1]));
        }
    }
    return 0;
}
