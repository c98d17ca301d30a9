/* Draws LANES pixels at a time. picture.c includes this file once for each LANES, which divides the width of a line.
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

/* Draws the pixels of a line from x to end. None of them is blanked, and some object is enabled. */
TARGET static void WIDE(draw_objects)(ale_picture *t, uint8_t *line, unsigned x, unsigned end) {
    const unsigned enabled = t->enabled, mode = t->field_mode;
    const int score = (mode & ALE_SCORE) && (!(mode & ALE_ON_TOP) || enabled == ALE_FIELD);
    const int on_top = (mode & ALE_ON_TOP) && !score;
    const uint64_t field_of_line = enabled & ALE_FIELD ? field_bits(t) : 0;
    const lanes back = splat(t->colors[ALE_COLOR_BACK]), front = splat(t->colors[ALE_COLOR_FIELD]);
    const lanes color0 = splat(t->colors[ALE_COLOR_P0]), color1 = splat(t->colors[ALE_COLOR_P1]);
    const lanes shape0 = splat(t->shape[0]), shape1 = splat(t->shape[1]);
    /* Most collisions are known from the lines above. */
    const int may_collide = (LIB.collisions[enabled & 0x3f] & ~t->collisions) != 0;
    unsigned until = end;
    if (end & 3 && (end & ~3u) >= x && fours(enabled | mode) && free_of_sprites(t, end & ~3u)) until = (end & ~3u) + 4;
    for (unsigned start = x / LANES * LANES; start < end; start += LANES) {
        lanes p0 = {0}, m0 = {0}, p1 = {0}, m1 = {0}, ball = {0}, result = back;
        const lanes field = field_lanes((unsigned)(field_of_line >> start / 4));
        if (enabled & ALE_P0) p0 = (lanes)((load(t->mask_player[0] + start) & shape0) != 0);
        if (enabled & ALE_P1) p1 = (lanes)((load(t->mask_player[1] + start) & shape1) != 0);
        /* These masks consist of 0 and 1. */
        if (enabled & ALE_M0) m0 = -load(t->mask_missile[0] + start);
        if (enabled & ALE_M1) m1 = -load(t->mask_missile[1] + start);
        if (enabled & ALE_BALL) ball = -load(t->mask_ball + start);
        const int partly = start < x || start + LANES > end;
        const lanes all0 = p0 | m0, all1 = p1 | m1, still = ball | field;
        if (may_collide) {
            lanes shared = (p0 & m0) | (p1 & m1) | (ball & field) | (all0 & all1) | ((all0 | all1) & still);
            if (partly) shared &= between(start, x, end);
            if (UNLIKELY(any(shared))) {
                const lanes pixels[6] = {p0, m0, p1, m1, ball, field};
                WIDE(collide)(t, pixels, &shared);
            }
        }
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
        if (partly) result = choose(between(start, x, until), result, load(line + start));
        memcpy(line + start, &result, sizeof result);
    }
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
