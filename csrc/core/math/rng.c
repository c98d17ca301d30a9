#include "rng.h"

#include <math.h>

#include "libm.h"
#include "core/math/words.h"
#include "core/math/ziggurat.h"

/* ---- seeding ------------------------------------------------------------------------------------------
 *
 * O'Neill, "Developing a seed_seq Alternative" (2015), the design that NumPy's SeedSequence follows: the seed's words
 * are hashed into a pool of four, every word of the pool is mixed into the three others, and the generator's state is
 * hashed out of the pool. Each hash uses the next power of a multiplier, whatever its input, so in straight-line code
 * all those powers are constants. */

static inline uint32_t hash(uint32_t value, uint32_t *constant, uint32_t multiplier) {
    value ^= *constant;
    *constant *= multiplier;
    value *= *constant;
    return value ^ value >> 16;
}

static inline uint32_t hash_in(uint32_t value, uint32_t *constant) { return hash(value, constant, 0x931e8875u); }
static inline uint32_t hash_out(uint32_t value, uint32_t *constant) { return hash(value, constant, 0x58f38dedu); }

/* Mixes the hash of `word` into a word of the pool. */
static inline void mix(uint32_t *pooled, uint32_t word, uint32_t *constant) {
    uint32_t mixed = *pooled * 0xca01f9ddu - hash_in(word, constant) * 0x4973f715u;
    *pooled = mixed ^ mixed >> 16;
}

/* The pool of a seed's first four words. */
static inline void fill_pool(uint32_t pool[4], uint32_t *constant, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
    *constant = 0x43b0d7e5u;
    uint32_t a = hash_in(w0, constant), b = hash_in(w1, constant);
    uint32_t c = hash_in(w2, constant), d = hash_in(w3, constant);
    mix(&b, a, constant), mix(&c, a, constant), mix(&d, a, constant);
    mix(&a, b, constant), mix(&c, b, constant), mix(&d, b, constant);
    mix(&a, c, constant), mix(&b, c, constant), mix(&d, c, constant);
    mix(&a, d, constant), mix(&b, d, constant), mix(&c, d, constant);
    pool[0] = a, pool[1] = b, pool[2] = c, pool[3] = d;
}

static inline uint64_t hash_out_pair(uint32_t low, uint32_t high, uint32_t *constant) {
    uint64_t half = hash_out(low, constant);
    return half | (uint64_t)hash_out(high, constant) << 32;
}

/* Sets the generator's increment and first state as PCG's setseq seeding does: a step from state 0, then the seed is
 * added, then another step. */
static inline void start(be_rng *rng, const uint32_t pool[4]) {
    uint32_t constant = 0x8b51f9ddu;
    uint64_t seed_hi = hash_out_pair(pool[0], pool[1], &constant);
    uint64_t seed_lo = hash_out_pair(pool[2], pool[3], &constant);
    uint64_t stream_hi = hash_out_pair(pool[0], pool[1], &constant);
    uint64_t stream_lo = hash_out_pair(pool[2], pool[3], &constant);
    be_u128 inc = ((be_u128)stream_hi << 64 | stream_lo) << 1 | 1;
    be_u128 state = inc + ((be_u128)seed_hi << 64 | seed_lo);
    rng->state_lo = (uint64_t)state;
    rng->state_hi = (uint64_t)(state >> 64);
    rng->inc_lo = (uint64_t)inc;
    rng->inc_hi = (uint64_t)(inc >> 64);
    rng->buffered = rng->has_buffered = 0;
    (void)be_rng_next64(rng);
}

void be_rng_seed_u64(be_rng *rng, uint64_t seed) {
    uint32_t pool[4], constant;
    fill_pool(pool, &constant, (uint32_t)seed, (uint32_t)(seed >> 32), 0, 0);
    start(rng, pool);
}

