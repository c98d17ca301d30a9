/* Random numbers of NumPy's older kind, one stream per lane: bit for bit what numpy.random.RandomState(seed) draws,
 * since that is the stream of DM Control's tasks. The comment of each function names the method of RandomState that it
 * equals.
 *
 * A type whose lanes have such a stream sets the flag BE_RANDOM_STATE, and has the field BE_RANDOM_STATE_FIELD in its
 * table; the driver then seeds it with the lane's seed. Where a seed is 2**32 or more, which RandomState does not take
 * as one number, it is given as its 32-bit words, lowest first: RandomState([low, high]). */
#ifndef BE_RANDOM_STATE_H
#define BE_RANDOM_STATE_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* see batchenv.h */

/* The same as RandomState().get_state(). Any bytes are a sound state, so snapshots need no check. */
typedef struct be_random_state {
    uint32_t key[624];
    uint32_t used;      /* how many words of the key have been handed out: 624 or more mean that it has to be renewed,
                           and more that nothing has been drawn since it was seeded */
    uint32_t has_gauss; /* 1: `gauss` is the second value of the last pair, which the next call returns */
    double gauss;
} be_random_state;

_Static_assert(sizeof(be_random_state) == 2512, "be_random_state is part of snapshots");

#define BE_RANDOM_STATE_NAME "random_state"
#define BE_RANDOM_STATE_FIELD                                                                                          \
    {BE_RANDOM_STATE_NAME, BE_U8, (int)sizeof(be_random_state), "the lane's numpy.random.RandomState"}

/* RandomState(seed), for the seed `words + add`, where `words` are n 32-bit words, lowest first. */
void be_random_state_seed(be_random_state *stream, const uint32_t *words, size_t n, uint64_t add);

/* Whether nothing has been drawn since the stream was seeded. */
static inline int be_random_state_is_fresh(const be_random_state *stream) { return stream->used > 624; }

/* Makes 624 new words, of which none is handed out. */
void be_random_state_renew(be_random_state *stream);

/* 32 bits: Matsumoto and Nishimura, "Mersenne Twister" (1998), MT19937. */
static inline uint32_t be_random_state_next32(be_random_state *stream) {
    if (__builtin_expect(stream->used >= 624, 0)) be_random_state_renew(stream);
    uint32_t y = stream->key[stream->used++];
    y ^= y >> 11;
    y ^= y << 7 & UINT32_C(0x9d2c5680);
    y ^= y << 15 & UINT32_C(0xefc60000);
    return y ^ y >> 18;
}

/* random_sample(), or an element of rand(n): a multiple of 2**-53 in [0, 1). */
static inline double be_random_state_double(be_random_state *stream) {
    const uint32_t high = be_random_state_next32(stream) >> 5, low = be_random_state_next32(stream) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

/* uniform(low, high). */
static inline double be_random_state_uniform(be_random_state *stream, double low, double high) {
    return low + (high - low) * be_random_state_double(stream);
}

/* standard_normal(), or an element of randn(n): the polar method of Marsaglia and Bray (1964), which makes two values
 * at a time and keeps the second. */
double be_random_state_normal(be_random_state *stream);

/* randint(low, high), low < high: `high` is not among the values. choice(n) is randint(0, n). */
int64_t be_random_state_integers(be_random_state *stream, int64_t low, int64_t high);

/* choice(n, p=p), n >= 1. */
int64_t be_random_state_choice_p(be_random_state *stream, const double *p, int64_t n);

/* shuffle(values), of n >= 0. */
void be_random_state_shuffle(be_random_state *stream, int64_t *values, int64_t n);

/* permutation(n), n >= 0, into `out`. */
void be_random_state_permutation(be_random_state *stream, int64_t *out, int64_t n);

#pragma GCC visibility pop

#endif
