/* Levels of a MiniGrid world: what the C file of a level needs. Cells, what generates a level, and how a level becomes
 * an env type. csrc/envs/minigrid/ has the levels of the package minigrid, of which empty.c is the shortest.
 *
 * A level is a table (mg_level) and a function that generates an episode's grid in a lane (mg_lane). Moving, picking
 * up, doors, boxes, the view and the time limit are the same for all levels; a level may add to a step by hooks.
 *
 * Random numbers are drawn from the lane's stream, in the order of the calls and as the methods of minigrid's
 * MiniGridEnv draw them from np_random; the comment of each function says which one it equals.
 *
 * If something cannot be done (no free cell is found, say), the lane has failed: lane->failure says why, and all
 * functions that draw or place return at once without drawing. So a level need not look after each call; only its own
 * loops have to end when lane->failure is set. The reset then fails for that lane alone. */
#ifndef BE_MINIGRID_H
#define BE_MINIGRID_H

#include "batchenv.h"

#pragma GCC visibility push(default) /* see batchenv.h */

/* ---- cells ---------------------------------------------------------------------------------------- */

/* What is in a cell, in one byte: a kind, a color times 16, and 128 if it blocks the view. MG_NOTHING is what the agent
 * does not see. */
typedef uint8_t mg_cell;
enum {
    MG_NOTHING,
    MG_EMPTY,
    MG_WALL,
    MG_FLOOR,
    MG_OPEN_DOOR,
    MG_CLOSED_DOOR,
    MG_LOCKED_DOOR,
    MG_KEY,
    MG_BALL,
    MG_BOX,
    MG_GOAL,
    MG_LAVA,
    MG_NUM_KINDS,
};
/* With the numbers that images have. */
enum { MG_RED, MG_GREEN, MG_BLUE, MG_PURPLE, MG_YELLOW, MG_GREY, MG_NUM_COLORS };

#define MG_CELL(kind, color) ((mg_cell)((kind) | (color) << 4 | (MG_OPAQUE >> (kind) & 1) << 7))
static inline int mg_kind(mg_cell cell) { return cell & 15; }
static inline int mg_color(mg_cell cell) { return cell >> 4 & 7; }

static inline int mg_is_one_of(mg_cell cell, unsigned kinds) { return (int)(kinds >> mg_kind(cell) & 1); }
#define MG_DOORS (1u << MG_OPEN_DOOR | 1u << MG_CLOSED_DOOR | 1u << MG_LOCKED_DOOR)
#define MG_CARRIABLE (1u << MG_KEY | 1u << MG_BALL | 1u << MG_BOX)
#define MG_WALKABLE (1u << MG_EMPTY | 1u << MG_FLOOR | 1u << MG_OPEN_DOOR | 1u << MG_GOAL | 1u << MG_LAVA)
#define MG_OPAQUE (1u << MG_WALL | 1u << MG_CLOSED_DOOR | 1u << MG_LOCKED_DOOR)

enum { MG_LEFT, MG_RIGHT, MG_FORWARD, MG_PICKUP, MG_DROP, MG_TOGGLE, MG_DONE, MG_NUM_ACTIONS };
enum { MG_EAST, MG_SOUTH, MG_WEST, MG_NORTH }; /* directions */

typedef struct mg_point {
    int x, y;
} mg_point;

/* The cells from (x, y) to (x + width - 1, y + height - 1). */
typedef struct mg_area {
    int x, y, width, height;
} mg_area;

static inline mg_point mg_ahead(mg_point from, int direction) {
    return (mg_point){from.x + (direction == MG_EAST) - (direction == MG_WEST),
                      from.y + (direction == MG_SOUTH) - (direction == MG_NORTH)};
}
static inline int mg_same(mg_point a, mg_point b) { return a.x == b.x && a.y == b.y; }
static inline int mg_abs(int x) { return x < 0 ? -x : x; }
/* Steps between two cells, without walls. */
static inline int mg_distance(mg_point a, mg_point b) { return mg_abs(a.x - b.x) + mg_abs(a.y - b.y); }

/* The words of missions. */
static inline const char *mg_color_name(int color) {
    static const char *const names[MG_NUM_COLORS] = {"red", "green", "blue", "purple", "yellow", "grey"};
    return names[color];
}
static inline const char *mg_kind_name(int kind) {
    return kind == MG_KEY ? "key" : kind == MG_BALL ? "ball" : kind == MG_BOX ? "box" : "door";
}

