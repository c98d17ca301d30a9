/* Treasure-v0: find a treasure on a windy field of 7 x 7 cells. */
#include "batchenv.h"

enum { SIZE = 7 };

enum { ACTION, PLACE, GOAL, DISTANCE };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(4)},
    [PLACE] = {"place", BE_OBSERVATION, BE_BOX(BE_F32, 0, SIZE - 1, 2)},
    [GOAL] = {"goal", BE_OBSERVATION, BE_BOX(BE_F32, 0, SIZE - 1, 2)},
    [DISTANCE] = {"distance", BE_INFO, BE_VALUE(BE_I64), .doc = "steps to the treasure, without wind"},
    {0},
};

enum { ROW, COLUMN, GOAL_ROW, GOAL_COLUMN };
static const be_field state[] = {
    [ROW] = {"row", BE_I64, 1, "the walker's row", 0, SIZE - 1},
    [COLUMN] = {"column", BE_I64, 1, "the walker's column", 0, SIZE - 1},
    [GOAL_ROW] = {"goal_row", BE_I64, 1, "the treasure's row", 0, SIZE - 1},
    [GOAL_COLUMN] = {"goal_column", BE_I64, 1, "the treasure's column", 0, SIZE - 1},
    {0},
};

enum { WIND, STEP_COST };
static const be_param params[] = {
    [WIND] = {"wind", BE_PARAM_FLOAT, 0.2, 0, 1, NULL, "probability that a step goes in a random direction"},
    [STEP_COST] = {"step_cost", BE_PARAM_FLOAT, 0.01, 0, 1e6, NULL, "taken from the reward of each step"},
    {0},
};

static int64_t distance(const be_batch *batch, int64_t i) {
    const int64_t rows = ((int64_t *)batch->state[GOAL_ROW])[i] - ((int64_t *)batch->state[ROW])[i];
    const int64_t columns = ((int64_t *)batch->state[GOAL_COLUMN])[i] - ((int64_t *)batch->state[COLUMN])[i];
    return (rows < 0 ? -rows : rows) + (columns < 0 ? -columns : columns);
}

static void write_observation(const be_batch *batch, int64_t i, const be_rows *rows) {
    float *place = BE_ROW(float, rows->port[PLACE], rows, i, 2), *goal = BE_ROW(float, rows->port[GOAL], rows, i, 2);
    for (int j = 0; j < 2; j++) {
        place[j] = (float)((int64_t *)batch->state[ROW + j])[i];
        goal[j] = (float)((int64_t *)batch->state[GOAL_ROW + j])[i];
    }
}

static int observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) write_observation(batch, lanes[k], rows);
    return BE_OK;
}

static int reset(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        do {
            for (int j = 0; j < 4; j++) ((int64_t *)batch->state[j])[i] = be_rng_integers(&batch->rng[i], 0, SIZE);
        } while (distance(batch, i) == 0);
        *BE_ROW(int64_t, rows->port[DISTANCE], rows, i, 1) = distance(batch, i);
    }
    return observe(batch, lanes, count, rows, error);
}

static int step(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    static const int down[4] = {-1, 1, 0, 0}, right[4] = {0, 0, -1, 1};
    int64_t *row = batch->state[ROW], *column = batch->state[COLUMN];
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        rows->terminated[k] = 0;
        if (rows->skip[k]) continue;
        int64_t way = ((const int64_t *)rows->port[ACTION])[k];
        if (be_rng_double(&batch->rng[i]) < be_param_of(batch, WIND, i)) way = be_rng_integers(&batch->rng[i], 0, 4);
        row[i] += down[way];
        column[i] += right[way];
        row[i] = row[i] < 0 ? 0 : row[i] > SIZE - 1 ? SIZE - 1 : row[i];
        column[i] = column[i] < 0 ? 0 : column[i] > SIZE - 1 ? SIZE - 1 : column[i];
        const int64_t left = distance(batch, i);
        ((int64_t *)rows->port[DISTANCE])[k] = left;
        rows->reward[k] = (left == 0) - be_param_of(batch, STEP_COST, i);
        rows->terminated[k] = left == 0;
        write_observation(batch, i, rows);
    }
    return BE_OK;
}

static void picture(const be_batch *batch, int64_t i, int *rows, int *columns, uint8_t *rgb) {
    enum { WIDTH = 16 }; /* pixels of a cell */
    *rows = *columns = SIZE * WIDTH;
    if (rgb == NULL) return;
    static const uint8_t colors[3][3] = {{235, 235, 225}, {40, 90, 200}, {220, 170, 30}}; /* field, walker, treasure */
    const int64_t *const state[4] = {batch->state[ROW], batch->state[COLUMN], batch->state[GOAL_ROW],
                                     batch->state[GOAL_COLUMN]};
    for (int y = 0; y < *rows; y++) {
        for (int x = 0; x < *columns; x++, rgb += 3) {
            const int walker = y / WIDTH == state[0][i] && x / WIDTH == state[1][i];
            const int treasure = y / WIDTH == state[2][i] && x / WIDTH == state[3][i];
            for (int c = 0; c < 3; c++) rgb[c] = colors[walker ? 1 : treasure ? 2 : 0][c];
        }
    }
}

static const be_id ids[] = {
    {"Treasure-v0", 60, BE_THRESHOLD(0.85)},
    {"TreasureCalm-v0", 60, .settings = {{"wind", 0.0}}},
    {0},
};

BE_ENV(treasure) = {
    .abi = BE_ABI,
    .name = "Treasure",
    .ids = ids,
    .family = "own",
    .ports = ports,
    .state = state,
    .params = params,
    .reset = reset,
    .observe = observe,
    .step = step,
    .picture = picture,
    .frames_per_second = 5,
};
