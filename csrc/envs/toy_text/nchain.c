/* NChain-v0: five cells in a row, where patience pays.
 *
 * Strens (2000), "A Bayesian Framework for Reinforcement Learning", as in gym 0.20 and EnvPool. An episode starts in
 * cell 0. With probability `slip` (np_random.random() < slip), a step does the opposite of its action. Action 0 goes
 * one cell on, for no reward; in the last cell it stays there, for a reward of `large`. Action 1 goes back to cell 0,
 * for a reward of `small`. Episodes end only by their step limit.
 */
#include "batchenv.h"

enum { NUM_CELLS = 5 };

enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(2)},
    [OBSERVATION] = {"", BE_OBSERVATION, BE_DISCRETE(NUM_CELLS)},
    {0},
};

enum { S };
static const be_field state[] = {
    [S] = {"s", BE_I64, 1, "the cell", 0, NUM_CELLS - 1},
    {0},
};

enum { SLIP, SMALL, LARGE };
static const be_param params[] = {
    [SLIP] = {"slip", BE_PARAM_FLOAT, 0.2, 0, 1, NULL, "probability that a step does the opposite of its action"},
    [SMALL] = {"small", BE_PARAM_FLOAT, 2, -1e300, 1e300, NULL, "reward for going back to cell 0"},
    [LARGE] = {"large", BE_PARAM_FLOAT, 10, -1e300, 1e300, NULL, "reward for staying in the last cell"},
    {0},
};

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    const int64_t *s = b->state[S];
    for (int64_t k = 0; k < count; k++) *BE_ROW(int64_t, rows->port[OBSERVATION], rows, lanes[k], 1) = s[lanes[k]];
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    int64_t *s = b->state[S];
    for (int64_t k = 0; k < count; k++) s[lanes[k]] = 0;
    return observe(b, lanes, count, rows, error);
}

BE_INLINE int step_lanes(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, int per_lane) {
    int64_t *restrict s = b->state[S];
    const int64_t *restrict action = rows->port[ACTION];
    int64_t *restrict observation = rows->port[OBSERVATION];
    double *restrict reward = rows->reward;
    uint8_t *restrict terminated = rows->terminated;
    double slip = be_param_of(b, SLIP, begin), small = be_param_of(b, SMALL, begin),
           large = be_param_of(b, LARGE, begin);

    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        terminated[k] = 0;
        if (rows->skip[k]) continue;
        if (per_lane) {
            slip = be_param_of(b, SLIP, i);
            small = be_param_of(b, SMALL, i);
            large = be_param_of(b, LARGE, i);
        }
        const int back = (action[k] != 0) != (be_rng_double(&b->rng[i]) < slip);
        const int64_t cell = s[i];
        reward[k] = back ? small : cell == NUM_CELLS - 1 ? large : 0.0;
        s[i] = observation[k] = back ? 0 : cell + (cell < NUM_CELLS - 1);
    }
    return BE_OK;
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    return b->per_lane ? step_lanes(b, begin, end, rows, 1) : step_lanes(b, begin, end, rows, 0);
}

static const be_id ids[] = {{"NChain-v0", 1000}, {0}};

BE_ENV(nchain) = {
    .abi = BE_ABI,
    .name = "NChain",
    .ids = ids,
    .family = "toy text",
    .frames_per_second = 4,
    .ports = ports,
    .state = state,
    .params = params,
    .reset = reset,
    .observe = observe,
    .step = step,
};
