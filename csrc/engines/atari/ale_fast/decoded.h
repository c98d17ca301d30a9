/* The instructions of decoded code, for run.c: DECODED_##FORM (see opcodes.h), for each kind of operand (handlers.h).
 * In a sequence, an instruction is the one with number k, and begins `at` bytes behind the first. Besides the local
 * variables of semantics.h, these are used:
 *
 *     ip             the entry of the first instruction
 *     region, base   the first entry of the region that the code is in, and its address
 *     rom, mask      the region's memory, and its size less one
 *     ram            the console's memory
 *     cycles, left   how many cycles have passed, and how many more instructions may be executed here
 *
 * Where a device may have stopped the processor or switched the bank, STOP leaves the sequence after the instruction;
 * where something unusual is to be done, DECLINE leaves it before the instruction, which the interpreter then executes.
 */
#ifndef BE_ALE_DECODED_H
#define BE_ALE_DECODED_H

#define BYTE(at) (ip[at].operand & 0xffu)
#define WORD(at) ((unsigned)ip[at].operand)
#define LOW(at) (ip[at].low)
#define PC(at) ((base + (unsigned)(ip - region) + (at)) & 0xffff)

#define STOP(at, k, BYTES)                                                                                             \
    do {                                                                                                               \
        left -= (k) + 1;                                                                                               \
        ip += (at);                                                                                                    \
        pc = (BYTES);                                                                                                  \
        goto stopped;                                                                                                  \
    } while (0)
#define DECLINE(at, k, CYCLES)                                                                                         \
    do {                                                                                                               \
        left -= (k);                                                                                                   \
        ip += (at);                                                                                                    \
        cycles -= (CYCLES);                                                                                            \
        goto declined;                                                                                                 \
    } while (0)

/* ---- memory, and devices through the table of pages: `last` is the last byte on the bus ------------------ */

#define SLOW_PEEK(address, last)                                                                                       \
    do {                                                                                                               \
        const uint64_t got_ = slow_peek(&place, (address), cycles, (last));                                            \
        value = (unsigned)got_ & 0xff;                                                                                 \
        gone = (unsigned)got_ & GONE;                                                                                  \
        cycles = (uint32_t)(got_ >> 32);                                                                               \
    } while (0)
#define SLOW_POKE(address, byte, last)                                                                                 \
    do {                                                                                                               \
        const uint64_t got_ = slow_poke(&place, (address), (byte), cycles, (last));                                    \
        gone = (unsigned)got_ & GONE;                                                                                  \
        cycles = (uint32_t)(got_ >> 32);                                                                               \
    } while (0)
#define TIA_PEEK(address, last)                                                                                        \
    do {                                                                                                               \
        system->cycles = cycles;                                                                                       \
        system->bus = (uint8_t)(last);                                                                                 \
        value = be_ale_read(console, (address));                                                                       \
    } while (0)
#define IS_RAM(address) (((address) & 0x1280) == 0x80)
#define PEEK_LOW(address, last)                                                                                        \
    do {                                                                                                               \
        if (LIKELY(IS_RAM(address))) {                                                                                 \
            value = ram[(address) & 0x7f];                                                                             \
        } else {                                                                                                       \
            SLOW_PEEK(address, last);                                                                                  \
        }                                                                                                              \
    } while (0)
#define PEEK_ANY(address, last)                                                                                        \
    do {                                                                                                               \
        if (LIKELY((((address) - rom_first) & 0x1fff) < rom_bytes)) {                                                  \
            value = rom[(address) & mask];                                                                             \
        } else {                                                                                                       \
            PEEK_LOW(address, last);                                                                                   \
        }                                                                                                              \
    } while (0)
#define POKE_ANY(address, byte, last)                                                                                  \
    do {                                                                                                               \
        if (LIKELY(IS_RAM(address))) {                                                                                 \
            ram[(address) & 0x7f] = (uint8_t)(byte);                                                                   \
        } else {                                                                                                       \
            SLOW_POKE(address, byte, last);                                                                            \
        }                                                                                                              \
    } while (0)

/* ---- operands: sets `value` ------------------------------------------------------------------------------ */

