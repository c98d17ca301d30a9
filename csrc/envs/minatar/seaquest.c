/* MinAtar's Seaquest: a submarine rescues divers from the sea, among fish and other submarines, while its air lasts. */
#include "envs/minatar/minatar.h"

enum { SUB_FRONT, SUB_BACK, FRIENDLY_BULLET, TRAIL, ENEMY_BULLET, ENEMY_FISH, ENEMY_SUB };
enum { OXYGEN_GAUGE = ENEMY_SUB + 1, DIVER_GAUGE, DIVER_CHANNEL, NUM_CHANNELS };

/* ---- state ------------------------------------------------------------------------------------------- */

/* What swims, in the order in which it came: the first num_... of each list. */
enum { F_BULLETS = MA_NUM_FIELDS, E_BULLETS, E_FISH, E_SUBS, DIVERS };
enum { NUM_F_BULLETS = DIVERS + 1, NUM_E_BULLETS, NUM_E_FISH, NUM_E_SUBS, NUM_DIVERS };
enum { SUB_X = NUM_DIVERS + 1, SUB_Y, SUB_OR, SURFACE, OXYGEN, DIVER_COUNT, SHOT_TIMER };
enum { E_SPAWN_SPEED = SHOT_TIMER + 1, E_SPAWN_TIMER, D_SPAWN_TIMER, MOVE_SPEED, RAMP_INDEX };
enum { NUM_LISTS = 5, NUM_OF = NUM_F_BULLETS - F_BULLETS /* from a list's field to that of its length */ };

typedef struct swimmer {
    int8_t x, y, right; /* right: whether it swims to the right */
    int8_t timer;       /* steps until it moves; bullets have none */
    int8_t shot;        /* an enemy's submarine: steps until it shoots */
} swimmer;

enum { CAPACITY = 32, LIST_BYTES = CAPACITY * (int)sizeof(swimmer) };
_Static_assert(sizeof(swimmer) == 5, "LIST's values");

enum { LAST = MA_SIDE - 1, DEEPEST = LAST - 1, MAX_OXYGEN = 200, MAX_DIVERS = 6, FEWEST_DIVERS = -(1 << 30) };
enum { SHOT_COOL_DOWN = 5, ENEMY_SHOT_INTERVAL = 10, FIRST_SPAWN_SPEED = 20, FIRST_MOVE_SPEED = 5 };
enum { LAST_MOVE_SPEED = 2, DIVER_SPAWN_SPEED = 30, DIVER_MOVE_INTERVAL = 5, MAX_RAMPS = 31 };

#define LIST(name, what)                                                                                               \
    {name, BE_I8, LIST_BYTES, what ": x, y, 1 if to the right, steps until it moves, until it shoots", 0, 10}
#define LENGTH(name) {name, BE_I32, 1, "how many there are", 0, CAPACITY}
static const be_field state[] = {
    MA_FIELDS,
    [F_BULLETS] = LIST("f_bullets", "the player's bullets"),
    [E_BULLETS] = LIST("e_bullets", "the enemies' bullets"),
    [E_FISH] = LIST("e_fish", "fish"),
    [E_SUBS] = LIST("e_subs", "the enemies' submarines"),
    [DIVERS] = LIST("divers", "divers"),
    [NUM_F_BULLETS] = LENGTH("num_f_bullets"),
    [NUM_E_BULLETS] = LENGTH("num_e_bullets"),
    [NUM_E_FISH] = LENGTH("num_e_fish"),
    [NUM_E_SUBS] = LENGTH("num_e_subs"),
    [NUM_DIVERS] = LENGTH("num_divers"),
    [SUB_X] = {"sub_x", BE_I32, 1, "column of the player's front", 0, LAST},
    [SUB_Y] = {"sub_y", BE_I32, 1, "row of the player", 0, DEEPEST},
    [SUB_OR] = {"sub_or", BE_I32, 1, "1: the player's front is to the right", 0, 1},
    [SURFACE] = {"surface", BE_I32, 1, "1: the player was at the surface in the last step", 0, 1},
    [OXYGEN] = {"oxygen", BE_I32, 1, "steps that the air lasts", -1, MAX_OXYGEN},
    [DIVER_COUNT] = {"diver_count", BE_I32, 1, "divers on board; it falls below 0, see surface()", FEWEST_DIVERS,
                     MAX_DIVERS},
    [SHOT_TIMER] = {"shot_timer", BE_I32, 1, "steps until the player can shoot", 0, SHOT_COOL_DOWN},
    [E_SPAWN_SPEED] = {"e_spawn_speed", BE_I32, 1, "steps between two enemies", 1, FIRST_SPAWN_SPEED},
    [E_SPAWN_TIMER] = {"e_spawn_timer", BE_I32, 1, "steps until the next enemy", 0, FIRST_SPAWN_SPEED},
    [D_SPAWN_TIMER] = {"d_spawn_timer", BE_I32, 1, "steps until the next diver", 0, DIVER_SPAWN_SPEED},
    [MOVE_SPEED] = {"move_speed", BE_I32, 1, "steps between two moves of an enemy", LAST_MOVE_SPEED, FIRST_MOVE_SPEED},
    [RAMP_INDEX] = {"ramp_index", BE_I32, 1, "how often the game became harder", 0, MAX_RAMPS},
    {0},
};

