/* Missions of any kind: BabyAI's LevelGen. */
#ifndef BE_BABYAI_LEVELGEN_H
#define BE_BABYAI_LEVELGEN_H

#include "envs/minigrid/babyai/level.h"

#pragma GCC visibility push(hidden)

/* LevelGen's keywords. Lists of kinds are numbers whose digits are drawn from. */
typedef struct ba_language {
    int num_dists;
    double locked_room_prob;
    int locations, unblocking, implicit_unlock;
    int action_kinds; /* digits: 1 go to, 2 pick up, 3 open, 4 put next to */
    int instr_kinds;  /* digits: 1 one action, 2 two of them, 3 two of either in an order */
} ba_language;

enum {
    BA_ALL_ACTION_KINDS = 1234,
    BA_ONLY_GO_TO = 1,
    BA_ONLY_PICK_UP = 2,
    BA_ALL_INSTR_KINDS = 123,
    BA_ONE_ACTION = 1
};

#define ba_make_any BE_ISA_NAME(ba_make_any)
void ba_make_any(ba_task *task, ba_language language);

/* Params; Python gives lists of kinds as such numbers. */
#define BA_ACTION_KINDS                                                                                                \
    BA_COUNT("action_kinds", BA_ALL_ACTION_KINDS, 1, 444444444,                                                        \
             "actions that are asked for, one digit each: 1 goto, 2 pickup, 3 open, 4 putnext")
#define BA_INSTR_KINDS                                                                                                 \
    BA_COUNT("instr_kinds", BA_ALL_INSTR_KINDS, 1, 333333333, "instructions, one digit each: 1 action, 2 and, 3 seq")
#define BA_LOCKED_ROOM_PROB(value)                                                                                     \
    {"locked_room_prob", BE_PARAM_FLOAT, value, 0, 1, NULL, "probability that a room is locked"}
#define BA_LOCATIONS                                                                                                   \
    {"locations", BE_PARAM_BOOL, 1, 0, 1, NULL, "missions may say on which side of the agent an object is"}
#define BA_UNBLOCKING {"unblocking", BE_PARAM_BOOL, 1, 0, 1, NULL, "objects may block the way"}
#define BA_IMPLICIT_UNLOCK                                                                                             \
    {"implicit_unlock", BE_PARAM_BOOL, 1, 0, 1, NULL, "missions may be about objects that are all in the locked room"}

#pragma GCC visibility pop

#endif