#define GET_ZERO_RAM(at, k, CYCLES) value = ram[LOW(at)]
#define GET_ZERO_TIA(at, k, CYCLES) TIA_PEEK(BYTE(at), BYTE(at))
#define GET_ZERO_INDEXED(index, at)                                                                                    \
    const unsigned address = (BYTE(at) + (index)) & 0xff;                                                              \
    if (LIKELY(address & 0x80)) {                                                                                      \
        value = ram[address & 0x7f];                                                                                   \
    } else {                                                                                                           \
        TIA_PEEK(address, BYTE(at));                                                                                   \
    }
#define GET_ZERO_X_NONE(at, k, CYCLES) GET_ZERO_INDEXED(x, at)
#define GET_ZERO_Y_NONE(at, k, CYCLES) GET_ZERO_INDEXED(y, at)
#define GET_ABSOLUTE_RAM(at, k, CYCLES) value = ram[LOW(at)]
#define GET_ABSOLUTE_ROM(at, k, CYCLES) value = LOW(at)
#define GET_ABSOLUTE_ANY(at, k, CYCLES) SLOW_PEEK(WORD(at), WORD(at) >> 8)
/* Reads take one more cycle if the index leads to another page of 256 bytes. */
#define SUM(from, index)                                                                                               \
    const unsigned sum_ = (from) + (index), address = sum_ & 0xffff;                                                   \
    cycles += ((sum_ ^ (from)) & 0xff00) != 0;                                                                         \
    (void)address
#define GET_INDEXED_ROM(index, at)                                                                                     \
    SUM(WORD(at), index);                                                                                              \
    value = rom[sum_ & mask]
#define GET_INDEXED_LOW(index, at)                                                                                     \
    SUM(WORD(at), index);                                                                                              \
    PEEK_LOW(address, WORD(at) >> 8)
#define GET_INDEXED_ANY(index, at)                                                                                     \
    SUM(WORD(at), index);                                                                                              \
    PEEK_ANY(address, WORD(at) >> 8)
#define GET_ABSOLUTE_X_READ_ROM(at, k, CYCLES) GET_INDEXED_ROM(x, at)
#define GET_ABSOLUTE_X_READ_LOW(at, k, CYCLES) GET_INDEXED_LOW(x, at)
#define GET_ABSOLUTE_X_READ_ANY(at, k, CYCLES) GET_INDEXED_ANY(x, at)
#define GET_ABSOLUTE_Y_READ_ROM(at, k, CYCLES) GET_INDEXED_ROM(y, at)
#define GET_ABSOLUTE_Y_READ_LOW(at, k, CYCLES) GET_INDEXED_LOW(y, at)
#define GET_ABSOLUTE_Y_READ_ANY(at, k, CYCLES) GET_INDEXED_ANY(y, at)
/* Pointers lie in the console's memory, and do not end behind it. */
#define POINTER(at) const unsigned pointer_ = ram[LOW(at)] | (unsigned)ram[LOW(at) + 1] << 8
#define POINTER_X(at, k, CYCLES)                                                                                       \
    const unsigned where_ = (BYTE(at) + x) & 0xff;                                                                     \
    if (UNLIKELY(where_ < 0x80 || where_ == 0xff)) DECLINE(at, k, CYCLES);                                             \
    const unsigned address = ram[where_ & 0x7f] | (unsigned)ram[(where_ & 0x7f) + 1] << 8
#define GET_INDIRECT_X_NONE(at, k, CYCLES)                                                                             \
    POINTER_X(at, k, CYCLES);                                                                                          \
    PEEK_ANY(address, address >> 8)
#define GET_INDIRECT_Y_READ_NONE(at, k, CYCLES)                                                                        \
    POINTER(at);                                                                                                       \
    SUM(pointer_, y);                                                                                                  \
    PEEK_ANY(address, pointer_ >> 8)

/* ---- stores of VALUE, which may depend on `address` ------------------------------------------------------ */

#define PUT_ZERO_INDEXED(VALUE, index, at)                                                                             \
    const unsigned address = (BYTE(at) + (index)) & 0xff;                                                              \
    POKE_ANY(address, VALUE, BYTE(at))
#define PUT_INDEXED(VALUE, index, at)                                                                                  \
    const unsigned address = (WORD(at) + (index)) & 0xffff, byte_ = (VALUE);                                           \
    POKE_ANY(address, byte_, WORD(at) >> 8)
