/* Levels of rooms in rows and columns, with doors between them: minigrid's RoomGrid, which many of its levels and all
 * of BabyAI's are made of. Room (i, j) is in column i and row j; a wall or door of a room is named by the direction in
 * which it lies, such as MG_EAST. The comment of each function says which of RoomGrid's methods it equals. */
#ifndef BE_MINIGRID_ROOMS_H
#define BE_MINIGRID_ROOMS_H

#include "minigrid.h"

#pragma GCC visibility push(default) /* see batchenv.h */

#define MG_MAX_ROOMS 160
#define MG_RANDOM (-1) /* for a color, kind, room, direction or lock: draw it */

/* What is in a wall between two rooms. */
enum { MG_SHUT, MG_REMOVED, MG_DOORWAY };

typedef struct mg_room {
    mg_area area;         /* walls included */
    uint8_t neighbors[4]; /* 1 where a room is next to this one */
    uint8_t exits[4];     /* MG_SHUT, MG_REMOVED or MG_DOORWAY */
    mg_point doors[4];    /* where the door is or would be; only where there is a neighbor */
    int locked;           /* 1: the door that was put into this room last is a locked one */
} mg_room;

/* The rooms of a lane's grid while a level is generated. */
typedef struct mg_rooms {
    mg_lane *lane;
    int size, columns, rows; /* side of a room, walls included; how many rooms there are */
    uint32_t contents;       /* bit k: the rooms have an object of sort k (see mg_sort) */
    mg_room room[MG_MAX_ROOMS];
} mg_rooms;

/* An object that has been put into a room: its number, if the level numbers its objects, its cell and its place. */
typedef struct mg_thing {
    int object;
    mg_cell cell;
    mg_point place;
} mg_thing;

static inline mg_room *mg_room_at(mg_rooms *rooms, int i, int j) { return &rooms->room[j * rooms->columns + i]; }
/* room_from_pos(). */
static inline mg_room *mg_room_of(mg_rooms *rooms, mg_point place) {
    return mg_room_at(rooms, place.x / (rooms->size - 1), place.y / (rooms->size - 1));
}
/* The room behind a wall, where there is one. */
static inline mg_room *mg_neighbor(mg_rooms *rooms, const mg_room *room, int direction) {
    const mg_point step = mg_ahead((mg_point){0, 0}, direction);
    return &rooms->room[room - rooms->room + step.y * rooms->columns + step.x];
}

/* Which of the 18 sorts of objects it is: a key, ball or box of a color. */
static inline int mg_sort(mg_cell cell) { return (mg_kind(cell) - MG_KEY) * MG_NUM_COLORS + mg_color(cell); }

/* The key, ball or box that _rand_elem(["key", "ball", "box"]) draws. */
static inline int mg_random_kind(mg_lane *lane) { return MG_KEY + mg_random(lane, 0, 3); }

/* How many cells a side of the grid has. */
static inline int mg_rooms_side(int room_size, int count) { return (room_size - 1) * count + 1; }

#define mg_start_rooms BE_ISA_NAME(mg_start_rooms)
#define mg_plan_rooms BE_ISA_NAME(mg_plan_rooms)
#define mg_place_in_room BE_ISA_NAME(mg_place_in_room)
#define mg_add_object BE_ISA_NAME(mg_add_object)
#define mg_add_door BE_ISA_NAME(mg_add_door)
#define mg_remove_wall BE_ISA_NAME(mg_remove_wall)
#define mg_place_agent_in_room BE_ISA_NAME(mg_place_agent_in_room)
#define mg_connect_all BE_ISA_NAME(mg_connect_all)
#define mg_add_distractors BE_ISA_NAME(mg_add_distractors)
#define mg_all_reachable BE_ISA_NAME(mg_all_reachable)

/* For plan(): the grid's size, and a check of how many rooms there are. Returns BE_OK or what be_fail() returns. */
int mg_plan_rooms(mg_plan *plan, int room_size, int columns, int rows, be_error *error);

/* RoomGrid._gen_grid(): an empty grid with walls around the rooms; draws where doors would be. The agent stands in the
 * middle and looks to the right. */
void mg_start_rooms(mg_rooms *rooms, mg_lane *lane, int room_size, int columns, int rows);

/* place_in_room(): a random empty cell of the room that is not next to the agent. */
mg_thing mg_place_in_room(mg_rooms *rooms, int i, int j, mg_cell cell);

/* add_object(): a key, ball or box; kind and color may be MG_RANDOM. */
mg_thing mg_add_object(mg_rooms *rooms, int i, int j, int kind, int color);

/* add_door(): the direction, the color and `locked` may be MG_RANDOM. */
mg_thing mg_add_door(mg_rooms *rooms, int i, int j, int direction, int color, int locked);

/* remove_wall(). */
void mg_remove_wall(mg_rooms *rooms, int i, int j, int direction);

/* place_agent(): i and j may be MG_RANDOM. The agent does not look at an object. */
void mg_place_agent_in_room(mg_rooms *rooms, int i, int j);

/* connect_all(): adds doors, none of them locked, until each room can be reached from the agent's. Colors are drawn
 * from `colors` (num_colors of them; NULL: from all six). */
void mg_connect_all(mg_rooms *rooms, const uint8_t *colors, int num_colors);

/* add_distractors(): random objects, each of another sort than all others if `unique`; i and j may be MG_RANDOM. Unless
 * `things` is NULL, writes there what was added. */
void mg_add_distractors(mg_rooms *rooms, int i, int j, int count, int unique, mg_thing *things);

/* Whether there is a way through doors to everything but walls: RoomGridLevel.check_objs_reachable(False). */
int mg_all_reachable(const mg_lane *lane);

#pragma GCC visibility pop

#endif
