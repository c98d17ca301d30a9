/* What an instruction refers to, and when it is done. */
#include "envs/minigrid/babyai/instructions.h"

#include <string.h>

#include "envs/minigrid/babyai/mission.h"

/* ---- objects ----------------------------------------------------------------------------------------- */

void ba_look(const mg_lane *lane, ba_scene *scene) {
    scene->count = lane->num_objects;
    memset(scene->cells, MG_NOTHING, (size_t)scene->count + 1);
    for (int y = 0; y < lane->height; y++) {
        const uint8_t *row = &lane->objects[mg_index(lane, 0, y)];
        for (int x = 0; x < lane->width; x++) {
            if (row[x] == 0) continue;
            scene->cells[row[x]] = lane->cells[mg_index(lane, x, y)];
            scene->places[row[x]] = (mg_point){x, y};
        }
    }
}

static int is_on_side(const mg_lane *lane, mg_area room, mg_point place, ba_side side) {
    if (side == BA_ANYWHERE) return 1;
    if (place.x < room.x || place.x >= room.x + room.width) return 0;
    if (place.y < room.y || place.y >= room.y + room.height) return 0;
    const mg_point ahead = mg_ahead((mg_point){0, 0}, lane->direction);
    const int x = place.x - lane->agent.x, y = place.y - lane->agent.y;
    const int forward = x * ahead.x + y * ahead.y, to_the_right = y * ahead.x - x * ahead.y;
    switch (side) {
    case BA_LEFT:
        return to_the_right < 0;
    case BA_RIGHT:
        return to_the_right > 0;
    case BA_FRONT:
        return forward > 0;
    default:
        return forward < 0;
    }
}

int ba_find(const mg_lane *lane, const ba_scene *scene, mg_area room, ba_objects objects, ba_set *found) {
    int count = 0;
    memset(found, 0, sizeof *found);
    for (int k = 1; k <= scene->count; k++) {
        const mg_cell cell = scene->cells[k];
        if (cell == MG_NOTHING) continue;
        if (objects.kind != BA_OBJECT && objects.kind != ba_like(cell).kind) continue;
        if (objects.color != BA_ANY_COLOR && objects.color != ba_like(cell).color) continue;
        if (!is_on_side(lane, room, scene->places[k], objects.side)) continue;
        found->words[k >> 5] |= UINT32_C(1) << (k & 31);
        count++;
    }
    /* To the reference walls are grey objects, too: "a grey object" there is never "the grey object". */
    if (objects.kind == BA_OBJECT && objects.color == BA_COLOR(MG_GREY)) count += 2 * (lane->width + lane->height) - 4;
    return count;
}

/* ---- the state of an instruction ---------------------------------------------------------------------- */

/* What a lane's own numbers are: flags, an object that is to be carried from the first step on, for each action what
 * was carried when it was last looked at, then the sets of objects, and last where each object was when places were
 * last looked at: as an index of cells, 0 for nowhere.
 *
 * The reference looks at places when an episode begins and when the agent drops something or tries to. Until then an
 * object counts as being where it was, though the agent carries it away. */
enum { FLAGS, AT_FIRST, CARRIED, SETS = CARRIED + BA_MAX_ACTIONS };
/* FLAGS: action k is done; it is strict; the half that comes first is done. */
enum { DONE = 1, STRICT = DONE << BA_MAX_ACTIONS, FIRST_HALF_DONE = STRICT << BA_MAX_ACTIONS };

static int num_words(int num_objects) { return num_objects / 32 + 1; }
static int places_at(int num_objects) { return SETS + BA_MAX_SETS * num_words(num_objects); }
int ba_num_own(int num_objects) { return places_at(num_objects) + num_objects + 1; }

static uint32_t *set_of(const mg_lane *lane, int set) {
    return (uint32_t *)&lane->own[SETS + set * num_words(lane->num_objects)];
}
static int32_t *places_of(const mg_lane *lane) { return &lane->own[places_at(lane->num_objects)]; }