#define PUT_ZERO_X_NONE(VALUE, at, k, CYCLES) PUT_ZERO_INDEXED(VALUE, x, at)
#define PUT_ZERO_Y_NONE(VALUE, at, k, CYCLES) PUT_ZERO_INDEXED(VALUE, y, at)
#define PUT_ABSOLUTE_RAM(VALUE, at, k, CYCLES) ram[LOW(at)] = (uint8_t)(VALUE)
#define PUT_ABSOLUTE_ANY(VALUE, at, k, CYCLES) SLOW_POKE(WORD(at), VALUE, WORD(at) >> 8)
#define PUT_ABSOLUTE_X_ANY(VALUE, at, k, CYCLES) PUT_INDEXED(VALUE, x, at)
#define PUT_ABSOLUTE_Y_ANY(VALUE, at, k, CYCLES) PUT_INDEXED(VALUE, y, at)
#define PUT_INDIRECT_X_NONE(VALUE, at, k, CYCLES)                                                                      \
    POINTER_X(at, k, CYCLES);                                                                                          \
    POKE_ANY(address, VALUE, address >> 8)
#define PUT_INDIRECT_Y_NONE(VALUE, at, k, CYCLES)                                                                      \
    POINTER(at);                                                                                                       \
    const unsigned address = (pointer_ + y) & 0xffff, byte_ = (VALUE);                                                 \
    POKE_ANY(address, byte_, pointer_ >> 8)
#define PUT_ZERO_RAM(VALUE, at, k, CYCLES) ram[LOW(at)] = (uint8_t)(VALUE)
#define PUT_ZERO_ANY(VALUE, at, k, CYCLES) SLOW_POKE(BYTE(at), VALUE, BYTE(at))
#define PUT_REGISTER(number, VALUE, at, k)                                                                             \
    BE_ALE_STORE(                                                                                                      \
        console, number, VALUE, cycles, if (UNLIKELY(cpu->status)) {                                                   \
            system->bus = (uint8_t)value_;                                                                             \
            STOP(at, k, 2);                                                                                            \
        })
