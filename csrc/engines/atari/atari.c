/* The Atari 2600 games. A lane is a machine (an emulated console) with a game in it, with the usual preprocessing: a
 * step takes several frames, and an observation is the brighter of the last two, shrunk and stacked.
 *
 * An episode starts from one of a few start states. All randomness of a lane (start state, no-ops, sticky actions)
 * comes from its own stream.
 *
 * In games for several players an action has one component per player. Reward, lives and what follows from them are
 * player one's; those of all players have ports of their own, which games for one player leave out.
 */
#include "engines/atari/atari.h"

#include <stdlib.h>
#include <string.h>

#include "engines/atari/stacks.h"
#include "engines/atari/starts.h"

enum { SCREEN, RAM, LIVES, FRAME_NUMBER, EPISODE_FRAME, LAST_ACTION, OVER, LIFE_LOST, NEWEST, LAYOUT, MARK };
static const be_field state[] = {
    [SCREEN] = {"screen", BE_U8, BE_SCREEN_BYTES, "palette indices of the last frame, rows of 160"},
    [RAM] = {"ram", BE_U8, BE_RAM_BYTES, "the console's memory"},
    [LIVES] = {"lives", BE_I32, 1, "lives left; 0 in games without"},
    [FRAME_NUMBER] = {"frame_number", BE_I32, 1, "frames since the lane was made"},
    [EPISODE_FRAME] = {"episode_frame_number", BE_I32, 1, "frames since the game was started"},
    [LAST_ACTION] = {"last_action", BE_I32, 1, "player one's joystick + 18 * player two's + 18**2 * ...", 0,
                     BE_NUM_ACTIONS * BE_NUM_ACTIONS * BE_NUM_ACTIONS * BE_NUM_ACTIONS - 1},
    [OVER] = {"over", BE_BOOL, 1, "the game is over or was cut short"},
    [LIFE_LOST] = {"life_lost", BE_BOOL, 1, "the episode ended with a lost life; the next one goes on in this game"},
    [NEWEST] = {"newest", BE_I32, 1, "where the newest of the stacked frames is", 0, 1023},
    [LAYOUT] = {"layout", BE_I64, 1, "identifies the game and the form of the observations"},
    [MARK] = {"mark", BE_I64, 1, "the random stream's state after the last step; another one: it was seeded"},
    {0},
};

/* prepare() sets the spaces, which depend on the game and on the form of observations. */
enum {
    ACTION,
    OBSERVATION,
    INFO_LIVES,
    INFO_EPISODE_FRAME,
    INFO_FRAME,
    INFO_LIFE_LOST,
    /* One value for each player. */
    REWARDS,
    PLAYER_LIVES,
    PLAYER_LANES,
};
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION},
    [OBSERVATION] = {"", BE_OBSERVATION},
    [INFO_LIVES] = {"lives", BE_INFO, BE_VALUE(BE_I32), .doc = "lives left"},
    [INFO_EPISODE_FRAME] = {"episode_frame_number", BE_INFO, BE_VALUE(BE_I32),
                            .doc = "frames since the game was started"},
    [INFO_FRAME] = {"frame_number", BE_INFO, BE_VALUE(BE_I32), .doc = "frames since the lane was made"},
    [INFO_LIFE_LOST] = {"life_lost", BE_INFO, BE_VALUE(BE_BOOL), .doc = "a life was lost in this step"},
    [REWARDS] = {"rewards", BE_REWARD, BE_VALUE(BE_F64), .doc = "with several players: the reward of each"},
    [PLAYER_LIVES] = {"player_lives", BE_INFO, BE_VALUE(BE_I32),
                      .doc = "with several players: lives left of each, -1 for a player who is out while others go on"},
    [PLAYER_LANES] = {"players/env_id", BE_INFO, BE_VALUE(BE_I32), .doc = "with several players: the lane of each"},
    {0},
};

enum { GAMES, LIVES_OF_GAMES };
static const char *const statistics_of[] = {[GAMES] = "games", [LIVES_OF_GAMES] = "lives", NULL};

