/* AVX-512 intrinsics by SIMDe, for try_avx512.py. SIMDe defines most of them as functions of the same name that
 * use AVX2 or plain C; those that SIMDe 0.7.4 does not have are below. */
#include <math.h>
#include <string.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

/* name(v), where element i of the result is `expression` of element x of v. */
#define EACH(name, result, to, given, from, expression)                                                                \
    static inline __attribute__((unused)) result be_##name(given v) {                                                  \
        from values[sizeof v / sizeof(from)];                                                                          \
        to results[sizeof(result) / sizeof(to)];                                                                       \
        memcpy(values, &v, sizeof v);                                                                                  \
        for (size_t i = 0; i < sizeof results / sizeof *results; i++) {                                                \
            const from x = values[i];                                                                                  \
            results[i] = (to)(expression);                                                                             \
        }                                                                                                              \
        result r;                                                                                                      \
        memcpy(&r, results, sizeof r);                                                                                 \
        return r;                                                                                                      \
    }
EACH(mm512_cvtepi32_epi64, __m512i, int64_t, __m256i, int32_t, x)
EACH(mm512_cvtepi32_ps, __m512, float, __m512i, int32_t, x)
EACH(mm512_cvtepu16_epi32, __m512i, int32_t, __m256i, uint16_t, x)
EACH(mm512_cvtepu8_epi16, __m512i, int16_t, __m256i, uint8_t, x)
EACH(mm512_cvtps_epi32, __m512i, int32_t, __m512, float, nearbyintf(x))
EACH(mm512_cvtps_pd, __m512d, double, __m256, float, x)
EACH(mm512_cvtusepi32_epi8, __m128i, uint8_t, __m512i, uint32_t, x > 255 ? 255 : x)
#undef EACH

static inline __attribute__((unused)) __m512i be_mm512_maskz_loadu_epi8(uint64_t mask, const void *from) {
    unsigned char bytes[64] = {0};
    for (int i = 0; i < 64; i++) {
        if (mask >> i & 1) bytes[i] = ((const unsigned char *)from)[i];
    }
    __m512i r;
    memcpy(&r, bytes, sizeof r);
    return r;
}
static inline __attribute__((unused)) void be_mm_mask_storeu_epi8(void *to, unsigned mask, __m128i v) {
    unsigned char bytes[16];
    memcpy(bytes, &v, sizeof bytes);
    for (int i = 0; i < 16; i++) {
        if (mask >> i & 1) ((unsigned char *)to)[i] = bytes[i];
    }
}

/* immintrin.h has functions of these names, which cannot be called without AVX-512. */
#define _mm512_cvtepi32_epi64 be_mm512_cvtepi32_epi64
#define _mm512_cvtepi32_ps be_mm512_cvtepi32_ps
#define _mm512_cvtepu16_epi32 be_mm512_cvtepu16_epi32
#define _mm512_cvtepu8_epi16 be_mm512_cvtepu8_epi16
#define _mm512_cvtps_epi32 be_mm512_cvtps_epi32
#define _mm512_cvtps_pd be_mm512_cvtps_pd
#define _mm512_cvtusepi32_epi8 be_mm512_cvtusepi32_epi8
#define _mm512_maskz_loadu_epi8 be_mm512_maskz_loadu_epi8
#define _mm_mask_storeu_epi8 be_mm_mask_storeu_epi8
#define _cvtmask8_u32(mask) ((uint32_t)(uint8_t)(mask))
#define _cvtmask64_u64(mask) ((uint64_t)(mask))
#define _cvtu32_mask16(bits) ((uint16_t)(bits))
#define _cvtu64_mask64(bits) ((uint64_t)(bits))
