/* A step of some lanes: resets that are due, the kernel, time limits, autoreset, what goes out. */
#include "core/isa/isa.h"

#include <math.h>

/* Bit i is set where flags[i] is 1, of 64 flags. */
static inline uint64_t flag_bits(const uint8_t *flags) {
#if BE_ISA == BE_ISA_AVX512
    __m512i bytes = _mm512_loadu_si512(flags);
    return _cvtmask64_u64(_mm512_test_epi8_mask(bytes, bytes));
#elif BE_ISA == BE_ISA_AVX2
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
}

/* Lists the lanes from `first` on whose flag, of n <= BE_LIST, is 1; flags can be read for 63 more. */
static inline int64_t list_flagged(const uint8_t *flags, int64_t n, int64_t first, int64_t *lanes) {
    int64_t count = 0;
    if (n == 1) { /* the flags beyond may be another thread's */
        if (*flags) lanes[count++] = first;
        return count;
    }
    for (int64_t j = 0; j < n; j += 64) {
        uint64_t bits = flag_bits(flags + j);
        if (n - j < 64) bits &= (UINT64_C(1) << (n - j)) - 1;
        for (; bits; bits &= bits - 1) {
            lanes[count++] = first + j + __builtin_ctzll(bits);
        }
    }
    return count;
}

/* A range of at most BLOCK lanes on its way through a step. */
typedef struct block {
    be_batch *batch;
    int64_t first, n;
    be_arrays rows; /* of lane `first` */
    void *raw;      /* where kernels write observations: rows.observation unless these are transformed */
    double now;     /* seconds, with record_statistics */
} block;

/* A lane's simulator has failed: zeros go out, the others go on. */
static void lose_lane(const block *b, int64_t lane, const be_error *error) {
    const struct be_driver *driver = b->batch->driver;
    const int64_t i = lane - b->first;
    be_lane_failed(b->batch, lane, error);
    memset((unsigned char *)b->raw + (size_t)i * driver->raw_bytes, 0, driver->raw_bytes);
    for (int j = 0; j < driver->num_info; j++) {
        memset((unsigned char *)b->rows.info[j] + (size_t)i * driver->info_bytes[j], 0, driver->info_bytes[j]);
    }
    driver->lost[lane] = 1;
}

static int reset_lanes(const block *b, const int64_t *lanes, int64_t count, be_error *error) {
    struct be_driver *driver = b->batch->driver;
    be_io io = {.first = b->first, .observation = b->raw, .options = driver->default_options};
    memcpy(io.info, b->rows.info, sizeof io.info);
    for (int64_t k = 0; k < count; k++) {
        b->batch->elapsed[lanes[k]] = 0;
        be_start_statistics(b->batch, lanes[k], b->now);
    }
    for (int64_t k = 0; b->rows.started && k < count; k++) b->rows.started[lanes[k] - b->first] = 1;
    if (!(b->batch->type->flags & BE_LANE_BY_LANE)) return b->batch->type->reset(b->batch, lanes, count, &io, error);
    for (int64_t k = 0; k < count; k++) {
        be_error lane_error;
        if (b->batch->type->reset(b->batch, &lanes[k], 1, &io, &lane_error) == BE_OK) continue;
        lose_lane(b, lanes[k], &lane_error);
        b->rows.truncated[lanes[k] - b->first] |= !b->rows.terminated[lanes[k] - b->first];
        driver->pending[lanes[k]] = 1; /* tried again in the next step */
    }
    return BE_OK;
}

static inline void copy_row(void *target, const void *source, int64_t row, size_t bytes) {
    memcpy((unsigned char *)target + (size_t)row * bytes, (const unsigned char *)source + (size_t)row * bytes, bytes);
}

/* After a kernel's step: elapsed steps and time limits. */
static void count_steps(const block *b) {
    int32_t *restrict elapsed = b->batch->elapsed + b->first;
    uint8_t *restrict truncated = b->rows.truncated;
    const int32_t limit = b->batch->driver->max_episode_steps;
    const int has_limit = limit != INT32_MAX;
    const int64_t n = b->n; /* a copy: flags are bytes, which might alias it, and then no loop would be vectorised */
    for (int64_t i = 0; i < n; i++) elapsed[i] += elapsed[i] != INT32_MAX;
    for (int64_t i = 0; i < n; i++) truncated[i] = (uint8_t)(has_limit & (elapsed[i] >= limit));
    const uint8_t *lost = b->batch->driver->lost;
    for (int64_t i = 0; lost && i < n; i++) truncated[i] |= lost[b->first + i];
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
        for (int64_t i = 0; i < b->n; i++) {
            double value = reward[i] * transform->reward_scale;
            value = value < transform->reward_low ? transform->reward_low : value;
            reward[i] = value > transform->reward_high ? transform->reward_high : value;
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
        /* To microseconds, as Gymnasium's wrapper rounds them. */
        b->rows.episode_seconds[i] = nearbyint((b->now - driver->episode_start[lanes[k]]) * 1e6) / 1e6;
    }
}

