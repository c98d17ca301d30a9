/* Levels of rooms in rows and columns. */
#include "minigrid_rooms.h"

#include <string.h>

#define ROOM_TRIES 1000
#define CONNECT_TRIES 5000

int mg_plan_rooms(mg_plan *plan, int room_size, int columns, int rows, be_error *error) {
    if (columns * rows > MG_MAX_ROOMS) {
        return be_fail(error, BE_ERROR_VALUE, -1, "%d by %d rooms are more than %d, of which a level may have so many",
                       columns, rows, MG_MAX_ROOMS);
    }
    plan->width = mg_rooms_side(room_size, columns);
    plan->height = mg_rooms_side(room_size, rows);
    return BE_OK;
}

void mg_start_rooms(mg_rooms *rooms, mg_lane *lane, int room_size, int columns, int rows) {
    mg_clear(lane);
    rooms->lane = lane;
    rooms->size = room_size;
    rooms->columns = columns;
    rooms->rows = rows;
    rooms->contents = 0;
    const int pitch = room_size - 1, wall = MG_CELL(MG_WALL, MG_GREY);
    for (int j = 0; j <= rows; j++) mg_wall_across(lane, (mg_cell)wall, 0, j * pitch, lane->width);
    for (int i = 0; i <= columns; i++) mg_wall_down(lane, (mg_cell)wall, i * pitch, 0, lane->height);
    for (int j = 0; j < rows; j++) {
        for (int i = 0; i < columns; i++) {
            mg_room *room = mg_room_at(rooms, i, j);
            memset(room, 0, sizeof *room);
            room->area = (mg_area){i * pitch, j * pitch, room_size, room_size};
            const int left = room->area.x + 1, top = room->area.y + 1;
            const int right = room->area.x + pitch, bottom = room->area.y + pitch;
            if (i < columns - 1) {
                room->neighbors[MG_EAST] = 1;
                room->doors[MG_EAST] = (mg_point){right, mg_random(lane, top, bottom)};
            }
            if (j < rows - 1) {
                room->neighbors[MG_SOUTH] = 1;
                room->doors[MG_SOUTH] = (mg_point){mg_random(lane, left, right), bottom};
            }
            if (i > 0) {
                room->neighbors[MG_WEST] = 1;
                room->doors[MG_WEST] = mg_room_at(rooms, i - 1, j)->doors[MG_EAST];
            }
            if (j > 0) {
                room->neighbors[MG_NORTH] = 1;
                room->doors[MG_NORTH] = mg_room_at(rooms, i, j - 1)->doors[MG_SOUTH];
            }
        }
    }
    lane->agent = (mg_point){columns / 2 * pitch + room_size / 2, rows / 2 * pitch + room_size / 2};
    lane->direction = MG_EAST;
}

static int is_next_to_agent(const mg_lane *lane, mg_point place) {
    return mg_abs(lane->agent.x - place.x) + mg_abs(lane->agent.y - place.y) < 2;
}

mg_thing mg_place_in_room(mg_rooms *rooms, int i, int j, mg_cell cell) {
    mg_lane *lane = rooms->lane;
    const mg_point place = mg_place_in(lane, cell, mg_room_at(rooms, i, j)->area, is_next_to_agent, ROOM_TRIES);
    if (mg_is_one_of(cell, MG_CARRIABLE)) rooms->contents |= UINT32_C(1) << mg_sort(cell);
    return (mg_thing){mg_object(lane, place.x, place.y), cell, place};
}

mg_thing mg_add_object(mg_rooms *rooms, int i, int j, int kind, int color) {
    if (kind == MG_RANDOM) kind = mg_random_kind(rooms->lane);
    if (color == MG_RANDOM) color = mg_random_color(rooms->lane);
    return mg_place_in_room(rooms, i, j, MG_CELL(kind, color));
}

/* Whether there may be a door in this direction, which has none yet. */
static int may_open(const mg_room *room, int direction) {
    return room->neighbors[direction] && room->exits[direction] == MG_SHUT;
}

