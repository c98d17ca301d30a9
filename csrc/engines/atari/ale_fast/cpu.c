/* The interpreter. It keeps registers in local variables. Of these values, devices see only the system's cycle count
 * and the last byte on the bus, which are therefore written back before a device is called; the rest is written back at
 * the end. (A write to WSYNC also reads whether the access before it was a read.)
 *
 * It accesses memory in the same order as the library's interpreter, which is simpler than a real 6502 in a few ways:
 * all cycles of an instruction are counted as soon as its opcode is known (except those of crossed pages and taken
 * branches), most reads and writes on which the result does not depend are left out, and pointers in the zero page may
 * end in page one.
 */
#include "engines/atari/ale_fast/ale_fast.h"

#ifdef BE_HAVE_ALE_FAST
#include "engines/atari/ale_fast/layout.h"
#include "engines/atari/ale_fast/opcodes.h"
#include "engines/atari/ale_fast/semantics.h"

#include <string.h>

void (*be_ale_cpu_interrupt)(ale_cpu *);
uint8_t (*be_ale_cpu_riot_peek)(ale_device *, uint16_t address);

#define CYCLES(opcode, unused) BE_ALE_CYCLES(OP_##opcode),
const uint8_t be_ale_cpu_cycles[256] = {BE_ALE_OPCODES(CYCLES, )};

#define BYTES(opcode, unused) BE_ALE_BYTES(OP_##opcode),
static const uint8_t bytes_of[256] = {BE_ALE_OPCODES(BYTES, )};

/* What the slow paths need to know about the fast one. */
typedef struct core {
    ale_cpu *cpu;
    ale_system *system;
    const ale_page *code_page; /* the page that instructions are read from */
    const uint8_t *code;       /* its memory when reading began */
    unsigned more;             /* 1 if the memory of the next page followed directly, so that reading goes on there */
} core;

#define MOVED 0x100

/* Returns MOVED if a device has stopped the processor, or has put another bank where the program is. */
static unsigned moved(const core *m) {
    const ale_page *page = m->code_page;
    const int same = page->peek == m->code && (!m->more || page[1].peek == m->code + ALE_PAGE_BYTES);
    return same && !m->cpu->status ? 0 : MOVED;
}

/* Returns the byte, and MOVED in addition. */
__attribute__((noinline, cold)) static unsigned device_peek(const core *m, ale_device *device, unsigned address,
                                                            uint32_t cycles, unsigned bus) {
    m->system->cycles = cycles;
    m->system->bus = (uint8_t)bus;
    const uint8_t value = device->functions->peek(device, (uint16_t)address);
    return value | moved(m);
}

__attribute__((noinline)) static unsigned device_poke(const core *m, ale_device *device, unsigned address,
                                                      unsigned value, uint32_t cycles, unsigned bus) {
    m->system->cycles = cycles;
    m->system->bus = (uint8_t)bus;
    device->functions->poke(device, (uint16_t)address, (uint8_t)value);
    return moved(m);
}

uint32_t be_ale_idle_turns(const ale_device *device, unsigned address, uint32_t cycles, uint32_t cycles_of_turn,
                           uint32_t left) {
    if (device->functions->peek != be_ale_cpu_riot_peek || (address & 5) != 4) return 0;
    const ale_riot *riot = (const ale_riot *)device;
    const uint32_t since = cycles - 1 - riot->set_at, until = (riot->timer - 1) << riot->shift;
    if (riot->timer < 2 || riot->timer > 0xff || since >= until) return 0;
    const uint32_t turns = (until - 1 - since) / cycles_of_turn, most = (left - 1) / 2;
    return turns < most ? turns : most;
}

static uint32_t load32(uintptr_t from) {
    uint32_t word;
    memcpy(&word, (const void *)from, sizeof word);
    return word;
}

/* ---- the bus: `value` is the byte that was read, or is to be written ----------------------------------- */

#define PAGE(address) (&pages[(address) >> ALE_PAGE_SHIFT & (ALE_NUM_PAGES - 1)])

