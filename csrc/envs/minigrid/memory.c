/* MiniGrid-Memory: at the end of a hallway, the agent has to turn to the object that it has seen at its beginning. */
#include "minigrid.h"

enum { SIZE = MG_NUM_PARAMS, RANDOM_LENGTH };
static const be_param params[] = {
    MG_PARAMS,
    [SIZE] = MG_SIDE("size", 7, 7, "side of the grid, cells: an odd number"),
    [RANDOM_LENGTH] = {"random_length", BE_PARAM_BOOL, 0, 0, 1, NULL, "the hallway has a random length"},
    {0},
};

static int plan(const double *values, mg_plan *plan, be_error *error) {
    plan->width = plan->height = (int)values[SIZE];
    if (plan->width % 2 == 0) {
        return be_fail(error, BE_ERROR_VALUE, -1, "size=%d must be an odd number, so that the hallway is in the middle",
                       plan->width);
    }
    plan->max_steps = 5 * plan->width * plan->width;
    plan->num_own = 3;
    return BE_OK;
}

/* own holds the column of the two ends, the row of the right one, and the row of the wrong one. */
static void generate(mg_lane *lane) {
    const mg_cell wall = MG_CELL(MG_WALL, MG_GREY);
    const int size = lane->width, middle = size / 2, upper = middle - 2, lower = middle + 2;
    mg_wall_around(lane, (mg_area){0, 0, size, size});
    const int end = mg_param(lane, RANDOM_LENGTH) != 0 ? mg_random(lane, 4, size - 2) : size - 3;
    mg_wall_across(lane, wall, 1, upper, 4);
    mg_wall_across(lane, wall, 1, lower, 4);
    mg_put(lane, wall, 4, upper + 1);
    mg_put(lane, wall, 4, lower - 1);
    mg_wall_across(lane, wall, 5, upper + 1, end - 5);
    mg_wall_across(lane, wall, 5, lower - 1, end - 5);
    mg_wall_down(lane, wall, end, 0, middle);
    mg_wall_down(lane, wall, end, middle + 1, size - middle - 1);
    mg_wall_down(lane, wall, end + 2, 0, size);
    lane->agent = (mg_point){mg_random(lane, 1, end + 1), middle};
    lane->direction = MG_EAST;
    const int shown = mg_random(lane, 0, 2) ? MG_BALL : MG_KEY;
    mg_put(lane, MG_CELL(shown, MG_GREEN), 1, middle - 1);
    const int above = mg_random(lane, 0, 2) ? MG_KEY : MG_BALL;
    mg_put(lane, MG_CELL(above, MG_GREEN), end + 1, upper);
    mg_put(lane, MG_CELL(above == MG_KEY ? MG_BALL : MG_KEY, MG_GREEN), end + 1, lower);
    lane->own[0] = end + 1;
    lane->own[1] = shown == above ? upper + 1 : lower - 1;
    lane->own[2] = shown == above ? lower - 1 : upper + 1;
}

/* Nothing can be picked up. */
static void before(mg_lane *lane, mg_step_result *result) {
    (void)lane;
    if (result->action == MG_PICKUP) result->action = MG_TOGGLE;
}

static void after(mg_lane *lane, mg_step_result *result) {
    if (lane->agent.x != lane->own[0]) return;
    if (lane->agent.y == lane->own[1]) mg_succeed(lane, result);
    if (lane->agent.y != lane->own[2]) return;
    result->reward = 0;
    result->terminated = 1;
}

static const mg_level level = {.plan = plan, .generate = generate, .before = before, .after = after};

#define RANDOM(size_) .settings = {{"size", size_}, {"random_length", 1}}
static const be_id ids[] = {
    {"MiniGrid-MemoryS7-v0", .settings = {{"size", 7}}},
    {"MiniGrid-MemoryS9-v0", .settings = {{"size", 9}}},
    {"MiniGrid-MemoryS11-v0", .settings = {{"size", 11}}},
    {"MiniGrid-MemoryS13-v0", .settings = {{"size", 13}}},
    {"MiniGrid-MemoryS13Random-v0", RANDOM(13)},
    {"MiniGrid-MemoryS17Random-v0", RANDOM(17)},
    {0},
};

MINIGRID_LEVEL(minigrid_memory, "MiniGridMemory", level, params, ids,
               MG_MISSION("go to the matching object at the end of the hallway"));
