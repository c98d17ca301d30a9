/* The code of a mission, and its words. */
#include "envs/minigrid/babyai/mission.h"

#include <stdio.h>

/* In the 10 bits of a set of objects. */
enum { KIND = 0, COLOR = 3, SIDE = 6, SEVERAL = 9 };

static int64_t code_of(ba_objects objects, int several) {
    return (int)objects.kind << KIND | objects.color << COLOR | (int)objects.side << SIDE | several << SEVERAL;
}

void ba_say(int64_t *mission, int k, const ba_action *action, int several, int several_beside) {
    int64_t code = (int64_t)action->verb | code_of(action->objects, several) << BA_VERB_BITS;
    if (action->verb == BA_PUT_NEXT) {
        code |= code_of(action->beside, several_beside) << (BA_VERB_BITS + BA_OBJECTS_BITS);
    }
    mission[k / 2] |= code << (BA_ACTION_BITS * (k % 2));
}

void ba_say_order(int64_t *mission, ba_order order) { mission[0] |= (int64_t)order << 2 * BA_ACTION_BITS; }

/* ---- words ------------------------------------------------------------------------------------------- */

/* A text that grows in a buffer, which it may outgrow: `length` counts on. */
typedef struct writer {
    char *text;
    int size, length;
    int wrong; /* the code stands for no text */
} writer;

static void write(writer *to, const char *words) {
    const int left = to->size > to->length ? to->size - to->length : 0;
    to->length += snprintf(left ? to->text + to->length : NULL, (size_t)left, "%s", words);
}

/* words[k]; a number beyond the `count` words is wrong. */
static void write_one_of(writer *to, const char *const *words, int count, int k) {
    if (k < count) {
        write(to, words[k]);
    } else {
        to->wrong = 1;
    }
}
#define WRITE_ONE_OF(to, words, k) write_one_of(to, words, sizeof(words) / sizeof *(words), k)

static void write_objects(writer *to, int code) {
    static const char *const colors[] = {"", "red ", "green ", "blue ", "purple ", "yellow ", "grey "};
    static const char *const kinds[] = {"object", "box", "ball", "key", "door"};
    static const char *const sides[] = {"", " on your left", " on your right", " in front of you", " behind you"};
    write(to, BA_BITS(code, SEVERAL, 1) ? "a " : "the ");
    WRITE_ONE_OF(to, colors, BA_BITS(code, COLOR, 3));
    WRITE_ONE_OF(to, kinds, BA_BITS(code, KIND, 3));
    WRITE_ONE_OF(to, sides, BA_BITS(code, SIDE, 3));
}

static void write_action(writer *to, int code) {
    static const char *const verbs[] = {"", "open ", "go to ", "pick up ", "put "};
    const int verb = BA_BITS(code, 0, BA_VERB_BITS);
    const int objects = BA_BITS(code, BA_VERB_BITS, BA_OBJECTS_BITS);
    const int beside = BA_BITS(code, BA_VERB_BITS + BA_OBJECTS_BITS, BA_OBJECTS_BITS);
    if (verb == BA_NOTHING) to->wrong = 1;
    WRITE_ONE_OF(to, verbs, verb);
    write_objects(to, objects);
    if (verb == BA_PUT_NEXT) {
        write(to, " next to ");
        write_objects(to, beside);
    } else if (beside) {
        to->wrong = 1;
    }
}

static void write_half(writer *to, int64_t code) {
    const int second = BA_BITS(code, BA_ACTION_BITS, BA_ACTION_BITS);
    write_action(to, BA_BITS(code, 0, BA_ACTION_BITS));
    if (second == 0) return;
    write(to, " and ");
    write_action(to, second);
}

int ba_write_mission(const be_env_type *type, const int64_t *code, char *text, int size) {
    (void)type;
    static const char *const orders[] = {"", ", then ", " after you "};
    writer to = {text, size, 0, 0};
    const int64_t order = code[0] >> 2 * BA_ACTION_BITS, half = (INT64_C(1) << 2 * BA_ACTION_BITS) - 1;
    if (order < BA_ONE_HALF || order > BA_AFTER || (code[1] & ~half)) return -1;
    if (size > 0) text[0] = 0;
    if (code[0] == 0 && code[1] == 0) return 0; /* the mission of a lane that has failed */
    write_half(&to, code[0] & half);
    write(&to, orders[order]);
    if (order != BA_ONE_HALF) {
        write_half(&to, code[1]);
    } else if (code[1]) {
        to.wrong = 1;
    }
    return to.wrong ? -1 : to.length;
}

int ba_is_mission(const int64_t *mission) { return ba_write_mission(NULL, mission, NULL, 0) >= 0; }
