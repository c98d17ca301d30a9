/* Drawing with sets of bits, one bit per pixel: sixty-four pixels at a time, for which AVX-512 has masks. */
#include "engines/atari/ale_fast/ale_fast.h"

#ifdef BE_HAVE_ALE_FAST
#include "engines/atari/ale_fast/drawing_common.h"

#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,bmi2")))

/* The first `number` bits, at most 64. */
TARGET static inline uint64_t first(unsigned number) { return _bzhi_u64(~UINT64_C(0), number); }

/* The part of the pixels from `start` on that lies between x and end. */
TARGET static inline uint64_t range(unsigned start, unsigned x, unsigned end) {
    const uint64_t until = first(end > start ? end - start : 0);
    return x > start ? until & ~first(x - start) : until;
}

TARGET static inline uint64_t load_bits(uint64_t of, const uint8_t *mask) {
    const __m512i bytes = _mm512_maskz_loadu_epi8(of, mask);
    return _mm512_test_epi8_mask(bytes, bytes);
}

/* Notes which objects share a pixel. */
__attribute__((noinline)) static void collide(ale_picture *t, const uint64_t *pixels) {
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned k = i + 1; k < 6; k++) {
            if (pixels[i] & pixels[k]) t->collisions |= LIB.collisions[1u << i | 1u << k];
        }
    }
}

TARGET static void draw_bits(be_ale_console *c, uint8_t *line, unsigned x, unsigned end, unsigned black) {
    ale_picture *t = c->picture;
    const unsigned enabled = t->enabled, mode = t->field_mode;
    const int score = shows_score(t), on_top = (mode & ALE_ON_TOP) && !score, draws = c->draws;
    const uint64_t field_of_line = enabled & ALE_FIELD ? field_bits(t) : 0;
    const __m512i back = _mm512_set1_epi8((char)t->colors[ALE_COLOR_BACK]);
    const __m512i front = _mm512_set1_epi8((char)t->colors[ALE_COLOR_FIELD]);
    const __m512i color0 = _mm512_set1_epi8((char)t->colors[ALE_COLOR_P0]);
    const __m512i color1 = _mm512_set1_epi8((char)t->colors[ALE_COLOR_P1]);
    const __m512i shape0 = _mm512_set1_epi8((char)t->shape[0]), shape1 = _mm512_set1_epi8((char)t->shape[1]);
    const int may_collide = be_ale_may_collide(t);
    const unsigned until = draws ? drawn_until(c, line, x, end) : end;
    uint64_t differs = 0;
    for (unsigned start = x & ~63u; start < end; start += 64) {
        const uint64_t shown = range(start, x, until);
        uint64_t p0 = 0, p1 = 0, m0 = 0, m1 = 0, ball = 0, field = 0;
        if (enabled & ALE_P0) {
            p0 = _mm512_test_epi8_mask(_mm512_maskz_loadu_epi8(shown, t->mask_player[0] + start), shape0);
        }
        if (enabled & ALE_P1) {
            p1 = _mm512_test_epi8_mask(_mm512_maskz_loadu_epi8(shown, t->mask_player[1] + start), shape1);
        }
        if (enabled & ALE_M0) m0 = load_bits(shown, t->mask_missile[0] + start);
        if (enabled & ALE_M1) m1 = load_bits(shown, t->mask_missile[1] + start);
        if (enabled & ALE_BALL) ball = load_bits(shown, t->mask_ball + start);
        if (enabled & ALE_FIELD) { /* a bit of it has four pixels */
            field = _pdep_u64(field_of_line >> start / 4 & 0xffff, UINT64_C(0x1111111111111111)) * 15 & shown;
        }
        uint64_t all0 = p0 | m0, all1 = p1 | m1, still = ball | field;
        if (may_collide) {
            const uint64_t shared = (p0 & m0) | (p1 & m1) | (ball & field) | (all0 & all1) | ((all0 | all1) & still);
            const uint64_t counts = range(start, x, end);
            if (UNLIKELY(shared & counts)) {
                const uint64_t pixels[6] = {p0 & counts, m0 & counts,   p1 & counts,
                                            m1 & counts, ball & counts, field & counts};
                collide(t, pixels);
            }
        }
        if (!draws) continue;
        if (score) {
            const uint64_t half = first(start < ALE_WIDTH / 2 ? ALE_WIDTH / 2 - start : 0); /* the line's left half */
            still = ball;
            all0 |= field & half;
            all1 |= field & ~half;
        }
        __m512i result = _mm512_mask_mov_epi8(back, still, front);
        result = _mm512_mask_mov_epi8(result, all1, color1);
        result = _mm512_mask_mov_epi8(result, all0, color0);
        if (on_top) result = _mm512_mask_mov_epi8(result, still, front);
        if (start < black) result = _mm512_maskz_mov_epi8(~first(black - start), result);
        differs |= _mm512_mask_cmpneq_epi8_mask(shown, _mm512_maskz_loadu_epi8(shown, line + start), result);
        _mm512_mask_storeu_epi8(line + start, shown, result);
    }
    if (differs) mark(c, line);
}

TARGET static void fill_bits(be_ale_console *c, uint8_t *pixel, unsigned number, unsigned value) {
    const __m512i all = _mm512_set1_epi8((char)value);
    uint64_t differs = 0;
    for (unsigned at = 0; at < number; at += 64) {
        const uint64_t part = range(at, 0, number);
        differs |= _mm512_mask_cmpneq_epi8_mask(part, _mm512_maskz_loadu_epi8(part, pixel + at), all);
        _mm512_mask_storeu_epi8(pixel + at, part, all);
    }
    if (differs) mark(c, pixel);
}

const be_ale_drawing be_ale_drawing_bits = {.draw = draw_bits, .fill = fill_bits};

#endif