int be_rng_seed_words_plus(be_rng *rng, const uint32_t *words, size_t n, uint64_t add) {
    /* SeedSequence would also hash a zero word beyond the fourth, so the highest word must not be zero. If words[n - 1]
     * is not zero, neither is the highest word of the sum: where that word becomes zero, a carry follows it. */
    while (n > 0 && words[n - 1] == 0) n--;
    uint32_t first[4], pool[4], constant;
    for (size_t i = 0; i < 4; i++) first[i] = be_word_plus(words, n, i, &add);
    fill_pool(pool, &constant, first[0], first[1], first[2], first[3]);
    for (size_t i = 4; i < n || add != 0; i++) {
        uint32_t word = be_word_plus(words, n, i, &add);
        for (int j = 0; j < 4; j++) mix(&pool[j], word, &constant);
    }
    start(rng, pool);
    return 0;
}

void be_rng_seed_words(be_rng *rng, const uint32_t *words, size_t n) { (void)be_rng_seed_words_plus(rng, words, n, 0); }

/* ---- standard normal ---------------------------------------------------------------------------------- */

/* Beyond r: Marsaglia, "Generating a Variable from the Tail of the Normal Distribution" (1964). */
static double normal_tail(be_rng *rng) {
    for (;;) {
        double x = -(1.0 / BE_ZIGGURAT_R) * be_math.log1p(-be_rng_double(rng));
        double y = -be_math.log1p(-be_rng_double(rng));
        if (y + y > x * x) return BE_ZIGGURAT_R + x;
    }
}

double be_rng_standard_normal(be_rng *rng) {
    for (;;) {
        /* 8 bits choose the layer, one the sign, and 52 the place in the layer; the top three are unused. */
        uint64_t bits = be_rng_next64(rng);
        unsigned layer = bits & 0xff;
        uint64_t place = bits >> 9 & UINT64_C(0xfffffffffffff);
        double x = (double)place * be_ziggurat_layer[layer].w;
        if (bits & 0x100) x = -x;
        if (place < be_ziggurat_layer[layer].k) return x;
        if (layer == 0) {
            /* The tail's sign is a bit of the place, not the sign bit. */
            double tail = normal_tail(rng);
            return place & 0x100 ? -tail : tail;
        }
        /* In the part of the layer that the curve cuts through: accepted if below the curve. */
        double height = be_ziggurat_f[layer - 1] - be_ziggurat_f[layer];
        if (height * be_rng_double(rng) + be_ziggurat_f[layer] < be_math.exp(-0.5 * x * x)) return x;
    }
}

/* ---- choices ------------------------------------------------------------------------------------------ */

/* NumPy adds up p from the left, divides each partial sum by the last one, and takes the first that is greater than the
 * draw. Here the same partial sums are computed twice instead of being stored. */
int64_t be_rng_choice_p(be_rng *rng, const double *p, int64_t n) {
    double total = 0.0, sum = 0.0;
    for (int64_t i = 0; i < n; i++) total += p[i];
    double draw = be_rng_double(rng);
    for (int64_t i = 0; i < n - 1; i++) {
        sum += p[i];
        if (sum / total > draw) return i;
    }
    return n - 1; /* total / total is 1, greater than any draw */
}

/* A value of 0..last, last >= 1: as many bits as last has, drawn again until they are in the range. NumPy shuffles with
 * this method, not with the one of be_rng_bounded. */
static uint64_t masked(be_rng *rng, uint64_t last) {
    const uint64_t mask = UINT64_MAX >> __builtin_clzll(last);
    uint64_t value;
    do value = (last <= UINT32_MAX ? be_rng_next32(rng) : be_rng_next64(rng)) & mask;
    while (value > last);
    return value;
}

/* Fisher and Yates, from the last value down. */
void be_rng_shuffle(be_rng *rng, int64_t *values, int64_t n) {
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t j = masked(rng, (uint64_t)i);
        int64_t value = values[i];
        values[i] = values[j];
        values[j] = value;
    }
}

void be_rng_permutation(be_rng *rng, int64_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = i;
    be_rng_shuffle(rng, out, n);
}
