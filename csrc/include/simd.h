/* Vectors of BE_VL lanes, for kernels that are compiled once per instruction set.
 *
 * Arithmetic on be_vd is plain C (`a + b * c`), and each operation rounds once: kernels are compiled with
 * -ffp-contract=off, so the result of a lane does not depend on BE_VL. Here are only the operations that C's operators
 * cannot express. BE_ISA is set by the build: BE_ISA_BASELINE, BE_ISA_AVX2 or BE_ISA_AVX512.
 */
#ifndef BE_SIMD_H
#define BE_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define BE_ISA_BASELINE 0
#define BE_ISA_AVX2 1
#define BE_ISA_AVX512 2
#ifndef BE_ISA /* a file that is compiled once, not per instruction set */
#define BE_COMPILED_ONCE
#define BE_ISA BE_ISA_BASELINE
#endif

#if BE_ISA == BE_ISA_AVX512
#define BE_VL 8
#define BE_ISA_SUFFIX avx512
#elif BE_ISA == BE_ISA_AVX2
#define BE_VL 4
#define BE_ISA_SUFFIX avx2
#else
#define BE_VL 2
#define BE_ISA_SUFFIX baseline
#endif

#if BE_ISA != BE_ISA_BASELINE
#include <immintrin.h>
#endif

#define BE_JOIN2(a, b) a##_##b
#define BE_JOIN(a, b) BE_JOIN2(a, b)
/* name -> name_avx512 and so on: every symbol a kernel file exports goes through this. */
#define BE_ISA_NAME(name) BE_JOIN(name, BE_ISA_SUFFIX)

typedef double be_vd __attribute__((vector_size(8 * BE_VL)));  /* float64 */
typedef float be_vf __attribute__((vector_size(4 * BE_VL)));   /* float32 */
typedef int64_t be_vl __attribute__((vector_size(8 * BE_VL))); /* int64; comparisons of be_vd give 0 or -1 */
typedef uint64_t be_vul __attribute__((vector_size(8 * BE_VL)));
typedef int32_t be_vi __attribute__((vector_size(4 * BE_VL)));
typedef uint8_t be_vb __attribute__((vector_size(BE_VL)));

/* For functions that must be inlined: compilers do not inline a long function that is called more than once, and around
 * a call a kernel's vectors cannot stay in registers. */
#define BE_INLINE static inline __attribute__((always_inline))

/* Unaligned views, for rows in caller arrays. */
typedef double be_vd_u __attribute__((vector_size(8 * BE_VL), aligned(8), may_alias));
typedef float be_vf_u __attribute__((vector_size(4 * BE_VL), aligned(4), may_alias));
typedef int64_t be_vl_u __attribute__((vector_size(8 * BE_VL), aligned(8), may_alias));
typedef uint8_t be_vb_u __attribute__((vector_size(BE_VL), aligned(1), may_alias));

static inline be_vd be_load(const double *p) { return *(const be_vd_u *)p; }
static inline void be_store(double *p, be_vd v) { *(be_vd_u *)p = v; }
static inline be_vl be_load_i64(const int64_t *p) { return *(const be_vl_u *)p; }
static inline void be_store_i64(int64_t *p, be_vl v) { *(be_vl_u *)p = v; }
static inline be_vf be_load_f32(const float *p) { return *(const be_vf_u *)p; }

static inline be_vd be_set1(double x) { return x - (be_vd){0}; } /* x - 0 == x for every x, -0 and NaN too */
static inline be_vf be_set1f(float x) { return x - (be_vf){0}; }
static inline be_vl be_bits(be_vd v) { return (be_vl)v; }

