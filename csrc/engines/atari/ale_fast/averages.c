/* Every machine fills a table of half a megabyte with averages of all pairs of colours, for an option that batchenv
 * never uses. This takes 60 ms and most of a machine's memory. The library calls the function that does it through its
 * linkage table; while batchenv makes a machine, that entry points to a function that does nothing. If the entry is not
 * found, or cannot be written, everything works as well, only slower.
 */
#include "engines/atari/ale_fast/ale_fast.h"

#ifdef BE_HAVE_ALE_FAST
#include "core/system/linkage.h"
#include "engines/atari/ale_fast/averages.h"

static be_any_function **entry; /* NULL: not found */
static be_any_function *theirs;

static void do_nothing(void) {}

void be_ale_averages_find(void *handle) {
    entry = be_linkage_entry(handle, "_ZN3ale13PhosphorBlend18makeAveragePaletteEv");
}

void be_ale_averages_skip(int skip) {
    if (entry == NULL) return;
    if (skip) theirs = __atomic_load_n(entry, __ATOMIC_RELAXED);
    __atomic_store_n(entry, skip ? do_nothing : theirs, __ATOMIC_RELAXED);
}

#endif
