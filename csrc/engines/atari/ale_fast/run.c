/* Executes decoded code (program.h): each entry leads to a piece of code, which ends with a jump to the next one. What
 * cannot be decoded is left to the interpreter, one instruction at a time: code in the console's memory or where a
 * device is, rare instructions, and the last instructions before the processor returns.
 */
#include "engines/atari/ale_fast/program.h"

#ifdef BE_HAVE_ALE_FAST
#include "engines/atari/ale_fast/handlers.h"
#include "engines/atari/ale_fast/semantics.h"
#include "engines/atari/ale_fast/sequences.h"
#include "engines/atari/ale_fast/decoded.h"

/* So many instructions are left to the interpreter, more than a handler executes. */
#define RESERVE 32

/* What the slow paths need to know about the fast one. */
typedef struct code_place {
    ale_system *system;
    const ale_device *timer;
    const ale_page *page; /* a page of the region that the code is in */
    const uint8_t *code;  /* its memory */
    int by_address;       /* see ale_cartridge_kind */
} code_place;

#define GONE 0x100

static const ale_page *page_of(const code_place *p, unsigned address) {
    return &p->system->pages[address >> ALE_PAGE_SHIFT & (ALE_NUM_PAGES - 1)];
}

/* What a slow access returns besides the byte: the cycles, and GONE if a device has stopped the processor or switched
 * the bank. */
static uint64_t after_device(const code_place *p, unsigned value) {
    const int gone = p->system->cpu->status || p->page->peek != p->code;
    if (gone) p->system->bus = (uint8_t)value;
    return (uint64_t)p->system->cycles << 32 | (gone ? GONE : 0) | value;
}

static __attribute__((noinline)) uint64_t slow_peek(const code_place *p, unsigned address, uint32_t cycles,
                                                    unsigned last) {
    const ale_page *page = page_of(p, address);
    if (page->peek) return (uint64_t)cycles << 32 | page->peek[address & (ALE_PAGE_BYTES - 1)];
    p->system->cycles = cycles;
    p->system->bus = (uint8_t)last;
    return after_device(p, page->device->functions->peek(page->device, (uint16_t)address));
}

static __attribute__((noinline)) uint64_t slow_poke(const code_place *p, unsigned address, unsigned value,
                                                    uint32_t cycles, unsigned last) {
    const ale_page *page = page_of(p, address);
    if (page->poke) {
        page->poke[address & (ALE_PAGE_BYTES - 1)] = (uint8_t)value;
        return (uint64_t)cycles << 32;
    }
    p->system->cycles = cycles;
    p->system->bus = (uint8_t)last;
    page->device->functions->poke(page->device, (uint16_t)address, (uint8_t)value);
    return after_device(p, value & 0xff);
}

/* Reads where reading has no effect; returns -1 elsewhere. */
static __attribute__((noinline)) int quiet_peek(const code_place *p, unsigned address) {
    const ale_page *page = page_of(p, address);
    if (page->peek) return page->peek[address & (ALE_PAGE_BYTES - 1)];
    if (!p->by_address || !(address & 0x1000)) return -1;
    return page->device->functions->peek(page->device, (uint16_t)address);
}

/* ---- handlers -------------------------------------------------------------------------------------------- */

/* Goes to the next entry, after this many instructions. */
#define DISPATCH(count)                                                                                                \
    do {                                                                                                               \
        if (UNLIKELY(__builtin_sub_overflow(left, (uint32_t)(count), &left))) goto spent;                              \
        goto *(void *)((uintptr_t)&&declined + (uintptr_t)ip->handler);                                                \
    } while (0)

