/* What MinAtar's five games share: the field of 10 by 10 cells, actions that stick, observations, pictures.
 *
 * The games are those of Young and Tian (2019), "MinAtar: An Atari-Inspired Testbed for Thorough and Reproducible
 * Reinforcement Learning Experiments". They are written here from their rules, and compared with the package minatar
 * by playing both.
 *
 * A game's file has a table of fields that begins with MA_FIELDS, the functions start, play and draw, a constant of the
 * type ma_game, and MINATAR_GAME at its end. */
#ifndef MINATAR_H
#define MINATAR_H

#include "batchenv.h"
#include "random_state.h"

enum { MA_SIDE = 10, MA_CELLS = MA_SIDE * MA_SIDE, MA_MAX_CHANNELS = 10, MA_PIXELS = 16 };

/* ---- tables ------------------------------------------------------------------------------------------ */

enum { MA_RANDOM_STATE, MA_LAST_ACTION, MA_NUM_FIELDS };
#define MA_LAST_ACTION_FIELD {"last_action", BE_I32, 1, "that a sticky step repeats: n, l, u, r, d or f", 0, MA_FIRE}
#define MA_FIELDS [MA_RANDOM_STATE] = BE_RANDOM_STATE_FIELD, [MA_LAST_ACTION] = MA_LAST_ACTION_FIELD

enum { MA_STICKY_ACTION_PROB, MA_DIFFICULTY_RAMPING, MA_USE_MINIMAL_ACTION_SET, MA_CHANNELS_FIRST };
static const be_param ma_params[] = {
    [MA_STICKY_ACTION_PROB] = {"sticky_action_prob", BE_PARAM_FLOAT, 0.1, 0, 1, NULL,
                               "probability that a step repeats the action before it"},
    [MA_DIFFICULTY_RAMPING] = {"difficulty_ramping", BE_PARAM_BOOL, 1, 0, 1, NULL,
                               "the game becomes harder with time (Asterix, Seaquest, SpaceInvaders)", .per_lane = 1},
    [MA_USE_MINIMAL_ACTION_SET] = {"use_minimal_action_set", BE_PARAM_BOOL, 0, 0, 1, NULL,
                                   "actions that do nothing in the game are left out, as in -v1"},
    [MA_CHANNELS_FIRST] = {"channels_first", BE_PARAM_BOOL, 0, 0, 1, NULL,
                           "observations have the shape (channels, 10, 10) instead of (10, 10, channels)"},
    {0},
};

enum { MA_ACTION, MA_OBSERVATION };
static const be_port ma_ports[] = {
    [MA_ACTION] = {"", BE_ACTION, BE_DISCRETE(6)},
    [MA_OBSERVATION] = {"", BE_OBSERVATION}, /* prepare() sets its shape */
    {0},
};

/* ---- a game ------------------------------------------------------------------------------------------ */

enum { MA_NOTHING, MA_LEFT, MA_UP, MA_RIGHT, MA_DOWN, MA_FIRE, MA_NUM_ACTIONS };

/* Where a game draws a lane: the flag of a channel of cell (x, y) is
 * flags[(10 y + x) cell_stride + channel channel_stride]. All flags are 0 at first. */
typedef struct ma_canvas {
    uint8_t *flags;
    int cell_stride, channel_stride;
} ma_canvas;

BE_INLINE void ma_mark(ma_canvas canvas, int channel, int x, int y) {
    canvas.flags[(MA_SIDE * y + x) * canvas.cell_stride + channel * canvas.channel_stride] = 1;
}

/* Sets channel `channel` in row y where begin <= x < end, and clears it elsewhere. */
BE_INLINE void ma_mark_bar(ma_canvas canvas, int channel, int y, int begin, int end) {
    uint8_t *flag = canvas.flags + MA_SIDE * y * canvas.cell_stride + channel * canvas.channel_stride;
    for (int x = 0; x < MA_SIDE; x++) flag[x * canvas.cell_stride] = (x >= begin) & (x < end);
}

/* What one step did. */
typedef struct ma_result {
    int reward, terminal;
    const char *failure; /* why the lane cannot go on; or NULL */
} ma_result;

typedef struct ma_game {
    int channels;
    int num_actions, actions[MA_NUM_ACTIONS]; /* those that do something in this game */
    uint8_t colors[MA_MAX_CHANNELS][3];       /* of each channel: the last one that is set colors its cell */
} ma_game;