static int start_set(mg_lane *lane, const ba_scene *scene, mg_area room, ba_objects objects, int set) {
    ba_set found;
    const int count = ba_find(lane, scene, room, objects, &found);
    if (count == 0) mg_fail(lane, MG_WRONG, "there is no object of which the mission speaks");
    memcpy(set_of(lane, set), found.words, (size_t)num_words(lane->num_objects) * sizeof(uint32_t));
    return count > 1;
}

void ba_start(mg_lane *lane, const ba_scene *scene, mg_area room, const ba_instruction *instruction) {
    memset(lane->own, 0, (size_t)ba_num_own(lane->num_objects) * sizeof(int32_t));
    lane->mission[0] = lane->mission[1] = 0;
    for (int k = 0; k < BA_MAX_ACTIONS; k++) {
        const ba_action *action = &instruction->actions[k];
        if (action->verb == BA_NOTHING) continue;
        const int several = start_set(lane, scene, room, action->objects, 2 * k);
        const int several_beside =
            action->verb == BA_PUT_NEXT && start_set(lane, scene, room, action->beside, 2 * k + 1);
        ba_say(lane->mission, k, action, several, several_beside);
        if (action->strict) lane->own[FLAGS] |= STRICT << k;
    }
    ba_say_order(lane->mission, instruction->order);
    for (int k = 1; k <= scene->count; k++) {
        if (scene->cells[k] == MG_NOTHING) continue;
        places_of(lane)[k] = mg_index(lane, scene->places[k].x, scene->places[k].y);
    }
}

void ba_carry_at_first(mg_lane *lane, int object) {
    if (!lane->failure) lane->own[AT_FIRST] = object;
}

void ba_before(mg_lane *lane, mg_step_result *result) {
    (void)result;
    ba_take_at_first(lane);
}

void ba_take_at_first(mg_lane *lane) {
    const int object = lane->own[AT_FIRST];
    if (object == 0) return;
    lane->own[AT_FIRST] = 0;
    const int place = places_of(lane)[object];
    lane->carrying = lane->cells[place];
    lane->carried = object;
    lane->cells[place] = MG_EMPTY;
    lane->objects[place] = 0;
}

/* ---- whether it is done ------------------------------------------------------------------------------- */

typedef enum status { CONTINUE, SUCCESS, FAILURE } status;

static int front_of(const mg_lane *lane) {
    const mg_point front = mg_ahead(lane->agent, lane->direction);
    return mg_index(lane, front.x, front.y);
}

static status verify_open(const mg_lane *lane, const uint32_t *doors, int strict, int action) {
    if (action != MG_TOGGLE) return CONTINUE;
    const int front = front_of(lane);
    if (mg_kind(lane->cells[front]) == MG_OPEN_DOOR && ba_has(doors, lane->objects[front])) return SUCCESS;
    return strict && mg_is_one_of(lane->cells[front], MG_DOORS) ? FAILURE : CONTINUE;
}

static status verify_go_to(const mg_lane *lane, const uint32_t *objects) {
    const int front = front_of(lane);
    const int32_t *places = places_of(lane);
    for (int w = 0; w < num_words(lane->num_objects); w++) {
        for (uint32_t rest = objects[w]; rest; rest &= rest - 1) {
            if (places[32 * w + __builtin_ctz(rest)] == front) return SUCCESS;
        }
    }
    return CONTINUE;
}

static status verify_pick_up(const mg_lane *lane, const uint32_t *objects, int strict, int carried, int action) {
    if (action != MG_PICKUP) return CONTINUE;
    if (!carried && ba_has(objects, lane->carried)) return SUCCESS;
    return strict && lane->carrying != MG_EMPTY ? FAILURE : CONTINUE;
}

static status verify_put_next(const mg_lane *lane, const uint32_t *objects, const uint32_t *beside, int carried,
                              int action) {
    const int front = front_of(lane);
    /* What was carried before the step has been dropped now. */
    if (action != MG_DROP || !ba_has(objects, carried) || lane->objects[front] != carried) return CONTINUE;
    const int around[4] = {front - 1, front + 1, front - lane->stride, front + lane->stride};
    for (int k = 0; k < 4; k++) {
        if (ba_has(beside, lane->objects[around[k]])) return SUCCESS;
    }
    return CONTINUE;
}

