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

#include <string.h>

void (*be_ale_cpu_interrupt)(ale_cpu *);
uint8_t (*be_ale_cpu_riot_peek)(ale_device *, uint16_t address);

/* clang-format off */
const uint8_t be_ale_cpu_cycles[256] = {
    7, 6, 2, 8, 3, 3, 5, 5, 3, 2, 2, 2, 4, 4, 6, 6,  2, 5, 2, 8, 4, 4, 6, 6, 2, 4, 2, 7, 4, 4, 7, 7,
    6, 6, 2, 8, 3, 3, 5, 5, 4, 2, 2, 2, 4, 4, 6, 6,  2, 5, 2, 8, 4, 4, 6, 6, 2, 4, 2, 7, 4, 4, 7, 7,
    6, 6, 2, 8, 3, 3, 5, 5, 3, 2, 2, 2, 3, 4, 6, 6,  2, 5, 2, 8, 4, 4, 6, 6, 2, 4, 2, 7, 4, 4, 7, 7,
    6, 6, 2, 8, 3, 3, 5, 5, 4, 2, 2, 2, 5, 4, 6, 6,  2, 5, 2, 8, 4, 4, 6, 6, 2, 4, 2, 7, 4, 4, 7, 7,
    2, 6, 2, 6, 3, 3, 3, 3, 2, 2, 2, 2, 4, 4, 4, 4,  2, 6, 2, 6, 4, 4, 4, 4, 2, 5, 2, 5, 5, 5, 5, 5,
    2, 6, 2, 6, 3, 3, 3, 4, 2, 2, 2, 2, 4, 4, 4, 4,  2, 5, 2, 5, 4, 4, 4, 4, 2, 4, 2, 4, 4, 4, 4, 4,
    2, 6, 2, 8, 3, 3, 5, 5, 2, 2, 2, 2, 4, 4, 6, 6,  2, 5, 2, 8, 4, 4, 6, 6, 2, 4, 2, 7, 4, 4, 7, 7,
    2, 6, 2, 8, 3, 3, 5, 5, 2, 2, 2, 2, 4, 4, 6, 6,  2, 5, 2, 8, 4, 4, 6, 6, 2, 4, 2, 7, 4, 4, 7, 7,
};

/* How many bytes are read before anything else happens. For JSR these are two of three: the third comes after the
 * pushes. */
static const uint8_t length_of[256] = {
    2, 2, 1, 2, 2, 2, 2, 2, 1, 2, 1, 2, 3, 3, 3, 3,  2, 2, 1, 2, 2, 2, 2, 2, 1, 3, 1, 3, 3, 3, 3, 3,
    2, 2, 1, 2, 2, 2, 2, 2, 1, 2, 1, 2, 3, 3, 3, 3,  2, 2, 1, 2, 2, 2, 2, 2, 1, 3, 1, 3, 3, 3, 3, 3,
    1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 1, 2, 3, 3, 3, 3,  2, 2, 1, 2, 2, 2, 2, 2, 1, 3, 1, 3, 3, 3, 3, 3,
    1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 1, 2, 3, 3, 3, 3,  2, 2, 1, 2, 2, 2, 2, 2, 1, 3, 1, 3, 3, 3, 3, 3,
    2, 2, 2, 2, 2, 2, 2, 2, 1, 2, 1, 2, 3, 3, 3, 3,  2, 2, 1, 2, 2, 2, 2, 2, 1, 3, 1, 3, 3, 3, 3, 3,
    2, 2, 2, 2, 2, 2, 2, 2, 1, 2, 1, 2, 3, 3, 3, 3,  2, 2, 1, 2, 2, 2, 2, 2, 1, 3, 1, 3, 3, 3, 3, 3,
    2, 2, 2, 2, 2, 2, 2, 2, 1, 2, 1, 2, 3, 3, 3, 3,  2, 2, 1, 2, 2, 2, 2, 2, 1, 3, 1, 3, 3, 3, 3, 3,
    2, 2, 2, 2, 2, 2, 2, 2, 1, 2, 1, 2, 3, 3, 3, 3,  2, 2, 1, 2, 2, 2, 2, 2, 1, 3, 1, 3, 3, 3, 3, 3,
};
/* clang-format on */

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

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