#define PEEK(target, address)                                                                                          \
    do {                                                                                                               \
        const unsigned from_ = (address);                                                                              \
        const ale_page *page_ = PAGE(from_);                                                                           \
        if (LIKELY(page_->peek != NULL)) {                                                                             \
            bus = page_->peek[from_ & (ALE_PAGE_BYTES - 1)];                                                           \
        } else {                                                                                                       \
            bus = device_peek(&m, page_->device, from_, cycles, bus);                                                  \
            if (UNLIKELY(bus & MOVED)) limit = 0;                                                                      \
            bus &= 0xff;                                                                                               \
            cycles = m.system->cycles;                                                                                 \
        }                                                                                                              \
        (target) = bus;                                                                                                \
    } while (0)

#define POKE(address, byte)                                                                                            \
    do {                                                                                                               \
        const unsigned to_ = (address), byte_ = (byte) & 0xff;                                                         \
        const ale_page *page_ = PAGE(to_);                                                                             \
        if (page_->poke != NULL) {                                                                                     \
            page_->poke[to_ & (ALE_PAGE_BYTES - 1)] = (uint8_t)byte_;                                                  \
        } else {                                                                                                       \
            if (UNLIKELY(device_poke(&m, page_->device, to_, byte_, cycles, bus))) limit = 0;                          \
            cycles = m.system->cycles;                                                                                 \
        }                                                                                                              \
        bus = byte_;                                                                                                   \
    } while (0)

#define PUSH(byte)                                                                                                     \
    do {                                                                                                               \
        POKE(0x100 + sp, byte);                                                                                        \
        sp = (sp - 1) & 0xff;                                                                                          \
    } while (0)
/* The second and third byte that an instruction pushes. All other writes come after a read. */
#define PUSH_MORE(byte)                                                                                                \
    do {                                                                                                               \
        cpu->last_was_read = 0;                                                                                        \
        PUSH(byte);                                                                                                    \
        cpu->last_was_read = 1;                                                                                        \
    } while (0)
#define PULL(target)                                                                                                   \
    do {                                                                                                               \
        sp = (sp + 1) & 0xff;                                                                                          \
        PEEK(target, 0x100 + sp);                                                                                      \
    } while (0)

/* ---- addressing: sets `address`, and moves on behind the instruction ----------------------------------- */

#define BYTE (word >> 8 & 0xff)
#define WORD (word >> 8 & 0xffff)
#define PASS(bytes, last)                                                                                              \
    do {                                                                                                               \
        ip += (bytes);                                                                                                 \
        bus = (last) & 0xff;                                                                                           \
    } while (0)

#define ADDRESS_ZERO                                                                                                   \
    PASS(2, BYTE);                                                                                                     \
    address = BYTE
#define ADDRESS_ZERO_X                                                                                                 \
    PASS(2, BYTE);                                                                                                     \
    address = (BYTE + x) & 0xff
#define ADDRESS_ZERO_Y                                                                                                 \
    PASS(2, BYTE);                                                                                                     \
    address = (BYTE + y) & 0xff
#define ADDRESS_ABSOLUTE                                                                                               \
    PASS(3, word >> 16);                                                                                               \
    address = WORD
#define POINTER(where)                                                                                                 \
    do {                                                                                                               \
        const unsigned pointer_ = (where);                                                                             \
        unsigned low_, high_;                                                                                          \
        PEEK(low_, pointer_);                                                                                          \
        PEEK(high_, pointer_ + 1);                                                                                     \
        address = high_ << 8 | low_;                                                                                   \
    } while (0)
#define ADDRESS_INDIRECT_X                                                                                             \
    PASS(2, BYTE);                                                                                                     \
    POINTER((BYTE + x) & 0xff)
/* Stores to an indexed address always take the same time; reads take one more cycle if a page is crossed. */
#define INDEXED(index) address = (address + (index)) & 0xffff
#define INDEXED_READ(index)                                                                                            \
    do {                                                                                                               \
        const unsigned sum_ = address + (index);                                                                       \
        cycles += ((sum_ ^ address) & 0xff00) != 0;                                                                    \
        address = sum_ & 0xffff;                                                                                       \
    } while (0)
