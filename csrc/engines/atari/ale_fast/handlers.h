/* The ways in which decoded code is executed. A handler is for an opcode and a kind of operand, or for a sequence of
 * them. What is not here, the interpreter executes.
 */
#ifndef BE_ALE_HANDLERS_H
#define BE_ALE_HANDLERS_H

#include "engines/atari/ale_fast/opcodes.h"
#include "engines/atari/ale_fast/registers.h"

/* A kind is one of these, or the number of a register of the picture chip that is written. */
#define REGISTER_KIND(number) KIND_##number = 0x##number,
enum {
    BE_ALE_REGISTERS(REGISTER_KIND) KIND_NONE, /* there is only one */
    KIND_RAM,                                  /* the console's memory */
    KIND_TIA,                                  /* the picture chip */
    KIND_ROM,  /* the region that the code is in; if there is an index, wherever it leads to */
    KIND_LOW,  /* below the cartridge, whatever the index: often the console's memory */
    KIND_ANY,  /* everything else */
    KIND_IDLE, /* the timer, by an instruction at which an idle loop begins: see be_ale_idle_turns */
    KIND_NEAR, /* branches within a page of 256 bytes */
    KIND_FAR,  /* branches to another one */
    NUM_KINDS
};
#undef REGISTER_KIND

/* X(opcode, kind) with all handlers for one instruction. */
#define BE_ALE_SINGLES(X) BE_ALE_OPCODES(KINDS_OF, X)
#define KINDS_OF(opcode, X) KINDS_OF_FORM(OP_##opcode, X, opcode)
#define KINDS_OF_FORM(...) KINDS_OF_FORM_(__VA_ARGS__)
#define KINDS_OF_FORM_(FORM, ...) KINDS_OF_##FORM(__VA_ARGS__)

#define KINDS_OF_IMMEDIATE(MODE, CYCLES, INSTRUCTION, X, opcode) X(opcode, NONE)
#define KINDS_OF_REGISTER(MODE, CYCLES, INSTRUCTION, X, opcode) X(opcode, NONE)
#define KINDS_OF_SHIFT(MODE, CYCLES, INSTRUCTION, X, opcode) X(opcode, NONE)
#define KINDS_OF_BRANCH(MODE, CYCLES, CONDITION, X, opcode) X(opcode, NEAR) X(opcode, FAR)
#define KINDS_OF_JMP(MODE, CYCLES, X, opcode) X(opcode, NONE)
#define KINDS_OF_JMP_INDIRECT(MODE, CYCLES, X, opcode) X(opcode, RAM)
#define KINDS_OF_JSR(MODE, CYCLES, X, opcode) X(opcode, NONE)
#define KINDS_OF_RTS(MODE, CYCLES, X, opcode) X(opcode, NONE)
#define KINDS_OF_PHA(MODE, CYCLES, X, opcode) X(opcode, NONE)
#define KINDS_OF_PHP(MODE, CYCLES, X, opcode) X(opcode, NONE)
#define KINDS_OF_PLA(MODE, CYCLES, X, opcode) X(opcode, NONE)
#define KINDS_OF_PLP(MODE, CYCLES, X, opcode) X(opcode, NONE)
#define KINDS_OF_BRK(MODE, CYCLES, X, opcode)
#define KINDS_OF_RTI(MODE, CYCLES, X, opcode)
#define KINDS_OF_HANG(MODE, CYCLES, X, opcode)

