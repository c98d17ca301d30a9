/* Random numbers, one stream per lane: bit for bit what numpy.random.Generator(PCG64(SeedSequence(seed))) draws, since
 * that is the np_random of Gymnasium's envs. The comment of each function below names the Generator call that it
 * equals. One call advances the stream as far as that call does, or as far as one element of an array that it returns.
 *
 * Streams are not locked: two threads must not draw from one be_rng at once. Files that include this are compiled
 * with -ffp-contract=off, as a fused multiply-add would round be_rng_uniform and be_rng_normal differently.
 */
#ifndef BE_RNG_H
#define BE_RNG_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* see batchenv.h */

__extension__ typedef unsigned __int128 be_u128;

/* A lane's stream. It is the same as this np.random.PCG64().state, with which Python can go on drawing:
 *
 *     {"bit_generator": "PCG64",
 *      "state": {"state": state_hi << 64 | state_lo, "inc": inc_hi << 64 | inc_lo},
 *      "has_uint32": has_buffered, "uinteger": buffered}
 *
 * The layout is part of snapshots and must stay. */
typedef struct be_rng {
    uint64_t state_lo, state_hi, inc_lo, inc_hi;
    uint32_t buffered, has_buffered; /* the second half of a 64-bit draw, if be_rng_next32 has left one */
} be_rng;

_Static_assert(sizeof(be_rng) == 40, "be_rng is part of snapshots");

/* ---- seeding ---------------------------------------------------------------------------------------- */

/* PCG64(SeedSequence(seed)). */
void be_rng_seed_u64(be_rng *rng, uint64_t seed);

/* The same for a seed of any size: n 32-bit words, lowest first. n == 0 means the seed 0; high words that are zero make
 * no difference. */
void be_rng_seed_words(be_rng *rng, const uint32_t *words, size_t n);

/* The same for the seed `words + add`; the sum may have one word more than the longer of the two. Always returns 0:
 * nothing is allocated, whatever n. */
int be_rng_seed_words_plus(be_rng *rng, const uint32_t *words, size_t n, uint64_t add);

/* ---- bits ------------------------------------------------------------------------------------------- */

/* PCG64.random_raw(): PCG XSL-RR 128/64 of O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
 * Algorithms for Random Number Generation" (2014): a step of the 128-bit linear congruential generator, then the two
 * halves of its state xored, and rotated by the top six bits. */
static inline uint64_t be_rng_next64(be_rng *rng) {
    const be_u128 multiplier = (be_u128)UINT64_C(0x2360ed051fc65da4) << 64 | UINT64_C(0x4385df649fccf645);
    be_u128 state = (be_u128)rng->state_hi << 64 | rng->state_lo;
    state = state * multiplier + ((be_u128)rng->inc_hi << 64 | rng->inc_lo);
    rng->state_lo = (uint64_t)state;
    rng->state_hi = (uint64_t)(state >> 64);
    uint64_t mixed = rng->state_hi ^ rng->state_lo;
    unsigned turn = (unsigned)(rng->state_hi >> 58);
    return mixed >> turn | mixed << (-turn & 63);
}

/* integers(0, 2**32): returns the low half of a 64-bit draw, and the next time the high half, which is kept until then.
 * 64-bit draws in between do not touch the kept half. */
static inline uint32_t be_rng_next32(be_rng *rng) {
    if (rng->has_buffered) {
        rng->has_buffered = 0;
        return rng->buffered;
    }
    uint64_t bits = be_rng_next64(rng);
    rng->has_buffered = 1;
    rng->buffered = (uint32_t)(bits >> 32);
    return (uint32_t)bits;
}

/* ---- floats ----------------------------------------------------------------------------------------- */

/* random(): a multiple of 2**-53 in [0, 1), so no rounding takes place. */
static inline double be_rng_double(be_rng *rng) { return (double)(be_rng_next64(rng) >> 11) * 0x1p-53; }

