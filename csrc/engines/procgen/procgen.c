/* The 16 games of Procgen. A lane is a machine: a game of the library with its own sequence of levels.
 *
 * A seed makes a new machine, as gym3's ProcgenGym3Env(num=1, rand_seed=seed) is made; episodes without a seed are
 * those that the library goes on with. The library has no reset: the step that ends an episode already draws the next
 * one's first frame, and never the last one of the old. So the step shows again what was shown before it, and the reset
 * that follows shows what the library has drawn.
 */
#include "engines/procgen/procgen.h"

#include <stdlib.h>
#include <string.h>

#include "engines/procgen/machine.h"
#include "random_state.h"

enum { FRAME, LEVEL_SEED, OVER, RANDOM_STATE };
static const be_field state[] = {
    [FRAME] = {"frame", BE_U8, BE_FRAME_BYTES, "what is seen: rows of red, green and blue"},
    [LEVEL_SEED] = {"level_seed", BE_I32, 1, "the level that the library is in"},
    [OVER] = {"over", BE_BOOL, 1, "the episode has ended, and the library is in the next one"},
    [RANDOM_STATE] = BE_RANDOM_STATE_FIELD,
    {0},
};

enum { ACTION, OBSERVATION, PREV_LEVEL_SEED, PREV_LEVEL_COMPLETE, INFO_LEVEL_SEED };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(BE_ACTIONS)},
    [OBSERVATION] = {"", BE_OBSERVATION, BE_BOX(BE_U8, 0, 255, BE_FRAME_SIDE, BE_FRAME_SIDE, 3)},
    [PREV_LEVEL_SEED] = {"prev_level_seed", BE_INFO, BE_VALUE(BE_I32), .doc = "the level of the step"},
    [PREV_LEVEL_COMPLETE] = {"prev_level_complete", BE_INFO, BE_VALUE(BE_U8), .doc = "1: the step has completed it"},
    [INFO_LEVEL_SEED] = {"level_seed", BE_INFO, BE_VALUE(BE_I32),
                         .doc = "the level after the step: if the episode has ended, the next one's"},
    {0},
};

enum {
    GAME,
    MODE,
    NUM_LEVELS,
    START_LEVEL,
    DEBUG_MODE,
    FLAGS, /* the first of them, in the order of machine.h */
    RENDER_HUMAN = FLAGS + BE_NUM_FLAGS,
    CHANNEL_FIRST,
};
#define FLAG(which) [FLAGS + (which)]
static const be_param params[] = {
    [GAME] = {"game", BE_PARAM_CHOICE, 5, 0, 0, be_procgen_games, "the game", .per_lane = 1},
    [MODE] = {"distribution_mode", BE_PARAM_CHOICE, BE_HARD, 0, 0, be_procgen_modes,
              "how hard levels are; not every game has the last three", .per_lane = 1},
    [NUM_LEVELS] = {"num_levels", BE_PARAM_INT, 0, 0, INT32_MAX, NULL,
                    "how many levels there are, from start_level on; 0: all, and start_level does not count",
                    .per_lane = 1},
    [START_LEVEL] = {"start_level", BE_PARAM_INT, 0, 0, INT32_MAX, NULL, "the first of num_levels levels",
                     .per_lane = 1},
    [DEBUG_MODE] = {"debug_mode", BE_PARAM_INT, 0, 0, INT32_MAX, NULL,
                    "coinrun: + 2 has levels without pits, + 4 without crates, + 8 without steps", .per_lane = 1},
    FLAG(BE_SEQUENTIAL_LEVELS) = {"use_sequential_levels", BE_PARAM_BOOL, 0, 0, 1, NULL,
                                  "a completed level leads on to another in the same episode", .per_lane = 1},
    FLAG(BE_CENTER_AGENT) = {"center_agent", BE_PARAM_BOOL, 1, 0, 1, NULL,
                             "the agent is in the middle, instead of the whole level being seen", .per_lane = 1},
    FLAG(BE_BACKGROUNDS) = {"use_backgrounds", BE_PARAM_BOOL, 1, 0, 1, NULL, "pictures behind levels; else black",
                            .per_lane = 1},
    FLAG(BE_GENERATED_ASSETS) = {"use_generated_assets", BE_PARAM_BOOL, 0, 0, 1, NULL,
                                 "random pictures of things instead of those of files; there are no snapshots",
                                 .per_lane = 1},
    FLAG(BE_MONOCHROME_ASSETS) = {"use_monochrome_assets", BE_PARAM_BOOL, 0, 0, 1, NULL,
                                  "things are rectangles of one colour", .per_lane = 1},
    FLAG(BE_RESTRICT_THEMES) = {"restrict_themes", BE_PARAM_BOOL, 0, 0, 1, NULL,
                                "things of a kind look the same in all levels", .per_lane = 1},
    FLAG(BE_PAINT_VELOCITY) = {"paint_vel_info", BE_PARAM_BOOL, 0, 0, 1, NULL,
                               "two squares at the top left show the agent's velocity", .per_lane = 1},
    [RENDER_HUMAN] = {"render_human", BE_PARAM_BOOL, 0, 0, 1, NULL,
                      "render() draws 512 x 512 pixels, instead of showing the observation"},
    [CHANNEL_FIRST] = {"channel_first", BE_PARAM_BOOL, 0, 0, 1, NULL, "observations of shape (3, 64, 64)"},
    {0},
};