/* ---- a lane --------------------------------------------------------------------------------------- */

#define MG_MAX_SIDE 100 /* cells */
#define MG_MAX_VIEW 63  /* cells */
#define MG_MAX_OBJECTS 255
#define MG_MAX_OWN (1 << 24)
#define MG_MAX_TILE 128 /* pixels */

typedef enum mg_failure {
    MG_FINE,
    MG_RECURSION, /* where the reference raises RecursionError: a place was sought too often */
    MG_REJECTED,  /* for levels that are generated until one is good */
    MG_WRONG,     /* the level cannot be generated with these keywords */
} mg_failure;

/* One lane while it is generated or stepped. */
typedef struct mg_lane {
    const be_batch *batch;
    int64_t number; /* of the lane */
    be_rng *rng;
    int width, height;
    mg_cell *cells;   /* in rows; cells outside the grid are walls, as far as the agent can see. See mg_index. */
    uint8_t *objects; /* the number of the object in each cell, 0: none; NULL for levels without numbered objects */
    uint8_t *inside;  /* what is in box k: cell inside[2 k], object inside[2 k + 1]; NULL as above */
    int stride, origin;
    int num_objects;  /* those that have got a number so far in this episode */
    mg_point agent;   /* (-1, -1): nowhere yet */
    int direction;    /* -1: none yet */
    mg_cell carrying; /* MG_EMPTY: nothing */
    int carried;      /* the number of the object that is carried; 0: none */
    int32_t max_steps;
    int64_t *mission; /* what the mission is: see mg_level */
    int32_t *own;     /* numbers of the level's own */
    mg_failure failure;
    const char *reason; /* of the failure */
} mg_lane;

/* Where the cell (x, y) is in lane->cells and lane->objects. */
static inline int mg_index(const mg_lane *lane, int x, int y) { return lane->origin + y * lane->stride + x; }

static inline int mg_is_inside(const mg_lane *lane, int x, int y) {
    return (unsigned)x < (unsigned)lane->width && (unsigned)y < (unsigned)lane->height;
}

/* A wall outside the grid. */
static inline mg_cell mg_get(const mg_lane *lane, int x, int y) {
    return mg_is_inside(lane, x, y) ? lane->cells[mg_index(lane, x, y)] : MG_CELL(MG_WALL, MG_GREY);
}
/* The number of the object in a cell; 0: none. */
static inline int mg_object(const mg_lane *lane, int x, int y) {
    return lane->objects && mg_is_inside(lane, x, y) ? lane->objects[mg_index(lane, x, y)] : 0;
}

/* The lane fails, unless it has failed before. */
static inline void mg_fail(mg_lane *lane, mg_failure failure, const char *reason) {
    if (lane->failure != MG_FINE) return;
    lane->failure = failure;
    lane->reason = reason;
}

/* The value of a row of the level's table of params. */
static inline double mg_param(const mg_lane *lane, int index) { return be_param_of(lane->batch, index, lane->number); }

/* ---- random numbers ------------------------------------------------------------------------------- */

/* _rand_int(low, high): `high` is not among the values. */
static inline int mg_random(mg_lane *lane, int low, int high) {
    if (low >= high) mg_fail(lane, MG_WRONG, "the grid is too small: a random number was wanted of an empty range");
    return lane->failure ? low : (int)be_rng_integers(lane->rng, low, high);
}
/* _rand_bool(). */
static inline int mg_random_bool(mg_lane *lane) { return mg_random(lane, 0, 2) == 0; }
/* Color k of the six in the order of their names, from which the reference draws. */
static inline int mg_color_named(int k) {
    static const uint8_t colors[MG_NUM_COLORS] = {MG_BLUE, MG_GREEN, MG_GREY, MG_PURPLE, MG_RED, MG_YELLOW};
    return colors[k];
}
/* _rand_color(). */
static inline int mg_random_color(mg_lane *lane) { return mg_color_named(mg_random(lane, 0, MG_NUM_COLORS)); }

/* ---- generating ----------------------------------------------------------------------------------- */

#define mg_clear BE_ISA_NAME(mg_clear)
#define mg_put BE_ISA_NAME(mg_put)
#define mg_wall_across BE_ISA_NAME(mg_wall_across)
#define mg_wall_down BE_ISA_NAME(mg_wall_down)
#define mg_wall_around BE_ISA_NAME(mg_wall_around)
#define mg_place BE_ISA_NAME(mg_place)
#define mg_place_in BE_ISA_NAME(mg_place_in)
#define mg_place_agent BE_ISA_NAME(mg_place_agent)
#define mg_place_agent_in BE_ISA_NAME(mg_place_agent_in)
#define mg_start_agent BE_ISA_NAME(mg_start_agent)
#define mg_fill_box BE_ISA_NAME(mg_fill_box)