static void open_wall(mg_rooms *rooms, mg_room *room, int direction, uint8_t how) {
    room->exits[direction] = how;
    mg_neighbor(rooms, room, direction)->exits[(direction + 2) % 4] = how;
}

mg_thing mg_add_door(mg_rooms *rooms, int i, int j, int direction, int color, int locked) {
    mg_lane *lane = rooms->lane;
    mg_room *room = mg_room_at(rooms, i, j);
    int ways = 0;
    for (int k = 0; k < 4; k++) ways += may_open(room, k);
    if (direction == MG_RANDOM ? ways == 0 : !may_open(room, direction)) {
        mg_fail(lane, MG_WRONG, "a door was to be put where no room is, or where a door is already");
    }
    if (direction == MG_RANDOM) {
        do direction = mg_random(lane, 0, 4);
        while (!lane->failure && !may_open(room, direction));
    }
    if (color == MG_RANDOM) color = mg_random_color(lane);
    if (locked == MG_RANDOM) locked = mg_random_bool(lane);
    if (lane->failure) return (mg_thing){0};
    room->locked = locked;
    const mg_cell door = MG_CELL(locked ? MG_LOCKED_DOOR : MG_CLOSED_DOOR, color);
    const mg_point place = room->doors[direction];
    const int object = mg_put(lane, door, place.x, place.y);
    open_wall(rooms, room, direction, MG_DOORWAY);
    return (mg_thing){object, door, place};
}

void mg_remove_wall(mg_rooms *rooms, int i, int j, int direction) {
    mg_lane *lane = rooms->lane;
    mg_room *room = mg_room_at(rooms, i, j);
    if (!may_open(room, direction)) mg_fail(lane, MG_WRONG, "a wall was to be removed where no room is behind it");
    if (lane->failure) return;
    const int x = room->area.x, y = room->area.y, last = rooms->size - 1;
    if (direction == MG_EAST || direction == MG_WEST) {
        mg_wall_down(lane, MG_EMPTY, direction == MG_EAST ? x + last : x, y + 1, last - 1);
    } else {
        mg_wall_across(lane, MG_EMPTY, x + 1, direction == MG_SOUTH ? y + last : y, last - 1);
    }
    open_wall(rooms, room, direction, MG_REMOVED);
}

void mg_place_agent_in_room(mg_rooms *rooms, int i, int j) {
    mg_lane *lane = rooms->lane;
    if (i == MG_RANDOM) i = mg_random(lane, 0, rooms->columns);
    if (j == MG_RANDOM) j = mg_random(lane, 0, rooms->rows);
    for (int tries = 0; !lane->failure; tries++) {
        mg_place_agent_in(lane, mg_room_at(rooms, i, j)->area, ROOM_TRIES);
        const mg_point front = mg_ahead(lane->agent, lane->direction);
        const mg_cell cell = mg_get(lane, front.x, front.y);
        if (cell == MG_EMPTY || mg_kind(cell) == MG_WALL) return;
        if (tries == 100000) mg_fail(lane, MG_WRONG, "the agent cannot be placed without looking at an object");
    }
}

/* How many rooms can be reached from the agent's. */
static int count_reached(mg_rooms *rooms) {
    uint8_t reached[MG_MAX_ROOMS] = {0};
    mg_room *stack[MG_MAX_ROOMS];
    int height = 0, count = 0;
    stack[height++] = mg_room_of(rooms, rooms->lane->agent);
    reached[stack[0] - rooms->room] = 1;
    while (height > 0) {
        mg_room *room = stack[--height];
        count++;
        for (int k = 0; k < 4; k++) {
            if (room->exits[k] == MG_SHUT) continue;
            mg_room *next = mg_neighbor(rooms, room, k);
            if (reached[next - rooms->room]) continue;
            reached[next - rooms->room] = 1;
            stack[height++] = next;
        }
    }
    return count;
}