enum { FRAMESKIP, MAXPOOL, NOOP_MAX, USE_FIRE_RESET, EPISODIC_LIFE, STICKY, MAX_FRAMES, STATISTICS };
static const be_param params[] = {
    [FRAMESKIP] = {"frameskip", BE_PARAM_INT, 4, 1, 1024, NULL, "frames per step"},
    [MAXPOOL] = {"maxpool", BE_PARAM_BOOL, 1, 0, 1, NULL, "show the brighter of the last two frames, pixel by pixel"},
    [NOOP_MAX] = {"noop_max", BE_PARAM_INT, 30, 0, 10000, NULL, "most frames of doing nothing that start an episode"},
    [USE_FIRE_RESET] = {"use_fire_reset", BE_PARAM_BOOL, 1, 0, 1, NULL, "fire once at the start, where there is fire"},
    [EPISODIC_LIFE] = {"episodic_life", BE_PARAM_BOOL, 0, 0, 1, NULL,
                       "a lost life ends the episode, if another one is left"},
    [STICKY] = {"repeat_action_probability", BE_PARAM_FLOAT, 0, 0, 1, NULL,
                "chance that a frame takes the last action"},
    [MAX_FRAMES] = {"max_num_frames_per_episode", BE_PARAM_INT, 108000, 0, INT32_MAX, NULL,
                    "frames after which an episode is truncated; 0: never"},
    [STATISTICS] = {"episode_statistics", BE_PARAM_CHOICE, GAMES, 0, 0, statistics_of,
                    "what record_episode_statistics counts with episodic_life: whole games, or lives", 1},
    {0},
};

/* ---- the engine ------------------------------------------------------------------------------------- */

typedef struct atari {
    be_atari_setup setup;
    const be_emulator_type *type;
    be_emulator **machines; /* one per lane */
    int64_t num_machines;
    uint8_t *expects; /* for each machine: what it was told last by expect() */
    be_stacks stacks;
    int num_actions, actions[BE_NUM_ACTIONS], has_fire;
    int players;
    be_atari_starts starts;
} atari;

static void close_all(be_batch *b) {
    atari *a = b->engine;
    for (int64_t i = 0; i < a->num_machines; i++) a->type->close(a->machines[i]);
    be_stacks_close(&a->stacks);
    be_atari_starts_free(&a->starts);
    free(a->machines);
    free(a->expects);
    free(a);
    b->engine = NULL;
}

static int open_all(be_batch *b, const void *engine, be_error *error) {
    const be_atari_setup *setup = engine;
    if (setup == NULL) {
        return be_fail(error, BE_ERROR_VALUE, -1, "an Atari env is made by an id such as 'ALE/Pong-v5'");
    }
    atari *a = calloc(1, sizeof *a);
    if (a == NULL) return be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
    b->engine = a; /* from here on, close_all() frees it if something fails */
    a->setup = *setup;
    a->type = &be_emulator_ale;
    a->players = setup->cartridge.players;
    if (a->players < 1 || a->players > BE_MAX_PLAYERS) {
        return be_fail(error, BE_ERROR_VALUE, -1, "players=%d must be 1 to %d", a->players, BE_MAX_PLAYERS);
    }
    a->machines = calloc((size_t)b->num_lanes, sizeof *a->machines);
    a->expects = calloc((size_t)b->num_lanes, 1);
    if (a->machines == NULL || a->expects == NULL) return be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
    for (int64_t i = 0; i < b->num_lanes; i++) {
        if (be_interrupted(b, error)) return (int)error->status;
        be_emulator *machine = a->type->open(&a->setup.cartridge, error);
        if (machine == NULL) return (int)error->status;
        a->machines[a->num_machines++] = machine;
        if (i > 0) continue;
        int status = be_stacks_open(&a->stacks, setup, machine, b->num_lanes, error);
        if (status == BE_OK) status = be_atari_starts_find(&a->starts, machine, &a->setup.cartridge, error);
        if (status != BE_OK) return status;
        a->num_actions = setup->num_actions ? setup->num_actions : machine->num_minimal;
        memcpy(a->actions, setup->num_actions ? setup->actions : machine->minimal, sizeof a->actions);
        for (int k = 0; k < a->num_actions; k++) a->has_fire |= a->actions[k] == 1;
    }
    a->setup.cartridge.library = a->setup.cartridge.rom = a->setup.cartridge.name = NULL; /* the caller's */
    return BE_OK;
}

