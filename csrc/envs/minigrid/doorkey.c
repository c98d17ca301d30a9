/* MiniGrid-DoorKey: a key opens the door to the goal. */
#include "minigrid.h"

enum { SIZE = MG_NUM_PARAMS, SEE_THROUGH };
static const be_param params[] = {
    MG_PARAMS,
    [SIZE] = MG_SIDE("size", 8, 5, "side of the grid, cells"),
    [SEE_THROUGH] = MG_SEE_THROUGH_WALLS,
    {0},
};

static int plan(const double *values, mg_plan *plan, be_error *error) {
    (void)error;
    plan->width = plan->height = (int)values[SIZE];
    plan->max_steps = 10 * plan->width * plan->width;
    return BE_OK;
}

static void generate(mg_lane *lane) {
    mg_wall_around(lane, (mg_area){0, 0, lane->width, lane->height});
    mg_put(lane, MG_CELL(MG_GOAL, MG_GREEN), lane->width - 2, lane->height - 2);
    const int split = mg_random(lane, 2, lane->width - 2);
    mg_wall_down(lane, MG_CELL(MG_WALL, MG_GREY), split, 0, lane->height);
    const mg_area left = {0, 0, split, lane->height};
    mg_place_agent_in(lane, left, 0);
    mg_put(lane, MG_CELL(MG_LOCKED_DOOR, MG_YELLOW), split, mg_random(lane, 1, lane->width - 2));
    mg_place_in(lane, MG_CELL(MG_KEY, MG_YELLOW), left, NULL, 0);
}

static const mg_level level = {.plan = plan, .generate = generate};

static const be_id ids[] = {
    {"MiniGrid-DoorKey-5x5-v0", .settings = {{"size", 5}}},
    {"MiniGrid-DoorKey-6x6-v0", .settings = {{"size", 6}}},
    {"MiniGrid-DoorKey-8x8-v0"},
    {"MiniGrid-DoorKey-16x16-v0", .settings = {{"size", 16}}},
    {0},
};

MINIGRID_LEVEL(minigrid_doorkey, "MiniGridDoorKey", level, params, ids,
               MG_MISSION("use the key to open the door and then get to the goal"));
