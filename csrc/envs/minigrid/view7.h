/* The view of 7 by 7 cells, which nearly all users have, for BE_VIEWS lanes at a time.
 *
 * A view is a block of 64 bytes: byte 8 i + j is the cell in column i (from the left) and row j (0 is the farthest).
 * Bit 8 i + j of a word stands for the same cell. Cells with i or j = 7 mean nothing. */
#ifndef BE_MINIGRID_VIEW7_H
#define BE_MINIGRID_VIEW7_H

#include <string.h>

#include "envs/minigrid/grid.h"

#define BE_VIEWS 8
enum { SIDE7 = 7, AGENT_BIT = 8 * (SIDE7 / 2) + SIDE7 - 1 };

/* What light passes through, from column i on to i + 1 and back: the last column of each direction leads nowhere. */
#define COLUMN7(i) (UINT64_C(0x7f) << 8 * (i))
#define FORTH7 (COLUMN7(0) | COLUMN7(1) | COLUMN7(2) | COLUMN7(3) | COLUMN7(4) | COLUMN7(5))
#define BACK7 (FORTH7 << 8)
#define ROW7(j) (UINT64_C(0x01010101010101) << (j))

/* Which cells the agent sees: light goes from the agent's row outwards, in each row first to the right and then to the
 * left. A cell that it reaches and that is clear lets it on to the next cell of its row, and to the two ahead of these.
 *
 * Light fills a run of clear cells in three doubling steps (Kogge and Stone, 1973); `forth` and `back` of 2 and 4 say
 * where so many clear cells follow each other. */
BE_INLINE void spread_light7(const uint64_t *clear, uint64_t *seen) {
    for (int k = 0; k < BE_VIEWS; k += BE_VL) {
        const be_vul open = (be_vul)be_load_i64((const int64_t *)clear + k);
        const be_vul forth = open & FORTH7, forth2 = forth & forth << 8, forth4 = forth2 & forth2 << 16;
        const be_vul back = open & BACK7, back2 = back & back >> 8, back4 = back2 & back2 >> 16;
        be_vul all = (be_vul){0} + (UINT64_C(1) << AGENT_BIT);
        for (int j = SIDE7 - 1; j >= 0; j--) {
            be_vul row = all & ROW7(j);
            be_vul right = row & forth;
            right |= forth & right << 8;
            right |= forth2 & right << 16;
            right |= forth4 & right << 32;
            row |= right << 8;
            be_vul left = row & back;
            left |= back & left >> 8;
            left |= back2 & left >> 16;
            left |= back4 & left >> 32;
            row |= left >> 8;
            all |= row;
            if (j > 0) all |= (right | right << 8 | left | left >> 8) >> 1;
        }
        be_store_i64((int64_t *)seen + k, (be_vl)all);
    }
}

/* The seven rows of the grid (or its columns) that a view covers, in the order in which the view has them. */
typedef struct rows7 {
    uint64_t row[SIDE7]; /* each of seven cells and one that means nothing */
} rows7;

BE_INLINE rows7 load_rows7(const mg_cell *cells, int stride, int height, int x, int y, int direction) {
    const int upwards = direction == MG_SOUTH || direction == MG_WEST; /* the grid's last row comes first */
    const int left = x - (direction == MG_WEST ? SIDE7 - 1 : direction == MG_EAST ? 0 : SIDE7 / 2);
    const int top = y - (direction == MG_NORTH ? SIDE7 - 1 : direction == MG_SOUTH ? 0 : SIDE7 / 2);
    const mg_cell *const origin = cells + mg_margin(SIDE7) + stride + left;
    rows7 rows;
    for (int k = 0; k < SIDE7; k++) {
        int line = top + (upwards ? SIDE7 - 1 - k : k);
        line = line < -1 ? -1 : line > height ? height : line;
        memcpy(&rows.row[k], origin + line * stride, 8);
    }
    return rows;
}

/* ---- turning a view so that the agent looks up, and its picture ------------------------------------- */

#if BE_ISA != BE_ISA_BASELINE

/* Which byte of two rows goes where: for the directions in which the view's columns are rows of the grid, and then for
 * the others, whose bytes are paired to be moved as words of 16 bits. */
#define TURN_RIGHT 6, 5, 4, 3, 2, 1, 0, 7, 14, 13, 12, 11, 10, 9, 8, 15
#define TURN_DOWN 6, 14, 5, 13, 4, 12, 3, 11, 2, 10, 1, 9, 0, 8, 7, 15
#define TURN_LEFT 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define TURN_UP 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15
static const uint8_t turns[4][16] __attribute__((aligned(16))) = {{TURN_RIGHT}, {TURN_DOWN}, {TURN_LEFT}, {TURN_UP}};

/* Two columns of a view, of 16 bytes, become 42 bytes of its image, which are written in three parts: byte 3 n + c is
 * part c (type, color, state) of the n-th cell. Cell n is byte n + (n > 6). -1 gives 0. */
