/* MiniGrid-RedBlueDoors: the red door is to be opened first, and then the blue one. */
#include "minigrid.h"

enum { SIZE = MG_NUM_PARAMS, SEE_THROUGH };
static const be_param params[] = {
    MG_PARAMS,
    [SIZE] = {"size", BE_PARAM_INT, 8, 4, MG_MAX_SIDE / 2, NULL, "side of the room, and half the grid's columns"},
    [SEE_THROUGH] = MG_SEE_THROUGH_WALLS,
    {0},
};

static int plan(const double *values, mg_plan *plan, be_error *error) {
    (void)error;
    const int size = (int)values[SIZE];
    plan->width = 2 * size;
    plan->height = size;
    plan->max_steps = 20 * size * size;
    plan->num_own = 2;
    return BE_OK;
}

static int red_column(const mg_lane *lane) { return lane->height / 2; }
static int blue_column(const mg_lane *lane) { return lane->height / 2 + lane->height - 1; }

/* own holds the rows of the red and of the blue door. */
static void generate(mg_lane *lane) {
    const int size = lane->height;
    const mg_area room = {size / 2, 0, size, size};
    mg_wall_around(lane, (mg_area){0, 0, lane->width, size});
    mg_wall_around(lane, room);
    mg_place_agent_in(lane, room, 0);
    lane->own[0] = mg_random(lane, 1, size - 1);
    mg_put(lane, MG_CELL(MG_CLOSED_DOOR, MG_RED), red_column(lane), lane->own[0]);
    lane->own[1] = mg_random(lane, 1, size - 1);
    mg_put(lane, MG_CELL(MG_CLOSED_DOOR, MG_BLUE), blue_column(lane), lane->own[1]);
}

static int is_open(const mg_lane *lane, int x, int y) { return mg_kind(mg_get(lane, x, y)) == MG_OPEN_DOOR; }

static void after(mg_lane *lane, mg_step_result *result) {
    const mg_point red = {red_column(lane), lane->own[0]}, blue = {blue_column(lane), lane->own[1]};
    const int red_after = is_open(lane, red.x, red.y), blue_after = is_open(lane, blue.x, blue.y);
    const int front_was_open = mg_kind(result->front_cell) == MG_OPEN_DOOR;
    const int red_before = mg_same(result->front, red) ? front_was_open : red_after;
    const int blue_before = mg_same(result->front, blue) ? front_was_open : blue_after;
    if (blue_after) {
        result->reward = red_before ? mg_success(lane, result) : 0;
        result->terminated = 1;
    } else if (red_after && blue_before) {
        result->reward = 0;
        result->terminated = 1;
    }
}

static const mg_level level = {.plan = plan, .generate = generate, .after = after};

static const be_id ids[] = {
    {"MiniGrid-RedBlueDoors-6x6-v0", .settings = {{"size", 6}}},
    {"MiniGrid-RedBlueDoors-8x8-v0"},
    {0},
};

MINIGRID_LEVEL(minigrid_red_blue_doors, "MiniGridRedBlueDoors", level, params, ids,
               MG_MISSION("open the red door then the blue door"));