/* The ranges in the table hold for all of a swimmer's numbers. */
static int check_state(const be_batch *b, const void *const *columns, int64_t count, be_error *error) {
    for (int list = F_BULLETS; list < F_BULLETS + NUM_LISTS; list++) {
        for (int64_t i = 0; i < count; i++) {
            const swimmer *all = (const swimmer *)columns[list] + i * CAPACITY;
            for (int k = 0; k < ((const int32_t *)columns[list + NUM_OF])[i]; k++) {
                if (ma_is_inside(all[k].x) && all[k].y <= DEEPEST && all[k].right <= 1) continue;
                return be_fail(error, BE_ERROR_VALUE, i,
                               "x=%d, y=%d, right=%d of entry %d of %s of lane %lld must be in 0..%d, 0..%d and 0..1",
                               all[k].x, all[k].y, all[k].right, k, b->type->state[list].name, (long long)i, LAST,
                               DEEPEST);
            }
        }
    }
    return BE_OK;
}

/* ---- lists ------------------------------------------------------------------------------------------- */

typedef struct list {
    swimmer *all;
    int32_t *count;
} list;

BE_INLINE list list_of(const be_batch *b, int field, int64_t i) {
    return (list){(swimmer *)b->state[field] + i * CAPACITY, ma_at(b, field + NUM_OF, i)};
}

static void add(list to, swimmer what, ma_result *result) {
    if (*to.count < CAPACITY) {
        to.all[(*to.count)++] = what;
    } else {
        result->failure = "more than 32 fish, submarines, divers or bullets of one kind are in the sea";
    }
}

/* Takes the first one out that is equal to all[k], which may be an earlier one. The entries behind it move up: so a
 * loop from the last entry to the first then meets all[k] once more. That is how MinAtar's games go. */
static void take_out(list from, int k) {
    int first = 0;
    while (memcmp(&from.all[first], &from.all[k], sizeof(swimmer)) != 0) first++;
    --*from.count;
    memmove(&from.all[first], &from.all[first + 1], (size_t)(*from.count - first) * sizeof(swimmer));
    from.all[*from.count] = (swimmer){0};
}

BE_INLINE int is_at(const swimmer *one, int x, int y) { return one->x == x && one->y == y; }

/* One cell on; returns whether it is still in the field. */
BE_INLINE int swim(swimmer *one) {
    one->x = (int8_t)(one->x + (one->right ? 1 : -1));
    return ma_is_inside(one->x);
}

/* ---- what comes -------------------------------------------------------------------------------------- */

/* Whether something swims in this row in the other direction. */
static int is_opposed(list in, int y, int right) {
    int found = 0;
    for (int k = 0; k < *in.count; k++) found |= in.all[k].y == y && in.all[k].right != right;
    return found;
}

