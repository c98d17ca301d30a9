/* What the instructions of the 6502 do, for opcodes.h. An instruction is a statement (a store: the value that is
 * stored; a branch: the condition) about these local variables:
 *
 *     a, x, y, sp   registers, each below 256
 *     nz            Z is set if its lower eight bits are 0, and N if one of 0x180 is set
 *     carry         0 or 1
 *     v             V is its bit 7
 *     cpu           D, I and B are in cpu->d, cpu->i and cpu->b
 *     value         the operand, of which some instructions leave what is written back
 *     address       its address (only for a few undocumented stores)
 */
#ifndef BE_ALE_SEMANTICS_H
#define BE_ALE_SEMANTICS_H

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* In decimal mode the library uses a table with the values of 256 bytes, followed by the bytes of 256 values. If digits
 * are not decimal, it reads a bit beyond the end of one of them. */
static inline unsigned decimal_entry(int index) {
    const unsigned byte = (unsigned)index & 0xff;
    if (index < 0x100) return (byte >> 4) * 10 + (byte & 0xf);
    return (byte % 100 / 10) << 4 | byte % 10;
}

/* Returns the byte, and the carry as bit 8. */
__attribute__((noinline, cold, unused)) static unsigned decimal_sum(unsigned a, unsigned value, unsigned carry) {
    const unsigned sum = decimal_entry((int)a) + decimal_entry((int)value) + carry;
    return (sum > 99) << 8 | decimal_entry(0x100 + (int)(sum & 0xff));
}

__attribute__((noinline, cold, unused)) static unsigned decimal_difference(unsigned a, unsigned value,
                                                                           unsigned borrow) {
    int difference = (int)decimal_entry((int)a) - (int)borrow - (int)decimal_entry((int)value);
    if (difference < 0) difference += 100;
    return decimal_entry(0x100 + difference);
}

#define LDA a = nz = value
#define LDX x = nz = value
#define LDY y = nz = value
#define LAX a = x = nz = value
#define LAS a = x = sp = nz = value & sp
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
    v = value << 1;                                                                                                    \
    nz = (value & 0x80) << 1 | ((value & a) != 0)
#define NOP (void)value
#define ADC                                                                                                            \
    if (LIKELY(!cpu->d)) {                                                                                             \
        const unsigned total_ = a + value + carry;                                                                     \
        v = (a ^ total_) & (value ^ total_);                                                                           \
        carry = total_ >> 8;                                                                                           \
        nz = total_ & 0xff;                                                                                            \
    } else {                                                                                                           \
        const unsigned total_ = decimal_sum(a, value, carry);                                                          \
        nz = total_ & 0xff;                                                                                            \
        v = (a ^ nz) & (value ^ nz);                                                                                   \
        carry = total_ >> 8;                                                                                           \
    }                                                                                                                  \
    a = nz
#define SBC                                                                                                            \
    if (LIKELY(!cpu->d)) {                                                                                             \
        const unsigned total_ = a + (value ^ 0xff) + carry;                                                            \
        v = (a ^ total_) & (value ^ 0xff ^ total_);                                                                    \
        carry = total_ >> 8;                                                                                           \
        nz = total_ & 0xff;                                                                                            \
    } else {                                                                                                           \
        nz = decimal_difference(a, value, carry ^ 1);                                                                  \
        v = (a ^ nz) & (value ^ nz);                                                                                   \
        carry = a >= value + (carry ^ 1);                                                                              \
    }                                                                                                                  \
    a = nz
#define ANC                                                                                                            \
    AND;                                                                                                               \
    carry = a >> 7
#define ALR                                                                                                            \
    value &= a;                                                                                                        \
    LSR;                                                                                                               \
    a = value
#define ANE a = nz = (a | 0xee) & x & value
#define LXA a = x = nz = (a | 0xee) & value
#define SBX                                                                                                            \
    x &= a;                                                                                                            \
    carry = x >= value;                                                                                                \
    x = nz = (x - value) & 0xff
