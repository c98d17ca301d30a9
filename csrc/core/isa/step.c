/* A step of some lanes: pending resets, the kernel, time limits, autoreset, and what callers get. */
#include "core/isa/isa.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/space.h"
#include "core/system/clock.h"

/* A word of 64 bits: bit i is set if flags[i] is 1, of n <= 64 flags. What follows them is not read, because another
 * thread may be writing the next flags. */
static inline uint64_t flag_bits(const uint8_t *flags, int64_t n) {
#if BE_ISA == BE_ISA_AVX512
    __m512i bytes = _mm512_maskz_loadu_epi8(_cvtu64_mask64(UINT64_MAX >> (64 - n)), flags);
    return _cvtmask64_u64(_mm512_test_epi8_mask(bytes, bytes));
#else
    uint8_t padded[64] = {0};
    if (n < 64) flags = memcpy(padded, flags, (size_t)n);
#if BE_ISA == BE_ISA_AVX2
    __m256i low = _mm256_loadu_si256((const __m256i *)flags), high = _mm256_loadu_si256((const __m256i *)flags + 1);
    low = _mm256_slli_epi16(low, 7);
    high = _mm256_slli_epi16(high, 7);
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
#else
    uint64_t bits = 0;
    for (int j = 0; j < 8; j++) {
        uint64_t word;
        memcpy(&word, flags + 8 * j, 8);
        bits |= (word * UINT64_C(0x0102040810204080)) >> 56 << 8 * j;
    }
    return bits;
#endif
#endif
}

/* Lists the lanes, numbered from `first` on, whose flag is 1. There are n <= BE_LIST flags. */
static inline int64_t list_flagged(const uint8_t *flags, int64_t n, int64_t first, int64_t *lanes) {
    int64_t count = 0;
    if (n == 1) {
        if (*flags) lanes[count++] = first;
        return count;
    }
    for (int64_t j = 0; j < n; j += 64) {
        for (uint64_t bits = flag_bits(flags + j, n - j < 64 ? n - j : 64); bits; bits &= bits - 1) {
            lanes[count++] = first + j + __builtin_ctzll(bits);
        }
    }
    return count;
}

/* A range of at most BLOCK lanes on its way through a step. */
typedef struct block {
    be_batch *batch;
    int64_t first, n;
    double now;           /* seconds; set with record_statistics */
    const be_rows *inner; /* what kernels write: `rows`, or `own` if observations are transformed */
    be_rows rows, own;    /* of lane `first` */
} block;

/* Counts the steps after a kernel's step, and applies the time limit. */
static void count_steps(const block *b) {
    int32_t *restrict elapsed = b->batch->elapsed + b->first;
    uint8_t *restrict truncated = b->rows.truncated;
    const int32_t limit = b->batch->driver->max_episode_steps;
    const int has_limit = limit != INT32_MAX;
    const int64_t n = b->n; /* a copy: flags are bytes and might alias b->n, so that no loop would be vectorised */
    for (int64_t i = 0; i < n; i++) elapsed[i] += elapsed[i] != INT32_MAX;
    for (int64_t i = 0; i < n; i++) truncated[i] = (uint8_t)(has_limit & (elapsed[i] >= limit));
    const uint8_t *lost = b->batch->driver->lost;
    for (int64_t i = 0; lost && i < n; i++) truncated[i] |= lost[b->first + i];
}

/* Scales and clips n rewards. */
static void transform_rewards(const be_transform *transform, double *restrict reward, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double value = reward[i] * transform->reward_scale;
        value = value < transform->reward_low ? transform->reward_low : value;
        reward[i] = value > transform->reward_high ? transform->reward_high : value;
    }
}

/* Of the block's k-th further rewards: how many values a lane has, and those of all lanes. */
static int64_t reward_size(const block *b, int k) {
    return be_space_row_size(&b->batch->space[b->batch->driver->rewards[k]]);
}
static double *rewards_of(const block *b, int k) { return b->rows.port[b->batch->driver->rewards[k]]; }

static void clear_rewards(const block *b, int k, const int64_t *lanes, int64_t count) {
    const int64_t size = reward_size(b, k);
    for (int64_t j = 0; j < count; j++) {
        memset(rewards_of(b, k) + (lanes[j] - b->first) * size, 0, (size_t)size * sizeof(double));
    }
}

/* Rewards as the env gave them go into the statistics, then they are scaled and clipped. */
static void treat_rewards(const block *b) {
    const struct be_driver *driver = b->batch->driver;
    const be_transform *transform = &driver->transform;
    double *restrict reward = b->rows.reward;
    if (transform->record_statistics) {
        double *restrict total = driver->episode_return + b->first;
        for (int64_t i = 0; i < b->n; i++) total[i] += reward[i];
    }
    if (transform->transform_reward) {
        transform_rewards(transform, reward, b->n);
        for (int k = 0; k < driver->num_rewards; k++) {
            transform_rewards(transform, rewards_of(b, k), b->n * reward_size(b, k));
        }
    }
}

