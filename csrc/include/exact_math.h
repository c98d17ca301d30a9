/* sin, cos, x**2 and % over vectors, with exactly the bits that the C library's functions return, because
 * those are what math.cos and NumPy's float64 scalars give Gymnasium's envs.
 *
 * sin and cos. glibc (2.28 and later, on CPUs with FMA) computes them from a table of sin and cos at k/128 and
 * short polynomials around it, to within about 0.52 ulp. It does not always round correctly, so a "better" sine would
 * differ for one argument in a thousand. The same table, polynomial coefficients and roundings are used here, BE_VL
 * lanes at a time. Whether the results really equal those of the process's own C library is measured once per process
 * (be_isa.probe). If they differ, the baseline kernels are used, which call the C library for every lane.
 *
 * x**2. NumPy's float64 scalars compute x**2 with pow(), whose result is not always x * x: about one square in a
 * thousand is rounded the other way. glibc documents that pow errs by at most 0.0093 ulp before its final rounding
 * there, in proportion to the mantissa (the worst of 200 million measured: 0.0048 of it), so only squares whose exact
 * value lies within 0.0055 mantissas of the middle between two doubles are in doubt; those lanes call pow(), all others
 * are x * x. be_square_f32_many does the same for float32 and powf().
 *
 * Rare arguments (huge, NaN, or in doubt) always go to the C library.
 */
#ifndef BE_EXACT_MATH_H
#define BE_EXACT_MATH_H

#include "libm.h"
#include "simd.h"
#include "trig_table.h"

/* ---- lane by lane through the C library ----------------------------------------------------------- */

/* Not x * x, by which compilers would replace a direct pow(x, 2). */
static inline double be_libm_square(double x) { return be_math.pow(x, 2); }
static inline float be_libm_square_f32(float x) { return be_math.powf(x, 2); }

/* name(lanes, argument, otherwise): expression(x = argument[i]) for every lane set in `lanes`, else otherwise[i].
 * Results are blended in registers, because writing one lane to memory and reading it back as a vector would stall the
 * CPU. */
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
BE_BY_LANE(be_sin_by_lane, be_math.sin(x))
BE_BY_LANE(be_cos_by_lane, be_math.cos(x))
#undef BE_BY_LANE

#define BE_ALL_LANES ((be_vl){0} == 0)

#define BE_MANY 64 /* be_..._many(x, ..., n) take at most so many values, a multiple of BE_VL */

#if BE_ISA == BE_ISA_BASELINE

BE_INLINE void be_sincos(be_vd x, be_vd *sine, be_vd *cosine) {
    *sine = be_sin_by_lane(BE_ALL_LANES, x, x);
    *cosine = be_cos_by_lane(BE_ALL_LANES, x, x);
}
#define be_sincos_small be_sincos
static inline be_vd be_cos(be_vd x) { return be_cos_by_lane(BE_ALL_LANES, x, x); }
static inline void be_sincos_many(const double *x, double *sine, double *cosine, int n) {
    for (int i = 0; i < n; i++) be_math.sincos(x[i], &sine[i], &cosine[i]);
}
static inline void be_sin_many(const double *x, double *sine, int n) {
    for (int i = 0; i < n; i++) sine[i] = be_math.sin(x[i]);
}
static inline void be_cos_many(const double *x, double *cosine, int n) {
    for (int i = 0; i < n; i++) cosine[i] = be_math.cos(x[i]);
}
static inline void be_square_many(const double *x, double *square, int n) {
    for (int i = 0; i < n; i++) square[i] = be_libm_square(x[i]);
}
static inline void be_square_f32_many(const double *x, double *square, int n) {
    for (int i = 0; i < n; i++) square[i] = (double)be_libm_square_f32((float)x[i]);
}
/* Remainder of a positive x by a positive y, exact as fmod is. */
static inline be_vd be_fmod_positive(be_vd x, be_vd y) {
    be_vd remainder = x;
    for (int i = 0; i < BE_VL; i++) remainder[i] = be_math.fmod(x[i], y[i]);
    return remainder;
}

