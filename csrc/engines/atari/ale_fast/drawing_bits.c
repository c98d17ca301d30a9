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

/* The pixels of the objects in 64 pixels from `start` on. */
TARGET static inline __attribute__((always_inline)) void
load_objects(const ale_picture *t, const be_ale_stretch *s, unsigned start, uint64_t shown, uint64_t *pixels) {
    const unsigned objects = s->objects;
    for (unsigned i = 0; i < 6; i++) pixels[i] = 0;
    for (unsigned i = 0; i < 2; i++) {
        if (objects & ALE_P0 << 2 * i) {
            const __m512i mask = _mm512_maskz_loadu_epi8(shown, t->mask_player[i] + start);
            pixels[2 * i] = _mm512_test_epi8_mask(mask, _mm512_set1_epi8((char)t->shape[i]));
        }
        if (objects & ALE_M0 << 2 * i) pixels[2 * i + 1] = load_bits(shown, t->mask_missile[i] + start);
    }
    if (objects & ALE_BALL) pixels[4] = load_bits(shown, t->mask_ball + start);
    if (objects & ALE_FIELD) { /* a bit of it has four pixels */
        pixels[5] = _pdep_u64(s->field >> start / 4 & 0xffff, UINT64_C(0x1111111111111111)) * 15 & shown;
    }
}

TARGET static inline void note_collisions(ale_picture *t, const uint64_t *all, uint64_t counts) {
    const uint64_t all0 = all[0] | all[1], all1 = all[2] | all[3], still = all[4] | all[5];
    const uint64_t shared =
        (all[0] & all[1]) | (all[2] & all[3]) | (all[4] & all[5]) | (all0 & all1) | ((all0 | all1) & still);
    if (LIKELY(!(shared & counts))) return;
    uint64_t pixels[6];
    for (unsigned i = 0; i < 6; i++) pixels[i] = all[i] & counts;
    collide(t, pixels);
}

TARGET static void draw_bits(be_ale_console *c, uint8_t *line, const be_ale_stretch *s) {
    ale_picture *t = c->picture;
    const unsigned x = s->x, end = s->end;
    uint64_t pixels[6];
    if (!c->draws) {
        for (unsigned start = x & ~63u; start < end; start += 64) {
            const uint64_t counts = range(start, x, end);
            load_objects(t, s, start, counts, pixels);
            note_collisions(t, pixels, counts);
        }
        return;
    }
    const int score = shows_score(t), on_top = (t->field_mode & ALE_ON_TOP) && !score;
    const __m512i back = _mm512_set1_epi8((char)t->colors[ALE_COLOR_BACK]);
    const __m512i front = _mm512_set1_epi8((char)t->colors[ALE_COLOR_FIELD]);
    const __m512i color0 = _mm512_set1_epi8((char)t->colors[ALE_COLOR_P0]);
    const __m512i color1 = _mm512_set1_epi8((char)t->colors[ALE_COLOR_P1]);
    const unsigned until = drawn_until(c, line, s);
    uint64_t differs = 0;
    for (unsigned start = x & ~63u; start < end; start += 64) {
        const uint64_t shown = range(start, x, until);
        load_objects(t, s, start, shown, pixels);
        if (s->shared) note_collisions(t, pixels, range(start, x, end));
        uint64_t all0 = pixels[0] | pixels[1], all1 = pixels[2] | pixels[3], still = pixels[4] | pixels[5];
        if (UNLIKELY(score)) {
            const uint64_t half = first(start < ALE_WIDTH / 2 ? ALE_WIDTH / 2 - start : 0); /* the line's left half */
            still = pixels[4];
            all0 |= pixels[5] & half;
            all1 |= pixels[5] & ~half;
        }
        __m512i result = _mm512_mask_mov_epi8(back, still, front);
        result = _mm512_mask_mov_epi8(result, all1, color1);
        result = _mm512_mask_mov_epi8(result, all0, color0);
        if (UNLIKELY(on_top)) result = _mm512_mask_mov_epi8(result, still, front);
        if (UNLIKELY(start < s->black)) result = _mm512_maskz_mov_epi8(~first(s->black - start), result);
        const uint64_t other =
            _mm512_mask_cmpneq_epi8_mask(shown, _mm512_maskz_loadu_epi8(shown, line + start), result);
        if (other == 0) continue; /* what has just been written is slow to read */
        _mm512_mask_storeu_epi8(line + start, shown, result);
        differs = 1;
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
