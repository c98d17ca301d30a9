#include "engines/atari/pixel.h"

#include <math.h>

#define WIDTH BE_SCREEN_WIDTH

/* ---- from palette indices to levels ------------------------------------------------------------------ */

#if BE_ISA == BE_ISA_AVX512
/* The levels of 32 even palette indices. The table's 128 entries are 64 words of two entries, which fill two
 * registers. */
static inline __m512i look_up(__m512i low, __m512i high, __m512i index) {
    const __m512i pair = _mm512_permutex2var_epi16(low, _mm512_srli_epi16(index, 2), high);
    const __m512i shift = _mm512_slli_epi16(_mm512_and_si512(index, _mm512_set1_epi16(2)), 2);
    return _mm512_and_si512(_mm512_srlv_epi16(pair, shift), _mm512_set1_epi16(255));
}

static inline __m512i load_32(const uint8_t *pixels) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)pixels));
}

/* Writes a row's levels as floats; `same` says that b equals a. Returns 0 if some palette indices are odd: then levels
 * are wrong. */
static inline int pooled_row(const uint8_t *even_levels, const uint8_t *a, const uint8_t *b, int same, float *out) {
    const __m512i low = _mm512_loadu_si512(even_levels), high = _mm512_loadu_si512(even_levels + 64);
    __m512i any = _mm512_setzero_si512();
    for (int x = 0; x < WIDTH; x += 32) {
        __m512i index = load_32(a + x), level = look_up(low, high, index);
        any = _mm512_or_si512(any, index);
        if (!same) {
            index = load_32(b + x);
            any = _mm512_or_si512(any, index);
            level = _mm512_max_epu16(level, look_up(low, high, index));
        }
        const __m512i left = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(level));
        const __m512i right = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(level, 1));
        _mm512_storeu_ps(out + x, _mm512_cvtepi32_ps(left));
        _mm512_storeu_ps(out + x + 16, _mm512_cvtepi32_ps(right));
    }
    return _mm512_test_epi16_mask(any, _mm512_set1_epi16(1)) == 0;
}
#elif BE_ISA == BE_ISA_AVX2
/* The levels of 32 even palette indices. The table's 128 entries are the tables of eight shuffles, one of which
 * applies. */
static inline __m256i look_up(const __m256i *tables, __m256i pixels) {
    const __m256i index = _mm256_and_si256(_mm256_srli_epi16(pixels, 1), _mm256_set1_epi8(0x7F));
    __m256i level = _mm256_setzero_si256();
    for (int t = 0; t < 8; t++) {
        const __m256i place = _mm256_xor_si256(index, _mm256_set1_epi8((char)(t << 4)));
        /* Adding makes a place above 15 negative, for which a shuffle gives 0. */
        level = _mm256_or_si256(level, _mm256_shuffle_epi8(tables[t], _mm256_adds_epu8(place, _mm256_set1_epi8(0x70))));
    }
    return level;
}

/* Writes a row's levels; b may be NULL. Returns 0 if some palette indices are odd: then levels are wrong. */
static inline int pooled_row(const uint8_t *even_levels, const uint8_t *a, const uint8_t *b, uint8_t *out) {
    __m256i tables[8], any = _mm256_setzero_si256();
    for (int t = 0; t < 8; t++) {
        tables[t] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(even_levels + 16 * t)));
    }
    for (int x = 0; x < WIDTH; x += 32) {
        __m256i pixels = _mm256_loadu_si256((const __m256i *)(a + x)), level = look_up(tables, pixels);
        any = _mm256_or_si256(any, pixels);
        if (b) {
            pixels = _mm256_loadu_si256((const __m256i *)(b + x));
            any = _mm256_or_si256(any, pixels);
            level = _mm256_max_epu8(level, look_up(tables, pixels));
        }
        _mm256_storeu_si256((__m256i *)(out + x), level);
    }
    return _mm256_testz_si256(any, _mm256_set1_epi8(1));
}
#endif

static inline void pooled_bytes(const uint8_t *levels, const uint8_t *a, const uint8_t *b, uint8_t *out, int step) {
    if (b == NULL) {
        for (int x = 0; x < WIDTH; x++) out[x * step] = levels[a[x]];
        return;
    }
    for (int x = 0; x < WIDTH; x++) {
        const uint8_t p = levels[a[x]], q = levels[b[x]];
        out[x * step] = p > q ? p : q;
    }
}