static void write_statistics(const block *b, const int64_t *lanes, int64_t count) {
    const struct be_driver *driver = b->batch->driver;
    memset(b->rows.episode_return, 0, (size_t)b->n * sizeof(double));
    memset(b->rows.episode_seconds, 0, (size_t)b->n * sizeof(double));
    memset(b->rows.episode_length, 0, (size_t)b->n * sizeof(int64_t));
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k] - b->first;
        int64_t steps = be_decisions(b->batch, lanes[k]);
        if (driver->game_steps) {
            steps = driver->game_steps[lanes[k]] += steps;
            if (b->batch->type->goes_on(b->batch, lanes[k])) continue;
        }
        b->rows.episode_return[i] = driver->episode_return[lanes[k]];
        b->rows.episode_length[i] = steps;
        /* Rounded to microseconds, as in Gymnasium's wrapper. */
        b->rows.episode_seconds[i] = nearbyint((b->now - driver->episode_start[lanes[k]]) * 1e6) / 1e6;
    }
}

/* The entries of the agenda whose episodes have ended in the lanes listed; BE_UNDECIDED where the game goes on. */
static void write_entries(const block *b, const int64_t *lanes, int64_t count) {
    const be_agenda *agenda = b->batch->driver->agenda;
    int64_t *restrict entries = b->rows.episode_entry;
    for (int64_t i = 0; i < b->n; i++) entries[i] = BE_NO_ENTRY;
    for (int64_t k = 0; k < count; k++) {
        const int goes_on = b->batch->type->goes_on && b->batch->type->goes_on(b->batch, lanes[k]);
        entries[lanes[k] - b->first] = goes_on ? BE_UNDECIDED : agenda->places[lanes[k]].entry;
    }
}

/* SAME_STEP: keeps the final rows of the lanes listed, which have finished, and starts their next episodes. */
static int restart(const block *b, const int64_t *lanes, int64_t count, be_error *error) {
    const struct be_driver *driver = b->batch->driver;
    for (int64_t k = 0; k < count; k++) __builtin_prefetch(&b->batch->rng[lanes[k]], 1); /* before any is needed */
    const int transformed = driver->transform.transform_observation;
    be_rows final;
    memcpy(final.port, b->rows.final, sizeof final.port);
    be_rows_copy_listed(&driver->inner, transformed ? BE_ROWS_INFO : BE_ROWS_LANE, &final, &b->rows, lanes, count,
                        b->first);
    if (transformed) {
        be_transform_observations(b->batch, lanes, count, b->first, final.port[driver->observation], BE_FRAME_NEXT);
    }
    return be_episodes_start(b->batch, lanes, count, b->inner, b->now, error);
}

/* What follows the kernel: rewards, autoreset, pending flags, transforms. `due` lists the lanes that were pending.
 * Returns how many lanes have finished, or -1. */
static int64_t finish(const block *b, const int64_t *due, int64_t num_due, be_error *error) {
    struct be_driver *driver = b->batch->driver;
    const int64_t n = b->n;
    uint8_t *restrict pending = driver->pending + b->first;
    uint8_t *restrict terminated = b->rows.terminated, *restrict truncated = b->rows.truncated;

    treat_rewards(b);
    if (b->rows.started && n > 0) memset(b->rows.started, 0, (size_t)n);
    if (num_due && driver->autoreset != BE_DISABLED) { /* SAME_STEP: only lanes whose restart has failed */
        for (int64_t k = 0; k < num_due; k++) {
            int64_t i = due[k] - b->first;
            b->rows.reward[i] = 0.0;
            terminated[i] = truncated[i] = 0;
        }
        for (int k = 0; k < driver->num_rewards; k++) clear_rewards(b, k, due, num_due);
        if (be_episodes_start(b->batch, due, num_due, b->inner, b->now, error) != BE_OK) return -1;
    }
    uint16_t finished = 0; /* a narrow type, so that a vector holds more lanes */
    for (int64_t i = 0; i < n; i++) {
        pending[i] = terminated[i] | truncated[i];
        finished = (uint16_t)(finished + pending[i]);
    }
    int64_t lanes[BLOCK], count = 0;
    const int same_step = driver->autoreset == BE_SAME_STEP && finished;
    if (same_step || driver->transform.record_statistics || driver->tells_entries) {
        count = list_flagged(pending, n, b->first, lanes);
    }
    if (driver->transform.record_statistics) write_statistics(b, lanes, count);
    if (driver->tells_entries) write_entries(b, lanes, count);
    if (same_step) {
        memset(pending, 0, (size_t)n);
        if (restart(b, lanes, count, error) != BE_OK) return -1;
    }
    if (driver->transform.transform_observation) {
        be_transform_observations(b->batch, NULL, n, b->first, b->rows.port[driver->observation], BE_FRAME_NEXT);
    }
    return finished;
}