/* Each game's file defines these: they begin an episode of lane i, step it, and mark what it shows. */
static void start(const be_batch *b, int64_t i);
static ma_result play(const be_batch *b, int64_t i, int action);
BE_INLINE void draw(const be_batch *b, int64_t i, ma_canvas canvas);

/* A lane's first value of a field of int32. The sizes in the game's own table are known to the compiler, those in the
 * batch are not. */
#define ma_at(b, field, i) ((int32_t *)(b)->state[field] + (i) * state[field].size)

/* Its random numbers, and whether its game becomes harder. */
BE_INLINE be_random_state *ma_stream(const be_batch *b, int64_t i) {
    return (be_random_state *)b->state[MA_RANDOM_STATE] + i;
}

BE_INLINE int ma_is_ramping(const be_batch *b, int64_t i) { return be_param_of(b, MA_DIFFICULTY_RAMPING, i) != 0; }

/* A timer that counts down to 0 and stays there. */
BE_INLINE void ma_count_down(int32_t *timer) { *timer -= *timer > 0; }

/* `value`, or the end of 0..9 that it is beyond. */
BE_INLINE int ma_clip(int value) { return value < 0 ? 0 : value > MA_SIDE - 1 ? MA_SIDE - 1 : value; }

BE_INLINE int ma_is_inside(int x) { return (unsigned)x < MA_SIDE; }

/* ---- what the driver calls --------------------------------------------------------------------------- */

static inline int ma_prepare(const ma_game *game, be_setup *setup) {
    const int64_t last[3] = {MA_SIDE, MA_SIDE, game->channels}, first[3] = {game->channels, MA_SIDE, MA_SIDE};
    be_space_box(&setup->space[MA_OBSERVATION], BE_BOOL, 3, setup->params[MA_CHANNELS_FIRST] ? first : last, 0, 1);
    if (setup->params[MA_USE_MINIMAL_ACTION_SET]) be_space_discrete(&setup->space[MA_ACTION], game->num_actions);
    return BE_OK;
}

static void ma_draw_channels_first(const ma_game *game, const be_batch *b, int64_t i, uint8_t *flags) {
    memset(flags, 0, (size_t)(MA_CELLS * game->channels));
    draw(b, i, (ma_canvas){flags, 1, MA_CELLS});
}

static void ma_draw_channels_last(const ma_game *game, const be_batch *b, int64_t i, uint8_t *flags) {
    memset(flags, 0, (size_t)(MA_CELLS * game->channels));
    draw(b, i, (ma_canvas){flags, game->channels, 1});
}

BE_INLINE uint8_t *ma_row(const ma_game *game, const be_rows *rows, int64_t i) {
    return BE_ROW(uint8_t, rows->port[MA_OBSERVATION], rows, i, MA_CELLS * game->channels);
}

static inline int ma_observe(const ma_game *game, const be_batch *b, const int64_t *lanes, int64_t count,
                             const be_rows *rows) {
    const int channels_first = b->params[MA_CHANNELS_FIRST] != 0;
    for (int64_t k = 0; k < count; k++) {
        (channels_first ? ma_draw_channels_first : ma_draw_channels_last)(game, b, lanes[k],
                                                                          ma_row(game, rows, lanes[k]));
    }
    return BE_OK;
}

static inline int ma_reset(const ma_game *game, const be_batch *b, const int64_t *lanes, int64_t count,
                           const be_rows *rows) {
    for (int64_t k = 0; k < count; k++) start(b, lanes[k]);
    return ma_observe(game, b, lanes, count, rows);
}

/* The action that the game sees: the one of the step before, or the one chosen. The number is drawn in any case. */
BE_INLINE int ma_choose(const ma_game *game, const be_batch *b, int64_t i, int64_t chosen) {
    int32_t *last = (int32_t *)b->state[MA_LAST_ACTION] + i;
    const int wanted = b->params[MA_USE_MINIMAL_ACTION_SET] ? game->actions[chosen] : (int)chosen;
    const int sticks = be_random_state_double(ma_stream(b, i)) < be_param_of(b, MA_STICKY_ACTION_PROB, i);
    return *last = sticks ? *last : wanted;
}

/* A stream is so long that those of many lanes are not in the CPU's nearest cache: they are asked for some lanes ahead,
 * first the place in the stream and then the words there. Columns have room for more lanes than there are. */