#define N (-1)
static const int8_t spread7[3][3][16] __attribute__((aligned(16))) = {
    {{0, N, N, 1, N, N, 2, N, N, 3, N, N, 4, N, N, 5},
     {N, 0, N, N, 1, N, N, 2, N, N, 3, N, N, 4, N, N},
     {N, N, 0, N, N, 1, N, N, 2, N, N, 3, N, N, 4, N}},
    {{N, N, 6, N, N, 8, N, N, 9, N, N, 10, N, N, 11, N},
     {5, N, N, 6, N, N, 8, N, N, 9, N, N, 10, N, N, 11},
     {N, 5, N, N, 6, N, N, 8, N, N, 9, N, N, 10, N, N}},
    {{N, 12, N, N, 13, N, N, 14, N, N, N, N, N, N, N, N},
     {N, N, 12, N, N, 13, N, N, 14, N, N, N, N, N, N, N},
     {11, N, N, 12, N, N, 13, N, N, 14, N, N, N, N, N, N}},
};
#undef N

#endif

#if BE_ISA == BE_ISA_AVX512

typedef __m512i view7;

BE_INLINE view7 turn7(const rows7 *rows, int direction) {
    /* Words of 16 bits as they are, and gathered so that each row of eight becomes a column. */
    static const uint16_t words[2][32] __attribute__((aligned(64))) = {
        {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
         16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31},
        {0, 8,  16, 24, 1, 9,  17, 25, 2, 10, 18, 26, 3, 11, 19, 27,
         4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31},
    };
    const uint64_t *r = rows->row;
    const __m512i view = _mm512_set_epi64(0, (int64_t)r[6], (int64_t)r[5], (int64_t)r[4], (int64_t)r[3], (int64_t)r[2],
                                          (int64_t)r[1], (int64_t)r[0]);
    const __m512i bytes = _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)turns[direction]));
    return _mm512_permutexvar_epi16(_mm512_load_si512(words[direction & 1]), _mm512_shuffle_epi8(view, bytes));
}

BE_INLINE uint64_t clear7(view7 view) { return ~_cvtmask64_u64(_mm512_movepi8_mask(view)); }

BE_INLINE void write_image7(view7 view, uint64_t seen, mg_cell carrying, uint8_t *image) {
    view = _mm512_mask_set1_epi8(view, _cvtu64_mask64(UINT64_C(1) << AGENT_BIT), (char)carrying);
    view = _mm512_maskz_mov_epi8(_cvtu64_mask64(seen), view);
    const __m512i low = _mm512_set1_epi8(15), kinds = _mm512_and_si512(view, low);
#define TABLE(table) _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(table)))
    const __m512i parts[3] = {
        _mm512_shuffle_epi8(TABLE(mg_type_of), kinds),
        _mm512_and_si512(_mm512_srli_epi16(view, 4), _mm512_set1_epi8(7)),
        _mm512_shuffle_epi8(TABLE(mg_state_of), kinds),
    };
    __m512i out[3];
    for (int k = 0; k < 3; k++) {
        out[k] = _mm512_ternarylogic_epi64(_mm512_shuffle_epi8(parts[0], TABLE(spread7[k][0])),
                                           _mm512_shuffle_epi8(parts[1], TABLE(spread7[k][1])),
                                           _mm512_shuffle_epi8(parts[2], TABLE(spread7[k][2])), 0xfe);
    }
#undef TABLE
    /* Each part is written over the end of the one before, which means nothing. */
#define STORE(pair, k)                                                                                                 \
    _mm_storeu_si128((__m128i *)(image + 42 * (pair) + 16 * (k)), _mm512_extracti32x4_epi32(out[k], pair))
    STORE(0, 0);
    STORE(0, 1);
    STORE(0, 2);
    STORE(1, 0);
    STORE(1, 1);
    STORE(1, 2);
    STORE(2, 0);
    STORE(2, 1);
    STORE(2, 2);
    STORE(3, 0);
#undef STORE
    _mm_mask_storeu_epi8(image + 142, _cvtu32_mask16(31), _mm512_extracti32x4_epi32(out[1], 3));
}

#elif BE_ISA == BE_ISA_AVX2

typedef struct view7 {
    __m128i pair[4]; /* two columns each */
} view7;

BE_INLINE view7 turn7(const rows7 *rows, int direction) {
    const __m128i bytes = _mm_load_si128((const __m128i *)turns[direction]);
    const __m128i across = _mm_set1_epi8(direction & 1 ? -1 : 0);
    view7 view;
    for (int k = 0; k < 4; k++) {
        const __m128i pair = _mm_set_epi64x(k < 3 ? (int64_t)rows->row[2 * k + 1] : 0, (int64_t)rows->row[2 * k]);
        view.pair[k] = _mm_shuffle_epi8(pair, bytes);
    }
    const __m128i a = _mm_unpacklo_epi16(view.pair[0], view.pair[1]),
                  b = _mm_unpackhi_epi16(view.pair[0], view.pair[1]);
    const __m128i c = _mm_unpacklo_epi16(view.pair[2], view.pair[3]),
                  d = _mm_unpackhi_epi16(view.pair[2], view.pair[3]);
    view.pair[0] = _mm_blendv_epi8(view.pair[0], _mm_unpacklo_epi32(a, c), across);
    view.pair[1] = _mm_blendv_epi8(view.pair[1], _mm_unpackhi_epi32(a, c), across);
    view.pair[2] = _mm_blendv_epi8(view.pair[2], _mm_unpacklo_epi32(b, d), across);
    view.pair[3] = _mm_blendv_epi8(view.pair[3], _mm_unpackhi_epi32(b, d), across);
    return view;
}