/* The lanes after the last whole block are stepped in padded rows that belong to the driver, so that no kernel has to
 * handle less than a block. */
static int step_tail(const block *b, be_error *error) {
    be_batch *batch = b->batch;
    struct be_driver *driver = batch->driver;
    const be_table *inner = &driver->inner;
    be_rows *tail = &driver->tail;
    const size_t n = (size_t)b->n;
    be_rows_copy(inner, BE_ROWS_ACTION, tail, 0, b->inner, 0, b->n);
    memset(driver->tail_skip, 1, BE_LANE_BLOCK);
    memcpy(driver->tail_skip, b->inner->skip, n);
    tail->first = b->first;
    tail->skip = driver->tail_skip;
    int status = batch->type->step(batch, b->first, b->first + BE_LANE_BLOCK, tail, error);
    for (int j = 0; batch->type->state[j].name; j++) {
        const size_t bytes = be_field_bytes(batch, j);
        unsigned char *column = batch->state[j];
        memset(column + ((size_t)b->first + n) * bytes, 0, (BE_LANE_BLOCK - n) * bytes);
    }
    if (status == BE_OK) be_rows_copy(inner, BE_ROWS_OUT, b->inner, 0, tail, 0, b->n);
    return status;
}

/* A step of a BE_LANE_BY_LANE type: the kernel is called once per lane, and lanes may fail. */
static void step_lane(const block *b, int64_t i) {
    const int64_t lane = b->first + i;
    const be_rows *rows = b->inner;
    be_error error;
    error.status = BE_OK;
    rows->truncated[i] = 0;
    if (!rows->skip[i] && b->batch->type->step(b->batch, lane, lane + 1, rows, &error) == BE_OK) {
        b->batch->driver->lost[lane] = rows->truncated[i];
        return;
    }
    be_rows_clear(&b->batch->driver->inner, BE_ROWS_RESULT, rows, i);
    b->batch->driver->lost[lane] = 0;
    if (rows->skip[i]) return;
    (void)be_unexplained(b->batch->type, &error);
    be_lane_fail(b->batch, lane, rows, &error);
}

/* One step of a kernel. Lanes whose `skip` is 1 are not to be stepped. */
static int step_kernel(const block *b, be_error *error) {
    if (b->batch->type->flags & BE_LANE_BY_LANE) {
        be_step_ahead(b->batch, NULL, NULL, b->inner->skip, b->n, b->inner);
        for (int64_t i = 0; i < b->n; i++) step_lane(b, i);
        return BE_OK;
    }
    const int status = b->n < BE_LANE_BLOCK
                           ? step_tail(b, error)
                           : b->batch->type->step(b->batch, b->first, b->first + b->n, b->inner, error);
    if (b->batch->type->flags & BE_OWN_LIMITS) {
        memcpy(b->batch->driver->lost + b->first, b->inner->truncated, (size_t)b->n);
    }
    return status;
}

/* Saves (or, with `back`, restores) what a kernel overwrites in lane first + i. */
static void keep_lane(const block *b, int64_t i, int back) {
    struct be_driver *driver = b->batch->driver;
    const int64_t lane = b->first + i;
    for (int j = 0; b->batch->type->state[j].name; j++) {
        const size_t bytes = be_field_bytes(b->batch, j), offset = (size_t)lane * bytes;
        unsigned char *kept = (unsigned char *)driver->stopped[j] + offset;
        unsigned char *present = (unsigned char *)b->batch->state[j] + offset;
        memcpy(back ? present : kept, back ? kept : present, bytes);
    }
    if (back) {
        be_rows_copy(&driver->inner, BE_ROWS_LANE, b->inner, i, &driver->stopped_rows, lane, 1);
    } else {
        be_rows_copy(&driver->inner, BE_ROWS_LANE, &driver->stopped_rows, lane, b->inner, i, 1);
    }
}

/* Where the sums of the k-th further rewards are, with action_repeat: those of the block's lanes. */
static double *sums_of(const block *b, int k) {
    double *sums = b->batch->driver->stopped_rows.port[b->batch->driver->rewards[k]];
    return sums + b->first * reward_size(b, k);
}

