/* The driver: memory, seeding, time limits, autoreset, action checks. Its callers are Cython and the C tests. */
#ifndef BE_BATCH_H
#define BE_BATCH_H

#include "batchenv.h"
#include "core/checked.h"
#include "core/system/clock.h"
#include "core/system/numa.h"
#include "core/rows.h"
#include "core/transform.h"

typedef enum be_autoreset { BE_NEXT_STEP, BE_SAME_STEP, BE_DISABLED } be_autoreset;

/* Random actions: the action of lane i in step t is a function of key, i and t alone. */
typedef struct be_random_policy {
    uint64_t key, first_step;
} be_random_policy;

/* What is compiled once per instruction set. */
typedef struct be_isa {
    const char *name;
    const be_library *types;

    /* Steps lanes begin..end-1, autoreset included; row 0 of `rows` belongs to lane rows->first. begin is a multiple of
     * BE_LANE_BLOCK, and so is end unless it is num_lanes; for BE_LANE_BY_LANE types they may be any numbers. Returns
     * how many lanes have finished in this step, or -1 with `error` filled. Ranges may run in parallel, each with its
     * own `error`. */
    int64_t (*step)(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error);

    /* Takes steps first..first+steps-1 of a rollout with lanes begin..end-1, a few lanes at a time so that their state
     * stays in the cache. Arrays have shape (all steps, num_lanes, ...). With a policy, actions are drawn and written;
     * without one, they are read. */
    int64_t (*rollout)(be_batch *batch, int64_t begin, int64_t end, int64_t first, int64_t steps, const be_rows *rows,
                       const be_random_policy *policy, be_error *error);

    /* Checks `count` values for an action port (rows flattened, the first belonging to lane `first_lane`) of dtype
     * `dtype`: BE_I64 or BE_I32 where the port's space has integers, BE_F32 or BE_F64 where it has floats. Unless
     * `canonical` is NULL, writes them there in the space's own dtype. `clip` lets finite values outside a Box of
     * floats pass. Returns BE_OK or fails. */
    int (*check_actions)(const be_batch *batch, int port, const void *actions, be_dtype dtype, int64_t first_lane,
                         int64_t count, int clip, void *canonical, be_error *error);

    /* For how many of a few thousand arguments this instruction set's sin, cos, square, float32 square and remainder
     * differ from the C library's. The set is used only if all five are 0. */
    void (*probe)(int64_t mismatches[5]);
} be_isa;

/* The instruction sets that were compiled in and that this CPU has, best first, NULL at the end. */
const be_isa *const *be_isa_supported(void);

/* The built-in types: those compiled for this instruction set, then those compiled once, in an order that is the same
 * for every instruction set. Both functions return NULL if there is no such type. */
const be_env_type *be_type_at(const be_isa *isa, int64_t index);
const be_env_type *be_type_named(const be_isa *isa, const char *name);

typedef struct be_batch_options {
    const be_env_type *type;
    int64_t num_lanes;
    be_autoreset autoreset;
    int32_t max_episode_steps;     /* 0: no limit */
    const be_grid *grid;           /* copied; NULL where the type has none */
    const be_transform *transform; /* NULL: everything goes out as it is */
    const double *params;          /* as be_batch_configure takes them; NULL: the type's defaults */
    const double *const *columns;  /* the same */
    const char *const *texts;      /* of TEXT params, in the order of the table; copied; NULL: the type's defaults */
    const void *engine;            /* for the type's open() */
    int (*look)(void *context);    /* or NULL; a long open() calls it every 50 ms, and gives up if it is not 0 */
    void *look_context;
} be_batch_options;

/* A new batch of zeroed lanes. Its params choose the shapes of its spaces, which stay as they are. */
be_batch *be_batch_create(const be_batch_options *options, be_error *error);
void be_batch_destroy(be_batch *batch);

/* Puts the memory of the lanes on the NUMA nodes that `placement` says, from which workers then take their lanes: see
 * core/system/numa.h. The batch owns the placement afterwards. With NULL nothing happens. To be called once, before any
 * lane is reset and any worker is made. */
void be_batch_place(be_batch *batch, be_placement *placement);
const be_placement *be_batch_placement(const be_batch *batch);

/* Whether it is a value of the param: in its range, whole, an index, as its kind demands. */
int be_param_holds(const be_param *param, double value);

/* Sets all params. Param j is params[j] in all lanes, or columns[j][i] in lane i if `columns` and columns[j] are not
 * NULL. Params are checked one by one and by prepare(); on failure the old ones stay. */
int be_batch_configure(be_batch *batch, const double *params, const double *const *columns, be_error *error);

/* Checks a reset's options. */
int be_batch_check_options(const be_batch *batch, const double *options, be_error *error);