#define ADDRESS_ABSOLUTE_X                                                                                             \
    ADDRESS_ABSOLUTE;                                                                                                  \
    INDEXED(x)
#define ADDRESS_ABSOLUTE_Y                                                                                             \
    ADDRESS_ABSOLUTE;                                                                                                  \
    INDEXED(y)
#define ADDRESS_INDIRECT_Y                                                                                             \
    PASS(2, BYTE);                                                                                                     \
    POINTER(BYTE);                                                                                                     \
    INDEXED(y)
#define ADDRESS_ABSOLUTE_X_READ                                                                                        \
    ADDRESS_ABSOLUTE;                                                                                                  \
    INDEXED_READ(x)
#define ADDRESS_ABSOLUTE_Y_READ                                                                                        \
    ADDRESS_ABSOLUTE;                                                                                                  \
    INDEXED_READ(y)
#define ADDRESS_INDIRECT_Y_READ                                                                                        \
    PASS(2, BYTE);                                                                                                     \
    POINTER(BYTE);                                                                                                     \
    INDEXED_READ(y)

/* ---- instructions ------------------------------------------------------------------------------------- */

/* Goes to the next instruction. Its bytes are at `ip` if `ip` is at most `limit`; ip - delta is the program counter. */
#define NEXT                                                                                                           \
    do {                                                                                                               \
        if (UNLIKELY(--left == 0)) goto finished;                                                                      \
        if (UNLIKELY(ip > limit)) goto refill;                                                                         \
        word = load32(ip);                                                                                             \
        goto *labels[word & 0xff];                                                                                     \
    } while (0)
#define PC ((unsigned)(ip - delta) & 0xffff)
#define JUMP(target)                                                                                                   \
    do {                                                                                                               \
        const unsigned from_ = PC, target_ = (target);                                                                 \
        ip = target_ + delta;                                                                                          \
        if ((from_ ^ target_) >> ALE_PAGE_SHIFT) limit = 0;                                                            \
    } while (0)

/* A form of instructions (opcodes.h), after its cycles have been counted and before NEXT. */
#define RUN_IMMEDIATE(MODE, CYCLES, INSTRUCTION)                                                                       \
    unsigned value = BYTE;                                                                                             \
    PASS(2, BYTE);                                                                                                     \
    INSTRUCTION;
#define RUN_READ(MODE, CYCLES, INSTRUCTION)                                                                            \
    unsigned address, value;                                                                                           \
    ADDRESS_##MODE;                                                                                                    \
    PEEK(value, address);                                                                                              \
    INSTRUCTION;
/* Reads at which an idle loop may begin: BNE back to the read, five bytes before. */
#define RUN_LOAD(MODE, CYCLES, INSTRUCTION)                                                                            \
    unsigned address, value;                                                                                           \
    ADDRESS_##MODE;                                                                                                    \
    const ale_page *page = PAGE(address);                                                                              \
    if (page->peek == NULL && ip <= limit && (load32(ip) & 0xffff) == 0xfbd0) {                                        \
        const uint32_t cycles_of_turn = 7 + ((((PC + 2) ^ (PC - 3)) & 0xff00) != 0);                                   \
        const uint32_t turns = be_ale_idle_turns(page->device, address, cycles, cycles_of_turn, left);                 \
        cycles += turns * cycles_of_turn;                                                                              \
        left -= turns * 2;                                                                                             \
    }                                                                                                                  \
    PEEK(value, address);                                                                                              \
    INSTRUCTION;
#define RUN_WRITE(MODE, CYCLES, VALUE)                                                                                 \
    unsigned address;                                                                                                  \
    ADDRESS_##MODE;                                                                                                    \
    POKE(address, VALUE);
