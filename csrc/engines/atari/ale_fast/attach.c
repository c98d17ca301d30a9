/* Gives batchenv's machines the processor of cpu.c. The library's objects are C++ objects, which point to a table of
 * virtual functions. The processor object of each of our machines gets a copy of this table, in which one entry is
 * ours. The library itself and the machines of other users in the process stay as they are.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "engines/atari/ale_fast/ale_fast.h"

#ifdef BE_HAVE_ALE_FAST
#include "engines/atari/ale_fast/averages.h"
#include "engines/atari/ale_fast/layout.h"
#include "engines/atari/ale_fast/picture.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

/* The table has thirteen words: two, and then the functions; an object points to the first function. */
#define TABLE_WORDS 13
#define TABLE_FRONT 2
#define TABLE_EXECUTE 11

static void *const *their_table;
static void *own_table[TABLE_WORDS]; /* all NULL if the library is not the known build */

/* A digest of the library's code in memory. The code contains no addresses that depend on where it is loaded. */
static uint64_t digest_of_code(const struct link_map *map) {
    const char *base = (const char *)map->l_addr;
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)base;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < header->e_phnum; i++) {
        const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(base + header->e_phoff) + i;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
        for (size_t k = 0; k + 8 <= segment->p_filesz; k += 8) {
            uint64_t word;
            memcpy(&word, base + segment->p_vaddr + k, sizeof word);
            hash = (hash ^ word) * UINT64_C(0x100000001b3);
            hash ^= hash >> 32;
        }
        hash = (hash ^ segment->p_vaddr ^ segment->p_filesz << 32) * UINT64_C(0x100000001b3);
    }
    return hash;
}

#define KNOWN_CODE UINT64_C(0x3b4ee0bab86dbc0f)

void be_ale_fast_open(void *handle) {
    struct link_map *map;
    be_ale_averages_find(handle);
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || digest_of_code(map) != KNOWN_CODE) return;
    void *const *table = dlsym(handle, "_ZTV8M6502Low");
    void *execute = dlsym(handle, "_ZN8M6502Low7executeEj");
    *(void **)&be_ale_cpu_interrupt = dlsym(handle, "_ZN8M6502Low16interruptHandlerEv");
    *(void **)&be_ale_cpu_riot_peek = dlsym(handle, "_ZN5M65324peekEt");
    if (!table || !execute || !be_ale_cpu_interrupt || table[TABLE_EXECUTE] != execute) return;
    their_table = table;
    memcpy(own_table, table, sizeof own_table);
    ale_execute *const function = be_ale_picture_open(handle) ? be_ale_picture_execute : be_ale_cpu_execute;
    memcpy(&own_table[TABLE_EXECUTE], &function, sizeof function);
}

void be_ale_fast_begin(void) { be_ale_averages_skip(1); }

void be_ale_fast_finish(void *ale) {
    be_ale_averages_skip(0);
    if (their_table == NULL) return;
    /* From the machine to its OSystem, to its Console, to its System. */
    const char *console = *(char **)(*(char **)ale + 0x28);
    const ale_system *system = *(ale_system **)(console + 0x2e0);
    ale_cpu *cpu = system->cpu;
    if (cpu->functions != their_table + TABLE_FRONT || cpu->system != system || cpu->system_cycles != 1) return;
    for (int opcode = 0; opcode < 256; opcode++) {
        if (cpu->cycles_of[opcode] != be_ale_cpu_cycles[opcode]) return;
    }
    cpu->functions = own_table + TABLE_FRONT;
    be_ale_picture_attach((ale_device *)system->tia);
}

#endif