/* Whether any of `count` source rows has changed; all have if `changed` is NULL. */
static inline int any_changed(const uint8_t *changed, int first, int count) {
    int any = changed == NULL;
    for (int y = first; y < first + count && !any; y++) any = changed[y];
    return any;
}

/* ---- without fractions ------------------------------------------------------------------------------ */

static void whole_screen(const be_pixel_plan *plan, const uint8_t *a, const uint8_t *b, const uint8_t *changed,
                         uint8_t *out) {
    const int step = plan->channels;
    for (int y = 0; y < plan->height; y++) {
        if (!any_changed(changed, y, 1)) continue;
        const uint8_t *row_b = b ? b + y * WIDTH : NULL;
        for (int c = 0; c < step; c++) {
            pooled_bytes(plan->levels[c], a + y * WIDTH, row_b, out + (size_t)y * WIDTH * (size_t)step + c, step);
        }
    }
}

/* Means of blocks, in integers, rounded as OpenCV does: halves go up if a block has four pixels, and to even
 * otherwise. */
static void whole_blocks(const be_pixel_plan *plan, const uint8_t *a, const uint8_t *b, const uint8_t *changed,
                         uint8_t *out) {
    const int sy = plan->scale_y, sx = plan->scale_x;
    const float share = 1.0f / (float)(sy * sx);
    uint8_t row[WIDTH];
    for (int c = 0; c < plan->channels; c++) {
        for (int y = 0; y < plan->out_height; y++) {
            int sums[WIDTH] = {0};
            if (!any_changed(changed, y * sy, sy)) continue;
            for (int k = 0; k < sy; k++) {
                const int source = (y * sy + k) * WIDTH;
                pooled_bytes(plan->levels[c], a + source, b ? b + source : NULL, row, 1);
                for (int x = 0; x < plan->out_width; x++) {
                    for (int j = 0; j < sx; j++) sums[x] += row[x * sx + j];
                }
            }
            uint8_t *target = out + (size_t)y * (size_t)plan->out_width * (size_t)plan->channels + c;
            for (int x = 0; x < plan->out_width; x++) {
                target[x * plan->channels] =
                    (uint8_t)(sy == 2 && sx == 2 ? (sums[x] + 2) >> 2 : (int)nearbyintf((float)sums[x] * share));
            }
        }
    }
}

/* ---- with fractions --------------------------------------------------------------------------------- */

/* Sums in OpenCV's order: the shares of a target along its row first, then rows, each product and each sum rounded to
 * float32, and at the end to the nearest whole number. */

/* Pools a row of two screens and shrinks it; b may be NULL. */
static inline void shrink_row(const be_pixel_plan *plan, const uint8_t *levels, const uint8_t *even_levels,
                              const uint8_t *a, const uint8_t *b, float *out) {
    const int padded = plan->padded_width;
    float row[WIDTH + BE_MAX_TAPS];
    uint8_t bytes[WIDTH + 32];
#if BE_ISA == BE_ISA_AVX512
    if (plan->base) {
        if (!pooled_row(even_levels, a, b, b == NULL, row)) {
            pooled_bytes(levels, a, b, bytes, 1);
            for (int x = 0; x < WIDTH; x++) row[x] = bytes[x];
        }
        memset(row + WIDTH, 0, 32 * sizeof *row);
        for (int x = 0; x < padded; x += 16) {
            const __m512 left = _mm512_loadu_ps(row + plan->base[x / 16]);
            const __m512 right = _mm512_loadu_ps(row + plan->base[x / 16] + 16);
            __m512 sum = _mm512_setzero_ps();
            for (int t = 0; t < plan->taps; t++) {
                const __m512i select = _mm512_loadu_si512(plan->select + t * padded + x);
                const __m512 value = _mm512_permutex2var_ps(left, select, right);
                sum = _mm512_add_ps(sum, _mm512_mul_ps(value, _mm512_loadu_ps(plan->weights + t * padded + x)));
            }
            _mm512_storeu_ps(out + x, sum);
        }
        return;
    }
#elif BE_ISA == BE_ISA_AVX2
    if (!pooled_row(even_levels, a, b, bytes)) pooled_bytes(levels, a, b, bytes, 1);
    if (plan->base4) {
        memset(bytes + WIDTH, 0, 16);
        for (int x = 0; x < padded; x += 8) {
            const __m256i pixels = _mm256_loadu2_m128i((const __m128i *)(bytes + plan->base4[x / 4 + 1]),
                                                       (const __m128i *)(bytes + plan->base4[x / 4]));
            __m256 sum = _mm256_setzero_ps();
            for (int t = 0; t < plan->taps; t++) {
                const int cell = t * padded + x;
                const __m256i select = _mm256_loadu_si256((const __m256i *)(plan->select4 + 4 * cell));
                const __m256 value = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(pixels, select));
                sum = _mm256_add_ps(sum, _mm256_mul_ps(value, _mm256_loadu_ps(plan->weights + cell)));
            }
            _mm256_storeu_ps(out + x, sum);
        }
        return;
    }