#define RUN_MODIFY(MODE, CYCLES, INSTRUCTION) RUN_MODIFY_BOTH(MODE, CYCLES, INSTRUCTION, (void)0)
/* Undocumented instructions, which change memory and then do something else with the result. */
#define RUN_MODIFY_BOTH(MODE, CYCLES, INSTRUCTION, AFTER)                                                              \
    unsigned address, value;                                                                                           \
    ADDRESS_##MODE;                                                                                                    \
    PEEK(value, address);                                                                                              \
    INSTRUCTION;                                                                                                       \
    POKE(address, value);                                                                                              \
    AFTER;
#define RUN_REGISTER(MODE, CYCLES, INSTRUCTION)                                                                        \
    PASS(1, word);                                                                                                     \
    INSTRUCTION;
#define RUN_SHIFT(MODE, CYCLES, INSTRUCTION)                                                                           \
    unsigned value = a;                                                                                                \
    PASS(1, word);                                                                                                     \
    INSTRUCTION;                                                                                                       \
    a = value;
#define RUN_BRANCH(MODE, CYCLES, CONDITION)                                                                            \
    PASS(2, BYTE);                                                                                                     \
    if (CONDITION) {                                                                                                   \
        const unsigned next = PC, target = (next + (unsigned)(int8_t)BYTE) & 0xffff;                                   \
        cycles += 1 + (((next ^ target) & 0xff00) != 0);                                                               \
        JUMP(target);                                                                                                  \
    }
#define RUN_JMP(MODE, CYCLES)                                                                                          \
    PASS(3, word >> 16);                                                                                               \
    JUMP(WORD);
/* There is no carry into the page of the pointer, as in a 6502. */
#define RUN_JMP_INDIRECT(MODE, CYCLES)                                                                                 \
    const unsigned where = WORD;                                                                                       \
    unsigned low, high;                                                                                                \
    PASS(3, word >> 16);                                                                                               \
    PEEK(low, where);                                                                                                  \
    PEEK(high, (where & 0xff00) | ((where + 1) & 0xff));                                                               \
    JUMP(high << 8 | low);
#define RUN_JSR(MODE, CYCLES)                                                                                          \
    const unsigned low = BYTE;                                                                                         \
    unsigned high;                                                                                                     \
    PASS(2, BYTE);                                                                                                     \
    const unsigned last = PC;                                                                                          \
    PEEK(high, 0x100 + sp);                                                                                            \
    PUSH(last >> 8);                                                                                                   \
    PUSH_MORE(last);                                                                                                   \
    PEEK(high, last);                                                                                                  \
    JUMP(high << 8 | low);
#define RUN_RTS(MODE, CYCLES)                                                                                          \
    unsigned low, high;                                                                                                \
    PASS(1, word);                                                                                                     \
    PEEK(low, 0x100 + sp);                                                                                             \
    PULL(low);                                                                                                         \
    PULL(high);                                                                                                        \
    const unsigned before = high << 8 | low;                                                                           \
    PEEK(low, before);                                                                                                 \
    JUMP((before + 1) & 0xffff);
#define RUN_BRK(MODE, CYCLES)                                                                                          \
    unsigned low, high;                                                                                                \
    PASS(2, BYTE);                                                                                                     \
    const unsigned next = PC;                                                                                          \
    cpu->b = 1;                                                                                                        \
    PUSH(next >> 8);                                                                                                   \
    PUSH_MORE(next);                                                                                                   \
    PUSH_MORE(FLAGS);                                                                                                  \
    cpu->i = 1;                                                                                                        \
    PEEK(low, 0xfffe);                                                                                                 \
    PEEK(high, 0xffff);                                                                                                \
    JUMP(high << 8 | low);
#define RUN_RTI(MODE, CYCLES)                                                                                          \
    unsigned flags, low, high;                                                                                         \
    PASS(1, word);                                                                                                     \
    PEEK(flags, 0x100 + sp);                                                                                           \
    PULL(flags);                                                                                                       \
    SET_FLAGS(flags);                                                                                                  \
    PULL(low);                                                                                                         \
    PULL(high);                                                                                                        \
    JUMP(high << 8 | low);
