/* BabyAI's levels of opening doors. */
#include "envs/minigrid/babyai/level.h"

/* ---- Open --------------------------------------------------------------------------------------------- */

enum { ROOM_SIZE = MG_NUM_PARAMS, ROWS, COLUMNS, NUM_SIZES };
enum { NUM_DISTS = 18 };
static const be_param open_params[] = {
    MG_PARAMS, [ROOM_SIZE] = BA_ROOM_SIZE(8, 3), [ROWS] = BA_ROWS(3, 1), [COLUMNS] = BA_COLUMNS(3, 1), {0},
};
static ba_layout open_layout(const double *params) {
    return (ba_layout){(int)params[ROOM_SIZE], (int)params[COLUMNS], (int)params[ROWS], NUM_DISTS, 0};
}
static void open_any(ba_task *task) {
    mg_rooms *rooms = &task->rooms;
    mg_lane *lane = task->lane;
    mg_place_agent_in_room(rooms, MG_RANDOM, MG_RANDOM);
    mg_connect_all(rooms, NULL, 0);
    mg_add_distractors(rooms, MG_RANDOM, MG_RANDOM, NUM_DISTS, 0, NULL);
    ba_require_reachable(task);
    /* The doors of each room: all doors are there twice. */
    mg_point doors[4 * MG_MAX_ROOMS];
    int count = 0;
    for (int i = 0; i < rooms->columns; i++) {
        for (int j = 0; j < rooms->rows; j++) {
            const mg_room *room = mg_room_at(rooms, i, j);
            for (int k = 0; k < 4; k++) {
                if (room->exits[k] == MG_DOORWAY) doors[count++] = room->doors[k];
            }
        }
    }
    if (count == 0) mg_fail(lane, MG_WRONG, "one room alone has no door");
    const int chosen = mg_random(lane, 0, count);
    if (!lane->failure) ba_ask(task, BA_OPEN, ba_like(mg_get(lane, doors[chosen].x, doors[chosen].y)));
}
static const be_id open_ids[] = {{"BabyAI-Open-v0"}, {0}};
BABYAI_LEVEL(babyai_open, "BabyAIOpen", open_layout, open_any, open_params, open_ids);

/* ---- OpenRedDoor -------------------------------------------------------------------------------------- */

static const be_param red_params[] = {MG_PARAMS, {0}};
static ba_layout red_layout(const double *params) {
    (void)params;
    return (ba_layout){5, 2, 1, 0, 0};
}
static void open_red(ba_task *task) {
    const mg_thing door = mg_add_door(&task->rooms, 0, 0, MG_EAST, MG_RED, 0);
    mg_place_agent_in_room(&task->rooms, 0, 0);
    ba_ask(task, BA_OPEN, ba_like(door.cell));
}
static const be_id red_ids[] = {{"BabyAI-OpenRedDoor-v0"}, {0}};
BABYAI_LEVEL(babyai_open_red_door, "BabyAIOpenRedDoor", red_layout, open_red, red_params, red_ids);

/* ---- OpenDoor ----------------------------------------------------------------------------------------- */

/* _rand_subset(COLOR_NAMES, count). */
static void random_colors(mg_lane *lane, int count, int *colors) {
    int left[MG_NUM_COLORS];
    for (int k = 0; k < MG_NUM_COLORS; k++) left[k] = mg_color_named(k);
    for (int k = 0; k < count; k++) {
        const int chosen = mg_random(lane, 0, MG_NUM_COLORS - k);
        colors[k] = left[chosen];
        for (int next = chosen; next < MG_NUM_COLORS - k - 1; next++) left[next] = left[next + 1];
    }
}

#define STRICT BA_FLAG("debug", "to open a door that the mission does not mean ends the episode")

enum { DOOR_DEBUG = NUM_SIZES, SELECT_BY };
enum { BY_ANYTHING, BY_COLOR, BY_PLACE };
static const char *const ways_to_select[] = {"any", "color", "loc", NULL};
static const be_param door_params[] = {
    MG_PARAMS,
    [ROOM_SIZE] = BA_ROOM_SIZE(8, 3),
    [ROWS] = BA_ROWS(3, 3),
    [COLUMNS] = BA_COLUMNS(3, 3),
    [DOOR_DEBUG] = STRICT,
    [SELECT_BY] = {"select_by", BE_PARAM_CHOICE, BY_ANYTHING, 0, 0, ways_to_select,
                   "what the mission says of the door: its color, its place (loc), or one of both"},
    {0},
};
static ba_layout door_layout(const double *params) {
    return (ba_layout){(int)params[ROOM_SIZE], (int)params[COLUMNS], (int)params[ROWS], 0, 0};
}
static void open_door(ba_task *task) {
    mg_lane *lane = task->lane;
    int colors[4], way = (int)task->params[SELECT_BY];
    random_colors(lane, 4, colors);
    for (int k = 0; k < 4; k++) mg_add_door(&task->rooms, 1, 1, k, colors[k], 0);
    if (way == BY_ANYTHING) way = mg_random(lane, 0, 2) == 0 ? BY_COLOR : BY_PLACE;
    ba_objects door = {BA_DOOR, BA_ANY_COLOR, BA_ANYWHERE};
    if (way == BY_COLOR) {
        door.color = BA_COLOR(colors[0]);
    } else {
        door.side = (ba_side)(BA_LEFT + mg_random(lane, 0, 4));
    }
    mg_place_agent_in_room(&task->rooms, 1, 1);
    ba_ask(task, BA_OPEN, door);
    task->instruction.actions[0].strict = task->params[DOOR_DEBUG] != 0;
}
static const be_id door_ids[] = {
    {"BabyAI-OpenDoor-v0"},
    {"BabyAI-OpenDoorDebug-v0", .settings = {{"debug", 1}}},
    {"BabyAI-OpenDoorColor-v0", .settings = {{"select_by", .text = "color"}}},
    {"BabyAI-OpenDoorLoc-v0", .settings = {{"select_by", .text = "loc"}}},
    {0},
};
BABYAI_LEVEL(babyai_open_door, "BabyAIOpenDoor", door_layout, open_door, door_params, door_ids);