static int64_t to_power(int base, int exponent) {
    int64_t power = 1;
    for (int k = 0; k < exponent; k++) power *= base;
    return power;
}

static int prepare(be_setup *setup, be_error *error) {
    (void)error;
    const atari *a = setup->engine;
    int64_t shape[BE_MAX_DIMS];
    int ndim = 0;
    if (a->setup.stack > 0) shape[ndim++] = a->stacks.stack;
    if (a->setup.observation == BE_ATARI_RAM) {
        shape[ndim++] = BE_RAM_BYTES;
    } else {
        shape[ndim++] = a->stacks.plan.out_height;
        shape[ndim++] = a->stacks.plan.out_width;
        if (a->stacks.channels == 3) shape[ndim++] = 3;
    }
    be_space_box(&setup->space[OBSERVATION], BE_U8, ndim, shape, 0, 255);
    const int several = a->players > 1;
    const int64_t choices[BE_MAX_PLAYERS] = {a->num_actions, a->num_actions, a->num_actions, a->num_actions};
    be_space_discrete(&setup->space[ACTION], a->num_actions);
    if (several) be_space_multi_discrete(&setup->space[ACTION], a->players, choices);
    for (int port = REWARDS; port <= PLAYER_LANES; port++) {
        setup->space[port].ndim = 1;
        setup->space[port].shape[0] = several ? a->players : 0; /* 0: the port is left out */
    }
    return BE_OK;
}

static int check_state(const be_batch *b, const void *const *columns, int64_t count, be_error *error) {
    const atari *a = b->engine;
    for (int64_t i = 0; i < count; i++) {
        if (((const uint64_t *)columns[LAYOUT])[i] != a->setup.layout) {
            return be_fail(error, BE_ERROR_VALUE, -1,
                           "the snapshot was taken of another game, mode, difficulty or form of observations");
        }
        if (((const int32_t *)columns[LAST_ACTION])[i] >= to_power(BE_NUM_ACTIONS, a->players)) {
            return be_fail(error, BE_ERROR_VALUE, -1, "last_action=%d", ((const int32_t *)columns[LAST_ACTION])[i]);
        }
        if (((const int32_t *)columns[NEWEST])[i] >= a->stacks.stack) {
            return be_fail(error, BE_ERROR_VALUE, -1, "newest=%d is not in 0..%d",
                           ((const int32_t *)columns[NEWEST])[i], a->stacks.stack - 1);
        }
    }
    return BE_OK;
}

/* ---- a lane ----------------------------------------------------------------------------------------- */

typedef struct lane {
    be_batch *batch;
    atari *atari;
    be_emulator *machine;
    int64_t index;
    uint8_t *screen, *ram;
    be_rng *rng;
} lane;

static inline lane lane_of(be_batch *b, int64_t index) {
    atari *a = b->engine;
    return (lane){
        .batch = b,
        .atari = a,
        .machine = a->machines[index],
        .index = index,
        .screen = (uint8_t *)b->state[SCREEN] + index * BE_SCREEN_BYTES,
        .ram = (uint8_t *)b->state[RAM] + index * BE_RAM_BYTES,
        .rng = &b->rng[index],
    };
}

#define I32(l, field) ((int32_t *)(l)->batch->state[field])[(l)->index]
#define U8(l, field) ((uint8_t *)(l)->batch->state[field])[(l)->index]
#define I64(l, field) ((int64_t *)(l)->batch->state[field])[(l)->index]

static int damaged(const lane *l, be_error *error) {
    return be_fail(error, BE_ERROR_ENGINE, l->index,
                   "the emulator's state cannot be restored: it is damaged, or there is no memory for it");
}

/* Emulates one frame; adds to the players' points. */
static inline void act(const lane *l, const int *actions, int *points) {
    const atari *a = l->atari;
    if (a->players == 1) {
        points[0] += a->type->act(l->machine, actions[0]);
        return;
    }
    int brought[BE_MAX_PLAYERS];
    a->type->act_players(l->machine, actions, brought);
    for (int k = 0; k < a->players; k++) points[k] += brought[k];
}

