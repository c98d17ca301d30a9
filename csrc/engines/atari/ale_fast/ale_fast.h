/* The only interface to this folder, which makes libale_c faster by relying on its internals: a processor and a picture
 * chip that replace the library's in batchenv's machines, and a way to leave out a table that these machines never
 * read. Results are the same.
 *
 * A build with BATCHENV_NO_ALE_FAST=1 in the environment, which defines BE_ALE_FAST as 0, leaves this folder out. In
 * other builds, be_cartridge.fast says for each machine whether this is used.
 */
#ifndef BE_ALE_FAST_H
#define BE_ALE_FAST_H

#include "engines/atari/emulator.h"

#include <stdint.h> /* defines __GLIBC__ where the C library is glibc */

#ifndef BE_ALE_FAST
#define BE_ALE_FAST 1
#endif

typedef struct be_ale_console be_ale_console;

#if BE_ALE_FAST && defined(__linux__) && defined(__x86_64__) && defined(__GLIBC__)
#define BE_HAVE_ALE_FAST 1

/* To be called once, with the opened library. Finds out what can be used with it: the processor and the picture chip
 * fit only one build. */
void be_ale_fast_open(void *handle);

/* To be called around the making of a machine, from before ALE_new until after loadROM, by one thread at a time. What
 * be_ale_fast_begin changes in the library, be_ale_fast_finish undoes. Returns what the machine has of ours, or NULL if
 * it keeps the library's own. */
void be_ale_fast_begin(void);
be_ale_console *be_ale_fast_finish(void *ale);

/* To be called after ALE_del, by one thread at a time; NULL is allowed. */
void be_ale_fast_close(be_ale_console *console);

/* See be_emulator_type in emulator.h. */
void be_ale_fast_expect(be_ale_console *console, int looks);
void be_ale_fast_look(be_ale_console *console, int both, be_pictures *pictures);

/* To be called before the library resets the machine or restores a state. */
void be_ale_fast_interrupt(be_ale_console *console);

#else
static inline void be_ale_fast_open(void *handle) { (void)handle; }
static inline void be_ale_fast_begin(void) {}
static inline be_ale_console *be_ale_fast_finish(void *ale) { return (void)ale, NULL; }
static inline void be_ale_fast_close(be_ale_console *console) { (void)console; }
static inline void be_ale_fast_expect(be_ale_console *console, int looks) { (void)console, (void)looks; }
static inline void be_ale_fast_look(be_ale_console *console, int both, be_pictures *pictures) {
    (void)console, (void)both, (void)pictures;
}
static inline void be_ale_fast_interrupt(be_ale_console *console) { (void)console; }
#endif

#endif
