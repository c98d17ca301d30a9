/* Ice-v0: a room with a hole of lava in its middle, a goal, and a floor on which a forward step may slip aside. */
#include "minigrid.h"

enum { SIZE = MG_NUM_PARAMS, SLIP };
static const be_param params[] = {
    MG_PARAMS,
    [SIZE] = MG_SIDE("size", 9, 5, "side of the grid, cells"),
    [SLIP] = {"slip", BE_PARAM_FLOAT, 0.1, 0, 1, NULL, "probability that a forward step turns the agent instead"},
    {0},
};

static int plan(const double *values, mg_plan *plan, be_error *error) {
    (void)error;
    plan->width = plan->height = (int)values[SIZE];
    plan->max_steps = 4 * plan->width * plan->width;
    return BE_OK;
}

static void generate(mg_lane *lane) {
    mg_wall_around(lane, (mg_area){0, 0, lane->width, lane->height});
    mg_put(lane, MG_CELL(MG_LAVA, MG_RED), lane->width / 2, lane->height / 2);
    mg_place(lane, MG_CELL(MG_GOAL, MG_GREEN));
    mg_place_agent(lane);
}

static void before(mg_lane *lane, mg_step_result *result) {
    if (result->action != MG_FORWARD) return;
    if (be_rng_double(lane->rng) < mg_param(lane, SLIP)) result->action = mg_random(lane, MG_LEFT, MG_FORWARD);
}

static const mg_level level = {.plan = plan, .generate = generate, .before = before};

static const be_id ids[] = {{"Ice-v0"}, {0}};

MINIGRID_LEVEL(ice, "Ice", level, params, ids, MG_MISSION("get to the green goal square"));
