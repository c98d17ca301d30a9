/* sin, cos, x**2 and % over vectors, with exactly the bits that the C library's functions return, because
 * those are what math.cos and NumPy's float64 scalars give Gymnasium's envs.
 *
 * sin and cos. glibc (2.28 and later, on CPUs with FMA) computes them from a table of sin and cos at k/128 and
 * short polynomials around it, to within about 0.52 ulp: it does not always round correctly, so a "better"
 * sine would differ in one argument of a thousand. The same table, polynomial coefficients and roundings
 * are used here, BE_VL lanes at a time. Whether this really equals the process's own C library is not assumed
 * but measured once per process (be_exact_math_probe); where it does not, the baseline kernels are used, which
 * call the C library for every lane.
 *
 * x**2. NumPy's float64 scalars raise to the power 2 with pow(), which is not x * x: about one square in a
 * thousand is rounded the other way. glibc documents that pow errs by at most 0.0093 ulp before its final rounding
 * there, in proportion to the mantissa (the worst of 200 million measured: 0.0048 of it), so only squares whose exact
 * value lies within 0.0055 mantissas of the middle between two doubles are in doubt; those lanes ask pow(), all others
 * are x * x. be_square_f32 does the same for float32 and powf().
 *
 * The rare lanes (huge, NaN, in doubt) always ask the C library.
 */
#ifndef BE_EXACT_MATH_H
#define BE_EXACT_MATH_H

#include "simd.h"
#include "trig_table.h"

/* ---- lane by lane through the C library ----------------------------------------------------------- */

/* The exponent is volatile because compilers replace pow(x, 2.0) by x * x, which is just what it is not. */
static inline double be_libm_square(double x) {
    volatile double two = 2.0;
    return pow(x, two);
}
static inline float be_libm_square_f32(float x) {
    volatile float two = 2.0f;
    return powf(x, two);
}

/* name(lanes, argument, otherwise): expression(x = argument[i]) for every lane set in `lanes`, else otherwise[i].
 * Results are blended in registers: a lane written to memory and read back as a vector would stall. */
#define BE_BY_LANE(name, expression)                                                                                   \
    static __attribute__((noinline, unused)) be_vd name(be_vl lanes, be_vd argument, be_vd otherwise) {                \
        double column[BE_VL];                                                                                          \
        memcpy(column, &argument, sizeof column);                                                                      \
        for (unsigned bits = be_mask_bits(lanes); bits; bits &= bits - 1) {                                            \
            int i = __builtin_ctz(bits);                                                                               \
            double x = column[i];                                                                                      \
            otherwise = be_select(be_lane_numbers() == i, be_set1(expression), otherwise);                             \
        }                                                                                                              \
        return otherwise;                                                                                              \
    }
BE_BY_LANE(be_sin_by_lane, sin(x))
BE_BY_LANE(be_cos_by_lane, cos(x))
BE_BY_LANE(be_square_by_lane, be_libm_square(x))
BE_BY_LANE(be_square_f32_by_lane, (double)be_libm_square_f32((float)x))
#undef BE_BY_LANE

#define BE_ALL_LANES ((be_vl){0} == 0)

#if BE_ISA == BE_ISA_BASELINE

static inline void be_sincos(be_vd x, be_vd *sine, be_vd *cosine) {
    *sine = be_sin_by_lane(BE_ALL_LANES, x, x);
    *cosine = be_cos_by_lane(BE_ALL_LANES, x, x);
}
#define be_sincos_small be_sincos
static inline be_vd be_cos(be_vd x) { return be_cos_by_lane(BE_ALL_LANES, x, x); }
static inline be_vd be_square(be_vd x) { return be_square_by_lane(BE_ALL_LANES, x, x); }
static inline be_vd be_square_f32(be_vd x) { return be_square_f32_by_lane(BE_ALL_LANES, x, x); }
/* Remainder of a positive x by a positive y, exact as fmod is. */
static inline be_vd be_fmod_positive(be_vd x, be_vd y) {
    be_vd remainder = x;
    for (int i = 0; i < BE_VL; i++) remainder[i] = fmod(x[i], y[i]);
    return remainder;
}