#else

/* ---- sin and cos ---------------------------------------------------------------------------------- */

/* Bounds of glibc's cases. They compare high words only, hence the round hexadecimal numbers. */
#define BE_TRIG_NEAR 0x1.b6p-1      /* 0.855...: no reduction below */
#define BE_TRIG_MIDDLE 0x1.368fdp+1 /* 2.426...: pi/2 - |x| below */
#define BE_TRIG_FAR 0x1.921fbp+26   /* 105414350: three-part pi/2 below, full reduction above */
#define BE_TRIG_TAYLOR 0.126        /* the sine's power series about 0 below */
#define BE_TRIG_ROUND 0x1.8p+45     /* adding it rounds to a multiple of 1/128 */

/* Reduces x to a + da, |a| < 0.86, and the quadrant n (mod 4). Returns the lanes that are left to the C library;
 * `sine_rare` gets the lanes where this is needed for the sine only. */
BE_INLINE be_vl be_trig_reduce(be_vd x, be_vd *a, be_vd *da, be_vl *n, be_vl *sine_rare) {
    /* Quarter turns: none below 0.86, one below 2.43, then by rounding. */
    const be_vd round = be_set1(0x1.8p+52);
    be_vd magnitude = be_abs(x);
    be_vd one = round + be_copysign(be_set1(1.0), x);
    one = be_select_less(magnitude, be_set1(BE_TRIG_NEAR), round, one);
    be_vd shifted = be_fma(x, be_set1(0x1.45f306dc9c883p-1), round);
#define BE_CLOSE_OR_FAR(a, b) be_select_less(magnitude, be_set1(BE_TRIG_MIDDLE), a, b)
    shifted = BE_CLOSE_OR_FAR(one, shifted);
    be_vd count = shifted - round;
    /* pi/2 in two parts for one turn, else in four parts short enough that the products are exact. */
    be_vd part1 = BE_CLOSE_OR_FAR(be_set1(0x1.921fb54442d18p+0), be_set1(0x1.921fb58p+0));
    be_vd part2 = BE_CLOSE_OR_FAR(be_set1(0.0), be_set1(-0x1.dde973cp-27));
    be_vd part3 = BE_CLOSE_OR_FAR(be_set1(0x1.1a62633145c07p-54), be_set1(-0x1.cb3b398p-55));
    be_vd part4 = BE_CLOSE_OR_FAR(be_set1(0.0), be_set1(-0x1.d747f23e32ed7p-83));
#undef BE_CLOSE_OR_FAR
    be_vd y = be_fma(-count, part2, be_fma(-count, part1, x));
    be_vd high = be_fma(-count, part3, y);
    be_vd low = be_fma(-count, part3, y - high);
    *a = be_fma(-count, part4, high);
    *da = low + be_fma(-count, part4, high - *a);
    *n = be_bits(shifted);
    /* There glibc looks up the sine's row by y, not by a. */
    *sine_rare =
        (magnitude < BE_TRIG_MIDDLE) & (be_abs(y) + be_set1(BE_TRIG_ROUND) != be_abs(*a) + be_set1(BE_TRIG_ROUND));
    return ~(magnitude < BE_TRIG_FAR);
}

/* |a| = k/128 + t: returns where the table's row k begins; `tail` is da with the sign turned as a's was. */
BE_INLINE be_vl be_trig_locate(be_vd a, be_vd da, be_vd *t, be_vd *tail) {
    be_vd x = be_abs(a), rounded = x + be_set1(BE_TRIG_ROUND);
    *t = x - (rounded - be_set1(BE_TRIG_ROUND));
    *tail = (be_vd)((be_vl)da ^ ((be_vl)a & BE_SIGN_BIT));
    return (be_bits(rounded) & 127) * BE_TRIG_STRIDE;
}