/* SAME_STEP: the lanes listed have finished; their last rows are kept, and they start again. */
static int restart(const block *b, const int64_t *lanes, int64_t count, be_error *error) {
    const struct be_driver *driver = b->batch->driver;
    for (int64_t k = 0; k < count; k++) __builtin_prefetch(&b->batch->rng[lanes[k]], 1); /* before any is waited for */
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k] - b->first;
        if (!driver->transform.transform_observation) {
            copy_row(b->rows.final_observation, b->rows.observation, i, driver->observation_bytes);
        }
        for (int j = 0; j < driver->num_info; j++) {
            copy_row(b->rows.final_info[j], b->rows.info[j], i, driver->info_bytes[j]);
        }
    }
    if (driver->transform.transform_observation) {
        be_transform_observations(b->batch, lanes, count, b->first, b->rows.final_observation, 0);
    }
    return reset_lanes(b, lanes, count, error);
}

/* After the kernel: rewards, autoreset, pending flags, what goes out. `due` lists the lanes that were pending. Returns
 * how many have finished, or -1. */
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
        if (reset_lanes(b, due, num_due, error) != BE_OK) return -1;
    }
    uint16_t finished = 0; /* narrow: more lanes to a vector */
    for (int64_t i = 0; i < n; i++) {
        pending[i] = terminated[i] | truncated[i];
        finished = (uint16_t)(finished + pending[i]);
    }
    int64_t lanes[BLOCK], count = 0;
    const int same_step = driver->autoreset == BE_SAME_STEP && finished;
    if (same_step || driver->transform.record_statistics) count = list_flagged(pending, n, b->first, lanes);
    if (driver->transform.record_statistics) write_statistics(b, lanes, count);
    if (same_step) {
        memset(pending, 0, (size_t)n);
        if (restart(b, lanes, count, error) != BE_OK) return -1;
    }
    if (driver->transform.transform_observation) {
        be_transform_observations(b->batch, NULL, n, b->first, b->rows.observation, 0);
    }
    return finished;
}

/* The lanes after the last whole block go through padded rows of the driver's own, so that no kernel needs to know how
 * to step less than a block. */
static int step_tail(const block *b, const uint8_t *skip, be_error *error) {
    be_batch *batch = b->batch;
    struct be_driver *driver = batch->driver;
    const size_t n = (size_t)b->n;
    memcpy(driver->tail_action, b->rows.action, n * driver->action_bytes);
    memset(driver->tail_skip, 1, BE_LANE_BLOCK);
    memcpy(driver->tail_skip, skip, n);
    be_io io = {
        .first = b->first,
        .action = driver->tail_action,
        .observation = driver->tail_observation,
        .reward = driver->tail_reward,
        .terminated = driver->tail_terminated,
        .skip = driver->tail_skip,
    };
    memcpy(io.info, driver->tail_info, sizeof io.info);
    int status = batch->type->step(batch, b->first, b->first + BE_LANE_BLOCK, &io, error);
    for (int j = 0; batch->type->state[j].name; j++) {
        size_t bytes = be_dtype_size(batch->type->state[j].dtype) * (size_t)batch->type->state[j].size;
        unsigned char *column = batch->state[j];
        memset(column + ((size_t)b->first + n) * bytes, 0, (BE_LANE_BLOCK - n) * bytes);
    }
    if (status != BE_OK) return status;
    memcpy(b->raw, driver->tail_observation, n * driver->raw_bytes);
    for (int j = 0; j < driver->num_info; j++) {
        memcpy(b->rows.info[j], driver->tail_info[j], n * driver->info_bytes[j]);
    }
    memcpy(b->rows.reward, driver->tail_reward, n * sizeof *b->rows.reward);
    memcpy(b->rows.terminated, driver->tail_terminated, n);
    return BE_OK;
}

/* One step of a kernel; lanes with a 1 in `skip` are not for it. */
static int step_kernel(const block *b, const uint8_t *skip, be_error *error) {
    const int lane_by_lane = (b->batch->type->flags & BE_LANE_BY_LANE) != 0;
    if (b->n < BE_LANE_BLOCK && !lane_by_lane) return step_tail(b, skip, error);
    be_io io = {
        .first = b->first,
        .action = b->rows.action,
        .observation = b->raw,
        .reward = b->rows.reward,
        .terminated = b->rows.terminated,
        .skip = skip,
    };
    memcpy(io.info, b->rows.info, sizeof io.info);
    if (!lane_by_lane) return b->batch->type->step(b->batch, b->first, b->first + b->n, &io, error);
    uint8_t *lost = b->batch->driver->lost + b->first;
    io.truncated = lost;
    for (int64_t i = 0; i < b->n; i++) {
        be_error lane_error;
        lost[i] = 0;
        if (skip[i]) {
            b->rows.reward[i] = 0;
            b->rows.terminated[i] = 0;
            continue;
        }
        const int status = b->batch->type->step(b->batch, b->first + i, b->first + i + 1, &io, &lane_error);
        if (status == BE_OK) continue;
        lose_lane(b, b->first + i, &lane_error);
        b->rows.reward[i] = 0;
        b->rows.terminated[i] = 0;
    }
    return BE_OK;
}

