/* batchenv: the contract between an env and the driver. The author of an env includes this header, and any other header
 * of this folder that the env needs.
 *
 * An env is one C file. It describes a *lane* (one copy of the env: its state, parameters, spaces) in tables,
 * and steps a *range of lanes* in a plain loop. Everything else is written once, in core/: memory, seeding,
 * time limits, the autoreset modes, action checks, threads, snapshots. What calls the functions of envs there is the
 * *driver*: core/isa/step.c for steps, core/episode.c for resets. No C code here depends on Python.
 *
 * A kernel file is compiled once per instruction set (see simd.h), and ends with
 *
 *     BE_ENV(cartpole) = { .abi = BE_ABI, .name = "CartPole", ... };
 *
 * Nothing else is needed for the env to be found. csrc/envs/toy_text/nchain.c is a short example; CONTRIBUTING.md
 * walks through it. */
#ifndef BATCHENV_H
#define BATCHENV_H

#include <stddef.h>
#include <stdint.h>

#include "rng.h"
#include "simd.h"

/* The version of this contract. A library records the version that it was compiled with; libraries of any other version
 * are refused. */
#define BE_ABI 7u

/* Functions that an env may call are visible to libraries that are loaded later; everything else in batchenv is
 * compiled with -fvisibility=hidden. */
#pragma GCC visibility push(default)

/* ---- errors --------------------------------------------------------------------------------------- */

typedef enum be_status {
    BE_OK = 0,
    BE_ERROR_VALUE,  /* a bad value: ValueError */
    BE_ERROR_MEMORY, /* out of memory */
    BE_ERROR_ENGINE, /* a lane's simulator failed; `lane` says which */
} be_status;

typedef struct be_error {
    be_status status;
    int64_t lane; /* -1: the error is not about one lane */
    char message[512];
} be_error;