static void spawn_enemy(const be_batch *b, int64_t i, ma_result *result) {
    be_random_state *stream = ma_stream(b, i);
    const int right = be_random_state_double(stream) < 0.5, sub = be_random_state_double(stream) < 1.0 / 3.0;
    const int y = (int)be_random_state_integers(stream, 1, LAST);
    const list fish = list_of(b, E_FISH, i), subs = list_of(b, E_SUBS, i);
    if (is_opposed(fish, y, right) || is_opposed(subs, y, right)) return;
    const swimmer one = {(int8_t)(right ? 0 : LAST), (int8_t)y, (int8_t)right, (int8_t)*ma_at(b, MOVE_SPEED, i),
                         sub ? ENEMY_SHOT_INTERVAL : 0};
    add(sub ? subs : fish, one, result);
}

static void spawn_diver(const be_batch *b, int64_t i, ma_result *result) {
    be_random_state *stream = ma_stream(b, i);
    const int right = be_random_state_double(stream) < 0.5, y = (int)be_random_state_integers(stream, 1, LAST);
    add(list_of(b, DIVERS, i), (swimmer){(int8_t)(right ? 0 : LAST), (int8_t)y, (int8_t)right, DIVER_MOVE_INTERVAL, 0},
        result);
}

static void spawn(const be_batch *b, int64_t i, ma_result *result) {
    int32_t *enemy = ma_at(b, E_SPAWN_TIMER, i), *diver = ma_at(b, D_SPAWN_TIMER, i);
    if (*enemy == 0) {
        spawn_enemy(b, i, result);
        *enemy = *ma_at(b, E_SPAWN_SPEED, i);
    }
    if (*diver == 0) {
        spawn_diver(b, i, result);
        *diver = DIVER_SPAWN_SPEED;
    }
}

/* ---- what moves -------------------------------------------------------------------------------------- */

static void move_player(const be_batch *b, int64_t i, int action, ma_result *result) {
    int32_t *x = ma_at(b, SUB_X, i), *y = ma_at(b, SUB_Y, i), *right = ma_at(b, SUB_OR, i);
    int32_t *shot_timer = ma_at(b, SHOT_TIMER, i);
    if (action == MA_FIRE && *shot_timer == 0) {
        *shot_timer = SHOT_COOL_DOWN;
        add(list_of(b, F_BULLETS, i), (swimmer){(int8_t)*x, (int8_t)*y, (int8_t)*right, 0, 0}, result);
    }
    if (action == MA_LEFT || action == MA_RIGHT) {
        *right = action == MA_RIGHT;
        *x = ma_clip(*x + (*right ? 1 : -1));
    }
    const int deeper = *y + (action == MA_DOWN) - (action == MA_UP);
    *y = deeper < 0 ? 0 : deeper > DEEPEST ? DEEPEST : deeper;
}

/* Takes the first one out that is at (x, y); returns whether there is one. */
static int hit(list targets, int x, int y) {
    for (int k = 0; k < *targets.count; k++) {
        if (!is_at(&targets.all[k], x, y)) continue;
        take_out(targets, k);
        return 1;
    }
    return 0;
}

static void move_shots(const be_batch *b, int64_t i, ma_result *result) {
    const list shots = list_of(b, F_BULLETS, i);
    for (int k = *shots.count - 1; k >= 0; k--) {
        swimmer *shot = &shots.all[k];
        if (!swim(shot)) {
            take_out(shots, k);
        } else if (hit(list_of(b, E_FISH, i), shot->x, shot->y) || hit(list_of(b, E_SUBS, i), shot->x, shot->y)) {
            result->reward++;
            take_out(shots, k);
        }
    }
}

static void move_divers(const be_batch *b, int64_t i) {
    const list divers = list_of(b, DIVERS, i);
    const int x = *ma_at(b, SUB_X, i), y = *ma_at(b, SUB_Y, i);
    int32_t *on_board = ma_at(b, DIVER_COUNT, i);
    for (int k = *divers.count - 1; k >= 0; k--) {
        swimmer *diver = &divers.all[k];
        const int has_room = *on_board < MAX_DIVERS;
        if (has_room && is_at(diver, x, y)) {
            take_out(divers, k);
            ++*on_board;
        } else if (diver->timer > 0) {
            diver->timer--;
        } else {
            diver->timer = DIVER_MOVE_INTERVAL;
            const int inside = swim(diver), aboard = has_room && is_at(diver, x, y);
            if (!inside || aboard) take_out(divers, k);
            *on_board += aboard;
        }
    }
}