#else

/* ---- sin and cos ---------------------------------------------------------------------------------- */

/* Rows k of the trig table as four vectors: sin(k/128), what is left of it, cos(k/128), what is left of it.
 * Loading whole rows and transposing beats gathers, which are slow on many CPUs. */
static inline void be_trig_rows(be_vl k, be_vd row[4]) {
#if BE_ISA == BE_ISA_AVX512
    __m512d r[4];
    for (int i = 0; i < 4; i++) {
        __m512d low = _mm512_castpd256_pd512(_mm256_load_pd(be_trig_table[k[i] & 127]));
        r[i] = _mm512_insertf64x4(low, _mm256_load_pd(be_trig_table[k[i + 4] & 127]), 1);
    }
    __m512d a = _mm512_unpacklo_pd(r[0], r[1]), b = _mm512_unpackhi_pd(r[0], r[1]);
    __m512d c = _mm512_unpacklo_pd(r[2], r[3]), d = _mm512_unpackhi_pd(r[2], r[3]);
    const __m512i low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0);
    const __m512i high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
    row[0] = (be_vd)_mm512_permutex2var_pd(a, low, c);
    row[1] = (be_vd)_mm512_permutex2var_pd(b, low, d);
    row[2] = (be_vd)_mm512_permutex2var_pd(a, high, c);
    row[3] = (be_vd)_mm512_permutex2var_pd(b, high, d);
#else
    __m256d r[4];
    for (int i = 0; i < 4; i++) r[i] = _mm256_load_pd(be_trig_table[k[i] & 127]);
    __m256d a = _mm256_unpacklo_pd(r[0], r[1]), b = _mm256_unpackhi_pd(r[0], r[1]);
    __m256d c = _mm256_unpacklo_pd(r[2], r[3]), d = _mm256_unpackhi_pd(r[2], r[3]);
    row[0] = (be_vd)_mm256_permute2f128_pd(a, c, 0x20);
    row[1] = (be_vd)_mm256_permute2f128_pd(b, d, 0x20);
    row[2] = (be_vd)_mm256_permute2f128_pd(a, c, 0x31);
    row[3] = (be_vd)_mm256_permute2f128_pd(b, d, 0x31);
#endif
}

/* Bounds of glibc's cases. They compare high words only, hence the round hexadecimal numbers. */
#define BE_TRIG_NEAR 0x1.b6p-1      /* 0.855...: no reduction below */
#define BE_TRIG_MIDDLE 0x1.368fdp+1 /* 2.426...: pi/2 - |x| below */
#define BE_TRIG_FAR 0x1.921fbp+26   /* 105414350: three-part pi/2 below, full reduction above */
#define BE_TRIG_TAYLOR 0.126        /* the sine's power series about 0 below */
#define BE_TRIG_ROUND 0x1.8p+45     /* adding it rounds to a multiple of 1/128 */

