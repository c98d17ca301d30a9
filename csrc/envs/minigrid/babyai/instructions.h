/* BabyAI's instructions: what a mission says, as a code in a lane, and whether the agent has done it. */
#ifndef BE_BABYAI_INSTRUCTIONS_H
#define BE_BABYAI_INSTRUCTIONS_H

#define MG_FAMILY "BabyAI"
#include "minigrid_rooms.h"

#pragma GCC visibility push(hidden)

/* ---- what is said ------------------------------------------------------------------------------------ */

/* Kinds of objects in the order in which the reference draws them; BA_OBJECT is any of them. */
typedef enum ba_kind { BA_OBJECT, BA_BOX, BA_BALL, BA_KEY, BA_DOOR } ba_kind;
/* Places seen from where the agent starts, in the order in which the reference draws them. */
typedef enum ba_side { BA_ANYWHERE, BA_LEFT, BA_RIGHT, BA_FRONT, BA_BEHIND } ba_side;
#define BA_ANY_COLOR 0
#define BA_COLOR(color) ((color) + 1)

/* ObjDesc: all objects that fit. */
typedef struct ba_objects {
    ba_kind kind;
    int color; /* BA_ANY_COLOR or BA_COLOR(MG_RED) etc. */
    ba_side side;
} ba_objects;

/* ObjDesc(type, color) of an object. */
static inline ba_objects ba_like(mg_cell cell) {
    static const uint8_t kinds[16] = {[MG_OPEN_DOOR] = BA_DOOR, [MG_CLOSED_DOOR] = BA_DOOR, [MG_LOCKED_DOOR] = BA_DOOR,
                                      [MG_KEY] = BA_KEY,        [MG_BALL] = BA_BALL,        [MG_BOX] = BA_BOX};
    return (ba_objects){(ba_kind)kinds[mg_kind(cell)], BA_COLOR(mg_color(cell)), BA_ANYWHERE};
}

typedef enum ba_verb { BA_NOTHING, BA_OPEN, BA_GO_TO, BA_PICK_UP, BA_PUT_NEXT } ba_verb;

/* One of OpenInstr, GoToInstr, PickupInstr and PutNextInstr. */
typedef struct ba_action {
    ba_verb verb;
    int strict;         /* to open or pick up the wrong object ends the episode */
    ba_objects objects; /* what is to be opened, reached, picked up or put */
    ba_objects beside;  /* BA_PUT_NEXT: next to what */
} ba_action;

typedef enum ba_order { BA_ONE_HALF, BA_BEFORE, BA_AFTER } ba_order;
enum { BA_MAX_ACTIONS = 4, BA_MAX_SETS = 2 * BA_MAX_ACTIONS };

/* One half, or two in an order. Half h is actions 2 h and, unless that one's verb is BA_NOTHING, 2 h + 1: both of them
 * are to be done then, in any order. */
typedef struct ba_instruction {
    ba_order order;
    ba_action actions[BA_MAX_ACTIONS];
} ba_instruction;

/* ---- objects of a lane ------------------------------------------------------------------------------- */

/* The numbered objects of a grid, by number, from 1 on. */
typedef struct ba_scene {
    int count;
    mg_cell cells[MG_MAX_OBJECTS + 1]; /* MG_NOTHING where an object is not in the grid */
    mg_point places[MG_MAX_OBJECTS + 1];
} ba_scene;

/* A set of objects: bit k is object k. */
typedef struct ba_set {
    uint32_t words[(MG_MAX_OBJECTS + 32) / 32];
} ba_set;
static inline int ba_has(const uint32_t *words, int object) { return (int)(words[object >> 5] >> (object & 31) & 1); }

#define ba_look BE_ISA_NAME(ba_look)
#define ba_find BE_ISA_NAME(ba_find)
#define ba_start BE_ISA_NAME(ba_start)
#define ba_num_own BE_ISA_NAME(ba_num_own)
#define ba_carry_at_first BE_ISA_NAME(ba_carry_at_first)
#define ba_before BE_ISA_NAME(ba_before)
#define ba_after BE_ISA_NAME(ba_after)
#define ba_is_sound BE_ISA_NAME(ba_is_sound)
#define ba_write_mission BE_ISA_NAME(ba_write_mission)

/* Which objects are where. */
void ba_look(const mg_lane *lane, ba_scene *scene);

/* find_matching_objs(): how many objects fit, and which. Sides are those of the agent where it is now, in its room. */
int ba_find(const mg_lane *lane, const ba_scene *scene, mg_area room, ba_objects objects, ba_set *found);

/* ---- an episode -------------------------------------------------------------------------------------- */

enum { BA_MISSION_SIZE = 2 }; /* int64 of a mission's code */

/* How many int32 of a lane's own the state of an instruction takes, if there may be so many objects. */
int ba_num_own(int num_objects);

/* surface() and reset_verifier(): writes the mission's code and the state of its instruction into the lane. */
void ba_start(mg_lane *lane, const ba_scene *scene, mg_area room, const ba_instruction *instruction);

#define ba_take_at_first BE_ISA_NAME(ba_take_at_first)

/* The agent has object `object` in its hands, though the first observation shows it in its place: `ba_take_at_first`
 * takes it out of the grid. */
void ba_carry_at_first(mg_lane *lane, int object);
void ba_take_at_first(mg_lane *lane);
void ba_before(mg_lane *lane, mg_step_result *result); /* the hook that sees to this */

/* verify(): the hook that ends an episode when the instruction is done, or cannot be done any more. */
void ba_after(mg_lane *lane, mg_step_result *result);

/* Whether restored values of mission and own can be used. */
int ba_is_sound(const mg_lane *lane);

/* The text of a mission's code, as a be_write_text does it. */
int ba_write_mission(const be_env_type *type, const int64_t *code, char *text, int size);

#pragma GCC visibility pop

#endif
