/* MiniGrid-MultiRoom: rooms of random sizes in a row, with a door from each to the next. */
#include "minigrid.h"

enum { LEAST_ROOMS = MG_NUM_PARAMS, MOST_ROOMS, ROOM_SIZE, WIDTH, HEIGHT, SEE_THROUGH };
enum { MAX_ROOMS = 100, MIN_SIZE = 4 };
static const be_param params[] = {
    MG_PARAMS,
    [LEAST_ROOMS] = {"minNumRooms", BE_PARAM_INT, 6, 1, MAX_ROOMS, NULL, "the least number of rooms"},
    [MOST_ROOMS] = {"maxNumRooms", BE_PARAM_INT, 6, 1, MAX_ROOMS, NULL, "the greatest number of rooms"},
    [ROOM_SIZE] = MG_SIDE("maxRoomSize", 10, MIN_SIZE, "the greatest side of a room, walls included"),
    [WIDTH] = MG_SIDE("width", 25, 3, "columns of the grid"),
    [HEIGHT] = MG_SIDE("height", 25, 3, "rows of the grid"),
    [SEE_THROUGH] = MG_SEE_THROUGH_WALLS,
    {0},
};

static int plan(const double *values, mg_plan *plan, be_error *error) {
    if (values[LEAST_ROOMS] > values[MOST_ROOMS]) {
        return be_fail(error, BE_ERROR_VALUE, -1, "minNumRooms=%g must not be greater than maxNumRooms=%g",
                       values[LEAST_ROOMS], values[MOST_ROOMS]);
    }
    plan->width = (int)values[WIDTH];
    plan->height = (int)values[HEIGHT];
    plan->max_steps = 20 * (int64_t)values[MOST_ROOMS];
    return BE_OK;
}

typedef struct room {
    mg_area area;
    mg_point entry; /* the door to the room before */
} room;

typedef struct row {
    int count;
    room rooms[MAX_ROOMS];
} row;

/* Whether a room lies within the grid, and apart from all before it but the last. */
static int fits(const mg_lane *lane, const row *before, mg_area area) {
    if (area.x < 0 || area.y < 0 || area.x + area.width > lane->width || area.y + area.height >= lane->height) return 0;
    for (int k = 0; k + 1 < before->count; k++) {
        const mg_area other = before->rooms[k].area;
        if (!(area.x + area.width < other.x || other.x + other.width <= area.x || area.y + area.height < other.y ||
              other.y + other.height <= area.y))
            return 0;
    }
    return 1;
}

/* Tries to put a room behind the door `entry`, which is in its wall `wall`, and others behind it. Returns whether that
 * room has found a place. */
static int add_rooms(mg_lane *lane, row *to, int left, int wall, mg_point entry) {
    const int max_size = (int)mg_param(lane, ROOM_SIZE);
    mg_area area = {entry.x, entry.y, mg_random(lane, MIN_SIZE, max_size + 1), 0};
    area.height = mg_random(lane, MIN_SIZE, max_size + 1);
    if (to->count > 0) {
        if (wall == MG_EAST || wall == MG_WEST) {
            if (wall == MG_EAST) area.x -= area.width - 1;
            area.y = mg_random(lane, entry.y - area.height + 2, entry.y);
        } else {
            area.x = mg_random(lane, entry.x - area.width + 2, entry.x);
            if (wall == MG_SOUTH) area.y -= area.height - 1;
        }
    }
    if (lane->failure || !fits(lane, to, area)) return 0;
    to->rooms[to->count++] = (room){area, entry};
    for (int tries = 0; left > 1 && tries < 8; tries++) {
        int way = mg_random(lane, 0, 3);
        way += way >= wall; /* one of the other three walls */
        mg_point door = {area.x, area.y};
        if (way == MG_EAST) door.x += area.width - 1;
        if (way == MG_SOUTH) door.y += area.height - 1;
        if (way == MG_EAST || way == MG_WEST) {
            door.y += mg_random(lane, 1, area.height - 1);
        } else {
            door.x += mg_random(lane, 1, area.width - 1);
        }
        if (add_rooms(lane, to, left - 1, (way + 2) % 4, door)) break;
    }
    return 1;
}

#define ENOUGH_TRIES 100000

static void generate(mg_lane *lane) {
    const int wanted = mg_random(lane, (int)mg_param(lane, LEAST_ROOMS), (int)mg_param(lane, MOST_ROOMS) + 1);
    row rooms;
    rooms.count = 0;
    /* The reference keeps the longest row; it tries until that has all rooms, so the last one does. */
    for (int tries = 0; rooms.count < wanted && !lane->failure; tries++) {
        if (tries == ENOUGH_TRIES) mg_fail(lane, MG_WRONG, "the grid has no room for so many rooms");
        rooms.count = 0;
        mg_point entry = {mg_random(lane, 0, lane->width - 2), 0};
        entry.y = mg_random(lane, 0, lane->width - 2);
        (void)add_rooms(lane, &rooms, wanted, MG_WEST, entry);
    }
    if (lane->failure) return;
    for (int k = 0, last = -1; k < wanted; k++) {
        mg_wall_around(lane, rooms.rooms[k].area);
        if (k == 0) continue;
        /* Another color than that of the door before; `last` is its place in the order of names. */
        int color = mg_random(lane, 0, MG_NUM_COLORS - (last >= 0));
        color += last >= 0 && color >= last;
        last = color;
        mg_put(lane, MG_CELL(MG_CLOSED_DOOR, mg_color_named(color)), rooms.rooms[k].entry.x, rooms.rooms[k].entry.y);
    }
    mg_place_agent_in(lane, rooms.rooms[0].area, 0);
    mg_place_in(lane, MG_CELL(MG_GOAL, MG_GREEN), rooms.rooms[wanted - 1].area, NULL, 0);
}

static const mg_level level = {.plan = plan, .generate = generate};

#define ROOMS(count, size)                                                                                             \
    {"minNumRooms", count}, {"maxNumRooms", count}, { "maxRoomSize", size }
static const be_id ids[] = {
    {"MiniGrid-MultiRoom-N2-S4-v0", .settings = {ROOMS(2, 4)}},
    {"MiniGrid-MultiRoom-N4-S5-v0", .settings = {ROOMS(6, 5)}}, /* really six rooms */
    {"MiniGrid-MultiRoom-N4-S5-v1", .settings = {ROOMS(4, 5)}},
    {"MiniGrid-MultiRoom-N6-v0", .settings = {{"minNumRooms", 6}, {"maxNumRooms", 6}}},
    {0},
};

MINIGRID_LEVEL(minigrid_multi_room, "MiniGridMultiRoom", level, params, ids,
               MG_MISSION("traverse the rooms to get to the goal"));