/* clang-format off */
#define PUT_ZERO_00(VALUE, at, k, CYCLES) PUT_REGISTER(00, VALUE, at, k)
#define PUT_ZERO_01(VALUE, at, k, CYCLES) PUT_REGISTER(01, VALUE, at, k)
#define PUT_ZERO_02(VALUE, at, k, CYCLES) PUT_REGISTER(02, VALUE, at, k)
#define PUT_ZERO_03(VALUE, at, k, CYCLES) PUT_REGISTER(03, VALUE, at, k)
#define PUT_ZERO_04(VALUE, at, k, CYCLES) PUT_REGISTER(04, VALUE, at, k)
#define PUT_ZERO_05(VALUE, at, k, CYCLES) PUT_REGISTER(05, VALUE, at, k)
#define PUT_ZERO_06(VALUE, at, k, CYCLES) PUT_REGISTER(06, VALUE, at, k)
#define PUT_ZERO_07(VALUE, at, k, CYCLES) PUT_REGISTER(07, VALUE, at, k)
#define PUT_ZERO_08(VALUE, at, k, CYCLES) PUT_REGISTER(08, VALUE, at, k)
#define PUT_ZERO_09(VALUE, at, k, CYCLES) PUT_REGISTER(09, VALUE, at, k)
#define PUT_ZERO_0a(VALUE, at, k, CYCLES) PUT_REGISTER(0a, VALUE, at, k)
#define PUT_ZERO_0b(VALUE, at, k, CYCLES) PUT_REGISTER(0b, VALUE, at, k)
#define PUT_ZERO_0c(VALUE, at, k, CYCLES) PUT_REGISTER(0c, VALUE, at, k)
#define PUT_ZERO_0d(VALUE, at, k, CYCLES) PUT_REGISTER(0d, VALUE, at, k)
#define PUT_ZERO_0e(VALUE, at, k, CYCLES) PUT_REGISTER(0e, VALUE, at, k)
#define PUT_ZERO_0f(VALUE, at, k, CYCLES) PUT_REGISTER(0f, VALUE, at, k)
#define PUT_ZERO_10(VALUE, at, k, CYCLES) PUT_REGISTER(10, VALUE, at, k)
#define PUT_ZERO_11(VALUE, at, k, CYCLES) PUT_REGISTER(11, VALUE, at, k)
#define PUT_ZERO_12(VALUE, at, k, CYCLES) PUT_REGISTER(12, VALUE, at, k)
#define PUT_ZERO_13(VALUE, at, k, CYCLES) PUT_REGISTER(13, VALUE, at, k)
#define PUT_ZERO_14(VALUE, at, k, CYCLES) PUT_REGISTER(14, VALUE, at, k)
#define PUT_ZERO_15(VALUE, at, k, CYCLES) PUT_REGISTER(15, VALUE, at, k)
#define PUT_ZERO_16(VALUE, at, k, CYCLES) PUT_REGISTER(16, VALUE, at, k)
#define PUT_ZERO_17(VALUE, at, k, CYCLES) PUT_REGISTER(17, VALUE, at, k)
#define PUT_ZERO_18(VALUE, at, k, CYCLES) PUT_REGISTER(18, VALUE, at, k)
#define PUT_ZERO_19(VALUE, at, k, CYCLES) PUT_REGISTER(19, VALUE, at, k)
#define PUT_ZERO_1a(VALUE, at, k, CYCLES) PUT_REGISTER(1a, VALUE, at, k)
#define PUT_ZERO_1b(VALUE, at, k, CYCLES) PUT_REGISTER(1b, VALUE, at, k)
#define PUT_ZERO_1c(VALUE, at, k, CYCLES) PUT_REGISTER(1c, VALUE, at, k)
#define PUT_ZERO_1d(VALUE, at, k, CYCLES) PUT_REGISTER(1d, VALUE, at, k)
#define PUT_ZERO_1e(VALUE, at, k, CYCLES) PUT_REGISTER(1e, VALUE, at, k)
#define PUT_ZERO_1f(VALUE, at, k, CYCLES) PUT_REGISTER(1f, VALUE, at, k)
#define PUT_ZERO_20(VALUE, at, k, CYCLES) PUT_REGISTER(20, VALUE, at, k)
#define PUT_ZERO_21(VALUE, at, k, CYCLES) PUT_REGISTER(21, VALUE, at, k)
#define PUT_ZERO_22(VALUE, at, k, CYCLES) PUT_REGISTER(22, VALUE, at, k)
#define PUT_ZERO_23(VALUE, at, k, CYCLES) PUT_REGISTER(23, VALUE, at, k)
#define PUT_ZERO_24(VALUE, at, k, CYCLES) PUT_REGISTER(24, VALUE, at, k)
#define PUT_ZERO_25(VALUE, at, k, CYCLES) PUT_REGISTER(25, VALUE, at, k)
#define PUT_ZERO_26(VALUE, at, k, CYCLES) PUT_REGISTER(26, VALUE, at, k)
#define PUT_ZERO_27(VALUE, at, k, CYCLES) PUT_REGISTER(27, VALUE, at, k)
#define PUT_ZERO_28(VALUE, at, k, CYCLES) PUT_REGISTER(28, VALUE, at, k)
#define PUT_ZERO_29(VALUE, at, k, CYCLES) PUT_REGISTER(29, VALUE, at, k)
#define PUT_ZERO_2a(VALUE, at, k, CYCLES) PUT_REGISTER(2a, VALUE, at, k)
#define PUT_ZERO_2b(VALUE, at, k, CYCLES) PUT_REGISTER(2b, VALUE, at, k)
#define PUT_ZERO_2c(VALUE, at, k, CYCLES) PUT_REGISTER(2c, VALUE, at, k)
/* clang-format on */

/* ---- forms ----------------------------------------------------------------------------------------------- */

#define DECODED_IMMEDIATE(MODE, CYCLES, INSTRUCTION, KIND, at, k)                                                      \
    unsigned value = BYTE(at);                                                                                         \
    INSTRUCTION;