/* Fills `error` (printf format; say the value, the rule and the fix) and returns `status`. */
int be_fail(be_error *error, be_status status, int64_t lane, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- tables --------------------------------------------------------------------------------------- */

typedef enum be_dtype { BE_BOOL, BE_U8, BE_I32, BE_I64, BE_F32, BE_F64, BE_I8 } be_dtype;

static inline size_t be_dtype_size(be_dtype dtype) {
    static const size_t sizes[] = {1, 1, 4, 8, 4, 8, 1};
    return sizes[dtype];
}

/* A field of a lane's state. Its column (num_lanes x size values, 64-byte aligned) is batch->state[index]. Fields and
 * the driver's own columns hold everything that determines what the lane does next. Snapshots, env.state and debug
 * output come from this table. */
typedef struct be_field {
    const char *name; /* NULL ends a table */
    be_dtype dtype;
    int size; /* values per lane; prepare() may change it */
    const char *doc;
    /* Integer fields: the closed range in which restored values must lie; if both are 0, any value is accepted. A field
     * that is used as an index needs a range or a check_state(). */
    int64_t low, high;
} be_field;

typedef enum be_param_kind {
    BE_PARAM_FLOAT,
    BE_PARAM_INT,
    BE_PARAM_BOOL,
    BE_PARAM_CHOICE,
    BE_PARAM_TEXT,
} be_param_kind;

#define BE_MAX_TEXT (1 << 20) /* bytes of a TEXT, without the 0 at its end */

/* A constant that the user may set: a keyword of make(). Values are stored as doubles: an INT is a whole number, a BOOL
 * 0 or 1, a CHOICE an index. FLOAT params may differ from lane to lane, unless they are marked `shared`. All others
 * have one value for all lanes, unless they are marked `per_lane`: the env then reads them with be_param_of() or
 * be_param_at(), as it does with FLOAT params, and not from batch->params.
 *
 * A TEXT is UTF-8 of at most BE_MAX_TEXT bytes, such as a level, or the path of a file, which the env opens itself. Its
 * place among the numbers holds 0; the text is setup->texts[index] and batch->texts[index], never NULL. All lanes have
 * the same, from before open() until after close(): a text cannot be changed once the env is made, and snapshots are
 * refused by envs with another one. The pointers belong to the driver: do not free them, and copy what outlives the
 * batch. prepare(), which may run many times, is the place to refuse a text; what it finds out of a text goes into
 * constants or, if that is large, into what open() makes. */
typedef struct be_param {
    const char *name; /* NULL ends a table */
    be_param_kind kind;
    double value;               /* default */
    double low, high;           /* FLOAT, INT: the closed range of allowed values, which must also be finite */
    const char *const *choices; /* CHOICE: NULL-terminated */
    const char *doc;            /* one line, with the unit */
    int shared;                 /* FLOAT: 1: one value for all lanes */
    int per_lane;               /* INT, BOOL, CHOICE: 1: they may differ from lane to lane */
    const char *text;           /* TEXT: default; NULL is "" */
} be_param;

static inline int be_may_differ(const be_param *param) {
    return param->kind == BE_PARAM_FLOAT ? !param->shared : param->per_lane;
}

#define BE_MAX_SETTINGS 8

/* The value that an id gives to a keyword. */
typedef struct be_setting {
    const char *name; /* a param of the type */
    double value;     /* as in be_param */
    /* Or a text: for a CHOICE, a TEXT, or for a keyword that Python translates. A type that reads a model may set
     * `xml_file`, the model's file; if that is no absolute path, it is relative to the folder of the C file (of the
     * library, where batchenv.load() loads one). */
    const char *text;
} be_setting;

/* An id under which users make envs of the type, with its limits and the keywords that it sets. */
typedef struct be_id {
    const char *name;                     /* such as "CartPole-v1": a name and a version; NULL ends a table */
    int32_t max_episode_steps;            /* 0: no limit */
    const double *reward_threshold;       /* BE_THRESHOLD(475.0), at which the task counts as solved; or NULL */
    be_setting settings[BE_MAX_SETTINGS]; /* the first one without a name ends the list */
    int unlisted;                         /* 1: for tests and benchmarks, not shown to users */
} be_id;

#define BE_THRESHOLD(value) (&(const double){value})

/* What a type reads of its simulator's model, for simulators whose models users choose: rows of the model's arrays, by
 * the names of the things that the rows belong to. For MuJoCo:
 *     {"sensordata", "sensor", "gyro"}     the numbers of one sensor
 *     {"geom_xpos", "geom", ".*_foot"}     the places of all geoms with such names: a regular expression
 *     {"cfrc_ext"}                         the whole array
 *     {"xpos", "body", "@main_body"}       the place of the body that the keyword `main_body` names */
typedef struct be_read {
    const char *array;  /* NULL ends a table */
    const char *object; /* NULL: the whole array */
    const char *name;
} be_read;

/* What of the simulator's model differs from episode to episode, for simulators whose lanes may have models of their
 * own: numbers that are drawn when an episode starts. For MuJoCo (be_mujoco_draw_model in mujoco_task.h):
 *     {"geom_friction", ".*_foot", BE_SCALE, 0.5, 1.5, .columns = BE_COLUMN(0), .together = 1}
 *     {"body_mass", "trunk", BE_ADD, -0.5, 1, .with_inertia = 1}
 *     {"dof_armature", NULL, BE_SET, 0.001, 0.1, BE_LOG_UNIFORM}
 *     {"actuator_gainprm", NULL, BE_SCALE, 1, 0.1, BE_NORMAL, .columns = BE_COLUMN(0)} */
typedef enum be_change { BE_SCALE, BE_ADD, BE_SET } be_change;
typedef enum be_distribution { BE_UNIFORM, BE_LOG_UNIFORM, BE_NORMAL } be_distribution;
#define BE_COLUMN(k) (1u << (k))
typedef struct be_drawn {
    const char *field; /* NULL ends a table */
    const char *name;  /* of the thing, or a regular expression; for degrees of freedom, the joints'; NULL: of all */
    be_change change;  /* what is done with the numbers that the model has */
    double low, high;  /* the numbers drawn are between them; BE_NORMAL: a mean and a deviation */
    be_distribution distribution;
    unsigned columns; /* which of each thing's numbers: BE_COLUMN(0) | ...; 0: all */
    int together;     /* 1: all things get the same numbers, instead of each its own */
    int with_inertia; /* 1, of body_mass: body_inertia is scaled as the mass, as that of a body of another density */
} be_drawn;

#define BE_MAX_FIELDS 64
#define BE_MAX_FIELD_SIZE (1 << 24) /* values per lane */
#define BE_MAX_PORTS 32
#define BE_MAX_PARAMS 64
#define BE_MAX_CONSTANTS 32
#define BE_MAX_BOUNDS 32
#define BE_MAX_DIMS 4

typedef enum be_space_kind {
    BE_SPACE_BOX,
    BE_SPACE_DISCRETE,
    BE_SPACE_MULTI_DISCRETE,
    BE_SPACE_MULTI_BINARY,
    BE_SPACE_TUPLE, /* of a whole observation: a Tuple of shape[0] Discrete spaces; a row holds their values */
    BE_SPACE_TEXT,  /* of observations alone: a text. A row holds its code, one int64 or several */
} be_space_kind;

/* The space of what goes through one port of one lane. */
typedef struct be_space {
    be_space_kind kind;
    be_dtype dtype; /* BOX: any; MULTI_BINARY: BE_I8; the others: BE_I64 */
    int ndim;       /* 0: one value */
    int64_t shape[BE_MAX_DIMS];
    /* The closed range of each value, in row order; if there are more than BE_MAX_BOUNDS values, low[0] and high[0]
     * apply to all of them. A Discrete space of n values from `start` on has low[0] = start and high[0] = start + n -
     * 1. Texts with the codes 0 to n - 1 have high[0] = n - 1. */
    double low[BE_MAX_BOUNDS], high[BE_MAX_BOUNDS];
} be_space;

/* How many values are possible at position j of a row. Not for a BOX or a TEXT. */
static inline int64_t be_space_choices(const be_space *space, int64_t j) {
    return (int64_t)(space->high[j] - space->low[j]) + 1;
}

/* ---- ports ---------------------------------------------------------------------------------------- */

/* What a port is for. BE_REWARD is for rewards beside the lane's own, such as those of several players: values of
 * BE_F64 that each step writes and no reset does. The driver scales, clips and sums them as it does with the lane's
 * reward, and users find them among the infos, in every step. */
typedef enum be_role { BE_ACTION, BE_OBSERVATION, BE_INFO, BE_REWARD } be_role;

/* When a lane reports an info. In steps where it does not, the info's value is 0 and its mask is False. */
typedef enum be_when {
    BE_ALWAYS,
    BE_IN_STEPS,    /* not in the first of an episode */
    BE_WHERE_NOT_0, /* where its value is not 0 */
} be_when;

typedef struct be_env_type be_env_type;

/* Writes the text that a code stands for, as snprintf does: at most `size` bytes of UTF-8, the last of which is 0, and
 * returns how many the whole text has, without the 0. Returns -1 if the code stands for no text. It is called when a
 * user reads a text, and once for each code: so a step costs no more than writing the code, however long texts are. */
typedef int be_write_text(const be_env_type *type, const int64_t *code, char *text, int size);

/* A port is an array that goes into a lane or comes out of it, one row per step: rows->port[index]. Reward, terminated
 * and truncated are in be_rows too; everything else is in the type's table of ports.
 *
 * A port's name is its place in the action or the observation: "" is the whole, "image" the part `image` of a Dict,
 * "0" the first part of a Tuple, "arm/0" the first part of the Tuple that is the part `arm` of a Dict. The name of an
 * info or of further rewards is their key in infos: "speed" is infos["speed"], "arm/speed" is infos["arm"]["speed"].
 *
 *     enum { ACTION, IMAGE, DIRECTION, STEPS_LEFT };
 *     static const be_port ports[] = {
 *         [ACTION] = {"", BE_ACTION, BE_DISCRETE(7)},
 *         [IMAGE] = {"image", BE_OBSERVATION, BE_BOX(BE_U8, 0, 255, 7, 7, 3)},
 *         [DIRECTION] = {"direction", BE_OBSERVATION, BE_DISCRETE(4)},
 *         [STEPS_LEFT] = {"steps_left", BE_INFO, BE_VALUE(BE_I32), .doc = "until the episode is cut short"},
 *         {0},
 *     };
 *
 * prepare() may change the spaces that the table gives, shapes included. It leaves an info, further rewards or a part
 * of the observation out by giving them a shape with a 0 in it; then their rows are not there to be written. So one
 * type serves a game for one player, whose infos have no `rewards`, and the same game for two; or one with the ports
 * "image", "direction" and "" shows a Dict of the first two, or one array, as a param says. Only the names of parts
 * that are left have to fit together.
 *
 * Users see an observation of texts as Python's str, and infos["mission_code"] has the codes of the port "mission". */
typedef struct be_port {
    const char *name; /* NULL ends a table */
    be_role role;
    be_space_kind kind;
    be_dtype dtype;
    int64_t shape[BE_MAX_DIMS]; /* of one lane's row; it ends at the first 0: {0} is one value */
    double low, high;           /* the closed range of all values; an info needs none */
    const int64_t *choices;     /* MULTI_DISCRETE, TUPLE: value j is in 0..choices[j]-1, the same for all values if they
                                   are more than BE_MAX_BOUNDS; NULL: prepare() sets it */
    be_when when;               /* an info's */
    const char *doc;            /* of infos and further rewards */
    const char *const *texts;   /* TEXT: those of the codes 0, 1, ..., and NULL at the end */
    be_write_text *write_text;  /* TEXT: or what writes them */
} be_port;

#define BE_BOX(dtype_, low_, high_, ...)                                                                               \
    .kind = BE_SPACE_BOX, .dtype = (dtype_), .shape = {__VA_ARGS__}, .low = (low_), .high = (high_)
#define BE_DISCRETE(n) .kind = BE_SPACE_DISCRETE, .dtype = BE_I64, .high = (n) - 1
#define BE_DISCRETE_FROM(start, n) .kind = BE_SPACE_DISCRETE, .dtype = BE_I64, .low = (start), .high = (start) + (n) - 1
#define BE_MULTI_DISCRETE(...)                                                                                         \
    .kind = BE_SPACE_MULTI_DISCRETE, .dtype = BE_I64, .choices = (const int64_t[]){__VA_ARGS__},                       \
    .shape = {sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}
#define BE_MULTI_BINARY(...) .kind = BE_SPACE_MULTI_BINARY, .dtype = BE_I8, .shape = {__VA_ARGS__}, .high = 1
#define BE_TUPLE(...)                                                                                                  \
    .kind = BE_SPACE_TUPLE, .dtype = BE_I64, .choices = (const int64_t[]){__VA_ARGS__},                                \
    .shape = {sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}
/* Texts: these, whose codes are 0, 1, ... */
#define BE_TEXTS(...)                                                                                                  \
    .kind = BE_SPACE_TEXT, .dtype = BE_I64, .texts = (const char *const[]){__VA_ARGS__, NULL},                         \
    .high = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *) - 1
