/* MinAtar's Space Invaders: a cannon against a block of aliens, which comes down and shoots back. */
#include "envs/minatar/minatar.h"

enum { CANNON, ALIEN, ALIEN_LEFT, ALIEN_RIGHT, FRIENDLY_BULLET, ENEMY_BULLET, NUM_CHANNELS };

/* Maps have a number per row of the field, whose bit x is the cell in column x. */
enum { ALIENS = MA_NUM_FIELDS, F_BULLETS, E_BULLETS, POS, ALIEN_DIR, ENEMY_MOVE_INTERVAL };
enum { ALIEN_MOVE_TIMER = ENEMY_MOVE_INTERVAL + 1, ALIEN_SHOT_TIMER, SHOT_TIMER };
enum { FIRST_INTERVAL = 12, LAST_INTERVAL = 6, ENEMY_SHOT_INTERVAL = 10, SHOT_COOL_DOWN = 5 };
enum { WHOLE_ROW = (1 << MA_SIDE) - 1, LAST = MA_SIDE - 1, WAVE_ROWS = 4, WAVE_ROW = 0xfc /* columns 2 to 7 */ };
static const be_field state[] = {
    MA_FIELDS,
    [ALIENS] = {"aliens", BE_I32, MA_SIDE, "bit x of value y: an alien in column x of row y", 0, WHOLE_ROW},
    [F_BULLETS] = {"f_bullets", BE_I32, MA_SIDE, "the same for the cannon's bullets", 0, WHOLE_ROW},
    [E_BULLETS] = {"e_bullets", BE_I32, MA_SIDE, "the same for the aliens' bullets", 0, WHOLE_ROW},
    [POS] = {"pos", BE_I32, 1, "column of the cannon", 0, LAST},
    [ALIEN_DIR] = {"alien_dir", BE_I32, 1, "-1: the aliens go to the left, 1: to the right", -1, 1},
    [ENEMY_MOVE_INTERVAL] = {"enemy_move_interval", BE_I32, 1, "most steps between two moves of the aliens",
                             LAST_INTERVAL, FIRST_INTERVAL},
    [ALIEN_MOVE_TIMER] = {"alien_move_timer", BE_I32, 1, "steps until the aliens move", -1, FIRST_INTERVAL},
    [ALIEN_SHOT_TIMER] = {"alien_shot_timer", BE_I32, 1, "steps until an alien shoots", 0, ENEMY_SHOT_INTERVAL},
    [SHOT_TIMER] = {"shot_timer", BE_I32, 1, "steps until the cannon can shoot", 0, SHOT_COOL_DOWN},
    {0},
};

static void new_wave(int32_t *aliens) {
    for (int y = 0; y < MA_SIDE; y++) aliens[y] = y < WAVE_ROWS ? WAVE_ROW : 0;
}

static void start(const be_batch *b, int64_t i) {
    new_wave(ma_at(b, ALIENS, i));
    for (int y = 0; y < MA_SIDE; y++) ma_at(b, F_BULLETS, i)[y] = ma_at(b, E_BULLETS, i)[y] = 0;
    *ma_at(b, POS, i) = 5;
    *ma_at(b, ALIEN_DIR, i) = -1;
    *ma_at(b, ENEMY_MOVE_INTERVAL, i) = *ma_at(b, ALIEN_MOVE_TIMER, i) = FIRST_INTERVAL;
    *ma_at(b, ALIEN_SHOT_TIMER, i) = ENEMY_SHOT_INTERVAL;
    *ma_at(b, SHOT_TIMER, i) = 0;
}

/* All columns in which a map has something. */
BE_INLINE int columns_of(const int32_t *map) {
    int columns = 0;
    for (int y = 0; y < MA_SIDE; y++) columns |= map[y];
    return columns;
}

/* In how many cells it has something. */
BE_INLINE int count(const int32_t *map) {
    int sum = 0;
    for (int y = 0; y < MA_SIDE; y++) sum += __builtin_popcount((unsigned)map[y]);
    return sum;
}