BE_INLINE uint64_t clear7(view7 view) {
    uint64_t opaque = 0;
    for (int k = 0; k < 4; k++) opaque |= (uint64_t)(uint32_t)_mm_movemask_epi8(view.pair[k]) << 16 * k;
    return ~opaque;
}

BE_INLINE void write_image7(view7 view, uint64_t seen, mg_cell carrying, uint8_t *image) {
    const __m128i bits = _mm_set1_epi64x((int64_t)UINT64_C(0x8040201008040201)), low = _mm_set1_epi8(15);
    const __m128i halves = _mm_set_epi8(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    view.pair[1] = _mm_insert_epi8(view.pair[1], carrying, AGENT_BIT - 16);
    for (int pair = 0; pair < 4; pair++) {
        const __m128i chosen = _mm_shuffle_epi8(_mm_cvtsi32_si128((int)(seen >> 16 * pair & 0xffff)), halves);
        const __m128i cells = _mm_and_si128(view.pair[pair], _mm_cmpeq_epi8(_mm_and_si128(chosen, bits), bits));
        const __m128i kinds = _mm_and_si128(cells, low);
        const __m128i parts[3] = {
            _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)mg_type_of), kinds),
            _mm_and_si128(_mm_srli_epi16(cells, 4), _mm_set1_epi8(7)),
            _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)mg_state_of), kinds),
        };
        for (int k = 0; k < (pair < 3 ? 3 : 2); k++) {
            __m128i out = _mm_setzero_si128();
            for (int c = 0; c < 3; c++) {
                out = _mm_or_si128(out, _mm_shuffle_epi8(parts[c], _mm_load_si128((const __m128i *)spread7[k][c])));
            }
            uint8_t *const to = image + 42 * pair + 16 * k;
            if (pair < 3 || k == 0) {
                _mm_storeu_si128((__m128i *)to, out);
            } else { /* the last five bytes */
                const int32_t first = _mm_cvtsi128_si32(out);
                memcpy(to, &first, 4);
                to[4] = (uint8_t)_mm_extract_epi8(out, 4);
            }
        }
    }
}

#else

typedef struct view7 {
    uint64_t column[8];
} view7;

BE_INLINE uint64_t exchange(uint64_t *a, uint64_t *b, int shift, uint64_t mask) {
    const uint64_t t = (*a >> shift ^ *b) & mask;
    *b ^= t;
    return *a ^= t << shift;
}

BE_INLINE view7 turn7(const rows7 *rows, int direction) {
    const int turned = direction == MG_EAST || direction == MG_SOUTH;
    view7 view, across;
    for (int k = 0; k < SIDE7; k++) {
        view.column[k] = turned ? __builtin_bswap64(rows->row[k]) >> 8 : rows->row[k];
    }
    view.column[7] = 0;
    across = view;
    for (int k = 0; k < 4; k++) exchange(&across.column[k], &across.column[k + 4], 32, UINT64_C(0x00000000ffffffff));
    for (int k = 0; k < 8; k += k % 2 ? 3 : 1) {
        exchange(&across.column[k], &across.column[k + 2], 16, UINT64_C(0x0000ffff0000ffff));
    }
    for (int k = 0; k < 8; k += 2) {
        exchange(&across.column[k], &across.column[k + 1], 8, UINT64_C(0x00ff00ff00ff00ff));
    }
    for (int k = 0; k < SIDE7; k++) view.column[k] = direction & 1 ? across.column[k] : view.column[k];
    return view;
}

BE_INLINE uint64_t clear7(view7 view) {
    uint64_t opaque = 0;
    for (int k = 0; k < SIDE7; k++) {
        const uint64_t flags = view.column[k] >> 7 & UINT64_C(0x0101010101010101);
        opaque |= (flags * UINT64_C(0x0102040810204080)) >> 56 << 8 * k;
    }
    return ~opaque;
}

BE_INLINE void write_image7(view7 view, uint64_t seen, mg_cell carrying, uint8_t *image) {
    const int agent = 8 * (SIDE7 - 1);
    uint64_t *const own = &view.column[SIDE7 / 2];
    *own = (*own & ~(UINT64_C(255) << agent)) | (uint64_t)carrying << agent;
    for (int i = 0; i < SIDE7; i++) {
        const uint64_t lit = ((seen >> 8 * i & 0x7f) * UINT64_C(0x0002040810204081)) & UINT64_C(0x0101010101010101);
        const uint64_t column = view.column[i] & lit * 255;
        for (int j = 0; j < SIDE7; j++, image += 3) {
            const mg_cell cell = (mg_cell)(column >> 8 * j);
            mg_encode(cell, image);
        }
    }
}

#endif

#endif