/* What follows when a function of a type's has not returned BE_OK: gives `error`, whose status was BE_OK before the
 * call, a message if the function has not done so. Returns the error's status. */
int be_unexplained(const be_env_type *type, be_error *error);

/* Seeds lanes begin..end-1 with the integer `words` (little-endian) plus the lane's index. */
int be_batch_seed(be_batch *batch, const uint32_t *words, size_t num_words, int64_t begin, int64_t end);

/* Resets those lanes of begin..end-1 for which `mask` (NULL: all lanes) is 1, and clears their pending autoreset.
 * Writes the observation of every lane of the range, reset or not, and the infos of those that were reset; also their
 * reward and flags, which are 0, if `rows` has a place for rewards. `options` NULL means the defaults. Single lanes of
 * types for which be_lanes_may_fail() may fail: see be_batch_take_failures. The next step of such a lane resets it. */
int be_batch_reset(be_batch *batch, int64_t begin, int64_t end, const uint8_t *mask, const double *options,
                   const be_rows *rows, be_error *error);

/* Writes the observation of the present state of lanes begin..end-1. */
int be_batch_observe(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error);

/* Writes the observation of the lanes listed (ascending), and fills their stacks of frames with it. */
int be_batch_observe_first(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error);

/* Lists the lanes that have failed since the last call: writes their numbers to `lanes` (room for num_lanes),
 * ascending, and returns how many there are. The error of each is be_batch_failure(batch, lane). */
int64_t be_batch_take_failures(be_batch *batch, int64_t *lanes);
int be_batch_take_failure(be_batch *batch, int64_t lane); /* 1 if this one has failed since */
const be_error *be_batch_failure(const be_batch *batch, int64_t lane);

/* First lane of begin..end-1 that has finished and waits for a reset, or -1. */
int64_t be_batch_first_pending(const be_batch *batch, int64_t begin, int64_t end);

/* SAME_STEP: points `rows` at the batch's own rows for final observations and infos. */
void be_batch_point_final(const be_batch *batch, be_rows *rows);

/* The arrays that go into lanes and come out of them, as callers see them: with transformed observations. */
const be_table *be_batch_table(const be_batch *batch);

/* The port of the observation; if the type has several, the first of them. */
int be_observation_port(const be_batch *batch);

int64_t be_batch_bytes(const be_batch *batch); /* memory held */
/* Sets new coefficients for rescaled observations, one per component, after params have changed the space. Only for a
 * batch whose transform rescales. */
void be_batch_rescale(be_batch *batch, const double *gradient, const double *intercept);
/* The space that a type's table gives a port. */
be_space be_space_of_port(const be_port *port);
/* Checks the spaces of a type's ports, which prepare() may have changed; the message names the port. */
int be_check_spaces(const be_env_type *type, const be_space *spaces, be_error *error);
size_t be_space_row_bytes(const be_space *space);
int64_t be_space_row_size(const be_space *space);

/* How many entries of a space's low and high are used: one per value, or a single one if there are more than
 * BE_MAX_BOUNDS values. */
static inline int64_t be_num_bounds(const be_space *space) {
    const int64_t size = be_space_row_size(space);
    return size <= BE_MAX_BOUNDS ? size : 1;
}
/* The index of the bounds of value j of a row. */
static inline int64_t be_bound_of(const be_space *space, int64_t j) {
    return be_space_row_size(space) <= BE_MAX_BOUNDS ? j : 0;
}

/* What a field of the state takes in each lane. */
static inline size_t be_field_bytes(const be_batch *batch, int field) {
    return be_dtype_size(batch->type->state[field].dtype) * (size_t)batch->field_size[field];
}

/* Whether single lanes may fail, and the type may truncate episodes. */
static inline int be_lanes_may_fail(const be_env_type *type) {
    return (type->flags & (BE_LANE_BY_LANE | BE_OWN_LIMITS)) != 0;
}

static inline int be_is_float(be_dtype dtype) { return dtype == BE_F32 || dtype == BE_F64; }

/* Value j of a row of integers becomes `value`, which fits. */
static inline void be_write_integer(void *row, be_dtype dtype, int64_t j, int64_t value) {
    switch (dtype) {
    case BE_I64:
        ((int64_t *)row)[j] = value;
        break;
    case BE_I32:
        ((int32_t *)row)[j] = (int32_t)value;
        break;
    default:
        ((uint8_t *)row)[j] = (uint8_t)value;
    }
}

/* Divides the lanes into `parts` parts and says where part `index` begins and ends: at multiples of `grain`, except for
 * the end of the last part. */
