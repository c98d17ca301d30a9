/* The 6502 of ale_cpu.c against the library's own: the same instructions over the same memory and devices, one after
 * the other, and everything compared: registers, memory, and each access to a device, with the cycle it came at and
 * what was on the bus. And a machine gets our processor. Called with the library's path, a ROM's, a seed and a number
 * of runs. */
#define _GNU_SOURCE
#include "../../csrc/engines/ale_attach.c"
#include "../../csrc/engines/ale_cpu.c"
#include "../../csrc/engines/ale_tia.c"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

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
    /* but for what interrupts push, of which there are none on an Atari */
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
    cpu->status = (uint8_t)(draw >> 56 & (draw >> 60 ? 0xd : 0xf)); /* mostly without a fatal error */
    cpu->system = &s->system;
    cpu->system_cycles = 1;
    memcpy(cpu->cycles_of, cycles_of, sizeof cpu->cycles_of);
    s->memory[0][cpu->pc % SPACE] = s->memory[1][cpu->pc % SPACE] = (uint8_t)run; /* every opcode has its turn */
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

/* The processor that a new machine has, before and after; the machine's TIA. */
static int attaches(void *handle, const char *rom, const ale_tia **tia) {
    void *(*make)(void);
    void (*load)(void *, const char *), (*quiet)(int), (*reset)(void *);
    int (*act)(void *, int);
    *(void **)&make = dlsym(handle, "ALE_new");
    *(void **)&load = dlsym(handle, "loadROM");
    *(void **)&quiet = dlsym(handle, "setLoggerMode");
    *(void **)&reset = dlsym(handle, "reset_game");
    *(void **)&act = dlsym(handle, "act");
    quiet(2);
    void *machine = make();
    load(machine, rom);
    be_ale_cpu_attach(machine); /* the library is not known yet */
    const char *console = *(char **)(*(char **)machine + 0x28);
    const ale_cpu *cpu = (*(ale_system **)(console + 0x2e0))->cpu;
    const void *before = cpu->functions;
    be_ale_cpu_open(handle);
    setenv("BATCHENV_ALE_CPU", "0", 1);
    be_ale_cpu_attach(machine);
    const void *still = cpu->functions;
    *tia = (const ale_tia *)cpu->system->tia;
    unsetenv("BATCHENV_ALE_CPU");
    be_ale_cpu_attach(machine);
    reset(machine);
    for (int frame = 0; frame < 200; frame++) act(machine, frame / 10 % 6);
    return before == still && before != cpu->functions && cpu->functions == own_table + TABLE_FRONT;
}

/* Pieces of lines with random objects in them; how many differ. */
static int draw_lines(const ale_tia *like, uint64_t seed, int runs, int *by_sixteen) {
    static uint8_t masks[6][512], screens[2][SEEN];
    static uint32_t field_mask[512];
    static ale_tia both[2];
    int failed = 0;
    for (int run = 0; run < runs; run++) {
        const uint64_t draws = mix(seed + (uint64_t)run), objects = mix(draws), bits = mix(draws + 1);
        const unsigned first = draws % SEEN, columns = 1 + (draws >> 16) % (SEEN - first);
        const unsigned density = draws >> 24 & 3;
        for (int i = 0; i < 512; i++) {
            const uint64_t column = mix(draws ^ (uint64_t)(i / 4 * 4) << 32), pixel = mix(draws ^ (uint64_t)i << 40);
            for (int k = 0; k < 5; k++) {
                const int there = (column >> k * 8 & 3) <= density;
                masks[k][i] = (uint8_t)(!there ? 0u : k < 2 ? 1u << (pixel >> k * 8 & 7) : pixel >> k * 8 & 1u);
            }
            field_mask[i] = 1u << column % 20;
        }
        for (int k = 0; k < 2; k++) {
            ale_tia *t = &both[k];
            *t = *like;
            for (int i = 0; i < 4; i++) {
                t->colours[i] = (uint32_t)(2 + 16 * i) * 0x01010101u;
                const uint32_t *colour = &t->colours[i];
                memcpy((char *)t + 0x2b0 + 8 * i, &colour, sizeof colour); /* the library reads them through this */
            }
            t->vblank = bits % 64 == 0 ? 2 : 0;
            t->playfield_mode = (uint8_t)(bits >> 8 & 0xc0);
            t->playfield = bits >> 16 & 1 ? 0 : (uint32_t)(objects >> 40 & 0xfffff);
            t->player_bits[0] = (uint8_t)(bits >> 17 & 1 ? 0 : objects);
            t->player_bits[1] = (uint8_t)(bits >> 18 & 1 ? 0 : objects >> 8);
            t->enabled = (uint8_t)((t->playfield ? PLAYFIELD : 0) | (t->player_bits[0] ? PLAYER_0 : 0) |
                                   (t->player_bits[1] ? PLAYER_1 : 0) | (bits >> 24 & (BALL | MISSILE_0 | MISSILE_1)));
            t->collisions = 0;
            for (int i = 0; i < 2; i++) t->player_mask[i] = masks[i], t->missile_mask[i] = masks[2 + i];
            t->ball_mask = masks[4];
            t->playfield_mask = field_mask;
            memset(screens[k], 0xee, SEEN);
            t->next_pixel = screens[k] + first;
        }
        *by_sixteen += columns >= 16 && !both[0].vblank && (both[0].enabled & OBJECTS) &&
                       !drawn_by_fours(both[0].enabled & OBJECTS, both[0].playfield_mode);
        draw(&both[0], columns, first);
        be_ale_tia.draw(&both[1], columns, first);
        if (memcmp(screens[0], screens[1], SEEN) || both[0].collisions != both[1].collisions ||
            both[0].next_pixel - screens[0] != both[1].next_pixel - screens[1]) {
            if (failed++ < 10) {
                printf("a line of %u columns from %u, objects %x, mode %x: collisions %x, theirs %x\n", columns, first,
                       both[0].enabled, both[0].playfield_mode, both[0].collisions, both[1].collisions);
            }
        }
    }
    return failed;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    void *handle = dlopen(argv[1], RTLD_NOW);
    if (handle == NULL) return printf("%s\n", dlerror()), 2;
    ale_execute *theirs = NULL;
    *(void **)&theirs = dlsym(handle, "_ZN8M6502Low7executeEj");
    *(void **)&be_ale_cpu_interrupt = dlsym(handle, "_ZN8M6502Low16interruptHandlerEv");
    const uint32_t *cycles_of = dlsym(handle, "_ZN5M650233ourInstructionProcessorCycleTableE");
    /* a processor of theirs fills the tables that decimal mode uses */
    void (*construct)(void *, unsigned) = NULL;
    *(void **)&construct = dlsym(handle, "_ZN8M6502LowC1Ej");
    if (!theirs || !be_ale_cpu_interrupt || !cycles_of || !construct) return 2;
    construct(calloc(1, 0x438), 1);
    const ale_tia *tia;
    if (!attaches(handle, argv[2], &tia)) return printf("a machine does not get our processor\n"), 1;
    const int silent = open("/dev/null", O_WRONLY); /* the library's lines about illegal instructions */
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
    int by_sixteen = 0;
    const int wrong = draw_lines(tia, seed, runs, &by_sixteen);
    printf("%d pieces of lines, %d by sixteen columns, %d differ\n", runs, by_sixteen, wrong);
    printf("%d runs, %lu accesses to devices, %d differ\n", runs, (unsigned long)accesses, failed);
    return failed || wrong || accesses == 0 || by_sixteen < runs / 10;
}