/* Those that a function writes: of the codes 0 to n - 1, or of codes of `size` int64 each, which may be any. */
#define BE_TEXT_OF(function, n) .kind = BE_SPACE_TEXT, .dtype = BE_I64, .write_text = (function), .high = (n) - 1
#define BE_TEXT_CODES(function, size) .kind = BE_SPACE_TEXT, .dtype = BE_I64, .write_text = (function), .shape = {size}
/* For infos and further rewards: one value, or an array of this shape. */
#define BE_VALUE(dtype_) .dtype = (dtype_)
#define BE_VALUES(dtype_, ...) .dtype = (dtype_), .shape = {__VA_ARGS__}

/* A map of characters, stored row by row, for the types that name a keyword in `grid`. */
typedef struct be_grid {
    const uint8_t *cells;
    int64_t rows, columns;
} be_grid;

/* ---- a batch -------------------------------------------------------------------------------------- */

/* What prepare() reads and fills: one set of params and what follows from it. */
typedef struct be_setup {
    const double *params;     /* in the order of the type's table; each is already checked by itself */
    const char *const *texts; /* in the same order: the TEXT params; NULL for others */
    be_grid grid;
    void *engine;                       /* what open() has made */
    double constants[BE_MAX_CONSTANTS]; /* to be filled with what the kernel needs and the params determine */
    be_space *space;                    /* one per port, as in the type's table; may be changed */
    int field_size[BE_MAX_FIELDS];      /* values per lane, as in the type's table of fields; may be changed */
    unsigned flags;                     /* starts as the type's flags; may be changed */
} be_setup;