BE_INLINE void ma_fetch_ahead(const be_batch *b, int64_t i) {
    enum { FAR = 12, NEAR = 4 };
    if (i + FAR >= b->num_lanes) return;
    const be_random_state *stream = ma_stream(b, i);
    __builtin_prefetch(&stream[FAR].used, 1);
    const uint32_t used = stream[NEAR].used;
    __builtin_prefetch(&stream[NEAR].key[used < 624 ? used : 0]);
}

BE_INLINE int ma_step(const ma_game *game, be_batch *b, int64_t begin, int64_t end, const be_rows *rows) {
    const int64_t *action = rows->port[MA_ACTION];
    const int channels_first = b->params[MA_CHANNELS_FIRST] != 0;
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        rows->reward[k] = 0;
        rows->terminated[k] = rows->truncated[k] = 0;
        if (rows->skip[k]) continue;
        ma_fetch_ahead(b, i);
        const ma_result result = play(b, i, ma_choose(game, b, i, action[k]));
        rows->reward[k] = result.reward;
        rows->terminated[k] = (uint8_t)result.terminal;
        (channels_first ? ma_draw_channels_first : ma_draw_channels_last)(game, b, i, ma_row(game, rows, i));
        if (result.failure) be_fail_lane(b, i, rows, "%s", result.failure);
    }
    return BE_OK;
}

/* A square of pixels per cell; black where no channel is set. */
static inline void ma_picture(const ma_game *game, const be_batch *b, int64_t i, int *rows, int *columns,
                              uint8_t *rgb) {
    *rows = *columns = MA_SIDE * MA_PIXELS;
    if (rgb == NULL) return;
    uint8_t flags[MA_CELLS * MA_MAX_CHANNELS];
    ma_draw_channels_last(game, b, i, flags);
    for (int y = 0; y < *rows; y++) {
        for (int x = 0; x < *columns; x++, rgb += 3) {
            const uint8_t *cell = flags + (MA_SIDE * (y / MA_PIXELS) + x / MA_PIXELS) * game->channels;
            memset(rgb, 0, 3);
            for (int c = 0; c < game->channels; c++) {
                if (cell[c]) memcpy(rgb, game->colors[c], 3);
            }
        }
    }
}

/* MINATAR_GAME(breakout, "Breakout", game, state, check_state) makes an env type of a game, with its two ids. */
#define MINATAR_GAME(file, Name, game_, state_, check_state_)                                                          \
    static int prepare(be_setup *setup, be_error *error) {                                                             \
        (void)error;                                                                                                   \
        return ma_prepare(&(game_), setup);                                                                            \
    }                                                                                                                  \
    static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {         \
        (void)error;                                                                                                   \
        return ma_reset(&(game_), b, lanes, count, rows);                                                              \
    }                                                                                                                  \
    static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {       \
        (void)error;                                                                                                   \
        return ma_observe(&(game_), b, lanes, count, rows);                                                            \
    }                                                                                                                  \
    static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {                   \
        (void)error;                                                                                                   \
        return ma_step(&(game_), b, begin, end, rows);                                                                 \
    }                                                                                                                  \
    static void picture(const be_batch *b, int64_t i, int *rows, int *columns, uint8_t *rgb) {                         \
        ma_picture(&(game_), b, i, rows, columns, rgb);                                                                \
    }                                                                                                                  \
    static const be_id ids[] = {                                                                                       \
        {"MinAtar/" Name "-v0", .settings = {{"use_minimal_action_set", 0}}},                                          \
        {"MinAtar/" Name "-v1", .settings = {{"use_minimal_action_set", 1}}},                                          \
        {0},                                                                                                           \
    };                                                                                                                 \
    BE_ENV(minatar_##file) = {                                                                                         \
        .abi = BE_ABI,                                                                                                 \
        .name = "MinAtar" Name,                                                                                        \
        .ids = ids,                                                                                                    \
        .family = "MinAtar",                                                                                           \
        .frames_per_second = 20,                                                                                       \
        .ports = ma_ports,                                                                                             \
        .state = (state_),                                                                                             \
        .params = ma_params,                                                                                           \
        .flags = BE_OWN_LIMITS | BE_RANDOM_STATE | BE_SEED_CLEARS,                                                     \
        .prepare = prepare,                                                                                            \
        .check_state = (check_state_),                                                                                 \
        .reset = reset,                                                                                                \
        .observe = observe,                                                                                            \
        .step = step,                                                                                                  \
        .picture = picture,                                                                                            \
    }

#endif
