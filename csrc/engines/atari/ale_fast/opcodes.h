/* The 256 opcodes of the 6502: the form of the instruction, how it addresses its operand, how many cycles it takes at
 * least, and what it does (semantics.h). The interpreter (cpu.c) and decoded code (run.c) are both made from this
 * table.
 */
#ifndef BE_ALE_OPCODES_H
#define BE_ALE_OPCODES_H

/* clang-format off */
#define OP_00 BRK, IMMEDIATE, 7
#define OP_01 READ, INDIRECT_X, 6, ORA
#define OP_02 HANG, IMPLIED, 2
#define OP_03 MODIFY_BOTH, INDIRECT_X, 8, ASL, ORA
#define OP_04 READ, ZERO, 3, NOP
#define OP_05 READ, ZERO, 3, ORA
#define OP_06 MODIFY, ZERO, 5, ASL
#define OP_07 MODIFY_BOTH, ZERO, 5, ASL, ORA
#define OP_08 PHP, IMPLIED, 3
#define OP_09 IMMEDIATE, IMMEDIATE, 2, ORA
#define OP_0a SHIFT, IMPLIED, 2, ASL
#define OP_0b IMMEDIATE, IMMEDIATE, 2, ANC
#define OP_0c READ, ABSOLUTE, 4, NOP
#define OP_0d READ, ABSOLUTE, 4, ORA
#define OP_0e MODIFY, ABSOLUTE, 6, ASL
#define OP_0f MODIFY_BOTH, ABSOLUTE, 6, ASL, ORA
#define OP_10 BRANCH, IMMEDIATE, 2, PLUS
#define OP_11 READ, INDIRECT_Y_READ, 5, ORA
#define OP_12 HANG, IMPLIED, 2
#define OP_13 MODIFY_BOTH, INDIRECT_Y, 8, ASL, ORA
#define OP_14 READ, ZERO_X, 4, NOP
#define OP_15 READ, ZERO_X, 4, ORA
#define OP_16 MODIFY, ZERO_X, 6, ASL
#define OP_17 MODIFY_BOTH, ZERO_X, 6, ASL, ORA
#define OP_18 REGISTER, IMPLIED, 2, CLC
#define OP_19 READ, ABSOLUTE_Y_READ, 4, ORA
#define OP_1a REGISTER, IMPLIED, 2, STAY
#define OP_1b MODIFY_BOTH, ABSOLUTE_Y, 7, ASL, ORA
#define OP_1c READ, ABSOLUTE_X_READ, 4, NOP
#define OP_1d READ, ABSOLUTE_X_READ, 4, ORA
#define OP_1e MODIFY, ABSOLUTE_X, 7, ASL
#define OP_1f MODIFY_BOTH, ABSOLUTE_X, 7, ASL, ORA
#define OP_20 JSR, IMMEDIATE, 6
#define OP_21 READ, INDIRECT_X, 6, AND
#define OP_22 HANG, IMPLIED, 2
#define OP_23 MODIFY_BOTH, INDIRECT_X, 8, ROL, AND
#define OP_24 READ, ZERO, 3, BIT
#define OP_25 READ, ZERO, 3, AND
#define OP_26 MODIFY, ZERO, 5, ROL
#define OP_27 MODIFY_BOTH, ZERO, 5, ROL, AND
#define OP_28 PLP, IMPLIED, 4
#define OP_29 IMMEDIATE, IMMEDIATE, 2, AND
#define OP_2a SHIFT, IMPLIED, 2, ROL
#define OP_2b IMMEDIATE, IMMEDIATE, 2, ANC
#define OP_2c READ, ABSOLUTE, 4, BIT
#define OP_2d READ, ABSOLUTE, 4, AND
#define OP_2e MODIFY, ABSOLUTE, 6, ROL
#define OP_2f MODIFY_BOTH, ABSOLUTE, 6, ROL, AND
#define OP_30 BRANCH, IMMEDIATE, 2, MINUS
#define OP_31 READ, INDIRECT_Y_READ, 5, AND
#define OP_32 HANG, IMPLIED, 2
#define OP_33 MODIFY_BOTH, INDIRECT_Y, 8, ROL, AND
#define OP_34 READ, ZERO_X, 4, NOP
#define OP_35 READ, ZERO_X, 4, AND
#define OP_36 MODIFY, ZERO_X, 6, ROL
#define OP_37 MODIFY_BOTH, ZERO_X, 6, ROL, AND
#define OP_38 REGISTER, IMPLIED, 2, SEC
#define OP_39 READ, ABSOLUTE_Y_READ, 4, AND
#define OP_3a REGISTER, IMPLIED, 2, STAY
#define OP_3b MODIFY_BOTH, ABSOLUTE_Y, 7, ROL, AND
#define OP_3c READ, ABSOLUTE_X_READ, 4, NOP
#define OP_3d READ, ABSOLUTE_X_READ, 4, AND
#define OP_3e MODIFY, ABSOLUTE_X, 7, ROL
#define OP_3f MODIFY_BOTH, ABSOLUTE_X, 7, ROL, AND
#define OP_40 RTI, IMPLIED, 6
#define OP_41 READ, INDIRECT_X, 6, EOR
#define OP_42 HANG, IMPLIED, 2
#define OP_43 MODIFY_BOTH, INDIRECT_X, 8, LSR, EOR
#define OP_44 READ, ZERO, 3, NOP
#define OP_45 READ, ZERO, 3, EOR
#define OP_46 MODIFY, ZERO, 5, LSR
#define OP_47 MODIFY_BOTH, ZERO, 5, LSR, EOR
#define OP_48 PHA, IMPLIED, 3
#define OP_49 IMMEDIATE, IMMEDIATE, 2, EOR
#define OP_4a SHIFT, IMPLIED, 2, LSR
#define OP_4b IMMEDIATE, IMMEDIATE, 2, ALR
#define OP_4c JMP, ABSOLUTE, 3
#define OP_4d READ, ABSOLUTE, 4, EOR
#define OP_4e MODIFY, ABSOLUTE, 6, LSR
#define OP_4f MODIFY_BOTH, ABSOLUTE, 6, LSR, EOR
#define OP_50 BRANCH, IMMEDIATE, 2, V_CLEAR
#define OP_51 READ, INDIRECT_Y_READ, 5, EOR
#define OP_52 HANG, IMPLIED, 2
#define OP_53 MODIFY_BOTH, INDIRECT_Y, 8, LSR, EOR
#define OP_54 READ, ZERO_X, 4, NOP
#define OP_55 READ, ZERO_X, 4, EOR
#define OP_56 MODIFY, ZERO_X, 6, LSR
#define OP_57 MODIFY_BOTH, ZERO_X, 6, LSR, EOR
#define OP_58 REGISTER, IMPLIED, 2, CLI
#define OP_59 READ, ABSOLUTE_Y_READ, 4, EOR
#define OP_5a REGISTER, IMPLIED, 2, STAY
#define OP_5b MODIFY_BOTH, ABSOLUTE_Y, 7, LSR, EOR
#define OP_5c READ, ABSOLUTE_X_READ, 4, NOP
#define OP_5d READ, ABSOLUTE_X_READ, 4, EOR
#define OP_5e MODIFY, ABSOLUTE_X, 7, LSR
#define OP_5f MODIFY_BOTH, ABSOLUTE_X, 7, LSR, EOR
#define OP_60 RTS, IMPLIED, 6
#define OP_61 READ, INDIRECT_X, 6, ADC
#define OP_62 HANG, IMPLIED, 2
#define OP_63 MODIFY_BOTH, INDIRECT_X, 8, ROR, ADC
#define OP_64 READ, ZERO, 3, NOP
#define OP_65 READ, ZERO, 3, ADC
#define OP_66 MODIFY, ZERO, 5, ROR
#define OP_67 MODIFY_BOTH, ZERO, 5, ROR, ADC
#define OP_68 PLA, IMPLIED, 4
#define OP_69 IMMEDIATE, IMMEDIATE, 2, ADC
#define OP_6a SHIFT, IMPLIED, 2, ROR
#define OP_6b IMMEDIATE, IMMEDIATE, 2, ARR
#define OP_6c JMP_INDIRECT, ABSOLUTE, 5
#define OP_6d READ, ABSOLUTE, 4, ADC
#define OP_6e MODIFY, ABSOLUTE, 6, ROR
#define OP_6f MODIFY_BOTH, ABSOLUTE, 6, ROR, ADC
#define OP_70 BRANCH, IMMEDIATE, 2, V_SET
#define OP_71 READ, INDIRECT_Y_READ, 5, ADC
#define OP_72 HANG, IMPLIED, 2
#define OP_73 MODIFY_BOTH, INDIRECT_Y, 8, ROR, ADC
#define OP_74 READ, ZERO_X, 4, NOP
#define OP_75 READ, ZERO_X, 4, ADC
#define OP_76 MODIFY, ZERO_X, 6, ROR
#define OP_77 MODIFY_BOTH, ZERO_X, 6, ROR, ADC
#define OP_78 REGISTER, IMPLIED, 2, SEI
#define OP_79 READ, ABSOLUTE_Y_READ, 4, ADC
#define OP_7a REGISTER, IMPLIED, 2, STAY
#define OP_7b MODIFY_BOTH, ABSOLUTE_Y, 7, ROR, ADC
#define OP_7c READ, ABSOLUTE_X_READ, 4, NOP
#define OP_7d READ, ABSOLUTE_X_READ, 4, ADC
#define OP_7e MODIFY, ABSOLUTE_X, 7, ROR
#define OP_7f MODIFY_BOTH, ABSOLUTE_X, 7, ROR, ADC
#define OP_80 IMMEDIATE, IMMEDIATE, 2, NOP
#define OP_81 WRITE, INDIRECT_X, 6, STA
#define OP_82 IMMEDIATE, IMMEDIATE, 2, NOP
#define OP_83 WRITE, INDIRECT_X, 6, SAX
#define OP_84 WRITE, ZERO, 3, STY
#define OP_85 WRITE, ZERO, 3, STA
#define OP_86 WRITE, ZERO, 3, STX
#define OP_87 WRITE, ZERO, 3, SAX
#define OP_88 REGISTER, IMPLIED, 2, DEY
#define OP_89 IMMEDIATE, IMMEDIATE, 2, NOP
#define OP_8a REGISTER, IMPLIED, 2, TXA
#define OP_8b IMMEDIATE, IMMEDIATE, 2, ANE
#define OP_8c WRITE, ABSOLUTE, 4, STY
#define OP_8d WRITE, ABSOLUTE, 4, STA
#define OP_8e WRITE, ABSOLUTE, 4, STX
#define OP_8f WRITE, ABSOLUTE, 4, SAX
#define OP_90 BRANCH, IMMEDIATE, 2, NO_CARRY
#define OP_91 WRITE, INDIRECT_Y, 6, STA
#define OP_92 HANG, IMPLIED, 2
#define OP_93 WRITE, INDIRECT_Y, 6, SHA
#define OP_94 WRITE, ZERO_X, 4, STY
#define OP_95 WRITE, ZERO_X, 4, STA
#define OP_96 WRITE, ZERO_Y, 4, STX
#define OP_97 WRITE, ZERO_Y, 4, SAX
#define OP_98 REGISTER, IMPLIED, 2, TYA
#define OP_99 WRITE, ABSOLUTE_Y, 5, STA
#define OP_9a REGISTER, IMPLIED, 2, TXS
#define OP_9b WRITE, ABSOLUTE_Y, 5, TAS
#define OP_9c WRITE, ABSOLUTE_X, 5, SHY
#define OP_9d WRITE, ABSOLUTE_X, 5, STA
#define OP_9e WRITE, ABSOLUTE_Y, 5, SHX
#define OP_9f WRITE, ABSOLUTE_Y, 5, SHA
#define OP_a0 IMMEDIATE, IMMEDIATE, 2, LDY
#define OP_a1 READ, INDIRECT_X, 6, LDA
#define OP_a2 IMMEDIATE, IMMEDIATE, 2, LDX
#define OP_a3 READ, INDIRECT_X, 6, LAX
#define OP_a4 READ, ZERO, 3, LDY
#define OP_a5 READ, ZERO, 3, LDA
#define OP_a6 READ, ZERO, 3, LDX
#define OP_a7 READ, ZERO, 4, LAX
#define OP_a8 REGISTER, IMPLIED, 2, TAY
#define OP_a9 IMMEDIATE, IMMEDIATE, 2, LDA
#define OP_aa REGISTER, IMPLIED, 2, TAX
#define OP_ab IMMEDIATE, IMMEDIATE, 2, LXA
#define OP_ac LOAD, ABSOLUTE, 4, LDY
#define OP_ad LOAD, ABSOLUTE, 4, LDA
#define OP_ae LOAD, ABSOLUTE, 4, LDX
#define OP_af READ, ABSOLUTE, 4, LAX
#define OP_b0 BRANCH, IMMEDIATE, 2, CARRY
#define OP_b1 READ, INDIRECT_Y_READ, 5, LDA
#define OP_b2 HANG, IMPLIED, 2
#define OP_b3 READ, INDIRECT_Y_READ, 5, LAX
#define OP_b4 READ, ZERO_X, 4, LDY
#define OP_b5 READ, ZERO_X, 4, LDA
#define OP_b6 READ, ZERO_Y, 4, LDX
#define OP_b7 READ, ZERO_Y, 4, LAX
#define OP_b8 REGISTER, IMPLIED, 2, CLV
#define OP_b9 READ, ABSOLUTE_Y_READ, 4, LDA
#define OP_ba REGISTER, IMPLIED, 2, TSX
#define OP_bb READ, ABSOLUTE_Y_READ, 4, LAS
#define OP_bc READ, ABSOLUTE_X_READ, 4, LDY
#define OP_bd READ, ABSOLUTE_X_READ, 4, LDA
#define OP_be READ, ABSOLUTE_Y_READ, 4, LDX
#define OP_bf READ, ABSOLUTE_Y_READ, 4, LAX
#define OP_c0 IMMEDIATE, IMMEDIATE, 2, CPY
#define OP_c1 READ, INDIRECT_X, 6, CMP
#define OP_c2 IMMEDIATE, IMMEDIATE, 2, NOP
#define OP_c3 MODIFY_BOTH, INDIRECT_X, 8, DEC, CMP
#define OP_c4 READ, ZERO, 3, CPY
#define OP_c5 READ, ZERO, 3, CMP
#define OP_c6 MODIFY, ZERO, 5, DEC
#define OP_c7 MODIFY_BOTH, ZERO, 5, DEC, CMP
#define OP_c8 REGISTER, IMPLIED, 2, INY
#define OP_c9 IMMEDIATE, IMMEDIATE, 2, CMP
#define OP_ca REGISTER, IMPLIED, 2, DEX
#define OP_cb IMMEDIATE, IMMEDIATE, 2, SBX
#define OP_cc READ, ABSOLUTE, 4, CPY
#define OP_cd READ, ABSOLUTE, 4, CMP
#define OP_ce MODIFY, ABSOLUTE, 6, DEC
#define OP_cf MODIFY_BOTH, ABSOLUTE, 6, DEC, CMP
#define OP_d0 BRANCH, IMMEDIATE, 2, NOT_ZERO
#define OP_d1 READ, INDIRECT_Y_READ, 5, CMP
#define OP_d2 HANG, IMPLIED, 2
#define OP_d3 MODIFY_BOTH, INDIRECT_Y, 8, DEC, CMP
#define OP_d4 READ, ZERO_X, 4, NOP
#define OP_d5 READ, ZERO_X, 4, CMP
#define OP_d6 MODIFY, ZERO_X, 6, DEC
#define OP_d7 MODIFY_BOTH, ZERO_X, 6, DEC, CMP
#define OP_d8 REGISTER, IMPLIED, 2, CLD
#define OP_d9 READ, ABSOLUTE_Y_READ, 4, CMP
#define OP_da REGISTER, IMPLIED, 2, STAY
#define OP_db MODIFY_BOTH, ABSOLUTE_Y, 7, DEC, CMP
#define OP_dc READ, ABSOLUTE_X_READ, 4, NOP
#define OP_dd READ, ABSOLUTE_X_READ, 4, CMP
#define OP_de MODIFY, ABSOLUTE_X, 7, DEC
#define OP_df MODIFY_BOTH, ABSOLUTE_X, 7, DEC, CMP
#define OP_e0 IMMEDIATE, IMMEDIATE, 2, CPX
#define OP_e1 READ, INDIRECT_X, 6, SBC
#define OP_e2 IMMEDIATE, IMMEDIATE, 2, NOP
#define OP_e3 MODIFY_BOTH, INDIRECT_X, 8, INC, SBC
#define OP_e4 READ, ZERO, 3, CPX
#define OP_e5 READ, ZERO, 3, SBC
#define OP_e6 MODIFY, ZERO, 5, INC
#define OP_e7 MODIFY_BOTH, ZERO, 5, INC, SBC
#define OP_e8 REGISTER, IMPLIED, 2, INX
#define OP_e9 IMMEDIATE, IMMEDIATE, 2, SBC
#define OP_ea REGISTER, IMPLIED, 2, STAY
#define OP_eb IMMEDIATE, IMMEDIATE, 2, SBC
#define OP_ec READ, ABSOLUTE, 4, CPX
#define OP_ed READ, ABSOLUTE, 4, SBC
#define OP_ee MODIFY, ABSOLUTE, 6, INC
#define OP_ef MODIFY_BOTH, ABSOLUTE, 6, INC, SBC
#define OP_f0 BRANCH, IMMEDIATE, 2, IS_ZERO
#define OP_f1 READ, INDIRECT_Y_READ, 5, SBC
#define OP_f2 HANG, IMPLIED, 2
#define OP_f3 MODIFY_BOTH, INDIRECT_Y, 8, INC, SBC
#define OP_f4 READ, ZERO_X, 4, NOP
#define OP_f5 READ, ZERO_X, 4, SBC
#define OP_f6 MODIFY, ZERO_X, 6, INC
#define OP_f7 MODIFY_BOTH, ZERO_X, 6, INC, SBC
#define OP_f8 REGISTER, IMPLIED, 2, SED
#define OP_f9 READ, ABSOLUTE_Y_READ, 4, SBC
#define OP_fa REGISTER, IMPLIED, 2, STAY
#define OP_fb MODIFY_BOTH, ABSOLUTE_Y, 7, INC, SBC
#define OP_fc READ, ABSOLUTE_X_READ, 4, NOP
#define OP_fd READ, ABSOLUTE_X_READ, 4, SBC
#define OP_fe MODIFY, ABSOLUTE_X, 7, INC
#define OP_ff MODIFY_BOTH, ABSOLUTE_X, 7, INC, SBC

