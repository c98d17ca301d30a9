/* MinAtar's Freeway: a chicken crosses eight lanes of cars, as often as it can in 2500 steps. */
#include "envs/minatar/minatar.h"

enum { CHICKEN, CAR, SPEED_1, NUM_CHANNELS = SPEED_1 + 5 };

/* Car k drives in row k + 1. */
enum { CAR_X = MA_NUM_FIELDS, CAR_TIMER, CAR_SPEED, POS, MOVE_TIMER, TERMINATE_TIMER };
enum { NUM_CARS = 8, MAX_SPEED = 5, CHICKEN_X = 4, MOVE_INTERVAL = 3, TIME_LIMIT = 2500 };
static const be_field state[] = {
    MA_FIELDS,
    [CAR_X] = {"car_x", BE_I32, NUM_CARS, "columns of the cars, from the top row on", 0, MA_SIDE - 1},
    [CAR_TIMER] = {"car_timer", BE_I32, NUM_CARS, "steps until each car moves", 0, MAX_SPEED},
    [CAR_SPEED] = {"car_speed", BE_I32, NUM_CARS, "steps that each car waits, negative if it drives to the left",
                   -MAX_SPEED, MAX_SPEED},
    [POS] = {"pos", BE_I32, 1, "row of the chicken", 0, MA_SIDE - 1},
    [MOVE_TIMER] = {"move_timer", BE_I32, 1, "steps until the chicken can move", 0, MOVE_INTERVAL},
    [TERMINATE_TIMER] = {"terminate_timer", BE_I32, 1, "steps until the game ends", -1, TIME_LIMIT},
    {0},
};

/* Gives all cars new speeds: first all numbers are drawn, then all directions. */
static void draw_cars(const be_batch *b, int64_t i) {
    be_random_state *stream = ma_stream(b, i);
    int32_t *timer = ma_at(b, CAR_TIMER, i), *speed = ma_at(b, CAR_SPEED, i);
    for (int k = 0; k < NUM_CARS; k++) timer[k] = (int32_t)be_random_state_integers(stream, 1, MAX_SPEED + 1);
    for (int k = 0; k < NUM_CARS; k++) {
        const double side = be_random_state_double(stream) - 0.5;
        speed[k] = side > 0 ? timer[k] : side < 0 ? -timer[k] : 0;
    }
}

static void start(const be_batch *b, int64_t i) {
    for (int k = 0; k < NUM_CARS; k++) ma_at(b, CAR_X, i)[k] = 0;
    draw_cars(b, i);
    *ma_at(b, POS, i) = MA_SIDE - 1;
    *ma_at(b, MOVE_TIMER, i) = MOVE_INTERVAL;
    *ma_at(b, TERMINATE_TIMER, i) = TIME_LIMIT;
}

/* A car that leaves the field comes in again at the other side. */
BE_INLINE int wrap(int x) { return x < 0 ? MA_SIDE - 1 : x > MA_SIDE - 1 ? 0 : x; }

static ma_result play(const be_batch *b, int64_t i, int action) {
    ma_result result = {0};
    int32_t *x = ma_at(b, CAR_X, i), *timer = ma_at(b, CAR_TIMER, i), *speed = ma_at(b, CAR_SPEED, i);
    int32_t *move_timer = ma_at(b, MOVE_TIMER, i), *terminate_timer = ma_at(b, TERMINATE_TIMER, i);
    int pos = *ma_at(b, POS, i);
    if (*move_timer == 0 && (action == MA_UP || action == MA_DOWN)) {
        *move_timer = MOVE_INTERVAL;
        pos = ma_clip(pos + (action == MA_DOWN ? 1 : -1));
    }
    if (pos == 0) {
        result.reward = 1;
        draw_cars(b, i);
        pos = MA_SIDE - 1;
    }
    for (int k = 0; k < NUM_CARS; k++) {
        int hit = x[k] == CHICKEN_X;
        if (timer[k] == 0) {
            timer[k] = speed[k] < 0 ? -speed[k] : speed[k];
            x[k] = wrap(x[k] + (speed[k] > 0) - (speed[k] < 0));
            hit |= x[k] == CHICKEN_X;
        } else {
            timer[k]--;
        }
        if (hit && pos == k + 1) pos = MA_SIDE - 1;
    }
    *ma_at(b, POS, i) = pos;
    ma_count_down(move_timer);
    *terminate_timer -= *terminate_timer >= 0;
    result.terminal = *terminate_timer < 0;
    return result;
}

static void draw(const be_batch *b, int64_t i, ma_canvas canvas) {
    ma_mark(canvas, CHICKEN, CHICKEN_X, *ma_at(b, POS, i));
    const int32_t *x = ma_at(b, CAR_X, i), *speed = ma_at(b, CAR_SPEED, i);
    for (int k = 0; k < NUM_CARS; k++) {
        ma_mark(canvas, CAR, x[k], k + 1);
        const int pace = speed[k] < 0 ? -speed[k] : speed[k];
        ma_mark(canvas, CAR + pace, wrap(speed[k] > 0 ? x[k] - 1 : x[k] + 1), k + 1);
    }
}

static const ma_game game = {
    .channels = NUM_CHANNELS,
    .num_actions = 3,
    .actions = {MA_NOTHING, MA_UP, MA_DOWN},
    .colors =
        {{27, 30, 59}, {22, 83, 76}, {68, 119, 49}, {161, 121, 74}, {212, 132, 169}, {198, 180, 238}, {203, 232, 240}},
    .start = start,
    .play = play,
    .draw = draw,
};

MINATAR_GAME(freeway, "Freeway", game, state, NULL);
