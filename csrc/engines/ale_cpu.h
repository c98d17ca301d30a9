/* A 6502 for the machines of libale_c: takes the place of the library's own interpreter in one machine, with the same
 * results: registers, cycle counts, and the order and the cycle of every access to the bus. */
#ifndef BE_ALE_CPU_H
#define BE_ALE_CPU_H

#include <stdint.h> /* which brings __GLIBC__ along */

#if defined(__linux__) && defined(__x86_64__) && defined(__GLIBC__)
#define BE_HAVE_ALE_CPU 1

/* To be called once, with the opened library: finds out whether it is the one build whose objects are known here. In
 * any other the library's own interpreter is left in place. */
void be_ale_cpu_open(void *handle);

/* To be called for a machine after each loadROM, which makes its processor. Does nothing where be_ale_cpu_open has not
 * known the library, or where the environment says BATCHENV_ALE_CPU=0. */
void be_ale_cpu_attach(void *ale);

#else
static inline void be_ale_cpu_open(void *handle) { (void)handle; }
static inline void be_ale_cpu_attach(void *ale) { (void)ale; }
#endif

#endif
