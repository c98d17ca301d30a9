#include "random_state.h"

#include <math.h>

#include "core/math/words.h"
#include "libm.h"

enum { SIZE = 624, SHIFT = 397 };

/* Knuth, "The Art of Computer Programming", volume 2, third edition: the multiplier of his generator on page 106. */
static void seed_one(be_random_state *stream, uint32_t seed) {
    for (uint32_t i = 0; i < SIZE; i++) {
        stream->key[i] = seed;
        seed = 1812433253u * (seed ^ seed >> 30) + i + 1;
    }
    stream->used = SIZE + 1;
    stream->has_gauss = 0;
    stream->gauss = 0;
}

/* How many words the sum has, without the highest ones that are 0. */
static size_t count_words(const uint32_t *words, size_t n, uint64_t add) {
    size_t count = 0;
    for (size_t i = 0; i < n || add; i++) {
        if (be_word_plus(words, n, i, &add)) count = i + 1;
    }
    return count;
}

/* What the authors of MT19937 call init_by_array: each word of the seed is mixed into the key, round and round. */
static void seed_many(be_random_state *stream, const uint32_t *words, size_t n, uint64_t add, size_t count) {
    uint32_t *key = stream->key;
    seed_one(stream, 19650218u);
    uint32_t i = 1;
    uint64_t carry = add;
    size_t j = 0;
    for (size_t k = count > SIZE ? count : SIZE; k; k--) {
        const uint32_t word = be_word_plus(words, n, j, &carry);
        key[i] = (key[i] ^ (key[i - 1] ^ key[i - 1] >> 30) * 1664525u) + word + (uint32_t)j;
        if (++i == SIZE) key[0] = key[SIZE - 1], i = 1;
        if (++j == count) j = 0, carry = add;
    }
    for (size_t k = SIZE - 1; k; k--) {
        key[i] = (key[i] ^ (key[i - 1] ^ key[i - 1] >> 30) * 1566083941u) - i;
        if (++i == SIZE) key[0] = key[SIZE - 1], i = 1;
    }
    key[0] = UINT32_C(1) << 31;
}

void be_random_state_seed(be_random_state *stream, const uint32_t *words, size_t n, uint64_t add) {
    const size_t count = count_words(words, n, add);
    if (count > 1) {
        seed_many(stream, words, n, add, count);
    } else {
        seed_one(stream, be_word_plus(words, n, 0, &add));
    }
}

static uint32_t twist(uint32_t high, uint32_t low, uint32_t far) {
    const uint32_t mixed = (high & UINT32_C(0x80000000)) | (low & UINT32_C(0x7fffffff));
    return far ^ mixed >> 1 ^ (-(low & 1) & UINT32_C(0x9908b0df));
}

void be_random_state_renew(be_random_state *stream) {
    uint32_t *key = stream->key;
    int i = 0;
    for (; i < SIZE - SHIFT; i++) key[i] = twist(key[i], key[i + 1], key[i + SHIFT]);
    for (; i < SIZE - 1; i++) key[i] = twist(key[i], key[i + 1], key[i + SHIFT - SIZE]);
    key[SIZE - 1] = twist(key[SIZE - 1], key[0], key[SHIFT - 1]);
    stream->used = 0;
}

double be_random_state_normal(be_random_state *stream) {
    if (stream->has_gauss) {
        const double kept = stream->gauss;
        stream->has_gauss = 0;
        stream->gauss = 0;
        return kept;
    }
    double first, second, square;
    do {
        first = 2.0 * be_random_state_double(stream) - 1.0;
        second = 2.0 * be_random_state_double(stream) - 1.0;
        square = first * first + second * second;
    } while (square >= 1.0 || square == 0.0);
    const double factor = sqrt(-2.0 * be_math.log(square) / square);
    stream->gauss = factor * first;
    stream->has_gauss = 1;
    return factor * second;
}

/* 0..last, by drawing as many bits as `last` has until they are not more than it. */
static uint64_t bounded(be_random_state *stream, uint64_t last) {
    if (last == 0) return 0;
    const uint64_t mask = UINT64_MAX >> __builtin_clzll(last);
    uint64_t value;
    do {
        value = be_random_state_next32(stream);
        if (last > UINT32_MAX) value = value << 32 | be_random_state_next32(stream);
        value &= mask;
    } while (value > last);
    return value;
}

int64_t be_random_state_integers(be_random_state *stream, int64_t low, int64_t high) {
    return (int64_t)((uint64_t)low + bounded(stream, (uint64_t)high - (uint64_t)low - 1));
}

/* The index of the first partial sum, as a part of the whole sum, that is greater than the draw. */
int64_t be_random_state_choice_p(be_random_state *stream, const double *p, int64_t n) {
    double total = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) total += p[i];
    const double draw = be_random_state_double(stream);
    for (int64_t i = 0; i < n - 1; i++) {
        sum += p[i];
        if (sum / total > draw) return i;
    }
    return n - 1;
}

void be_random_state_shuffle(be_random_state *stream, int64_t *values, int64_t n) {
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)bounded(stream, (uint64_t)i), value = values[i];
        values[i] = values[j];
        values[j] = value;
    }
}

void be_random_state_permutation(be_random_state *stream, int64_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = i;
    be_random_state_shuffle(stream, out, n);
}
