/* MiniGrid-KeyCorridor: an object behind a locked door, whose key is in some other room. */
#include <stdio.h>

#include "minigrid_rooms.h"

static const char *const kinds[] = {"key", "ball", "box", NULL};

enum { NUM_ROWS = MG_NUM_PARAMS, OBJECT_TYPE, ROOM_SIZE };
static const be_param params[] = {
    MG_PARAMS,
    [NUM_ROWS] = {"num_rows", BE_PARAM_INT, 3, 1, 49, NULL, "rows of rooms, each of three"},
    [OBJECT_TYPE] = {"obj_type", BE_PARAM_CHOICE, 1, .choices = kinds, .doc = "what is to be picked up"},
    [ROOM_SIZE] = {"room_size", BE_PARAM_INT, 6, 3, 34, NULL, "side of a room, walls included"},
    {0},
};

static int plan(const double *values, mg_plan *plan, be_error *error) {
    const int rows = (int)values[NUM_ROWS], size = (int)values[ROOM_SIZE];
    plan->max_steps = 30 * size * size;
    plan->num_objects = MG_MAX_OBJECTS;
    plan->num_own = 1;
    plan->first_mission = mg_sort(MG_CELL(MG_KEY + (int)values[OBJECT_TYPE], 0));
    plan->num_missions = MG_NUM_COLORS;
    return mg_plan_rooms(plan, size, 3, rows, error);
}

/* own[0] is the object. */
static void generate(mg_lane *lane) {
    const int num_rows = (int)mg_param(lane, NUM_ROWS), kind = MG_KEY + (int)mg_param(lane, OBJECT_TYPE);
    mg_rooms rooms;
    mg_start_rooms(&rooms, lane, (int)mg_param(lane, ROOM_SIZE), 3, num_rows);
    for (int j = 1; j < num_rows; j++) mg_remove_wall(&rooms, 1, j, MG_NORTH);
    const int row = mg_random(lane, 0, num_rows);
    const mg_thing door = mg_add_door(&rooms, 2, row, MG_WEST, MG_RANDOM, 1);
    const mg_thing thing = mg_add_object(&rooms, 2, row, kind, MG_RANDOM);
    mg_add_object(&rooms, 0, mg_random(lane, 0, num_rows), MG_KEY, mg_color(door.cell));
    mg_place_agent_in_room(&rooms, 1, num_rows / 2);
    mg_connect_all(&rooms, NULL, 0);
    lane->own[0] = thing.object;
    lane->mission[0] = mg_sort(thing.cell);
}

static void after(mg_lane *lane, mg_step_result *result) {
    if (result->action == MG_PICKUP && lane->carried && lane->carried == lane->own[0]) mg_succeed(lane, result);
}

static int write_mission(const be_env_type *type, const int64_t *code, char *text, int size) {
    (void)type;
    return snprintf(text, (size_t)size, "pick up the %s %s", mg_color_name((int)code[0] % MG_NUM_COLORS),
                    kinds[code[0] / MG_NUM_COLORS]);
}

static const mg_level level = {.plan = plan, .generate = generate, .after = after};

#define ROOMS(size, rows) .settings = {{"room_size", size}, {"num_rows", rows}}
static const be_id ids[] = {
    {"MiniGrid-KeyCorridorS3R1-v0", ROOMS(3, 1)},
    {"MiniGrid-KeyCorridorS3R2-v0", ROOMS(3, 2)},
    {"MiniGrid-KeyCorridorS3R3-v0", ROOMS(3, 3)},
    {"MiniGrid-KeyCorridorS4R3-v0", ROOMS(4, 3)},
    {"MiniGrid-KeyCorridorS5R3-v0", ROOMS(5, 3)},
    {"MiniGrid-KeyCorridorS6R3-v0", ROOMS(6, 3)},
    {0},
};

MINIGRID_LEVEL(minigrid_key_corridor, "MiniGridKeyCorridor", level, params, ids,
               BE_TEXT_OF(write_mission, 3 * MG_NUM_COLORS));