#define RUN_PHA(MODE, CYCLES)                                                                                          \
    PASS(1, word);                                                                                                     \
    PUSH(a);
#define RUN_PHP(MODE, CYCLES)                                                                                          \
    PASS(1, word);                                                                                                     \
    PUSH(FLAGS);
#define RUN_PLA(MODE, CYCLES)                                                                                          \
    PASS(1, word);                                                                                                     \
    PEEK(a, 0x100 + sp);                                                                                               \
    PULL(a);                                                                                                           \
    nz = a;
#define RUN_PLP(MODE, CYCLES)                                                                                          \
    unsigned flags;                                                                                                    \
    PASS(1, word);                                                                                                     \
    PEEK(flags, 0x100 + sp);                                                                                           \
    PULL(flags);                                                                                                       \
    SET_FLAGS(flags);
/* A 6502 hangs in these. */
#define RUN_HANG(MODE, CYCLES)                                                                                         \
    PASS(1, word);                                                                                                     \
    cpu->status |= ALE_FATAL;                                                                                          \
    limit = 0;

#define LABEL(opcode, unused) &&op_##opcode,
#define RUN(opcode, unused)                                                                                            \
    op_##opcode : {                                                                                                    \
        cycles += BE_ALE_CYCLES(OP_##opcode);                                                                          \
        BE_ALE_DO(RUN_, OP_##opcode)                                                                                   \
        NEXT;                                                                                                          \
    }

uint8_t be_ale_cpu_execute(ale_cpu *cpu, uint32_t number) {
    static const void *const labels[256] = {BE_ALE_OPCODES(LABEL, )};
    core m = {.cpu = cpu, .system = cpu->system};
    const ale_page *const pages = m.system->pages;
    uint8_t line[4] = {0}; /* the bytes of an instruction that lies in two pages */
    uintptr_t ip, limit, delta;
    uint32_t left = number, word, cycles;
    unsigned a, x, y, sp, nz, carry, v, bus;

    cpu->status &= ALE_FATAL;

again:
    if (cpu->status & ALE_INTERRUPTS) be_ale_cpu_interrupt(cpu);
    if (cpu->status & ALE_STOP) return 1;
    if (cpu->status & ALE_FATAL) return 0;
    if (left == 0) return 1;
    cpu->last_was_read = 1; /* the first access will be a read */
    LOAD_REGISTERS;
    cycles = m.system->cycles;
    bus = m.system->bus;
    word = cpu->opcode;
    delta = 0;
    ip = cpu->pc;

refill:
    {
        const unsigned pc = PC, offset = pc & (ALE_PAGE_BYTES - 1);
        m.code_page = PAGE(pc);
        m.code = m.code_page->peek;
        m.more = m.code && m.code_page != pages + ALE_NUM_PAGES - 1 && m.code_page[1].peek == m.code + ALE_PAGE_BYTES;
        if (UNLIKELY(cpu->status)) goto finished;
        ip = (uintptr_t)m.code + offset;
        limit = (uintptr_t)m.code + (1 + m.more) * ALE_PAGE_BYTES - sizeof word;
        if (UNLIKELY(m.code == NULL || ip > limit)) {
            unsigned byte, length;
            PEEK(byte, pc);
            line[0] = (uint8_t)byte;
            length = bytes_of[byte];
            cycles += be_ale_cpu_cycles[line[0]];
            for (unsigned k = 1; k < length; k++) {
                PEEK(byte, (pc + k) & 0xffff);
                line[k] = (uint8_t)byte;
            }
            cycles -= be_ale_cpu_cycles[line[0]];
            limit = 0;
            ip = (uintptr_t)line;
        }
        delta = ip - pc;
        word = load32(ip);
        goto *labels[word & 0xff];
    }

    BE_ALE_OPCODES(RUN, )

finished:
    SAVE_REGISTERS;
    cpu->opcode = (uint8_t)word;
    cpu->pc = (uint16_t)PC;
    m.system->cycles = cycles;
    m.system->bus = (uint8_t)bus;
    goto again;
}

#endif