/* sin and cos of a + da, |a| < 0.86 and da a tail (or exactly 0 in all lanes, when `has_tail` is 0). */
static inline void be_trig_kernel(be_vd a, be_vd da, int has_tail, be_vd *sine, be_vd *cosine) {
    const be_vd sn3 = be_set1(-1.66666666666664880952546298448555e-01);
    const be_vd sn5 = be_set1(8.33333214285722277379541354343671e-03);
    const be_vd cs2 = be_set1(4.99999999999999999999950396842453e-01);
    const be_vd cs4 = be_set1(-4.16666666666664434524222570944589e-02);
    const be_vd cs6 = be_set1(1.38888874007937613028114285595617e-03);

    be_vd x = be_abs(a);
    be_vd rounded = x + be_set1(BE_TRIG_ROUND);
    be_vd row[4];
    be_trig_rows(be_bits(rounded), row);
    be_vd t = x - (rounded - be_set1(BE_TRIG_ROUND));
    be_vd tail = (be_vd)((be_vl)da ^ ((be_vl)a & BE_SIGN_BIT));

    be_vd tt = t * t;
    be_vd odd = be_fma(tt, sn5, sn3);
    be_vd even = tt * be_fma(tt, be_fma(tt, cs6, cs4), cs2);
    be_vd cube = t * tt;

    be_vd s = t + (has_tail ? be_fma(cube, odd, tail) : cube * odd);
    be_vd c = has_tail ? be_fma(t, tail, even) : even;
    be_vd correction = be_fma(row[2], s, be_fma(-row[0], c, be_fma(s, row[3], row[1])));
    be_vd by_table = be_copysign(row[0] + correction, a);

    be_vd aa = a * a;
    be_vd series = be_set1(-0x1.addffc2fcdf59p-26);
    series = be_fma(series, aa, be_set1(0x1.71de27b9a7ed9p-19));
    series = be_fma(series, aa, be_set1(-0x1.a01a019db08b8p-13));
    series = be_fma(series, aa, be_set1(0x1.1111111110ecep-7));
    series = be_fma(series, aa, be_set1(-0x1.5555555555555p-3));
    be_vd step = has_tail ? be_fma(be_fma(series, a, be_set1(-0.5) * da), aa, da) : series * a * aa;
    *sine = be_select(x < BE_TRIG_TAYLOR, a + step, by_table);

    if (has_tail) {
        t = t + tail;
        tt = t * t;
        odd = be_fma(tt, sn5, sn3);
        even = tt * be_fma(tt, be_fma(tt, cs6, cs4), cs2);
        cube = t * tt;
    }
    s = be_fma(cube, odd, t);
    *cosine = row[2] + be_fma(-row[0], s, be_fma(-row[2], even, be_fma(-s, row[1], row[3])));
}

/* Reduces x to a + da, |a| < 0.86, and the quadrant n (mod 4). Returns the lanes that are left to the C library. */
static inline be_vl be_trig_reduce(be_vd x, be_vd *a, be_vd *da, be_vl *n) {
    const be_vd half_pi = be_set1(0x1.921fb54442d18p+0), half_pi_tail = be_set1(0x1.1a62633145c07p-54);
    be_vd magnitude = be_abs(x);

    /* |x| < 105414350: pi/2 in parts short enough that the products are exact. */
    be_vd shifted = be_fma(x, be_set1(0x1.45f306dc9c883p-1), be_set1(0x1.8p+52));
    be_vd count = shifted - be_set1(0x1.8p+52);
    be_vd y = be_fma(-count, be_set1(-0x1.dde973cp-27), be_fma(-count, be_set1(0x1.921fb58p+0), x));
    be_vd high = be_fma(-count, be_set1(-0x1.cb3b398p-55), y);
    be_vd low = be_fma(-count, be_set1(-0x1.cb3b398p-55), y - high);
    be_vd a_far = be_fma(-count, be_set1(-0x1.d747f23e32ed7p-83), high);
    be_vd da_far = low + be_fma(-count, be_set1(-0x1.d747f23e32ed7p-83), high - a_far);

    /* |x| < 2.43: pi/2 - |x|, written as the first quadrant either side of 0. */
    y = half_pi - magnitude;
    be_vd a_middle = y + half_pi_tail;
    be_vd da_middle = (y - a_middle) + half_pi_tail;
    be_vl positive = x > 0;
    be_vl flip = positive & BE_SIGN_BIT;
    be_vl odd_rounding = be_abs(y) + be_set1(BE_TRIG_ROUND) != be_abs(a_middle) + be_set1(BE_TRIG_ROUND);

    be_vl near = magnitude < BE_TRIG_NEAR, middle = ~near & (magnitude < BE_TRIG_MIDDLE);
    *a = be_select(near, x, be_select(middle, (be_vd)((be_vl)a_middle ^ flip), a_far));
    *da = be_select(near, be_set1(0.0), be_select(middle, (be_vd)((be_vl)da_middle ^ flip), da_far));
    *n = ~near & ((middle & (3 + 2 * positive)) | (~middle & be_bits(shifted)));
    return ~(magnitude < BE_TRIG_FAR) | (middle & odd_rounding);
}