/* X(opcode, more) with each of them, two hexadecimal digits; `more` may be empty. */
#define BE_ALE_OPCODES(X, more)                                                                                        \
    BE_ALE_SIXTEEN(X, more, 0)                                                                                         \
    BE_ALE_SIXTEEN(X, more, 1)                                                                                         \
    BE_ALE_SIXTEEN(X, more, 2)                                                                                         \
    BE_ALE_SIXTEEN(X, more, 3)                                                                                         \
    BE_ALE_SIXTEEN(X, more, 4)                                                                                         \
    BE_ALE_SIXTEEN(X, more, 5)                                                                                         \
    BE_ALE_SIXTEEN(X, more, 6)                                                                                         \
    BE_ALE_SIXTEEN(X, more, 7)                                                                                         \
    BE_ALE_SIXTEEN(X, more, 8)                                                                                         \
    BE_ALE_SIXTEEN(X, more, 9)                                                                                         \
    BE_ALE_SIXTEEN(X, more, a)                                                                                         \
    BE_ALE_SIXTEEN(X, more, b)                                                                                         \
    BE_ALE_SIXTEEN(X, more, c)                                                                                         \
    BE_ALE_SIXTEEN(X, more, d)                                                                                         \
    BE_ALE_SIXTEEN(X, more, e)                                                                                         \
    BE_ALE_SIXTEEN(X, more, f)
