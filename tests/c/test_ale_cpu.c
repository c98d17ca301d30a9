/* Compares the 6502 of ale_fast/cpu.c with the library's own. Both run the same instructions over the same memory and
 * devices. Registers and memory are compared, and each access to a device, with its cycle and what was on the bus. Also
 * checks that a machine gets batchenv's processor. Called with the path of the library, the path of a ROM, a seed and a
 * number of runs. */
#define _GNU_SOURCE
#include "ale_machine.h"

#include "engines/atari/ale_fast/ale_fast.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SPACE 8192

typedef struct side side;
typedef struct test_device {
    ale_device base;
    side *owner;
} test_device;

struct side {
    ale_system system;
    ale_cpu cpu;
    ale_page pages[ALE_NUM_PAGES];
    test_device device;
    uint8_t memory[2][SPACE]; /* two banks */
    uint64_t seed, accesses, log;
};

static void note(side *s, uint64_t what) { s->log = mix(s->log ^ mix(what)); }

/* What devices do: stop the processor, interrupt it, take time, change the bank. */
static uint64_t happens(side *s, uint64_t address, uint64_t value) {
    note(s, address << 32 | value << 16 | s->system.bus);
    note(s, s->system.cycles);
    const uint64_t draw = mix(s->seed + ++s->accesses);
    if (draw % 16 == 0) s->cpu.status |= ALE_STOP;
    if (draw % 16 == 1) s->cpu.status |= 4;
    if (draw % 16 == 2) s->cpu.status |= 8;
    if (draw % 64 == 3) s->cpu.status |= ALE_FATAL;
    if (draw >> 8 & 1) s->system.cycles += (uint32_t)(draw >> 16 & 63);
    if ((draw >> 9 & 3) == 0) {
        for (int p = 0; p < ALE_NUM_PAGES; p++) {
            ale_page *page = &s->pages[p];
            if (page->peek) page->peek = s->memory[page->peek < s->memory[1]] + p * ALE_PAGE_BYTES;
            if (page->poke) page->poke = s->memory[page->poke < s->memory[1]] + p * ALE_PAGE_BYTES;
        }
    }
    return draw;
}

static uint8_t peek(ale_device *device, uint16_t address) {
    return (uint8_t)(happens(((test_device *)device)->owner, address, 0x100) >> 32);
}

static void poke(ale_device *device, uint16_t address, uint8_t value) {
    side *s = ((test_device *)device)->owner;
    /* Except what interrupts push, which an Atari does not have. */
    if (!(s->cpu.status & ALE_INTERRUPTS)) note(s, s->cpu.last_was_read);
    happens(s, address, value);
}

static const ale_device_functions functions = {.peek = peek, .poke = poke};

