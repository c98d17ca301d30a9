/* MiniGrid-Dynamic-Obstacles: balls that move at random, into which the agent must not run. */
#include "minigrid.h"

enum { SIZE = MG_NUM_PARAMS, START_X, START_Y, START_DIR, NUM_OBSTACLES };
static const be_param params[] = {
    MG_PARAMS,
    [SIZE] = MG_SIDE("size", 8, 3, "side of the grid, cells"),
    [START_X] = MG_START_X,
    [START_Y] = MG_START_Y,
    [START_DIR] = MG_START_DIR,
    [NUM_OBSTACLES] = {"n_obstacles", BE_PARAM_INT, 4, 0, MG_MAX_SIDE, NULL,
                       "how many balls there are; if more than size / 2 + 1, then size / 2"},
    {0},
};

#define TRIES 100

static int count_obstacles(const double *values) {
    const int size = (int)values[SIZE], wanted = (int)values[NUM_OBSTACLES];
    return wanted <= size / 2.0 + 1 ? wanted : size / 2;
}

static int plan(const double *values, mg_plan *plan, be_error *error) {
    (void)error;
    plan->width = plan->height = (int)values[SIZE];
    plan->max_steps = 4 * plan->width * plan->width;
    plan->see_through = 1;
    plan->num_actions = MG_FORWARD + 1;
    plan->num_own = 2 * count_obstacles(values);
    return BE_OK;
}

static const mg_cell ball = MG_CELL(MG_BALL, MG_BLUE);

/* own[2 k] and own[2 k + 1] are where ball k is. */
static mg_point *place_of(mg_lane *lane, int k) { return (mg_point *)(void *)&lane->own[2 * k]; }

static void generate(mg_lane *lane) {
    mg_wall_around(lane, (mg_area){0, 0, lane->width, lane->height});
    mg_put(lane, MG_CELL(MG_GOAL, MG_GREEN), lane->width - 2, lane->height - 2);
    mg_start_agent(lane, START_X);
    for (int k = 0; k < count_obstacles(lane->batch->params); k++) {
        *place_of(lane, k) = mg_place_in(lane, ball, (mg_area){0, 0, lane->width, lane->height}, NULL, TRIES);
    }
}

/* Moves each ball into a free cell next to it, unless none is found. */
static void before(mg_lane *lane, mg_step_result *result) {
    (void)result;
    for (int k = 0; k < count_obstacles(lane->batch->params); k++) {
        const mg_point old = *place_of(lane, k);
        const mg_point place = mg_place_in(lane, ball, (mg_area){old.x - 1, old.y - 1, 3, 3}, NULL, TRIES);
        if (lane->failure == MG_FINE) {
            *place_of(lane, k) = place;
            mg_put(lane, MG_EMPTY, old.x, old.y);
        }
        lane->failure = MG_FINE;
    }
}

static void after(mg_lane *lane, mg_step_result *result) {
    (void)lane;
    if (result->action != MG_FORWARD || result->front_cell == MG_EMPTY || mg_kind(result->front_cell) == MG_GOAL)
        return;
    result->reward = -1;
    result->terminated = 1;
}

static int is_sound(const mg_lane *lane) {
    for (int k = 0; k < count_obstacles(lane->batch->params); k++) {
        if (!mg_is_inside(lane, lane->own[2 * k], lane->own[2 * k + 1])) return 0;
    }
    return 1;
}

static const mg_level level = {
    .plan = plan, .generate = generate, .before = before, .after = after, .is_sound = is_sound};

static const be_id ids[] = {
    {"MiniGrid-Dynamic-Obstacles-5x5-v0", .settings = {{"size", 5}, {"n_obstacles", 2}}},
    {"MiniGrid-Dynamic-Obstacles-6x6-v0", .settings = {{"size", 6}, {"n_obstacles", 3}}},
    {"MiniGrid-Dynamic-Obstacles-8x8-v0"},
    {"MiniGrid-Dynamic-Obstacles-16x16-v0", .settings = {{"size", 16}, {"n_obstacles", 8}}},
    {"MiniGrid-Dynamic-Obstacles-Random-5x5-v0", .settings = {{"size", 5}, MG_RANDOM_START, {"n_obstacles", 2}}},
    {"MiniGrid-Dynamic-Obstacles-Random-6x6-v0", .settings = {{"size", 6}, MG_RANDOM_START, {"n_obstacles", 3}}},
    {0},
};

MINIGRID_LEVEL(minigrid_dynamic_obstacles, "MiniGridDynamicObstacles", level, params, ids,
               MG_MISSION("get to the green goal square"));