/* ---- the engine ------------------------------------------------------------------------------------- */

typedef struct procgen {
    int64_t num_lanes;
    be_machine *machines[]; /* one per lane; NULL: it has not been seeded, or has failed */
} procgen;

static void close_all(be_batch *b) {
    procgen *p = b->engine;
    for (int64_t i = 0; i < p->num_lanes; i++) be_machine_close(p->machines[i]);
    free(p);
    b->engine = NULL;
}

static int open_all(be_batch *b, const void *engine, be_error *error) {
    if (engine == NULL) {
        return be_fail(error, BE_ERROR_VALUE, -1, "a Procgen env is made by an id such as 'procgen-coinrun-v0'");
    }
    const int status = be_procgen_open(engine, error);
    if (status != BE_OK) return status;
    procgen *p = calloc(1, sizeof *p + (size_t)b->num_lanes * sizeof *p->machines);
    if (p == NULL) return be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
    p->num_lanes = b->num_lanes;
    b->engine = p;
    return BE_OK;
}

static void read_options(const double *values, be_procgen_options *options) {
    *options = (be_procgen_options){
        .game = (int32_t)values[GAME],
        .mode = (int32_t)values[MODE],
        .num_levels = (int32_t)values[NUM_LEVELS],
        .start_level = (int32_t)values[START_LEVEL],
        .debug_mode = (int32_t)values[DEBUG_MODE],
    };
    for (int k = 0; k < BE_NUM_FLAGS; k++) options->flags |= (values[FLAGS + k] != 0) << k;
}

static int prepare(be_setup *setup, be_error *error) {
    static const int64_t shape[] = {3, BE_FRAME_SIDE, BE_FRAME_SIDE};
    be_procgen_options options;
    read_options(setup->params, &options);
    if (setup->params[CHANNEL_FIRST] != 0) be_space_box(&setup->space[OBSERVATION], BE_U8, 3, shape, 0, 255);
    return be_procgen_check(&options, error);
}

/* ---- a lane ----------------------------------------------------------------------------------------- */

typedef struct lane {
    be_batch *batch;
    int64_t index;
    be_machine **machine;
    uint8_t *frame, *over;
    be_random_state *stream;
} lane;

static inline lane lane_of(be_batch *b, int64_t index) {
    procgen *p = b->engine;
    return (lane){
        .batch = b,
        .index = index,
        .machine = &p->machines[index],
        .frame = (uint8_t *)b->state[FRAME] + index * BE_FRAME_BYTES,
        .over = (uint8_t *)b->state[OVER] + index,
        .stream = (be_random_state *)b->state[RANDOM_STATE] + index,
    };
}

/* The options that the lane's params have now. */
static void wanted_options(const lane *l, be_procgen_options *options) {
    double values[RENDER_HUMAN];
    for (int k = 0; k < RENDER_HUMAN; k++) values[k] = be_param_of(l->batch, k, l->index);
    read_options(values, options);
}

