/* The picture chip's registers, as the processor sees them: a function for each register that is written. Writes that
 * change nothing, which are many, need no function at all. */
#ifndef BE_ALE_REGISTERS_H
#define BE_ALE_REGISTERS_H

#include "engines/atari/ale_fast/console.h"

/* X(number) with the numbers of all registers, two hexadecimal digits. */
#define BE_ALE_REGISTERS(X) BE_ALE_ROW(X, 0) BE_ALE_ROW(X, 1) BE_ALE_ROW(X, 2) BE_ALE_ROW(X, 3)
#define BE_ALE_ROW(X, h)                                                                                               \
    X(h##0)                                                                                                            \
    X(h##1) X(h##2) X(h##3) X(h##4) X(h##5) X(h##6) X(h##7) X(h##8) X(h##9) X(h##a) X(h##b) X(h##c) X(h##d) X(h##e)    \
        X(h##f)

/* Writes to a register when console->system->cycles have passed. May set the processor's status; WSYNC (02) changes
 * the cycles. */
#define DECLARE(number) void be_ale_write_##number(be_ale_console *console, unsigned value);
BE_ALE_REGISTERS(DECLARE)
#undef DECLARE

/* Reads from a register (its number are the address's last four bits) when console->system->cycles have passed. Some
 * bits are those of console->system->bus. */
unsigned be_ale_read(be_ale_console *console, unsigned address);

/* All of them, by their numbers. */
extern void (*const be_ale_writes[64])(be_ale_console *console, unsigned value);

/* To be called before the processor begins. */
void be_ale_registers_begin(be_ale_console *console);

/* The two functions of the picture chip that the library calls. */
void be_ale_picture_poke(ale_device *device, uint16_t address, uint8_t value);
uint8_t be_ale_picture_peek(ale_device *device, uint16_t address);

/* How many clocks after a write the new value counts. */
static inline int32_t be_ale_delay_of(const be_ale_console *console, unsigned number, uint32_t cycles) {
    static const uint8_t field_delays[4] = {4, 5, 2, 3};
    switch (number) {
    case 0x01:
    case 0x0b:
    case 0x0c:
    case 0x1b:
    case 0x1c:
        return 1;
    case 0x04:
    case 0x05:
    case 0x12:
    case 0x13:
        return 8;
    case 0x0d:
    case 0x0e:
    case 0x0f:
        return field_delays[(cycles - console->frame_cycle) & 3]; /* 76 is a multiple of 4 */
    default:
        return 0;
    }
}

/* Whether a write changes nothing but up to where pixels are due, if `cycles` are less than console->quiet_until. */
static inline int be_ale_repeats(const be_ale_console *console, unsigned number, unsigned value) {
    const ale_picture *t = console->picture;
    switch (number) {
    case 0x06: /* colors */
    case 0x07:
    case 0x08:
    case 0x09:
    case 0x0d: /* the playfield */
    case 0x0e:
    case 0x0f:
    case 0x0b: /* reflections */
    case 0x0c:
    case 0x1d: /* missiles and the ball */
    case 0x1e:
    case 0x1f:
    case 0x20: /* motion */
    case 0x21:
    case 0x22:
    case 0x23:
    case 0x24:
    case 0x25: /* delays */
    case 0x26:
    case 0x27:
    case 0x28: /* missiles that are locked */
    case 0x29:
        return console->last[number] == value;
    case 0x0a: /* how the playfield is drawn; of this, some may count only from the next line on */
        return console->last[number] == value &&
               t->mask_field == be_ale_picture_library.fields + (value & 1 ? ALE_WIDTH : 0);
    case 0x1b: /* players, which also take over a value of the other one */
        return t->grp[0] == value && t->grp[1] == t->old_grp[1];
    case 0x1c:
        return t->grp[1] == value && t->grp[0] == t->old_grp[0] && t->enabl == t->old_enabl;
    default:
        return 0;
    }
}

/* A write of the processor when `cycles` (a variable, which WSYNC changes) have passed, whose last access to the bus
 * was a read. AFTER follows if it was not left out: only then the processor's status may have changed. */
#define BE_ALE_STORE(console, number, value, cycles, AFTER)                                                            \
    do {                                                                                                               \
        const unsigned value_ = (value) & 0xff;                                                                        \
        if ((cycles) < (console)->quiet_until && (0x##number == 2 || be_ale_repeats(console, 0x##number, value_))) {   \
            (console)->touched = (int32_t)((cycles) * 3) + be_ale_delay_of(console, 0x##number, cycles);               \
            if (0x##number == 2) {                                                                                     \
                const uint32_t spent_ = ((cycles) - (console)->frame_cycle) % 76;                                      \
                if (spent_) (cycles) += 76 - spent_;                                                                   \
            }                                                                                                          \
        } else {                                                                                                       \
            (console)->system->cycles = (cycles);                                                                      \
            be_ale_write_##number(console, value_);                                                                    \
            if (0x##number == 2) (cycles) = (console)->system->cycles;                                                 \
            AFTER;                                                                                                     \
        }                                                                                                              \
    } while (0)

#endif
