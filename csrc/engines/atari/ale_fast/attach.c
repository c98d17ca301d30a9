/* Gives batchenv's machines a processor and a picture chip of our own. The library's objects are C++ objects, which
 * point to a table of virtual functions. The objects of each of our machines get copies of these tables, in which some
 * entries are ours. The library itself and the machines of other users in the process stay as they are.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "engines/atari/ale_fast/ale_fast.h"

#ifdef BE_HAVE_ALE_FAST
#include "engines/atari/ale_fast/averages.h"
#include "engines/atari/ale_fast/cartridge.h"
#include "engines/atari/ale_fast/controllers.h"
#include "engines/atari/ale_fast/drawing.h"
#include "engines/atari/ale_fast/frames.h"
#include "engines/atari/ale_fast/program.h"
#include "engines/atari/ale_fast/registers.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define CPU_EXECUTE (ALE_TABLE_FRONT + 9)

ale_picture_library be_ale_picture_library;

/* The library's tables; NULL if it is not the known build. */
static void *const *cpu_table, *const *picture_table;

/* The screen that the library would fill in after every frame. */
typedef struct ale_screen {
    int rows, columns;
    uint8_t *pixels;
} ale_screen;

static ale_screen *(*screen_of)(void *ale);

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

/* Looks a symbol up and writes it to *target; counts what is missing. */
static void find(void *handle, const char *name, void *target, int *missing) {
    void *symbol = dlsym(handle, name);
    memcpy(target, &symbol, sizeof symbol);
    *missing += symbol == NULL;
}

void be_ale_fast_open(void *handle) {
    struct link_map *map;
    be_ale_averages_find(handle);
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || digest_of_code(map) != KNOWN_CODE) return;
    void *const *cpu, *const *picture, *execute, *peek, *poke;
    int missing = 0;
    find(handle, "_ZTV8M6502Low", &cpu, &missing);
    find(handle, "_ZN8M6502Low7executeEj", &execute, &missing);
    find(handle, "_ZN8M6502Low16interruptHandlerEv", &be_ale_cpu_interrupt, &missing);
    find(handle, "_ZN5M65324peekEt", &be_ale_cpu_riot_peek, &missing);
    find(handle, "_ZN3ale12ALEInterface9getScreenEv", &screen_of, &missing);
    find(handle, "_ZTV3TIA", &picture, &missing);
    find(handle, "_ZN3TIA4peekEt", &peek, &missing);
    find(handle, "_ZN3TIA4pokeEth", &poke, &missing);
    find(handle, "_ZN3TIA4peekEt", &LIB.peek, &missing);
    find(handle, "_ZN9SoundNull3setEthi", &LIB.silence, &missing);
    find(handle, "_ZN3TIA16ourBallMaskTableE", &LIB.balls, &missing);
    find(handle, "_ZN3TIA18ourMissleMaskTableE", &LIB.missiles, &missing);
    find(handle, "_ZN3TIA18ourPlayerMaskTableE", &LIB.players, &missing);
    find(handle, "_ZN3TIA20ourDisabledMaskTableE", &LIB.no_missile, &missing);
    find(handle, "_ZN3TIA17ourPlayfieldTableE", &LIB.fields, &missing);
    find(handle, "_ZN3TIA17ourCollisionTableE", &LIB.collisions, &missing);
    find(handle, "_ZN3TIA31ourPlayerPositionResetWhenTableE", &LIB.resets, &missing);
    find(handle, "_ZN3TIA22ourCompleteMotionTableE", &LIB.motion, &missing);
    find(handle, "_ZN10Controller17minimumResistanceE", &LIB.least_resistance, &missing);
    find(handle, "_ZN10Controller17maximumResistanceE", &LIB.most_resistance, &missing);
    if (missing || cpu[CPU_EXECUTE] != execute || picture[ALE_PEEK] != peek || picture[ALE_POKE] != poke) {
        return;
    }
    be_ale_drawing_open();
    cpu_table = cpu;
    picture_table = picture;
}

/* ---- machines -------------------------------------------------------------------------------------------- */

/* What the library calls for each frame. */
static uint8_t execute(ale_cpu *cpu, uint32_t number) {
    be_ale_console *c = be_ale_console_of(cpu);
    be_ale_frame_begin(c);
    const uint8_t done = be_ale_run(cpu, number);
    be_ale_frame_end(c);
    return done;
}

static int is_usual_cpu(const ale_cpu *cpu, const ale_system *system) {
    if (cpu->functions != cpu_table + ALE_TABLE_FRONT || cpu->system != system || cpu->system_cycles != 1) return 0;
    for (int opcode = 0; opcode < 256; opcode++) {
        if (cpu->cycles_of[opcode] != be_ale_cpu_cycles[opcode]) return 0;
    }
    return 1;
}

static int is_usual_picture(const ale_picture *t) {
    static const uint8_t all[6] = {1, 1, 1, 1, 1, 1}; /* no object has been switched off */
    return (const void *)t->device.functions == picture_table + ALE_TABLE_FRONT && t->x_start == 0 &&
           t->width == ALE_WIDTH && !t->fast && memcmp(t->bits, all, sizeof all) == 0 &&
           t->color_back == &t->colors[ALE_COLOR_BACK] && t->color_field == &t->colors[ALE_COLOR_FIELD] &&
           t->color_p0 == &t->colors[ALE_COLOR_P0] && t->color_p1 == &t->colors[ALE_COLOR_P1];
}

void be_ale_fast_begin(void) { be_ale_averages_skip(1); }

be_ale_console *be_ale_fast_finish(void *ale) {
    be_ale_averages_skip(0);
    if (cpu_table == NULL) return NULL;
    /* From the machine to its OSystem, to its Console, to its System. */
    const char *console = *(char **)(*(char **)ale + 0x28);
    ale_system *system = *(ale_system **)(console + 0x2e0);
    ale_cpu *cpu = system->cpu;
    ale_picture *picture = (ale_picture *)system->tia;
    ale_screen *screen = screen_of(ale);
    if (!is_usual_cpu(cpu, system) || !is_usual_picture(picture) || screen->columns != ALE_WIDTH ||
        screen->rows != (int)picture->height || screen->rows > BE_SCREEN_MAX_HEIGHT) {
        return NULL;
    }
    be_ale_console *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL; /* the machine works without it */
    c->cpu = cpu;
    c->system = system;
    c->picture = picture;
    be_ale_find_controllers(c);
    be_ale_program_attach(c);
    be_ale_cartridge_attach(c);
    be_ale_frames_open(c, screen->rows, screen->pixels);
    memcpy(c->cpu_table, cpu_table, sizeof c->cpu_table);
    memcpy(c->picture_table, picture_table, sizeof c->picture_table);
    uint8_t (*const peek)(ale_device *, uint16_t) = be_ale_picture_peek;
    void (*const poke)(ale_device *, uint16_t, uint8_t) = be_ale_picture_poke;
    ale_execute *const function = execute;
    memcpy(&c->cpu_table[CPU_EXECUTE], &function, sizeof function);
    memcpy(&c->picture_table[ALE_PEEK], &peek, sizeof peek);
    memcpy(&c->picture_table[ALE_POKE], &poke, sizeof poke);
    cpu->functions = c->cpu_table + ALE_TABLE_FRONT;
    picture->device.functions = (const ale_device_functions *)(c->picture_table + ALE_TABLE_FRONT);
    screen->rows = 0; /* so that the library copies no pictures into it */
    return c;
}

void be_ale_fast_close(be_ale_console *c) {
    if (c == NULL) return;
    be_ale_program_detach(c);
    free(c);
}

#endif
