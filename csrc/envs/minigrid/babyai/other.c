/* BabyAI's levels that are not named after what is to be done. */
#include "envs/minigrid/babyai/level.h"

/* ---- ActionObjDoor ------------------------------------------------------------------------------------ */

enum { ACTION_ROWS = MG_NUM_PARAMS, ACTION_COLUMNS };
enum { ACTION_DISTS = 5 };
static const be_param action_params[] = {
    MG_PARAMS,
    [ACTION_ROWS] = BA_ROWS(3, 3),
    [ACTION_COLUMNS] = BA_COLUMNS(3, 3),
    {0},
};
static ba_layout action_layout(const double *params) {
    return (ba_layout){7, (int)params[ACTION_COLUMNS], (int)params[ACTION_ROWS], ACTION_DISTS, 0};
}
static void act_on_object_or_door(ba_task *task) {
    mg_lane *lane = task->lane;
    mg_thing things[ACTION_DISTS + 4];
    mg_add_distractors(&task->rooms, 1, 1, ACTION_DISTS, 1, things);
    for (int k = 0; k < 4; k++) {
        things[ACTION_DISTS + k] = mg_add_door(&task->rooms, 1, 1, MG_RANDOM, MG_RANDOM, 0);
    }
    mg_place_agent_in_room(&task->rooms, 1, 1);
    const int chosen = mg_random(lane, 0, ACTION_DISTS + 4);
    const int go = mg_random_bool(lane);
    if (lane->failure) return;
    const ba_objects objects = ba_like(things[chosen].cell);
    ba_ask(task, go ? BA_GO_TO : objects.kind == BA_DOOR ? BA_OPEN : BA_PICK_UP, objects);
}
static const be_id action_ids[] = {{"BabyAI-ActionObjDoor-v0"}, {0}};
BABYAI_LEVEL(babyai_action_obj_door, "BabyAIActionObjDoor", action_layout, act_on_object_or_door, action_params,
             action_ids);

/* ---- FindObj ------------------------------------------------------------------------------------------ */

enum { FIND_SIZE = MG_NUM_PARAMS, FIND_ROWS, FIND_COLUMNS };
static const be_param find_params[] = {
    MG_PARAMS, [FIND_SIZE] = BA_ROOM_SIZE(5, 3), [FIND_ROWS] = BA_ROWS(3, 2), [FIND_COLUMNS] = BA_COLUMNS(3, 2), {0},
};
static ba_layout find_layout(const double *params) {
    const int size = (int)params[FIND_SIZE];
    return (ba_layout){size, (int)params[FIND_COLUMNS], (int)params[FIND_ROWS], 1, 20 * size * size};
}
static void find(ba_task *task) {
    mg_rooms *rooms = &task->rooms;
    /* The reference takes the number of rows for the columns and the other way round. */
    const int i = mg_random(task->lane, 0, rooms->rows), j = mg_random(task->lane, 0, rooms->columns);
    if (i >= rooms->columns || j >= rooms->rows) {
        mg_fail(task->lane, MG_WRONG, "num_rows and num_cols must be the same: there is no room where one was drawn");
        return;
    }
    ba_objects thing = ba_like(mg_add_object(rooms, i, j, MG_RANDOM, MG_RANDOM).cell);
    mg_place_agent_in_room(rooms, 1, 1);
    mg_connect_all(rooms, NULL, 0);
    thing.color = BA_ANY_COLOR;
    ba_ask(task, BA_PICK_UP, thing);
}
static const be_id find_ids[] = {
    {"BabyAI-FindObjS5-v0"},
    {"BabyAI-FindObjS6-v0", .settings = {{"room_size", 6}}},
    {"BabyAI-FindObjS7-v0", .settings = {{"room_size", 7}}},
    {0},
};
BABYAI_LEVEL(babyai_find_obj, "BabyAIFindObjS5", find_layout, find, find_params, find_ids);

/* ---- KeyCorridor -------------------------------------------------------------------------------------- */

