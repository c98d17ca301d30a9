/* MiniGrid-DistShift: two strips of lava, the second of which is in another row after training. */
#include "minigrid.h"

enum { WIDTH = MG_NUM_PARAMS, HEIGHT, START_X, START_Y, START_DIR, STRIP };
static const be_param params[] = {
    MG_PARAMS,
    [WIDTH] = MG_SIDE("width", 9, 3, "columns of the grid"),
    [HEIGHT] = MG_SIDE("height", 7, 3, "rows of the grid"),
    [START_X] = MG_START_X,
    [START_Y] = MG_START_Y,
    [START_DIR] = MG_START_DIR,
    [STRIP] = MG_SIDE("strip2_row", 2, 0, "row of the second strip"),
    {0},
};

static int plan(const double *values, mg_plan *plan, be_error *error) {
    (void)error;
    plan->width = (int)values[WIDTH];
    plan->height = (int)values[HEIGHT];
    plan->max_steps = 4 * plan->width * plan->height;
    plan->see_through = 1;
    return BE_OK;
}

static void generate(mg_lane *lane) {
    const mg_cell lava = MG_CELL(MG_LAVA, MG_RED);
    mg_wall_around(lane, (mg_area){0, 0, lane->width, lane->height});
    mg_put(lane, MG_CELL(MG_GOAL, MG_GREEN), lane->width - 2, 1);
    mg_wall_across(lane, lava, 3, 1, lane->width - 6);
    mg_wall_across(lane, lava, 3, (int)mg_param(lane, STRIP), lane->width - 6);
    mg_start_agent(lane, START_X);
}

static const mg_level level = {.plan = plan, .generate = generate};

static const be_id ids[] = {
    {"MiniGrid-DistShift1-v0", .settings = {{"strip2_row", 2}}},
    {"MiniGrid-DistShift2-v0", .settings = {{"strip2_row", 5}}},
    {0},
};

MINIGRID_LEVEL(minigrid_distshift, "MiniGridDistShift", level, params, ids, MG_MISSION("get to the green goal square"));