#define KINDS_OF_LOAD(MODE, CYCLES, INSTRUCTION, X, opcode) X(opcode, RAM) X(opcode, ROM) X(opcode, ANY) X(opcode, IDLE)
#define KINDS_OF_READ(MODE, CYCLES, INSTRUCTION, X, opcode) KINDS_OF_READ_##MODE(X, opcode)
#define KINDS_OF_READ_ZERO(X, opcode) X(opcode, RAM) X(opcode, TIA)
#define KINDS_OF_READ_ZERO_X(X, opcode) X(opcode, NONE)
#define KINDS_OF_READ_ZERO_Y(X, opcode) X(opcode, NONE)
#define KINDS_OF_READ_ABSOLUTE(X, opcode) X(opcode, RAM) X(opcode, ROM) X(opcode, ANY)
#define KINDS_OF_READ_ABSOLUTE_X_READ(X, opcode) X(opcode, ROM) X(opcode, LOW) X(opcode, ANY)
#define KINDS_OF_READ_ABSOLUTE_Y_READ(X, opcode) X(opcode, ROM) X(opcode, LOW) X(opcode, ANY)
#define KINDS_OF_READ_INDIRECT_X(X, opcode) X(opcode, NONE)
#define KINDS_OF_READ_INDIRECT_Y_READ(X, opcode) X(opcode, NONE)

#define KINDS_OF_WRITE(MODE, CYCLES, VALUE, X, opcode) KINDS_OF_WRITE_##MODE(X, opcode)
/* clang-format off */
#define KINDS_OF_WRITE_ZERO(X, opcode) \
    X(opcode, RAM) X(opcode, ANY) \
    X(opcode, 00) X(opcode, 01) X(opcode, 02) X(opcode, 03) X(opcode, 04) X(opcode, 05) X(opcode, 06) X(opcode, 07) \
    X(opcode, 08) X(opcode, 09) X(opcode, 0a) X(opcode, 0b) X(opcode, 0c) X(opcode, 0d) X(opcode, 0e) X(opcode, 0f) \
    X(opcode, 10) X(opcode, 11) X(opcode, 12) X(opcode, 13) X(opcode, 14) X(opcode, 15) X(opcode, 16) X(opcode, 17) \
    X(opcode, 18) X(opcode, 19) X(opcode, 1a) X(opcode, 1b) X(opcode, 1c) X(opcode, 1d) X(opcode, 1e) X(opcode, 1f) \
    X(opcode, 20) X(opcode, 21) X(opcode, 22) X(opcode, 23) X(opcode, 24) X(opcode, 25) X(opcode, 26) X(opcode, 27) \
    X(opcode, 28) X(opcode, 29) X(opcode, 2a) X(opcode, 2b) X(opcode, 2c)
/* clang-format on */
#define KINDS_OF_WRITE_ZERO_X(X, opcode) X(opcode, NONE)
#define KINDS_OF_WRITE_ZERO_Y(X, opcode) X(opcode, NONE)
#define KINDS_OF_WRITE_ABSOLUTE(X, opcode) X(opcode, RAM) X(opcode, ANY)
#define KINDS_OF_WRITE_ABSOLUTE_X(X, opcode) X(opcode, ANY)
#define KINDS_OF_WRITE_ABSOLUTE_Y(X, opcode) X(opcode, ANY)
#define KINDS_OF_WRITE_INDIRECT_X(X, opcode) X(opcode, NONE)
#define KINDS_OF_WRITE_INDIRECT_Y(X, opcode) X(opcode, NONE)

#define KINDS_OF_MODIFY(MODE, CYCLES, INSTRUCTION, X, opcode) KINDS_OF_MODIFY_##MODE(X, opcode)
#define KINDS_OF_MODIFY_BOTH(MODE, CYCLES, INSTRUCTION, AFTER, X, opcode) KINDS_OF_MODIFY_##MODE(X, opcode)
#define KINDS_OF_MODIFY_ZERO(X, opcode) X(opcode, RAM)
#define KINDS_OF_MODIFY_ZERO_X(X, opcode) X(opcode, NONE)
#define KINDS_OF_MODIFY_ABSOLUTE(X, opcode) X(opcode, RAM)
#define KINDS_OF_MODIFY_ABSOLUTE_X(X, opcode) X(opcode, ANY)
#define KINDS_OF_MODIFY_ABSOLUTE_Y(X, opcode)
#define KINDS_OF_MODIFY_INDIRECT_X(X, opcode)
#define KINDS_OF_MODIFY_INDIRECT_Y(X, opcode)

#endif