/* A param or constant that may differ from lane to lane. The value of lane i is values[i & mask]. */
typedef struct be_column {
    const double *values;
    int64_t mask; /* -1: one value per lane; 0: BE_LANE_BLOCK equal values */
} be_column;

/* What a kernel sees of a batch. Lanes are padded: a column can be read and written up to the next multiple of
 * 64 lanes. Padding lanes hold zeros; those of the last block have random streams, so that a loop which draws until a
 * value fits ends there too. */
typedef struct be_batch {
    const be_env_type *type;
    int64_t num_lanes;
    void *state[BE_MAX_FIELDS];         /* columns, in the order of the type's table */
    int field_size[BE_MAX_FIELDS];      /* values per lane of each column */
    be_rng *rng;                        /* one stream per lane */
    int32_t *elapsed;                   /* steps since the lane's last reset (0 right after it) */
    int per_lane;                       /* 1 if some params differ from lane to lane: then read them from the columns */
    double params[BE_MAX_PARAMS];       /* used if per_lane is 0; in the order of the type's table */
    double constants[BE_MAX_CONSTANTS]; /* used if per_lane is 0; what prepare() derived from them */
    be_column param_columns[BE_MAX_PARAMS], constant_columns[BE_MAX_CONSTANTS]; /* used if per_lane is 1 */
    be_grid grid;
    void *engine; /* the type's own: see open() */
    unsigned flags;
    const be_space *space;    /* by port */
    const char *const *texts; /* TEXT params, in the order of the type's table; NULL for others */
    struct be_driver *driver; /* private to core/ */
} be_batch;

