/* Reads joysticks and paddles. The library asks the controller each time. The answer cannot change while a frame is
 * executed: it comes from the player's action, and from when the paddles' capacitors began to charge. So each pin is
 * asked once in a frame. Other controllers, such as keyboards, are left to the library.
 */
#include "engines/atari/ale_fast/controllers.h"

#ifdef BE_HAVE_ALE_FAST

#include <string.h>

typedef struct ale_controller ale_controller;

/* The functions of a controller; the entries before are not used here. */
typedef struct ale_controller_functions {
    void *others[2];
    uint8_t (*digital)(ale_controller *, int pin); /* 0 or 1 */
    int32_t (*analog)(ale_controller *, int pin);  /* a resistance */
} ale_controller_functions;

struct ale_controller {
    const ale_controller_functions *functions;
};

typedef struct ale_controllers {
    const void *functions, *settings;
    ale_controller *of[2]; /* the left and the right one */
} ale_controllers;

static_assert(offsetof(ale_controllers, of) == 0x10, "the library's layout");

#define FIRE_PIN 4

/* The name of an object's class, which is in front of its functions. */
static const char *class_of(const ale_controller *controller) {
    const void *type;
    memcpy(&type, (const char *)controller->functions - sizeof type, sizeof type);
    const char *name;
    memcpy(&name, (const char *)type + sizeof name, sizeof name);
    return name;
}

void be_ale_find_controllers(be_ale_console *c) {
    for (int i = 0; i < 2; i++) {
        const char *name = class_of(c->picture->controllers->of[i]);
        c->plain_pins[i] = strcmp(name, "8Joystick") == 0 || strcmp(name, "7Paddles") == 0;
    }
}

enum { NEVER, ALWAYS, IN_TIME }; /* when a paddle's pin is high; from IN_TIME on: this many cycles and one more later */

/* As the library computes it, with a capacitor of 0.01 microfarads and 1.19 million cycles per second. */
static uint32_t find_pin(const be_ale_console *c, unsigned number) {
    if (number >= 12) {
        ale_controller *fire = c->picture->controllers->of[number - 12];
        return fire->functions->digital(fire, FIRE_PIN) & 1;
    }
    ale_controller *paddle = c->picture->controllers->of[number >> 1 & 1];
    const int32_t resistance = paddle->functions->analog(paddle, ~number & 1);
    if (resistance == *be_ale_picture_library.least_resistance) return ALWAYS;
    if (resistance == *be_ale_picture_library.most_resistance) return NEVER;
    return (uint32_t)(int64_t)(1.6 * resistance * 0.01E-6 * 1.19E6) + IN_TIME;
}

unsigned be_ale_read_pin(be_ale_console *c, unsigned number) {
    ale_picture *t = c->picture;
    const unsigned noise = c->system->bus & 0x3f, k = number - 8;
    if (number >= 14) return noise;
    if (!c->plain_pins[number < 12 ? number >> 1 & 1 : number & 1]) {
        /* The library would draw first, but does not if the picture has not begun. */
        const int32_t first_clock = t->first_clock;
        t->first_clock = INT32_MAX;
        const uint8_t value = be_ale_picture_library.peek((ale_device *)t, (uint16_t)number);
        t->first_clock = first_clock;
        return value;
    }
    if (!(c->known_pins >> k & 1)) {
        c->pins[k] = find_pin(c, number);
        c->known_pins |= 1u << k;
    }
    const uint32_t pin = c->pins[k];
    int high = pin == ALWAYS;
    if (number < 12 && pin >= IN_TIME) high = !t->dumped && t->dump_cycle + (pin - IN_TIME) < c->system->cycles;
    return noise | (unsigned)high << 7;
}

#endif