/* Grid(width, height): all cells are empty, and no object has a number. Each reset starts with this. */
void mg_clear(mg_lane *lane);

/* put_obj(): the cell (x, y) becomes `cell`. A door, key, ball or box gets the next number, which is returned, if the
 * level numbers its objects. */
int mg_put(mg_lane *lane, mg_cell cell, int x, int y);

/* horz_wall(x, y, length) and vert_wall(x, y, length) of any cell, and wall_rect(). */
void mg_wall_across(mg_lane *lane, mg_cell cell, int x, int y, int length);
void mg_wall_down(mg_lane *lane, mg_cell cell, int x, int y, int length);
void mg_wall_around(mg_lane *lane, mg_area area);

/* Whether place_obj may not use a place. */
typedef int mg_reject(const mg_lane *lane, mg_point place);

/* place_obj(): puts `cell` into a random empty cell of the area where the agent is not; MG_EMPTY only finds a place.
 * max_tries 0: as often as it takes (where the reference would go on for ever, the lane fails). */
mg_point mg_place_in(mg_lane *lane, mg_cell cell, mg_area area, mg_reject *reject, int max_tries);
mg_point mg_place(mg_lane *lane, mg_cell cell); /* anywhere */

/* place_agent(): a random empty cell of the area, and a random direction. */
void mg_place_agent_in(mg_lane *lane, mg_area area, int max_tries);
void mg_place_agent(mg_lane *lane); /* anywhere */

/* Puts the agent where MG_START_X, which is row `param` of the level's params, and the next two rows say. */
void mg_start_agent(mg_lane *lane, int param);

/* Puts `cell` into the box with this number. */
void mg_fill_box(mg_lane *lane, int box, mg_cell cell);

/* ---- levels --------------------------------------------------------------------------------------- */

/* What a level's keywords decide: filled by its plan(). */
typedef struct mg_plan {
    int width, height; /* of the grid, 3..MG_MAX_SIDE */
    int64_t max_steps; /* of an episode, unless the keyword max_steps gives it */
    int see_through;   /* 1: walls and doors do not block the view. Starts as the keyword's value, or 0 */
    int num_objects;   /* how many objects may get a number; 0, as it starts: none does */
    int num_own;       /* numbers of the level's own per lane */
    int64_t first_mission, num_missions; /* which of the port's missions there are; num_missions 0, as it starts: all */
    int num_actions;                     /* starts as MG_NUM_ACTIONS; fewer: the last ones are left out */
} mg_plan;

/* A step of a lane while hooks look at it. */
typedef struct mg_step_result {
    int action;
    mg_point front; /* what was ahead of the agent when the step began, and what was there */
    mg_cell front_cell;
    int front_object;
    mg_cell held;  /* what the agent carried then */
    int32_t steps; /* of the episode, this one included */
    double reward;
    uint8_t terminated, truncated;
} mg_step_result;

/* _reward(). */
static inline double mg_success(const mg_lane *lane, const mg_step_result *result) {
    return 1 - 0.9 * ((double)result->steps / lane->max_steps);
}

/* Ends an episode with success. */
static inline void mg_succeed(const mg_lane *lane, mg_step_result *result) {
    result->reward = mg_success(lane, result);
    result->terminated = 1;
}

typedef struct mg_level {
    /* Fills the plan; the params are already checked one by one. Returns BE_OK or be_fail(...). */
    int (*plan)(const double *params, mg_plan *plan, be_error *error);
    /* Generates an episode. lane->mission[0] starts as the first mission. */
    void (*generate)(mg_lane *lane);
    /* Before the step, which does result->action. May be NULL. */
    void (*before)(mg_lane *lane, mg_step_result *result);
    /* After the step. What it does to the grid is not seen before the next step. May be NULL. */
    void (*after)(mg_lane *lane, mg_step_result *result);
    /* Whether restored values of `own` and `mission` can be used. NULL: those of `own` can if they are at most
     * MG_MAX_OWN from 0, so that sums of differences do not overflow. */
    int (*is_sound)(const mg_lane *lane);
} mg_level;

