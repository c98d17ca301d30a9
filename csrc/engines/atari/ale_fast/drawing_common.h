/* What the ways of drawing have in common: drawing.c with vectors of bytes, drawing_bits.c with sets of bits. */
#ifndef BE_ALE_DRAWING_COMMON_H
#define BE_ALE_DRAWING_COMMON_H

#include "engines/atari/ale_fast/stretches.h"

#include <string.h>

/* Notes that a line of a picture has changed. */
static inline void mark(be_ale_console *c, const uint8_t *pixel) {
    const ale_picture *t = c->picture;
    const size_t offset = (size_t)(pixel - t->current), row = offset / ALE_WIDTH;
    if (row < BE_SCREEN_MAX_HEIGHT) c->marks[row] = 1;
}

/* A score on top of everything has the players' colors only as long as no sprite is enabled. */
static inline int shows_score(const ale_picture *t) {
    return (t->field_mode & ALE_SCORE) && (!(t->field_mode & ALE_ON_TOP) || t->enabled == ALE_FIELD);
}

/* Whether the library has a way of its own to draw these objects: only then it draws four pixels at once. */
static inline int fours(unsigned objects) {
#define ALWAYS                                                                                                         \
    (UINT64_C(1) << 0x01 | UINT64_C(1) << 0x02 | UINT64_C(1) << 0x04 | UINT64_C(1) << 0x05 | UINT64_C(1) << 0x08 |     \
     UINT64_C(1) << 0x0a | UINT64_C(1) << 0x10 | UINT64_C(1) << 0x12 | UINT64_C(1) << 0x14 | UINT64_C(1) << 0x18 |     \
     UINT64_C(1) << 0x20)
#define UNLESS_SCORE (ALWAYS | UINT64_C(1) << 0x21 | UINT64_C(1) << 0x24 | UINT64_C(1) << 0x30)
    static const uint64_t ways[4] = {UNLESS_SCORE, ALWAYS, UNLESS_SCORE, ALWAYS};
    return ways[objects >> 6] >> (objects & 63) & 1;
}

/* Whether the four pixels from x on are free of enabled sprites, whatever their shape. */
static inline int free_of_sprites(const ale_picture *t, unsigned x) {
    for (unsigned left = t->enabled & 0x1f; left; left &= left - 1) {
        uint32_t four;
        memcpy(&four, be_ale_mask_of(t, (unsigned)__builtin_ctz(left)) + x, sizeof four);
        if (four) return 0;
    }
    return 1;
}

/* Up to where the library draws a stretch that ends at `end`: if its last four pixels are free of sprites, to the end
 * of the four. This can be seen only if a frame ends there. */
static inline unsigned drawn_until(be_ale_console *c, uint8_t *line, const be_ale_stretch *s) {
    const ale_picture *t = c->picture;
    const unsigned end = s->end, four = end & ~3u;
    if (four == end || four < s->x || !fours(t->enabled | t->field_mode) || !free_of_sprites(t, four)) return end;
    c->written = line + four + 4;
    return four + 4;
}

#endif
