/* MiniGrid-ObstructedMaze: a blue ball behind locked doors, which balls obstruct, and whose keys are in boxes. */
#include "minigrid_rooms.h"

enum { ROOM_SIZE = 6, MOST_VISITED = 1000000 };

#define KEY_IN_BOX_ROW(value) {"key_in_box", BE_PARAM_BOOL, value, 0, 1, NULL, "keys are hidden in boxes"}
#define BLOCKED_ROW(value) {"blocked", BE_PARAM_BOOL, value, 0, 1, NULL, "balls stand before the locked doors"}
enum { KEY_IN_BOX = MG_NUM_PARAMS, BLOCKED, AGENT_COLUMN, AGENT_ROW, NUM_QUARTERS, NUM_VISITED };

static int fill(mg_plan *plan, int columns, int rows, double num_visited, be_error *error) {
    plan->max_steps = 4 * (int64_t)num_visited * ROOM_SIZE * ROOM_SIZE;
    plan->num_objects = 64;
    plan->num_own = 1;
    return mg_plan_rooms(plan, ROOM_SIZE, columns, rows, error);
}

/* The colors of the doors: the six in random order. */
static void draw_colors(mg_lane *lane, uint8_t *colors) {
    int left[MG_NUM_COLORS];
    for (int k = 0; k < MG_NUM_COLORS; k++) left[k] = mg_color_named(k);
    for (int k = 0; k < MG_NUM_COLORS; k++) {
        const int drawn = mg_random(lane, 0, MG_NUM_COLORS - k);
        colors[k] = (uint8_t)left[drawn];
        for (int c = drawn; c + 1 < MG_NUM_COLORS - k; c++) left[c] = left[c + 1];
    }
}

static void add_locked_door(mg_rooms *rooms, int i, int j, int direction, int color) {
    const mg_thing door = mg_add_door(rooms, i, j, direction, color, 1);
    const mg_point inward = mg_ahead(door.place, (direction + 2) % 4);
    if (mg_param(rooms->lane, BLOCKED) != 0) mg_put(rooms->lane, MG_CELL(MG_BALL, MG_GREEN), inward.x, inward.y);
}

static void add_key(mg_rooms *rooms, int i, int j, int color) {
    const mg_cell key = MG_CELL(MG_KEY, color);
    if (mg_param(rooms->lane, KEY_IN_BOX) == 0) {
        mg_place_in_room(rooms, i, j, key);
    } else {
        const mg_thing box = mg_place_in_room(rooms, i, j, MG_CELL(MG_BOX, MG_GREY));
        mg_fill_box(rooms->lane, box.object, key);
    }
}

/* own[0] is the ball. */
static void add_ball(mg_rooms *rooms, int i, int j, int agent_i, int agent_j) {
    rooms->lane->own[0] = mg_add_object(rooms, i, j, MG_BALL, MG_BLUE).object;
    mg_place_agent_in_room(rooms, agent_i, agent_j);
}

static void after(mg_lane *lane, mg_step_result *result) {
    if (result->action == MG_PICKUP && lane->carried && lane->carried == lane->own[0]) mg_succeed(lane, result);
}

#define MISSION MG_MISSION("pick up the blue ball")

/* ---- two rooms -------------------------------------------------------------------------------------- */

static const be_param two_params[] = {
    MG_PARAMS,
    [KEY_IN_BOX] = KEY_IN_BOX_ROW(1),
    [BLOCKED] = BLOCKED_ROW(1),
    {0},
};

static int plan_two(const double *values, mg_plan *plan, be_error *error) {
    (void)values;
    return fill(plan, 2, 1, 2, error);
}

static void generate_two(mg_lane *lane) {
    mg_rooms rooms;
    uint8_t colors[MG_NUM_COLORS];
    mg_start_rooms(&rooms, lane, ROOM_SIZE, 2, 1);
    draw_colors(lane, colors);
    add_locked_door(&rooms, 0, 0, MG_EAST, colors[0]);
    add_key(&rooms, 0, 0, colors[0]);
    add_ball(&rooms, 1, 0, 0, 0);
}

static const mg_level two = {.plan = plan_two, .generate = generate_two, .after = after};

static const be_id two_ids[] = {
    {"MiniGrid-ObstructedMaze-1Dl-v0", .settings = {{"key_in_box", 0}, {"blocked", 0}}},
    {"MiniGrid-ObstructedMaze-1Dlh-v0", .settings = {{"key_in_box", 1}, {"blocked", 0}}},
    {"MiniGrid-ObstructedMaze-1Dlhb-v0"},
    {0},
};

MINIGRID_LEVEL(minigrid_obstructed_two, "MiniGridObstructedMaze_1Dlhb", two, two_params, two_ids, MISSION);

/* ---- nine rooms ------------------------------------------------------------------------------------- */

