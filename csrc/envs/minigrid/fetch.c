/* MiniGrid-Fetch, -GoToObject and -PutNear: a room with objects of several sorts, of which the mission names some. */
#include <stdio.h>

#include "minigrid.h"

enum { MOST = 18 }; /* sorts of objects */

enum { SIZE = MG_NUM_PARAMS, NUM_OBJECTS };
#define PARAMS(size, count, least)                                                                                     \
    MG_PARAMS, [SIZE] = MG_SIDE("size", size, 4, "side of the grid, cells"),                                           \
               [NUM_OBJECTS] = {"numObjs", BE_PARAM_INT, count, least, MOST, NULL, "how many objects there are"}

static void make_room(mg_lane *lane) { mg_wall_around(lane, (mg_area){0, 0, lane->width, lane->height}); }

static mg_cell random_object(mg_lane *lane, int num_kinds) {
    const int kind = MG_KEY + mg_random(lane, 0, num_kinds);
    return MG_CELL(kind, mg_random_color(lane));
}

/* Objects of different sorts, and then the agent. */
static void place_objects(mg_lane *lane, mg_cell *cells, mg_point *places, mg_reject *reject) {
    const int count = (int)mg_param(lane, NUM_OBJECTS);
    const mg_area everywhere = {0, 0, lane->width, lane->height};
    make_room(lane);
    for (int placed = 0; placed < count && !lane->failure;) {
        const mg_cell cell = random_object(lane, 3);
        int same = 0;
        for (int k = 0; k < placed; k++) same |= cells[k] == cell;
        if (same) continue;
        cells[placed] = cell;
        places[placed++] = mg_place_in(lane, cell, everywhere, reject, 0);
    }
    mg_place_agent(lane);
}

static int words_of(mg_cell cell) { return mg_color(cell) * 3 + mg_kind(cell) - MG_KEY; }
static const char *color_of(int64_t words) { return mg_color_name((int)words / 3); }
static const char *kind_of(int64_t words) { return mg_kind_name(MG_KEY + (int)words % 3); }

static int plan(const double *values, mg_plan *to_fill, int steps_per_cell) {
    to_fill->width = to_fill->height = (int)values[SIZE];
    to_fill->max_steps = (int64_t)steps_per_cell * to_fill->width;
    to_fill->see_through = 1;
    return BE_OK;
}

static int plan_square(const double *values, mg_plan *to_fill, be_error *error) {
    (void)error;
    to_fill->num_own = 2;
    return plan(values, to_fill, 5 * (int)values[SIZE]);
}

/* ---- Fetch ------------------------------------------------------------------------------------------ */

static const be_param fetch_params[] = {PARAMS(8, 3, 1), {0}};

/* own[0] is the object to fetch. */
static void generate_fetch(mg_lane *lane) {
    const int count = (int)mg_param(lane, NUM_OBJECTS);
    mg_cell cells[MOST];
    make_room(lane);
    for (int k = 0; k < count; k++) {
        cells[k] = random_object(lane, 2);
        mg_place(lane, cells[k]);
    }
    mg_place_agent(lane);
    lane->own[0] = cells[mg_random(lane, 0, count)];
    const mg_cell target = (mg_cell)lane->own[0];
    lane->mission[0] = (mg_random(lane, 0, 5) * MG_NUM_COLORS + mg_color(target)) * 2 + mg_kind(target) - MG_KEY;
}

static void after_fetch(mg_lane *lane, mg_step_result *result) {
    if (lane->carrying == MG_EMPTY) return;
    result->terminated = 1;
    result->reward = lane->carrying == lane->own[0] ? mg_success(lane, result) : 0;
}

static int write_fetch(const be_env_type *type, const int64_t *code, char *text, int size) {
    static const char *const beginnings[] = {"get a", "go get a", "fetch a", "go fetch a", "you must fetch a"};
    (void)type;
    return snprintf(text, (size_t)size, "%s %s %s", beginnings[code[0] / (2 * MG_NUM_COLORS)],
                    mg_color_name((int)code[0] / 2 % MG_NUM_COLORS), mg_kind_name(MG_KEY + (int)code[0] % 2));
}

static const mg_level fetch = {.plan = plan_square, .generate = generate_fetch, .after = after_fetch};

static const be_id fetch_ids[] = {
    {"MiniGrid-Fetch-5x5-N2-v0", .settings = {{"size", 5}, {"numObjs", 2}}},
    {"MiniGrid-Fetch-6x6-N2-v0", .settings = {{"size", 6}, {"numObjs", 2}}},
    {"MiniGrid-Fetch-8x8-N3-v0"},
    {0},
};

