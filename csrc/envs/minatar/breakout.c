/* MinAtar's Breakout: a paddle keeps a ball in play, which takes bricks out of a wall of three rows. */
#include "envs/minatar/minatar.h"

enum { PADDLE, BALL, TRAIL, BRICK, NUM_CHANNELS };

/* Bit 10 r + x of `bricks` is brick x of the wall's row r, which is the field's row r + 1. */
enum { BALL_X = MA_NUM_FIELDS, BALL_Y, BALL_DIR, LAST_X, LAST_Y, POS, STRIKE, BRICKS };
enum { WALL_TOP = 1, WALL_ROWS = 3, WALL = (1 << WALL_ROWS * MA_SIDE) - 1 };
static const be_field state[] = {
    MA_FIELDS,
    [BALL_X] = {"ball_x", BE_I32, 1, "column of the ball", 0, MA_SIDE - 1},
    [BALL_Y] = {"ball_y", BE_I32, 1, "row of the ball", 0, MA_SIDE - 1},
    [BALL_DIR] = {"ball_dir", BE_I32, 1, "0: up and left, 1: up and right, 2: down and right, 3: down and left", 0, 3},
    [LAST_X] = {"last_x", BE_I32, 1, "column of the ball one step ago", 0, MA_SIDE - 1},
    [LAST_Y] = {"last_y", BE_I32, 1, "row of the ball one step ago", 0, MA_SIDE - 1},
    [POS] = {"pos", BE_I32, 1, "column of the paddle", 0, MA_SIDE - 1},
    [STRIKE] = {"strike", BE_I32, 1, "1: the last step took a brick, so the next one takes none", 0, 1},
    [BRICKS] = {"bricks", BE_I32, 1, "bit 10 r + x: brick x of row r of the wall", 0, WALL},
    {0},
};

static void start(const be_batch *b, int64_t i) {
    const int side = (int)be_random_state_integers(ma_stream(b, i), 0, 2);
    *ma_at(b, BALL_X, i) = *ma_at(b, LAST_X, i) = side ? MA_SIDE - 1 : 0;
    *ma_at(b, BALL_Y, i) = *ma_at(b, LAST_Y, i) = WALL_TOP + WALL_ROWS - 1;
    *ma_at(b, BALL_DIR, i) = side ? 3 : 2;
    *ma_at(b, POS, i) = 4;
    *ma_at(b, STRIKE, i) = 0;
    *ma_at(b, BRICKS, i) = WALL;
}

/* Directions seen in a mirror: upright, level, and both. */
enum { LEFT_FOR_RIGHT = 1, UP_FOR_DOWN = 3, BACK = 2 };

static ma_result play(const be_batch *b, int64_t i, int action) {
    ma_result result = {0};
    int32_t *direction = ma_at(b, BALL_DIR, i), *strike = ma_at(b, STRIKE, i), *bricks = ma_at(b, BRICKS, i);
    const int pos = *ma_at(b, POS, i) = ma_clip(*ma_at(b, POS, i) + (action == MA_RIGHT) - (action == MA_LEFT));
    const int old_x = *ma_at(b, LAST_X, i) = *ma_at(b, BALL_X, i);
    const int old_y = *ma_at(b, LAST_Y, i) = *ma_at(b, BALL_Y, i);
    int x = old_x + (*direction == 1 || *direction == 2 ? 1 : -1), y = old_y + (*direction >= 2 ? 1 : -1);
    if (!ma_is_inside(x)) {
        x = ma_clip(x);
        *direction ^= LEFT_FOR_RIGHT;
    }
    const int row = y - WALL_TOP, in_wall = row >= 0 && row < WALL_ROWS;
    const int brick = in_wall ? 1 << (MA_SIDE * row + x) & *bricks : 0;
    if (y < 0) {
        y = 0;
        *direction ^= UP_FOR_DOWN;
    } else if (brick) {
        if (!*strike) {
            *bricks ^= brick;
            result.reward = 1;
            *direction ^= UP_FOR_DOWN;
            y = old_y;
        }
    } else if (y >= MA_SIDE - 1) {
        y = MA_SIDE - 1;
        if (*bricks == 0) *bricks = WALL;
        if (old_x == pos) {
            *direction ^= UP_FOR_DOWN;
            y = old_y;
        } else if (x == pos) {
            *direction ^= BACK;
            y = old_y;
        } else {
            result.terminal = 1;
        }
    }
    *strike = brick != 0;
    *ma_at(b, BALL_X, i) = x;
    *ma_at(b, BALL_Y, i) = y;
    return result;
}

/* The flags of a cell. */
typedef uint32_t cell __attribute__((may_alias, aligned(1)));
_Static_assert(NUM_CHANNELS == sizeof(cell), "a cell's flags are written at once");

BE_INLINE void draw(const be_batch *b, int64_t i, ma_canvas canvas) {
    const uint32_t bricks = (uint32_t)*ma_at(b, BRICKS, i);
    uint8_t *wall = canvas.flags + WALL_TOP * MA_SIDE * canvas.cell_stride + BRICK * canvas.channel_stride;
    if (canvas.cell_stride == NUM_CHANNELS) {
        cell *cells = (cell *)(wall - BRICK); /* two more than the wall has: their bits are 0 */
        for (int k = 0; k < 32; k++) cells[k] = (bricks >> k & 1) << 8 * BRICK;
    } else {
        for (int k = 0; k < WALL_ROWS * MA_SIDE; k++) wall[k * canvas.cell_stride] = bricks >> k & 1;
    }
    ma_mark(canvas, PADDLE, *ma_at(b, POS, i), MA_SIDE - 1);
    ma_mark(canvas, BALL, *ma_at(b, BALL_X, i), *ma_at(b, BALL_Y, i));
    ma_mark(canvas, TRAIL, *ma_at(b, LAST_X, i), *ma_at(b, LAST_Y, i));
}

static const ma_game game = {
    .channels = NUM_CHANNELS,
    .num_actions = 3,
    .actions = {MA_NOTHING, MA_LEFT, MA_RIGHT},
    .colors = {{22, 61, 78}, {84, 121, 47}, {208, 126, 147}, {193, 202, 243}},
};

MINATAR_GAME(breakout, "Breakout", game, state, NULL);
