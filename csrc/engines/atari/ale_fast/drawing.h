/* Draws stretches of lines: the pixels that the objects of the picture chip have, and which objects share one. */
#ifndef BE_ALE_DRAWING_H
#define BE_ALE_DRAWING_H

#include "engines/atari/ale_fast/console.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIB be_ale_picture_library

extern uint8_t be_ale_reversed[256]; /* bytes with their bits in reversed order */

/* Whether the enabled objects can collide in a way that has not been noted yet. Most collisions are known from the
 * lines above. */
static inline int be_ale_may_collide(const ale_picture *t) {
    return (LIB.collisions[t->enabled & 0x3f] & ~t->collisions) != 0;
}

/* The pixels of a line from x to end. */
typedef struct be_ale_stretch {
    unsigned x, end;
    unsigned black;   /* pixels before this one are black */
    unsigned objects; /* those that may have pixels here */
    int shared;       /* whether two of them may share a pixel, and it matters */
    uint64_t field;   /* the playfield of the whole line, with a bit for each four pixels; 0 if it is not an object */
} be_ale_stretch;

typedef struct be_ale_drawing {
    /* Notes collisions if stretch->shared. If console->draws, draws the pixels; `line` is the first of the line. */
    void (*draw)(be_ale_console *console, uint8_t *line, const be_ale_stretch *stretch);
    /* Gives pixels of one line a value. */
    void (*fill)(be_ale_console *console, uint8_t *pixel, unsigned number, unsigned value);
} be_ale_drawing;

extern be_ale_drawing be_ale_drawing_of;         /* the fastest that the processor has */
extern const be_ale_drawing be_ale_drawing_bits; /* needs AVX-512 and BMI2 */

void be_ale_drawing_open(void); /* to be called once, with be_ale_picture_library filled */

#endif
