/* Drawing with vectors of bytes, one byte per pixel: sixteen pixels at a time, or thirty-two with AVX2. */
#include "engines/atari/ale_fast/ale_fast.h"

#ifdef BE_HAVE_ALE_FAST
#include "engines/atari/ale_fast/drawing_common.h"

uint8_t be_ale_reversed[256];
static uint8_t field_pixels[16][16]; /* the pixels of four bits of the playfield; the lowest bit has the first four */

#define LANES 16
#define WIDE(name) name##_16
#define TARGET
#include "engines/atari/ale_fast/drawing_lanes.h"

#define LANES 32
#define WIDE(name) name##_32
#define TARGET __attribute__((target("avx2")))
#include "engines/atari/ale_fast/drawing_lanes.h"

be_ale_drawing be_ale_drawing_of = {.draw = draw_16, .fill = fill_16};

void be_ale_drawing_open(void) {
    for (unsigned i = 0; i < 256; i++) {
        for (unsigned bit = 0; bit < 8; bit++) be_ale_reversed[i] |= (uint8_t)((i >> bit & 1) << (7 - bit));
    }
    for (unsigned i = 0; i < 16; i++) {
        for (unsigned x = 0; x < 16; x++) field_pixels[i][x] = i >> x / 4 & 1 ? 255 : 0;
    }
    if (__builtin_cpu_supports("avx2")) be_ale_drawing_of = (be_ale_drawing){.draw = draw_32, .fill = fill_32};
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2")) {
        be_ale_drawing_of = be_ale_drawing_bits;
    }
}

#endif
