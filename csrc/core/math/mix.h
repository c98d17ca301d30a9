/* Random bits as a function of a number, for draws that need no stream. */
#ifndef BE_MIX_H
#define BE_MIX_H

#include <stdint.h>

#define BE_GAMMA64 UINT64_C(0x9e3779b97f4a7c15) /* what SplitMix64 adds for the next number */

/* The output function of SplitMix64 (Steele, Lea and Flood, 2014). */
static inline uint64_t be_mix64(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#endif
