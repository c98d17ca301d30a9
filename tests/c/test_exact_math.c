/* Compares exact_math.h with the process's C library, bit by bit: where glibc's cases meet, at multiples of pi/2, and
 * for signed zeros, tiny, huge and infinite arguments and NaN. run.sh builds it once per instruction set.
 *
 * test_exact_math [ROUNDS]: there are 64 arguments per round. */
#include <stdio.h>
#include <stdlib.h>

#include "exact_math.h"

static uint64_t random_state = 20261121;

static uint64_t random_bits(void) { /* xorshift64* */
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(0x2545F4914F6CDD1D);
}
static double uniform(void) { return (double)(int64_t)random_bits() * 0x1p-63; }

static double argument(int kind) {
    static const double scales[] = {1e-300, 1e-8, 0.1, 0.2, 0.9, 2.5, 4.0, 30.0, 1e4, 1.2e8, 1e300};
    static const double edges[] = {0.126, 0x1.b6p-1, 0x1.368fdp+1, 0x1.921fbp+26, 1.0, 0x1p-450};
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0, 4.0};
    double x;
    uint64_t bits = random_bits();
    switch (kind % 16) {
    case 11:
        return edges[bits % 6] * (1 + uniform() * 1e-9) * (bits & 64 ? 1 : -1);
    case 12:
        return (double)((int)(bits % 64) - 32) * 1.5707963267948966 + ldexp(uniform(), -(int)(bits >> 8 & 63));
    case 13:
        return special[bits & 7];
    case 14:
        memcpy(&x, &bits, sizeof x);
        return x;
    case 15:
        return 1 + (double)((int)(bits % 2001) - 1000) * 0x1p-52;
    default:
        return uniform() * scales[kind % 16];
    }
}

/* x as float32. In every second round it is a number whose square is near the middle between two float32 numbers, where
 * powf may round either way. */
static double float_argument(double x, int round) {
    if (round % 2) return (double)(float)x;
    for (int tries = 0; tries < 400; tries++) {
        float y = (float)ldexp(1 + fabs(uniform()), (int)(random_bits() % 121) - 60);
        double square = (double)y * y;
        int exponent;
        frexp(square, &exponent);
        if (ldexp(fabs(square - (double)(float)square), 25 - exponent) > 0.98) return (double)y;
    }
    return (double)(float)x;
}

static int64_t wrong;

static void same(const char *function, double x, double result, double expected) {
    if (memcmp(&result, &expected, sizeof result) == 0 || (isnan(result) && isnan(expected))) return;
    if (wrong++ < 10) printf("FAILED: %s(%a) is %a, not %a\n", function, x, result, expected);
}

int main(int count, char **words) {
    const int rounds = count > 1 ? atoi(words[1]) : 20000;
    for (int k = 0; k < rounds; k++) {
        double x[BE_MANY], sine[BE_MANY], cosine[BE_MANY], only_sine[BE_MANY], only_cosine[BE_MANY], square[BE_MANY];
        double x_f32[BE_MANY], square_f32[BE_MANY];
        const int n = BE_MANY - k % (BE_MANY / 8) * 8;
        for (int i = 0; i < n; i++) x[i] = argument(k % 3 ? k : i);
        be_sincos_many(x, sine, cosine, n);
        be_sin_many(x, only_sine, n);
        be_cos_many(x, only_cosine, n);
        be_square_many(x, square, n);
        for (int i = 0; i < n; i++) x_f32[i] = float_argument(x[i], k);
        be_square_f32_many(x_f32, square_f32, n);
        for (int i = 0; i < n; i += BE_VL) {
            be_vd s, c, small_s, small_c, v = be_load(x + i), alone = be_cos(v);
            be_sincos(v, &s, &c);
            be_sincos_small(v, &small_s, &small_c);
            for (int j = 0; j < BE_VL; j++) {
                double y = x[i + j], right_sine = sin(y), right_cosine = cos(y), right_square = be_libm_square(y);
                same("be_sincos_many's sin", y, sine[i + j], right_sine);
                same("be_sincos_many's cos", y, cosine[i + j], right_cosine);
                same("be_sin_many", y, only_sine[i + j], right_sine);
                same("be_cos_many", y, only_cosine[i + j], right_cosine);
                same("be_square_many", y, square[i + j], right_square);
                same("be_sincos's sin", y, s[j], right_sine);
                same("be_sincos's cos", y, c[j], right_cosine);
                same("be_sincos_small's sin", y, small_s[j], right_sine);
                same("be_sincos_small's cos", y, small_c[j], right_cosine);
                same("be_cos", y, alone[j], right_cosine);
                double z = x_f32[i + j], right_square_f32 = (double)be_libm_square_f32((float)z);
                same("be_square_f32_many", z, square_f32[i + j], right_square_f32);
            }
        }
    }
    printf("exact math, %d lanes a vector: %lld differ from the C library\n", BE_VL, (long long)wrong);
#ifdef __GLIBC__
    return wrong != 0;
#else
    return 0; /* batchenv finds these differences, too, and does not use this instruction set */
#endif
}
