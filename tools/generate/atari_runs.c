/* Plays a game with random actions, and prints which instructions the processor executes one behind the other, for
 * atari_sequences.py: on each line how often, and then opcodes with the kinds of their operands (handlers.h of
 * ale_fast). Called with the path of the library, the path of a ROM, and a number of frames. */
#define be_ale_run counted_run
#include "engines/atari/ale_fast/attach.c"
#undef be_ale_run
#include "engines/atari/ale_fast/program.c"
#include "engines/atari/emulator.h"

#include <stdio.h>

#define KIND_NAME(number) #number,
static const char *const kind_names[] = {
    BE_ALE_REGISTERS(KIND_NAME) "NONE", "RAM", "TIA", "ROM", "LOW", "ANY", "IDLE", "NEAR", "FAR"};

enum { LONGEST = 64, ROOM = 1 << 16 };

/* What is executed between two jumps, or up to what is not decoded. */
typedef struct stretch {
    uint64_t times;
    uint32_t count;
    uint16_t tokens[LONGEST];
} stretch;

static stretch stretches[ROOM], now;
static uint64_t executed, declined;

static void end_stretch(void) {
    if (now.count == 0) return;
    uint32_t slot = now.count;
    for (uint32_t k = 0; k < now.count; k++) slot = (slot ^ now.tokens[k]) * 0x9e3779b1u >> 3;
    for (;; slot++) {
        stretch *s = &stretches[slot % ROOM];
        if (s->times && (s->count != now.count || memcmp(s->tokens, now.tokens, now.count * sizeof *now.tokens))) {
            continue;
        }
        const uint64_t times = s->times + 1;
        *s = now;
        s->times = times;
        break;
    }
    memset(&now, 0, sizeof now);
}

/* Executes instructions with the interpreter, one at a time. */
uint8_t counted_run(ale_cpu *cpu, uint32_t number) {
    const be_ale_console *c = be_ale_console_of(cpu);
    unsigned expected = UINT32_MAX;
    uint8_t done = 1;
    cpu->status &= ALE_FATAL;
    for (; number > 0 && done && !cpu->status; number--) {
        unsigned token = 0;
        const unsigned pc = cpu->pc;
        const ale_cartridge_kind *kind = c->program ? c->program->kind : NULL;
        if (kind) {
            const unsigned number_of_page = pc >> ALE_PAGE_SHIFT & (ALE_NUM_PAGES - 1);
            const ale_page *page = &cpu->system->pages[number_of_page];
            uintptr_t offset = pc % ALE_PAGE_BYTES;
            if (number_of_page == ALE_NUM_PAGES - 1 && page->peek == NULL) offset += ALE_PAGE_BYTES, page--;
            offset += (uintptr_t)page->peek - (uintptr_t)c->image;
            if (kind->by_address) offset = pc & 0x1000 ? (pc & 0xfff) + (pc & 0x2000 ? 0 : 0x1000) : kind->bytes;
            if (offset < kind->bytes) token = token_of(kind, c->program->image, (unsigned)offset);
        }
        if (pc != expected || now.count == LONGEST || !token || token % NUM_KINDS == KIND_IDLE) end_stretch();
        executed++;
        declined += !token;
        expected = pc + bytes_of(token / NUM_KINDS);
        if (token && token % NUM_KINDS != KIND_IDLE) now.tokens[now.count++] = (uint16_t)token;
        done = be_ale_cpu_execute(cpu, 1);
        if (token % NUM_KINDS == KIND_IDLE && cpu->not_z) { /* the loop goes on, and takes no time in decoded code */
            done = be_ale_cpu_execute(cpu, 1);
            expected = UINT32_MAX;
        }
    }
    end_stretch();
    return done;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const be_emulator_type *type = &be_emulator_ale;
    const be_cartridge cartridge = {
        .library = argv[1], .rom = argv[2], .name = argv[2], .mode = -1, .difficulty = -1, .players = 1, .fast = 1};
    be_error error;
    be_emulator *machine = type->open(&cartridge, &error);
    if (machine == NULL) return fprintf(stderr, "%s\n", error.message), 1;
    type->reset(machine);
    uint32_t draw = 1;
    int action = 0;
    for (int frame = 0; frame < atoi(argv[3]); frame++) {
        if (type->over(machine)) type->reset(machine);
        draw = draw * 1664525u + 1013904223u;
        if (frame % 4 == 0) action = (int)(draw >> 16) % BE_NUM_ACTIONS;
        type->act(machine, action);
    }
    for (int k = 0; k < ROOM; k++) {
        if (!stretches[k].times) continue;
        printf("%llu", (unsigned long long)stretches[k].times);
        for (uint32_t i = 0; i < stretches[k].count; i++) {
            const unsigned token = stretches[k].tokens[i];
            printf(" %02x:%s", token / NUM_KINDS, kind_names[token % NUM_KINDS]);
        }
        printf("\n");
    }
    fprintf(stderr, "%llu instructions, %llu of them for the interpreter\n", (unsigned long long)executed,
            (unsigned long long)declined);
    type->close(machine);
    return 0;
}