/* For angles of any size. */
static inline void be_sincos(be_vd x, be_vd *sine, be_vd *cosine) {
    be_vd a, da, s, c;
    be_vl n;
    be_vl rare = be_trig_reduce(x, &a, &da, &n);
    be_trig_kernel(a, da, 1, &s, &c);
    be_vl swap = -(n & 1);
    *sine = (be_vd)((be_vl)be_select(swap, c, s) ^ (n << 62 & BE_SIGN_BIT));
    *cosine = (be_vd)((be_vl)be_select(swap, s, c) ^ ((be_vl)(((be_vul)n + 1) << 62) & BE_SIGN_BIT));
    if (__builtin_expect(be_any(rare), 0)) {
        *sine = be_sin_by_lane(rare, x, *sine);
        *cosine = be_cos_by_lane(rare, x, *cosine);
    }
}

/* The same values, sooner where all angles are small (and the code is twice as long). */
static inline void be_sincos_small(be_vd x, be_vd *sine, be_vd *cosine) {
    if (be_any(~(be_abs(x) < BE_TRIG_NEAR))) {
        be_sincos(x, sine, cosine);
    } else {
        be_trig_kernel(x, be_set1(0.0), 0, sine, cosine);
    }
}

static inline be_vd be_cos(be_vd x) {
    be_vd sine, cosine;
    be_sincos(x, &sine, &cosine);
    return cosine;
}

/* ---- squares -------------------------------------------------------------------------------------- */

static inline be_vd be_square(be_vd x) {
    be_vd square = x * x;
    be_vd error = be_fma(x, x, -square);
    be_vd power = (be_vd)(be_bits(square) & 0x7ff0000000000000);
    /* Half an ulp is 2^-53 of the power of two below; 0.0055 * 2^-52 of the square (0.0055 to 0.011 ulp) next to it is
     * in doubt. Powers of two themselves (half the spacing below) and what nears underflow or is not finite go to the C
     * library too. */
    be_vl sure = be_abs(error) <= be_fma(square, be_set1(-0.0055 * 0x1p-52), power * 0x1p-53);
    sure &= (square > 0x1p-900) | (x == 0);
    sure &= (power != square) | (error == 0);
    if (__builtin_expect(be_any(~sure), 0)) square = be_square_by_lane(~sure, x, square);
    return square;
}

/* Each lane of x holds a float32; so does each lane of the result. */
static inline be_vd be_square_f32(be_vd x) {
    be_vd exact = x * x; /* 48 bits: no rounding */
    be_vd square = be_round_f32(exact);
    be_vd power = (be_vd)(be_bits(square) & 0x7ff0000000000000);
    be_vd size = be_abs(x);
    /* powf is within 0.037 float32 ulp before rounding for 2^-6 <= |x| <= 2^6. */
    be_vl sure = be_abs(exact - square) <= power * (0.9 * 0x1p-24);
    sure &= ((size >= 0x1p-6) & (size <= 0x1p+6)) | (x == 0);
    sure &= (power != square) | (exact == square);
    if (__builtin_expect(be_any(~sure), 0)) square = be_square_f32_by_lane(~sure, x, square);
    return square;
}

/* ---- remainder ------------------------------------------------------------------------------------ */

/* Remainder of a positive x by a positive y, exact as fmod is. */
static inline be_vd be_fmod_positive(be_vd x, be_vd y) {
    const be_vd round = be_set1(0x1p+52);
    be_vd ratio = x / y;
    be_vd quotient = (ratio + round) - round;
    be_vd remainder = be_fma(-quotient, y, x);
    remainder = be_select(remainder < 0, be_fma(-(quotient - 1), y, x), remainder);
    be_vl rare = ~(ratio < 0x1p+50);
    if (__builtin_expect(be_any(rare), 0)) {
        for (int i = 0; i < BE_VL; i++) {
            if (rare[i]) remainder[i] = fmod(x[i], y[i]);
        }
    }
    return remainder;
}

#endif

/* Python's (and NumPy's) x % y for y > 0: the C remainder, moved up by y where it is negative. */
static inline be_vd be_python_mod(be_vd x, be_vd y) {
    be_vd remainder = be_fmod_positive(be_abs(x), y);
    return be_select((x < 0) & (remainder != 0), y - remainder, remainder);
}

#endif
