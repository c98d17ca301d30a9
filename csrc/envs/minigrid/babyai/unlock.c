/* BabyAI's levels of unlocking a door. */
#include "envs/minigrid/babyai/level.h"

static const be_param no_params[] = {MG_PARAMS, {0}};

static const ba_objects any_door = {BA_DOOR, BA_ANY_COLOR, BA_ANYWHERE};
static const ba_objects any_box = {BA_BOX, BA_ANY_COLOR, BA_ANYWHERE};
static const ba_objects any_ball = {BA_BALL, BA_ANY_COLOR, BA_ANYWHERE};

/* ---- Unlock ------------------------------------------------------------------------------------------- */

enum { ROOM_SIZE = MG_NUM_PARAMS, ROWS, COLUMNS, NUM_SIZES };
enum { DISTS_A_ROOM = 3 };
static const be_param unlock_params[] = {
    MG_PARAMS, [ROOM_SIZE] = BA_ROOM_SIZE(8, 3), [ROWS] = BA_ROWS(3, 1), [COLUMNS] = BA_COLUMNS(3, 1), {0},
};
static ba_layout unlock_layout(const double *params) {
    const int columns = (int)params[COLUMNS], rows = (int)params[ROWS];
    return (ba_layout){(int)params[ROOM_SIZE], columns, rows, DISTS_A_ROOM * columns * rows + 1, 0};
}
static void unlock(ba_task *task) {
    mg_thing door;
    const mg_point locked = ba_lock_room(task, &door);
    if (mg_random_bool(task->lane)) {
        uint8_t colors[MG_NUM_COLORS]; /* all but the locked door's */
        int count = 0;
        for (int k = 0; k < MG_NUM_COLORS; k++) {
            if (mg_color_named(k) != mg_color(door.cell)) colors[count++] = (uint8_t)mg_color_named(k);
        }
        mg_connect_all(&task->rooms, colors, count);
    } else {
        mg_connect_all(&task->rooms, NULL, 0);
    }
    ba_distract_each_room(task, DISTS_A_ROOM);
    ba_place_agent_outside(task, mg_room_at(&task->rooms, locked.x, locked.y));
    ba_require_reachable(task);
    ba_ask(task, BA_OPEN, ba_like(door.cell));
}
static const be_id unlock_ids[] = {{"BabyAI-Unlock-v0"}, {0}};
BABYAI_LEVEL(babyai_unlock, "BabyAIUnlock", unlock_layout, unlock, unlock_params, unlock_ids);

/* ---- UnlockLocal and KeyInBox ------------------------------------------------------------------------- */

enum { LOCAL_DISTS = NUM_SIZES };
static const be_param local_params[] = {
    MG_PARAMS,
    [ROOM_SIZE] = BA_ROOM_SIZE(8, 3),
    [ROWS] = BA_ROWS(3, 2),
    [COLUMNS] = BA_COLUMNS(3, 2),
    [LOCAL_DISTS] = BA_FLAG("distractors", "there are three more objects"),
    {0},
};
static ba_layout local_layout(const double *params) {
    return (ba_layout){(int)params[ROOM_SIZE], (int)params[COLUMNS], (int)params[ROWS],
                       params[LOCAL_DISTS] != 0 ? 4 : 1, 0};
}
static void unlock_local(ba_task *task) {
    const mg_thing door = mg_add_door(&task->rooms, 1, 1, MG_RANDOM, MG_RANDOM, 1);
    mg_add_object(&task->rooms, 1, 1, MG_KEY, mg_color(door.cell));
    if (task->params[LOCAL_DISTS] != 0) mg_add_distractors(&task->rooms, 1, 1, 3, 1, NULL);
    mg_place_agent_in_room(&task->rooms, 1, 1);
    ba_ask(task, BA_OPEN, any_door);
}
static const be_id local_ids[] = {
    {"BabyAI-UnlockLocal-v0"},
    {"BabyAI-UnlockLocalDist-v0", .settings = {{"distractors", 1}}},
    {0},
};
BABYAI_LEVEL(babyai_unlock_local, "BabyAIUnlockLocal", local_layout, unlock_local, local_params, local_ids);

