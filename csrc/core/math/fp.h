/* The floating-point mode that all lanes are stepped in: round to nearest, subnormal numbers as they are, no traps.
 *
 * A caller may have changed the mode of its thread (fesetround, torch.set_flush_denormal, feenableexcept). Threads that
 * it starts afterwards inherit that mode, others do not. Results must not depend on it, so callers and workers compute
 * between be_fp_enter and be_fp_leave. If the mode is the usual one already, this costs a few nanoseconds.
 */
#ifndef BE_FP_H
#define BE_FP_H

#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__)

typedef struct be_fp {
    uint32_t mxcsr; /* of the SSE unit, with the flags of what has happened */
    uint16_t x87;
    int changed;
} be_fp;

#define BE_FP_MXCSR 0x1f80u      /* all exceptions masked, round to nearest, nothing flushed to zero */
#define BE_FP_MXCSR_MODE 0xffc0u /* the bits that are a mode; the others are flags */
#define BE_FP_X87 0x037fu
#define BE_FP_X87_MODE 0x0f3fu

static inline be_fp be_fp_enter(void) {
    be_fp before = {.mxcsr = __builtin_ia32_stmxcsr()};
    __asm__ __volatile__("fnstcw %0" : "=m"(before.x87));
    before.changed = (before.mxcsr & BE_FP_MXCSR_MODE) != BE_FP_MXCSR ||
                     (before.x87 & BE_FP_X87_MODE) != (BE_FP_X87 & BE_FP_X87_MODE);
    if (before.changed) {
        const uint16_t x87 = BE_FP_X87;
        __builtin_ia32_ldmxcsr(BE_FP_MXCSR);
        __asm__ __volatile__("fldcw %0" : : "m"(x87));
    }
    return before;
}

static inline void be_fp_leave(const be_fp *before) {
    if (!before->changed) return;
    __builtin_ia32_ldmxcsr(before->mxcsr);
    __asm__ __volatile__("fldcw %0" : : "m"(before->x87));
}

#else

#include <fenv.h>

typedef struct be_fp {
    fenv_t environment;
} be_fp;

static inline be_fp be_fp_enter(void) {
    be_fp before;
    fegetenv(&before.environment);
    fesetenv(FE_DFL_ENV);
    return before;
}

static inline void be_fp_leave(const be_fp *before) { fesetenv(&before->environment); }

#endif

#endif