enum { CORRIDOR_SIZE = MG_NUM_PARAMS, CORRIDOR_ROWS, CORRIDOR_COLUMNS, OBJ_TYPE };
static const char *const obj_types[] = {"key", "ball", "box", NULL}; /* in the order of MG_KEY, ... */
static const be_param corridor_params[] = {
    MG_PARAMS,
    [CORRIDOR_SIZE] = BA_ROOM_SIZE(6, 3),
    [CORRIDOR_ROWS] = BA_ROWS(3, 1),
    [CORRIDOR_COLUMNS] = BA_COLUMNS(3, 3),
    [OBJ_TYPE] = {"obj_type", BE_PARAM_CHOICE, MG_BALL - MG_KEY, 0, 0, obj_types, "what is to be picked up"},
    {0},
};
static ba_layout corridor_layout(const double *params) {
    const int size = (int)params[CORRIDOR_SIZE];
    return (ba_layout){size, (int)params[CORRIDOR_COLUMNS], (int)params[CORRIDOR_ROWS], 2, 30 * size * size};
}
static void corridor(ba_task *task) {
    mg_rooms *rooms = &task->rooms;
    for (int j = 1; j < rooms->rows; j++) mg_remove_wall(rooms, 1, j, MG_NORTH);
    const int row = mg_random(task->lane, 0, rooms->rows);
    const mg_thing door = mg_add_door(rooms, 2, row, MG_WEST, MG_RANDOM, 1);
    const mg_thing thing = mg_add_object(rooms, 2, row, MG_KEY + (int)task->params[OBJ_TYPE], MG_RANDOM);
    mg_add_object(rooms, 0, mg_random(task->lane, 0, rooms->rows), MG_KEY, mg_color(door.cell));
    mg_place_agent_in_room(rooms, 1, rooms->rows / 2);
    mg_connect_all(rooms, NULL, 0);
    ba_objects objects = ba_like(thing.cell);
    objects.color = BA_ANY_COLOR;
    ba_ask(task, BA_PICK_UP, objects);
}
#define CORRIDOR(id, size, rows)                                                                                       \
    {                                                                                                                  \
        id, .settings = {{"room_size", size}, {"num_rows", rows}}                                                      \
    }
static const be_id corridor_ids[] = {
    {"BabyAI-KeyCorridor-v0"},
    CORRIDOR("BabyAI-KeyCorridorS3R1-v0", 3, 1),
    CORRIDOR("BabyAI-KeyCorridorS3R2-v0", 3, 2),
    CORRIDOR("BabyAI-KeyCorridorS3R3-v0", 3, 3),
    CORRIDOR("BabyAI-KeyCorridorS4R3-v0", 4, 3),
    CORRIDOR("BabyAI-KeyCorridorS5R3-v0", 5, 3),
    CORRIDOR("BabyAI-KeyCorridorS6R3-v0", 6, 3),
    {0},
};
BABYAI_LEVEL(babyai_key_corridor, "BabyAIKeyCorridor", corridor_layout, corridor, corridor_params, corridor_ids);

/* ---- OneRoom ------------------------------------------------------------------------------------------ */

enum { ONE_SIZE = MG_NUM_PARAMS };
static const be_param one_params[] = {MG_PARAMS, [ONE_SIZE] = BA_ROOM_SIZE(8, 4), {0}};
static ba_layout one_layout(const double *params) { return (ba_layout){(int)params[ONE_SIZE], 1, 1, 1, 0}; }
static void one_room(ba_task *task) {
    mg_add_object(&task->rooms, 0, 0, MG_BALL, MG_RANDOM);
    mg_place_agent_in_room(&task->rooms, MG_RANDOM, MG_RANDOM);
    ba_ask(task, BA_PICK_UP, (ba_objects){BA_BALL, BA_ANY_COLOR, BA_ANYWHERE});
}
static const be_id one_ids[] = {
    {"BabyAI-OneRoomS8-v0"},
    {"BabyAI-OneRoomS12-v0", .settings = {{"room_size", 12}}},
    {"BabyAI-OneRoomS16-v0", .settings = {{"room_size", 16}}},
    {"BabyAI-OneRoomS20-v0", .settings = {{"room_size", 20}}},
    {0},
};
BABYAI_LEVEL(babyai_one_room, "BabyAIOneRoomS8", one_layout, one_room, one_params, one_ids);