static inline void be_partition(int64_t num_lanes, int64_t grain, int parts, int index, int64_t *begin, int64_t *end) {
    const int64_t blocks = (num_lanes + grain - 1) / grain;
    *begin = blocks * index / parts * grain;
    *end = blocks * (index + 1) / parts * grain;
    if (*begin > num_lanes) *begin = num_lanes;
    if (*end > num_lanes) *end = num_lanes;
}

/* ---- private to core/ ------------------------------------------------------------------------------- */

/* The columns that make up a lane: the type's fields first, then the driver's own, in this order. */
typedef struct be_lane_column {
    void *data;
    size_t bytes; /* per lane */
} be_lane_column;
enum { BE_COLUMN_RNG, BE_COLUMN_ELAPSED, BE_COLUMN_PENDING };
#define BE_MAX_LANE_COLUMNS (BE_MAX_FIELDS + 8)
int be_lane_columns(const be_batch *batch, be_lane_column *columns);

size_t be_engine_bytes(const be_batch *batch); /* per lane, not counting the columns */

#define BE_LIST 256 /* lanes listed for one call of a kernel's reset or observe */

/* What a BE_LANE_BY_LANE type may do for several lanes at once, before the same thread calls step() for each of them.
 * The action of lane lanes[k] is row places[k] of `rows`. It may leave out any lane. */
typedef void be_ahead(be_batch *batch, const int64_t *lanes, const int64_t *places, int64_t count, const be_rows *rows);

struct be_driver {
    be_checked *checked;        /* what batch->type points to, if the batch has made it; or NULL */
    int (*look)(void *context); /* during open() */
    void *look_context;
    double next_look; /* seconds */
    be_autoreset autoreset;
    int32_t max_episode_steps;              /* INT32_MAX: none (elapsed stops there) */
    uint8_t *pending;                       /* finished, waiting for a reset */
    int num_ports, observation;             /* the latter: the first port of an observation */
    int num_rewards, rewards[BE_MAX_PORTS]; /* ports of further rewards */
    be_space *space; /* by port: what batch->space points at, and room for those of a configuration */
    be_table inner;  /* what kernels read and write */
    be_table outer;  /* what comes in and goes out */
    size_t raw_bytes, observation_bytes; /* a row of the observation that is transformed, before and after */
    be_rows final;                       /* SAME_STEP: the batch's own rows */
    double default_options[BE_MAX_PARAMS];
    be_transform transform;
    double *coefficients;         /* with rescale: transform.gradient and transform.intercept point into it */
    uint64_t configured;          /* how often params have been set */
    uint8_t *raw_observation;     /* with transform_observation: what kernels write */
    uint8_t *frames;              /* with frame_stack: each lane's frames, oldest first */
    double *episode_return;       /* with record_statistics: the return of the episode so far */
    double *episode_start;        /* seconds */
    int64_t *game_steps;          /* for types with goes_on(): the steps of the game's earlier episodes */
    void *stopped[BE_MAX_FIELDS]; /* with action_repeat: see repeat */
    be_rows stopped_rows;
    void *arena;
    size_t arena_bytes;
    be_placement *placement; /* or NULL */
    be_error *failures;      /* if lanes may fail: the last error of each */
    uint8_t *failed;         /* 1: the lane has failed, and this was not reported yet */
    uint8_t *lost;           /* 1: the lane has failed in this step, or its type has truncated it */
    int64_t any_failed;
    be_ahead *ahead;         /* BE_LANE_BY_LANE: what open() has set; or NULL */
    int64_t together, group; /* with `ahead`: how many lanes are best taken at once, and how many gain by that at all */
    _Atomic double lane_ns;  /* what a step of a lane took lately; noted with `ahead` and in rollouts; 0: not known */
    char *texts[BE_MAX_PARAMS]; /* of TEXT params; NULL for others */
    double *values;             /* what param_columns and constant_columns point into */
    size_t values_bytes;
    /* One padded block for the lanes after the last whole BE_LANE_BLOCK. */
    be_rows tail;
    uint8_t tail_skip[BE_LANE_BLOCK];
};

/* Calls driver->ahead, if there is one, for those of the lanes listed (at most BE_LIST) that are about to be stepped:
 * not for those that are to be reset. */
void be_step_ahead(be_batch *batch, const int64_t *lanes, const int64_t *places, int64_t count, const be_rows *rows);

/* How many steps a lane's episode has taken; with action_repeat, a repeated action counts as one step. */
static inline int64_t be_decisions(const be_batch *batch, int64_t lane) {
    const int64_t repeat = batch->driver->transform.action_repeat;
    return repeat == 1 ? batch->elapsed[lane] : (batch->elapsed[lane] + repeat - 1) / repeat;
}

#endif