/* The values of a param or constant for the BE_VL lanes from lane i on; where `per_lane` is 0, they are all the same. A
 * kernel's step is written once and inlined twice: with per_lane 0 it loads all values before its loop, with per_lane 1
 * it loads them for every vector. */
static inline be_vd be_param_at(const be_batch *batch, int index, int64_t i, int per_lane) {
    const be_column *column = &batch->param_columns[index];
    return per_lane ? be_load(column->values + (i & column->mask)) : be_set1(batch->params[index]);
}
static inline be_vd be_constant_at(const be_batch *batch, int index, int64_t i, int per_lane) {
    const be_column *column = &batch->constant_columns[index];
    return per_lane ? be_load(column->values + (i & column->mask)) : be_set1(batch->constants[index]);
}
/* The same for one lane. */
static inline double be_param_of(const be_batch *batch, int index, int64_t lane) {
    const be_column *column = &batch->param_columns[index];
    return batch->per_lane ? column->values[lane & column->mask] : batch->params[index];
}
static inline double be_constant_of(const be_batch *batch, int index, int64_t lane) {
    const be_column *column = &batch->constant_columns[index];
    return batch->per_lane ? column->values[lane & column->mask] : batch->constants[index];
}

#define BE_DRIVER_PORTS 10
#define BE_SLOTS (BE_DRIVER_PORTS + 2 * BE_MAX_PORTS)

/* The rows of some lanes: each pointer is to the row of lane `first`; the rows of the next lanes follow it. */
typedef struct be_rows {
    int64_t first;
    const uint8_t *skip;   /* step, when BE_STEP_FINISHED_HARMLESS is not set: a 1 marks a finished or padding lane. A
                              step may do anything with such a lane except draw from its rng. */
    const double *options; /* reset: values in the order of the type's `options` */
    union {
        struct {
            double *reward;      /* step: to be written */
            uint8_t *terminated; /* step: to be written, 0 or 1 */
            uint8_t *truncated;  /* step, with BE_OWN_LIMITS: to be written, 0 or 1. With BE_LANE_BY_LANE it is 0, and a
                                    type with limits of its own writes 1 */
            /* The driver's: see core/rows.h. */
            uint8_t *started, *failed;
            double *episode_return, *episode_seconds;
            int64_t *episode_length, *episode_entry, *lane;
            /* In the order of the type's table. Actions: in step, checked. Observations and infos: to be written whole,
             * in reset and in step; further rewards: in step. All are contiguous, of the dtype of the port's space. */
            void *port[BE_MAX_PORTS];
            void *final[BE_MAX_PORTS]; /* the driver's */
        };
        void *slot[BE_SLOTS]; /* the same */
    };
} be_rows;

