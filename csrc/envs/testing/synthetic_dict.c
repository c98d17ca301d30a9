/* SyntheticDict-v0: a Dict of observations of several dtypes, MultiDiscrete actions, infos in a dict of their own, and
 * further rewards, for tests of what moves them.
 *
 * What it shows depends on the lane's stream and on every part of every action so far, so that a part that is lost or
 * given to another lane is noticed. Its lanes are stepped in ranges.
 */
#include <math.h>
#include <string.h>

#include "batchenv.h"

enum { ROWS = 3, COLUMNS = 4, CELLS = ROWS * COLUMNS, PLACES = 10 };

enum { ACTION, IMAGE, POSITION, PLACE, TOUCHED, CARRIED, PARTS, CELL_ROW, CELL_COLUMN, REWARDS };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_MULTI_DISCRETE(ROWS, 2, COLUMNS)},
    [IMAGE] = {"image", BE_OBSERVATION, BE_BOX(BE_U8, 0, 255, ROWS, COLUMNS)},
    [POSITION] = {"position", BE_OBSERVATION, BE_BOX(BE_F32, -INFINITY, INFINITY, 2)},
    [PLACE] = {"place", BE_OBSERVATION, BE_DISCRETE(PLACES)},
    [TOUCHED] = {"touched", BE_INFO, BE_VALUE(BE_I32), .doc = "the cell that the action has touched; -1 after a reset"},
    [CARRIED] = {"carried", BE_INFO, BE_VALUE(BE_BOOL), .when = BE_WHERE_NOT_0, .doc = "the place went past the last"},
    [PARTS] = {"parts", BE_INFO, BE_VALUES(BE_F64, 2), .when = BE_IN_STEPS, .doc = "what the reward is the sum of"},
    [CELL_ROW] = {"cell/row", BE_INFO, BE_VALUE(BE_I64), .doc = "of the cell touched; -1 after a reset"},
    [CELL_COLUMN] = {"cell/column", BE_INFO, BE_VALUE(BE_I64), .when = BE_IN_STEPS, .doc = "of the cell touched"},
    [REWARDS] = {"rewards", BE_REWARD, BE_VALUES(BE_F64, 2),
                 .doc = "the j-th of them: part j % 2, times j + 1, minus j"},
    {0},
};

enum { S_CELLS, S_POSITION, S_PLACE };
static const be_field state[] = {
    [S_CELLS] = {"cells", BE_U8, CELLS, "how often each was touched, modulo 256", 0, 255},
    [S_POSITION] = {"position", BE_F64, 2, "two numbers"},
    [S_PLACE] = {"place", BE_I64, 1, "one of ten", 0, PLACES - 1},
    {0},
};

enum { END_PROBABILITY, NUM_REWARDS };
static const be_param params[] = {
    [END_PROBABILITY] = {"end_probability", BE_PARAM_FLOAT, 0.1, 0, 1, NULL, "chance that a step ends the episode"},
    [NUM_REWARDS] = {"num_rewards", BE_PARAM_INT, 2, 0, 9, NULL, "further rewards of a step; 0: none"},
    {0},
};

static int prepare(be_setup *setup, be_error *error) {
    (void)error;
    setup->space[REWARDS].shape[0] = (int64_t)setup->params[NUM_REWARDS];
    return BE_OK;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        const double *position = (const double *)b->state[S_POSITION] + 2 * i;
        memcpy(BE_ROW(uint8_t, rows->port[IMAGE], rows, i, CELLS), (uint8_t *)b->state[S_CELLS] + CELLS * i, CELLS);
        for (int j = 0; j < 2; j++) BE_ROW(float, rows->port[POSITION], rows, i, 2)[j] = (float)position[j];
        *BE_ROW(int64_t, rows->port[PLACE], rows, i, 1) = ((const int64_t *)b->state[S_PLACE])[i];
    }
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        memset((uint8_t *)b->state[S_CELLS] + CELLS * i, 0, CELLS);
        for (int j = 0; j < 2; j++) ((double *)b->state[S_POSITION])[2 * i + j] = be_rng_uniform(&b->rng[i], -1, 1);
        ((int64_t *)b->state[S_PLACE])[i] = 0;
        *BE_ROW(int32_t, rows->port[TOUCHED], rows, i, 1) = -1;
        *BE_ROW(uint8_t, rows->port[CARRIED], rows, i, 1) = 0;
        memset(BE_ROW(double, rows->port[PARTS], rows, i, 2), 0, 2 * sizeof(double));
        *BE_ROW(int64_t, rows->port[CELL_ROW], rows, i, 1) = -1;
        *BE_ROW(int64_t, rows->port[CELL_COLUMN], rows, i, 1) = 0;
    }
    return observe(b, lanes, count, rows, error);
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    const int num_rewards = (int)b->params[NUM_REWARDS];
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        const int64_t *action = (const int64_t *)rows->port[ACTION] + 3 * k;
        double *position = (double *)b->state[S_POSITION] + 2 * i, *parts = (double *)rows->port[PARTS] + 2 * k;
        int64_t *place = (int64_t *)b->state[S_PLACE] + i;
        rows->terminated[k] = 0;
        if (rows->skip[k]) continue;
        const double u = be_rng_double(&b->rng[i]);
        const int64_t cell = action[0] * COLUMNS + action[2];
        ((uint8_t *)b->state[S_CELLS])[CELLS * i + cell] += (uint8_t)(1 + 100 * action[1]);
        position[action[1]] = position[action[1]] * 0.5 + (u - 0.5);
        *place += action[0] + action[2];
        ((int32_t *)rows->port[TOUCHED])[k] = (int32_t)cell;
        ((uint8_t *)rows->port[CARRIED])[k] = *place >= PLACES;
        *place %= PLACES;
        parts[0] = position[0];
        parts[1] = (double)action[2];
        rows->reward[k] = parts[0] + parts[1];
        ((int64_t *)rows->port[CELL_ROW])[k] = action[0];
        ((int64_t *)rows->port[CELL_COLUMN])[k] = action[2];
        for (int j = 0; j < num_rewards; j++) {
            ((double *)rows->port[REWARDS])[num_rewards * k + j] = parts[j % 2] * (j + 1) - j;
        }
        rows->terminated[k] = u < be_param_of(b, END_PROBABILITY, i);
        observe(b, &i, 1, rows, error);
    }
    return BE_OK;
}

static const be_id ids[] = {{"SyntheticDict-v0", 40, .unlisted = 1}, {0}};

BE_ENV(synthetic_dict) = {
    .abi = BE_ABI,
    .name = "SyntheticDict",
    .ids = ids,
    .family = "testing",
    .frames_per_second = 1,
    .ports = ports,
    .state = state,
    .params = params,
    .prepare = prepare,
    .reset = reset,
    .observe = observe,
    .step = step,
};