/* random(dtype=np.float32): a multiple of 2**-24 in [0, 1), from a 32-bit draw. */
static inline float be_rng_float(be_rng *rng) { return (float)(be_rng_next32(rng) >> 8) * 0x1p-24f; }

/* uniform(low, high), low <= high and high - low finite (NumPy raises otherwise). */
static inline double be_rng_uniform(be_rng *rng, double low, double high) {
    return low + (high - low) * be_rng_double(rng);
}

/* standard_normal(): the ziggurat of Marsaglia and Tsang (2000), tables in ziggurat.h. One value in 70 needs the C
 * library's exp, one in 4000 its log1p; they are the functions NumPy calls. */
double be_rng_standard_normal(be_rng *rng);

/* normal(loc, scale), scale >= 0. */
static inline double be_rng_normal(be_rng *rng, double loc, double scale) {
    return loc + scale * be_rng_standard_normal(rng);
}

/* ---- integers --------------------------------------------------------------------------------------- */

/* A value of 0..last, each equally likely: Lemire, "Fast Random Integer Generation in an Interval" (2019). Up to 2**32
 * values it takes 32-bit draws, beyond that 64-bit ones; last == 0 draws nothing. */
static inline uint64_t be_rng_bounded(be_rng *rng, uint64_t last) {
    if (last == 0) return 0;
    if (last < UINT32_MAX) {
        const uint32_t count = (uint32_t)last + 1;
        uint64_t product = (uint64_t)be_rng_next32(rng) * count;
        if ((uint32_t)product < count) {
            const uint32_t excess = -count % count; /* 2**32 mod count */
            while ((uint32_t)product < excess) product = (uint64_t)be_rng_next32(rng) * count;
        }
        return product >> 32;
    }
    if (last == UINT32_MAX) return be_rng_next32(rng);
    if (last == UINT64_MAX) return be_rng_next64(rng);
    const uint64_t count = last + 1;
    be_u128 product = (be_u128)be_rng_next64(rng) * count;
    if ((uint64_t)product < count) {
        const uint64_t excess = -count % count; /* 2**64 mod count */
        while ((uint64_t)product < excess) product = (be_u128)be_rng_next64(rng) * count;
    }
    return (uint64_t)(product >> 64);
}

/* integers(low, last, endpoint=True), low <= last. */
static inline int64_t be_rng_integers_inclusive(be_rng *rng, int64_t low, int64_t last) {
    return (int64_t)((uint64_t)low + be_rng_bounded(rng, (uint64_t)last - (uint64_t)low));
}

/* integers(low, high), low < high: `high` is not among the values. */
static inline int64_t be_rng_integers(be_rng *rng, int64_t low, int64_t high) {
    return be_rng_integers_inclusive(rng, low, high - 1);
}

/* integers(low, high, dtype=np.int32), -2**31 <= low < high <= 2**31. It takes the same draws as be_rng_integers. */
static inline int32_t be_rng_integers32(be_rng *rng, int64_t low, int64_t high) {
    return (int32_t)be_rng_integers(rng, low, high);
}

/* choice(n), n >= 1. */
static inline int64_t be_rng_choice(be_rng *rng, int64_t n) { return be_rng_integers(rng, 0, n); }

/* choice(n, p=p), n >= 1: i with probability p[i] / sum(p), from one be_rng_double. The p[i] must be finite, none
 * negative, and their sum positive; NumPy also wants it to be 1 within 1.5e-8, and raises otherwise. */
int64_t be_rng_choice_p(be_rng *rng, const double *p, int64_t n);

/* shuffle(values), of a one-dimensional array of n >= 0. */
void be_rng_shuffle(be_rng *rng, int64_t *values, int64_t n);

/* permutation(n), n >= 0: 0..n-1 in random order into `out`. */
void be_rng_permutation(be_rng *rng, int64_t *out, int64_t n);

#pragma GCC visibility pop

#endif