/* Flags. */
#define BE_STEP_FINISHED_HARMLESS 1u /* stepping a finished lane does no harm and draws no random numbers */
#define BE_LANE_BY_LANE 2u           /* for steps of microseconds: one lane per call, see step() */
#define BE_OWN_LIMITS 4u             /* step() writes `truncated`, too, and single lanes may fail: see be_fail_lane */
#define BE_RANDOM_STATE 8u           /* lanes draw from streams of NumPy's older kind: see random_state.h */
/* A seed sets the lane's fields to 0, for types whose state outlasts episodes: what a lane does once it is seeded then
 * depends on the seed alone. */
#define BE_SEED_CLEARS 16u

struct be_env_type {
    uint32_t abi;          /* BE_ABI. It will always be the first member: it says what the others mean */
    int frames_per_second; /* the rate at which pictures show the motion in real time; 0: 30 */
    const char *name;      /* of the type, in messages and snapshots */
    const be_id *ids;      /* or NULL: Python defines the type's ids */
    const char *family;    /* the heading under which `python -m batchenv list` shows it; or NULL */
    const be_port *ports;  /* at least one for the action and one for the observation */
    const be_field *state;
    const be_param *params;  /* or NULL */
    const be_param *options; /* what reset(options=...) may set for that one reset; or NULL */
    const char *grid;        /* the keyword that gives the map; or NULL */
    const be_read *reads;    /* what it reads of its simulator's model; or NULL */
    const be_drawn *drawn;   /* what of that model differs from episode to episode; or NULL */
    int model_pool;          /* with `drawn`: how many models are drawn, of which each episode has one; 0: each episode
                                has its own. The keyword model_pool sets another number */
    unsigned flags;
    int variant; /* for the type's own use: tells apart types that share functions */

    /* Checks one set of params as a whole, and fills the setup. Runs at construction and whenever a param changes. If
     * params differ from lane to lane, it runs once per lane, and the batch's spaces are the union of the lanes'
     * spaces. Returns BE_OK or be_fail(...). May be NULL. */
    int (*prepare)(be_setup *setup, be_error *error);

    /* Checks the options of a reset as a whole. May be NULL. */
    int (*check_options)(const be_batch *batch, const double *options, be_error *error);

    /* Checks the state of `count` lanes before it is restored; it is given as columns of `count` values. Whatever is
     * used as an index must be in its range. The ranges in the table of fields are already checked. May be NULL. */
    int (*check_state)(const be_batch *batch, const void *const *columns, int64_t count, be_error *error);

    /* Starts an episode in the `count` lanes listed (ascending), drawing from each lane's own rng in the order in which
     * Gymnasium draws, and writes the first observation. The driver has already set the lanes' `elapsed` to 0. */
    int (*reset)(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error);

    /* Writes the observation of the present state of the lanes listed, bit for bit as reset or step wrote it (`elapsed`
     * says which of the two came last), without drawing random numbers. Only observation ports are set in `rows`. */
    int (*observe)(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error);

    /* Advances lanes begin..end-1 by one step (begin is rows->first). begin and end are multiples of BE_LANE_BLOCK, and
     * rows and columns can be read and written for all of them (padding lanes step along, on action 0). Writes reward
     * and terminated; the driver takes care of time limits and resets.
     *
     * With BE_LANE_BY_LANE, end is begin + 1, begin is any lane that has not finished, and rows->first may be less than
     * begin. Calls for different lanes run at the same time on different threads. If this function or reset() does not
     * return BE_OK, that lane alone has failed: it is truncated, with an observation of zeros, and the error is
     * reported with its number. */
    int (*step)(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error);

    /* For types that have a simulator of their own; each may be NULL. open() makes batch->engine from what the caller
     * passed in. It is called first, when only the batch's num_lanes and texts are set. close() frees what open() made.
     * saved_bytes() returns how many bytes of a lane's state are not in the fields, a multiple of 8. save() copies them
     * out, and load() copies them back in; load() must be safe for any bytes. */
    int (*open)(be_batch *batch, const void *engine, be_error *error);
    void (*close)(be_batch *batch);
    size_t (*saved_bytes)(const be_batch *batch);
    void (*save)(const be_batch *batch, int64_t lane, void *bytes);
    void (*load)(be_batch *batch, int64_t lane, const void *bytes);

    /* Returns 1 if the episode that has just ended is part of a longer game, which the lane's next reset continues. The
     * episode statistics then also continue until the game ends. NULL means that each episode is a whole game. */
    int (*goes_on)(be_batch *batch, int64_t lane);

