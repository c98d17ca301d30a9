/* NAME-v0: a walk along a line, from its middle to its right end.
 *
 * A lane is one copy of the env. This file says what a lane holds, how an episode starts, and what a step does, always
 * for many lanes at once; batchenv does the rest: seeds, time limits, resets, threads, snapshots.
 *
 *     python -m batchenv compile FILE      compiles it and shows what the compiler says
 *     python -m batchenv check FILE        looks for mistakes, in a process of its own
 *
 *     import batchenv
 *     batchenv.compile("FILE")
 *     env = batchenv.make("NAME-v0", num_envs=4096)
 *
 * Things to change are marked with 1. to 7.
 */
#include "batchenv.h"

enum { LENGTH = 21 };

/* 1. What goes into a lane and comes out of it at every step. Besides these there are reward and terminated. A row with
 * the name "" is the whole action or observation; two observations with names are the parts of a Dict. */
enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(2)},
    [OBSERVATION] = {"", BE_OBSERVATION, BE_DISCRETE(LENGTH)},
    {0},
};

/* 2. What a lane holds, and what decides its future together with its random numbers. Each row is a column of
 * `num_lanes` values: name, type, values per lane, meaning; for integers also the lowest and the highest value. */
enum { CELL };
static const be_field state[] = {
    [CELL] = {"cell", BE_I64, 1, "where the walker is", 0, LENGTH - 1},
    {0},
};

/* 3. What a user may set, as a keyword of make(): name, kind, default, lowest, highest, choices, meaning. Numbers of
 * kind FLOAT may differ from lane to lane. */
enum { SLIP, STEP_COST };
static const be_param params[] = {
    [SLIP] = {"slip", BE_PARAM_FLOAT, 0.1, 0, 1, NULL, "probability that a step goes the other way"},
    [STEP_COST] = {"step_cost", BE_PARAM_FLOAT, 0.01, 0, 1e6, NULL, "taken from the reward of each step"},
    {0},
};

/* 4. Writes the observations of the lanes listed. BE_ROW finds where that of lane i goes. */
static int observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    const int64_t *cell = batch->state[CELL];
    for (int64_t k = 0; k < count; k++) {
        *BE_ROW(int64_t, rows->port[OBSERVATION], rows, lanes[k], 1) = cell[lanes[k]];
    }
    return BE_OK;
}

/* 5. Starts an episode in the lanes listed. Random numbers come from a lane's own stream, batch->rng[i]: rng.h lists
 * what can be drawn, and which function of a NumPy generator that equals. */
static int reset(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    int64_t *cell = batch->state[CELL];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        cell[i] = be_rng_integers(&batch->rng[i], LENGTH / 2 - 2, LENGTH / 2 + 3);
    }
    return observe(batch, lanes, count, rows, error);
}

/* 6. One step of the lanes begin..end-1. Row k of what comes in and goes out belongs to lane begin + k. Lanes to skip
 * have ended, or are there for padding: their random numbers must be left alone. Resets come by themselves. */
static int step(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    int64_t *cell = batch->state[CELL];
    const int64_t *action = rows->port[ACTION];
    int64_t *observation = rows->port[OBSERVATION];
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        rows->terminated[k] = 0;
        if (rows->skip[k]) continue;
        const int slips = be_rng_double(&batch->rng[i]) < be_param_of(batch, SLIP, i);
        const int right = (action[k] == 1) != slips;
        cell[i] += right ? cell[i] < LENGTH - 1 : -(cell[i] > 0);
        const int arrived = cell[i] == LENGTH - 1;
        observation[k] = cell[i];
        rows->reward[k] = arrived - be_param_of(batch, STEP_COST, i);
        rows->terminated[k] = (uint8_t)arrived;
    }
    return BE_OK;
}

/* 7. The ids under which users make it: name and version, the most steps of an episode. */
static const be_id ids[] = {
    {"NAME-v0", 200},
    {0},
};

BE_ENV(NAME) = {
    .abi = BE_ABI,
    .name = "NAME",
    .ids = ids,
    .ports = ports,
    .state = state,
    .params = params,
    .reset = reset,
    .observe = observe,
    .step = step,
};
