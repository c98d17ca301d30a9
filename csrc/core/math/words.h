/* Seeds as 32-bit words, lowest first. */
#ifndef BE_WORDS_H
#define BE_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* Word i of the sum of `words` and the `carry` that the lower words left; above the n words there are zeros. */
static inline uint32_t be_word_plus(const uint32_t *words, size_t n, size_t i, uint64_t *carry) {
    uint64_t sum = (i < n ? words[i] : 0) + (*carry & UINT32_MAX);
    *carry = (*carry >> 32) + (sum >> 32);
    return (uint32_t)sum;
}

#endif