    /* Draws a lane in its present state: sets the size of the picture (each side from 1 to 16384) and, unless `rgb` is
     * NULL, writes all (rows, columns, 3) bytes there: red, green and blue, from the top left on. NULL means that the
     * type cannot draw: users' render_modes are then empty. */
    void (*picture)(const be_batch *batch, int64_t lane, int *rows, int *columns, uint8_t *rgb);

    /* For types over a simulator with controls (mujoco_task.h): writes a lane's controls for an action. It may be
     * called more than once in a step, so it must change nothing else, but for be_mujoco_mocap_pos_of() and the like.
     * NULL: the action is the controls. */
    void (*control)(const be_batch *batch, int64_t lane, const float *action, double *controls);

    /* The same before each of the simulator's steps after the first of a step: for a controller of one's own, such as
     * torques of springs and dampers, and for actions that come late. `step` counts from 1. It sees where the lane is
     * by then, and the controls of the step before. NULL: the controls stay. */
    void (*recontrol)(const be_batch *batch, int64_t lane, const float *action, int64_t step, const double *qpos,
                      const double *qvel, double *controls);
};

#define BE_LANE_BLOCK 8 /* a multiple of every BE_VL */

/* The types that a shared library holds for one instruction set; be_library_any holds those that are compiled once,
 * without BE_ISA. */
typedef struct be_library {
    uint32_t abi, type_bytes; /* BE_ABI and sizeof(be_env_type) where it was compiled */
    const be_env_type *const *begin, *const *end;
} be_library;

/* How many bytes each table of a type has: SIZE_MAX where it has none, or where the compiler cannot tell (it can from
 * -O1 on). They show what rows alone do not: that {0} is missing, or that a row without a name is not the last. */
typedef struct be_table_bytes {
    size_t ports, state, params, options, ids, reads, drawn;
} be_table_bytes;

/* Fills `bytes` for one type, and returns that type. */
typedef const be_env_type *be_measure(be_table_bytes *bytes);

/* Such functions of all types that a shared library holds for one instruction set. */
typedef struct be_measures {
    be_measure *const *begin, *const *end;
} be_measures;

#ifdef BE_COMPILED_ONCE
#define BE_LISTED(name) BE_JOIN(name, any)
#else
#define BE_LISTED(name) BE_ISA_NAME(name)
#endif
#define BE_TEXT2(x) #x
#define BE_TEXT(x) BE_TEXT2(x)

/* Pointers to the types of all files are gathered in one section, whose ends the linker names; those to the functions
 * that measure their tables in another. The names are short, because macOS allows 16 letters. Windows names no ends,
 * but sorts the parts of a section by what follows the $, so its first and last parts are pointers of our own. BE_ONE:
 * what several files define the same way, of which the linker takes one. */
