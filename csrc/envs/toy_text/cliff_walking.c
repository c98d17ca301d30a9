/* CliffWalking-v1: along the edge of a cliff, from the lower left corner of a 4 by 12 grid to the lower right one.
 *
 * Sutton and Barto (2018), example 6.6; draws, probabilities and rewards as gymnasium.envs.toy_text.CliffWalkingEnv has
 * them.
 */
#include "batchenv.h"
#include "envs/toy_text/categorical.h"

enum { ROWS = 4, COLUMNS = 12, START = 36, GOAL = 47 };

enum { ACTION, OBSERVATION, PROB };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(4)},
    [OBSERVATION] = {"", BE_OBSERVATION, BE_DISCRETE(ROWS * COLUMNS)},
    [PROB] = {"prob", BE_INFO, BE_VALUE(BE_F64), .doc = "probability of what the last action led to; 1 after a reset"},
    {0},
};

enum { S, LAST_ACTION };
static const be_field state[] = {
    [S] = {"s", BE_I64, 1, "the cell, row * 12 + column", 0, ROWS * COLUMNS - 1},
    [LAST_ACTION] = {"lastaction", BE_I64, 1, "the action of the last step; -1 after a reset", -1, 3},
    {0},
};

enum { IS_SLIPPERY };
static const be_param params[] = {
    [IS_SLIPPERY] = {"is_slippery", BE_PARAM_BOOL, 0, 0, 1, NULL,
                     "a move goes ahead, left or right, each with probability 1/3"},
    {0},
};

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    const int64_t *s = b->state[S];
    for (int64_t k = 0; k < count; k++) *BE_ROW(int64_t, rows->port[OBSERVATION], rows, lanes[k], 1) = s[lanes[k]];
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    int64_t *s = b->state[S], *last_action = b->state[LAST_ACTION];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        (void)be_rng_double(&b->rng[i]); /* Gymnasium draws the start, although there is only one */
        s[i] = START;
        last_action[i] = -1;
        *BE_ROW(double, rows->port[PROB], rows, i, 1) = 1.0;
    }
    return observe(b, lanes, count, rows, error);
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    int64_t *restrict s = b->state[S], *restrict last_action = b->state[LAST_ACTION];
    const int64_t *restrict action = rows->port[ACTION];
    int64_t *restrict observation = rows->port[OBSERVATION];
    double *restrict reward = rows->reward, *restrict prob = rows->port[PROB];
    uint8_t *restrict terminated = rows->terminated;
    const int slippery = b->params[IS_SLIPPERY] != 0;
    const double third = 1.0 / 3.0, p = slippery ? third : 1.0;

    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        if (rows->skip[k]) continue;
        const double u = be_rng_double(&b->rng[i]);
        int direction = (int)action[k], cell = (int)s[i];
        if (slippery) direction = (direction + be_pick3(u, third, third, third) + 3) % 4;
        const int column = cell % COLUMNS;
        const int moves[] = {/* up, right, down, left */
                             cell >= COLUMNS ? -COLUMNS : 0, column < COLUMNS - 1, cell < START ? COLUMNS : 0,
                             -(column > 0)};
        cell += moves[direction];
        const int falls = cell > START && cell < GOAL;
        if (falls) cell = START;
        s[i] = observation[k] = cell;
        last_action[i] = action[k];
        reward[k] = falls ? -100.0 : -1.0;
        prob[k] = p;
        terminated[k] = cell == GOAL;
    }
    return BE_OK;
}

static const be_id ids[] = {
    {"CliffWalking-v1"},
    {"CliffWalkingSlippery-v1", .settings = {{"is_slippery", 1}}},
    {0},
};

BE_ENV(cliff_walking) = {
    .abi = BE_ABI,
    .name = "CliffWalking",
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