/* Says whether the next frames will be looked at. */
static inline void expect(const lane *l, int looks) {
    uint8_t *expects = &l->atari->expects[l->index];
    if (*expects != looks) l->atari->type->expect(l->machine, looks);
    *expects = (uint8_t)looks;
}

/* Loads a state twice, with a frame in between. What a machine holds besides its state, such as a line that is half
 * drawn, is then the same whatever it did before. */
static int put(const lane *l, const void *bytes) {
    const be_emulator_type *type = l->atari->type;
    int points[BE_MAX_PLAYERS] = {0};
    be_stacks_forget(&l->atari->stacks, l->index);
    l->atari->expects[l->index] = 1; /* as load() has it */
    if (!type->load(l->machine, bytes)) return 0;
    act(l, (const int[BE_MAX_PLAYERS]){0}, points);
    return type->load(l->machine, bytes);
}

static int start_game(const lane *l, be_error *error) {
    const atari *a = l->atari;
    const uint8_t *start = be_atari_start(&a->starts, be_rng_next64(l->rng) >> 32);
    if (!put(l, start)) return damaged(l, error);
    memcpy(l->screen, be_atari_start_screen(&a->starts, start), BE_SCREEN_BYTES);
    memcpy(l->ram, be_atari_start_ram(&a->starts, start), BE_RAM_BYTES);
    I32(l, EPISODE_FRAME) = a->starts.frames;
    I32(l, LAST_ACTION) = 0;
    U8(l, OVER) = 0;
    return BE_OK;
}

/* Takes one frame of a lane, and counts it; adds to the players' points. */
static inline void take_frame(const lane *l, const int *actions, int *points) {
    int joysticks = 0;
    act(l, actions, points);
    for (int k = l->atari->players; k-- > 0;) joysticks = joysticks * BE_NUM_ACTIONS + actions[k];
    I32(l, EPISODE_FRAME)++;
    I32(l, FRAME_NUMBER) = (int32_t)((uint32_t)I32(l, FRAME_NUMBER) + 1) & INT32_MAX;
    I32(l, LAST_ACTION) = joysticks;
}

/* Takes one frame of an episode's start: all players do the same, and their points do not count. Only the `last` frame
 * is looked at. */
static void start_frame(const lane *l, int action, int last) {
    int points[BE_MAX_PLAYERS] = {0};
    expect(l, last);
    take_frame(l, (const int[BE_MAX_PLAYERS]){action, action, action, action}, points);
}

/* Writes what the players do in the next frame: with this chance, a player repeats the last frame's action. */
static inline void stick(const lane *l, double chance, const int *wanted, int *actions) {
    int last = I32(l, LAST_ACTION);
    for (int k = 0; k < l->atari->players; k++, last /= BE_NUM_ACTIONS) {
        const int repeats = chance > 0 && be_rng_double(l->rng) < chance;
        actions[k] = repeats ? last % BE_NUM_ACTIONS : wanted[k];
    }
}

/* Writes the lane's observation. */
static inline void write_observation(const lane *l, const be_rows *rows) {
    const be_stacks *stacks = &l->atari->stacks;
    uint8_t *row = BE_ROW(uint8_t, rows->port[OBSERVATION], rows, l->index, (int64_t)stacks->lane_bytes);
    be_stacks_write(stacks, l->index, I32(l, NEWEST), row);
}

/* Looks at the machine after a frame, and at the frame before it if `both` is 1, and makes the observation's newest
 * frame. */
static void look(const lane *l, int both) {
    be_pictures pictures;
    l->atari->type->look(l->machine, both, &pictures);
    l->atari->type->ram(l->machine, l->ram);
    be_stacks_add(&l->atari->stacks, l->index, &I32(l, NEWEST), &pictures, l->ram, l->screen);
}

