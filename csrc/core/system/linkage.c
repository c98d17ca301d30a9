#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dlinfo */
#endif
#include "core/system/linkage.h"

#if defined(__linux__) && defined(__x86_64__)

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

/* Whether an address of the library can be written to: a part of it becomes read-only once it is loaded. */
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

be_any_function **be_linkage_entry(void *library, const char *symbol) {
    struct link_map *map;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return NULL;
    const ElfW(Rela) *entries = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    size_t bytes = 0;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_JMPREL) entries = (const ElfW(Rela) *)d->d_un.d_ptr;
        if (d->d_tag == DT_PLTRELSZ) bytes = d->d_un.d_val;
        if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB) names = (const char *)d->d_un.d_ptr;
        if (d->d_tag == DT_PLTREL && d->d_un.d_val != DT_RELA) return NULL;
    }
    if (!entries || !symbols || !names) return NULL;
    for (size_t k = 0; k < bytes / sizeof *entries; k++) {
        if (ELF64_R_TYPE(entries[k].r_info) != R_X86_64_JUMP_SLOT) continue;
        if (strcmp(names + symbols[ELF64_R_SYM(entries[k].r_info)].st_name, symbol) != 0) continue;
        if (!is_writable(map, entries[k].r_offset)) return NULL;
        return (be_any_function **)(map->l_addr + entries[k].r_offset);
    }
    return NULL;
}

#else

#include <stddef.h>

be_any_function **be_linkage_entry(void *library, const char *symbol) {
    (void)library;
    (void)symbol;
    return NULL;
}

#endif

int be_linkage_replace(void *library, const be_replacement *replacements, int count) {
    int found = 0;
    for (int k = 0; k < count; k++) {
        be_any_function **entry = be_linkage_entry(library, replacements[k].symbol);
        if (entry == NULL) continue;
        if (replacements[k].theirs) *replacements[k].theirs = *entry;
        *entry = replacements[k].own;
        found++;
    }
    return found;
}
