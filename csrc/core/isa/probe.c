/* Whether this instruction set computes what the C library does. */
#include "core/math/fp.h"
#include "core/isa/isa.h"
#include "exact_math.h"

void be_isa_probe(int64_t mismatches[5]) {
    const be_fp before = be_fp_enter();
    static const double scales[] = {0.06, 0.2, 0.84, 2.0, 3.2, 30.0, 1e4, 1e8};
    be_rng rng;
    be_rng_seed_u64(&rng, 20261101);
    for (int j = 0; j < 5; j++) mismatches[j] = 0;
    for (int s = 0; s < 8; s++) {
        for (int round = 0; round < 2048 / BE_MANY; round++) {
            double angle[BE_MANY], sines[BE_MANY], cosines[BE_MANY], squares[BE_MANY];
            double only_sines[BE_MANY], only_cosines[BE_MANY], angle_f32[BE_MANY], squares_f32[BE_MANY];
            for (int i = 0; i < BE_MANY; i++) angle[i] = be_rng_uniform(&rng, -scales[s], scales[s]);
            be_sincos_many(angle, sines, cosines, BE_MANY);
            be_sin_many(angle, only_sines, BE_MANY);
            be_cos_many(angle, only_cosines, BE_MANY);
            be_square_many(angle, squares, BE_MANY);
            for (int i = 0; i < BE_MANY; i++) angle_f32[i] = (double)(float)angle[i];
            be_square_f32_many(angle_f32, squares_f32, BE_MANY);
            for (int k = 0; k < BE_MANY; k += BE_VL) {
                be_vd x = be_load(angle + k), sine, cosine;
                if (s < 3) {
                    be_sincos_small(x, &sine, &cosine);
                } else {
                    be_sincos(x, &sine, &cosine);
                }
                be_vd modulo = be_fmod_positive(be_abs(x), be_set1(6.283185307179586));
                for (int i = 0; i < BE_VL; i++) {
                    double y = x[i], right_sine = be_math.sin(y), right_cosine = be_math.cos(y),
                           right_square = be_libm_square(y);
                    mismatches[0] +=
                        sine[i] != right_sine || sines[k + i] != right_sine || only_sines[k + i] != right_sine;
                    mismatches[1] += cosine[i] != right_cosine || cosines[k + i] != right_cosine ||
                                     only_cosines[k + i] != right_cosine;
                    mismatches[2] += squares[k + i] != right_square;
                    mismatches[3] += squares_f32[k + i] != (double)be_libm_square_f32((float)y);
                    mismatches[4] += modulo[i] != be_math.fmod(fabs(y), 6.283185307179586);
                }
            }
        }
    }
    be_fp_leave(&before);
}