/* Copies the frame to the lane's observation. */
static void write_observation(const lane *l, const be_rows *rows) {
    uint8_t *restrict row = BE_ROW(uint8_t, rows->port[OBSERVATION], rows, l->index, BE_FRAME_BYTES);
    const uint8_t *restrict frame = l->frame;
    if (l->batch->params[CHANNEL_FIRST] == 0) {
        memcpy(row, frame, BE_FRAME_BYTES);
        return;
    }
    enum { PIXELS = BE_FRAME_SIDE * BE_FRAME_SIDE };
    for (int i = 0; i < PIXELS; i++) {
        row[i] = frame[3 * i];
        row[PIXELS + i] = frame[3 * i + 1];
        row[2 * PIXELS + i] = frame[3 * i + 2];
    }
}

static void tell(const lane *l, const be_rows *rows) {
    const be_machine *m = *l->machine;
    const int64_t row = l->index - rows->first;
    ((int32_t *)rows->port[PREV_LEVEL_SEED])[row] = m->prev_level_seed;
    ((uint8_t *)rows->port[PREV_LEVEL_COMPLETE])[row] = m->prev_level_complete;
    ((int32_t *)rows->port[INFO_LEVEL_SEED])[row] = m->level_seed;
    ((int32_t *)l->batch->state[LEVEL_SEED])[l->index] = m->level_seed;
}

static int fail(const lane *l, int status) {
    be_machine *m = *l->machine;
    *l->machine = NULL; /* first: a child of a fork in between does not find it */
    be_machine_close(m);
    return status;
}

/* The seed of a lane that has been seeded, if it is a number of 32 bits; or else a number that is drawn. */
static uint32_t machine_seed(const lane *l) {
    be_random_state *stream = l->stream;
    const uint32_t seed = stream->key[0];
    const int is_seed = be_random_state_is_fresh(stream) && stream->key[1] == 1812433253u * (seed ^ seed >> 30) + 1;
    const uint32_t drawn = be_random_state_next32(stream); /* the stream is not fresh any more */
    return is_seed ? seed : drawn;
}

/* ---- the type --------------------------------------------------------------------------------------- */

static int reset_lane(const lane *l, const be_rows *rows, be_error *error) {
    be_machine *m = *l->machine;
    be_procgen_options options;
    wanted_options(l, &options);
    if (m == NULL || !be_machine_is_whole(m) || be_random_state_is_fresh(l->stream) ||
        memcmp(&m->options, &options, sizeof options) != 0) {
        (void)fail(l, BE_OK);
        m = *l->machine = be_machine_new(&options, machine_seed(l), error);
        if (m == NULL) return (int)error->status;
    } else if (!*l->over) {
        const int status = be_machine_act(m, BE_NEXT_LEVEL, error);
        if (status != BE_OK) return fail(l, status);
    }
    *l->over = 0;
    memcpy(l->frame, m->frame, BE_FRAME_BYTES);
    write_observation(l, rows);
    tell(l, rows);
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

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const lane l = lane_of(b, begin);
    const int64_t row = begin - rows->first;
    be_machine *m = *l.machine;
    if (m == NULL) {
        return be_fail(
            error, BE_ERROR_ENGINE, begin,
            "the game's state cannot be restored: it is damaged, there is no memory for it, or it was of a game "
            "with use_generated_assets, which the library cannot save");
    }
    const int status = be_machine_act(m, (int32_t)((const int64_t *)rows->port[ACTION])[row], error);
    if (status != BE_OK) return fail(&l, status);
    *l.over = m->first;
    if (!m->first) memcpy(l.frame, m->frame, BE_FRAME_BYTES);
    rows->reward[row] = (double)m->reward;
    rows->terminated[row] = m->first;
    write_observation(&l, rows);
    tell(&l, rows);
    return BE_OK;
}

/* ---- snapshots -------------------------------------------------------------------------------------- */

/* What comes before the library's bytes. */
typedef struct state_header {
    uint64_t digest; /* of all that follows */
    be_procgen_options options;
    uint32_t bytes; /* 0: there is no state */
} state_header;