/* Two halves of four rows of the trig table (row i and, with 8 lanes, row i + 4 in half[i]) as four columns. */
BE_INLINE void be_trig_columns(const be_vd half[4], be_vd row[4]) {
#if BE_ISA == BE_ISA_AVX512
    __m512d a = _mm512_unpacklo_pd((__m512d)half[0], (__m512d)half[1]);
    __m512d b = _mm512_unpackhi_pd((__m512d)half[0], (__m512d)half[1]);
    __m512d c = _mm512_unpacklo_pd((__m512d)half[2], (__m512d)half[3]);
    __m512d d = _mm512_unpackhi_pd((__m512d)half[2], (__m512d)half[3]);
    const __m512i low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0);
    const __m512i high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
    row[0] = (be_vd)_mm512_permutex2var_pd(a, low, c);
    row[1] = (be_vd)_mm512_permutex2var_pd(b, low, d);
    row[2] = (be_vd)_mm512_permutex2var_pd(a, high, c);
    row[3] = (be_vd)_mm512_permutex2var_pd(b, high, d);
#else
    __m256d a = _mm256_unpacklo_pd((__m256d)half[0], (__m256d)half[1]);
    __m256d b = _mm256_unpackhi_pd((__m256d)half[0], (__m256d)half[1]);
    __m256d c = _mm256_unpacklo_pd((__m256d)half[2], (__m256d)half[3]);
    __m256d d = _mm256_unpackhi_pd((__m256d)half[2], (__m256d)half[3]);
    row[0] = (be_vd)_mm256_permute2f128_pd(a, c, 0x20);
    row[1] = (be_vd)_mm256_permute2f128_pd(b, d, 0x20);
    row[2] = (be_vd)_mm256_permute2f128_pd(a, c, 0x31);
    row[3] = (be_vd)_mm256_permute2f128_pd(b, d, 0x31);
#endif
}

/* Four entries of a row of the trig table, from entry first[lane] on, as vectors. Loading whole rows and transposing
 * them is faster than gathers, which are slow on many CPUs. There is one function for `first` in a register and one for
 * `first` in memory, because moving lanes between the two would stall the CPU. */
#if BE_ISA == BE_ISA_AVX512
#define BE_TRIG_LOAD(first, i)                                                                                         \
    _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(be_trig_table[0] + (first)[i])),                         \
                       _mm256_loadu_pd(be_trig_table[0] + (first)[(i) + 4]), 1)
#else
#define BE_TRIG_LOAD(first, i) _mm256_loadu_pd(be_trig_table[0] + (first)[i])
#endif
BE_INLINE void be_trig_rows(be_vl first, be_vd row[4]) {
    be_vd half[4];
    for (int i = 0; i < 4; i++) half[i] = (be_vd)BE_TRIG_LOAD(first, i);
    be_trig_columns(half, row);
}
BE_INLINE void be_trig_rows_at(const int64_t *first, be_vd row[4]) {
    be_vd half[4];
    for (int i = 0; i < 4; i++) half[i] = (be_vd)BE_TRIG_LOAD(first, i);
    be_trig_columns(half, row);
}

/* (sin(t) - t) / t**3 and 1 - cos(t) for |t| <= 1/256. */
static inline be_vd be_trig_odd(be_vd tt) {
    return be_fma(tt, be_set1(8.33333214285722277379541354343671e-03),
                  be_set1(-1.66666666666664880952546298448555e-01));
}
static inline be_vd be_trig_even(be_vd tt) {
    be_vd even =
        be_fma(tt, be_set1(1.38888874007937613028114285595617e-03), be_set1(-4.16666666666664434524222570944589e-02));
    return tt * be_fma(tt, even, be_set1(4.99999999999999999999950396842453e-01));
}

/* sin(k/128 + t) from the row, s = sin(t) and c = 1 - cos(t). */
static inline be_vd be_trig_add(const be_vd row[4], be_vd s, be_vd c) {
    return row[0] + be_fma(row[2], s, be_fma(-row[0], c, be_fma(s, row[3], row[1])));
}