#define ARR                                                                                                            \
    value &= a;                                                                                                        \
    a = nz = value >> 1 | carry << 7;                                                                                  \
    if (!cpu->d) {                                                                                                     \
        carry = a >> 6 & 1;                                                                                            \
        v = a << 1 ^ a << 2;                                                                                           \
    } else {                                                                                                           \
        nz = carry << 8 | (a != 0);                                                                                    \
        v = (value ^ a) << 1;                                                                                          \
        carry = (value & 0xf0) + (value & 0x10) > 0x50;                                                                \
        if ((value & 0xf) + (value & 1) > 5) a = (a & 0xf0) | ((a + 6) & 0xf);                                         \
        if (carry) a = (a + 0x60) & 0xff;                                                                              \
    }

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

#define INX x = nz = (x + 1) & 0xff
#define INY y = nz = (y + 1) & 0xff
#define DEX x = nz = (x - 1) & 0xff
#define DEY y = nz = (y - 1) & 0xff
#define TAX x = nz = a
#define TAY y = nz = a
#define TXA a = nz = x
#define TYA a = nz = y
#define TSX x = nz = sp
#define TXS sp = x
#define CLC carry = 0
#define SEC carry = 1
#define CLI cpu->i = 0
#define SEI cpu->i = 1
#define CLV v = 0
#define CLD cpu->d = 0
#define SED cpu->d = 1
#define STAY (void)0

#define STA a
#define STX x
#define STY y
#define SAX (a & x)
#define SHA (a & x & ((address >> 8) + 1))
#define SHX (x & ((address >> 8) + 1))
#define SHY (y & ((address >> 8) + 1))
#define TAS ((sp = a & x) & ((address >> 8) + 1))

#define PLUS !(nz & 0x180)
#define MINUS (nz & 0x180)
#define V_CLEAR !(v & 0x80)
#define V_SET (v & 0x80)
#define NO_CARRY !carry
#define CARRY carry
#define NOT_ZERO (nz & 0xff)
#define IS_ZERO !(nz & 0xff)

/* The flags as the stack holds them. */
#define FLAGS                                                                                                          \
    (((nz & 0x180) != 0) << 7 | (v & 0x80) >> 1 | 0x20u | (unsigned)cpu->b << 4 | (unsigned)cpu->d << 3 |              \
     (unsigned)cpu->i << 2 | ((nz & 0xff) == 0) << 1 | carry)
#define SET_FLAGS(byte)                                                                                                \
    do {                                                                                                               \
        const unsigned flags_ = (byte);                                                                                \
        nz = (flags_ & 0x80) << 1 | (~flags_ >> 1 & 1);                                                                \
        v = flags_ << 1;                                                                                               \
        cpu->b = 1;                                                                                                    \
        cpu->d = flags_ >> 3 & 1;                                                                                      \
        cpu->i = flags_ >> 2 & 1;                                                                                      \
        carry = flags_ & 1;                                                                                            \
    } while (0)

/* The registers come from the processor object and go back to it. */
#define LOAD_REGISTERS                                                                                                 \
    do {                                                                                                               \
        a = cpu->a;                                                                                                    \
        x = cpu->x;                                                                                                    \
        y = cpu->y;                                                                                                    \
        sp = cpu->sp;                                                                                                  \
        nz = (unsigned)cpu->n << 8 | cpu->not_z;                                                                       \
        carry = cpu->c;                                                                                                \
        v = (unsigned)cpu->v << 7;                                                                                     \
    } while (0)
#define SAVE_REGISTERS                                                                                                 \
    do {                                                                                                               \
        cpu->a = (uint8_t)a;                                                                                           \
        cpu->x = (uint8_t)x;                                                                                           \
        cpu->y = (uint8_t)y;                                                                                           \
        cpu->sp = (uint8_t)sp;                                                                                         \
        cpu->n = (nz & 0x180) != 0;                                                                                    \
        cpu->not_z = (nz & 0xff) != 0;                                                                                 \
        cpu->c = (uint8_t)carry;                                                                                       \
        cpu->v = v >> 7 & 1;                                                                                           \
    } while (0)

#endif
