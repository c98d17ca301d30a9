/* What generates levels: walls, objects, places. */
#include "minigrid.h"

#include <string.h>

void mg_clear(mg_lane *lane) {
    /* Everything becomes wall, then the rows of the grid empty. */
    memset(lane->cells, MG_CELL(MG_WALL, MG_GREY), (size_t)lane->batch->field_size[0]);
    for (int y = 0; y < lane->height; y++) memset(lane->cells + mg_index(lane, 0, y), MG_EMPTY, (size_t)lane->width);
    lane->num_objects = 0;
    if (lane->objects == NULL) return;
    memset(lane->objects, 0, (size_t)lane->batch->field_size[0]);
    memset(lane->inside, 0, (size_t)lane->batch->field_size[2]);
}

static void set(mg_lane *lane, mg_cell cell, int x, int y) {
    if (!mg_is_inside(lane, x, y)) {
        mg_fail(lane, MG_WRONG, "the grid is too small: something was to be put outside");
        return;
    }
    lane->cells[mg_index(lane, x, y)] = cell;
    if (lane->objects) lane->objects[mg_index(lane, x, y)] = 0;
}

int mg_put(mg_lane *lane, mg_cell cell, int x, int y) {
    if (lane->failure) return 0;
    set(lane, cell, x, y);
    if (lane->failure || !lane->objects || !mg_is_one_of(cell, MG_CARRIABLE | MG_DOORS)) return 0;
    if (2 * (lane->num_objects + 1) + 1 >= lane->batch->field_size[2]) {
        mg_fail(lane, MG_WRONG, "there are more objects than the level's plan has numbers for");
        return 0;
    }
    return lane->objects[mg_index(lane, x, y)] = (uint8_t)++lane->num_objects;
}

void mg_wall_across(mg_lane *lane, mg_cell cell, int x, int y, int length) {
    for (int k = 0; k < length && !lane->failure; k++) set(lane, cell, x + k, y);
}

void mg_wall_down(mg_lane *lane, mg_cell cell, int x, int y, int length) {
    for (int k = 0; k < length && !lane->failure; k++) set(lane, cell, x, y + k);
}

void mg_wall_around(mg_lane *lane, mg_area area) {
    const mg_cell wall = MG_CELL(MG_WALL, MG_GREY);
    mg_wall_across(lane, wall, area.x, area.y, area.width);
    mg_wall_across(lane, wall, area.x, area.y + area.height - 1, area.width);
    mg_wall_down(lane, wall, area.x, area.y, area.height);
    mg_wall_down(lane, wall, area.x + area.width - 1, area.y, area.height);
}

static int least(int a, int b) { return a < b ? a : b; }
static int most(int a, int b) { return a > b ? a : b; }

/* If one cell of the largest grid is free, a million tries miss it with a probability below e**-100. */
#define ENOUGH_TRIES 1000000

mg_point mg_place_in(mg_lane *lane, mg_cell cell, mg_area area, mg_reject *reject, int max_tries) {
    const int left = most(area.x, 0), top = most(area.y, 0);
    const int right = least(left + area.width, lane->width), bottom = least(top + area.height, lane->height);
    mg_point place = {left, top};
    for (int tries = 0;; tries++) {
        if (tries > (max_tries ? max_tries : ENOUGH_TRIES)) mg_fail(lane, MG_RECURSION, "no free cell was found");
        place.x = mg_random(lane, left, right);
        place.y = mg_random(lane, top, bottom);
        if (lane->failure) return (mg_point){-1, -1};
        if (lane->cells[mg_index(lane, place.x, place.y)] != MG_EMPTY || mg_same(place, lane->agent)) continue;
        if (reject == NULL || !reject(lane, place)) break;
    }
    if (cell != MG_EMPTY) mg_put(lane, cell, place.x, place.y);
    return place;
}

mg_point mg_place(mg_lane *lane, mg_cell cell) {
    return mg_place_in(lane, cell, (mg_area){0, 0, lane->width, lane->height}, NULL, 0);
}

void mg_place_agent_in(mg_lane *lane, mg_area area, int max_tries) {
    lane->agent = (mg_point){-1, -1};
    lane->agent = mg_place_in(lane, MG_EMPTY, area, NULL, max_tries);
    lane->direction = mg_random(lane, 0, 4);
}

void mg_place_agent(mg_lane *lane) { mg_place_agent_in(lane, (mg_area){0, 0, lane->width, lane->height}, 0); }

void mg_start_agent(mg_lane *lane, int param) {
    lane->agent = (mg_point){(int)mg_param(lane, param), (int)mg_param(lane, param + 1)};
    lane->direction = (int)mg_param(lane, param + 2);
    if (lane->agent.x < 0 || lane->agent.y < 0) mg_place_agent(lane);
}

void mg_fill_box(mg_lane *lane, int box, mg_cell cell) {
    if (lane->failure || box < 1 || box > lane->num_objects) return;
    lane->inside[2 * box] = cell;
}
