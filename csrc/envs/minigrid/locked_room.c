/* MiniGrid-LockedRoom: six rooms at a corridor, one of which is locked and holds the goal. */
#include <stdio.h>

#include "minigrid.h"

enum { SIZE = MG_NUM_PARAMS, SEE_THROUGH, NUM_ROOMS = 6, NUM_MISSIONS = 216 };
static const be_param params[] = {
    MG_PARAMS,
    [SIZE] = MG_SIDE("size", 19, 12, "side of the grid, cells"),
    [SEE_THROUGH] = MG_SEE_THROUGH_WALLS,
    {0},
};

static int plan(const double *values, mg_plan *plan, be_error *error) {
    (void)error;
    plan->width = plan->height = (int)values[SIZE];
    plan->max_steps = 10 * plan->width;
    return BE_OK;
}

/* Room k is in row k / 2, on the left if k is even. */
static mg_point random_place(mg_lane *lane, int k, int left_wall, int right_wall, int pitch) {
    const int x = k % 2 ? right_wall : 0, y = k / 2 * pitch;
    const int column = mg_random(lane, x + 1, x + left_wall);
    return (mg_point){column, mg_random(lane, y + 1, y + pitch)};
}

static void generate(mg_lane *lane) {
    const mg_cell wall = MG_CELL(MG_WALL, MG_GREY);
    const int size = lane->width, left = size / 2 - 2, right = size / 2 + 2, pitch = size / 3;
    mg_wall_around(lane, (mg_area){0, 0, size, size});
    mg_wall_down(lane, wall, left, 0, size);
    mg_wall_down(lane, wall, right, 0, size);
    for (int j = 0; j < 3; j++) {
        mg_wall_across(lane, wall, 0, j * pitch, left);
        mg_wall_across(lane, wall, right, j * pitch, size - right);
    }
    const int locked = mg_random(lane, 0, NUM_ROOMS);
    const mg_point goal = random_place(lane, locked, left, right, pitch);
    mg_put(lane, MG_CELL(MG_GOAL, MG_GREEN), goal.x, goal.y);
    int colors[NUM_ROOMS], free_colors[MG_NUM_COLORS];
    for (int k = 0; k < MG_NUM_COLORS; k++) free_colors[k] = mg_color_named(k);
    for (int k = 0; k < NUM_ROOMS; k++) {
        const int drawn = mg_random(lane, 0, MG_NUM_COLORS - k);
        colors[k] = free_colors[drawn];
        for (int c = drawn; c + 1 < MG_NUM_COLORS - k; c++) free_colors[c] = free_colors[c + 1];
        mg_put(lane, MG_CELL(k == locked ? MG_LOCKED_DOOR : MG_CLOSED_DOOR, colors[k]), k % 2 ? right : left,
               k / 2 * pitch + 3);
    }
    int with_key = locked;
    while (with_key == locked && !lane->failure) with_key = mg_random(lane, 0, NUM_ROOMS);
    const mg_point key = random_place(lane, with_key, left, right, pitch);
    mg_put(lane, MG_CELL(MG_KEY, colors[locked]), key.x, key.y);
    mg_place_agent_in(lane, (mg_area){left, 0, right - left, size}, 0);
    lane->mission[0] = (colors[locked] * MG_NUM_COLORS + colors[with_key]) * MG_NUM_COLORS + colors[locked];
}

static int write_mission(const be_env_type *type, const int64_t *code, char *text, int size) {
    const int colors[] = {(int)code[0] / (MG_NUM_COLORS * MG_NUM_COLORS), (int)code[0] / MG_NUM_COLORS % MG_NUM_COLORS,
                          (int)code[0] % MG_NUM_COLORS};
    (void)type;
    return snprintf(text, (size_t)size, "get the %s key from the %s room, unlock the %s door and go to the goal",
                    mg_color_name(colors[0]), mg_color_name(colors[1]), mg_color_name(colors[2]));
}

static const mg_level level = {.plan = plan, .generate = generate};

static const be_id ids[] = {{"MiniGrid-LockedRoom-v0"}, {0}};

MINIGRID_LEVEL(minigrid_locked_room, "MiniGridLockedRoom", level, params, ids, BE_TEXT_OF(write_mission, NUM_MISSIONS));
