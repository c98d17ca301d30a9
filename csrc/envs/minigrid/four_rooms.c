/* MiniGrid-FourRooms and -Playground: rooms in a large grid. */
#include "minigrid.h"

enum { SIDE = 19 };

static int plan(const double *values, mg_plan *plan, be_error *error) {
    (void)values;
    (void)error;
    plan->width = plan->height = SIDE;
    plan->max_steps = 100;
    return BE_OK;
}

/* ---- FourRooms -------------------------------------------------------------------------------------- */

enum { AGENT_X = MG_NUM_PARAMS, AGENT_Y, GOAL_X, GOAL_Y, SEE_THROUGH };
#define PLACE(name, doc) {name, BE_PARAM_INT, -1, -1, SIDE - 1, NULL, doc}
static const be_param four_params[] = {
    MG_PARAMS,
    [AGENT_X] = PLACE("agent_x", "column where the agent starts; -1: a random place"),
    [AGENT_Y] = PLACE("agent_y", "row where the agent starts; -1: a random place"),
    [GOAL_X] = PLACE("goal_x", "column of the goal; -1: a random place"),
    [GOAL_Y] = PLACE("goal_y", "row of the goal; -1: a random place"),
    [SEE_THROUGH] = MG_SEE_THROUGH_WALLS,
    {0},
};

/* The place that two params give, or x < 0. */
static mg_point given(const mg_lane *lane, int param) {
    const mg_point place = {(int)mg_param(lane, param), (int)mg_param(lane, param + 1)};
    return place.x < 0 || place.y < 0 ? (mg_point){-1, -1} : place;
}

static void generate_four(mg_lane *lane) {
    const mg_cell wall = MG_CELL(MG_WALL, MG_GREY);
    const int middle = SIDE / 2;
    mg_wall_around(lane, (mg_area){0, 0, SIDE, SIDE});
    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < 2; i++) {
            const int left = i * middle, top = j * middle;
            if (i == 0) {
                mg_wall_down(lane, wall, middle, top, middle);
                mg_put(lane, MG_EMPTY, middle, mg_random(lane, top + 1, top + middle));
            }
            if (j == 0) {
                mg_wall_across(lane, wall, left, middle, middle);
                mg_put(lane, MG_EMPTY, mg_random(lane, left + 1, left + middle), middle);
            }
        }
    }
    const mg_point agent = given(lane, AGENT_X), goal = given(lane, GOAL_X);
    if (agent.x >= 0) {
        lane->agent = agent;
        mg_put(lane, MG_EMPTY, agent.x, agent.y);
        lane->direction = mg_random(lane, 0, 4);
    } else {
        mg_place_agent(lane);
    }
    if (goal.x >= 0) {
        mg_put(lane, MG_CELL(MG_GOAL, MG_GREEN), goal.x, goal.y);
    } else {
        mg_place(lane, MG_CELL(MG_GOAL, MG_GREEN));
    }
}

static const mg_level four = {.plan = plan, .generate = generate_four};

static const be_id four_ids[] = {{"MiniGrid-FourRooms-v0"}, {0}};

MINIGRID_LEVEL(minigrid_four_rooms, "MiniGridFourRooms", four, four_params, four_ids, MG_MISSION("reach the goal"));

/* ---- Playground ------------------------------------------------------------------------------------- */

static const be_param playground_params[] = {MG_PARAMS, MG_SEE_THROUGH_WALLS, {0}};

static void put_door(mg_lane *lane, int x, int y) {
    mg_put(lane, MG_CELL(MG_CLOSED_DOOR, mg_random_color(lane)), x, y);
}

static void generate_playground(mg_lane *lane) {
    const mg_cell wall = MG_CELL(MG_WALL, MG_GREY);
    const int side = SIDE / 3;
    mg_wall_around(lane, (mg_area){0, 0, SIDE, SIDE});
    for (int j = 0; j < 3; j++) {
        for (int i = 0; i < 3; i++) {
            const int left = i * side, top = j * side, right = left + side, bottom = top + side;
            if (i < 2) {
                mg_wall_down(lane, wall, right, top, side);
                put_door(lane, right, mg_random(lane, top + 1, bottom - 1));
            }
            if (j < 2) {
                mg_wall_across(lane, wall, left, bottom, side);
                put_door(lane, mg_random(lane, left + 1, right - 1), bottom);
            }
        }
    }
    mg_place_agent(lane);
    for (int k = 0; k < 12; k++) {
        const int kind = MG_KEY + mg_random(lane, 0, 3);
        mg_place(lane, MG_CELL(kind, mg_random_color(lane)));
    }
}

static const mg_level playground = {.plan = plan, .generate = generate_playground};

static const be_id playground_ids[] = {{"MiniGrid-Playground-v0"}, {0}};

MINIGRID_LEVEL(minigrid_playground, "MiniGridPlayground", playground, playground_params, playground_ids,
               MG_MISSION(""));
