/* MinAtar's Asterix: a player gathers gold and avoids enemies, which cross eight rows from both sides. */
#include "envs/minatar/minatar.h"

enum { PLAYER, ENEMY, TRAIL, GOLD, NUM_CHANNELS };

/* Slot k holds what crosses row k + 1. */
enum { X = MA_NUM_FIELDS, KIND, PLAYER_X, PLAYER_Y, SPAWN_SPEED, SPAWN_TIMER, MOVE_SPEED, MOVE_TIMER };
enum { RAMP_TIMER = MOVE_TIMER + 1, RAMP_INDEX };
enum { NUM_SLOTS = 8, FIRST_SPAWN_SPEED = 10, FIRST_MOVE_SPEED = 5, RAMP_INTERVAL = 100, MAX_RAMPS = 15 };
enum { PRESENT = 1, TO_THE_RIGHT = 2, IS_GOLD = 4 }; /* bits of `kind` */
static const be_field state[] = {
    MA_FIELDS,
    [X] = {"x", BE_I32, NUM_SLOTS, "column of what crosses each row, from row 1 on", 0, MA_SIDE - 1},
    [KIND] = {"kind", BE_I32, NUM_SLOTS, "0: nothing; else 1, + 2 if it goes to the right, + 4 if it is gold", 0, 7},
    [PLAYER_X] = {"player_x", BE_I32, 1, "column of the player", 0, MA_SIDE - 1},
    [PLAYER_Y] = {"player_y", BE_I32, 1, "row of the player", 1, MA_SIDE - 2},
    [SPAWN_SPEED] = {"spawn_speed", BE_I32, 1, "steps between two that come", 1, FIRST_SPAWN_SPEED},
    [SPAWN_TIMER] = {"spawn_timer", BE_I32, 1, "steps until the next one comes", 0, FIRST_SPAWN_SPEED},
    [MOVE_SPEED] = {"move_speed", BE_I32, 1, "steps between two moves", 1, FIRST_MOVE_SPEED},
    [MOVE_TIMER] = {"move_timer", BE_I32, 1, "steps until all move", 0, FIRST_MOVE_SPEED},
    [RAMP_TIMER] = {"ramp_timer", BE_I32, 1, "steps until the game becomes harder", -1, RAMP_INTERVAL},
    [RAMP_INDEX] = {"ramp_index", BE_I32, 1, "how often it became harder", 0, MAX_RAMPS},
    {0},
};

static void start(const be_batch *b, int64_t i) {
    for (int k = 0; k < NUM_SLOTS; k++) ma_at(b, X, i)[k] = ma_at(b, KIND, i)[k] = 0;
    *ma_at(b, PLAYER_X, i) = *ma_at(b, PLAYER_Y, i) = 5;
    *ma_at(b, SPAWN_SPEED, i) = *ma_at(b, SPAWN_TIMER, i) = FIRST_SPAWN_SPEED;
    *ma_at(b, MOVE_SPEED, i) = *ma_at(b, MOVE_TIMER, i) = FIRST_MOVE_SPEED;
    *ma_at(b, RAMP_TIMER, i) = RAMP_INTERVAL;
    *ma_at(b, RAMP_INDEX, i) = 0;
}

/* Something comes into a row that is free, if there is one. Two numbers are drawn in any case. */
static void spawn(const be_batch *b, int64_t i) {
    be_random_state *stream = ma_stream(b, i);
    int32_t *kind = ma_at(b, KIND, i);
    const int right = be_random_state_double(stream) < 0.5, gold = be_random_state_double(stream) < 1.0 / 3.0;
    int free[NUM_SLOTS], count = 0;
    for (int k = 0; k < NUM_SLOTS; k++) {
        free[count] = k;
        count += kind[k] == 0;
    }
    if (count == 0) return;
    const int slot = free[be_random_state_integers(stream, 0, count)];
    kind[slot] = PRESENT | (right ? TO_THE_RIGHT : 0) | (gold ? IS_GOLD : 0);
    ma_at(b, X, i)[slot] = right ? 0 : MA_SIDE - 1;
}

/* What the player meets in its row. */
BE_INLINE void meet(int32_t *kind, ma_result *result) {
    if (*kind & IS_GOLD) {
        result->reward++;
        *kind = 0;
    } else {
        result->terminal = 1;
    }
}

