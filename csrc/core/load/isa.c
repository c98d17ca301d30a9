/* Which of the compiled instruction sets this CPU has. The build sets BE_HAVE_X86_VECTORS if the AVX2 and AVX-512
 * objects exist. Otherwise there is only the baseline (on arm64 the compiler makes it use NEON). */
#include "core/load/types.h"

extern const be_isa be_isa_baseline;
#ifdef BE_HAVE_X86_VECTORS
extern const be_isa be_isa_avx2, be_isa_avx512;
#endif

const be_isa *const *be_isa_supported(void) {
    static const be_isa *supported[4];
    int n = 0;
#ifdef BE_HAVE_X86_VECTORS
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512cd");
    if (avx512) supported[n++] = &be_isa_avx512;
    if (avx2) supported[n++] = &be_isa_avx2;
#endif
    supported[n++] = &be_isa_baseline;
    supported[n] = NULL;
    return supported;
}
