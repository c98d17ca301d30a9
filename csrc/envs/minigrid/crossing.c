/* MiniGrid-LavaCrossing, -SimpleCrossing and -LavaGap: rivers of lava, or walls, with a gap in each. */
#include "minigrid.h"

enum { LAVA, WALL };
static const char *const obstacles[] = {"lava", "wall", NULL};
#define OBSTACLE {"obstacle_type", BE_PARAM_CHOICE, LAVA, .choices = obstacles, .doc = "what the rivers are made of"}

enum { SIZE = MG_NUM_PARAMS, OBSTACLE_TYPE, NUM_CROSSINGS };

static int fill(const double *values, mg_plan *plan) {
    plan->width = plan->height = (int)values[SIZE];
    plan->max_steps = 4 * plan->width * plan->width;
    plan->first_mission = (int64_t)values[OBSTACLE_TYPE];
    plan->num_missions = 1;
    return BE_OK;
}

static mg_cell obstacle_of(const mg_lane *lane) {
    return mg_param(lane, OBSTACLE_TYPE) == LAVA ? MG_CELL(MG_LAVA, MG_RED) : MG_CELL(MG_WALL, MG_GREY);
}

static void make_room(mg_lane *lane) {
    mg_wall_around(lane, (mg_area){0, 0, lane->width, lane->height});
    lane->agent = (mg_point){1, 1};
    lane->direction = MG_EAST;
    mg_put(lane, MG_CELL(MG_GOAL, MG_GREEN), lane->width - 2, lane->height - 2);
    lane->mission[0] = (int64_t)mg_param(lane, OBSTACLE_TYPE);
}

#define MISSIONS                                                                                                       \
    BE_TEXTS("avoid the lava and get to the green goal square", "find the opening and get to the green goal square")

/* ---- crossings -------------------------------------------------------------------------------------- */

static const be_param crossing_params[] = {
    MG_PARAMS,
    [SIZE] = MG_SIDE("size", 9, 3, "side of the grid, cells: an odd number"),
    [OBSTACLE_TYPE] = OBSTACLE,
    [NUM_CROSSINGS] = {"num_crossings", BE_PARAM_INT, 1, 0, MG_MAX_SIDE, NULL, "how many rivers there are"},
    {0},
};

static int plan_crossing(const double *values, mg_plan *plan, be_error *error) {
    if ((int)values[SIZE] % 2 == 0) {
        return be_fail(error, BE_ERROR_VALUE, -1, "size=%d must be an odd number, so that rivers lie in even columns",
                       (int)values[SIZE]);
    }
    return fill(values, plan);
}

/* The places of the rivers of one direction, in order, with the walls around as the first and the last. Returns how
 * many rivers there are. */
static int sort_rivers(const int64_t *rivers, int count, int across, int size, int *limits) {
    int found = 0;
    limits[0] = 0;
    for (int place = 2; place < size - 2; place += 2) {
        for (int k = 0; k < count; k++) {
            if (rivers[k] == place + across * MG_MAX_SIDE) limits[++found] = place;
        }
    }
    limits[found + 1] = size - 1;
    return found;
}

/* choice(range(first + 1, last)). */
static int between(mg_lane *lane, const int *limits) { return mg_random(lane, limits[0] + 1, limits[1]); }

static void generate_crossing(mg_lane *lane) {
    const int size = lane->width, wanted = (int)mg_param(lane, NUM_CROSSINGS);
    make_room(lane);
    int64_t rivers[MG_MAX_SIDE], path[MG_MAX_SIDE];
    int count = 0, down[MG_MAX_SIDE], across[MG_MAX_SIDE], i = 0, j = 0;
    for (int place = 2; place < size - 2; place += 2) rivers[count++] = place;
    for (int place = 2; place < size - 2; place += 2) rivers[count++] = place + MG_MAX_SIDE;
    be_rng_shuffle(lane->rng, rivers, count);
    if (count > wanted) count = wanted;
    const int num_down = sort_rivers(rivers, count, 0, size, down);
    const int num_across = sort_rivers(rivers, count, 1, size, across);
    for (int k = 1; k <= num_across; k++) mg_wall_across(lane, obstacle_of(lane), 1, across[k], size - 2);
    for (int k = 1; k <= num_down; k++) mg_wall_down(lane, obstacle_of(lane), down[k], 1, size - 2);
    /* In which order the agent goes over them: 0 is a river from top to bottom. */
    for (int k = 0; k < count; k++) path[k] = k >= num_down;
    be_rng_shuffle(lane->rng, path, count);
    for (int k = 0; k < count; k++) {
        if (path[k] == 0) {
            mg_put(lane, MG_EMPTY, down[i + 1], between(lane, across + j));
            i++;
        } else {
            mg_put(lane, MG_EMPTY, between(lane, down + i), across[j + 1]);
            j++;
        }
    }
}

static const mg_level crossing = {.plan = plan_crossing, .generate = generate_crossing};

#define CROSSING(size, count)                                                                                          \
    {"size", size}, { "num_crossings", count }
#define OF_WALLS {"obstacle_type", .text = "wall"}
static const be_id crossing_ids[] = {
    {"MiniGrid-LavaCrossingS9N1-v0", .settings = {CROSSING(9, 1)}},
    {"MiniGrid-LavaCrossingS9N2-v0", .settings = {CROSSING(9, 2)}},
    {"MiniGrid-LavaCrossingS9N3-v0", .settings = {CROSSING(9, 3)}},
    {"MiniGrid-LavaCrossingS11N5-v0", .settings = {CROSSING(11, 5)}},
    {"MiniGrid-SimpleCrossingS9N1-v0", .settings = {CROSSING(9, 1), OF_WALLS}},
    {"MiniGrid-SimpleCrossingS9N2-v0", .settings = {CROSSING(9, 2), OF_WALLS}},
    {"MiniGrid-SimpleCrossingS9N3-v0", .settings = {CROSSING(9, 3), OF_WALLS}},
    {"MiniGrid-SimpleCrossingS11N5-v0", .settings = {CROSSING(11, 5), OF_WALLS}},
    {0},
};

MINIGRID_LEVEL(minigrid_crossing, "MiniGridCrossing", crossing, crossing_params, crossing_ids, MISSIONS);

/* ---- LavaGap ---------------------------------------------------------------------------------------- */

static const be_param gap_params[] = {
    MG_PARAMS,
    [SIZE] = MG_SIDE("size", 7, 5, "side of the grid, cells"),
    [OBSTACLE_TYPE] = OBSTACLE,
    {0},
};

static int plan_gap(const double *values, mg_plan *plan, be_error *error) {
    (void)error;
    return fill(values, plan);
}

static void generate_gap(mg_lane *lane) {
    make_room(lane);
    const int x = mg_random(lane, 2, lane->width - 2), y = mg_random(lane, 1, lane->height - 1);
    mg_wall_down(lane, obstacle_of(lane), x, 1, lane->height - 2);
    mg_put(lane, MG_EMPTY, x, y);
}

static const mg_level gap = {.plan = plan_gap, .generate = generate_gap};

static const be_id gap_ids[] = {
    {"MiniGrid-LavaGapS5-v0", .settings = {{"size", 5}}},
    {"MiniGrid-LavaGapS6-v0", .settings = {{"size", 6}}},
    {"MiniGrid-LavaGapS7-v0", .settings = {{"size", 7}}},
    {0},
};

MINIGRID_LEVEL(minigrid_lava_gap, "MiniGridLavaGap", gap, gap_params, gap_ids, MISSIONS);
