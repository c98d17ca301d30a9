/* Synthetic-v0: steps that take a chosen time, for tests and benchmarks of the code that runs them.
 *
 * What it shows depends on the lane's stream and on every action so far, so that a step that is lost, done twice or
 * given to another lane is noticed. The time that a step takes changes nothing in the results.
 */
#include <time.h>

#include "batchenv.h"
#include "core/system/clock.h"

enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(4)},
    [OBSERVATION] = {"", BE_OBSERVATION},
    {0},
};

enum { TOTAL, LAST };
static const be_field state[] = {
    [TOTAL] = {"total", BE_I64, 1, "digest of the episode's actions and draws", 0, UINT32_MAX},
    [LAST] = {"last", BE_F64, 1, "the last number drawn"},
    {0},
};

enum { COST_US, TAIL_PROBABILITY, TAIL_FACTOR, END_PROBABILITY, WAIT, FAIL_STEP, FAIL_LANE, FAIL_RESET, RESET_US };
static const be_param params[] = {
    [COST_US] = {"cost_us", BE_PARAM_FLOAT, 10.0, 0, 1e7, NULL, "CPU time per step, us (with `wait`: time)"},
    [TAIL_PROBABILITY] = {"tail_probability", BE_PARAM_FLOAT, 0.0, 0, 1, NULL, "chance that a step is a slow one"},
    [TAIL_FACTOR] = {"tail_factor", BE_PARAM_FLOAT, 10.0, 0, 1e4, NULL, "how many times longer a slow step takes"},
    [END_PROBABILITY] = {"end_probability", BE_PARAM_FLOAT, 0.02, 0, 1, NULL, "chance that a step ends the episode"},
    [WAIT] = {"wait", BE_PARAM_BOOL, 0, 0, 1, NULL, "sleep through a step's time instead of computing"},
    [FAIL_STEP] = {"fail_step", BE_PARAM_INT, 0, 0, INT32_MAX, NULL, "the step of an episode that fails; 0: none"},
    [FAIL_LANE] = {"fail_lane", BE_PARAM_INT, -1, -1, INT32_MAX, NULL, "the lane in which it fails; -1: all"},
    [FAIL_RESET] = {"fail_reset", BE_PARAM_INT, -1, -1, INT32_MAX, NULL, "the lane whose resets fail; -1: none"},
    [RESET_US] = {"reset_us", BE_PARAM_FLOAT, 0.0, 0, 1e7, NULL, "the same as cost_us, of a reset"},
    {0},
};

static int prepare(be_setup *setup, be_error *error) {
    (void)error;
    be_space_box_f32(&setup->space[OBSERVATION], 3, (double[]){0, 0, 0}, (double[]){INT32_MAX, 1, UINT32_MAX});
    setup->space[OBSERVATION].dtype = BE_F64;
    return BE_OK;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    const int64_t *total = b->state[TOTAL];
    const double *last = b->state[LAST];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        double *observation = BE_ROW(double, rows->port[OBSERVATION], rows, i, 3);
        observation[0] = b->elapsed[i];
        observation[1] = last[i];
        observation[2] = (double)total[i];
    }
    return BE_OK;
}

static void digest(be_batch *b, int64_t i, int64_t action) {
    int64_t *total = b->state[TOTAL];
    double *last = b->state[LAST];
    last[i] = be_rng_double(&b->rng[i]);
    uint64_t x = (uint64_t)total[i] * UINT64_C(6364136223846793005) + (uint64_t)action + (uint64_t)(last[i] * 0x1p32);
    total[i] = (int64_t)((x ^ x >> 32) & UINT32_MAX);
}

/* The cost is CPU time, because no work is done while another program has the core. Reading that clock is a system call
 * of a microsecond, so it is read at the beginning, and again when the time would be over if the thread had the core
 * all the while. */
static void work(double us) {
    const int64_t ns = (int64_t)(us * 1e3), end = be_thread_clock() + ns;
    for (int64_t left = ns; left > 0; left = end - be_thread_clock()) {
        const int64_t until = be_clock() + left;
        while (be_clock() < until) {
        }
    }
}

static void spend(double us, int wait) {
    if (us <= 0) return;
    if (wait) {
        struct timespec t = {(time_t)(us * 1e-6), (long)(us * 1e3) % 1000000000L};
        while (nanosleep(&t, &t) != 0) {
        }
        return;
    }
    work(us);
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        if (be_param_of(b, FAIL_RESET, lanes[k]) == (double)lanes[k]) {
            return be_fail(error, BE_ERROR_ENGINE, lanes[k], "fail_reset=%lld", (long long)lanes[k]);
        }
        ((int64_t *)b->state[TOTAL])[lanes[k]] = 0;
        digest(b, lanes[k], 0);
        spend(be_param_of(b, RESET_US, lanes[k]), be_param_of(b, WAIT, lanes[k]) != 0);
    }
    return observe(b, lanes, count, rows, error);
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = i - rows->first;
        be_rng *rng = &b->rng[i];
        digest(b, i, 1 + ((const int64_t *)rows->port[ACTION])[row]);
        const int slow = be_rng_double(rng) < be_param_of(b, TAIL_PROBABILITY, i);
        rows->terminated[row] = be_rng_double(rng) < be_param_of(b, END_PROBABILITY, i);
        rows->reward[row] = ((const double *)b->state[LAST])[i];
        spend(be_param_of(b, COST_US, i) * (slow ? be_param_of(b, TAIL_FACTOR, i) : 1), be_param_of(b, WAIT, i) != 0);
        const double failing = be_param_of(b, FAIL_LANE, i);
        if (b->elapsed[i] + 1 == (int64_t)be_param_of(b, FAIL_STEP, i) && (failing < 0 || failing == (double)i)) {
            return be_fail(error, BE_ERROR_ENGINE, i, "fail_step=%d", b->elapsed[i] + 1);
        }
        double *observation = BE_ROW(double, rows->port[OBSERVATION], rows, i, 3);
        observation[0] = b->elapsed[i] + 1; /* `elapsed` is increased after this */
        observation[1] = ((const double *)b->state[LAST])[i];
        observation[2] = (double)((const int64_t *)b->state[TOTAL])[i];
    }
    return BE_OK;
}

static const be_id ids[] = {{"Synthetic-v0", 1000, .unlisted = 1}, {0}};

BE_ENV(synthetic) = {
    .abi = BE_ABI,
    .name = "Synthetic",
    .ids = ids,
    .family = "testing",
    .frames_per_second = 1,
    .ports = ports,
    .state = state,
    .params = params,
    .flags = BE_LANE_BY_LANE,
    .prepare = prepare,
    .reset = reset,
    .observe = observe,
    .step = step,
};