static void set_up(side *s, uint64_t seed, int run, const uint32_t *cycles_of) {
    memset(s, 0, sizeof *s);
    s->seed = mix(seed + (uint64_t)run * 3);
    s->device = (test_device){{&functions}, s};
    s->system.pages = s->pages;
    s->system.cycles = (uint32_t)mix(s->seed + 1);
    s->system.bus = (uint8_t)mix(s->seed + 2);
    s->system.cpu = &s->cpu;
    for (size_t i = 0; i < sizeof s->memory; i += 8) {
        const uint64_t bytes = mix(s->seed ^ i << 20);
        memcpy(&s->memory[0][0] + i, &bytes, 8);
    }
    const uint64_t pages = mix(s->seed + 5), kind = pages % 4; /* 0: devices only; 3: memory only */
    for (int p = 0; p < ALE_NUM_PAGES; p++) {
        const uint64_t draw = mix(pages + (uint64_t)p);
        const unsigned bank = draw >> 8 & 1;
        s->pages[p].device = &s->device.base;
        if (kind && (kind == 3 || draw & 1)) s->pages[p].peek = s->memory[bank] + p * ALE_PAGE_BYTES;
        if (kind && (kind == 3 || draw & 2)) s->pages[p].poke = s->memory[bank] + p * ALE_PAGE_BYTES;
    }
    const uint64_t draw = mix(s->seed + 6);
    ale_cpu *cpu = &s->cpu;
    cpu->a = (uint8_t)draw;
    cpu->x = (uint8_t)(draw >> 8);
    cpu->y = (uint8_t)(draw >> 16);
    cpu->sp = (uint8_t)(draw >> 24);
    cpu->pc = (uint16_t)(draw >> 32);
    cpu->n = draw >> 48 & 1;
    cpu->v = draw >> 49 & 1;
    cpu->b = draw >> 50 & 1;
    cpu->d = draw >> 51 & 1;
    cpu->i = draw >> 52 & 1;
    cpu->not_z = draw >> 53 & 1;
    cpu->c = draw >> 54 & 1;
    cpu->status = (uint8_t)(draw >> 56 & (draw >> 60 ? 0xd : 0xf)); /* mostly without ALE_FATAL */
    cpu->system = &s->system;
    cpu->system_cycles = 1;
    memcpy(cpu->cycles_of, cycles_of, sizeof cpu->cycles_of);
    s->memory[0][cpu->pc % SPACE] = s->memory[1][cpu->pc % SPACE] = (uint8_t)run; /* every opcode in turn */
}

static void describe(const char *name, const side *s) {
    const ale_cpu *c = &s->cpu;
    printf("%s: pc %04x a %02x x %02x y %02x sp %02x n%d v%d b%d d%d i%d z%d c%d status %x opcode %02x cycles %u bus "
           "%02x, "
           "%lu accesses %lx\n",
           name, c->pc, c->a, c->x, c->y, c->sp, c->n, c->v, c->b, c->d, c->i, !c->not_z, c->c, c->status, c->opcode,
           s->system.cycles, s->system.bus, (unsigned long)s->accesses, (unsigned long)s->log);
}

static int same(const side *p, const side *q) {
    for (int i = 0; i < ALE_NUM_PAGES; i++) {
        const ale_page *a = &p->pages[i], *b = &q->pages[i];
        if ((a->peek ? a->peek - p->memory[0] : -1) != (b->peek ? b->peek - q->memory[0] : -1)) return 0;
    }
    return memcmp(&p->cpu.a, &q->cpu.a, offsetof(ale_cpu, system) - offsetof(ale_cpu, a)) == 0 && p->log == q->log &&
           p->system.cycles == q->system.cycles && p->system.bus == q->system.bus && p->accesses == q->accesses &&
           memcmp(p->memory, q->memory, sizeof p->memory) == 0;
}

/* Whether a new machine gets batchenv's processor and picture chip once the library is known, and works. */
static int attaches(void *handle, const char *rom) {
    void (*reset)(void *), (*delete)(void *);
    int (*act)(void *, int);
    find_function(handle, "ALE_del", &delete);
    find_function(handle, "reset_game", &reset);
    find_function(handle, "act", &act);
    void *machine = make_machine(handle, rom);
    const ale_cpu *cpu = system_of(machine)->cpu;
    const void *before = cpu->functions;
    if (be_ale_fast_finish(machine) != NULL || cpu->functions != before) return 0; /* the library is not known yet */
    be_ale_fast_open(handle);
    be_ale_console *console = be_ale_fast_finish(machine);
    const int attached = console && console->cpu == cpu && cpu->functions == console->cpu_table + ALE_TABLE_FRONT &&
                         console->picture->device.functions == (void *)(console->picture_table + ALE_TABLE_FRONT) &&
                         console->program != NULL;
    reset(machine);
    for (int frame = 0; frame < 200; frame++) act(machine, frame / 10 % 6);
    delete(machine);
    be_ale_fast_close(console);
    return attached;
}

static uint8_t read_timer(ale_device *device, uint16_t address) { return (void)device, (void)address, 0; }