/* The first rows of the params of every level. Python gives None as 0. */
enum {
    MG_PARAM_MAX_STEPS,
    MG_PARAM_VIEW,
    MG_PARAM_OBSERVATION,
    MG_PARAM_IMAGE_ONLY,
    MG_PARAM_MISSION,
    MG_PARAM_MAX_WORDS,
    MG_PARAM_OBSERVATION_TILE,
    MG_PARAM_TILE,
    MG_PARAM_HIGHLIGHT,
    MG_PARAM_AGENT_POV,
    MG_NUM_PARAMS
};
#define MG_PARAMS                                                                                                      \
    [MG_PARAM_MAX_STEPS] = {"max_steps",                                                                               \
                            BE_PARAM_INT,                                                                              \
                            0,                                                                                         \
                            0,                                                                                         \
                            INT32_MAX,                                                                                 \
                            NULL,                                                                                      \
                            "steps after which an episode is cut short; 0: the level's own rule"},                     \
    [MG_PARAM_VIEW] = {"agent_view_size",                                                                              \
                       BE_PARAM_INT,                                                                                   \
                       7,                                                                                              \
                       3,                                                                                              \
                       MG_MAX_VIEW,                                                                                    \
                       NULL,                                                                                           \
                       "side of the square that the agent sees, cells: an odd number"},                                \
    [MG_PARAM_OBSERVATION] = {"observation", BE_PARAM_CHOICE, 0, .choices = mg_shown,                                  \
                              .doc = "what is observed: see docs/envs/minigrid.md"},                                   \
    [MG_PARAM_IMAGE_ONLY] = {"image_only", BE_PARAM_BOOL, 0,                                                           \
                             .doc = "the observation is the image alone, without direction and mission"},              \
    [MG_PARAM_MISSION] = {"mission", BE_PARAM_CHOICE, 0, .choices = mg_missions,                                       \
                          .doc = "the form in which the mission is observed"},                                         \
    [MG_PARAM_MAX_WORDS] = {"max_words",                                                                               \
                            BE_PARAM_INT,                                                                              \
                            50,                                                                                        \
                            2,                                                                                         \
                            1000,                                                                                      \
                            NULL,                                                                                      \
                            "length of the mission with mission='tokens', at least one more than its words"},          \
    [MG_PARAM_OBSERVATION_TILE] = {"observation_tile_size",                                                            \
                                   BE_PARAM_INT,                                                                       \
                                   8,                                                                                  \
                                   1,                                                                                  \
                                   MG_MAX_TILE,                                                                        \
                                   NULL,                                                                               \
                                   "side of a cell in the observations rgb_partial and rgb_full, pixels"},             \
    [MG_PARAM_TILE] =                                                                                                  \
        {"tile_size", BE_PARAM_INT, 32, 1, MG_MAX_TILE, NULL, "side of a cell in rendered pictures, pixels"},          \
    [MG_PARAM_HIGHLIGHT] = {"highlight", BE_PARAM_BOOL, 1,                                                             \
                            .doc = "pictures of the grid show what the agent sees in a lighter color"},                \
    [MG_PARAM_AGENT_POV] = {"agent_pov", BE_PARAM_BOOL, 0, .doc = "rendered pictures show the agent's view"}
/* For levels that leave it to the user; it may stand anywhere in their params. */
#define MG_SEE_THROUGH_WALLS                                                                                           \
    {"see_through_walls", BE_PARAM_BOOL, 0, 0, 1, NULL, "walls and closed doors do not block the view"}
/* A side of the grid; for int params that are cells. */
#define MG_SIDE(name, value, low, doc) {name, BE_PARAM_INT, value, low, MG_MAX_SIDE, NULL, doc}
/* Three rows that follow each other: where the agent starts. */
#define MG_START_X MG_SIDE("agent_start_x", 1, -1, "column where the agent starts; -1: a random place and direction")
#define MG_START_Y MG_SIDE("agent_start_y", 1, -1, "row where the agent starts; -1: a random place and direction")
#define MG_START_DIR {"agent_start_dir", BE_PARAM_INT, 0, 0, 3, NULL, "where the agent looks at first"}
#define MG_RANDOM_START {"agent_start_x", -1}, {"agent_start_y", -1}

