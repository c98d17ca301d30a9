/* Draws LANES pixels at a time. drawing.c includes this file once for each LANES, which divides the width of a line.
 * WIDE makes names for each, and TARGET says which instruction set the functions need. (A lane of a vector is meant
 * here, not a copy of an environment.) */

#define lanes WIDE(lanes)
typedef uint8_t lanes __attribute__((vector_size(LANES)));
typedef uint64_t WIDE(words) __attribute__((vector_size(LANES)));

#define INLINE TARGET static inline __attribute__((always_inline))

INLINE lanes WIDE(load)(const uint8_t *from) {
    lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}
#define load WIDE(load)

INLINE lanes WIDE(splat)(unsigned byte) { return (lanes){0} + (uint8_t)byte; }
#define splat WIDE(splat)

INLINE lanes WIDE(choose)(lanes mask, lanes yes, lanes no) { return ((yes ^ no) & mask) ^ no; }
#define choose WIDE(choose)

INLINE int WIDE(any)(lanes v) {
    const WIDE(words) w = (WIDE(words))v;
    uint64_t all = 0;
    for (int i = 0; i < LANES / 8; i++) all |= w[i];
    return all != 0;
}
#define any WIDE(any)

/* 255 for the pixels from start on that lie between x and end, 0 for the others. */
INLINE lanes WIDE(between)(unsigned start, unsigned x, unsigned end) {
    static const uint8_t edge[3 * LANES] = {[LANES... 2 * LANES - 1] = 255};
    lanes v = {0};
    v = ~v;
    if (start < x) v = load(edge + LANES - (x - start));
    if (start + LANES > end) v &= load(edge + LANES + (start + LANES - end));
    return v;
}
#define between WIDE(between)

/* The playfield, which has a bit for each four pixels. */
INLINE lanes WIDE(field_lanes)(unsigned bits) {
#if LANES == 16
    return load(field_pixels[bits & 0xf]);
#else
    const lanes bit = {1,  1,  1,  1,  2,  2,  2,  2,  4,  4,  4,  4,  8,   8,   8,   8,
                       16, 16, 16, 16, 32, 32, 32, 32, 64, 64, 64, 64, 128, 128, 128, 128};
    return (lanes)((splat(bits) & bit) == bit);
#endif
}
#define field_lanes WIDE(field_lanes)

/* Notes which objects share a pixel. */
TARGET __attribute__((noinline)) static void WIDE(collide)(ale_picture *t, const lanes *pixels, const lanes *shared) {
    for (unsigned i = 0; i < 5; i++) {
        if (!(t->enabled >> i & 1)) continue;
        for (unsigned k = i + 1; k < 6; k++) {
            if (t->enabled >> k & 1 && any(pixels[i] & pixels[k] & *shared)) {
                t->collisions |= LIB.collisions[1u << i | 1u << k];
            }
        }
    }
}

TARGET static void WIDE(draw)(be_ale_console *c, uint8_t *line, const be_ale_stretch *s) {
    ale_picture *t = c->picture;
    const unsigned objects = s->objects, x = s->x, end = s->end;
    const int score = shows_score(t), on_top = (t->field_mode & ALE_ON_TOP) && !score, draws = c->draws;
    const lanes back = splat(t->colors[ALE_COLOR_BACK]), front = splat(t->colors[ALE_COLOR_FIELD]);
    const lanes color0 = splat(t->colors[ALE_COLOR_P0]), color1 = splat(t->colors[ALE_COLOR_P1]);
    const lanes shape0 = splat(t->shape[0]), shape1 = splat(t->shape[1]);
    const unsigned until = draws ? drawn_until(c, line, s) : end;
    lanes differs = {0};
    for (unsigned start = x / LANES * LANES; start < end; start += LANES) {
        lanes p0 = {0}, m0 = {0}, p1 = {0}, m1 = {0}, ball = {0}, result = back;
        const lanes field = field_lanes((unsigned)(s->field >> start / 4));
        if (objects & ALE_P0) p0 = (lanes)((load(t->mask_player[0] + start) & shape0) != 0);
        if (objects & ALE_P1) p1 = (lanes)((load(t->mask_player[1] + start) & shape1) != 0);
        /* These masks consist of 0 and 1. */
        if (objects & ALE_M0) m0 = -load(t->mask_missile[0] + start);
        if (objects & ALE_M1) m1 = -load(t->mask_missile[1] + start);
        if (objects & ALE_BALL) ball = -load(t->mask_ball + start);
        const int partly = start < x || start + LANES > end;
        const lanes all0 = p0 | m0, all1 = p1 | m1, still = ball | field;
        if (s->shared) {
            lanes shared = (p0 & m0) | (p1 & m1) | (ball & field) | (all0 & all1) | ((all0 | all1) & still);
            if (partly) shared &= between(start, x, end);
            if (UNLIKELY(any(shared))) {
                const lanes pixels[6] = {p0, m0, p1, m1, ball, field};
                WIDE(collide)(t, pixels, &shared);
            }
        }
        if (!draws) continue;
        if (LIKELY(!score)) {
            result = choose(still, front, result);
            result = choose(all1, color1, result);
            result = choose(all0, color0, result);
            if (on_top) result = choose(still, front, result);
        } else {
            lanes half = {0}; /* the left half of the line */
            if (start < ALE_WIDTH / 2) half = between(start, 0, ALE_WIDTH / 2);
            result = choose(ball, front, result);
            result = choose(all1 | (field & ~half), color1, result);
            result = choose(all0 | (field & half), color0, result);
        }
        const lanes present = load(line + start);
        if (start < s->black) result &= ~between(start, 0, s->black);
        if (partly) result = choose(between(start, x, until), result, present);
        differs |= result ^ present;
        memcpy(line + start, &result, sizeof result);
    }
    if (any(differs)) mark(c, line);
}

TARGET static void WIDE(fill)(be_ale_console *c, uint8_t *pixel, unsigned number, unsigned value) {
    const lanes all = splat(value);
    lanes differs = {0};
    unsigned at = 0;
    for (; at + LANES <= number; at += LANES) {
        differs |= load(pixel + at) ^ all;
        memcpy(pixel + at, &all, sizeof all);
    }
    if (at < number) {
        const lanes present = load(pixel + at), result = choose(between(0, 0, number - at), all, present);
        differs |= result ^ present;
        memcpy(pixel + at, &result, sizeof result);
    }
    if (any(differs)) mark(c, pixel);
}

#undef lanes
#undef load
#undef splat
#undef choose
#undef any
#undef between
#undef field_lanes
#undef INLINE
#undef LANES
#undef WIDE
#undef TARGET
