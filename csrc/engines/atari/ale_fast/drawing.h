/* Draws stretches of lines: the pixels that the objects of the picture chip have, and which objects share one. */
#ifndef BE_ALE_DRAWING_H
#define BE_ALE_DRAWING_H

#include "engines/atari/ale_fast/console.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIB be_ale_picture_library

/* The widest vector that is written at once; so many bytes behind a picture may be changed, to what they were. */
#define BE_ALE_WIDEST 64

extern uint8_t be_ale_reversed[256]; /* bytes with their bits in reversed order */

/* Whether the enabled objects can collide in a way that has not been noted yet. Most collisions are known from the
 * lines above. */
static inline int be_ale_may_collide(const ale_picture *t) {
    return (LIB.collisions[t->enabled & 0x3f] & ~t->collisions) != 0;
}

typedef struct be_ale_drawing {
    /* Notes collisions in the pixels of a line from x to end. If console->draws, also draws these pixels (`line` is the
     * first pixel of the line), and makes those before `black` black. */
    void (*draw)(be_ale_console *console, uint8_t *line, unsigned x, unsigned end, unsigned black);
    /* Gives pixels of one line a value. */
    void (*fill)(be_ale_console *console, uint8_t *pixel, unsigned number, unsigned value);
} be_ale_drawing;

extern be_ale_drawing be_ale_drawing_of;         /* the fastest that the processor has */
extern const be_ale_drawing be_ale_drawing_bits; /* needs AVX-512 and BMI2 */

void be_ale_drawing_open(void); /* to be called once, with be_ale_picture_library filled */

#endif