/* Keeps (or, with `back`, brings back) what a kernel overwrites in lane first + i. */
static void keep_lane(const block *b, int64_t i, int back) {
    const struct be_driver *driver = b->batch->driver;
    const int64_t lane = b->first + i;
#define KEEP(kept, present, row, bytes)                                                                                \
    do {                                                                                                               \
        unsigned char *a_ = (unsigned char *)(kept) + (size_t)lane * (bytes);                                          \
        unsigned char *b_ = (unsigned char *)(present) + (size_t)(row) * (bytes);                                      \
        memcpy(back ? b_ : a_, back ? a_ : b_, bytes);                                                                 \
    } while (0)
    for (int j = 0; b->batch->type->state[j].name; j++) {
        const be_field *field = &b->batch->type->state[j];
        KEEP(driver->stopped[j], b->batch->state[j], lane, be_dtype_size(field->dtype) * (size_t)field->size);
    }
    KEEP(driver->stopped_observation, b->raw, i, driver->raw_bytes);
    for (int j = 0; j < driver->num_info; j++) KEEP(driver->stopped_info[j], b->rows.info[j], i, driver->info_bytes[j]);
#undef KEEP
}

/* The same action several times, rewards summed; a lane that finishes stays where it is. */
static int repeat(const block *b, be_error *error) {
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
    for (int round = 0; round < driver->transform.action_repeat; round++) {
        int status = step_kernel(b, skip, error);
        if (status != BE_OK) return status;
        for (int64_t k = 0; k < num_stopped; k++) keep_lane(b, stopped[k], 1);
        for (int64_t i = 0; i < n; i++) {
            if (skip[i]) continue;
            int32_t *elapsed = &b->batch->elapsed[b->first + i];
            *elapsed += *elapsed != INT32_MAX;
            total[i] += b->rows.reward[i];
            terminated[i] = b->rows.terminated[i];
            truncated[i] = (driver->max_episode_steps != INT32_MAX && *elapsed >= driver->max_episode_steps) ||
                           (driver->lost && driver->lost[b->first + i]);
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
    return BE_OK;
}

/* One step of a block whose batch, first, n, rows and now are set; returns how many lanes have finished, or -1. */
static int64_t step_block(block *b, be_error *error) {
    const struct be_driver *driver = b->batch->driver;
    b->raw = driver->transform.transform_observation ? row_of(driver->raw_observation, b->first, driver->raw_bytes)
                                                     : b->rows.observation;
    const uint8_t *pending = driver->pending + b->first;
    /* Resets are few and scattered: their streams come into the cache while the kernel runs. */
    int64_t due[BLOCK], num_due = list_flagged(pending, b->n, b->first, due);
    for (int64_t k = 0; k < num_due; k++) __builtin_prefetch(&b->batch->rng[due[k]], 1);
    int status;
    if (driver->transform.action_repeat > 1) {
        status = repeat(b, error);
    } else {
        status = step_kernel(b, pending, error);
        if (status == BE_OK) count_steps(b);
    }
    return status == BE_OK ? finish(b, due, num_due, error) : -1;
}

static inline double seconds_for(const be_batch *batch) {
    return batch->driver->transform.record_statistics ? be_now_seconds() : 0;
}

int64_t be_isa_step(be_batch *batch, int64_t begin, int64_t end, const be_arrays *arrays, be_error *error) {
    int64_t finished = 0;
    block b = {.batch = batch, .now = seconds_for(batch)};
    for (b.first = begin; b.first < end; b.first += b.n) {
        b.n = end - b.first < BLOCK ? end - b.first : BLOCK;
        if (b.n > BE_LANE_BLOCK) b.n = b.n / BE_LANE_BLOCK * BE_LANE_BLOCK;
        b.rows = rows_from(batch, arrays, b.first);
        int64_t count = step_block(&b, error);
        if (count < 0) return -1;
        finished += count;
    }
    return finished;
}

int64_t be_isa_step_rows(be_batch *batch, int64_t first, int64_t n, const be_arrays *rows, be_error *error) {
    int64_t finished = 0;
    block b = {.batch = batch, .now = seconds_for(batch)};
    for (b.first = first; b.first < first + n; b.first += b.n) {
        b.n = first + n - b.first < BLOCK ? first + n - b.first : BLOCK;
        if (b.n > BE_LANE_BLOCK) b.n = b.n / BE_LANE_BLOCK * BE_LANE_BLOCK;
        b.rows = rows_from(batch, rows, b.first - first);
        int64_t count = step_block(&b, error);
        if (count < 0) return -1;
        finished += count;
    }
    return finished;
}