/* sin(x + tail) for 0 <= x < BE_TRIG_TAYLOR. */
BE_INLINE be_vd be_trig_taylor(be_vd x, be_vd tail, int has_tail) {
    be_vd xx = x * x;
    be_vd series = be_set1(-0x1.addffc2fcdf59p-26);
    series = be_fma(series, xx, be_set1(0x1.71de27b9a7ed9p-19));
    series = be_fma(series, xx, be_set1(-0x1.a01a019db08b8p-13));
    series = be_fma(series, xx, be_set1(0x1.1111111110ecep-7));
    series = be_fma(series, xx, be_set1(-0x1.5555555555555p-3));
    return x + (has_tail ? be_fma(be_fma(series, x, be_set1(-0.5) * tail), xx, tail) : series * x * xx);
}

/* sin(a + da) and cos(a + da), located as above; da is 0 in all lanes when `has_tail` is 0. */
BE_INLINE void be_trig_both(be_vd a, be_vd t, be_vd tail, const be_vd row[4], int has_tail, be_vd *sine,
                            be_vd *cosine) {
    be_vd x = be_abs(a);
    be_vd tt = t * t, cube = t * tt, odd = be_trig_odd(tt), even = be_trig_even(tt);
    be_vd s = t + (has_tail ? be_fma(cube, odd, tail) : cube * odd);
    be_vd c = has_tail ? be_fma(t, tail, even) : even;
    be_vd by_table = be_trig_add(row, s, c);
    *sine = be_copysign(be_select_less(x, be_set1(BE_TRIG_TAYLOR), be_trig_taylor(x, tail, has_tail), by_table), a);
    if (has_tail) {
        t = t + tail;
        tt = t * t;
        cube = t * tt;
        odd = be_trig_odd(tt);
        even = be_trig_even(tt);
    }
    const be_vd turned[] = {row[2], row[3], -row[0], -row[1]};
    *cosine = be_trig_add(turned, be_fma(cube, odd, t), even);
}

/* Moves sin and cos of a + da into quadrant n. */
BE_INLINE void be_trig_turn(be_vl n, be_vd *sine, be_vd *cosine) {
    be_vd s = *sine, c = *cosine;
    be_vl swap = n << 63;
    *sine = (be_vd)((be_vl)be_select(swap, c, s) ^ (n << 62 & BE_SIGN_BIT));
    *cosine = (be_vd)((be_vl)be_select(swap, s, c) ^ ((be_vl)(((be_vul)n + 1) << 62) & BE_SIGN_BIT));
}

/* For angles of any size. */
BE_INLINE void be_sincos(be_vd x, be_vd *sine, be_vd *cosine) {
    be_vd a, da, t, tail;
    be_vl n, sine_rare, rare = be_trig_reduce(x, &a, &da, &n, &sine_rare);
    be_vd row[4];
    be_trig_rows(be_trig_locate(a, da, &t, &tail), row);
    be_trig_both(a, t, tail, row, 1, sine, cosine);
    be_trig_turn(n, sine, cosine);
    if (__builtin_expect(be_any(rare | sine_rare), 0)) {
        *sine = be_sin_by_lane(rare | sine_rare, x, *sine);
        *cosine = be_cos_by_lane(rare, x, *cosine);
    }
}

/* The same values, faster where all angles are small (and the code is twice as long). */
BE_INLINE void be_sincos_small(be_vd x, be_vd *sine, be_vd *cosine) {
    if (be_any(~(be_abs(x) < BE_TRIG_NEAR))) {
        be_sincos(x, sine, cosine);
    } else {
        be_vd t, tail, row[4];
        be_trig_rows(be_trig_locate(x, be_set1(0.0), &t, &tail), row);
        be_trig_both(x, t, tail, row, 0, sine, cosine);
    }
}

BE_INLINE be_vd be_cos(be_vd x) {
    be_vd sine, cosine;
    be_sincos(x, &sine, &cosine);
    return cosine;
}

/* Many angles go through two short loops: a CPU looks ahead some 200 operations, too few to start on the next vector
 * while the long chain of this one is under way. */