#endif
#if BE_ISA != BE_ISA_AVX2
    (void)even_levels;
    pooled_bytes(levels, a, b, bytes, 1);
#endif
    for (int x = 0; x < WIDTH; x++) row[x] = bytes[x];
    for (int x = WIDTH; x < WIDTH + BE_MAX_TAPS; x++) row[x] = 0;
    for (int x = 0; x < padded; x++) {
        float sum = 0;
        for (int t = 0; t < plan->taps; t++) sum += row[plan->start[x] + t] * plan->weights[t * padded + x];
        out[x] = sum;
    }
}

static inline void store_row(const be_pixel_plan *plan, const float *restrict sum, uint8_t *restrict out) {
    const int width = plan->out_width, step = plan->channels;
    uint8_t bytes[WIDTH + 16];
#if BE_ISA == BE_ISA_AVX512
    for (int x = 0; x < plan->padded_width; x += 16) {
        _mm_storeu_si128((__m128i *)(bytes + x), _mm512_cvtusepi32_epi8(_mm512_cvtps_epi32(_mm512_loadu_ps(sum + x))));
    }
#else
    for (int x = 0; x < plan->padded_width; x++) bytes[x] = (uint8_t)(int)nearbyintf(sum[x] > 255 ? 255 : sum[x]);
#endif
    if (step == 1) {
        memcpy(out, bytes, (size_t)width);
    } else {
        for (int x = 0; x < width; x++) out[x * step] = bytes[x];
    }
}

static void shrunk_channel(const be_pixel_plan *plan, const uint8_t *levels, const uint8_t *a, const uint8_t *b,
                           const uint8_t *changed, uint8_t *out) {
    const int padded = plan->padded_width;
    const size_t row_bytes = (size_t)plan->out_width * (size_t)plan->channels;
    float shrunk[WIDTH + 16], sum[WIDTH + 16];
    uint8_t even_levels[128];
    for (int i = 0; i < 128; i++) even_levels[i] = levels[2 * i];
    int present = -1; /* the source row in `shrunk` */
    for (int first = 0, end; first < plan->num_shares; first = end) {
        const int target = plan->shares[first].target;
        for (end = first + 1; end < plan->num_shares && plan->shares[end].target == target;) end++;
        if (!any_changed(changed, plan->shares[first].source, end - first)) continue;
        for (int k = first; k < end; k++) {
            const be_row_share *share = &plan->shares[k];
            const int source = share->source * WIDTH;
            /* A row that equals the one computed before it is not computed again. */
            if (share->source != present) {
                const uint8_t *above = present < 0 ? NULL : a + present * WIDTH;
                const int same = b == NULL || memcmp(a + source, b + source, WIDTH) == 0;
                if (!above || memcmp(a + source, above, WIDTH) != 0 ||
                    (b && memcmp(b + source, b + present * WIDTH, WIDTH) != 0)) {
                    shrink_row(plan, levels, even_levels, a + source, same ? NULL : b + source, shrunk);
                }
                present = share->source;
            }
            const float weight = share->weight;
            if (k == first) {
                for (int x = 0; x < padded; x++) sum[x] = weight * shrunk[x];
            } else {
                for (int x = 0; x < padded; x++) sum[x] += weight * shrunk[x];
            }
        }
        store_row(plan, sum, out + (size_t)target * row_bytes);
    }
}

void be_pixel_frame(const be_pixel_plan *plan, const uint8_t *a, const uint8_t *b, const uint8_t *changed,
                    uint8_t *out) {
    if (!plan->resized) {
        whole_screen(plan, a, b, changed, out);
    } else if (plan->scale_y) {
        whole_blocks(plan, a, b, changed, out);
    } else {
        for (int c = 0; c < plan->channels; c++) shrunk_channel(plan, plan->levels[c], a, b, changed, out + c);
    }
}