static inline be_vf be_to_f32(be_vd v) { return __builtin_convertvector(v, be_vf); }
/* GCC would widen the two halves separately, although one instruction does it. */
static inline be_vd be_to_f64(be_vf v) {
#if BE_ISA == BE_ISA_AVX512
    return (be_vd)_mm512_cvtps_pd((__m256)v);
#elif BE_ISA == BE_ISA_AVX2
    return (be_vd)_mm256_cvtps_pd((__m128)v);
#else
    return __builtin_convertvector(v, be_vd);
#endif
}
/* Works for results of comparisons, too. */
static inline be_vl be_to_i64(be_vi v) {
#if BE_ISA == BE_ISA_AVX512
    return (be_vl)_mm512_cvtepi32_epi64((__m256i)v);
#elif BE_ISA == BE_ISA_AVX2
    return (be_vl)_mm256_cvtepi32_epi64((__m128i)v);
#else
    return __builtin_convertvector(v, be_vl);
#endif
}
/* int64 to float64 for |v| < 2^51. Before AVX-512, x86 has no instruction for it, and compilers would convert lane by
 * lane. */
static inline be_vd be_small_to_f64(be_vl v) { return (be_vd)(v + 0x4338000000000000) - be_set1(0x1.8p+52); }
static inline be_vi be_to_i32(be_vl v) { return __builtin_convertvector(v, be_vi); }
/* Rounds each lane to float32 and back. */
static inline be_vd be_round_f32(be_vd v) { return be_to_f64(be_to_f32(v)); }

/* mask ? a : b, lane by lane; mask is a comparison's result. (AVX2 and AVX-512 look at its sign bit only.) */
static inline be_vd be_select(be_vl mask, be_vd a, be_vd b) {
#if BE_ISA == BE_ISA_AVX512
    return (be_vd)_mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)mask), (__m512d)b, (__m512d)a);
#elif BE_ISA == BE_ISA_AVX2
    return (be_vd)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)mask);
#else
    return (be_vd)((mask & (be_vl)a) | (~mask & (be_vl)b));
#endif
}

static inline be_vf be_select_f32(be_vi mask, be_vf a, be_vf b) {
#if BE_ISA == BE_ISA_AVX512
    return (be_vf)_mm256_mask_blend_ps(_mm256_movepi32_mask((__m256i)mask), (__m256)b, (__m256)a);
#elif BE_ISA == BE_ISA_AVX2
    return (be_vf)_mm_blendv_ps((__m128)b, (__m128)a, (__m128)mask);
#else
    return (be_vf)((mask & (be_vi)a) | (~mask & (be_vi)b));
#endif
}

/* x < y ? a : b. (Compilers turn an AVX-512 comparison into a vector and back where the mask is a value of its own.) */
static inline be_vd be_select_less(be_vd x, be_vd y, be_vd a, be_vd b) {
#if BE_ISA == BE_ISA_AVX512
    return (be_vd)_mm512_mask_blend_pd(_mm512_cmp_pd_mask((__m512d)x, (__m512d)y, _CMP_LT_OQ), (__m512d)b, (__m512d)a);
#else
    return be_select(x < y, a, b);
#endif
}

/* Bit i is set where lane i of a comparison's result is. */
static inline unsigned be_mask_bits(be_vl mask) {
#if BE_ISA == BE_ISA_AVX512
    return _cvtmask8_u32(_mm512_movepi64_mask((__m512i)mask));
#elif BE_ISA == BE_ISA_AVX2
    return (unsigned)_mm256_movemask_pd((__m256d)mask);
#else
    unsigned bits = 0;
    for (int i = 0; i < BE_VL; i++) bits |= (unsigned)(mask[i] & 1) << i;
    return bits;
#endif
}
/* 0, 1, ... BE_VL - 1. */
static inline be_vl be_lane_numbers(void) {
#if BE_VL == 8
    return (be_vl){0, 1, 2, 3, 4, 5, 6, 7};
#elif BE_VL == 4
    return (be_vl){0, 1, 2, 3};
#else
    return (be_vl){0, 1};
#endif
}
static inline int be_any(be_vl mask) { return be_mask_bits(mask) != 0; }

