/* MiniGrid-GoToDoor: a room of random size with four doors. */
#include <stdio.h>

#include "minigrid.h"

enum { SIZE = MG_NUM_PARAMS };
static const be_param params[] = {
    MG_PARAMS,
    [SIZE] = MG_SIDE("size", 5, 5, "the largest side of the room, cells"),
    {0},
};

static int plan(const double *values, mg_plan *plan, be_error *error) {
    (void)error;
    plan->width = plan->height = (int)values[SIZE];
    plan->max_steps = 4 * plan->width * plan->width;
    plan->see_through = 1;
    plan->num_own = 2;
    return BE_OK;
}

/* own holds where the door is. */
static void generate(mg_lane *lane) {
    const int width = mg_random(lane, 5, lane->width + 1), height = mg_random(lane, 5, lane->height + 1);
    const mg_area room = {0, 0, width, height};
    mg_wall_around(lane, room);
    mg_point doors[4];
    int colors[4], used = 0;
    doors[0] = (mg_point){mg_random(lane, 2, width - 2), 0};
    doors[1] = (mg_point){mg_random(lane, 2, width - 2), height - 1};
    doors[2] = (mg_point){0, mg_random(lane, 2, height - 2)};
    doors[3] = (mg_point){width - 1, mg_random(lane, 2, height - 2)};
    for (int k = 0; k < 4;) {
        const int color = mg_random_color(lane);
        if (used >> color & 1) continue;
        used |= 1 << color;
        colors[k] = color;
        mg_put(lane, MG_CELL(MG_CLOSED_DOOR, color), doors[k].x, doors[k].y);
        k++;
    }
    mg_place_agent_in(lane, room, 0);
    const int target = mg_random(lane, 0, 4);
    lane->own[0] = doors[target].x;
    lane->own[1] = doors[target].y;
    lane->mission[0] = colors[target];
}

static void after(mg_lane *lane, mg_step_result *result) {
    if (result->action == MG_TOGGLE) result->terminated = 1;
    if (result->action != MG_DONE) return;
    if (mg_distance(lane->agent, (mg_point){lane->own[0], lane->own[1]}) == 1)
        result->reward = mg_success(lane, result);
    result->terminated = 1;
}

static int write_mission(const be_env_type *type, const int64_t *color, char *text, int size) {
    (void)type;
    return snprintf(text, (size_t)size, "go to the %s door", mg_color_name((int)color[0]));
}

static const mg_level level = {.plan = plan, .generate = generate, .after = after};

static const be_id ids[] = {
    {"MiniGrid-GoToDoor-5x5-v0"},
    {"MiniGrid-GoToDoor-6x6-v0", .settings = {{"size", 6}}},
    {"MiniGrid-GoToDoor-8x8-v0", .settings = {{"size", 8}}},
    {0},
};

MINIGRID_LEVEL(minigrid_go_to_door, "MiniGridGoToDoor", level, params, ids, BE_TEXT_OF(write_mission, MG_NUM_COLORS));
