/* Where objects are in a stretch of a line, by groups of four pixels: mostly, no two of them share one, and so nothing
 * needs to be done in a frame that is not drawn. */
#ifndef BE_ALE_STRETCHES_H
#define BE_ALE_STRETCHES_H

#include "engines/atari/ale_fast/drawing.h"

#include <emmintrin.h>

/* The playfield of a line, with a bit for each four pixels. */
static inline uint64_t be_ale_field_of_line(const ale_picture *t) {
    const uint32_t field = t->field, pf0 = field & 0xf, pf1 = field >> 4 & 0xff, pf2 = field >> 12 & 0xff;
    const uint64_t left = pf0 | (uint32_t)be_ale_reversed[pf1] << 4 | pf2 << 12;
    if (t->mask_field == LIB.fields) return left | left << 20;
    return left | (uint64_t)(be_ale_reversed[pf2] | pf1 << 8 | (uint32_t)be_ale_reversed[pf0 << 4] << 16) << 20;
}

/* The mask of the sprite with this number: objects are sets of 1 << number. */
static inline const uint8_t *be_ale_mask_of(const ale_picture *t, unsigned number) {
    if (number == 4) return t->mask_ball;
    return number & 1 ? t->mask_missile[number >> 1] : t->mask_player[number >> 1];
}

/* In which groups a mask has pixels. */
static inline uint64_t be_ale_groups_in(const uint8_t *mask) {
    uint64_t empty = 0;
    for (unsigned x = 0; x < ALE_WIDTH; x += 16) {
        const __m128i four = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(mask + x)), _mm_setzero_si128());
        empty |= (uint64_t)_mm_movemask_ps(_mm_castsi128_ps(four)) << x / 4;
    }
    return ~empty & ((UINT64_C(1) << ALE_WIDTH / 4) - 1);
}

/* In which groups the sprite with this number has pixels, whatever its shape. */
static inline uint64_t be_ale_groups_of(be_ale_console *c, unsigned number) {
    const uint8_t *mask = be_ale_mask_of(c->picture, number);
    if (UNLIKELY(mask != c->grouped[number])) {
        c->grouped[number] = mask;
        c->groups[number] = be_ale_groups_in(mask);
    }
    return c->groups[number];
}

/* Whether two objects may share a pixel of a stretch; if so, leaves those in stretch->objects that it has. */
static inline int be_ale_may_share(be_ale_console *c, be_ale_stretch *s) {
    const uint64_t range = (UINT64_C(1) << (s->end + 3) / 4) - (UINT64_C(1) << s->x / 4);
    uint64_t once = s->field & range, twice = 0; /* groups with an object, and with more of them */
    unsigned objects = once ? ALE_FIELD : 0;
    for (unsigned left = s->objects & ~ALE_FIELD; left; left &= left - 1) {
        const unsigned number = (unsigned)__builtin_ctz(left);
        const uint64_t groups = be_ale_groups_of(c, number) & range;
        if (groups) objects |= 1u << number;
        twice |= once & groups;
        once |= groups;
    }
    s->objects = objects;
    return twice != 0;
}

#endif