void mg_connect_all(mg_rooms *rooms, const uint8_t *colors, int num_colors) {
    mg_lane *lane = rooms->lane;
    if (lane->failure) return;
    int reached = count_reached(rooms);
    for (int tries = 0; reached < rooms->columns * rooms->rows && !lane->failure; tries++) {
        const int i = mg_random(lane, 0, rooms->columns), j = mg_random(lane, 0, rooms->rows);
        const int direction = mg_random(lane, 0, 4);
        mg_room *room = mg_room_at(rooms, i, j);
        if (may_open(room, direction) && !room->locked && !mg_neighbor(rooms, room, direction)->locked) {
            const int k = mg_random(lane, 0, colors ? num_colors : MG_NUM_COLORS);
            mg_add_door(rooms, i, j, direction, colors ? colors[k] : mg_color_named(k), 0);
            reached = count_reached(rooms);
        }
        if (tries == CONNECT_TRIES) mg_fail(lane, MG_RECURSION, "the rooms could not be connected");
    }
}

void mg_add_distractors(mg_rooms *rooms, int i, int j, int count, int unique, mg_thing *things) {
    mg_lane *lane = rooms->lane;
    for (int added = 0; added < count && !lane->failure;) {
        const int color = mg_random_color(lane), kind = mg_random_kind(lane);
        if (unique) {
            if (rooms->contents == (UINT32_C(1) << 18) - 1) {
                mg_fail(lane, MG_WRONG, "there are only 18 sorts of objects, and more were wanted");
            }
            if (rooms->contents >> mg_sort(MG_CELL(kind, color)) & 1) continue;
        }
        const int column = i == MG_RANDOM ? mg_random(lane, 0, rooms->columns) : i;
        const int row = j == MG_RANDOM ? mg_random(lane, 0, rooms->rows) : j;
        const mg_thing thing = mg_add_object(rooms, column, row, kind, color);
        if (things) things[added] = thing;
        added++;
    }
}

/* Bit x of a row is its cell in column x. What is next to a bit, that bit included. */
static be_u128 widened(be_u128 row) { return row | row << 1 | row >> 1; }

int mg_all_reachable(const mg_lane *lane) {
    /* Cells that one can walk through if doors are opened; things to be reached; cells that are reached. The rows
     * before the first and after the last are empty. */
    be_u128 open[MG_MAX_SIDE + 2], things[MG_MAX_SIDE + 2], reached[MG_MAX_SIDE + 2];
    memset(reached, 0, sizeof reached);
    for (int y = 0; y < lane->height; y++) {
        const mg_cell *row = &lane->cells[mg_index(lane, 0, y)];
        open[y + 1] = things[y + 1] = 0;
        for (int x = 0; x < lane->width; x++) {
            open[y + 1] |= (be_u128)(row[x] == MG_EMPTY || mg_is_one_of(row[x], MG_DOORS)) << x;
            things[y + 1] |= (be_u128)(row[x] != MG_EMPTY && mg_kind(row[x]) != MG_WALL) << x;
        }
    }
    reached[lane->agent.y + 1] = (be_u128)1 << lane->agent.x;
    /* From row to row, down and up by turns, until neither finds a new cell. */
    for (int idle = 0, down = 1; idle < 2; down = !down) {
        int found = 0;
        for (int k = 1; k <= lane->height; k++) {
            const int y = down ? k : lane->height + 1 - k;
            be_u128 row = (reached[y] | reached[y - 1] | reached[y + 1]) & open[y], before = 0;
            while (row != before) {
                before = row;
                row = widened(row) & open[y];
            }
            found |= row != reached[y];
            reached[y] = row;
        }
        idle = found ? 0 : idle + 1;
    }
    for (int y = 1; y <= lane->height; y++) {
        if (things[y] & ~(widened(reached[y]) | reached[y - 1] | reached[y + 1])) return 0;
    }
    return 1;
}