#define STATE_BYTES (128 << 10) /* most were 46 kB */
enum { SAVED_BYTES = sizeof(state_header) + STATE_BYTES };

static uint64_t digest(const unsigned char *bytes, size_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t k = 0; k + 8 <= count; k += 8) {
        uint64_t word;
        memcpy(&word, bytes + k, 8);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash;
}

static size_t saved_bytes(const be_batch *b) {
    (void)b;
    return SAVED_BYTES;
}

static void save(const be_batch *b, int64_t index, void *bytes) {
    const procgen *p = b->engine;
    be_machine *m = p->machines[index];
    state_header header = {0};
    memset(bytes, 0, SAVED_BYTES);
    if (m) {
        header.options = m->options;
        header.bytes = (uint32_t)be_machine_save(m, (char *)bytes + sizeof header, STATE_BYTES);
    }
    memcpy(bytes, &header, sizeof header);
    header.digest = digest((const unsigned char *)bytes + sizeof header.digest, SAVED_BYTES - sizeof header.digest);
    memcpy(bytes, &header.digest, sizeof header.digest);
}

/* Puts a lane into a state that save() has written. If that fails, its next step does, too. */
static void load(be_batch *b, int64_t index, const void *bytes) {
    const lane l = lane_of(b, index);
    state_header header;
    be_error error;
    memcpy(&header, bytes, sizeof header);
    const int sound = header.digest ==
                      digest((const unsigned char *)bytes + sizeof header.digest, SAVED_BYTES - sizeof header.digest);
    if (!sound || header.bytes == 0 || header.bytes > STATE_BYTES ||
        be_procgen_check(&header.options, &error) != BE_OK) {
        fail(&l, BE_OK);
        return;
    }
    const be_machine *m = *l.machine;
    if (m == NULL || !be_machine_is_whole(m) || memcmp(&m->options, &header.options, sizeof header.options) != 0) {
        (void)fail(&l, BE_OK);
        *l.machine = be_machine_new(&header.options, 0, &error);
    }
    if (*l.machine == NULL) return;
    const char *saved = (const char *)bytes + sizeof header;
    if (be_machine_load(*l.machine, saved, header.bytes, &error) != BE_OK) fail(&l, BE_OK);
}

/* ---- pictures --------------------------------------------------------------------------------------- */

/* The frame as it is, or enlarged `by` times. */
static void enlarge(const uint8_t *frame, int by, uint8_t *rgb) {
    const int side = BE_FRAME_SIDE * by;
    for (int i = 0; i < side; i++) {
        const uint8_t *row = frame + i / by * BE_FRAME_SIDE * 3;
        for (int j = 0; j < side; j++, rgb += 3) memcpy(rgb, row + j / by * 3, 3);
    }
}

static void draw(const be_batch *b, int64_t index, int *rows, int *columns, uint8_t *rgb) {
    const procgen *p = b->engine;
    const uint8_t *frame = (const uint8_t *)b->state[FRAME] + index * BE_FRAME_BYTES;
    const int large = b->params[RENDER_HUMAN] != 0, by = large ? BE_PICTURE_SIDE / BE_FRAME_SIDE : 1;
    *rows = *columns = BE_FRAME_SIDE * by;
    if (rgb == NULL) return;
    /* Of an episode that has ended there is nothing but its last frame: the library is in the next one. */
    const int drawable = large && p->machines[index] && !((const uint8_t *)b->state[OVER])[index];
    if (!drawable || !be_machine_draw(p->machines[index], rgb)) enlarge(frame, by, rgb);
}

BE_ENV(procgen) = {
    .abi = BE_ABI,
    .name = "Procgen",
    .family = "Procgen",
    .frames_per_second = 15,
    .ports = ports,
    .state = state,
    .params = params,
    .flags = BE_LANE_BY_LANE | BE_RANDOM_STATE,
    .prepare = prepare,
    .reset = reset,
    .observe = observe,
    .step = step,
    .open = open_all,
    .close = close_all,
    .saved_bytes = saved_bytes,
    .save = save,
    .load = load,
    .picture = draw,
};
