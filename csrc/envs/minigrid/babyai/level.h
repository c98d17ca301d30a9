/* What the files of BabyAI's levels share: a level is a grid of rooms, what is in them, and an instruction. */
#ifndef BE_BABYAI_LEVEL_H
#define BE_BABYAI_LEVEL_H

#include "envs/minigrid/babyai/instructions.h"

#pragma GCC visibility push(hidden)

/* What a level's keywords decide. */
typedef struct ba_layout {
    int room_size, columns, rows;
    int num_things; /* how many keys, balls and boxes there may be */
    int max_steps;  /* of an episode; 0: RoomGridLevel's rule, by which longer instructions get more */
} ba_layout;

/* A level while it is generated. */
typedef struct ba_task {
    mg_lane *lane;
    mg_rooms rooms;
    const double *params; /* the lane's */
    int unblocking;       /* 1: what blocks the way may have to be moved: then keys of locked doors must stay free */
    int carried_at_first; /* the object that the agent has from the first step on; 0: none */
    int seen;             /* 1: `scene` has been filled */
    ba_scene scene;
    ba_instruction instruction; /* what the level asks for: to be filled. Starts with zeros */
} ba_task;

typedef ba_layout ba_make_layout(const double *params);
typedef void ba_make_mission(ba_task *task);

#define ba_plan BE_ISA_NAME(ba_plan)
#define ba_generate BE_ISA_NAME(ba_generate)
#define ba_see BE_ISA_NAME(ba_see)
#define ba_agent_room BE_ISA_NAME(ba_agent_room)
#define ba_reject BE_ISA_NAME(ba_reject)
#define ba_require_reachable BE_ISA_NAME(ba_require_reachable)
#define ba_place_agent_outside BE_ISA_NAME(ba_place_agent_outside)
#define ba_lock_room BE_ISA_NAME(ba_lock_room)
#define ba_distract_each_room BE_ISA_NAME(ba_distract_each_room)
#define ba_two_of BE_ISA_NAME(ba_two_of)

int ba_plan(ba_layout layout, mg_plan *plan, be_error *error);

/* RoomGridLevel: makes missions until one is good. */
void ba_generate(mg_lane *lane, const be_param *params, ba_make_layout *make_layout, ba_make_mission *make_mission);

/* ---- for gen_mission() ------------------------------------------------------------------------------- */

/* The objects, after the last of them has been placed. */
const ba_scene *ba_see(ba_task *task);

mg_area ba_agent_room(ba_task *task);

/* RejectSampling: another mission has to be made. */
void ba_reject(ba_task *task);

/* check_objs_reachable(). */
void ba_require_reachable(ba_task *task);

/* place_agent(), until the agent is not in this room; NULL: in any. */
void ba_place_agent_outside(ba_task *task, const mg_room *room);

/* How GoToImpUnlock and Unlock begin: locks a room and puts the key somewhere. Returns the column and row of the room,
 * and the door. */
mg_point ba_lock_room(ba_task *task, mg_thing *door);

/* add_distractors() in each room, of any sort. */
void ba_distract_each_room(ba_task *task, int count);

/* _rand_subset(range(count), 2). */
void ba_two_of(mg_lane *lane, int count, int chosen[2]);

/* The instruction is one action. */
static inline void ba_ask(ba_task *task, ba_verb verb, ba_objects objects) {
    task->instruction.actions[0] = (ba_action){.verb = verb, .objects = objects};
}
/* The instruction's action k is this. */
static inline void ba_ask_put_next(ba_task *task, int k, mg_cell what, mg_cell beside) {
    task->instruction.actions[k] = (ba_action){BA_PUT_NEXT, 0, ba_like(what), ba_like(beside)};
}

/* ---- types ------------------------------------------------------------------------------------------- */

#define BA_ROOM_SIZE(value, low)                                                                                       \
    {"room_size", BE_PARAM_INT, value, low, MG_MAX_SIDE, NULL, "side of a room, walls included, cells"}
#define BA_ROWS(value, low) {"num_rows", BE_PARAM_INT, value, low, MG_MAX_SIDE, NULL, "rows of rooms"}
#define BA_COLUMNS(value, low) {"num_cols", BE_PARAM_INT, value, low, MG_MAX_SIDE, NULL, "columns of rooms"}
#define BA_COUNT(name, value, low, high, doc) {name, BE_PARAM_INT, value, low, high, NULL, doc}
#define BA_DISTRACTORS(value) BA_COUNT("num_dists", value, 0, MG_MAX_OBJECTS, "distracting objects")
#define BA_FLAG(name, doc) {name, BE_PARAM_BOOL, 0, 0, 1, NULL, doc}

#define BABYAI_LEVEL(name, type_name, layout, mission, params, ids)                                                    \
    static int name##_plan(const double *values, mg_plan *plan, be_error *error) {                                     \
        return ba_plan(layout(values), plan, error);                                                                   \
    }                                                                                                                  \
    static void name##_generate(mg_lane *lane) { ba_generate(lane, params, layout, mission); }                         \
    static const mg_level name##_level = {.plan = name##_plan,                                                         \
                                          .generate = name##_generate,                                                 \
                                          .before = ba_before,                                                         \
                                          .after = ba_after,                                                           \
                                          .is_sound = ba_is_sound};                                                    \
    MINIGRID_LEVEL(name, type_name, name##_level, params, ids, BE_TEXT_CODES(ba_write_mission, BA_MISSION_SIZE))

#pragma GCC visibility pop

#endif