#define BE_SIGN_BIT INT64_MIN
static inline be_vd be_abs(be_vd v) { return (be_vd)((be_vl)v & INT64_MAX); }
static inline be_vd be_copysign(be_vd magnitude, be_vd sign) {
    return (be_vd)(((be_vl)magnitude & INT64_MAX) | ((be_vl)sign & BE_SIGN_BIT));
}
static inline be_vd be_sqrt(be_vd v) {
#if BE_ISA == BE_ISA_AVX512
    return (be_vd)_mm512_sqrt_pd((__m512d)v);
#elif BE_ISA == BE_ISA_AVX2
    return (be_vd)_mm256_sqrt_pd((__m256d)v);
#else
    for (int i = 0; i < BE_VL; i++) v[i] = __builtin_sqrt(v[i]);
    return v;
#endif
}
/* numpy.clip for finite bounds: NaN stays NaN. */
static inline be_vd be_clip(be_vd v, be_vd low, be_vd high) {
#if BE_ISA == BE_ISA_AVX512 /* these instructions return the second of two numbers where one is NaN */
    return (be_vd)_mm512_min_pd((__m512d)high, _mm512_max_pd((__m512d)low, (__m512d)v));
#elif BE_ISA == BE_ISA_AVX2
    return (be_vd)_mm256_min_pd((__m256d)high, _mm256_max_pd((__m256d)low, (__m256d)v));
#else
    v = be_select(v < low, low, v);
    return be_select(v > high, high, v);
#endif
}

static inline be_vf be_clip_f32(be_vf v, be_vf low, be_vf high) {
#if BE_ISA == BE_ISA_AVX512
    return (be_vf)_mm256_min_ps((__m256)high, _mm256_max_ps((__m256)low, (__m256)v));
#elif BE_ISA == BE_ISA_AVX2
    return (be_vf)_mm_min_ps((__m128)high, _mm_max_ps((__m128)low, (__m128)v));
#else
    v = be_select_f32(v < low, low, v);
    return be_select_f32(v > high, high, v);
#endif
}

/* Comparison result -> BE_VL bytes of 0 or 1. */
static inline void be_store_flags(uint8_t *p, be_vl mask) {
#if BE_ISA == BE_ISA_AVX512
    uint64_t spread = _pdep_u64(be_mask_bits(mask), 0x0101010101010101ULL);
    memcpy(p, &spread, 8);
#else
    *(be_vb_u *)p = __builtin_convertvector(-mask, be_vb);
#endif
}