static void tell(const lane *l, int life_lost, const be_rows *rows) {
    const int64_t row = l->index - rows->first;
    const int players = l->atari->players;
    ((int32_t *)rows->port[INFO_LIVES])[row] = I32(l, LIVES);
    ((int32_t *)rows->port[INFO_EPISODE_FRAME])[row] = I32(l, EPISODE_FRAME);
    ((int32_t *)rows->port[INFO_FRAME])[row] = I32(l, FRAME_NUMBER);
    ((uint8_t *)rows->port[INFO_LIFE_LOST])[row] = (uint8_t)life_lost;
    if (players == 1) return;
    l->atari->type->player_lives(l->machine, BE_ROW(int32_t, rows->port[PLAYER_LIVES], rows, l->index, players));
    int32_t *lanes = BE_ROW(int32_t, rows->port[PLAYER_LANES], rows, l->index, players);
    for (int k = 0; k < players; k++) lanes[k] = (int32_t)l->index;
}

/* ---- the type --------------------------------------------------------------------------------------- */

/* Whether the episode ended with a lost life, and the next one goes on in the same game: not after a reset with a
 * seed. */
static int same_game(const lane *l) {
    return U8(l, LIFE_LOST) && !U8(l, OVER) && I64(l, MARK) == (int64_t)l->rng->state_lo;
}

static int goes_on(be_batch *b, int64_t index) {
    const lane l = lane_of(b, index);
    return b->params[STATISTICS] == GAMES && same_game(&l);
}

static int reset_lane(const lane *l, const be_rows *rows, be_error *error) {
    const be_batch *b = l->batch;
    const atari *a = l->atari;
    const int fire = a->has_fire && b->params[USE_FIRE_RESET] != 0;
    int status = BE_OK;
    if (same_game(l)) {
        if (!fire) start_frame(l, 0, 1);
    } else {
        I64(l, LAYOUT) = (int64_t)a->setup.layout;
        status = start_game(l, error);
        const int noop_max = (int)b->params[NOOP_MAX];
        int noops = noop_max ? 1 + (int)((be_rng_next64(l->rng) >> 32) * (uint64_t)noop_max >> 32) - fire : 0;
        for (; noops > 0 && status == BE_OK; noops--) {
            start_frame(l, 0, noops == 1 && !fire);
            if (a->type->over(l->machine)) status = start_game(l, error);
        }
    }
    if (status != BE_OK) return status;
    if (fire) {
        start_frame(l, 1, 1);
        if (a->type->over(l->machine)) status = start_game(l, error);
        if (status != BE_OK) return status;
    }
    if (I32(l, EPISODE_FRAME) != a->starts.frames) {
        look(l, 0);
    } else { /* no frame has been taken since start_game wrote the start state's screen and memory */
        be_stacks_add(&a->stacks, l->index, &I32(l, NEWEST), &(be_pictures){.now = l->screen}, l->ram, l->screen);
    }
    be_stacks_fill(&a->stacks, l->index, I32(l, NEWEST));
    I32(l, LIVES) = a->type->lives(l->machine);
    U8(l, LIFE_LOST) = 0;
    I64(l, MARK) = (int64_t)l->rng->state_lo;
    write_observation(l, rows);
    tell(l, 0, rows);
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        const lane l = lane_of(b, lanes[k]);
        const int status = reset_lane(&l, rows, error);
        if (status != BE_OK) return status;
    }
    return BE_OK;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) {
        const lane l = lane_of(b, lanes[k]);
        write_observation(&l, rows);
    }
    return BE_OK;
}