/* Every 101 steps more comes, and every other time it also moves faster. */
static void ramp(const be_batch *b, int64_t i) {
    int32_t *spawn_speed = ma_at(b, SPAWN_SPEED, i), *move_speed = ma_at(b, MOVE_SPEED, i);
    int32_t *timer = ma_at(b, RAMP_TIMER, i), *index = ma_at(b, RAMP_INDEX, i);
    if (*spawn_speed == 1 && *move_speed == 1) return;
    if (--*timer >= -1) return;
    if (*index % 2 && *move_speed > 1) --*move_speed;
    if (*spawn_speed > 1) --*spawn_speed;
    *index = (*index + 1) & MAX_RAMPS;
    *timer = RAMP_INTERVAL;
}

static ma_result play(const be_batch *b, int64_t i, int action) {
    ma_result result = {0};
    int32_t *restrict kind = ma_at(b, KIND, i), *restrict x = ma_at(b, X, i);
    int32_t *spawn_timer = ma_at(b, SPAWN_TIMER, i), *move_timer = ma_at(b, MOVE_TIMER, i);
    if (*spawn_timer == 0) {
        spawn(b, i);
        *spawn_timer = *ma_at(b, SPAWN_SPEED, i);
    }
    const int player_x = ma_clip(*ma_at(b, PLAYER_X, i) + (action == MA_RIGHT) - (action == MA_LEFT));
    int player_y = *ma_at(b, PLAYER_Y, i) + (action == MA_DOWN) - (action == MA_UP);
    player_y = player_y < 1 ? 1 : player_y > NUM_SLOTS ? NUM_SLOTS : player_y;
    *ma_at(b, PLAYER_X, i) = player_x;
    *ma_at(b, PLAYER_Y, i) = player_y;

    const int own = player_y - 1;
    if (kind[own] && x[own] == player_x) meet(&kind[own], &result);
    if (*move_timer == 0) {
        *move_timer = *ma_at(b, MOVE_SPEED, i);
        for (int k = 0; k < NUM_SLOTS; k++) {
            const int moved = x[k] + (kind[k] & TO_THE_RIGHT ? 1 : -1), stays = ma_is_inside(moved);
            kind[k] = stays ? kind[k] : 0;
            x[k] = stays ? moved : x[k];
        }
        if (kind[own] && x[own] == player_x) meet(&kind[own], &result);
    }
    --*spawn_timer;
    --*move_timer;
    if (ma_is_ramping(b, i)) ramp(b, i);
    return result;
}

BE_INLINE void draw(const be_batch *b, int64_t i, ma_canvas canvas) {
    const int32_t *x = ma_at(b, X, i), *kind = ma_at(b, KIND, i);
    int place[NUM_SLOTS], trail[NUM_SLOTS];
    uint8_t has_place[NUM_SLOTS], has_trail[NUM_SLOTS];
    for (int k = 0; k < NUM_SLOTS; k++) {
        const int behind = x[k] + (kind[k] & TO_THE_RIGHT ? -1 : 1);
        has_place[k] = kind[k] != 0;
        has_trail[k] = has_place[k] & ma_is_inside(behind);
        place[k] = (MA_SIDE * (k + 1) + x[k]) * canvas.cell_stride +
                   (kind[k] & IS_GOLD ? GOLD : ENEMY) * canvas.channel_stride;
        trail[k] = (MA_SIDE * (k + 1) + behind) * canvas.cell_stride + TRAIL * canvas.channel_stride;
    }
    /* No two of these places are the same. */
    for (int k = 0; k < NUM_SLOTS; k++) {
        canvas.flags[place[k]] |= has_place[k];
        canvas.flags[trail[k]] |= has_trail[k];
    }
    ma_mark(canvas, PLAYER, *ma_at(b, PLAYER_X, i), *ma_at(b, PLAYER_Y, i));
}

static const ma_game game = {
    .channels = NUM_CHANNELS,
    .num_actions = 5,
    .actions = {MA_NOTHING, MA_LEFT, MA_UP, MA_RIGHT, MA_DOWN},
    .colors = {{22, 61, 78}, {84, 121, 47}, {208, 126, 147}, {193, 202, 243}},
};

MINATAR_GAME(asterix, "Asterix", game, state, NULL);
