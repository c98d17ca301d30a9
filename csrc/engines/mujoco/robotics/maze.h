/* The mazes of gymnasium-robotics: where episodes start, and where the goal is. The map is the batch's grid: '1' is a
 * wall, 'r' a cell where episodes may start, 'g' one where goals may be, 'c' both, and '0' any other. The origin of the
 * world is at the middle of the map, x along its rows, and y against its columns. */
#ifndef BE_MUJOCO_MAZE_H
#define BE_MUJOCO_MAZE_H

#include "engines/mujoco/robotics/goals.h"
#include "numpy_loops.h"

#define MAZE_NEAR 0.45 /* how close to the goal counts as reaching it, m */

/* What a type is: the width of a cell, m, and where the params and the ports that all mazes have begin. */
typedef struct maze {
    double cell;
    int params, ports;
} maze;

enum { MAZE_REWARD, MAZE_CONTINUING, MAZE_RESET_TARGET, MAZE_NOISE, MAZE_PARAMS };
enum { MAZE_SPARSE, MAZE_DENSE };
static const char *const maze_rewards[] = {"sparse", "dense", NULL};
/* clang-format off */
#define MAZE_SHARED_PARAMS(at)                                                                                         \
    [(at) + MAZE_REWARD] = {"reward_type", BE_PARAM_CHOICE, MAZE_SPARSE, 0, 0, maze_rewards,                           \
                            "'sparse': 1 within 0.45 m of the goal; 'dense': exp(-distance)"},                         \
    [(at) + MAZE_CONTINUING] = {"continuing_task", BE_PARAM_BOOL, 1, 0, 1, NULL,                                       \
                                "False: reaching the goal ends the episode", .per_lane = 1},                           \
    [(at) + MAZE_RESET_TARGET] = {"reset_target", BE_PARAM_BOOL, 0, 0, 1, NULL,                                        \
                                  "with continuing_task, a goal that is reached moves to another place",               \
                                  .per_lane = 1},                                                                      \
    [(at) + MAZE_NOISE] = MJ_WITHIN("position_noise_range", 0.25, 0, 0.3,                                              \
                                    "how far from the middle of a cell starts and goals may be, in cells")
/* clang-format on */

enum { MAZE_SUCCESS = GOAL_PORTS, MAZE_PORTS };
#define MAZE_SHARED_PORTS(at)                                                                                          \
    GOAL_SHARED_PORTS(at),                                                                                             \
        [(at) + MAZE_SUCCESS] = {"success", BE_INFO, BE_VALUE(BE_BOOL), .doc = "whether the goal is within 0.45 m"}

/* The goal may move at the end of a step, after the observation. */
enum { MAZE_GOAL = MJ_FIELDS, MAZE_OBSERVED };
static const be_field maze_state[] = {
    MJ_SHARED_STATE,
    [MAZE_GOAL] = {"goal", BE_F64, 2, "where the goal is: x, y"},
    [MAZE_OBSERVED] = {"desired_goal", BE_F64, 2, "where it was at the last observation: x, y"},
    {0},
};

/* Cells that a reset may name; a row of -1: any. */
enum { MAZE_GOAL_ROW, MAZE_GOAL_COLUMN, MAZE_RESET_ROW, MAZE_RESET_COLUMN };
#define MAZE_CELL(name) {name, BE_PARAM_INT, -1, -1, 1e6, NULL, "of the map; -1: any"}
static const be_param maze_options[] = {
    MAZE_CELL("goal_cell_row"),
    MAZE_CELL("goal_cell_column"),
    MAZE_CELL("reset_cell_row"),
    MAZE_CELL("reset_cell_column"),
    {0},
};