/* Whether a life has been lost and another one begins. A few games are played on, or show their end, with 0 lives. */
static int is_next_life(int now, int before) { return now < before && now > 0; }

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const lane l = lane_of(b, begin);
    const atari *a = l.atari;
    const int64_t row = begin - rows->first;
    const int skip = (int)b->params[FRAMESKIP], episodic = b->params[EPISODIC_LIFE] != 0;
    const int pooling = b->params[MAXPOOL] != 0 && skip > 1 && !a->stacks.of_ram;
    const int32_t most = b->params[MAX_FRAMES] != 0 ? (int32_t)b->params[MAX_FRAMES] : INT32_MAX;
    const double sticky = be_param_of(b, STICKY, begin);
    const int lives = I32(&l, LIVES);
    int points[BE_MAX_PLAYERS] = {0}, wanted[BE_MAX_PLAYERS], actions[BE_MAX_PLAYERS];
    int over = 0, truncated = 0, next_life = 0, pooled = 0;
    const int64_t *action = BE_ROW(const int64_t, rows->port[ACTION], rows, begin, a->players);
    if (U8(&l, OVER)) return damaged(&l, error);
    for (int k = 0; k < a->players; k++) wanted[k] = a->actions[action[k]];
    for (int frame = 0; frame < skip && !over && !truncated && !next_life; frame++) {
        stick(&l, sticky, wanted, actions);
        expect(&l, frame >= skip - 1 - pooling);
        take_frame(&l, actions, points);
        over = a->type->over(l.machine);
        truncated = I32(&l, EPISODE_FRAME) >= most;
        if (episodic) next_life = is_next_life(a->type->lives(l.machine), lives);
        pooled = pooling && frame == skip - 1;
    }
    /* If the episode ends before the step's last frame, its last frame is shown alone. */
    look(&l, pooled);
    I32(&l, LIVES) = a->type->lives(l.machine);
    U8(&l, OVER) = (uint8_t)(over || truncated);
    U8(&l, LIFE_LOST) = (uint8_t)next_life;
    I64(&l, MARK) = (int64_t)l.rng->state_lo;
    rows->reward[row] = points[0];
    if (a->players > 1) {
        double *rewards = BE_ROW(double, rows->port[REWARDS], rows, begin, a->players);
        for (int k = 0; k < a->players; k++) rewards[k] = points[k];
    }
    rows->terminated[row] = (uint8_t)(over || next_life);
    rows->truncated[row] = (uint8_t)truncated;
    write_observation(&l, rows);
    tell(&l, I32(&l, LIVES) < lives, rows);
    return BE_OK;
}

/* ---- snapshots -------------------------------------------------------------------------------------- */

static size_t ring_bytes(const atari *a) { return (a->stacks.lane_bytes + 7) / 8 * 8; }

static size_t saved_bytes(const be_batch *b) {
    const atari *a = b->engine;
    return a->starts.state_bytes + ring_bytes(a);
}

static void save(const be_batch *b, int64_t index, void *bytes) {
    const atari *a = b->engine;
    unsigned char *ring = (unsigned char *)bytes + a->starts.state_bytes;
    a->type->save(a->machines[index], bytes);
    memset(ring, 0, ring_bytes(a));
    memcpy(ring, be_stacks_ring(&a->stacks, index), a->stacks.lane_bytes);
}

static void load(be_batch *b, int64_t index, const void *bytes) {
    const lane l = lane_of(b, index);
    const be_stacks *stacks = &l.atari->stacks;
    const unsigned char *ring = (const unsigned char *)bytes + l.atari->starts.state_bytes;
    memcpy(be_stacks_ring(stacks, index), ring, stacks->lane_bytes);
    if (!put(&l, bytes)) U8(&l, OVER) = 1; /* the next step fails */
}

/* The whole screen, in the colours of the game's television standard. */
static void picture(const be_batch *b, int64_t index, int *rows, int *columns, uint8_t *rgb) {
    const atari *a = b->engine;
    const be_emulator *machine = a->machines[index];
    const uint8_t *screen = (const uint8_t *)b->state[SCREEN] + index * BE_SCREEN_BYTES;
    *rows = machine->height;
    *columns = BE_SCREEN_WIDTH;
    for (int i = 0; rgb != NULL && i < *rows * *columns; i++) {
        const uint32_t colour = machine->palette[screen[i]];
        for (int c = 0; c < 3; c++) rgb[3 * i + c] = (uint8_t)(colour >> (16 - 8 * c));
    }
}

BE_ENV(atari) = {
    .abi = BE_ABI,
    .name = "Atari",
    .family = "Atari",
    .ports = ports,
    .state = state,
    .params = params,
    .flags = BE_LANE_BY_LANE,
    .prepare = prepare,
    .check_state = check_state,
    .reset = reset,
    .observe = observe,
    .step = step,
    .open = open_all,
    .close = close_all,
    .saved_bytes = saved_bytes,
    .save = save,
    .load = load,
    .goes_on = goes_on,
    .picture = picture,
};
