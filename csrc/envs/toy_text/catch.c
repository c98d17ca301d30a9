/* Catch-v0: move a paddle under a falling ball.
 *
 * Mnih et al. (2014), "Recurrent Models of Visual Attention", as in bsuite and EnvPool. The ball starts in the top row,
 * in a random column: np_random.integers(columns). Each step moves the paddle in the bottom row by action - 1, if there
 * is room, and the ball one row down. When the ball arrives in the bottom row the episode ends, with reward 1 if it
 * meets the paddle and -1 if not; all other rewards are 0. The board is as large as its map, whose cells do not matter.
 */
#include <string.h>

#include "batchenv.h"

#define MAX_CELLS (1 << 20)

/* prepare() sets the size of the board. */
enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(3)},
    [OBSERVATION] = {"", BE_OBSERVATION},
    {0},
};

enum { ROW, COLUMN, PADDLE };
static const be_field state[] = {
    [ROW] = {"row", BE_I32, 1, "of the ball, 0 at the top", 0, MAX_CELLS},
    [COLUMN] = {"column", BE_I32, 1, "of the ball", 0, MAX_CELLS},
    [PADDLE] = {"paddle", BE_I32, 1, "column of the paddle, which stays in the bottom row", 0, MAX_CELLS},
    {0},
};

static int prepare(be_setup *setup, be_error *error) {
    const be_grid *board = &setup->grid;
    if (board->rows < 2 || board->columns < 1 || board->rows > MAX_CELLS || board->columns > MAX_CELLS / board->rows) {
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "height=%lld must be at least 2, width=%lld at least 1, and both make at most %d cells",
                       (long long)board->rows, (long long)board->columns, MAX_CELLS);
    }
    be_space_box(&setup->space[OBSERVATION], BE_F32, 2, (int64_t[]){board->rows, board->columns}, 0, 1);
    return BE_OK;
}

static int check_state(const be_batch *b, const void *const *columns, int64_t count, be_error *error) {
    const int32_t *row = columns[ROW], *column = columns[COLUMN], *paddle = columns[PADDLE];
    for (int64_t i = 0; i < count; i++) {
        if (row[i] >= b->grid.rows || column[i] >= b->grid.columns || paddle[i] >= b->grid.columns) {
            return be_fail(error, BE_ERROR_VALUE, i,
                           "row=%d, column=%d, paddle=%d of lane %lld are not all on a board of %lld by %lld cells",
                           row[i], column[i], paddle[i], (long long)i, (long long)b->grid.rows,
                           (long long)b->grid.columns);
        }
    }
    return BE_OK;
}

static inline void draw(const be_batch *b, float *board, int64_t row, int64_t column, int64_t paddle) {
    const int64_t columns = b->grid.columns, bottom = (b->grid.rows - 1) * columns;
    memset(board, 0, (size_t)(bottom + columns) * sizeof *board);
    board[row * columns + column] = 1.0f;
    board[bottom + paddle] = 1.0f;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    const int32_t *row = b->state[ROW], *column = b->state[COLUMN], *paddle = b->state[PADDLE];
    const int64_t cells = b->grid.rows * b->grid.columns;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        draw(b, BE_ROW(float, rows->port[OBSERVATION], rows, i, cells), row[i], column[i], paddle[i]);
    }
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    int32_t *row = b->state[ROW], *column = b->state[COLUMN], *paddle = b->state[PADDLE];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        row[i] = 0;
        column[i] = (int32_t)be_rng_integers(&b->rng[i], 0, b->grid.columns);
        paddle[i] = (int32_t)(b->grid.columns / 2);
    }
    return observe(b, lanes, count, rows, error);
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    int32_t *restrict row = b->state[ROW], *restrict column = b->state[COLUMN], *restrict paddle = b->state[PADDLE];
    const int64_t *restrict action = rows->port[ACTION];
    double *restrict reward = rows->reward;
    uint8_t *restrict terminated = rows->terminated;
    const int32_t last_row = (int32_t)b->grid.rows - 1, last_column = (int32_t)b->grid.columns - 1;
    const int64_t cells = b->grid.rows * b->grid.columns;

    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        const int32_t moved = paddle[i] + (int32_t)action[k] - 1;
        paddle[i] = moved < 0 ? 0 : moved > last_column ? last_column : moved;
        row[i] += row[i] < last_row;
        const int landed = row[i] == last_row, caught = column[i] == paddle[i];
        reward[k] = (double)(landed * (2 * caught - 1));
        terminated[k] = (uint8_t)landed;
    }
    float *board = rows->port[OBSERVATION];
    for (int64_t i = begin; i < end; i++, board += cells) draw(b, board, row[i], column[i], paddle[i]);
    return BE_OK;
}

static const be_id ids[] = {{"Catch-v0"}, {0}};

BE_ENV(catch) = {
    .abi = BE_ABI,
    .name = "Catch",
    .ids = ids,
    .family = "toy text",
    .frames_per_second = 4,
    .ports = ports,
    .state = state,
    .grid = "board",
    .flags = BE_STEP_FINISHED_HARMLESS,
    .prepare = prepare,
    .check_state = check_state,
    .reset = reset,
    .observe = observe,
    .step = step,
};