enum { MG_PORT_ACTION, MG_PORT_IMAGE, MG_PORT_DIRECTION, MG_PORT_MISSION, MG_PORT_TOKENS, MG_PORT_WHOLE };
#define mg_state BE_ISA_NAME(mg_state)
#define mg_prepare BE_ISA_NAME(mg_prepare)
#define mg_check_state BE_ISA_NAME(mg_check_state)
#define mg_reset BE_ISA_NAME(mg_reset)
#define mg_observe BE_ISA_NAME(mg_observe)
#define mg_step BE_ISA_NAME(mg_step)
#define mg_picture BE_ISA_NAME(mg_picture)
#define mg_shown BE_ISA_NAME(mg_shown)
#define mg_missions BE_ISA_NAME(mg_missions)
extern const char *const mg_shown[], *const mg_missions[];
extern const be_field mg_state[];
int mg_prepare(const mg_level *level, const be_param *params, be_setup *setup, be_error *error);
int mg_check_state(const mg_level *level, const be_batch *batch, const void *const *columns, int64_t count,
                   be_error *error);
int mg_reset(const mg_level *level, be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows,
             be_error *error);
int mg_observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error);
int mg_step(const mg_level *level, be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error);
void mg_picture(const be_batch *batch, int64_t lane, int *rows, int *columns, uint8_t *rgb);

/* The mission of a level that says the same in every episode, for MINIGRID_LEVEL. */
#define MG_MISSION(text) BE_TEXTS(text)

/* The heading under which the ids of a file's levels are listed. */
#ifndef MG_FAMILY
#define MG_FAMILY "MiniGrid"
#endif

/* MINIGRID_LEVEL(doorkey, "MiniGridDoorKey", level, params, ids, MG_MISSION("use the key")); makes an env type of a
 * level. In `params`, MG_PARAMS comes first. The last argument is the space of the mission's port: BE_TEXTS("one",
 * "two") for a table of missions, of which lane->mission[0] is the index, or BE_TEXT_OF(write, n). */
#define MINIGRID_LEVEL(name_, type_name, level_, params_, ids_, mission_)                                              \
    static const be_port name_##_ports[] = {                                                                           \
        [MG_PORT_ACTION] = {"", BE_ACTION, BE_DISCRETE(MG_NUM_ACTIONS)},                                               \
        [MG_PORT_IMAGE] = {"image", BE_OBSERVATION, BE_BOX(BE_U8, 0, 255, 7, 7, 3)},                                   \
        [MG_PORT_DIRECTION] = {"direction", BE_OBSERVATION, BE_DISCRETE(4)},                                           \
        [MG_PORT_MISSION] = {"mission", BE_OBSERVATION, mission_},                                                     \
        [MG_PORT_TOKENS] = {"mission", BE_OBSERVATION, BE_BOX(BE_I64, 0, 255, 50)},                                    \
        [MG_PORT_WHOLE] = {"", BE_OBSERVATION, BE_BOX(BE_U8, 0, 255, 7, 7, 3)},                                        \
        {0},                                                                                                           \
    };                                                                                                                 \
    static int name_##_prepare(be_setup *setup, be_error *error) {                                                     \
        return mg_prepare(&(level_), (params_), setup, error);                                                         \
    }                                                                                                                  \
    static int name_##_check_state(const be_batch *batch, const void *const *columns, int64_t count,                   \
                                   be_error *error) {                                                                  \
        return mg_check_state(&(level_), batch, columns, count, error);                                                \
    }                                                                                                                  \
    static int name_##_reset(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows,                \
                             be_error *error) {                                                                        \
        return mg_reset(&(level_), batch, lanes, count, rows, error);                                                  \
    }                                                                                                                  \
    static int name_##_step(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {       \
        return mg_step(&(level_), batch, begin, end, rows, error);                                                     \
    }                                                                                                                  \
    BE_ENV(name_) = {                                                                                                  \
        .abi = BE_ABI,                                                                                                 \
        .name = (type_name),                                                                                           \
        .ids = (ids_),                                                                                                 \
        .family = MG_FAMILY,                                                                                           \
        .frames_per_second = 10,                                                                                       \
        .ports = name_##_ports,                                                                                        \
        .state = mg_state,                                                                                             \
        .params = (params_),                                                                                           \
        .flags = BE_OWN_LIMITS,                                                                                        \
        .prepare = name_##_prepare,                                                                                    \
        .check_state = name_##_check_state,                                                                            \
        .reset = name_##_reset,                                                                                        \
        .observe = mg_observe,                                                                                         \
        .step = name_##_step,                                                                                          \
        .picture = mg_picture,                                                                                         \
    }

#pragma GCC visibility pop

#endif