/* Fish or submarines. */
static void move_enemies(const be_batch *b, int64_t i, int field, ma_result *result) {
    const list enemies = list_of(b, field, i);
    const int x = *ma_at(b, SUB_X, i), y = *ma_at(b, SUB_Y, i);
    for (int k = *enemies.count - 1; k >= 0; k--) {
        swimmer *enemy = &enemies.all[k];
        result->terminal |= is_at(enemy, x, y);
        if (enemy->timer > 0) {
            enemy->timer--;
        } else {
            enemy->timer = (int8_t)*ma_at(b, MOVE_SPEED, i);
            if (!swim(enemy)) {
                take_out(enemies, k);
                continue;
            }
            if (is_at(enemy, x, y)) {
                result->terminal = 1;
            } else if (hit(list_of(b, F_BULLETS, i), enemy->x, enemy->y)) {
                result->reward++;
                take_out(enemies, k);
                continue;
            }
        }
        if (field == E_FISH) continue;
        if (enemy->shot > 0) {
            enemy->shot--;
        } else {
            enemy->shot = ENEMY_SHOT_INTERVAL;
            add(list_of(b, E_BULLETS, i), (swimmer){enemy->x, enemy->y, enemy->right, 0, 0}, result);
        }
    }
}

static void move_bullets(const be_batch *b, int64_t i, ma_result *result) {
    const list bullets = list_of(b, E_BULLETS, i);
    const int x = *ma_at(b, SUB_X, i), y = *ma_at(b, SUB_Y, i);
    for (int k = *bullets.count - 1; k >= 0; k--) {
        swimmer *bullet = &bullets.all[k];
        result->terminal |= is_at(bullet, x, y);
        if (!swim(bullet)) {
            take_out(bullets, k);
        } else {
            result->terminal |= is_at(bullet, x, y);
        }
    }
}

/* ---- air --------------------------------------------------------------------------------------------- */

/* The player brings divers up, and the game becomes harder. One diver is taken off the count even after six have left.
 * So it becomes -1, which allows the player to surface again, and -2, and so on. That is how MinAtar's games go. */
static void surface(const be_batch *b, int64_t i, ma_result *result) {
    int32_t *on_board = ma_at(b, DIVER_COUNT, i), *oxygen = ma_at(b, OXYGEN, i);
    if (*on_board == MAX_DIVERS) {
        *on_board = 0;
        result->reward += *oxygen * MA_SIDE / MAX_OXYGEN;
    }
    *oxygen = MAX_OXYGEN;
    *on_board -= *on_board > FEWEST_DIVERS;
    int32_t *spawn_speed = ma_at(b, E_SPAWN_SPEED, i), *move_speed = ma_at(b, MOVE_SPEED, i);
    int32_t *index = ma_at(b, RAMP_INDEX, i);
    if (!ma_is_ramping(b, i) || (*spawn_speed == 1 && *move_speed == LAST_MOVE_SPEED)) return;
    if (*index % 2 && *move_speed > LAST_MOVE_SPEED) --*move_speed;
    if (*spawn_speed > 1) --*spawn_speed;
    *index = (*index + 1) & MAX_RAMPS;
}

static void breathe(const be_batch *b, int64_t i, ma_result *result) {
    int32_t *oxygen = ma_at(b, OXYGEN, i), *at_surface = ma_at(b, SURFACE, i);
    result->terminal |= *oxygen <= 0; /* even if the player surfaces in this step */
    if (*ma_at(b, SUB_Y, i) > 0) {
        *oxygen -= *oxygen >= 0;
        *at_surface = 0;
    } else if (!*at_surface) {
        if (*ma_at(b, DIVER_COUNT, i) == 0) {
            result->terminal = 1;
        } else {
            *at_surface = 1;
            surface(b, i, result);
        }
    }
}

