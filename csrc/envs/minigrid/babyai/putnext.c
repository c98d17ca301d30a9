/* BabyAI's levels of putting an object next to another one. */
#include "envs/minigrid/babyai/level.h"

/* ---- PutNextLocal ------------------------------------------------------------------------------------- */

enum { ROOM_SIZE = MG_NUM_PARAMS, NUM_OBJS };
enum { MAX_OBJS = 18 };
static const be_param local_params[] = {
    MG_PARAMS,
    [ROOM_SIZE] = BA_ROOM_SIZE(8, 3),
    [NUM_OBJS] = BA_COUNT("num_objs", 8, 2, MAX_OBJS, "objects, all of different kinds or colors"),
    {0},
};
static ba_layout local_layout(const double *params) {
    return (ba_layout){(int)params[ROOM_SIZE], 1, 1, (int)params[NUM_OBJS], 0};
}
static void local(ba_task *task) {
    mg_thing things[MAX_OBJS];
    int chosen[2];
    const int count = (int)task->params[NUM_OBJS];
    mg_place_agent_in_room(&task->rooms, MG_RANDOM, MG_RANDOM);
    mg_add_distractors(&task->rooms, MG_RANDOM, MG_RANDOM, count, 1, things);
    ba_require_reachable(task);
    ba_two_of(task->lane, count, chosen);
    if (!task->lane->failure) ba_ask_put_next(task, 0, things[chosen[0]].cell, things[chosen[1]].cell);
}
static const be_id local_ids[] = {
    {"BabyAI-PutNextLocal-v0"},
    {"BabyAI-PutNextLocalS5N3-v0", .settings = {{"room_size", 5}, {"num_objs", 3}}},
    {"BabyAI-PutNextLocalS6N4-v0", .settings = {{"room_size", 6}, {"num_objs", 4}}},
    {0},
};
BABYAI_LEVEL(babyai_put_next_local, "BabyAIPutNextLocal", local_layout, local, local_params, local_ids);

/* ---- PutNext and MoveTwoAcross ------------------------------------------------------------------------ */

enum { OBJS_A_ROOM = ROOM_SIZE + 1, NUM_ACROSS_PARAMS };
enum { MAX_A_ROOM = 9 };

/* Two rooms without a wall between them, each with objects that only it has. */
static void fill_rooms(ba_task *task, int count, mg_thing *left, mg_thing *right) {
    mg_place_agent_in_room(&task->rooms, 0, 0);
    mg_add_distractors(&task->rooms, 0, 0, count, 1, left);
    mg_add_distractors(&task->rooms, 1, 0, count, 1, right);
    mg_remove_wall(&task->rooms, 0, 0, MG_EAST);
}

enum { START_CARRYING = NUM_ACROSS_PARAMS };
static const be_param next_params[] = {
    MG_PARAMS,
    [ROOM_SIZE] = BA_ROOM_SIZE(4, 4),
    [OBJS_A_ROOM] = BA_COUNT("objs_per_room", 1, 1, MAX_A_ROOM, "objects in each of the two rooms"),
    [START_CARRYING] = BA_FLAG("start_carrying", "the agent has the object in its hands, though its own view in the "
                                                 "first observation does not show it"),
    {0},
};
static ba_layout next_layout(const double *params) {
    const int size = (int)params[ROOM_SIZE];
    return (ba_layout){size, 2, 1, 2 * (int)params[OBJS_A_ROOM], 8 * size * size};
}
static void next(ba_task *task) {
    mg_lane *lane = task->lane;
    mg_thing left[MAX_A_ROOM], right[MAX_A_ROOM];
    const int count = (int)task->params[OBJS_A_ROOM];
    fill_rooms(task, count, left, right);
    const int a = mg_random(lane, 0, count), b = mg_random(lane, 0, count);
    const int flip = mg_random_bool(lane);
    if (lane->failure) return;
    const mg_thing moved = flip ? right[b] : left[a], fixed = flip ? left[a] : right[b];
    ba_ask_put_next(task, 0, moved.cell, fixed.cell);
    if (task->params[START_CARRYING] != 0) task->carried_at_first = moved.object;
}
#define NEXT(id, size, count)                                                                                          \
    {                                                                                                                  \
        id, .settings = {{"room_size", size}, {"objs_per_room", count}}                                                \
    }
#define CARRYING(id, size, count)                                                                                      \
    {                                                                                                                  \
        id, .settings = {{"room_size", size}, {"objs_per_room", count}, {"start_carrying", 1}}                         \
    }
static const be_id next_ids[] = {
    NEXT("BabyAI-PutNextS4N1-v0", 4, 1),
    NEXT("BabyAI-PutNextS5N2-v0", 5, 2),
    NEXT("BabyAI-PutNextS5N1-v0", 5, 1),
    NEXT("BabyAI-PutNextS6N3-v0", 6, 3),
    NEXT("BabyAI-PutNextS7N4-v0", 7, 4),
    CARRYING("BabyAI-PutNextS5N2Carrying-v0", 5, 2),
    CARRYING("BabyAI-PutNextS6N3Carrying-v0", 6, 3),
    CARRYING("BabyAI-PutNextS7N4Carrying-v0", 7, 4),
    {0},
};
BABYAI_LEVEL(babyai_put_next, "BabyAIPutNext", next_layout, next, next_params, next_ids);

static const be_param across_params[] = {
    MG_PARAMS,
    [ROOM_SIZE] = BA_ROOM_SIZE(5, 3),
    [OBJS_A_ROOM] = BA_COUNT("objs_per_room", 2, 2, MAX_A_ROOM, "objects in each of the two rooms"),
    {0},
};
static ba_layout across_layout(const double *params) {
    const int size = (int)params[ROOM_SIZE];
    return (ba_layout){size, 2, 1, 2 * (int)params[OBJS_A_ROOM], 16 * size * size};
}
static void across(ba_task *task) {
    mg_thing left[MAX_A_ROOM], right[MAX_A_ROOM];
    int on_left[2], on_right[2];
    const int count = (int)task->params[OBJS_A_ROOM];
    fill_rooms(task, count, left, right);
    ba_two_of(task->lane, count, on_left);
    ba_two_of(task->lane, count, on_right);
    if (task->lane->failure) return;
    ba_ask_put_next(task, 0, left[on_left[0]].cell, right[on_right[0]].cell);
    ba_ask_put_next(task, 2, right[on_right[1]].cell, left[on_left[1]].cell);
    task->instruction.order = BA_BEFORE;
}
static const be_id across_ids[] = {
    NEXT("BabyAI-MoveTwoAcrossS5N2-v0", 5, 2),
    NEXT("BabyAI-MoveTwoAcrossS8N9-v0", 8, 9),
    {0},
};
BABYAI_LEVEL(babyai_move_two_across, "BabyAIMoveTwoAcross", across_layout, across, across_params, across_ids);
