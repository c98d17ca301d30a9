/* MiniGrid-Empty: a room with a goal in the corner. */
#include "minigrid.h"

enum { SIZE = MG_NUM_PARAMS, START_X, START_Y, START_DIR };
static const be_param params[] = {
    MG_PARAMS,
    [SIZE] = MG_SIDE("size", 8, 3, "side of the grid, cells"),
    [START_X] = MG_START_X,
    [START_Y] = MG_START_Y,
    [START_DIR] = MG_START_DIR,
    {0},
};

static int plan(const double *values, mg_plan *plan, be_error *error) {
    (void)error;
    plan->width = plan->height = (int)values[SIZE];
    plan->max_steps = 4 * plan->width * plan->width;
    plan->see_through = 1;
    return BE_OK;
}

static void generate(mg_lane *lane) {
    mg_wall_around(lane, (mg_area){0, 0, lane->width, lane->height});
    mg_put(lane, MG_CELL(MG_GOAL, MG_GREEN), lane->width - 2, lane->height - 2);
    mg_start_agent(lane, START_X);
}

static const mg_level level = {.plan = plan, .generate = generate};

static const be_id ids[] = {
    {"MiniGrid-Empty-5x5-v0", .settings = {{"size", 5}}},
    {"MiniGrid-Empty-6x6-v0", .settings = {{"size", 6}}},
    {"MiniGrid-Empty-8x8-v0"},
    {"MiniGrid-Empty-16x16-v0", .settings = {{"size", 16}}},
    {"MiniGrid-Empty-Random-5x5-v0", .settings = {{"size", 5}, MG_RANDOM_START}},
    {"MiniGrid-Empty-Random-6x6-v0", .settings = {{"size", 6}, MG_RANDOM_START}},
    {0},
};

MINIGRID_LEVEL(minigrid_empty, "MiniGridEmpty", level, params, ids, MG_MISSION("get to the green goal square"));
