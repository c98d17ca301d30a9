/* Missions of any kind. */
#include "envs/minigrid/babyai/levelgen.h"

#define OBJECT_TRIES 100

/* LevelGen's own. */
typedef struct any {
    ba_task *task;
    mg_lane *lane;
    const ba_language *language;
    const mg_room *locked; /* NULL: none is */
} any;

/* A digit of a list of kinds; 0 if there is another one than `last` allows. */
static int random_digit(mg_lane *lane, int digits, int last) {
    int count = 0, power = 1;
    for (int rest = digits; rest > 0; rest /= 10, count++) {
        if (rest % 10 < 1 || rest % 10 > last) {
            mg_fail(lane, MG_WRONG, "action_kinds has digits from 1 to 4, instr_kinds from 1 to 3");
        }
    }
    for (int k = mg_random(lane, 0, count); k < count - 1; k++) power *= 10;
    return lane->failure ? 0 : digits / power % 10;
}

/* add_locked_room(). */
static void lock_room(any *level) {
    mg_lane *lane = level->lane;
    mg_rooms *rooms = &level->task->rooms;
    if (rooms->columns * rooms->rows < 2) mg_fail(lane, MG_WRONG, "one room alone cannot be locked: locked_room_prob");
    int i, j, side;
    do {
        i = mg_random(lane, 0, rooms->columns);
        j = mg_random(lane, 0, rooms->rows);
        side = mg_random(lane, 0, 4);
    } while (!lane->failure && !mg_room_at(rooms, i, j)->neighbors[side]);
    level->locked = mg_room_at(rooms, i, j);
    const mg_thing door = mg_add_door(rooms, i, j, side, MG_RANDOM, 1);
    do {
        i = mg_random(lane, 0, rooms->columns);
        j = mg_random(lane, 0, rooms->rows);
    } while (!lane->failure && mg_room_at(rooms, i, j) == level->locked);
    mg_add_object(rooms, i, j, MG_KEY, mg_color(door.cell));
}

static int is_in(mg_area area, mg_point place) {
    return place.x >= area.x && place.x < area.x + area.width && place.y >= area.y && place.y < area.y + area.height;
}

static int are_all_locked_in(const any *level, const ba_scene *scene, const ba_set *set) {
    for (int k = 1; k <= scene->count; k++) {
        if (ba_has(set->words, k) && !is_in(level->locked->area, scene->places[k])) return 0;
    }
    return 1;
}

/* rand_obj(), of the kinds from `first` to `last`. */
static ba_objects random_objects(any *level, ba_kind first, ba_kind last) {
    mg_lane *lane = level->lane;
    const mg_area room = ba_agent_room(level->task);
    for (int tries = 0; !lane->failure; tries++) {
        if (tries > OBJECT_TRIES) mg_fail(lane, MG_RECURSION, "no objects were found of which a mission could speak");
        ba_objects objects = {BA_OBJECT, BA_ANY_COLOR, BA_ANYWHERE};
        const int color = mg_random(lane, 0, MG_NUM_COLORS + 1);
        if (color > 0) objects.color = BA_COLOR(mg_color_named(color - 1));
        objects.kind = (ba_kind)mg_random(lane, (int)first, (int)last + 1);
        if (level->language->locations && mg_random_bool(lane))
            objects.side = (ba_side)(BA_LEFT + mg_random(lane, 0, 4));
        if (lane->failure) break;
        const ba_scene *scene = ba_see(level->task);
        ba_set found;
        if (ba_find(lane, scene, room, objects, &found) == 0) continue;
        if (!level->language->implicit_unlock && level->locked && are_all_locked_in(level, scene, &found)) continue;
        return objects;
    }
    return (ba_objects){BA_OBJECT, BA_ANY_COLOR, BA_ANYWHERE};
}

static ba_action random_action(any *level) {
    ba_action action = {BA_NOTHING};
    switch (random_digit(level->lane, level->language->action_kinds, 4)) {
    case 1:
        action.verb = BA_GO_TO;
        action.objects = random_objects(level, BA_BOX, BA_DOOR);
        break;
    case 2:
        action.verb = BA_PICK_UP;
        action.objects = random_objects(level, BA_BOX, BA_KEY);
        break;
    case 3:
        action.verb = BA_OPEN;
        action.objects = random_objects(level, BA_DOOR, BA_DOOR);
        break;
    case 4:
        action.verb = BA_PUT_NEXT;
        action.objects = random_objects(level, BA_BOX, BA_KEY);
        action.beside = random_objects(level, BA_BOX, BA_DOOR);
        break;
    default:
        break;
    }
    return action;
}

static void make_half(any *level, int half, int num_actions) {
    for (int k = 0; k < num_actions; k++) level->task->instruction.actions[2 * half + k] = random_action(level);
}

/* rand_instr(). */
static void make_instruction(any *level) {
    const int kind = random_digit(level->lane, level->language->instr_kinds, 3);
    if (kind < 3) {
        make_half(level, 0, kind);
        return;
    }
    for (int half = 0; half < 2; half++) make_half(level, half, 1 + mg_random(level->lane, 0, 2));
    level->task->instruction.order = mg_random(level->lane, 0, 2) == 0 ? BA_BEFORE : BA_AFTER;
}

void ba_make_any(ba_task *task, ba_language language) {
    any level = {task, task->lane, &language, NULL};
    task->unblocking = language.unblocking;
    if (!task->lane->failure && be_rng_uniform(task->lane->rng, 0, 1) < language.locked_room_prob) lock_room(&level);
    mg_connect_all(&task->rooms, NULL, 0);
    mg_add_distractors(&task->rooms, MG_RANDOM, MG_RANDOM, language.num_dists, 0, NULL);
    ba_place_agent_outside(task, level.locked);
    if (!language.unblocking) ba_require_reachable(task);
    make_instruction(&level);
}