#define DECODED_READ(MODE, CYCLES, INSTRUCTION, KIND, at, k)                                                           \
    unsigned value, gone = 0;                                                                                          \
    GET_##MODE##_##KIND(at, k, CYCLES);                                                                                \
    INSTRUCTION;                                                                                                       \
    if (UNLIKELY(gone)) STOP(at, k, BE_ALE_BYTES_##MODE);
#define DECODED_LOAD(MODE, CYCLES, INSTRUCTION, KIND, at, k) DECODED_READ(MODE, CYCLES, INSTRUCTION, KIND, at, k)
/* How long a turn of an idle loop takes depends on where its branch is. */
#define GET_ABSOLUTE_IDLE(at, k, CYCLES)                                                                               \
    const unsigned next_ = PC((at) + 5);                                                                               \
    const uint32_t cycles_of_turn_ = 7 + (((next_ ^ (next_ - 5)) & 0xff00) != 0);                                      \
    const uint32_t turns_ = be_ale_idle_turns(place.timer, WORD(at), cycles, cycles_of_turn_, left + 1);               \
    cycles += turns_ * cycles_of_turn_;                                                                                \
    left -= turns_ * 2;                                                                                                \
    SLOW_PEEK(WORD(at), WORD(at) >> 8)
#define DECODED_WRITE(MODE, CYCLES, VALUE, KIND, at, k)                                                                \
    unsigned gone = 0;                                                                                                 \
    PUT_##MODE##_##KIND(VALUE, at, k, CYCLES);                                                                         \
    if (UNLIKELY(gone)) STOP(at, k, BE_ALE_BYTES_##MODE);
#define DECODED_MODIFY(MODE, CYCLES, INSTRUCTION, KIND, at, k)                                                         \
    DECODED_MODIFY_BOTH(MODE, CYCLES, INSTRUCTION, (void)0, KIND, at, k)
#define DECODED_MODIFY_BOTH(MODE, CYCLES, INSTRUCTION, AFTER, KIND, at, k)                                             \
    MODIFIED_##MODE(at, k, CYCLES);                                                                                    \
    unsigned value = ram[low_];                                                                                        \
    INSTRUCTION;                                                                                                       \
    ram[low_] = (uint8_t)value;                                                                                        \
    AFTER;
#define MODIFIED_ZERO(at, k, CYCLES) const unsigned low_ = LOW(at)
#define MODIFIED_ABSOLUTE(at, k, CYCLES) const unsigned low_ = LOW(at)
#define MODIFIED_ZERO_X(at, k, CYCLES)                                                                                 \
    const unsigned address_ = BYTE(at) + x, low_ = address_ & 0x7f;                                                    \
    if (UNLIKELY(!(address_ & 0x80))) DECLINE(at, k, CYCLES)
#define MODIFIED_ABSOLUTE_X(at, k, CYCLES)                                                                             \
    const unsigned address_ = WORD(at) + x, low_ = address_ & 0x7f;                                                    \
    if (UNLIKELY(!IS_RAM(address_))) DECLINE(at, k, CYCLES)
#define DECODED_REGISTER(MODE, CYCLES, INSTRUCTION, KIND, at, k) INSTRUCTION;
#define DECODED_SHIFT(MODE, CYCLES, INSTRUCTION, KIND, at, k)                                                          \
    unsigned value = a;                                                                                                \
    INSTRUCTION;                                                                                                       \
    a = value;
#define MORE_CYCLES_NEAR 1
#define MORE_CYCLES_FAR 2
#define DECODED_BRANCH(MODE, CYCLES, CONDITION, KIND, at, k)                                                           \
    if (CONDITION) {                                                                                                   \
        cycles += MORE_CYCLES_##KIND;                                                                                  \
        ip += (at) + 2 + (int8_t)BYTE(at);                                                                             \
        DISPATCH((k) + 1);                                                                                             \
    }

/* Goes to a place in this region or elsewhere. The last byte on the bus matters only to a device that the next
 * instruction is read from. */
#define JUMP(target, last, k)                                                                                          \
    do {                                                                                                               \
        const unsigned target_ = (target);                                                                             \
        if (LIKELY(((target_ ^ base) & 0xffff & ~mask) == 0 && IS_PLAIN(target_))) {                                   \
            ip = region + (target_ & mask);                                                                            \
            DISPATCH((k) + 1);                                                                                         \
        }                                                                                                              \
        system->bus = (uint8_t)(last);                                                                                 \
        left -= (k) + 1;                                                                                               \
        pc = target_;                                                                                                  \
        goto enter;                                                                                                    \
    } while (0)
/* Whether no device is at this place in the region. */
#define IS_PLAIN(address) (((address) & mask) - plain_first < plain_bytes)
#define DECODED_JMP(MODE, CYCLES, KIND, at, k) JUMP(WORD(at), WORD(at) >> 8, k);
#define DECODED_JMP_INDIRECT(MODE, CYCLES, KIND, at, k)                                                                \
    POINTER(at);                                                                                                       \
    JUMP(pointer_, pointer_ >> 8, k);

/* The stack may reach down to the picture chip. */
#define DECODED_JSR(MODE, CYCLES, KIND, at, k)                                                                         \
    const unsigned last_ = PC((at) + 2);                                                                               \
    if (UNLIKELY(sp < 0x81)) DECLINE(at, k, CYCLES);                                                                   \
    ram[sp & 0x7f] = (uint8_t)(last_ >> 8);                                                                            \
    ram[(sp - 1) & 0x7f] = (uint8_t)last_;                                                                             \
    sp -= 2;                                                                                                           \
    JUMP(WORD(at), WORD(at) >> 8, k);
/* Reads the byte in front of the next instruction, too. */
#define DECODED_RTS(MODE, CYCLES, KIND, at, k)                                                                         \
    if (UNLIKELY(sp < 0x80 || sp > 0xfd)) DECLINE(at, k, CYCLES);                                                      \
    const unsigned before_ = ram[(sp + 1) & 0x7f] | (unsigned)ram[(sp + 2) & 0x7f] << 8;                               \
    unsigned byte_ = 0;                                                                                                \
    if (UNLIKELY(((before_ ^ base) & 0xffff & ~mask) != 0 || !IS_PLAIN(before_))) {                                    \
        const int got_ = quiet_peek(&place, before_);                                                                  \
        if (got_ < 0) DECLINE(at, k, CYCLES);                                                                          \
        byte_ = (unsigned)got_;                                                                                        \
    } else {                                                                                                           \
        byte_ = rom[before_ & mask];                                                                                   \
    }                                                                                                                  \
    sp += 2;                                                                                                           \
    JUMP((before_ + 1) & 0xffff, byte_, k);
#define PUSH(byte, at, k)                                                                                              \
    const unsigned byte_ = (byte);                                                                                     \
    unsigned gone = 0;                                                                                                 \
    if (LIKELY(sp & 0x80)) {                                                                                           \
        ram[sp & 0x7f] = (uint8_t)byte_;                                                                               \
    } else {                                                                                                           \
        SLOW_POKE(0x100 + sp, byte_, ip[at].opcode);                                                                   \
    }                                                                                                                  \
    sp = (sp - 1) & 0xff;                                                                                              \
    if (UNLIKELY(gone)) STOP(at, k, 1);
#define DECODED_PHA(MODE, CYCLES, KIND, at, k) PUSH(a, at, k)
#define DECODED_PHP(MODE, CYCLES, KIND, at, k) PUSH(FLAGS, at, k)
#define IS_STACK_RAM LIKELY(sp >= 0x80 && sp <= 0xfe)
/* Breakout's stack reaches down to the picture chip, which is read twice. */
#define DECODED_PLA(MODE, CYCLES, KIND, at, k)                                                                         \
    unsigned value;                                                                                                    \
    if (IS_STACK_RAM) {                                                                                                \
        value = ram[++sp & 0x7f];                                                                                      \
    } else {                                                                                                           \
        if (sp >= 0x7f) DECLINE(at, k, CYCLES);                                                                        \
        TIA_PEEK(sp, ip[at].opcode);                                                                                   \
        sp++;                                                                                                          \
        TIA_PEEK(sp, value);                                                                                           \
    }                                                                                                                  \
    LDA;
#define DECODED_PLP(MODE, CYCLES, KIND, at, k)                                                                         \
    if (!IS_STACK_RAM) DECLINE(at, k, CYCLES);                                                                         \
    const unsigned flags = ram[++sp & 0x7f];                                                                           \
    SET_FLAGS(flags);

#endif