/* Loops that wait for the timer: as many turns are left out as leave it above 0, each of them for two instructions, and
 * none where something else is read. Returns how many answers are wrong. */
static int leave_out_turns(uint64_t seed, int runs) {
    static const ale_device_functions timers = {.peek = read_timer};
    int wrong = 0, left_out = 0;
    be_ale_cpu_riot_peek = read_timer;
    for (int run = 0; run < runs; run++) {
        const uint64_t draw = mix(seed + (uint64_t)run);
        const unsigned address = 0x280 + (draw & 31);
        const uint32_t cycles = (uint32_t)mix(draw), of_turn = 7 + (draw >> 5 & 1), left = 1 + (draw >> 8 & 0xfff);
        ale_riot riot = {.timer = draw >> 20 & 0xff, .shift = (uint32_t[]){0, 3, 6, 10}[draw >> 28 & 3]};
        riot.device.functions = run % 8 ? &timers : &functions;
        riot.set_at = cycles - 1 - (uint32_t)(draw >> 32 & 0x3fff);
        uint32_t expected = 0;
        if (run % 8 && (address & 5) == 4 && riot.timer > 0) {
            /* What the timer shows at a read: one less at once, and again after each interval. */
            const int64_t interval = INT64_C(1) << riot.shift;
            for (int64_t since = cycles - 1 - riot.set_at; expected * 2 + 2 < left; expected++) {
                if (riot.timer - 1 - (since + (expected + 1) * of_turn) / interval <= 0) break;
            }
        }
        wrong += be_ale_idle_turns(&riot.device, address, cycles, of_turn, left) != expected;
        left_out += expected > 0;
    }
    be_ale_cpu_riot_peek = NULL;
    return wrong + (left_out < runs / 20);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    void *handle = open_library(argv[1]);
    ale_execute *theirs;
    find_function(handle, "_ZN8M6502Low7executeEj", &theirs);
    find_function(handle, "_ZN8M6502Low16interruptHandlerEv", &be_ale_cpu_interrupt);
    const uint32_t *cycles_of;
    find_function(handle, "_ZN5M650233ourInstructionProcessorCycleTableE", &cycles_of);
    /* The library's processor fills the tables that decimal mode uses. */
    void (*construct)(void *, unsigned);
    find_function(handle, "_ZN8M6502LowC1Ej", &construct);
    construct(calloc(1, 0x438), 1);
    if (!attaches(handle, argv[2])) return printf("a machine does not get our processor\n"), 1;
    const int silent = open("/dev/null", O_WRONLY); /* for the library's lines about illegal instructions */
    dup2(silent, 2);

    static side mine, others;
    const uint64_t seed = strtoull(argv[3], NULL, 0);
    const int runs = atoi(argv[4]);
    uint64_t accesses = 0;
    int failed = 0, of[256] = {0};
    for (int run = 0; run < runs; run++) {
        const uint32_t number = (uint32_t)(mix(seed ^ (uint64_t)run << 32) % 4 ? run % 2 : 40);
        set_up(&mine, seed, run, cycles_of);
        set_up(&others, seed, run, cycles_of);
        const uint8_t result = be_ale_cpu_execute(&mine.cpu, number), expected = theirs(&others.cpu, number);
        accesses += others.accesses;
        if (result != expected || !same(&mine, &others)) {
            failed++;
            if (number == 1 && of[run & 0xff]++ == 0) {
                printf("opcode %02x, run %d:\n", run & 0xff, run);
                describe("  ours", &mine);
                describe("theirs", &others);
            }
        }
    }
    const int misjudged = leave_out_turns(seed, runs);
    printf("%d idle loops, %d misjudged\n", runs, misjudged);
    printf("%d runs, %lu accesses to devices, %d differ\n", runs, (unsigned long)accesses, failed);
    return failed || misjudged || accesses == 0;
}