static inline int maze_check_cell(const be_batch *b, const char *name, const double *cell, be_error *error) {
    const be_grid *map = &b->grid;
    if (cell[0] < 0 && cell[1] < 0) return BE_OK;
    if (cell[0] < 0 || cell[1] < 0 || cell[0] >= (double)map->rows || cell[1] >= (double)map->columns)
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "reset option %s=(%g, %g) is outside of maze_map: its rows are 0 to %lld, its columns 0 to %lld",
                       name, cell[0], cell[1], (long long)map->rows - 1, (long long)map->columns - 1);
    if (map->cells[(int64_t)cell[0] * map->columns + (int64_t)cell[1]] == '1')
        return be_fail(error, BE_ERROR_VALUE, -1, "reset option %s=(%g, %g) is a wall: name a free cell of maze_map",
                       name, cell[0], cell[1]);
    return BE_OK;
}
static inline int maze_check_options(const be_batch *b, const double *options, be_error *error) {
    const int status = maze_check_cell(b, "goal_cell", options + MAZE_GOAL_ROW, error);
    return status == BE_OK ? maze_check_cell(b, "reset_cell", options + MAZE_RESET_ROW, error) : status;
}

/* ---- cells ---------------------------------------------------------------------------------------------- */

static inline int64_t maze_count(const be_grid *map, int kind) {
    int64_t count = 0;
    for (int64_t k = 0; k < map->rows * map->columns; k++) count += map->cells[k] == kind;
    return count;
}

/* The cells where something may be: those of its own kind, then the 'c'; if there are neither, the '0'. */
static inline int64_t maze_num_places(const be_grid *map, int kind) {
    const int64_t count = maze_count(map, kind) + maze_count(map, 'c');
    return count ? count : maze_count(map, '0');
}

/* The number of such a cell, in the map. */
static inline int64_t maze_place(const be_grid *map, int kind, int64_t place) {
    const int64_t own = maze_count(map, kind);
    const int looked_for = place < own ? kind : maze_count(map, 'c') ? 'c' : '0';
    if (looked_for == 'c') place -= own;
    int64_t cell = -1;
    do {
        while (map->cells[++cell] != looked_for) continue;
    } while (place--);
    return cell;
}

static inline void maze_middle(const be_batch *b, const maze *m, int64_t row, int64_t column, double *middle) {
    middle[0] = ((double)column + 0.5) * m->cell - (double)b->grid.columns / 2 * m->cell;
    middle[1] = (double)b->grid.rows / 2 * m->cell - ((double)row + 0.5) * m->cell;
}

static inline void maze_draw_place(const be_batch *b, int64_t lane, const maze *m, int kind, double *middle) {
    const int64_t count = maze_num_places(&b->grid, kind);
    const int64_t cell = maze_place(&b->grid, kind, be_rng_integers(&b->rng[lane], 0, count));
    maze_middle(b, m, cell / b->grid.columns, cell % b->grid.columns, middle);
}

static inline void maze_add_noise(const be_batch *b, int64_t lane, const maze *m, double *place) {
    const double most = be_param_of(b, m->params + MAZE_NOISE, lane);
    for (int k = 0; k < 2; k++) place[k] += be_rng_uniform(&b->rng[lane], -most, most) * m->cell;
}

static inline double maze_distance(const be_batch *b, const double *from, const double *to) {
    const double way[] = {from[0] - to[0], from[1] - to[1]};
    return be_norm(way, 2, be_mujoco_of(b)->fused_dot);
}

/* ---- episodes ------------------------------------------------------------------------------------------- */

/* Refuses maps without a goal or a start, and those whose only start may be the goal. */
static inline int maze_prepare(be_setup *setup, const maze *m, be_error *error) {
    const be_grid *map = &setup->grid;
    const int64_t starts = maze_num_places(map, 'r'), goals = maze_num_places(map, 'g');
    if (starts < 1 || goals < 1)
        return be_fail(error, BE_ERROR_VALUE, -1, "maze_map has no cell where %s: it needs one of 0, 'c' or '%c'",
                       starts < 1 ? "episodes can start" : "the goal can be", starts < 1 ? 'r' : 'g');
    const int64_t start = maze_place(map, 'r', 0);
    const int kind = map->cells[start];
    if (starts == 1 && (kind == 'c' || (kind == '0' && maze_count(map, 'g') == 0)))
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "maze_map's only cell where episodes can start, (%lld, %lld), may also be the goal, but "
                       "they have to be apart: mark it with 'r', or more cells with 'r' or 'c'",
                       (long long)(start / map->columns), (long long)(start % map->columns));
    goal_spaces(setup, m->ports, 2);
    return BE_OK;
}