BE_INLINE void move_up(int32_t *map) {
    for (int y = 0; y < LAST; y++) map[y] = map[y + 1];
    map[LAST] = 0;
}

/* Returns what has left the field, for the aliens to come in again at the top. */
BE_INLINE int move_down(int32_t *map) {
    const int below = map[LAST];
    for (int y = LAST; y > 0; y--) map[y] = map[y - 1];
    map[0] = 0;
    return below;
}

/* The aliens' next move, to the side or, at the edge of the field, down and back. Returns whether it ends the game. */
static int move_aliens(const be_batch *b, int64_t i, int32_t *aliens) {
    int32_t *direction = ma_at(b, ALIEN_DIR, i);
    const int columns = columns_of(aliens), edge = *direction < 0 ? 1 : 1 << LAST;
    if (columns & edge) {
        *direction = -*direction;
        const int landed = aliens[LAST] != 0;
        aliens[0] = move_down(aliens);
        return landed;
    }
    for (int y = 0; y < MA_SIDE; y++) aliens[y] = *direction < 0 ? aliens[y] >> 1 : aliens[y] << 1;
    return 0;
}

/* The column with an alien that is nearest to the cannon, the left one of two; -1: there is none. */
static int nearest_column(const int32_t *aliens, int pos) {
    const int columns = columns_of(aliens);
    for (int far = 0; far < MA_SIDE; far++) {
        if (pos - far >= 0 && columns >> (pos - far) & 1) return pos - far;
        if (pos + far < MA_SIDE && columns >> (pos + far) & 1) return pos + far;
    }
    return -1;
}

/* The lowest alien of that column shoots. */
static void shoot_back(const int32_t *aliens, int32_t *bullets, int pos) {
    const int column = nearest_column(aliens, pos);
    if (column < 0) return;
    int y = LAST;
    while (!(aliens[y] >> column & 1)) y--;
    bullets[y] |= 1 << column;
}

/* Takes out all aliens and bullets that are in the same cell; returns how many aliens those are. */
static int take_hits(int32_t *aliens, int32_t *shots) {
    int sum = 0;
    for (int y = 0; y < MA_SIDE; y++) {
        const int hit = aliens[y] & shots[y];
        sum += __builtin_popcount((unsigned)hit);
        aliens[y] ^= hit;
        shots[y] ^= hit;
    }
    return sum;
}

static ma_result play(const be_batch *b, int64_t i, int action) {
    ma_result result = {0};
    int32_t *aliens = ma_at(b, ALIENS, i), *shots = ma_at(b, F_BULLETS, i), *bullets = ma_at(b, E_BULLETS, i);
    int32_t *shot_timer = ma_at(b, SHOT_TIMER, i), *alien_shot_timer = ma_at(b, ALIEN_SHOT_TIMER, i);
    int32_t *move_timer = ma_at(b, ALIEN_MOVE_TIMER, i), *interval = ma_at(b, ENEMY_MOVE_INTERVAL, i);
    const int pos = *ma_at(b, POS, i) = ma_clip(*ma_at(b, POS, i) + (action == MA_RIGHT) - (action == MA_LEFT));
    if (action == MA_FIRE && *shot_timer == 0) {
        shots[LAST] |= 1 << pos;
        *shot_timer = SHOT_COOL_DOWN;
    }
    move_up(shots);
    (void)move_down(bullets);
    result.terminal = (bullets[LAST] | aliens[LAST]) >> pos & 1;
    if (*move_timer <= 0) {
        const int left = count(aliens);
        *move_timer = left < *interval ? left : *interval;
        result.terminal |= move_aliens(b, i, aliens);
        result.terminal |= aliens[LAST] >> pos & 1;
    }
    if (*alien_shot_timer == 0) {
        *alien_shot_timer = ENEMY_SHOT_INTERVAL;
        shoot_back(aliens, bullets, pos);
    }
    int hits = 0, left = 0;
    for (int y = 0; y < MA_SIDE; y++) hits |= aliens[y] & shots[y];
    if (hits) result.reward = take_hits(aliens, shots);
    for (int y = 0; y < MA_SIDE; y++) left |= aliens[y];
    ma_count_down(shot_timer);
    --*move_timer;
    --*alien_shot_timer;
    if (left == 0) {
        if (*interval > LAST_INTERVAL && ma_is_ramping(b, i)) --*interval;
        new_wave(aliens);
    }
    return result;
}

