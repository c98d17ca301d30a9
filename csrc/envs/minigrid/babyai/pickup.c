/* BabyAI's levels of picking up an object. */
#include "envs/minigrid/babyai/levelgen.h"

/* Picks up one of the objects that have been added. */
static void pick_up_one_of(ba_task *task, const mg_thing *things, int count) {
    const int k = mg_random(task->lane, 0, count);
    if (!task->lane->failure) ba_ask(task, BA_PICK_UP, ba_like(things[k].cell));
}

/* ---- Pickup and UnblockPickup ------------------------------------------------------------------------- */

enum { ROOM_SIZE = MG_NUM_PARAMS, ROWS, COLUMNS };
static const be_param maze_params[] = {
    MG_PARAMS, [ROOM_SIZE] = BA_ROOM_SIZE(8, 3), [ROWS] = BA_ROWS(3, 1), [COLUMNS] = BA_COLUMNS(3, 1), {0},
};
enum { MAZE_DISTS = 18, BLOCKING_DISTS = 20 };

static ba_layout maze_layout(const double *params) {
    return (ba_layout){(int)params[ROOM_SIZE], (int)params[COLUMNS], (int)params[ROWS], MAZE_DISTS, 0};
}
static void maze(ba_task *task) {
    mg_thing things[MAZE_DISTS];
    mg_place_agent_in_room(&task->rooms, MG_RANDOM, MG_RANDOM);
    mg_connect_all(&task->rooms, NULL, 0);
    mg_add_distractors(&task->rooms, MG_RANDOM, MG_RANDOM, MAZE_DISTS, 0, things);
    ba_require_reachable(task);
    pick_up_one_of(task, things, MAZE_DISTS);
}
static const be_id maze_ids[] = {{"BabyAI-Pickup-v0"}, {0}};
BABYAI_LEVEL(babyai_pickup, "BabyAIPickup", maze_layout, maze, maze_params, maze_ids);

static ba_layout blocked_layout(const double *params) {
    return (ba_layout){(int)params[ROOM_SIZE], (int)params[COLUMNS], (int)params[ROWS], BLOCKING_DISTS, 0};
}
static void blocked(ba_task *task) {
    mg_thing things[BLOCKING_DISTS];
    mg_place_agent_in_room(&task->rooms, MG_RANDOM, MG_RANDOM);
    mg_connect_all(&task->rooms, NULL, 0);
    mg_add_distractors(&task->rooms, MG_RANDOM, MG_RANDOM, BLOCKING_DISTS, 0, things);
    if (!task->lane->failure && mg_all_reachable(task->lane)) ba_reject(task);
    pick_up_one_of(task, things, BLOCKING_DISTS);
}
static const be_id blocked_ids[] = {{"BabyAI-UnblockPickup-v0"}, {0}};
BABYAI_LEVEL(babyai_unblock_pickup, "BabyAIUnblockPickup", blocked_layout, blocked, maze_params, blocked_ids);

/* ---- PickupLoc ---------------------------------------------------------------------------------------- */

enum { LOC_SIZE = MG_NUM_PARAMS, LOC_IMPLICIT };
enum { LOC_DISTS = 8 };
static const be_param loc_params[] = {
    MG_PARAMS,
    [LOC_SIZE] = BA_ROOM_SIZE(8, 3),
    [LOC_IMPLICIT] = BA_IMPLICIT_UNLOCK,
    {0},
};
static ba_layout loc_layout(const double *params) { return (ba_layout){(int)params[LOC_SIZE], 1, 1, LOC_DISTS, 0}; }
static void loc(ba_task *task) {
    ba_make_any(task, (ba_language){.num_dists = LOC_DISTS,
                                    .locations = 1,
                                    .implicit_unlock = task->params[LOC_IMPLICIT] != 0,
                                    .action_kinds = BA_ONLY_PICK_UP,
                                    .instr_kinds = BA_ONE_ACTION});
}
static const be_id loc_ids[] = {{"BabyAI-PickupLoc-v0"}, {0}};
BABYAI_LEVEL(babyai_pickup_loc, "BabyAIPickupLoc", loc_layout, loc, loc_params, loc_ids);

/* ---- PickupDist --------------------------------------------------------------------------------------- */

enum { DEBUG = MG_NUM_PARAMS };
enum { DIST_DISTS = 5 };
static const be_param dist_params[] = {
    MG_PARAMS,
    [DEBUG] = BA_FLAG("debug", "to pick up an object that the mission does not mean ends the episode"),
    {0},
};
static ba_layout dist_layout(const double *params) {
    (void)params;
    return (ba_layout){7, 1, 1, DIST_DISTS, 0};
}
static void dist(ba_task *task) {
    mg_thing things[DIST_DISTS];
    mg_add_distractors(&task->rooms, MG_RANDOM, MG_RANDOM, DIST_DISTS, 1, things);
    mg_place_agent_in_room(&task->rooms, 0, 0);
    pick_up_one_of(task, things, DIST_DISTS);
    ba_action *action = &task->instruction.actions[0];
    const int select_by = mg_random(task->lane, 0, 3);
    if (select_by == 0) action->objects.color = BA_ANY_COLOR;
    if (select_by == 1) action->objects.kind = BA_OBJECT;
    action->strict = task->params[DEBUG] != 0;
}
static const be_id dist_ids[] = {
    {"BabyAI-PickupDist-v0"},
    {"BabyAI-PickupDistDebug-v0", .settings = {{"debug", 1}}},
    {0},
};
BABYAI_LEVEL(babyai_pickup_dist, "BabyAIPickupDist", dist_layout, dist, dist_params, dist_ids);

/* ---- PickupAbove -------------------------------------------------------------------------------------- */

enum { ABOVE_ROWS = MG_NUM_PARAMS, ABOVE_COLUMNS };
static const be_param above_params[] = {
    MG_PARAMS,
    [ABOVE_ROWS] = BA_ROWS(3, 2),
    [ABOVE_COLUMNS] = BA_COLUMNS(3, 2),
    {0},
};
static ba_layout above_layout(const double *params) {
    return (ba_layout){6, (int)params[ABOVE_COLUMNS], (int)params[ABOVE_ROWS], 1, 8 * 6 * 6};
}
static void above(ba_task *task) {
    const mg_thing thing = mg_add_object(&task->rooms, 1, 0, MG_RANDOM, MG_RANDOM);
    mg_add_door(&task->rooms, 1, 1, MG_NORTH, MG_RANDOM, 0);
    mg_place_agent_in_room(&task->rooms, 1, 1);
    mg_connect_all(&task->rooms, NULL, 0);
    ba_ask(task, BA_PICK_UP, ba_like(thing.cell));
}
static const be_id above_ids[] = {{"BabyAI-PickupAbove-v0"}, {0}};
BABYAI_LEVEL(babyai_pickup_above, "BabyAIPickupAbove", above_layout, above, above_params, above_ids);
