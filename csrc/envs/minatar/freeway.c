/* MinAtar's Freeway: a chicken crosses eight lanes of cars, as often as it can in 2500 steps. */
#include "envs/minatar/minatar.h"

enum { CHICKEN, CAR, NUM_CHANNELS = CAR + 1 + 5 /* a channel for each speed */ };

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
BE_INLINE int wrap(int x) { return x < 0 ? x + MA_SIDE : x >= MA_SIDE ? x - MA_SIDE : x; }

BE_INLINE int sign(int speed) { return (speed > 0) - (speed < 0); }

/* The car in the chicken's row is at the chicken. */
BE_INLINE int is_hit(const int32_t *x, int pos) { return pos >= 1 && pos <= NUM_CARS && x[pos - 1] == CHICKEN_X; }

static void move_cars(const be_batch *b, int64_t i) {
    int32_t *restrict x = ma_at(b, CAR_X, i), *restrict timer = ma_at(b, CAR_TIMER, i);
    const int32_t *restrict speed = ma_at(b, CAR_SPEED, i);
    for (int k = 0; k < NUM_CARS; k++) {
        const int moved = wrap(x[k] + sign(speed[k])), pace = speed[k] < 0 ? -speed[k] : speed[k];
        x[k] = timer[k] == 0 ? moved : x[k];
        timer[k] = timer[k] == 0 ? pace : timer[k] - 1;
    }
}

static ma_result play(const be_batch *b, int64_t i, int action) {
    ma_result result = {0};
    const int32_t *x = ma_at(b, CAR_X, i);
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
    if (is_hit(x, pos)) pos = MA_SIDE - 1;
    move_cars(b, i);
    if (is_hit(x, pos)) pos = MA_SIDE - 1;
    *ma_at(b, POS, i) = pos;
    ma_count_down(move_timer);
    *terminate_timer -= *terminate_timer >= 0;
    result.terminal = *terminate_timer < 0;
    return result;
}

BE_INLINE void draw(const be_batch *b, int64_t i, ma_canvas canvas) {
    const int32_t *x = ma_at(b, CAR_X, i), *speed = ma_at(b, CAR_SPEED, i);
    int car[NUM_CARS], trail[NUM_CARS];
    for (int k = 0; k < NUM_CARS; k++) {
        const int behind = wrap(x[k] - (speed[k] > 0 ? 1 : -1)), pace = speed[k] < 0 ? -speed[k] : speed[k];
        car[k] = (MA_SIDE * (k + 1) + x[k]) * canvas.cell_stride + CAR * canvas.channel_stride;
        trail[k] = (MA_SIDE * (k + 1) + behind) * canvas.cell_stride + (CAR + pace) * canvas.channel_stride;
    }
    for (int k = 0; k < NUM_CARS; k++) canvas.flags[car[k]] = canvas.flags[trail[k]] = 1;
    ma_mark(canvas, CHICKEN, CHICKEN_X, *ma_at(b, POS, i));
}

static const ma_game game = {
    .channels = NUM_CHANNELS,
    .num_actions = 3,
    .actions = {MA_NOTHING, MA_UP, MA_DOWN},
    .colors =
        {{27, 30, 59}, {22, 83, 76}, {68, 119, 49}, {161, 121, 74}, {212, 132, 169}, {198, 180, 238}, {203, 232, 240}},
};

MINATAR_GAME(freeway, "Freeway", game, state, NULL);