typedef struct be_trig_work {
    double a[BE_MANY], t[BE_MANY], tail[BE_MANY];
    int64_t first[BE_MANY], n[BE_MANY];
} __attribute__((aligned(64))) be_trig_work;

/* The first loop, for sines, for cosines (the sine a quadrant further on) or for both. Returns the lanes that are left
 * to the C library. If only one of the two is wanted, even quadrants use sin(a + da) and odd ones cos(a + da), whose
 * entries begin two places further on in the row. */
enum { BE_SINE, BE_COSINE, BE_SINE_AND_COSINE };
BE_INLINE uint64_t be_trig_start(const double *x, int n, int wanted, be_trig_work *w) {
    uint64_t left = 0;
    for (int i = 0; i < n; i += BE_VL) {
        be_vd a, da, t, tail;
        be_vl quadrant, sine_rare, rare = be_trig_reduce(be_load(x + i), &a, &da, &quadrant, &sine_rare);
        left |= (uint64_t)be_mask_bits(wanted == BE_COSINE ? rare : rare | sine_rare) << i;
        be_vl first = be_trig_locate(a, da, &t, &tail);
        if (wanted != BE_SINE_AND_COSINE) {
            quadrant = (be_vl)((be_vul)quadrant + (wanted == BE_COSINE));
            be_vl odd = -(quadrant & 1);
            t = be_select(odd, t + tail, t);
            tail = (be_vd)((be_vl)tail & ~odd);
            first += odd & 2;
        }
        be_store(w->a + i, a);
        be_store(w->t + i, t);
        be_store(w->tail + i, tail);
        be_store_i64(w->first + i, first);
        be_store_i64(w->n + i, quadrant);
    }
    return left;
}

static __attribute__((noinline, unused)) void be_sincos_many(const double *x, double *sine, double *cosine, int n) {
    be_trig_work w;
    uint64_t left = be_trig_start(x, n, BE_SINE_AND_COSINE, &w);
    for (int i = 0; i < n; i += BE_VL) {
        be_vd row[4], s, c;
        be_trig_rows_at(w.first + i, row);
        be_trig_both(be_load(w.a + i), be_load(w.t + i), be_load(w.tail + i), row, 1, &s, &c);
        be_trig_turn(be_load_i64(w.n + i), &s, &c);
        be_store(sine + i, s);
        be_store(cosine + i, c);
    }
    for (; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        be_math.sincos(x[i], &sine[i], &cosine[i]);
    }
}

/* The second loop, for sines or cosines alone. */
BE_INLINE void be_trig_finish(const be_trig_work *w, int n, double *result) {
    for (int i = 0; i < n; i += BE_VL) {
        be_vd row[4], a = be_load(w->a + i), size = be_abs(a), t = be_load(w->t + i), tail = be_load(w->tail + i);
        be_vl quadrant = be_load_i64(w->n + i), odd = -(quadrant & 1);
        be_trig_rows_at(w->first + i, row);
        be_vd tt = t * t, cube = t * tt, polynomial = be_trig_odd(tt);
        be_vd s = be_select(odd, be_fma(cube, polynomial, t), t + be_fma(cube, polynomial, tail));
        be_vd value = be_trig_add(row, s, be_fma(t, tail, be_trig_even(tt)));
        size = be_select(odd, be_set1(1.0), size);
        value = be_select_less(size, be_set1(BE_TRIG_TAYLOR), be_trig_taylor(size, tail, 1), value);
        be_vl sign = quadrant << 62 ^ ((be_vl)a & ~odd);
        be_store(result + i, (be_vd)((be_vl)value ^ (sign & BE_SIGN_BIT)));
    }
}

static __attribute__((noinline, unused)) void be_sin_many(const double *x, double *sine, int n) {
    be_trig_work w;
    uint64_t left = be_trig_start(x, n, BE_SINE, &w);
    be_trig_finish(&w, n, sine);
    for (; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        sine[i] = be_math.sin(x[i]);
    }
}