static const be_param box_params[] = {
    MG_PARAMS, [ROOM_SIZE] = BA_ROOM_SIZE(8, 3), [ROWS] = BA_ROWS(3, 2), [COLUMNS] = BA_COLUMNS(3, 2), {0},
};
static ba_layout box_layout(const double *params) {
    return (ba_layout){(int)params[ROOM_SIZE], (int)params[COLUMNS], (int)params[ROWS], 1, 0};
}
static void key_in_box(ba_task *task) {
    const mg_thing door = mg_add_door(&task->rooms, 1, 1, MG_RANDOM, MG_RANDOM, 1);
    const mg_thing box = mg_place_in_room(&task->rooms, 1, 1, MG_CELL(MG_BOX, mg_random_color(task->lane)));
    mg_fill_box(task->lane, box.object, MG_CELL(MG_KEY, mg_color(door.cell)));
    mg_place_agent_in_room(&task->rooms, 1, 1);
    ba_ask(task, BA_OPEN, any_door);
}
static const be_id box_ids[] = {{"BabyAI-KeyInBox-v0"}, {0}};
BABYAI_LEVEL(babyai_key_in_box, "BabyAIKeyInBox", box_layout, key_in_box, box_params, box_ids);

/* ---- rooms in a row ----------------------------------------------------------------------------------- */

enum { SIDE = 6 };

enum { PICKUP_DISTS = MG_NUM_PARAMS };
static const be_param pickup_params[] = {
    MG_PARAMS,
    [PICKUP_DISTS] = BA_FLAG("distractors", "there are four more objects"),
    {0},
};
static ba_layout pickup_layout(const double *params) {
    return (ba_layout){SIDE, 2, 1, params[PICKUP_DISTS] != 0 ? 6 : 2, 0};
}
static void unlock_pickup(ba_task *task) {
    const mg_thing box = mg_add_object(&task->rooms, 1, 0, MG_BOX, MG_RANDOM);
    const mg_thing door = mg_add_door(&task->rooms, 0, 0, MG_EAST, MG_RANDOM, 1);
    mg_add_object(&task->rooms, 0, 0, MG_KEY, mg_color(door.cell));
    if (task->params[PICKUP_DISTS] != 0) mg_add_distractors(&task->rooms, MG_RANDOM, MG_RANDOM, 4, 1, NULL);
    mg_place_agent_in_room(&task->rooms, 0, 0);
    ba_ask(task, BA_PICK_UP, ba_like(box.cell));
}
static const be_id pickup_ids[] = {
    {"BabyAI-UnlockPickup-v0"},
    {"BabyAI-UnlockPickupDist-v0", .settings = {{"distractors", 1}}},
    {0},
};
BABYAI_LEVEL(babyai_unlock_pickup, "BabyAIUnlockPickup", pickup_layout, unlock_pickup, pickup_params, pickup_ids);

static ba_layout blocked_layout(const double *params) {
    (void)params;
    return (ba_layout){SIDE, 2, 1, 3, 16 * SIDE * SIDE};
}
static void blocked(ba_task *task) {
    mg_add_object(&task->rooms, 1, 0, MG_BOX, MG_RANDOM);
    const mg_thing door = mg_add_door(&task->rooms, 0, 0, MG_EAST, MG_RANDOM, 1);
    mg_put(task->lane, MG_CELL(MG_BALL, mg_random_color(task->lane)), door.place.x - 1, door.place.y);
    mg_add_object(&task->rooms, 0, 0, MG_KEY, mg_color(door.cell));
    mg_place_agent_in_room(&task->rooms, 0, 0);
    ba_ask(task, BA_PICK_UP, any_box);
}
static const be_id blocked_ids[] = {{"BabyAI-BlockedUnlockPickup-v0"}, {0}};
BABYAI_LEVEL(babyai_blocked_unlock_pickup, "BabyAIBlockedUnlockPickup", blocked_layout, blocked, no_params,
             blocked_ids);

static ba_layout two_doors_layout(const double *params) {
    (void)params;
    return (ba_layout){SIDE, 3, 1, 3, 30 * SIDE * SIDE};
}
static void two_doors(ba_task *task) {
    int chosen[2];
    ba_two_of(task->lane, MG_NUM_COLORS, chosen);
    const int far = mg_color_named(chosen[0]), near = mg_color_named(chosen[1]);
    mg_add_door(&task->rooms, 0, 0, MG_EAST, far, 1);
    mg_add_object(&task->rooms, 2, 0, MG_KEY, far);
    mg_add_door(&task->rooms, 1, 0, MG_EAST, near, 1);
    mg_add_object(&task->rooms, 1, 0, MG_KEY, near);
    mg_add_object(&task->rooms, 0, 0, MG_BALL, MG_RANDOM);
    mg_place_agent_in_room(&task->rooms, 1, 0);
    ba_ask(task, BA_PICK_UP, any_ball);
}
static const be_id two_doors_ids[] = {{"BabyAI-UnlockToUnlock-v0"}, {0}};
BABYAI_LEVEL(babyai_unlock_to_unlock, "BabyAIUnlockToUnlock", two_doors_layout, two_doors, no_params, two_doors_ids);