/* Draws the goal and the start. */
static inline int maze_draw(be_batch *b, int64_t lane, const be_rows *rows, const maze *m, double *start,
                            be_error *error) {
    enum { TRIES = 1000 }; /* at least half of the cells will do, unless there is one only */
    double *goal = MJ_FIELD(b, MAZE_GOAL, double, lane);
    const double *options = rows->options;
    if (options[MAZE_GOAL_ROW] < 0) {
        maze_draw_place(b, lane, m, 'g', goal);
    } else {
        maze_middle(b, m, (int64_t)options[MAZE_GOAL_ROW], (int64_t)options[MAZE_GOAL_COLUMN], goal);
    }
    maze_add_noise(b, lane, m, goal);
    if (options[MAZE_RESET_ROW] < 0) {
        int tries = 0;
        do {
            if (tries++ == TRIES)
                return be_fail(error, BE_ERROR_ENGINE, lane,
                               "goal_cell=(%g, %g) is the only cell where episodes can start: give a reset_cell, too",
                               options[MAZE_GOAL_ROW], options[MAZE_GOAL_COLUMN]);
            maze_draw_place(b, lane, m, 'r', start);
        } while (maze_distance(b, start, goal) <= 0.5 * m->cell);
    } else {
        maze_middle(b, m, (int64_t)options[MAZE_RESET_ROW], (int64_t)options[MAZE_RESET_COLUMN], start);
    }
    maze_add_noise(b, lane, m, start);
    return BE_OK;
}

static inline const double *maze_achieved(const be_batch *b, int64_t lane) {
    return be_mujoco_arrays(b, lane)[MJ_QPOS];
}

/* Has an episode observe the goal as it is now. Returns whether it is reached, which is in the infos. */
static inline int maze_look(const be_batch *b, int64_t lane, const be_rows *rows, const maze *m) {
    const double *goal = MJ_FIELD(b, MAZE_GOAL, double, lane);
    const int success = maze_distance(b, maze_achieved(b, lane), goal) <= MAZE_NEAR;
    (void)be_append(MJ_FIELD(b, MAZE_OBSERVED, double, lane), goal, 2);
    BE_ROW(uint8_t, rows->port[m->ports + MAZE_SUCCESS], rows, lane, 1)[0] = (uint8_t)success;
    return success;
}

/* Starts an episode. */
static inline int maze_start(be_batch *b, int64_t lane, const be_rows *rows, const maze *m, be_error *error) {
    const be_mujoco_view *view = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    double start[2];
    int status = maze_draw(b, lane, rows, m, start, error);
    if (status != BE_OK) return status;
    (void)be_append(arrays[MJ_QPOS], view->init_qpos, view->num_qpos);
    (void)be_append(arrays[MJ_QPOS], start, 2);
    (void)be_append(arrays[MJ_QVEL], view->init_qvel, view->num_qvel);
    status = be_mujoco_begin(b, lane, error);
    (void)maze_look(b, lane, rows, m);
    return status;
}

static inline void maze_write_goal(const be_batch *b, int64_t lane, const be_rows *rows, const maze *m) {
    goal_write(rows, lane, m->ports, maze_achieved(b, lane), MJ_FIELD(b, MAZE_OBSERVED, double, lane), 2);
}

