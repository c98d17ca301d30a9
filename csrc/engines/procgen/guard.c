#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dlinfo */
#endif
#include "engines/procgen/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The guarded call of this thread. */
static _Thread_local struct {
    jmp_buf *end; /* NULL: there is none */
    char said[200];
} present;

int be_guard_run(void (*call)(void *), void *context) {
    jmp_buf end;
    present.said[0] = '\0';
    if (setjmp(end) != 0) {
        present.end = NULL;
        return 0;
    }
    present.end = &end;
    call(context);
    present.end = NULL;
    return 1;
}

const char *be_guard_said(void) { return present.said; }

#if defined(__linux__) && defined(__x86_64__)

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

static void end_call(const char *why) {
    if (present.end == NULL) return;
    if (present.said[0] == '\0') snprintf(present.said, sizeof present.said, "%s", why);
    longjmp(*present.end, 1);
}

/* ---- functions in place of others ------------------------------------------------------------------- */

typedef void function(uintptr_t, uintptr_t, uintptr_t, uintptr_t);

/* X(name, symbol): functions that do not return. All arguments are in registers. */
#define ENDS(X)                                                                                                        \
    X(exit, "exit")                                                                                                    \
    X(abort, "abort")                                                                                                  \
    X(exception, "__cxa_throw")                                                                                        \
    X(bad_alloc, "_ZSt17__throw_bad_allocv")                                                                           \
    X(bad_cast, "_ZSt16__throw_bad_castv")                                                                             \
    X(bad_function_call, "_ZSt25__throw_bad_function_callv")                                                           \
    X(logic_error, "_ZSt19__throw_logic_errorPKc")                                                                     \
    X(length_error, "_ZSt20__throw_length_errorPKc")                                                                   \
    X(out_of_range, "_ZSt20__throw_out_of_rangePKc")                                                                   \
    X(out_of_range_fmt, "_ZSt24__throw_out_of_range_fmtPKcz")                                                          \
    X(system_error, "_ZSt20__throw_system_errori")

#define OWN(name, symbol)                                                                                              \
    static function *their_##name;                                                                                     \
    static void own_##name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {                                       \
        end_call(#name);                                                                                               \
        their_##name(a, b, c, d);                                                                                      \
    }
ENDS(OWN)
#undef OWN

/* What a guarded call prints is kept, since it says why the call is about to be ended. */
__attribute__((format(printf, 1, 2))) static int own_printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int count =
        present.end ? vsnprintf(present.said, sizeof present.said, format, arguments) : vprintf(format, arguments);
    va_end(arguments);
    present.said[strcspn(present.said, "\n")] = '\0';
    return count;
}

static const struct {
    const char *symbol;
    function *own, **theirs;
} replaced[] = {
#define ROW(name, symbol) {symbol, own_##name, &their_##name},
    ENDS(ROW)
#undef ROW
};

/* ---- the linkage table ------------------------------------------------------------------------------ */

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

/* Replaces one entry, if it is one of those. Returns 1 if the entry is that of exit(). */
static int replace(const char *name, void **entry) {
    if (strcmp(name, "printf") == 0) {
        int (*own)(const char *, ...) = own_printf;
        memcpy(entry, &own, sizeof own);
    }
    for (size_t k = 0; k < sizeof replaced / sizeof replaced[0]; k++) {
        if (strcmp(name, replaced[k].symbol) != 0) continue;
        memcpy(replaced[k].theirs, entry, sizeof *entry);
        memcpy(entry, &replaced[k].own, sizeof *entry);
        return k == 0;
    }
    return 0;
}

int be_guard_install(void *library) {
    struct link_map *map;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return 0;
    const ElfW(Rela) *entries = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    size_t bytes = 0;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_JMPREL) entries = (const ElfW(Rela) *)d->d_un.d_ptr;
        if (d->d_tag == DT_PLTRELSZ) bytes = d->d_un.d_val;
        if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB) names = (const char *)d->d_un.d_ptr;
        if (d->d_tag == DT_PLTREL && d->d_un.d_val != DT_RELA) return 0;
    }
    if (!entries || !symbols || !names) return 0;
    int found = 0;
    for (size_t k = 0; k < bytes / sizeof *entries; k++) {
        if (ELF64_R_TYPE(entries[k].r_info) != R_X86_64_JUMP_SLOT || !is_writable(map, entries[k].r_offset)) continue;
        const char *name = names + symbols[ELF64_R_SYM(entries[k].r_info)].st_name;
        found |= replace(name, (void **)(map->l_addr + entries[k].r_offset));
    }
    return found;
}

#else

int be_guard_install(void *library) {
    (void)library;
    return 0;
}

#endif
