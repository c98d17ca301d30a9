/* The driver's hot loops, compiled once per instruction set beside the env kernels. */
#include "core/batch.h"
#include "core/exact_math.h"
#include "core/fp.h"

/* Lanes stepped before their flags are looked at: their rows stay in the L1 cache in between. */
#define BLOCK BE_LIST

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

static inline void *row_of(const void *rows, int64_t row, size_t bytes) {
    return rows ? (unsigned char *)rows + (size_t)row * bytes : NULL;
}

/* The same arrays from row `row` on: a lane, or num_lanes * t of a rollout's. */
static be_arrays rows_from(const be_batch *batch, const be_arrays *arrays, int64_t row) {
    const struct be_driver *driver = batch->driver;
    be_arrays rows = {
        .action = row_of(arrays->action, row, driver->action_bytes),
        .observation = row_of(arrays->observation, row, driver->observation_bytes),
        .reward = arrays->reward + row,
        .terminated = arrays->terminated + row,
        .truncated = arrays->truncated + row,
        .final_observation = row_of(arrays->final_observation, row, driver->observation_bytes),
        .started = row_of(arrays->started, row, 1),
        .episode_return = row_of(arrays->episode_return, row, sizeof(double)),
        .episode_seconds = row_of(arrays->episode_seconds, row, sizeof(double)),
        .episode_length = row_of(arrays->episode_length, row, sizeof(int64_t)),
    };
    for (int j = 0; j < driver->num_info; j++) {
        rows.info[j] = row_of(arrays->info[j], row, driver->info_bytes[j]);
        rows.final_info[j] = row_of(arrays->final_info[j], row, driver->info_bytes[j]);
    }
    return rows;
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

static int64_t step(be_batch *batch, int64_t begin, int64_t end, const be_arrays *arrays, be_error *error) {
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

static int64_t step_rows(be_batch *batch, int64_t first, int64_t n, const be_arrays *rows, be_error *error) {
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

/* ---- rollouts --------------------------------------------------------------------------------------- */

/* The output function of SplitMix64 (Steele, Lea and Flood, 2014). */
static inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void draw_actions(const be_batch *batch, const be_random_policy *policy, int64_t step, int64_t begin,
                         int64_t end, void *actions) {
    const be_space *space = &batch->action_space;
    const int64_t size = be_space_row_size(space);
    const uint64_t gamma = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t stream = mix(policy->key + gamma * (policy->first_step + (uint64_t)step));
    if (space->kind == BE_SPACE_DISCRETE) {
        int64_t *restrict action = actions;
        const uint64_t n = (uint64_t)space->n;
        for (int64_t i = begin; i < end; i++)
            action[i] = (int64_t)((mix(stream + gamma * (uint64_t)i) >> 32) * n >> 32);
        return;
    }
    float *restrict action = actions;
    const int64_t bounds = be_num_bounds(space);
    for (int64_t i = begin * size; i < end * size; i++) {
        const float low = (float)space->low[i % bounds], high = (float)space->high[i % bounds];
        float u = (float)(mix(stream + gamma * (uint64_t)i) >> 40) * 0x1p-24f;
        float value = low + (high - low) * u;
        action[i] = value > high ? high : value;
    }
}

/* Lanes whose state takes about this many bytes are rolled out together. */
#define ROLLOUT_BYTES 20480

static int64_t rollout(be_batch *batch, int64_t begin, int64_t end, int64_t first_step, int64_t steps,
                       const be_arrays *arrays, const be_random_policy *policy, be_error *error) {
    size_t lane_bytes = sizeof *batch->elapsed + 1;
    for (const be_field *field = batch->type->state; field->name; field++) {
        lane_bytes += be_dtype_size(field->dtype) * (size_t)field->size;
    }
    int64_t chunk = (int64_t)(ROLLOUT_BYTES / lane_bytes / BLOCK * BLOCK);
    if (chunk < BLOCK) chunk = BLOCK;
    int64_t finished = 0;
    for (int64_t first = begin; first < end; first += chunk) {
        const int64_t last = first + chunk < end ? first + chunk : end;
        for (int64_t t = first_step; t < first_step + steps; t++) {
            be_arrays rows = rows_from(batch, arrays, t * batch->num_lanes);
            if (policy) draw_actions(batch, policy, t, first, last, (void *)rows.action);
            int64_t count = step(batch, first, last, &rows, error);
            if (count < 0) return -1;
            finished += count;
        }
    }
    return finished;
}

/* ---- actions ---------------------------------------------------------------------------------------- */

#define CHECK_DISCRETE(TYPE)                                                                                           \
    do {                                                                                                               \
        const TYPE *restrict values = actions;                                                                         \
        const uint64_t n = (uint64_t)batch->action_space.n;                                                            \
        int64_t bad = 0;                                                                                               \
        for (int64_t i = 0; i < count; i++) bad |= -(int64_t)((uint64_t)(int64_t)values[i] >= n);                      \
        if (__builtin_expect(bad != 0, 0)) {                                                                           \
            for (int64_t i = 0; i < count; i++) {                                                                      \
                if ((uint64_t)(int64_t)values[i] >= n) {                                                               \
                    return be_fail(error, BE_ERROR_VALUE, first_lane + i,                                              \
                                   "action %lld of lane %lld is not in 0..%lld: pass integers from the action "        \
                                   "space; no lane has been stepped",                                                  \
                                   (long long)values[i], (long long)(first_lane + i), (long long)n - 1);               \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        if (canonical) {                                                                                               \
            int64_t *restrict target = canonical;                                                                      \
            for (int64_t i = 0; i < count; i++) target[i] = values[i];                                                 \
        }                                                                                                              \
    } while (0)

/* The bounds hold for the value as the env will see it: rounded to float32. */
#define CHECK_BOX(TYPE)                                                                                                \
    do {                                                                                                               \
        const TYPE *restrict values = actions;                                                                         \
        const int64_t size = be_space_row_size(&batch->action_space), bounds = be_num_bounds(&batch->action_space);    \
        const double *restrict low = batch->action_space.low, *restrict high = batch->action_space.high;               \
        int bad = 0;                                                                                                   \
        if (size == 1) {                                                                                               \
            const float bottom = clip ? -3.4e38f : (float)low[0], top = clip ? 3.4e38f : (float)high[0];               \
            for (int64_t i = 0; i < count; i++) {                                                                      \
                bad |= !(((float)values[i] >= bottom) & ((float)values[i] <= top));                                    \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < count; i++) {                                                                      \
                float value = (float)values[i];                                                                        \
                const int64_t b = i % bounds;                                                                          \
                bad |= clip ? !isfinite(value) : !((double)value >= low[b] && (double)value <= high[b]);               \
            }                                                                                                          \
        }                                                                                                              \
        for (int64_t i = 0; bad && i < count; i++) {                                                                   \
            int64_t lane = first_lane + i / size, j = i % size, b = j % bounds;                                        \
            float value = (float)values[i];                                                                            \
            if (!isfinite(value)) {                                                                                    \
                return be_fail(error, BE_ERROR_VALUE, lane,                                                            \
                               "action %.9g of lane %lld (component %lld) is not a finite float32 number; no "         \
                               "lane has been stepped",                                                                \
                               (double)values[i], (long long)lane, (long long)j);                                      \
            }                                                                                                          \
            if (!clip && !((double)value >= low[b] && (double)value <= high[b])) {                                     \
                return be_fail(error, BE_ERROR_VALUE, lane,                                                            \
                               "action %.9g of lane %lld (component %lld) is not between %.9g and %.9g: clip "         \
                               "it, or make the env with clip_actions=True; no lane has been stepped",                 \
                               (double)values[i], (long long)lane, (long long)j, low[b], high[b]);                     \
            }                                                                                                          \
        }                                                                                                              \
        if (canonical) {                                                                                               \
            float *restrict target = canonical;                                                                        \
            for (int64_t i = 0; i < count; i++) target[i] = (float)values[i];                                          \
        }                                                                                                              \
    } while (0)

static int check_values(const be_batch *batch, const void *actions, be_dtype dtype, int64_t first_lane, int64_t count,
                        int clip, void *canonical, be_error *error) {
    switch (dtype) {
    case BE_I64:
        CHECK_DISCRETE(int64_t);
        return BE_OK;
    case BE_I32:
        CHECK_DISCRETE(int32_t);
        return BE_OK;
    case BE_F32:
        CHECK_BOX(float);
        return BE_OK;
    case BE_F64:
        CHECK_BOX(double);
        return BE_OK;
    default:
        return be_fail(error, BE_ERROR_VALUE, -1, "actions of dtype %d cannot be checked", (int)dtype);
    }
}

static int check_actions(const be_batch *batch, const void *actions, be_dtype dtype, int64_t first_lane, int64_t count,
                         int clip, void *canonical, be_error *error) {
    if (dtype == BE_I64 || dtype == BE_I32) {
        return check_values(batch, actions, dtype, first_lane, count, clip, canonical, error);
    }
    const be_fp before = be_fp_enter(); /* for doubles become floats */
    const int status = check_values(batch, actions, dtype, first_lane, count, clip, canonical, error);
    be_fp_leave(&before);
    return status;
}

/* ---- probe ------------------------------------------------------------------------------------------ */

static void probe(int64_t mismatches[5]) {
    const be_fp before = be_fp_enter();
    static const double scales[] = {0.06, 0.2, 0.84, 2.0, 3.2, 30.0, 1e4, 1e8};
    be_rng rng;
    be_rng_seed_u64(&rng, 20261101);
    for (int j = 0; j < 5; j++) mismatches[j] = 0;
    for (int s = 0; s < 8; s++) {
        for (int round = 0; round < 2048 / BE_MANY; round++) {
            double angle[BE_MANY], sines[BE_MANY], cosines[BE_MANY], squares[BE_MANY];
            double only_sines[BE_MANY], only_cosines[BE_MANY], angle_f32[BE_MANY], squares_f32[BE_MANY];
            for (int i = 0; i < BE_MANY; i++) angle[i] = be_rng_uniform(&rng, -scales[s], scales[s]);
            be_sincos_many(angle, sines, cosines, BE_MANY);
            be_sin_many(angle, only_sines, BE_MANY);
            be_cos_many(angle, only_cosines, BE_MANY);
            be_square_many(angle, squares, BE_MANY);
            for (int i = 0; i < BE_MANY; i++) angle_f32[i] = (double)(float)angle[i];
            be_square_f32_many(angle_f32, squares_f32, BE_MANY);
            for (int k = 0; k < BE_MANY; k += BE_VL) {
                be_vd x = be_load(angle + k), sine, cosine;
                if (s < 3) {
                    be_sincos_small(x, &sine, &cosine);
                } else {
                    be_sincos(x, &sine, &cosine);
                }
                be_vd modulo = be_fmod_positive(be_abs(x), be_set1(6.283185307179586));
                for (int i = 0; i < BE_VL; i++) {
                    double y = x[i], right_sine = be_math.sin(y), right_cosine = be_math.cos(y),
                           right_square = be_libm_square(y);
                    mismatches[0] +=
                        sine[i] != right_sine || sines[k + i] != right_sine || only_sines[k + i] != right_sine;
                    mismatches[1] += cosine[i] != right_cosine || cosines[k + i] != right_cosine ||
                                     only_cosines[k + i] != right_cosine;
                    mismatches[2] += squares[k + i] != right_square;
                    mismatches[3] += squares_f32[k + i] != (double)be_libm_square_f32((float)y);
                    mismatches[4] += modulo[i] != be_math.fmod(fabs(y), 6.283185307179586);
                }
            }
        }
    }
    be_fp_leave(&before);
}

/* ---- table ------------------------------------------------------------------------------------------ */

const be_isa BE_ISA_NAME(be_isa) = {
    .name = BE_TEXT(BE_ISA_SUFFIX),
    .types = &BE_ISA_NAME(be_library),
    .step = step,
    .step_rows = step_rows,
    .rollout = rollout,
    .check_actions = check_actions,
    .probe = probe,
};