static const be_param nine_params[] = {
    MG_PARAMS,
    [KEY_IN_BOX] = KEY_IN_BOX_ROW(1),
    [BLOCKED] = BLOCKED_ROW(1),
    [AGENT_COLUMN] = {"agent_room_column", BE_PARAM_INT, 1, 0, 2, NULL, "column of the room where the agent starts"},
    [AGENT_ROW] = {"agent_room_row", BE_PARAM_INT, 1, 0, 2, NULL, "row of the room where the agent starts"},
    [NUM_QUARTERS] = {"num_quarters", BE_PARAM_INT, 4, 1, 4, NULL, "how many sides of the maze are open"},
    [NUM_VISITED] = {"num_rooms_visited", BE_PARAM_INT, 25, 1, MOST_VISITED, NULL,
                     "rooms that the agent visits, from which the time limit follows"},
    {0},
};

static int plan_nine(const double *values, mg_plan *plan, be_error *error) {
    return fill(plan, 3, 3, values[NUM_VISITED], error);
}

/* In version 0 each door's key is placed before the next door's ball, which may then take the key's cell. */
static void generate_nine(mg_lane *lane, int version) {
    static const uint8_t sides[4][2] = {{2, 1}, {1, 2}, {0, 1}, {1, 0}},
                         corners[4][2] = {{2, 0}, {2, 2}, {0, 2}, {0, 0}};
    const int num_quarters = (int)mg_param(lane, NUM_QUARTERS);
    mg_rooms rooms;
    uint8_t colors[MG_NUM_COLORS];
    mg_start_rooms(&rooms, lane, ROOM_SIZE, 3, 3);
    draw_colors(lane, colors);
    for (int k = 0; k < num_quarters; k++) {
        const int i = sides[k][0], j = sides[k][1];
        const int left = colors[(k + MG_NUM_COLORS - 1) % MG_NUM_COLORS], right = colors[k + 1];
        mg_add_door(&rooms, 1, 1, k, colors[k], 0);
        add_locked_door(&rooms, i, j, (k + 3) % 4, left);
        if (version == 0) add_key(&rooms, i, j, left);
        add_locked_door(&rooms, i, j, (k + 1) % 4, right);
        if (version == 1) add_key(&rooms, i, j, left);
        add_key(&rooms, i, j, right);
    }
    const uint8_t *corner = corners[mg_random(lane, 0, num_quarters)];
    add_ball(&rooms, corner[0], corner[1], (int)mg_param(lane, AGENT_COLUMN), (int)mg_param(lane, AGENT_ROW));
}

static void generate_v0(mg_lane *lane) { generate_nine(lane, 0); }
static void generate_v1(mg_lane *lane) { generate_nine(lane, 1); }

static const mg_level nine_v0 = {.plan = plan_nine, .generate = generate_v0, .after = after};
static const mg_level nine_v1 = {.plan = plan_nine, .generate = generate_v1, .after = after};

#define MAZE(column, row, box, block, quarters, visited)                                                               \
    .settings = {                                                                                                      \
        {"agent_room_column", column}, {"agent_room_row", row},        {"key_in_box", box}, {"blocked", block},        \
        {"num_quarters", quarters},    {"num_rooms_visited", visited},                                                 \
    }
static const be_id v0_ids[] = {
    {"MiniGrid-ObstructedMaze-2Dl-v0", MAZE(2, 1, 0, 0, 1, 4)},
    {"MiniGrid-ObstructedMaze-2Dlh-v0", MAZE(2, 1, 1, 0, 1, 4)},
    {"MiniGrid-ObstructedMaze-2Dlhb-v0", MAZE(2, 1, 1, 1, 1, 4)},
    {"MiniGrid-ObstructedMaze-1Q-v0", MAZE(1, 1, 1, 1, 1, 5)},
    {"MiniGrid-ObstructedMaze-2Q-v0", MAZE(2, 1, 1, 1, 2, 11)},
    {"MiniGrid-ObstructedMaze-Full-v0"},
    {0},
};
static const be_id v1_ids[] = {
    {"MiniGrid-ObstructedMaze-2Dlhb-v1", MAZE(2, 1, 1, 1, 1, 4)},
    {"MiniGrid-ObstructedMaze-1Q-v1", MAZE(1, 1, 1, 1, 1, 5)},
    {"MiniGrid-ObstructedMaze-2Q-v1", MAZE(2, 1, 1, 1, 2, 11)},
    {"MiniGrid-ObstructedMaze-Full-v1"},
    {0},
};

MINIGRID_LEVEL(minigrid_obstructed_v0, "MiniGridObstructedMaze_Full", nine_v0, nine_params, v0_ids, MISSION);
MINIGRID_LEVEL(minigrid_obstructed_v1, "MiniGridObstructedMaze_Full_V1", nine_v1, nine_params, v1_ids, MISSION);