/* ---- the game ---------------------------------------------------------------------------------------- */

static void start(const be_batch *b, int64_t i) {
    for (int k = F_BULLETS; k < F_BULLETS + NUM_LISTS; k++) memset(list_of(b, k, i).all, 0, LIST_BYTES);
    for (int k = NUM_F_BULLETS; k <= RAMP_INDEX; k++) *ma_at(b, k, i) = 0;
    *ma_at(b, SUB_X, i) = 5;
    *ma_at(b, SURFACE, i) = 1;
    *ma_at(b, OXYGEN, i) = MAX_OXYGEN;
    *ma_at(b, E_SPAWN_SPEED, i) = *ma_at(b, E_SPAWN_TIMER, i) = FIRST_SPAWN_SPEED;
    *ma_at(b, D_SPAWN_TIMER, i) = DIVER_SPAWN_SPEED;
    *ma_at(b, MOVE_SPEED, i) = FIRST_MOVE_SPEED;
}

static ma_result play(const be_batch *b, int64_t i, int action) {
    ma_result result = {0};
    spawn(b, i, &result);
    move_player(b, i, action, &result);
    move_shots(b, i, &result);
    move_divers(b, i);
    move_enemies(b, i, E_SUBS, &result);
    move_bullets(b, i, &result);
    move_enemies(b, i, E_FISH, &result);
    ma_count_down(ma_at(b, E_SPAWN_TIMER, i));
    ma_count_down(ma_at(b, D_SPAWN_TIMER, i));
    ma_count_down(ma_at(b, SHOT_TIMER, i));
    breathe(b, i, &result);
    return result;
}

static void draw_list(const be_batch *b, int64_t i, ma_canvas canvas, int field, int channel, int has_trail) {
    const list shown = list_of(b, field, i);
    for (int k = 0; k < *shown.count; k++) {
        const swimmer *one = &shown.all[k];
        const int behind = one->x + (one->right ? -1 : 1);
        ma_mark(canvas, channel, one->x, one->y);
        if (has_trail && ma_is_inside(behind)) ma_mark(canvas, TRAIL, behind, one->y);
    }
}

BE_INLINE void draw(const be_batch *b, int64_t i, ma_canvas canvas) {
    const int x = *ma_at(b, SUB_X, i), y = *ma_at(b, SUB_Y, i), back = *ma_at(b, SUB_OR, i) ? x - 1 : x + 1;
    const int oxygen = *ma_at(b, OXYGEN, i), divers = *ma_at(b, DIVER_COUNT, i);
    ma_mark(canvas, SUB_FRONT, x, y);
    if (ma_is_inside(back)) ma_mark(canvas, SUB_BACK, back, y);
    ma_mark_bar(canvas, OXYGEN_GAUGE, LAST, 0, (oxygen < 0 ? 0 : oxygen) * MA_SIDE / MAX_OXYGEN);
    ma_mark_bar(canvas, DIVER_GAUGE, LAST, LAST - divers, LAST);
    draw_list(b, i, canvas, F_BULLETS, FRIENDLY_BULLET, 0);
    draw_list(b, i, canvas, E_BULLETS, ENEMY_BULLET, 0);
    draw_list(b, i, canvas, E_FISH, ENEMY_FISH, 1);
    draw_list(b, i, canvas, E_SUBS, ENEMY_SUB, 1);
    draw_list(b, i, canvas, DIVERS, DIVER_CHANNEL, 1);
}

static const ma_game game = {
    .channels = NUM_CHANNELS,
    .num_actions = MA_NUM_ACTIONS,
    .actions = {MA_NOTHING, MA_LEFT, MA_UP, MA_RIGHT, MA_DOWN, MA_FIRE},
    .colors = {{25, 18, 43},
               {23, 52, 76},
               {24, 91, 72},
               {60, 118, 50},
               {126, 122, 54},
               {188, 121, 103},
               {212, 134, 175},
               {202, 169, 231},
               {194, 210, 243},
               {214, 240, 239}},
};

MINATAR_GAME(seaquest, "Seaquest", game, state, check_state);