/* ---- OpenTwoDoors ------------------------------------------------------------------------------------- */

enum { ORDER_ROWS = MG_NUM_PARAMS, ORDER_COLUMNS, NUM_ORDER_SIZES };
enum { FIRST_COLOR = NUM_ORDER_SIZES, SECOND_COLOR, TWO_STRICT };
static const char *const colors_or_any[] = {"any", "red", "green", "blue", "purple", "yellow", "grey", NULL};
#define COLOR(name, doc) {name, BE_PARAM_CHOICE, 0, 0, 0, colors_or_any, doc}
static const be_param two_params[] = {
    MG_PARAMS,
    [ORDER_ROWS] = BA_ROWS(3, 2),
    [ORDER_COLUMNS] = BA_COLUMNS(3, 3),
    [FIRST_COLOR] = COLOR("first_color", "color of the door to be opened first"),
    [SECOND_COLOR] = COLOR("second_color", "color of the other door"),
    [TWO_STRICT] = BA_FLAG("strict", "to open another door first ends the episode"),
    {0},
};

static ba_layout order_layout(const double *params) {
    return (ba_layout){6, (int)params[ORDER_COLUMNS], (int)params[ORDER_ROWS], 0, 20 * 6 * 6};
}
/* Asks for two doors in an order. */
static void ask_order(ba_task *task, ba_order order, mg_cell one, mg_cell other) {
    task->instruction.order = order;
    task->instruction.actions[0] = (ba_action){.verb = BA_OPEN, .objects = ba_like(one)};
    task->instruction.actions[2] = (ba_action){.verb = BA_OPEN, .objects = ba_like(other)};
}
static void open_two(ba_task *task) {
    int colors[2];
    random_colors(task->lane, 2, colors);
    for (int k = 0; k < 2; k++) {
        const int given = (int)task->params[FIRST_COLOR + k];
        if (given) colors[k] = given - 1;
    }
    const mg_thing first = mg_add_door(&task->rooms, 1, 1, MG_WEST, colors[0], 0);
    const mg_thing second = mg_add_door(&task->rooms, 1, 1, MG_EAST, colors[1], 0);
    mg_place_agent_in_room(&task->rooms, 1, 1);
    ask_order(task, BA_BEFORE, first.cell, second.cell);
    task->instruction.actions[0].strict = task->params[TWO_STRICT] != 0;
}
#define RED_THEN_BLUE {"first_color", .text = "red"}, {"second_color", .text = "blue"}
static const be_id two_ids[] = {
    {"BabyAI-OpenTwoDoors-v0"},
    {"BabyAI-OpenRedBlueDoors-v0", .settings = {RED_THEN_BLUE}},
    {"BabyAI-OpenRedBlueDoorsDebug-v0", .settings = {RED_THEN_BLUE, {"strict", 1}}},
    {0},
};
BABYAI_LEVEL(babyai_open_two_doors, "BabyAIOpenTwoDoors", order_layout, open_two, two_params, two_ids);

/* ---- OpenDoorsOrder ----------------------------------------------------------------------------------- */

enum { NUM_DOORS = NUM_ORDER_SIZES, ORDER_DEBUG };
static const be_param order_params[] = {
    MG_PARAMS,
    [ORDER_ROWS] = BA_ROWS(3, 2),
    [ORDER_COLUMNS] = BA_COLUMNS(3, 2),
    [NUM_DOORS] = BA_COUNT("num_doors", 2, 2, 4, "doors, of different colors"),
    [ORDER_DEBUG] = STRICT,
    {0},
};
static void open_in_order(ba_task *task) {
    mg_lane *lane = task->lane;
    mg_thing doors[4];
    int colors[4], chosen[2];
    const int count = (int)task->params[NUM_DOORS], strict = task->params[ORDER_DEBUG] != 0;
    random_colors(lane, count, colors);
    for (int k = 0; k < count; k++) doors[k] = mg_add_door(&task->rooms, 1, 1, MG_RANDOM, colors[k], 0);
    mg_place_agent_in_room(&task->rooms, 1, 1);
    ba_two_of(lane, count, chosen);
    static const ba_order orders[] = {BA_ONE_HALF, BA_BEFORE, BA_AFTER};
    const ba_order order = orders[mg_random(lane, 0, 3)];
    if (lane->failure) return;
    ask_order(task, order, doors[chosen[0]].cell, doors[chosen[1]].cell);
    if (order == BA_ONE_HALF) task->instruction.actions[2] = (ba_action){BA_NOTHING};
    task->instruction.actions[0].strict = task->instruction.actions[2].strict = strict;
}
static const be_id order_ids[] = {
    {"BabyAI-OpenDoorsOrderN2-v0"},
    {"BabyAI-OpenDoorsOrderN4-v0", .settings = {{"num_doors", 4}}},
    {"BabyAI-OpenDoorsOrderN2Debug-v0", .settings = {{"debug", 1}}},
    {"BabyAI-OpenDoorsOrderN4Debug-v0", .settings = {{"num_doors", 4}, {"debug", 1}}},
    {0},
};
BABYAI_LEVEL(babyai_open_doors_order, "BabyAIOpenDoorsOrder", order_layout, open_in_order, order_params, order_ids);