/* Adds what lane first + i has got to the sums. */
static void sum_rewards(const block *b, int64_t i) {
    for (int k = 0; k < b->batch->driver->num_rewards; k++) {
        const int64_t size = reward_size(b, k);
        double *sum = sums_of(b, k) + i * size;
        const double *reward = rewards_of(b, k) + i * size;
        for (int64_t j = 0; j < size; j++) sum[j] += reward[j];
    }
}

/* The same action several times, rewards summed; a lane that finishes stays where it is. */
static int repeat(block *b, be_error *error) {
    const struct be_driver *driver = b->batch->driver;
    const int64_t n = b->n;
    uint8_t skip[BLOCK + 64] = {0}, terminated[BLOCK], truncated[BLOCK];
    double total[BLOCK];
    int64_t stopped[BLOCK], num_stopped = 0;
    for (int64_t i = 0; i < n; i++) {
        skip[i] = driver->pending[b->first + i];
        total[i] = 0;
        terminated[i] = truncated[i] = 0;
    }
    b->rows.skip = b->own.skip = skip;
    for (int k = 0; k < driver->num_rewards; k++) {
        memset(sums_of(b, k), 0, (size_t)(n * reward_size(b, k)) * sizeof(double));
    }
    for (int round = 0; round < driver->transform.action_repeat; round++) {
        int status = step_kernel(b, error);
        if (status != BE_OK) return status;
        for (int64_t k = 0; k < num_stopped; k++) keep_lane(b, stopped[k], 1);
        for (int64_t i = 0; i < n; i++) {
            if (skip[i]) continue;
            int32_t *elapsed = &b->batch->elapsed[b->first + i];
            *elapsed += *elapsed != INT32_MAX;
            total[i] += b->rows.reward[i];
            sum_rewards(b, i);
            terminated[i] = b->rows.terminated[i];
            truncated[i] = be_is_at_limit(driver, *elapsed) || (driver->lost && driver->lost[b->first + i]);
            if (terminated[i] | truncated[i]) {
                skip[i] = 1;
                stopped[num_stopped++] = i;
                keep_lane(b, i, 0);
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        b->rows.reward[i] = total[i];
        b->rows.terminated[i] = terminated[i];
        b->rows.truncated[i] = truncated[i];
    }
    for (int k = 0; k < driver->num_rewards; k++) {
        memcpy(rewards_of(b, k), sums_of(b, k), (size_t)(n * reward_size(b, k)) * sizeof(double));
    }
    return BE_OK;
}

/* Points the block's rows at those of its lanes within `rows`. */
static void point(block *b, const be_rows *rows) {
    const struct be_driver *driver = b->batch->driver;
    be_rows_slice(&driver->outer, &b->rows, rows, b->first - rows->first);
    b->rows.first = b->first;
    b->rows.skip = driver->pending + b->first;
    b->rows.options = driver->default_options;
    b->inner = &b->rows;
    if (driver->transform.transform_observation) {
        be_rows_inner(b->batch, &b->own, &b->rows);
        b->inner = &b->own;
    }
}

/* Steps a block. Returns how many lanes have finished, or -1. */
static int64_t step_block(block *b, be_error *error) {
    const struct be_driver *driver = b->batch->driver;
    /* Resets are few and scattered, so their random streams are prefetched while the kernel runs. */
    int64_t due[BLOCK], num_due = list_flagged(driver->pending + b->first, b->n, b->first, due);
    for (int64_t k = 0; k < num_due; k++) __builtin_prefetch(&b->batch->rng[due[k]], 1);
    if (driver->agenda) be_agenda_look_ahead(b->batch, due, num_due);
    int status;
    if (driver->transform.action_repeat > 1) {
        status = repeat(b, error);
    } else {
        status = step_kernel(b, error);
        if (status == BE_OK) count_steps(b);
    }
    return status == BE_OK ? finish(b, due, num_due, error) : -1;
}

static inline double seconds_for(const be_batch *batch) {
    return batch->driver->transform.record_statistics ? be_now_seconds() : 0;
}

int64_t be_isa_step(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    int64_t finished = 0;
    block b;
    b.batch = batch;
    b.now = seconds_for(batch);
    for (b.first = begin; b.first < end; b.first += b.n) {
        b.n = end - b.first < BLOCK ? end - b.first : BLOCK;
        if (b.n > BE_LANE_BLOCK) b.n = b.n / BE_LANE_BLOCK * BE_LANE_BLOCK;
        point(&b, rows);
        int64_t count = step_block(&b, error);
        if (count < 0) {
            (void)be_unexplained(batch->type, error);
            return -1;
        }
        finished += count;
    }
    return finished;
}
