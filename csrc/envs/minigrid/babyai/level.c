/* How a level of BabyAI is made: RoomGridLevel. */
#include "envs/minigrid/babyai/level.h"

#include <string.h>

#include "envs/minigrid/grid.h"

/* Levels that are hard to make take some hundred tries; where no level is possible the reference goes on for ever. */
#define ENOUGH_TRIES 20000

int ba_plan(ba_layout layout, mg_plan *plan, be_error *error) {
    const int64_t num_rooms = (int64_t)layout.columns * layout.rows, side = layout.room_size - 2;
    if (layout.num_things > num_rooms * side * side - 1) {
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "%d objects and the agent do not fit into %lld rooms of %lld by %lld cells: use larger or more "
                       "rooms, or fewer objects",
                       layout.num_things, (long long)num_rooms, (long long)side, (long long)side);
    }
    const int status = mg_plan_rooms(plan, layout.room_size, layout.columns, layout.rows, error);
    if (status != BE_OK) return status;
    const int num_doors = layout.columns * (layout.rows - 1) + layout.rows * (layout.columns - 1);
    plan->num_objects = num_doors + layout.num_things;
    if (plan->num_objects > MG_MAX_OBJECTS) {
        return be_fail(
            error, BE_ERROR_VALUE, -1,
            "there may be %d doors and %d other objects: a level may have %d together, so use fewer rooms or "
            "objects",
            num_doors, layout.num_things, MG_MAX_OBJECTS);
    }
    plan->max_steps = layout.max_steps ? layout.max_steps : layout.room_size * layout.room_size * num_rooms;
    plan->num_own = ba_num_own(plan->num_objects);
    return BE_OK;
}

/* ---- missions that are not good ----------------------------------------------------------------------- */

void ba_reject(ba_task *task) { mg_fail(task->lane, MG_REJECTED, "a mission was not good"); }

/* Whether an object of `beside` is in a cell next to the object `what`, or is that object itself. */
static int is_at(const ba_scene *scene, int what, const ba_set *beside) {
    if (ba_has(beside->words, what)) return 1;
    for (int k = 1; k <= scene->count; k++) {
        if (!ba_has(beside->words, k)) continue;
        const mg_point a = scene->places[what], b = scene->places[k];
        if (mg_abs(a.x - b.x) + mg_abs(a.y - b.y) == 1) return 1;
    }
    return 0;
}

/* What is to be put next to something must not be there, or be the same. */
static int is_done_already(ba_task *task, const ba_action *action) {
    const ba_scene *scene = ba_see(task);
    const mg_area room = ba_agent_room(task);
    ba_set what, beside;
    ba_find(task->lane, scene, room, action->objects, &what);
    ba_find(task->lane, scene, room, action->beside, &beside);
    for (int k = 1; k <= scene->count; k++) {
        if (ba_has(what.words, k) && is_at(scene, k, &beside)) return 1;
    }
    return 0;
}

/* Whether there is a locked door that keys like these open. */
static int are_keys_needed(ba_task *task, ba_objects keys) {
    const ba_scene *scene = ba_see(task);
    if (keys.kind != BA_KEY || keys.color == BA_ANY_COLOR) return 0;
    for (int k = 1; k <= scene->count; k++) {
        if (scene->cells[k] == MG_CELL(MG_LOCKED_DOOR, keys.color - 1)) return 1;
    }
    return 0;
}

/* validate_instrs(). */
static void check_instruction(ba_task *task) {
    for (int k = 0; k < BA_MAX_ACTIONS && !task->lane->failure; k++) {
        const ba_action *action = &task->instruction.actions[k];
        if (action->verb == BA_NOTHING) continue;
        if (action->verb == BA_PUT_NEXT && is_done_already(task, action)) ba_reject(task);
        if (!task->unblocking) continue;
        if (are_keys_needed(task, action->objects) || are_keys_needed(task, action->beside)) ba_reject(task);
    }
}