#define BE_ALE_SIXTEEN(X, more, h)                                                                                     \
    X(h##0, more) X(h##1, more) X(h##2, more) X(h##3, more) X(h##4, more) X(h##5, more)                                \
    X(h##6, more) X(h##7, more) X(h##8, more) X(h##9, more) X(h##a, more) X(h##b, more)                                \
    X(h##c, more) X(h##d, more) X(h##e, more) X(h##f, more)
/* clang-format on */

/* DO(prefix, OP_..., more) is prefix##FORM(MODE, CYCLES, ..., more). */
#define BE_ALE_DO(PREFIX, ...) BE_ALE_DO_FORM(PREFIX, __VA_ARGS__)
#define BE_ALE_DO_FORM(PREFIX, FORM, ...) PREFIX##FORM(__VA_ARGS__)

/* How many bytes of an instruction are read before anything else happens: all of them but for JSR, which reads the
 * third after it has pushed the address of it. */
#define BE_ALE_BYTES(...) BE_ALE_BYTES_OF(__VA_ARGS__)
#define BE_ALE_BYTES_OF(FORM, MODE, ...) BE_ALE_BYTES_##MODE
#define BE_ALE_BYTES_IMPLIED 1
#define BE_ALE_BYTES_IMMEDIATE 2
#define BE_ALE_BYTES_ZERO 2
#define BE_ALE_BYTES_ZERO_X 2
#define BE_ALE_BYTES_ZERO_Y 2
#define BE_ALE_BYTES_INDIRECT_X 2
#define BE_ALE_BYTES_INDIRECT_Y 2
#define BE_ALE_BYTES_INDIRECT_Y_READ 2
#define BE_ALE_BYTES_ABSOLUTE 3
#define BE_ALE_BYTES_ABSOLUTE_X 3
#define BE_ALE_BYTES_ABSOLUTE_Y 3
#define BE_ALE_BYTES_ABSOLUTE_X_READ 3
#define BE_ALE_BYTES_ABSOLUTE_Y_READ 3

#define BE_ALE_CYCLES(...) BE_ALE_CYCLES_OF(__VA_ARGS__)
#define BE_ALE_CYCLES_OF(FORM, MODE, CYCLES, ...) CYCLES

#endif