#define ONE(opcode, kind, at, k)                                                                                       \
    {                                                                                                                  \
        cycles += BE_ALE_CYCLES(OP_##opcode);                                                                          \
        BE_ALE_DO(DECODED_, OP_##opcode, kind, (at), (k))                                                              \
    }
#define BYTES(opcode) BE_ALE_BYTES(OP_##opcode)
#define NEXT(bytes, count)                                                                                             \
    ip += (bytes);                                                                                                     \
    DISPATCH(count);

/* clang-format off */
#define SINGLE(o1, k1)                                                                                                 \
    do_##o1##_##k1: ONE(o1, k1, 0, 0) NEXT(BYTES(o1), 1)
#define SEQUENCE_2(o1, k1, o2, k2)                                                                                     \
    do_##o1##_##k1##_##o2##_##k2: ONE(o1, k1, 0, 0) ONE(o2, k2, BYTES(o1), 1) NEXT(BYTES(o1) + BYTES(o2), 2)
#define SEQUENCE_3(o1, k1, o2, k2, o3, k3)                                                                             \
    do_##o1##_##k1##_##o2##_##k2##_##o3##_##k3: ONE(o1, k1, 0, 0) ONE(o2, k2, BYTES(o1), 1)                            \
    ONE(o3, k3, BYTES(o1) + BYTES(o2), 2) NEXT(BYTES(o1) + BYTES(o2) + BYTES(o3), 3)
#define SEQUENCE_4(o1, k1, o2, k2, o3, k3, o4, k4)                                                                     \
    do_##o1##_##k1##_##o2##_##k2##_##o3##_##k3##_##o4##_##k4: ONE(o1, k1, 0, 0) ONE(o2, k2, BYTES(o1), 1)              \
    ONE(o3, k3, BYTES(o1) + BYTES(o2), 2) ONE(o4, k4, BYTES(o1) + BYTES(o2) + BYTES(o3), 3)                            \
    NEXT(BYTES(o1) + BYTES(o2) + BYTES(o3) + BYTES(o4), 4)
#define SEQUENCE_5(o1, k1, o2, k2, o3, k3, o4, k4, o5, k5)                                                             \
    do_##o1##_##k1##_##o2##_##k2##_##o3##_##k3##_##o4##_##k4##_##o5##_##k5: ONE(o1, k1, 0, 0)                          \
    ONE(o2, k2, BYTES(o1), 1) ONE(o3, k3, BYTES(o1) + BYTES(o2), 2)                                                    \
    ONE(o4, k4, BYTES(o1) + BYTES(o2) + BYTES(o3), 3) ONE(o5, k5, BYTES(o1) + BYTES(o2) + BYTES(o3) + BYTES(o4), 4)    \
    NEXT(BYTES(o1) + BYTES(o2) + BYTES(o3) + BYTES(o4) + BYTES(o5), 5)

#define OFFSET(label) (int32_t)((const char *)&&label - (const char *)&&declined),
#define SINGLE_LABEL(o1, k1) OFFSET(do_##o1##_##k1)
#define SEQUENCE_2_LABEL(o1, k1, o2, k2) OFFSET(do_##o1##_##k1##_##o2##_##k2)
#define SEQUENCE_3_LABEL(o1, k1, o2, k2, o3, k3) OFFSET(do_##o1##_##k1##_##o2##_##k2##_##o3##_##k3)
#define SEQUENCE_4_LABEL(o1, k1, o2, k2, o3, k3, o4, k4)                                                               \
    OFFSET(do_##o1##_##k1##_##o2##_##k2##_##o3##_##k3##_##o4##_##k4)
#define SEQUENCE_5_LABEL(o1, k1, o2, k2, o3, k3, o4, k4, o5, k5)                                                       \
    OFFSET(do_##o1##_##k1##_##o2##_##k2##_##o3##_##k3##_##o4##_##k4##_##o5##_##k5)
/* clang-format on */

/* If `offsets` is not NULL, it is set to where the code of each handler is, and nothing is executed. */
static __attribute__((noinline, noclone)) uint8_t run(be_ale_console *console, uint32_t number,
                                                      const int32_t **offsets) {
    static const int32_t labels[] = {0, BE_ALE_SINGLES(SINGLE_LABEL) BE_ALE_SEQUENCES(
                                            SEQUENCE_2_LABEL, SEQUENCE_3_LABEL, SEQUENCE_4_LABEL, SEQUENCE_5_LABEL)};
    if (offsets) {
        *offsets = labels;
        return 0;
    }
    const be_ale_program *const program = console->program;
    const ale_cartridge_kind *const kind = program->kind;
    ale_system *const system = console->system;
    ale_cpu *const cpu = console->cpu;
    const ale_page *const pages = system->pages, *const last_page = pages + ALE_NUM_PAGES - 1;
    uint8_t *const ram = pages[2].poke;
    const unsigned mask = kind->region_bytes - 1, rom_first = 0x1000u + kind->first, rom_bytes = kind->window;
    const unsigned plain_first = kind->first;
    code_place place = {
        .system = system, .timer = pages[0x280 >> ALE_PAGE_SHIFT].device, .by_address = kind->by_address};
    const ale_entry *ip, *region;
    const uint8_t *rom;
    unsigned a, x, y, sp, nz, carry, v, pc, base, plain_bytes;
    uint32_t cycles, left = number - RESERVE; /* "negative": the reserve has been reached */

    cpu->status &= ALE_FATAL;

again:
    if (cpu->status & ALE_INTERRUPTS) be_ale_cpu_interrupt(cpu);
    if (cpu->status & ALE_STOP) return 1;
    if (cpu->status & ALE_FATAL) return 0;
    cpu->last_was_read = 1; /* the first access will be a read */
    LOAD_REGISTERS;
    cycles = system->cycles;
    pc = cpu->pc;

enter:
    if (UNLIKELY((int32_t)left < 0)) goto finish;
    {
        place.page = page_of(&place, pc);
        uintptr_t offset = pc & (ALE_PAGE_BYTES - 1);
        /* The last page belongs to a device where it switches banks, but it shows the same region as the one before. */
        if (place.page == last_page && place.page->peek == NULL) {
            place.page--;
            offset += ALE_PAGE_BYTES;
        }
        place.code = place.page->peek;
        offset += (uintptr_t)place.code - (uintptr_t)console->image;
        if (kind->by_address && (pc & 0x1000)) offset = (pc & 0xfff) + (pc & 0x2000 ? 0 : 0x1000);
        if (UNLIKELY(offset >= kind->bytes)) goto interpret;
        base = pc & ~mask;
        rom = console->image + (offset & ~(uintptr_t)mask);
        region = program->entries + (offset & ~(uintptr_t)mask);
        plain_bytes = (offset | mask) + 1 == kind->bytes ? kind->last_end : kind->end;
        plain_bytes -= plain_first;
        ip = program->entries + offset;
        DISPATCH(0);
    }

stopped:
    cpu->opcode = ip->opcode;
    pc = (PC(0) + pc) & 0xffff;
    if (cpu->status == 0) goto enter;
    goto finish;

spent:
    pc = PC(0);
    goto finish;

finish:
    SAVE_REGISTERS;
    cpu->pc = (uint16_t)pc;
    system->cycles = cycles;
    if (cpu->status) goto again;
    return be_ale_cpu_execute(cpu, left + RESERVE);

declined:
    pc = PC(0);
interpret:
    SAVE_REGISTERS;
    cpu->pc = (uint16_t)pc;
    system->cycles = cycles;
    be_ale_cpu_execute(cpu, 1);
    left--;
    goto again;

    BE_ALE_SINGLES(SINGLE)
    BE_ALE_SEQUENCES(SEQUENCE_2, SEQUENCE_3, SEQUENCE_4, SEQUENCE_5)
}

const int32_t *be_ale_run_handlers(void) {
    const int32_t *offsets = NULL;
    run(NULL, 0, &offsets);
    return offsets;
}

uint8_t be_ale_run(ale_cpu *cpu, uint32_t number) {
    be_ale_console *console = be_ale_console_of(cpu);
    if (console->program == NULL || number <= RESERVE) return be_ale_cpu_execute(cpu, number);
    return run(console, number, NULL);
}

#endif