/* Writes the results of a step, and moves a goal that is to move. */
static inline void maze_finish_step(be_batch *b, int64_t lane, const be_rows *rows, const maze *m) {
    double *goal = MJ_FIELD(b, MAZE_GOAL, double, lane);
    const double *achieved = maze_achieved(b, lane), distance = goal_distance_along_axis(achieved, goal, 2);
    const int dense = be_param_of(b, m->params + MAZE_REWARD, lane) == MAZE_DENSE;
    const int continuing = be_param_of(b, m->params + MAZE_CONTINUING, lane) != 0;
    const int reached = maze_look(b, lane, rows, m);
    rows->reward[lane - rows->first] = dense ? be_numpy_exp(-distance) : distance <= MAZE_NEAR;
    rows->terminated[lane - rows->first] = (uint8_t)(reached && !continuing);
    maze_write_goal(b, lane, rows, m);
    if (!reached || !continuing || be_param_of(b, m->params + MAZE_RESET_TARGET, lane) == 0) return;
    if (maze_num_places(&b->grid, 'g') < 2) return;
    do {
        maze_draw_place(b, lane, m, 'g', goal);
        maze_add_noise(b, lane, m, goal);
    } while (maze_distance(b, achieved, goal) <= MAZE_NEAR);
}

/* ---- types ---------------------------------------------------------------------------------------------- */

/* The functions of a type, of its own
 *     static const maze task;
 *     static void write_observation(const be_batch *batch, int64_t lane, double *row);
 *     static void write_start(const be_batch *batch, int64_t lane, const be_rows *rows);
 *     static int advance(be_batch *batch, int64_t lane, const be_rows *rows, be_error *error);
 * where write_start() writes the infos of a start, and advance() takes a step and writes its infos; those of mazes are
 * written here. */
#define MAZE_FUNCTIONS                                                                                                 \
    static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {       \
        (void)error;                                                                                                   \
        for (int64_t k = 0; k < count; k++) {                                                                          \
            write_observation(b, lanes[k], MJ_OBSERVATION(b, rows, lanes[k]));                                         \
            maze_write_goal(b, lanes[k], rows, &task);                                                                 \
        }                                                                                                              \
        return BE_OK;                                                                                                  \
    }                                                                                                                  \
    static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {                                \
        be_mujoco_clear_info(b, lane, rows);                                                                           \
        const int status = maze_start(b, lane, rows, &task, error);                                                    \
        if (status == BE_OK) write_start(b, lane, rows);                                                               \
        return status;                                                                                                 \
    }                                                                                                                  \
    MJ_RESET(reset, start)                                                                                             \
    static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {                    \
        (void)end;                                                                                                     \
        const int status = advance(b, lane, rows, error);                                                              \
        if (status != BE_OK) return status;                                                                            \
        write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));                                                     \
        maze_finish_step(b, lane, rows, &task);                                                                        \
        return status;                                                                                                 \
    }
#define MAZE_MEMBERS                                                                                                   \
    MJ_MEMBERS_OF("Gymnasium-Robotics"), .frames_per_second = 50, .state = maze_state, .options = maze_options,        \
        .grid = "maze_map", .check_options = maze_check_options, .reset = reset, .observe = observe, .step = step

/* The ids of a robot: `limits` are the most steps of an episode in UMaze and Open, in Medium, and in Large. */
#define MAZE_ID(robot, map, version, limit)                                                                            \
    {robot "_" map "-" version, limit, NULL, {{"maze_map", .text = map}, {"reward_type", .text = "sparse"}}}, {        \
        robot "_" map "Dense-" version, limit, NULL, { {"maze_map", .text = map}, {"reward_type", .text = "dense"} }   \
    }
#define MAZE_DIVERSE(robot, map, version, limit)                                                                       \
    MAZE_ID(robot, map, version, limit), MAZE_ID(robot, map "_Diverse_G", version, limit),                             \
        MAZE_ID(robot, map "_Diverse_GR", version, limit)
#define MAZE_IDS(robot, version, small, medium, large)                                                                 \
    ((const be_id[]){MAZE_ID(robot, "UMaze", version, small),                                                          \
                     MAZE_DIVERSE(robot, "Open", version, small),                                                      \
                     MAZE_DIVERSE(robot, "Medium", version, medium),                                                   \
                     MAZE_DIVERSE(robot, "Large", version, large),                                                     \
                     {0}})

#endif