static status verify_action(mg_lane *lane, int k, int action) {
    const int carried = lane->own[CARRIED + k], strict = lane->own[FLAGS] & STRICT << k;
    const uint32_t *objects = set_of(lane, 2 * k);
    lane->own[CARRIED + k] = lane->carried;
    switch (ba_verb_of(lane->mission, k)) {
    case BA_OPEN:
        return verify_open(lane, objects, strict, action);
    case BA_GO_TO:
        return verify_go_to(lane, objects);
    case BA_PICK_UP:
        return verify_pick_up(lane, objects, strict, carried, action);
    case BA_PUT_NEXT:
        return verify_put_next(lane, objects, set_of(lane, 2 * k + 1), carried, action);
    default:
        return CONTINUE;
    }
}

static status verify_half(mg_lane *lane, int half, int action) {
    const int first = 2 * half, second = first + 1;
    if (ba_verb_of(lane->mission, second) == BA_NOTHING) return verify_action(lane, first, action);
    for (int k = first; k <= second; k++) {
        if (lane->own[FLAGS] & DONE << k) continue;
        if (verify_action(lane, k, action) == SUCCESS) lane->own[FLAGS] |= DONE << k;
    }
    const int both = DONE << first | DONE << second;
    return (lane->own[FLAGS] & both) == both ? SUCCESS : CONTINUE;
}

static status verify(mg_lane *lane, int action) {
    const ba_order order = ba_order_of(lane->mission);
    if (order == BA_ONE_HALF) return verify_half(lane, 0, action);
    const int first = order == BA_AFTER;
    if (!(lane->own[FLAGS] & FIRST_HALF_DONE)) {
        const status of_first = verify_half(lane, first, action);
        if (of_first != SUCCESS) return of_first;
        lane->own[FLAGS] |= FIRST_HALF_DONE;
    }
    return verify_half(lane, !first, action);
}

/* update_objs_poss(). Only what is dropped gets to another place, and this function is called then. */
static void look_at_places(const mg_lane *lane) {
    int32_t *places = places_of(lane);
    for (int k = 1; k <= lane->num_objects; k++) {
        if (lane->objects[places[k]] != k) places[k] = 0;
    }
    const int front = front_of(lane);
    if (lane->objects[front]) places[lane->objects[front]] = front;
}

void ba_after(mg_lane *lane, mg_step_result *result) {
    if (result->action == MG_DROP) look_at_places(lane);
    const status now = verify(lane, result->action);
    if (now == CONTINUE) return;
    result->terminated = 1;
    result->reward = now == SUCCESS ? mg_success(lane, result) : 0;
}

/* ---- restored states ---------------------------------------------------------------------------------- */

/* Whether the agent can have this object in its hands from the first step on. */
static int can_be_carried(const mg_lane *lane, int object) {
    const int place = places_of(lane)[object];
    return lane->carrying == MG_EMPTY && lane->objects[place] == object &&
           mg_is_one_of(lane->cells[place], MG_CARRIABLE);
}

static int is_object(const mg_lane *lane, int number) { return number >= 0 && number <= lane->num_objects; }

int ba_is_sound(const mg_lane *lane) {
    if (!ba_is_mission(lane->mission)) return 0;
    if (!is_object(lane, lane->own[AT_FIRST])) return 0;
    for (int k = 0; k < BA_MAX_ACTIONS; k++) {
        if (!is_object(lane, lane->own[CARRIED + k])) return 0;
    }
    const int words = num_words(lane->num_objects), last = lane->num_objects & 31;
    for (int set = 0; set < BA_MAX_SETS; set++) {
        const uint32_t *in_set = set_of(lane, set);
        if (ba_has(in_set, 0) || (uint64_t)in_set[words - 1] >> (last + 1)) return 0;
    }
    const int end = mg_index(lane, lane->width - 1, lane->height - 1);
    for (int k = 0; k <= lane->num_objects; k++) {
        if (places_of(lane)[k] < 0 || places_of(lane)[k] > end) return 0;
    }
    return lane->own[AT_FIRST] == 0 || can_be_carried(lane, lane->own[AT_FIRST]);
}
