/* Every machine fills a table of half a megabyte with averages of all pairs of colours, for an option that batchenv
 * never uses. This takes 60 ms and most of a machine's memory. The library calls the function that does it through its
 * linkage table; while batchenv makes a machine, that entry points to a function that does nothing. If the entry is not
 * found, or cannot be written, everything works as well, only slower.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "engines/atari/ale_fast/ale_fast.h"

#ifdef BE_HAVE_ALE_FAST
#include "engines/atari/ale_fast/averages.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

typedef void function(void);

static function **entry; /* NULL: not found */
static function *theirs;

static void do_nothing(void) {}

/* Whether an address of the library can be written to: the linkage table may be in a part that becomes read-only once
 * the library has been loaded. */
static int is_writable(const struct link_map *map, ElfW(Addr) offset) {
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)map->l_addr;
    int writable = 0;
    for (int i = 0; i < header->e_phnum; i++) {
        const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(map->l_addr + header->e_phoff) + i;
        if (offset < segment->p_vaddr || offset - segment->p_vaddr >= segment->p_memsz) continue;
        if (segment->p_type == PT_GNU_RELRO) return 0;
        if (segment->p_type == PT_LOAD) writable = (segment->p_flags & PF_W) != 0;
    }
    return writable;
}

void be_ale_averages_find(void *handle) {
    struct link_map *map;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return;
    const ElfW(Rela) *entries = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    size_t bytes = 0;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_JMPREL) entries = (const ElfW(Rela) *)d->d_un.d_ptr;
        if (d->d_tag == DT_PLTRELSZ) bytes = d->d_un.d_val;
        if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB) names = (const char *)d->d_un.d_ptr;
        if (d->d_tag == DT_PLTREL && d->d_un.d_val != DT_RELA) return;
    }
    if (!entries || !symbols || !names) return;
    for (size_t k = 0; k < bytes / sizeof *entries; k++) {
        const char *name = names + symbols[ELF64_R_SYM(entries[k].r_info)].st_name;
        if (ELF64_R_TYPE(entries[k].r_info) == R_X86_64_JUMP_SLOT &&
            strcmp(name, "_ZN3ale13PhosphorBlend18makeAveragePaletteEv") == 0) {
            if (is_writable(map, entries[k].r_offset)) entry = (function **)(map->l_addr + entries[k].r_offset);
            return;
        }
    }
}

void be_ale_averages_skip(int skip) {
    if (entry == NULL) return;
    if (skip) theirs = __atomic_load_n(entry, __ATOMIC_RELAXED);
    __atomic_store_n(entry, skip ? do_nothing : theirs, __ATOMIC_RELAXED);
}

#endif