MINIGRID_LEVEL(minigrid_fetch, "MiniGridFetch", fetch, fetch_params, fetch_ids,
               BE_TEXT_OF(write_fetch, 10 * MG_NUM_COLORS));

/* ---- GoToObject ------------------------------------------------------------------------------------- */

static const be_param goto_params[] = {PARAMS(6, 2, 1), {0}};

/* own holds where the object is. */
static void generate_goto(mg_lane *lane) {
    mg_cell cells[MOST];
    mg_point places[MOST];
    place_objects(lane, cells, places, NULL);
    const int target = mg_random(lane, 0, (int)mg_param(lane, NUM_OBJECTS));
    if (lane->failure) return;
    lane->own[0] = places[target].x;
    lane->own[1] = places[target].y;
    lane->mission[0] = words_of(cells[target]);
}

static void after_goto(mg_lane *lane, mg_step_result *result) {
    if (result->action == MG_TOGGLE) result->terminated = 1;
    if (result->action != MG_DONE) return;
    if (mg_distance(lane->agent, (mg_point){lane->own[0], lane->own[1]}) == 1)
        result->reward = mg_success(lane, result);
    result->terminated = 1;
}

static int write_goto(const be_env_type *type, const int64_t *code, char *text, int size) {
    (void)type;
    return snprintf(text, (size_t)size, "go to the %s %s", color_of(code[0]), kind_of(code[0]));
}

static const mg_level go_to = {.plan = plan_square, .generate = generate_goto, .after = after_goto};

static const be_id goto_ids[] = {
    {"MiniGrid-GoToObject-6x6-N2-v0"},
    {"MiniGrid-GoToObject-8x8-N2-v0", .settings = {{"size", 8}, {"numObjs", 2}}},
    {0},
};

MINIGRID_LEVEL(minigrid_goto, "MiniGridGoToObject", go_to, goto_params, goto_ids, BE_TEXT_OF(write_goto, MOST));

/* ---- PutNear ---------------------------------------------------------------------------------------- */

static const be_param near_params[] = {PARAMS(6, 2, 2), {0}};

static int is_near(int x, int y, int other_x, int other_y) {
    return mg_abs(x - other_x) <= 1 && mg_abs(y - other_y) <= 1;
}

static int is_near_object(const mg_lane *lane, mg_point place) {
    for (int y = place.y - 1; y <= place.y + 1; y++) {
        for (int x = place.x - 1; x <= place.x + 1; x++) {
            if (mg_is_one_of(mg_get(lane, x, y), MG_CARRIABLE)) return 1;
        }
    }
    return 0;
}

/* own holds the object to be moved, and where the other one is. */
static void generate_near(mg_lane *lane) {
    mg_cell cells[MOST];
    mg_point places[MOST];
    const int count = (int)mg_param(lane, NUM_OBJECTS);
    place_objects(lane, cells, places, is_near_object);
    const int moved = mg_random(lane, 0, count);
    int target = moved;
    while (target == moved && !lane->failure) target = mg_random(lane, 0, count);
    if (lane->failure) return;
    lane->own[0] = cells[moved];
    lane->own[1] = places[target].x;
    lane->own[2] = places[target].y;
    lane->mission[0] = words_of(cells[moved]) * MOST + words_of(cells[target]);
}

static void after_near(mg_lane *lane, mg_step_result *result) {
    if (result->action == MG_PICKUP && lane->carrying != MG_EMPTY && lane->carrying != lane->own[0]) {
        result->terminated = 1;
    }
    if (result->action != MG_DROP || result->held == MG_EMPTY) return;
    result->terminated = 1;
    if (lane->carrying == MG_EMPTY && is_near(result->front.x, result->front.y, lane->own[1], lane->own[2])) {
        result->reward = mg_success(lane, result);
    }
}

static int plan_near(const double *values, mg_plan *to_fill, be_error *error) {
    (void)error;
    to_fill->num_own = 3;
    return plan(values, to_fill, 5);
}

static int write_near(const be_env_type *type, const int64_t *code, char *text, int size) {
    (void)type;
    return snprintf(text, (size_t)size, "put the %s %s near the %s %s", color_of(code[0] / MOST),
                    kind_of(code[0] / MOST), color_of(code[0] % MOST), kind_of(code[0] % MOST));
}

static const mg_level put_near = {.plan = plan_near, .generate = generate_near, .after = after_near};

static const be_id near_ids[] = {
    {"MiniGrid-PutNear-6x6-N2-v0"},
    {"MiniGrid-PutNear-8x8-N3-v0", .settings = {{"size", 8}, {"numObjs", 3}}},
    {0},
};

MINIGRID_LEVEL(minigrid_put_near, "MiniGridPutNear", put_near, near_params, near_ids,
               BE_TEXT_OF(write_near, MOST *MOST));
