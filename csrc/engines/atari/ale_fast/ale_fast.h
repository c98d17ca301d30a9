/* The only interface to this folder, which makes libale_c faster by relying on its internals: a processor and a picture
 * chip that replace the library's in batchenv's machines, and a way to leave out a table that these machines never
 * read. Results are the same.
 *
 * A build with BATCHENV_NO_ALE_FAST=1 in the environment, which defines BE_ALE_FAST as 0, leaves this folder out. In
 * other builds, be_cartridge.fast says for each machine whether this is used.
 */
#ifndef BE_ALE_FAST_H
#define BE_ALE_FAST_H

#include <stdint.h> /* defines __GLIBC__ where the C library is glibc */

#ifndef BE_ALE_FAST
#define BE_ALE_FAST 1
#endif

#if BE_ALE_FAST && defined(__linux__) && defined(__x86_64__) && defined(__GLIBC__)
#define BE_HAVE_ALE_FAST 1

/* To be called once, with the opened library. Finds out what can be used with it: the processor and the picture chip
 * fit only one build. */
void be_ale_fast_open(void *handle);

/* To be called around the making of a machine, from before ALE_new until after loadROM, by one thread at a time. What
 * be_ale_fast_begin changes in the library, be_ale_fast_finish undoes. */
void be_ale_fast_begin(void);
void be_ale_fast_finish(void *ale);

#else
static inline void be_ale_fast_open(void *handle) { (void)handle; }
static inline void be_ale_fast_begin(void) {}
static inline void be_ale_fast_finish(void *ale) { (void)ale; }
#endif

#endif