/* num_navs_needed(): how often the agent has to find its way somewhere. */
static int count_ways(const ba_instruction *instruction) {
    static const uint8_t ways[] = {
        [BA_NOTHING] = 0, [BA_OPEN] = 1, [BA_GO_TO] = 1, [BA_PICK_UP] = 1, [BA_PUT_NEXT] = 2};
    int count = 0;
    for (int k = 0; k < BA_MAX_ACTIONS; k++) count += ways[instruction->actions[k].verb];
    return count;
}

void ba_generate(mg_lane *lane, const be_param *params, ba_make_layout *make_layout, ba_make_mission *make_mission) {
    double values[BE_MAX_PARAMS];
    for (int k = 0; params[k].name; k++) values[k] = mg_param(lane, k);
    const ba_layout layout = make_layout(values);
    ba_task task;
    task.lane = lane;
    task.params = values;
    task.unblocking = 0;
    for (int tries = 0;; tries++) {
        if (tries == ENOUGH_TRIES) {
            lane->failure = MG_FINE;
            mg_fail(lane, MG_WRONG, "20,000 tries have all been rejected; use larger rooms or fewer objects");
            return;
        }
        lane->failure = MG_FINE;
        task.seen = task.carried_at_first = 0;
        memset(&task.instruction, 0, sizeof task.instruction);
        mg_start_rooms(&task.rooms, lane, layout.room_size, layout.columns, layout.rows);
        make_mission(&task);
        check_instruction(&task);
        if (lane->failure != MG_RECURSION && lane->failure != MG_REJECTED) break;
    }
    if (lane->failure) return;
    ba_start(lane, ba_see(&task), ba_agent_room(&task), &task.instruction);
    ba_carry_at_first(lane, task.carried_at_first);
    if (mg_looks_itself(lane)) ba_take_at_first(lane);
    if (values[MG_PARAM_MAX_STEPS] == 0 && layout.max_steps == 0) lane->max_steps *= count_ways(&task.instruction);
}

/* ---- for gen_mission() -------------------------------------------------------------------------------- */

const ba_scene *ba_see(ba_task *task) {
    if (!task->seen) ba_look(task->lane, &task->scene);
    task->seen = 1;
    return &task->scene;
}

mg_area ba_agent_room(ba_task *task) { return mg_room_of(&task->rooms, task->lane->agent)->area; }

void ba_require_reachable(ba_task *task) {
    if (!task->lane->failure && !mg_all_reachable(task->lane)) ba_reject(task);
}

void ba_place_agent_outside(ba_task *task, const mg_room *room) {
    do mg_place_agent_in_room(&task->rooms, MG_RANDOM, MG_RANDOM);
    while (!task->lane->failure && mg_room_of(&task->rooms, task->lane->agent) == room);
}

mg_point ba_lock_room(ba_task *task, mg_thing *door) {
    mg_rooms *rooms = &task->rooms;
    const int i = mg_random(task->lane, 0, rooms->columns), j = mg_random(task->lane, 0, rooms->rows);
    *door = mg_add_door(rooms, i, j, MG_RANDOM, MG_RANDOM, 1);
    /* The reference means to keep the key out of the locked room. But it compares the rooms' numbers by `is`, and
     * NumPy's integers are never the same object, so that the key may be anywhere. */
    const int column = mg_random(task->lane, 0, rooms->columns), row = mg_random(task->lane, 0, rooms->rows);
    mg_add_object(rooms, column, row, MG_KEY, mg_color(door->cell));
    return (mg_point){i, j};
}

void ba_distract_each_room(ba_task *task, int count) {
    for (int i = 0; i < task->rooms.columns; i++) {
        for (int j = 0; j < task->rooms.rows; j++) mg_add_distractors(&task->rooms, i, j, count, 0, NULL);
    }
}

void ba_two_of(mg_lane *lane, int count, int chosen[2]) {
    chosen[0] = mg_random(lane, 0, count);
    chosen[1] = mg_random(lane, 0, count - 1);
    chosen[1] += chosen[1] >= chosen[0];
}