/* In decimal mode the library uses a table with the values of 256 bytes, followed by the bytes of 256 values. If digits
 * are not decimal, it reads a bit beyond the end of one of them. */
static unsigned decimal_entry(int index) {
    const unsigned byte = (unsigned)index & 0xff;
    if (index < 0x100) return (byte >> 4) * 10 + (byte & 0xf);
    return (byte % 100 / 10) << 4 | byte % 10;
}

static unsigned decimal_sum(unsigned a, unsigned value, unsigned carry, unsigned *carried) {
    const unsigned sum = decimal_entry((int)a) + decimal_entry((int)value) + carry;
    *carried = sum > 99;
    return decimal_entry(0x100 + (int)(sum & 0xff));
}

static unsigned decimal_difference(unsigned a, unsigned value, unsigned borrow) {
    int difference = (int)decimal_entry((int)a) - (int)borrow - (int)decimal_entry((int)value);
    if (difference < 0) difference += 100;
    return decimal_entry(0x100 + difference);
}

/* Games wait for the timer in loops of two instructions, which read it and branch back while it is not 0. Returns how
 * many turns of such a loop can be left out so that the timer is still not 0 afterwards. Until it is 0, reading it
 * changes nothing. */
__attribute__((noinline)) static uint32_t idle_turns(const ale_device *device, unsigned address, uint32_t cycles,
                                                     uint32_t cycles_of_turn, uint32_t left) {
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

#define IMPLIED PASS(1, word)
#define ZERO                                                                                                           \
    PASS(2, BYTE);                                                                                                     \
    address = BYTE
#define ZERO_X                                                                                                         \
    PASS(2, BYTE);                                                                                                     \
    address = (BYTE + x) & 0xff
#define ZERO_Y                                                                                                         \
    PASS(2, BYTE);                                                                                                     \
    address = (BYTE + y) & 0xff
#define ABSOLUTE                                                                                                       \
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
#define INDIRECT_X                                                                                                     \
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
#define ABSOLUTE_X                                                                                                     \
    ABSOLUTE;                                                                                                          \
    INDEXED(x)
#define ABSOLUTE_Y                                                                                                     \
    ABSOLUTE;                                                                                                          \
    INDEXED(y)
#define INDIRECT_Y                                                                                                     \
    PASS(2, BYTE);                                                                                                     \
    POINTER(BYTE);                                                                                                     \
    INDEXED(y)
#define ABSOLUTE_X_READ                                                                                                \
    ABSOLUTE;                                                                                                          \
    INDEXED_READ(x)
#define ABSOLUTE_Y_READ                                                                                                \
    ABSOLUTE;                                                                                                          \
    INDEXED_READ(y)
#define INDIRECT_Y_READ                                                                                                \
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

#define OP(code, CYCLES) op_##code : cycles += CYCLES;

#define FLAGS                                                                                                          \
    (((nz & 0x180) != 0) << 7 | cpu->v << 6 | 0x20 | cpu->b << 4 | cpu->d << 3 | cpu->i << 2 |                         \
     ((nz & 0xff) == 0) << 1 | carry)
#define SET_FLAGS(byte)                                                                                                \
    do {                                                                                                               \
        const unsigned flags_ = (byte);                                                                                \
        nz = (flags_ & 0x80) << 1 | (~flags_ >> 1 & 1);                                                                \
        cpu->v = flags_ >> 6 & 1;                                                                                      \
        cpu->b = 1;                                                                                                    \
        cpu->d = flags_ >> 3 & 1;                                                                                      \
        cpu->i = flags_ >> 2 & 1;                                                                                      \
        carry = flags_ & 1;                                                                                            \
    } while (0)

#define LDA a = nz = value
#define LDX x = nz = value
#define LDY y = nz = value
#define LAX a = x = nz = value
#define ORA a = nz = a | value
#define AND a = nz = a & value
#define EOR a = nz = a ^ value
#define COMPARE(with)                                                                                                  \
    carry = (with) >= value;                                                                                           \
    nz = ((with) - value) & 0xff
#define CMP COMPARE(a)
#define CPX COMPARE(x)
#define CPY COMPARE(y)
#define BIT                                                                                                            \
    cpu->v = value >> 6 & 1;                                                                                           \
    nz = (value & 0x80) << 1 | ((value & a) != 0)
#define NOP (void)value
#define ADC                                                                                                            \
    if (LIKELY(!cpu->d)) {                                                                                             \
        const unsigned sum_ = a + value + carry;                                                                       \
        cpu->v = ((a ^ sum_) & (value ^ sum_)) >> 7 & 1;                                                               \
        carry = sum_ >> 8;                                                                                             \
        nz = sum_ & 0xff;                                                                                              \
    } else {                                                                                                           \
        nz = decimal_sum(a, value, carry, &carried);                                                                   \
        carry = carried;                                                                                               \
        cpu->v = ((a ^ nz) & (value ^ nz)) >> 7 & 1;                                                                   \
    }                                                                                                                  \
    a = nz
#define SBC                                                                                                            \
    if (LIKELY(!cpu->d)) {                                                                                             \
        const unsigned sum_ = a + (value ^ 0xff) + carry;                                                              \
        cpu->v = ((a ^ sum_) & (value ^ 0xff ^ sum_)) >> 7 & 1;                                                        \
        carry = sum_ >> 8;                                                                                             \
        nz = sum_ & 0xff;                                                                                              \
    } else {                                                                                                           \
        nz = decimal_difference(a, value, carry ^ 1);                                                                  \
        carry = a >= value + (carry ^ 1);                                                                              \
        cpu->v = ((a ^ nz) & (value ^ nz)) >> 7 & 1;                                                                   \
    }                                                                                                                  \
    a = nz
#define ASL                                                                                                            \
    carry = value >> 7;                                                                                                \
    nz = value = value << 1 & 0xff
#define LSR                                                                                                            \
    carry = value & 1;                                                                                                 \
    nz = value = value >> 1
#define ROL                                                                                                            \
    value = value << 1 | carry;                                                                                        \
    carry = value >> 8;                                                                                                \
    nz = value = value & 0xff
#define ROR                                                                                                            \
    value |= carry << 8;                                                                                               \
    carry = value & 1;                                                                                                 \
    nz = value = value >> 1
#define INC nz = value = (value + 1) & 0xff
#define DEC nz = value = (value - 1) & 0xff

#define IMMEDIATE(code, INSTRUCTION)                                                                                   \
    OP(code, 2) {                                                                                                      \
        unsigned value = BYTE;                                                                                         \
        PASS(2, BYTE);                                                                                                 \
        INSTRUCTION;                                                                                                   \
        NEXT;                                                                                                          \
    }
#define READ(code, CYCLES, MODE, INSTRUCTION)                                                                          \
    OP(code, CYCLES) {                                                                                                 \
        unsigned address, value;                                                                                       \
        MODE;                                                                                                          \
        PEEK(value, address);                                                                                          \
        INSTRUCTION;                                                                                                   \
        NEXT;                                                                                                          \
    }
/* Loads, at which an idle loop may begin: BNE back to the load, five bytes before. */
#define LOAD(code, INSTRUCTION)                                                                                        \
    OP(code, 4) {                                                                                                      \
        unsigned address, value;                                                                                       \
        ABSOLUTE;                                                                                                      \
        const ale_page *page = PAGE(address);                                                                          \
        if (page->peek == NULL && ip <= limit && (load32(ip) & 0xffff) == 0xfbd0) {                                    \
            const uint32_t cycles_of_turn = 7 + ((((PC + 2) ^ (PC - 3)) & 0xff00) != 0);                               \
            const uint32_t turns = idle_turns(page->device, address, cycles, cycles_of_turn, left);                    \
            cycles += turns * cycles_of_turn;                                                                          \
            left -= turns * 2;                                                                                         \
        }                                                                                                              \
        PEEK(value, address);                                                                                          \
        INSTRUCTION;                                                                                                   \
        NEXT;                                                                                                          \
    }
#define WRITE(code, CYCLES, MODE, VALUE)                                                                               \
    OP(code, CYCLES) {                                                                                                 \
        unsigned address;                                                                                              \
        MODE;                                                                                                          \
        POKE(address, VALUE);                                                                                          \
        NEXT;                                                                                                          \
    }
/* Instructions that read, change and write; AFTER is what some undocumented instructions then do with the value. */
#define MODIFY(code, CYCLES, MODE, INSTRUCTION, AFTER)                                                                 \
    OP(code, CYCLES) {                                                                                                 \
        unsigned address, value;                                                                                       \
        MODE;                                                                                                          \
        PEEK(value, address);                                                                                          \
        INSTRUCTION;                                                                                                   \
        POKE(address, value);                                                                                          \
        AFTER;                                                                                                         \
        NEXT;                                                                                                          \
    }
#define REGISTER(code, ACTION)                                                                                         \
    OP(code, 2) {                                                                                                      \
        IMPLIED;                                                                                                       \
        ACTION;                                                                                                        \
        NEXT;                                                                                                          \
    }
#define SHIFT(code, INSTRUCTION)                                                                                       \
    OP(code, 2) {                                                                                                      \
        unsigned value = a;                                                                                            \
        IMPLIED;                                                                                                       \
        INSTRUCTION;                                                                                                   \
        a = value;                                                                                                     \
        NEXT;                                                                                                          \
    }
#define BRANCH(code, CONDITION)                                                                                        \
    OP(code, 2) {                                                                                                      \
        PASS(2, BYTE);                                                                                                 \
        if (CONDITION) {                                                                                               \
            const unsigned next = PC, target = (next + (unsigned)(int8_t)BYTE) & 0xffff;                               \
            cycles += 1 + (((next ^ target) & 0xff00) != 0);                                                           \
            JUMP(target);                                                                                              \
        }                                                                                                              \
        NEXT;                                                                                                          \
    }

/* Seven of the eight addressing modes of ORA, AND, EOR, ADC, LDA, CMP and SBC; `even` and `odd` are the opcodes'
 * rows. */
#define ALL_READS(even, odd, INSTRUCTION)                                                                              \
    READ(even##1, 6, INDIRECT_X, INSTRUCTION)                                                                          \
    READ(even##5, 3, ZERO, INSTRUCTION)                                                                                \
    IMMEDIATE(even##9, INSTRUCTION)                                                                                    \
    READ(odd##1, 5, INDIRECT_Y_READ, INSTRUCTION)                                                                      \
    READ(odd##5, 4, ZERO_X, INSTRUCTION)                                                                               \
    READ(odd##9, 4, ABSOLUTE_Y_READ, INSTRUCTION)                                                                      \
    READ(odd##d, 4, ABSOLUTE_X_READ, INSTRUCTION)
#define ALL_MODIFY(even, odd, INSTRUCTION)                                                                             \
    MODIFY(even##6, 5, ZERO, INSTRUCTION, (void)0)                                                                     \
    MODIFY(even##e, 6, ABSOLUTE, INSTRUCTION, (void)0)                                                                 \
    MODIFY(odd##6, 6, ZERO_X, INSTRUCTION, (void)0)                                                                    \
    MODIFY(odd##e, 7, ABSOLUTE_X, INSTRUCTION, (void)0)
/* Undocumented instructions, which change memory and operate on the accumulator, too. */
#define ALL_MODIFY_BOTH(even, odd, INSTRUCTION, AFTER)                                                                 \
    MODIFY(even##3, 8, INDIRECT_X, INSTRUCTION, AFTER)                                                                 \
    MODIFY(even##7, 5, ZERO, INSTRUCTION, AFTER)                                                                       \
    MODIFY(even##f, 6, ABSOLUTE, INSTRUCTION, AFTER)                                                                   \
    MODIFY(odd##3, 8, INDIRECT_Y, INSTRUCTION, AFTER)                                                                  \
    MODIFY(odd##7, 6, ZERO_X, INSTRUCTION, AFTER)                                                                      \
    MODIFY(odd##b, 7, ABSOLUTE_Y, INSTRUCTION, AFTER)                                                                  \
    MODIFY(odd##f, 7, ABSOLUTE_X, INSTRUCTION, AFTER)
#define NOTHING(code) REGISTER(code, (void)0)
#define FATAL(code) REGISTER(code, cpu->status |= ALE_FATAL; limit = 0)

#define ROW(h)                                                                                                         \
    &&op_##h##0, &&op_##h##1, &&op_##h##2, &&op_##h##3, &&op_##h##4, &&op_##h##5, &&op_##h##6, &&op_##h##7,            \
        &&op_##h##8, &&op_##h##9, &&op_##h##a, &&op_##h##b, &&op_##h##c, &&op_##h##d, &&op_##h##e, &&op_##h##f

uint8_t be_ale_cpu_execute(ale_cpu *cpu, uint32_t number) {
    static const void *const labels[256] = {ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7),
                                            ROW(8), ROW(9), ROW(a), ROW(b), ROW(c), ROW(d), ROW(e), ROW(f)};
    core m = {.cpu = cpu, .system = cpu->system};
    const ale_page *const pages = m.system->pages;
    uint8_t line[4] = {0}; /* the bytes of an instruction that lies in two pages */
    uintptr_t ip, limit, delta;
    uint32_t left = number, word, cycles, carried;
    unsigned a, x, y, sp, nz, carry, bus;

    cpu->status &= ALE_FATAL;

again:
    if (cpu->status & ALE_INTERRUPTS) be_ale_cpu_interrupt(cpu);
    if (cpu->status & ALE_STOP) return 1;
    if (cpu->status & ALE_FATAL) return 0;
    if (left == 0) return 1;
    cpu->last_was_read = 1; /* the first access will be a read */
    a = cpu->a;
    x = cpu->x;
    y = cpu->y;
    sp = cpu->sp;
    nz = (unsigned)cpu->n << 8 | cpu->not_z;
    carry = cpu->c;
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
            length = length_of[byte];
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

    ALL_READS(0, 1, ORA)
    ALL_READS(2, 3, AND)
    ALL_READS(4, 5, EOR)
    ALL_READS(6, 7, ADC)
    ALL_READS(a, b, LDA)
    ALL_READS(c, d, CMP)
    ALL_READS(e, f, SBC)
    READ(0d, 4, ABSOLUTE, ORA)
    READ(2d, 4, ABSOLUTE, AND)
    READ(4d, 4, ABSOLUTE, EOR)
    READ(6d, 4, ABSOLUTE, ADC)
    LOAD(ad, LDA)
    READ(cd, 4, ABSOLUTE, CMP)
    READ(ed, 4, ABSOLUTE, SBC)
    IMMEDIATE(eb, SBC)
    READ(24, 3, ZERO, BIT)
    READ(2c, 4, ABSOLUTE, BIT)
    IMMEDIATE(a2, LDX)
    READ(a6, 3, ZERO, LDX)
    LOAD(ae, LDX)
    READ(b6, 4, ZERO_Y, LDX)
    READ(be, 4, ABSOLUTE_Y_READ, LDX)
    IMMEDIATE(a0, LDY)
    READ(a4, 3, ZERO, LDY)
    LOAD(ac, LDY)
    READ(b4, 4, ZERO_X, LDY)
    READ(bc, 4, ABSOLUTE_X_READ, LDY)
    IMMEDIATE(e0, CPX)
    READ(e4, 3, ZERO, CPX)
    READ(ec, 4, ABSOLUTE, CPX)
    IMMEDIATE(c0, CPY)
    READ(c4, 3, ZERO, CPY)
    READ(cc, 4, ABSOLUTE, CPY)

    WRITE(81, 6, INDIRECT_X, a)
    WRITE(85, 3, ZERO, a)
    WRITE(8d, 4, ABSOLUTE, a)
    WRITE(91, 6, INDIRECT_Y, a)
    WRITE(95, 4, ZERO_X, a)
    WRITE(99, 5, ABSOLUTE_Y, a)
    WRITE(9d, 5, ABSOLUTE_X, a)
    WRITE(86, 3, ZERO, x)
    WRITE(8e, 4, ABSOLUTE, x)
    WRITE(96, 4, ZERO_Y, x)
    WRITE(84, 3, ZERO, y)
    WRITE(8c, 4, ABSOLUTE, y)
    WRITE(94, 4, ZERO_X, y)

    ALL_MODIFY(0, 1, ASL)
    ALL_MODIFY(2, 3, ROL)
    ALL_MODIFY(4, 5, LSR)
    ALL_MODIFY(6, 7, ROR)
    ALL_MODIFY(c, d, DEC)
    ALL_MODIFY(e, f, INC)
    SHIFT(0a, ASL)
    SHIFT(2a, ROL)
    SHIFT(4a, LSR)
    SHIFT(6a, ROR)

    REGISTER(e8, x = nz = (x + 1) & 0xff)
    REGISTER(c8, y = nz = (y + 1) & 0xff)
    REGISTER(ca, x = nz = (x - 1) & 0xff)
    REGISTER(88, y = nz = (y - 1) & 0xff)
    REGISTER(aa, x = nz = a)
    REGISTER(a8, y = nz = a)
    REGISTER(8a, a = nz = x)
    REGISTER(98, a = nz = y)
    REGISTER(ba, x = nz = sp)
    REGISTER(9a, sp = x)
    REGISTER(18, carry = 0)
    REGISTER(38, carry = 1)
    REGISTER(58, cpu->i = 0)
    REGISTER(78, cpu->i = 1)
    REGISTER(b8, cpu->v = 0)
    REGISTER(d8, cpu->d = 0)
    REGISTER(f8, cpu->d = 1)
    NOTHING(ea)

    BRANCH(10, !(nz & 0x180))
    BRANCH(30, nz & 0x180)
    BRANCH(50, !cpu->v)
    BRANCH(70, cpu->v)
    BRANCH(90, !carry)
    BRANCH(b0, carry)
    BRANCH(d0, nz & 0xff)
    BRANCH(f0, !(nz & 0xff))

    OP(4c, 3) {
        PASS(3, word >> 16);
        JUMP(WORD);
        NEXT;
    }
    OP(6c, 5) {
        const unsigned where = WORD;
        unsigned low, high;
        PASS(3, word >> 16);
        PEEK(low, where);
        /* There is no carry into the page, as in a 6502. */
        PEEK(high, (where & 0xff00) | ((where + 1) & 0xff));
        JUMP(high << 8 | low);
        NEXT;
    }
    OP(20, 6) {
        const unsigned low = BYTE;
        unsigned high;
        PASS(2, BYTE);
        const unsigned last = PC;
        PEEK(high, 0x100 + sp);
        PUSH(last >> 8);
        PUSH_MORE(last);
        PEEK(high, last);
        JUMP(high << 8 | low);
        NEXT;
    }
    OP(60, 6) {
        unsigned low, high;
        IMPLIED;
        PEEK(low, 0x100 + sp);
        PULL(low);
        PULL(high);
        const unsigned before = high << 8 | low;
        PEEK(low, before);
        JUMP((before + 1) & 0xffff);
        NEXT;
    }
    OP(00, 7) {
        unsigned low, high;
        PASS(2, BYTE);
        const unsigned next = PC;
        cpu->b = 1;
        PUSH(next >> 8);
        PUSH_MORE(next);
        PUSH_MORE(FLAGS);
        cpu->i = 1;
        PEEK(low, 0xfffe);
        PEEK(high, 0xffff);
        JUMP(high << 8 | low);
        NEXT;
    }
    OP(40, 6) {
        unsigned flags, low, high;
        IMPLIED;
        PEEK(flags, 0x100 + sp);
        PULL(flags);
        SET_FLAGS(flags);
        PULL(low);
        PULL(high);
        JUMP(high << 8 | low);
        NEXT;
    }
    OP(48, 3) {
        IMPLIED;
        PUSH(a);
        NEXT;
    }
    OP(08, 3) {
        IMPLIED;
        PUSH(FLAGS);
        NEXT;
    }
    OP(68, 4) {
        IMPLIED;
        PEEK(a, 0x100 + sp);
        PULL(a);
        nz = a;
        NEXT;
    }
    OP(28, 4) {
        unsigned flags;
        IMPLIED;
        PEEK(flags, 0x100 + sp);
        PULL(flags);
        SET_FLAGS(flags);
        NEXT;
    }

    /* Undocumented instructions, some of which games use. */
    READ(a3, 6, INDIRECT_X, LAX)
    READ(a7, 4, ZERO, LAX) /* one cycle more than a 6502 takes */
    READ(af, 4, ABSOLUTE, LAX)
    READ(b3, 5, INDIRECT_Y_READ, LAX)
    READ(b7, 4, ZERO_Y, LAX)
    READ(bf, 4, ABSOLUTE_Y_READ, LAX)
    READ(bb, 4, ABSOLUTE_Y_READ, a = x = sp = nz = value & sp)
    WRITE(83, 6, INDIRECT_X, a & x)
    WRITE(87, 3, ZERO, a & x)
    WRITE(8f, 4, ABSOLUTE, a & x)
    WRITE(97, 4, ZERO_Y, a & x)
    WRITE(93, 6, INDIRECT_Y, a & x & ((address >> 8) + 1))
    WRITE(9f, 5, ABSOLUTE_Y, a & x & ((address >> 8) + 1))
    WRITE(9e, 5, ABSOLUTE_Y, x & ((address >> 8) + 1))
    WRITE(9c, 5, ABSOLUTE_X, y & ((address >> 8) + 1))
    WRITE(9b, 5, ABSOLUTE_Y, (sp = a & x) & ((address >> 8) + 1))
    ALL_MODIFY_BOTH(0, 1, ASL, ORA)
    ALL_MODIFY_BOTH(2, 3, ROL, AND)
    ALL_MODIFY_BOTH(4, 5, LSR, EOR)
    ALL_MODIFY_BOTH(6, 7, ROR, ADC)
    ALL_MODIFY_BOTH(c, d, DEC, CMP)
    ALL_MODIFY_BOTH(e, f, INC, SBC)
    IMMEDIATE(0b, AND; carry = a >> 7)
    IMMEDIATE(2b, AND; carry = a >> 7)
    IMMEDIATE(4b, value &= a; LSR; a = value)
    IMMEDIATE(8b, a = nz = (a | 0xee) & x & value)
    IMMEDIATE(ab, a = x = nz = (a | 0xee) & value)
    IMMEDIATE(cb, x &= a; carry = x >= value; x = nz = (x - value) & 0xff)
    OP(6b, 2) {
        PASS(2, BYTE);
        const unsigned both = a & BYTE;
        a = both >> 1 | carry << 7;
        nz = a;
        if (!cpu->d) {
            carry = a >> 6 & 1;
            cpu->v = (a >> 6 ^ a >> 5) & 1;
        } else {
            nz = carry << 8 | (a != 0);
            cpu->v = (both ^ a) >> 6 & 1;
            carry = (both & 0xf0) + (both & 0x10) > 0x50;
            if ((both & 0xf) + (both & 1) > 5) a = (a & 0xf0) | ((a + 6) & 0xf);
            if (carry) a = (a + 0x60) & 0xff;
        }
        NEXT;
    }
    NOTHING(1a)
    NOTHING(3a)
    NOTHING(5a)
    NOTHING(7a)
    NOTHING(da)
    NOTHING(fa)
    IMMEDIATE(80, NOP)
    IMMEDIATE(82, NOP)
    IMMEDIATE(89, NOP)
    IMMEDIATE(c2, NOP)
    IMMEDIATE(e2, NOP)
    READ(04, 3, ZERO, NOP)
    READ(44, 3, ZERO, NOP)
    READ(64, 3, ZERO, NOP)
    READ(0c, 4, ABSOLUTE, NOP)
    READ(14, 4, ZERO_X, NOP)
    READ(34, 4, ZERO_X, NOP)
    READ(54, 4, ZERO_X, NOP)
    READ(74, 4, ZERO_X, NOP)
    READ(d4, 4, ZERO_X, NOP)
    READ(f4, 4, ZERO_X, NOP)
    READ(1c, 4, ABSOLUTE_X_READ, NOP)
    READ(3c, 4, ABSOLUTE_X_READ, NOP)
    READ(5c, 4, ABSOLUTE_X_READ, NOP)
    READ(7c, 4, ABSOLUTE_X_READ, NOP)
    READ(dc, 4, ABSOLUTE_X_READ, NOP)
    READ(fc, 4, ABSOLUTE_X_READ, NOP)
    /* A 6502 hangs in these. */
    FATAL(02)
    FATAL(12)
    FATAL(22)
    FATAL(32)
    FATAL(42)
    FATAL(52)
    FATAL(62)
    FATAL(72)
    FATAL(92)
    FATAL(b2)
    FATAL(d2)
    FATAL(f2)

finished:
    cpu->a = (uint8_t)a;
    cpu->x = (uint8_t)x;
    cpu->y = (uint8_t)y;
    cpu->sp = (uint8_t)sp;
    cpu->n = (nz & 0x180) != 0;
    cpu->not_z = (nz & 0xff) != 0;
    cpu->c = (uint8_t)carry;
    cpu->opcode = (uint8_t)word;
    cpu->pc = (uint16_t)PC;
    m.system->cycles = cycles;
    m.system->bus = (uint8_t)bus;
    goto again;
}

#endif