#if BE_ISA != BE_ISA_BASELINE
/* a * b + c with one rounding. The baseline has none: there, exact_math.h asks the C library instead. */
static inline be_vd be_fma(be_vd a, be_vd b, be_vd c) {
#if BE_ISA == BE_ISA_AVX512
    return (be_vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#else
    return (be_vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#endif
}
#endif

/* Columns to rows: lane i's `k` values go to dst[i * k], rounded to float32 once. */
static inline void be_store_rows(float *dst, int k, const be_vd *columns) {
#if BE_ISA == BE_ISA_AVX512
    if (k == 2) {
        const __m512i place = _mm512_set_epi32(15, 7, 14, 6, 13, 5, 12, 4, 11, 3, 10, 2, 9, 1, 8, 0);
        __m512 pair = _mm512_castps256_ps512((__m256)be_to_f32(columns[0]));
        pair = _mm512_insertf32x8(pair, (__m256)be_to_f32(columns[1]), 1);
        _mm512_storeu_ps(dst, _mm512_permutexvar_ps(place, pair));
        return;
    }
    if (k == 3) {
        /* Of the 24 values, the one at j is column j % 3 of lane j / 3; `place` is 8 * column + lane. */
        const __m512i place = _mm512_set_epi32(5, 20, 12, 4, 19, 11, 3, 18, 10, 2, 17, 9, 1, 16, 8, 0);
        const __m512i last = _mm512_castsi256_si512(_mm256_set_epi32(23, 15, 7, 22, 14, 6, 21, 13));
        __m512 pair = _mm512_castps256_ps512((__m256)be_to_f32(columns[0]));
        pair = _mm512_insertf32x8(pair, (__m256)be_to_f32(columns[1]), 1);
        __m512 third = _mm512_castps256_ps512((__m256)be_to_f32(columns[2]));
        _mm512_storeu_ps(dst, _mm512_permutex2var_ps(pair, place, third));
        _mm256_storeu_ps(dst + 16, _mm512_castps512_ps256(_mm512_permutex2var_ps(pair, last, third)));
        return;
    }
    if (k == 4) {
        __m256 a = (__m256)be_to_f32(columns[0]), b = (__m256)be_to_f32(columns[1]);
        __m256 c = (__m256)be_to_f32(columns[2]), d = (__m256)be_to_f32(columns[3]);
        __m256 ab_low = _mm256_unpacklo_ps(a, b), ab_high = _mm256_unpackhi_ps(a, b);
        __m256 cd_low = _mm256_unpacklo_ps(c, d), cd_high = _mm256_unpackhi_ps(c, d);
        __m256 rows04 = _mm256_shuffle_ps(ab_low, cd_low, 0x44), rows15 = _mm256_shuffle_ps(ab_low, cd_low, 0xEE);
        __m256 rows26 = _mm256_shuffle_ps(ab_high, cd_high, 0x44), rows37 = _mm256_shuffle_ps(ab_high, cd_high, 0xEE);
        _mm256_storeu_ps(dst, _mm256_permute2f128_ps(rows04, rows15, 0x20));
        _mm256_storeu_ps(dst + 8, _mm256_permute2f128_ps(rows26, rows37, 0x20));
        _mm256_storeu_ps(dst + 16, _mm256_permute2f128_ps(rows04, rows15, 0x31));
        _mm256_storeu_ps(dst + 24, _mm256_permute2f128_ps(rows26, rows37, 0x31));
        return;
    }
    if (k == 6) {
        /* Of the 48 values, the one at j is column j % 6 of lane j / 6; `place` is 8 * column + lane. */
        static const int32_t place[3][16] __attribute__((aligned(64))) = {
            {0, 8, 16, 24, 32, 40, 1, 9, 17, 25, 33, 41, 2, 10, 18, 26},
            {34, 42, 3, 11, 19, 27, 35, 43, 4, 12, 20, 28, 36, 44, 5, 13},
            {21, 29, 37, 45, 6, 14, 22, 30, 38, 46, 7, 15, 23, 31, 39, 47},
        };
        static const __mmask16 last_pair[3] = {0xc30, 0x30c3, 0xc30c};
        __m512 pair[3];
        for (int i = 0; i < 3; i++) {
            __m512 low = _mm512_castps256_ps512((__m256)be_to_f32(columns[2 * i]));
            pair[i] = _mm512_insertf32x8(low, (__m256)be_to_f32(columns[2 * i + 1]), 1);
        }
        for (int i = 0; i < 3; i++) {
            __m512i from = _mm512_load_si512(place[i]);
            __m512 part = _mm512_permutex2var_ps(pair[0], from, pair[1]);
            _mm512_storeu_ps(dst + 16 * i, _mm512_mask_permutexvar_ps(part, last_pair[i], from, pair[2]));
        }
        return;
    }
#elif BE_ISA == BE_ISA_AVX2
    if (k == 4) {
        __m128 a = (__m128)be_to_f32(columns[0]), b = (__m128)be_to_f32(columns[1]);
        __m128 c = (__m128)be_to_f32(columns[2]), d = (__m128)be_to_f32(columns[3]);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        _mm_storeu_ps(dst, a);
        _mm_storeu_ps(dst + 4, b);
        _mm_storeu_ps(dst + 8, c);
        _mm_storeu_ps(dst + 12, d);
        return;
    }
#endif
    float column[BE_VL] __attribute__((aligned(32)));
    for (int j = 0; j < k; j++) {
        be_vf rounded = be_to_f32(columns[j]);
        memcpy(column, &rounded, sizeof column);
        for (int i = 0; i < BE_VL; i++) dst[i * k + j] = column[i];
    }
}

#endif
