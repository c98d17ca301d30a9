/* MiniGrid-Unlock, -UnlockPickup and -BlockedUnlockPickup: two rooms and a locked door between them. */
#include <stdio.h>

#include "minigrid_rooms.h"

enum { ROOM_SIZE = 6, NUM_OBJECTS = 4 };

static const be_param params[] = {MG_PARAMS, {0}};

static int plan(mg_plan *plan, int max_steps, be_error *error) {
    plan->max_steps = max_steps;
    plan->num_objects = NUM_OBJECTS;
    plan->num_own = 1;
    return mg_plan_rooms(plan, ROOM_SIZE, 2, 1, error);
}

/* own[0] is the object to be picked up. */
static void pick_up(mg_lane *lane, mg_step_result *result) {
    if (result->action == MG_PICKUP && lane->carried && lane->carried == lane->own[0]) mg_succeed(lane, result);
}

/* The key of the door, on the agent's side. */
static void add_key(mg_rooms *rooms, mg_cell door) {
    mg_add_object(rooms, 0, 0, MG_KEY, mg_color(door));
    mg_place_agent_in_room(rooms, 0, 0);
}

/* ---- Unlock ----------------------------------------------------------------------------------------- */

static int plan_unlock(const double *values, mg_plan *to_fill, be_error *error) {
    (void)values;
    return plan(to_fill, 8 * ROOM_SIZE * ROOM_SIZE, error);
}

/* own[0] is where the door is. */
static void generate_unlock(mg_lane *lane) {
    mg_rooms rooms;
    mg_start_rooms(&rooms, lane, ROOM_SIZE, 2, 1);
    const mg_thing door = mg_add_door(&rooms, 0, 0, MG_EAST, MG_RANDOM, 1);
    lane->own[0] = door.place.y;
    add_key(&rooms, door.cell);
}

static void after_unlock(mg_lane *lane, mg_step_result *result) {
    const mg_cell door = mg_get(lane, ROOM_SIZE - 1, lane->own[0]);
    if (result->action == MG_TOGGLE && mg_kind(door) == MG_OPEN_DOOR) mg_succeed(lane, result);
}

static const mg_level unlock = {.plan = plan_unlock, .generate = generate_unlock, .after = after_unlock};

static const be_id unlock_ids[] = {{"MiniGrid-Unlock-v0"}, {0}};

MINIGRID_LEVEL(minigrid_unlock, "MiniGridUnlock", unlock, params, unlock_ids, MG_MISSION("open the door"));

/* The reference's space of missions has those of keys, too. */
static int write_mission(const be_env_type *type, const int64_t *code, char *text, int size) {
    (void)type;
    return snprintf(text, (size_t)size, "pick up the %s %s", mg_color_name((int)code[0] % MG_NUM_COLORS),
                    code[0] < MG_NUM_COLORS ? "box" : "key");
}

/* ---- UnlockPickup ----------------------------------------------------------------------------------- */

/* A box behind a locked door, in front of which there is a ball if the door is `blocked`. */
static void generate_box(mg_lane *lane, int blocked) {
    mg_rooms rooms;
    mg_start_rooms(&rooms, lane, ROOM_SIZE, 2, 1);
    const mg_thing box = mg_add_object(&rooms, 1, 0, MG_BOX, MG_RANDOM);
    lane->own[0] = box.object;
    lane->mission[0] = mg_color(box.cell);
    const mg_thing door = mg_add_door(&rooms, 0, 0, MG_EAST, MG_RANDOM, 1);
    if (blocked) mg_put(lane, MG_CELL(MG_BALL, mg_random_color(lane)), door.place.x - 1, door.place.y);
    add_key(&rooms, door.cell);
}

static void generate_pickup(mg_lane *lane) { generate_box(lane, 0); }

static int plan_pickup(const double *values, mg_plan *to_fill, be_error *error) {
    (void)values;
    return plan(to_fill, 8 * ROOM_SIZE * ROOM_SIZE, error);
}

static const mg_level pickup = {.plan = plan_pickup, .generate = generate_pickup, .after = pick_up};

static const be_id pickup_ids[] = {{"MiniGrid-UnlockPickup-v0"}, {0}};

MINIGRID_LEVEL(minigrid_unlock_pickup, "MiniGridUnlockPickup", pickup, params, pickup_ids,
               BE_TEXT_OF(write_mission, MG_NUM_COLORS));

/* ---- BlockedUnlockPickup ---------------------------------------------------------------------------- */

static void generate_blocked(mg_lane *lane) { generate_box(lane, 1); }

static int plan_blocked(const double *values, mg_plan *to_fill, be_error *error) {
    (void)values;
    return plan(to_fill, 16 * ROOM_SIZE * ROOM_SIZE, error);
}

static const mg_level blocked = {.plan = plan_blocked, .generate = generate_blocked, .after = pick_up};

static const be_id blocked_ids[] = {{"MiniGrid-BlockedUnlockPickup-v0"}, {0}};

MINIGRID_LEVEL(minigrid_blocked, "MiniGridBlockedUnlockPickup", blocked, params, blocked_ids,
               BE_TEXT_OF(write_mission, 2 * MG_NUM_COLORS));