BE_INLINE void draw_map(ma_canvas canvas, int channel, const int32_t *map) {
    uint64_t half[2] = {0}; /* rows 0 to 4 and 5 to 9: bit 10 y + x */
    for (int y = 0; y < MA_SIDE / 2; y++) {
        half[0] |= (uint64_t)map[y] << MA_SIDE * y;
        half[1] |= (uint64_t)map[y + MA_SIDE / 2] << MA_SIDE * y;
    }
    for (int k = 0; k < 2; k++) {
        uint8_t *flags = canvas.flags + k * (MA_CELLS / 2) * canvas.cell_stride + channel * canvas.channel_stride;
        for (uint64_t left = half[k]; left; left &= left - 1) flags[__builtin_ctzll(left) * canvas.cell_stride] = 1;
    }
}

/* The flags of five cells beside each other, by the bits that say in which of them there are aliens. */
enum { FIVE = MA_SIDE / 2 };
#define FLAGS(on, left) 0, on, (on) & (left), (on) & !(left), 0, 0
#define CELLS(bits, left)                                                                                              \
    {FLAGS((bits) & 1, left), FLAGS((bits) >> 1 & 1, left), FLAGS((bits) >> 2 & 1, left),                              \
     FLAGS((bits) >> 3 & 1, left), FLAGS((bits) >> 4 & 1, left)}
#define CELLS4(bits, left) CELLS(bits, left), CELLS((bits) + 1, left), CELLS((bits) + 2, left), CELLS((bits) + 3, left)
#define CELLS32(left)                                                                                                  \
    {CELLS4(0, left),  CELLS4(4, left),  CELLS4(8, left),  CELLS4(12, left),                                           \
     CELLS4(16, left), CELLS4(20, left), CELLS4(24, left), CELLS4(28, left)}
static const uint8_t alien_flags[2][1 << FIVE][FIVE * NUM_CHANNELS] = {CELLS32(0), CELLS32(1)};

BE_INLINE void draw(const be_batch *b, int64_t i, ma_canvas canvas) {
    const int32_t *aliens = ma_at(b, ALIENS, i);
    const int to_the_left = *ma_at(b, ALIEN_DIR, i) < 0;
    if (canvas.cell_stride == NUM_CHANNELS) {
        for (int y = 0; y < MA_SIDE; y++) {
            uint8_t *row = canvas.flags + y * MA_SIDE * NUM_CHANNELS;
            const unsigned bits = (unsigned)aliens[y];
            memcpy(row, alien_flags[to_the_left][bits % (1 << FIVE)], sizeof alien_flags[0][0]);
            memcpy(row + FIVE * NUM_CHANNELS, alien_flags[to_the_left][bits >> FIVE], sizeof alien_flags[0][0]);
        }
    } else {
        draw_map(canvas, ALIEN, aliens);
        draw_map(canvas, to_the_left ? ALIEN_LEFT : ALIEN_RIGHT, aliens);
    }
    draw_map(canvas, FRIENDLY_BULLET, ma_at(b, F_BULLETS, i));
    draw_map(canvas, ENEMY_BULLET, ma_at(b, E_BULLETS, i));
    ma_mark(canvas, CANNON, *ma_at(b, POS, i), LAST);
}

static const ma_game game = {
    .channels = NUM_CHANNELS,
    .num_actions = 4,
    .actions = {MA_NOTHING, MA_LEFT, MA_RIGHT, MA_FIRE},
    .colors = {{26, 36, 65}, {27, 97, 69}, {105, 123, 48}, {200, 123, 124}, {205, 162, 224}, {198, 225, 241}},
};

MINATAR_GAME(space_invaders, "SpaceInvaders", game, state, NULL);