#ifdef __APPLE__
#define BE_ONE __attribute__((weak))
#define BE_SECTION(name) section("__DATA," BE_TEXT(BE_LISTED(name)))
#define BE_SECTION_END(which, name) __asm("section$" #which "$__DATA$" BE_TEXT(BE_LISTED(name)))
#define BE_SECTION_ENDS(type, name)                                                                                    \
    extern type BE_LISTED(__start_##name)[] BE_SECTION_END(start, name);                                               \
    extern type BE_LISTED(__stop_##name)[] BE_SECTION_END(end, name)
#define BE_SECTION_BEGIN(name) BE_LISTED(__start_##name)
#elif defined(_WIN32)
#define BE_ONE __attribute__((selectany))
#define BE_SECTION(name) section(BE_TEXT(BE_LISTED(name)) "$b")
#define BE_SECTION_END(type, end, name, part)                                                                          \
    extern type BE_LISTED(end##name)[1];                                                                               \
    BE_ONE __attribute__((used, section(BE_TEXT(BE_LISTED(name)) part))) type BE_LISTED(end##name)[1] = {0}
#define BE_SECTION_ENDS(type, name)                                                                                    \
    BE_SECTION_END(type, __start_, name, "$a");                                                                        \
    BE_SECTION_END(type, __stop_, name, "$c")
#define BE_SECTION_BEGIN(name) (BE_LISTED(__start_##name) + 1)
#else
#define BE_ONE __attribute__((weak))
#define BE_SECTION(name) section(BE_TEXT(BE_LISTED(name)))
#define BE_SECTION_ENDS(type, name)                                                                                    \
    extern type BE_LISTED(__start_##name)[] __attribute__((weak, visibility("hidden")));                               \
    extern type BE_LISTED(__stop_##name)[] __attribute__((weak, visibility("hidden")))
#define BE_SECTION_BEGIN(name) BE_LISTED(__start_##name)
#endif

BE_SECTION_ENDS(const be_env_type *const, be_t);
extern const be_library BE_LISTED(be_library);
BE_ONE const be_library BE_LISTED(be_library) = {BE_ABI, sizeof(be_env_type), BE_SECTION_BEGIN(be_t),
                                                 BE_LISTED(__stop_be_t)};
BE_SECTION_ENDS(be_measure *const, be_m);
extern const be_measures BE_LISTED(be_measures_of);
BE_ONE const be_measures BE_LISTED(be_measures_of) = {BE_SECTION_BEGIN(be_m), BE_LISTED(__stop_be_m)};

/* BE_ENV(cartpole) = {...}; defines a type and adds it to its library's list. */
#define BE_ENV(name)                                                                                                   \
    extern const be_env_type BE_LISTED(be_env_##name) __attribute__((visibility("hidden")));                           \
    static const be_env_type *const be_listed_##name __attribute__((used, BE_SECTION(be_t))) =                         \
        &BE_LISTED(be_env_##name);                                                                                     \
    static const be_env_type *be_measure_##name(be_table_bytes *bytes) {                                               \
        const be_env_type *const type = &BE_LISTED(be_env_##name);                                                     \
        *bytes = (be_table_bytes){__builtin_object_size(type->ports, 0),  __builtin_object_size(type->state, 0),       \
                                  __builtin_object_size(type->params, 0), __builtin_object_size(type->options, 0),     \
                                  __builtin_object_size(type->ids, 0),    __builtin_object_size(type->reads, 0),       \
                                  __builtin_object_size(type->drawn, 0)};                                              \
        return type;                                                                                                   \
    }                                                                                                                  \
    static be_measure *const be_measured_##name __attribute__((used, BE_SECTION(be_m))) = be_measure_##name;           \
    const be_env_type BE_LISTED(be_env_##name)

/* A pointer to the row of lane `lane` in a port's rows, where a row has `size` values: BE_ROW(float,
 * rows->port[OBSERVATION], rows, i, 4). */
#define BE_ROW(type, port_rows, rows, lane, size) ((type *)(port_rows) + ((lane) - (rows)->first) * (size))

/* For reset() and step() of types with BE_OWN_LIMITS: one lane has failed, and the others go on (printf format; say
 * what happened and why). The lane is truncated, with an observation of zeros and a reward of 0, and the error is
 * reported with its number. To be called after the lane's rows are written; the function that calls it then returns
 * BE_OK, unless something else is wrong. */
void be_fail_lane(be_batch *batch, int64_t lane, const be_rows *rows, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- helpers for prepare() ------------------------------------------------------------------------ */

/* A Box of `size` float32 values; value j is between low[j] and high[j]. */
void be_space_box_f32(be_space *space, int size, const double *low, const double *high);
/* A Box of this dtype and shape; low and high hold for all its values. */
void be_space_box(be_space *space, be_dtype dtype, int ndim, const int64_t *shape, double low, double high);
void be_space_discrete(be_space *space, int64_t n);
/* A MultiDiscrete space of `size` values; value j is in 0..choices[j]-1. */
void be_space_multi_discrete(be_space *space, int size, const int64_t *choices);

/* ---- helpers for open() --------------------------------------------------------------------------- */

/* An open() that makes one simulator per lane calls this between lanes, since there may be thousands. Returns 1 if the
 * user has pressed Ctrl-C, and fills `error`; open() then returns the status in it. */
int be_interrupted(const be_batch *batch, be_error *error);

/* ---- options ---------------------------------------------------------------------------------------- */

/* A check_options() for tables of options that start with `low` and `high`; the same check as Gymnasium's
 * maybe_parse_reset_bounds. */
int be_check_low_high(const be_batch *batch, const double *options, be_error *error);

#pragma GCC visibility pop

#endif
