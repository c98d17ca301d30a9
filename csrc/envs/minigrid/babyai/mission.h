/* The code of a mission: two numbers, one for each half of the instruction, in which an action has 23 bits: its verb,
 * and 10 bits for each of its two sets of objects. The first number also has the order of the halves. */
#ifndef BE_BABYAI_MISSION_H
#define BE_BABYAI_MISSION_H

#include "envs/minigrid/babyai/instructions.h"

#pragma GCC visibility push(hidden)

enum { BA_VERB_BITS = 3, BA_OBJECTS_BITS = 10, BA_ACTION_BITS = BA_VERB_BITS + 2 * BA_OBJECTS_BITS };
#define BA_BITS(code, at, count) ((int)((code) >> (at) & ((1 << (count)) - 1)))

static inline ba_verb ba_verb_of(const int64_t *mission, int action) {
    return (ba_verb)BA_BITS(mission[action / 2], BA_ACTION_BITS * (action % 2), BA_VERB_BITS);
}
static inline ba_order ba_order_of(const int64_t *mission) { return (ba_order)(mission[0] >> 2 * BA_ACTION_BITS & 3); }

#define ba_say BE_ISA_NAME(ba_say)
#define ba_say_order BE_ISA_NAME(ba_say_order)
#define ba_is_mission BE_ISA_NAME(ba_is_mission)

/* Puts action `k` into a code. `several` says that several objects fit, so that the text has "a" and not "the". */
void ba_say(int64_t *mission, int k, const ba_action *action, int several, int several_beside);
void ba_say_order(int64_t *mission, ba_order order);

/* Whether there is a text for a code. */
int ba_is_mission(const int64_t *mission);

#pragma GCC visibility pop

#endif