static __attribute__((noinline, unused)) void be_cos_many(const double *x, double *cosine, int n) {
    be_trig_work w;
    uint64_t left = be_trig_start(x, n, BE_COSINE, &w);
    be_trig_finish(&w, n, cosine);
    for (; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        cosine[i] = be_math.cos(x[i]);
    }
}

/* ---- squares -------------------------------------------------------------------------------------- */

/* x * x, and the lanes where that is surely what pow() returns. */
static inline be_vl be_square_sure(be_vd x, be_vd *result) {
    be_vd square = x * x;
    be_vd error = be_fma(x, x, -square);
    be_vd power = (be_vd)(be_bits(square) & 0x7ff0000000000000);
    /* Half an ulp is 2^-53 of the power of two below; 0.0055 * 2^-52 of the square (0.0055 to 0.011 ulp) next to it is
     * in doubt. Powers of two themselves (half the spacing below) and what nears underflow or is not finite go to the C
     * library too. */
    *result = square;
    return (be_abs(error) <= be_fma(square, be_set1(-0.0055 * 0x1p-52), power * 0x1p-53)) & (square > 0x1p-900) &
           (power != square);
}

/* Doubtful squares are handled at the end: a branch per vector would be mispredicted in one vector of ten. */
static inline void be_square_many(const double *x, double *square, int n) {
    uint64_t sure = 0;
    for (int i = 0; i < n; i += BE_VL) {
        be_vd result;
        sure |= (uint64_t)be_mask_bits(be_square_sure(be_load(x + i), &result)) << i;
        be_store(square + i, result);
    }
    for (uint64_t doubtful = ~sure & UINT64_MAX >> (BE_MANY - n); doubtful; doubtful &= doubtful - 1) {
        int i = __builtin_ctzll(doubtful);
        square[i] = be_libm_square(x[i]);
    }
}

/* x * x rounded to float32, and the lanes where that is surely what powf() returns. */
static inline be_vl be_square_f32_sure(be_vd x, be_vd *result) {
    be_vd exact = x * x; /* 48 bits: no rounding */
    be_vd square = be_round_f32(exact);
    be_vd power = (be_vd)(be_bits(square) & 0x7ff0000000000000);
    be_vd size = be_abs(x);
    /* Of all x from 2^-60 to 2^60 glibc's powf errs only where x * x is within 0.0034 half ulps of the middle between
     * two float32 numbers: 0.01 are in doubt. */
    be_vl sure = be_abs(exact - square) <= power * (0.99 * 0x1p-24);
    sure &= ((size >= 0x1p-60) & (size <= 0x1p+60)) | (x == 0);
    *result = square;
    return sure & ((power != square) | (exact == square));
}
/* Every x holds a float32; so does every square. */
static inline void be_square_f32_many(const double *x, double *square, int n) {
    uint64_t sure = 0;
    for (int i = 0; i < n; i += BE_VL) {
        be_vd result;
        sure |= (uint64_t)be_mask_bits(be_square_f32_sure(be_load(x + i), &result)) << i;
        be_store(square + i, result);
    }
    for (uint64_t doubtful = ~sure & UINT64_MAX >> (BE_MANY - n); doubtful; doubtful &= doubtful - 1) {
        int i = __builtin_ctzll(doubtful);
        square[i] = (double)be_libm_square_f32((float)x[i]);
    }
}

/* ---- remainder ------------------------------------------------------------------------------------ */

/* Remainder of a positive x by a positive y, exact as fmod is. */
static inline be_vd be_fmod_positive(be_vd x, be_vd y) {
    const be_vd round = be_set1(0x1p+52);
    be_vd ratio = x * (1.0 / y); /* close enough: the quotient is right or one too many */
    be_vd quotient = (ratio + round) - round;
    be_vd remainder = be_fma(-quotient, y, x);
    remainder = be_select(remainder < 0, be_fma(-(quotient - 1), y, x), remainder);
    be_vl rare = ~(ratio < 0x1p+50);
    if (__builtin_expect(be_any(rare), 0)) {
        for (int i = 0; i < BE_VL; i++) {
            if (rare[i]) remainder[i] = be_math.fmod(x[i], y[i]);
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
