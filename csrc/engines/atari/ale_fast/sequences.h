/* Sequences of instructions that games execute often: for each instruction the opcode and the kind of its
 * operand (handlers.h). Made by tools/generate/atari_sequences.py. */
#ifndef BE_ALE_SEQUENCES_H
#define BE_ALE_SEQUENCES_H

/* clang-format off */
#define BE_ALE_SEQUENCES(TWO, THREE, FOUR, FIVE) \
    TWO(05, RAM, 85, RAM) \
    TWO(08, NONE, 68, NONE) \
    TWO(0a, NONE, 0a, NONE) \
    TWO(18, NONE, 65, RAM) \
    TWO(18, NONE, 69, NONE) \
    TWO(24, RAM, 10, NEAR) \
    TWO(24, RAM, 30, NEAR) \
    TWO(24, RAM, 70, NEAR) \
    TWO(25, RAM, d0, NEAR) \
    TWO(25, RAM, f0, NEAR) \
    TWO(29, NONE, 08, NONE) \
    TWO(29, NONE, 85, RAM) \
    TWO(29, NONE, a8, NONE) \
    TWO(29, NONE, aa, NONE) \
    TWO(29, NONE, d0, NEAR) \
    TWO(29, NONE, f0, NEAR) \
    TWO(2a, NONE, 2a, NONE) \
    TWO(2c, ANY, 10, NEAR) \
    TWO(30, NEAR, d0, NEAR) \
    TWO(38, NONE, a5, RAM) \
    TWO(38, NONE, e5, RAM) \
    TWO(38, NONE, e9, NONE) \
    TWO(45, RAM, 25, RAM) \
    TWO(48, NONE, 68, NONE) \
    TWO(4a, NONE, 4a, NONE) \
    TWO(4a, NONE, 90, NEAR) \
    TWO(4a, NONE, b0, NEAR) \
    TWO(65, RAM, 85, RAM) \
    TWO(68, NONE, 68, NONE) \
    TWO(68, NONE, 85, RAM) \
    TWO(75, NONE, 85, RAM) \
    TWO(84, 1b, 84, 1c) \
    TWO(84, RAM, a4, RAM) \
    TWO(85, 02, 10, NEAR) \
    TWO(85, 02, 84, 1f) \
    TWO(85, 02, 85, 06) \
    TWO(85, 02, 85, 07) \
    TWO(85, 02, 85, 0d) \
    TWO(85, 02, 85, 1b) \
    TWO(85, 02, 85, 1c) \
    TWO(85, 02, 85, 2a) \
    TWO(85, 02, 88, NONE) \
    TWO(85, 02, 95, NONE) \
    TWO(85, 02, a5, RAM) \
    TWO(85, 02, a9, NONE) \
    TWO(85, 02, d0, NEAR) \
    TWO(85, 04, 85, 05) \
    TWO(85, 06, 85, 07) \
    TWO(85, 0e, 84, 0f) \
    TWO(85, 0e, 85, 0f) \
    TWO(85, 10, 85, 04) \
    TWO(85, 10, 85, 11) \
    TWO(85, 1b, 85, 02) \
    TWO(85, 1b, a5, RAM) \
    TWO(85, 1b, a6, RAM) \
    TWO(85, 1c, 86, 1b) \
    TWO(85, 1c, a5, RAM) \
    TWO(85, 1c, a9, NONE) \
    TWO(85, 2a, 85, 06) \
    TWO(85, 2b, 90, NEAR) \
    TWO(85, 2b, a4, RAM) \
    TWO(85, RAM, 85, 2c) \
    TWO(85, RAM, 85, RAM) \
    TWO(85, RAM, a5, RAM) \
    TWO(85, RAM, d0, NEAR) \
    TWO(86, 0e, 86, 0f) \
    TWO(86, 1b, 85, 1c) \
    TWO(86, 1c, 85, 1b) \
    TWO(88, NONE, 10, FAR) \
    TWO(88, NONE, 10, NEAR) \
    TWO(88, NONE, 30, NEAR) \
    TWO(88, NONE, 84, RAM) \
    TWO(88, NONE, d0, NEAR) \
    TWO(88, NONE, f0, NEAR) \
    TWO(8a, NONE, a8, NONE) \
    TWO(8a, NONE, e5, RAM) \
    TWO(8a, NONE, e8, NONE) \
    TWO(95, NONE, 88, NONE) \
    TWO(95, NONE, a5, RAM) \
    TWO(98, NONE, a6, RAM) \
    TWO(98, NONE, e5, RAM) \
    TWO(a0, NONE, 85, 02) \
    TWO(a0, NONE, f0, NEAR) \
    TWO(a2, NONE, 20, NONE) \
    TWO(a2, NONE, 86, 08) \
    TWO(a2, NONE, 8e, ANY) \
    TWO(a2, NONE, 9a, NONE) \
    TWO(a2, NONE, a0, NONE) \
    TWO(a2, NONE, a1, NONE) \
    TWO(a4, RAM, a5, RAM) \
    TWO(a4, RAM, b1, NONE) \
    TWO(a4, RAM, b9, ANY) \
    TWO(a4, RAM, b9, LOW) \
    TWO(a4, RAM, b9, ROM) \
    TWO(a5, RAM, 05, TIA) \
    TWO(a5, RAM, 10, NEAR) \
    TWO(a5, RAM, 29, NONE) \
    TWO(a5, RAM, 30, NEAR) \
    TWO(a5, RAM, 45, RAM) \
    TWO(a5, RAM, 49, NONE) \
    TWO(a5, RAM, 4c, NONE) \
    TWO(a5, RAM, 85, 06) \
    TWO(a5, RAM, 85, 07) \
    TWO(a5, RAM, 85, 08) \
    TWO(a5, RAM, 85, 09) \
    TWO(a5, RAM, 85, 0b) \
    TWO(a5, RAM, 85, 0c) \
    TWO(a5, RAM, 85, 0d) \
    TWO(a5, RAM, 85, 0e) \
    TWO(a5, RAM, 85, 0f) \
    TWO(a5, RAM, 85, 1d) \
    TWO(a5, RAM, c5, RAM) \
    TWO(a5, RAM, d0, NEAR) \
    TWO(a5, RAM, ea, NONE) \
    TWO(a5, RAM, f0, NEAR) \
    TWO(a6, RAM, 30, NEAR) \
    TWO(a6, RAM, 95, NONE) \
    TWO(a6, RAM, 98, NONE) \
    TWO(a6, RAM, a5, RAM) \
    TWO(a6, RAM, b4, NONE) \
    TWO(a6, RAM, b5, NONE) \
    TWO(a6, RAM, bd, ROM) \
    TWO(a6, RAM, f0, NEAR) \
    TWO(a8, NONE, a5, RAM) \
    TWO(a8, NONE, b9, ROM) \
    TWO(a9, NONE, 4c, NONE) \
    TWO(a9, NONE, 85, 02) \
    TWO(a9, NONE, 85, 08) \
    TWO(a9, NONE, 85, 09) \
    TWO(a9, NONE, 85, 0d) \
    TWO(a9, NONE, 85, 0f) \
    TWO(a9, NONE, 85, 1b) \
    TWO(a9, NONE, 85, 1c) \
    TWO(a9, NONE, 85, 1e) \
    TWO(a9, NONE, 85, 1f) \
    TWO(a9, NONE, 85, 20) \
    TWO(a9, NONE, 85, 21) \
    TWO(a9, NONE, 85, RAM) \
    TWO(a9, NONE, 8d, ANY) \
    TWO(a9, NONE, 95, NONE) \
    TWO(a9, NONE, a4, RAM) \
    TWO(a9, NONE, b0, NEAR) \
    TWO(a9, NONE, e0, NONE) \
    TWO(a9, NONE, f0, NEAR) \
    TWO(ac, ANY, 10, NEAR) \
    TWO(ad, ANY, 10, NEAR) \
    TWO(ad, ANY, 30, NEAR) \
    TWO(ad, ANY, f0, NEAR) \
    TWO(ad, RAM, 85, 06) \
    TWO(ae, ANY, 10, NEAR) \
    TWO(b1, NONE, 10, NEAR) \
    TWO(b1, NONE, 11, NONE) \
    TWO(b1, NONE, 29, NONE) \
    TWO(b1, NONE, 31, NONE) \
    TWO(b1, NONE, 4a, NONE) \
    TWO(b1, NONE, 85, 02) \
    TWO(b1, NONE, 85, 06) \
    TWO(b1, NONE, 85, 07) \
    TWO(b1, NONE, 85, 0d) \
    TWO(b1, NONE, 85, 0f) \
    TWO(b1, NONE, 85, 1b) \
    TWO(b1, NONE, 85, 1c) \
    TWO(b1, NONE, 85, 1d) \
    TWO(b1, NONE, 85, 1e) \
    TWO(b1, NONE, 85, 1f) \
    TWO(b1, NONE, 85, RAM) \
    TWO(b1, NONE, a4, RAM) \
    TWO(b1, NONE, aa, NONE) \
    TWO(b1, NONE, f0, NEAR) \
    TWO(b5, NONE, 29, NONE) \
    TWO(b5, NONE, 30, NEAR) \
    TWO(b5, NONE, 85, 08) \
    TWO(b5, NONE, 85, 0d) \
    TWO(b5, NONE, 85, 0e) \
    TWO(b5, NONE, 85, 0f) \
    TWO(b5, NONE, 85, RAM) \
    TWO(b5, NONE, b4, NONE) \
    TWO(b5, NONE, f0, NEAR) \
    TWO(b9, ANY, 85, 0e) \
    TWO(b9, ANY, 85, 0f) \
    TWO(b9, ANY, 85, RAM) \
    TWO(b9, LOW, 85, 06) \
    TWO(b9, LOW, 85, 0f) \
    TWO(b9, ROM, 85, 06) \
    TWO(b9, ROM, 85, 0e) \
    TWO(b9, ROM, 85, 0f) \
    TWO(b9, ROM, 85, 1b) \
    TWO(b9, ROM, 85, 22) \
    TWO(b9, ROM, 85, RAM) \
    TWO(bd, ANY, 85, 06) \
    TWO(bd, ANY, 85, RAM) \
    TWO(bd, ROM, 85, 0d) \
    TWO(bd, ROM, 85, 0e) \
    TWO(bd, ROM, 85, 0f) \
    TWO(bd, ROM, 85, 1b) \
    TWO(bd, ROM, 85, 1c) \
    TWO(bd, ROM, 85, RAM) \
    TWO(c0, NONE, 90, NEAR) \
    TWO(c0, NONE, b0, NEAR) \
    TWO(c0, NONE, d0, NEAR) \
    TWO(c0, NONE, f0, NEAR) \
    TWO(c4, RAM, 90, NEAR) \
    TWO(c4, RAM, b0, NEAR) \
    TWO(c4, RAM, d0, NEAR) \
    TWO(c4, RAM, f0, NEAR) \
    TWO(c5, RAM, b0, NEAR) \
    TWO(c5, RAM, d0, NEAR) \
    TWO(c5, RAM, f0, NEAR) \
    TWO(c6, RAM, 10, FAR) \
    TWO(c6, RAM, 10, NEAR) \
    TWO(c6, RAM, 30, NEAR) \
    TWO(c6, RAM, a4, RAM) \
    TWO(c6, RAM, a5, RAM) \
    TWO(c6, RAM, d0, NEAR) \
    TWO(c6, RAM, f0, FAR) \
    TWO(c6, RAM, f0, NEAR) \
    TWO(c8, NONE, 30, NEAR) \
    TWO(c8, NONE, 84, RAM) \
    TWO(c8, NONE, 98, NONE) \
    TWO(c8, NONE, c8, NONE) \
    TWO(c9, NONE, 84, 04) \
    TWO(c9, NONE, 90, NEAR) \
    TWO(c9, NONE, b0, NEAR) \
    TWO(c9, NONE, d0, NEAR) \
    TWO(c9, NONE, f0, NEAR) \
    TWO(ca, NONE, 10, FAR) \
    TWO(ca, NONE, 10, NEAR) \
    TWO(ca, NONE, 30, NEAR) \
    TWO(ca, NONE, d0, FAR) \
    TWO(ca, NONE, d0, NEAR) \
    TWO(ca, NONE, f0, NEAR) \
    TWO(d5, NONE, 90, NEAR) \
    TWO(d5, NONE, d0, NEAR) \
    TWO(d5, NONE, f0, NEAR) \
    TWO(e0, NONE, 90, NEAR) \
    TWO(e0, NONE, b0, NEAR) \
    TWO(e0, NONE, d0, FAR) \
    TWO(e0, NONE, d0, NEAR) \
    TWO(e0, NONE, f0, NEAR) \
    TWO(e4, RAM, 08, NONE) \
    TWO(e4, RAM, 30, NEAR) \
    TWO(e4, RAM, 85, 02) \
    TWO(e4, RAM, 90, NEAR) \
    TWO(e4, RAM, b0, NEAR) \
    TWO(e4, RAM, d0, NEAR) \
    TWO(e4, RAM, f0, NEAR) \
    TWO(e6, RAM, a4, RAM) \
    TWO(e6, RAM, ad, ANY) \
    TWO(e6, RAM, e6, RAM) \
    TWO(e8, NONE, 86, RAM) \
    TWO(e8, NONE, a4, RAM) \
    TWO(e8, NONE, e8, NONE) \
    TWO(e9, NONE, b0, NEAR) \
    TWO(ea, NONE, 4c, NONE) \
    TWO(ea, NONE, a5, RAM) \
    TWO(ea, NONE, ea, NONE) \
    TWO(f0, NEAR, 10, NEAR) \
    TWO(f0, NEAR, c6, RAM) \
    THREE(0a, NONE, 0a, NONE, 0a, NONE) \
    THREE(29, NONE, 85, RAM, 98, NONE) \
    THREE(38, NONE, a5, RAM, e5, RAM) \
    THREE(4a, NONE, 4a, NONE, 4a, NONE) \
    THREE(85, 02, 85, 2a, 85, 09) \
    THREE(85, 02, 85, 2a, 85, 1b) \
    THREE(85, 02, 85, 2a, 85, 1c) \
    THREE(85, 02, 85, 2a, 86, 1c) \
    THREE(85, 02, 88, NONE, 10, NEAR) \
    THREE(85, 02, a5, RAM, 85, 0d) \
    THREE(85, 02, b1, NONE, 10, NEAR) \
    THREE(85, 02, b1, NONE, 85, 1b) \
    THREE(85, 02, ca, NONE, 10, NEAR) \
    THREE(85, 02, ca, NONE, d0, NEAR) \
    THREE(85, 0e, b1, NONE, 85, 0f) \
    THREE(85, 1c, 86, 1b, 84, 1c) \
    THREE(85, 1c, ca, NONE, 10, NEAR) \
    THREE(85, RAM, a9, NONE, 85, RAM) \
    THREE(86, RAM, a6, RAM, b5, NONE) \
    THREE(88, NONE, 10, NEAR, 95, NONE) \
    THREE(88, NONE, c0, NONE, b0, NEAR) \
    THREE(88, NONE, c4, RAM, d0, NEAR) \
    THREE(8a, NONE, 38, NONE, e5, RAM) \
    THREE(95, NONE, ca, NONE, 10, NEAR) \
    THREE(a2, NONE, c4, RAM, d0, NEAR) \
    THREE(a4, RAM, 88, NONE, 10, NEAR) \
    THREE(a4, RAM, 88, NONE, d0, NEAR) \
    THREE(a4, RAM, a5, RAM, 85, 02) \
    THREE(a4, RAM, b9, ROM, 30, NEAR) \
    THREE(a5, RAM, 29, NONE, d0, NEAR) \
    THREE(a5, RAM, 29, NONE, f0, NEAR) \
    THREE(a5, RAM, 38, NONE, e5, RAM) \
    THREE(a5, RAM, 45, RAM, 25, RAM) \
    THREE(a5, RAM, 49, NONE, d0, NEAR) \
    THREE(a5, RAM, 65, RAM, 85, RAM) \
    THREE(a5, RAM, 85, 06, 86, 1b) \
    THREE(a5, RAM, 85, 08, 85, 08) \
    THREE(a5, RAM, 85, 08, a6, RAM) \
    THREE(a5, RAM, c5, RAM, 90, NEAR) \
    THREE(a5, RAM, c5, RAM, d0, NEAR) \
    THREE(a5, RAM, c9, NONE, 90, NEAR) \
    THREE(a5, RAM, c9, NONE, d0, NEAR) \
    THREE(a5, RAM, c9, NONE, f0, NEAR) \
    THREE(a8, NONE, c9, NONE, 90, NEAR) \
    THREE(a9, NONE, 85, 0d, a9, NONE) \
    THREE(a9, NONE, 85, 1b, 85, 1c) \
    THREE(a9, NONE, c6, RAM, d0, NEAR) \
    THREE(b1, NONE, 31, NONE, 85, 1c) \
    THREE(b1, NONE, 85, 02, 85, 1b) \
    THREE(b1, NONE, 85, 06, 85, 07) \
    THREE(b1, NONE, 85, 1b, 85, 02) \
    THREE(b1, NONE, 85, 1b, 86, 06) \
    THREE(b1, NONE, 85, 1b, b1, NONE) \
    THREE(b1, NONE, 85, 1c, a4, RAM) \
    THREE(b1, NONE, 85, 1c, b1, NONE) \
    THREE(b1, NONE, 85, 1c, c6, RAM) \
    THREE(b1, NONE, 85, RAM, b1, NONE) \
    THREE(b1, NONE, 86, 1b, 85, 1c) \
    THREE(b1, NONE, aa, NONE, b1, NONE) \
    THREE(bd, ROM, 45, RAM, 25, RAM) \
    THREE(c6, RAM, a4, RAM, b1, NONE) \
    THREE(c6, RAM, a5, RAM, c9, NONE) \
    THREE(c8, NONE, c0, NONE, d0, NEAR) \
    THREE(c8, NONE, ca, NONE, d0, NEAR) \
    THREE(c8, NONE, e9, NONE, b0, NEAR) \
    THREE(ca, NONE, 88, NONE, 10, NEAR) \
    THREE(ca, NONE, ca, NONE, 10, NEAR) \
    THREE(ca, NONE, e0, NONE, d0, NEAR) \
    THREE(e6, RAM, ad, ANY, d0, FAR) \
    THREE(e6, RAM, ca, NONE, d0, NEAR) \
    THREE(e8, NONE, e4, RAM, d0, NEAR) \
    THREE(ea, NONE, a5, RAM, a5, RAM) \
    THREE(ea, NONE, ea, NONE, 4c, NONE) \
    THREE(ea, NONE, ea, NONE, ea, NONE) \
    FOUR(0a, NONE, 0a, NONE, 0a, NONE, 0a, NONE) \
    FOUR(18, NONE, 65, RAM, c9, NONE, 90, NEAR) \
    FOUR(18, NONE, a5, RAM, 65, RAM, 85, RAM) \
    FOUR(4a, NONE, 4a, NONE, 4a, NONE, 4a, NONE) \
    FOUR(85, 02, 85, 1b, b1, NONE, 85, 06) \
    FOUR(85, 1c, 86, 1b, 84, 1c, 84, 1b) \
    FOUR(85, 1c, 86, 1b, 84, 1c, 85, 1b) \
    FOUR(85, RAM, 85, 2c, b1, NONE, 85, 1c) \
    FOUR(8a, NONE, 38, NONE, e5, RAM, a0, NONE) \
    FOUR(8a, NONE, 38, NONE, e5, RAM, a8, NONE) \
    FOUR(8a, NONE, a2, NONE, 9a, NONE, aa, NONE) \
    FOUR(a2, NONE, 86, 08, 85, 0e, 84, 0f) \
    FOUR(a4, RAM, b1, NONE, 85, 1b, 85, 02) \
    FOUR(a5, RAM, 38, NONE, e5, RAM, c9, NONE) \
    FOUR(a5, RAM, 45, RAM, 29, NONE, 08, NONE) \
    FOUR(a5, RAM, 49, NONE, 85, RAM, d0, NEAR) \
    FOUR(a5, RAM, 85, 07, b1, NONE, 85, 1c) \
    FOUR(a5, RAM, 85, 0b, a5, RAM, 85, 0c) \
    FOUR(a5, RAM, 85, 0e, a5, RAM, 85, 0f) \
    FOUR(a5, RAM, c5, RAM, 08, NONE, 68, NONE) \
    FOUR(a9, NONE, 85, RAM, a9, NONE, 85, RAM) \
    FOUR(a9, NONE, a4, RAM, c8, NONE, 30, NEAR) \
    FOUR(ad, RAM, 85, 06, ad, RAM, 85, 07) \
    FOUR(b1, NONE, 31, NONE, 85, 02, 85, 1b) \
    FOUR(b1, NONE, 85, 0e, b1, NONE, 85, 0f) \
    FOUR(b1, NONE, 85, 1b, a5, RAM, 85, 06) \
    FOUR(b1, NONE, 85, 1b, b1, NONE, 85, 06) \
    FOUR(b1, NONE, 85, 1b, b1, NONE, 85, 1c) \
    FOUR(b1, NONE, 85, 1c, b1, NONE, 85, 1b) \
    FOUR(b1, NONE, 85, 1d, b1, NONE, 85, 1e) \
    FOUR(b5, NONE, 85, 0d, b5, NONE, 85, 0e) \
    FOUR(b5, NONE, 85, 0e, b5, NONE, 85, 0f) \
    FOUR(b5, NONE, 85, RAM, b5, NONE, 85, RAM) \
    FOUR(b5, NONE, b4, NONE, a2, NONE, 8e, ANY) \
    FOUR(b9, ANY, 85, 0e, b9, ANY, 85, 0f) \
    FOUR(b9, ROM, 85, 0e, b9, ROM, 85, 0f) \
    FOUR(bd, ROM, 85, 0e, bd, ROM, 85, 0f) \
    FOUR(c0, NONE, f0, NEAR, c0, NONE, f0, NEAR) \
    FOUR(c4, RAM, 90, NEAR, c4, RAM, b0, NEAR) \
    FOUR(c6, RAM, a5, RAM, 18, NONE, 69, NONE) \
    FOUR(c6, RAM, a5, RAM, c9, NONE, 10, NEAR) \
    FOUR(e4, RAM, 08, NONE, e4, RAM, 08, NONE) \
    FOUR(ea, NONE, ea, NONE, ea, NONE, 4c, NONE) \
    FOUR(ea, NONE, ea, NONE, ea, NONE, ea, NONE) \
    FIVE(38, NONE, a5, RAM, e5, RAM, 29, NONE, f0, NEAR) \
    FIVE(49, NONE, 0a, NONE, 0a, NONE, 0a, NONE, 0a, NONE) \
    FIVE(4a, NONE, 4a, NONE, 4a, NONE, 4a, NONE, a8, NONE) \
    FIVE(84, RAM, a4, RAM, b1, NONE, 85, 1c, c6, RAM) \
    FIVE(85, 02, b1, NONE, 85, 1b, a5, RAM, 85, 06) \
    FIVE(85, 02, b1, NONE, 85, 1b, b1, NONE, 85, 1c) \
    FIVE(85, 0d, b5, NONE, 85, 0e, b5, NONE, 85, 0f) \
    FIVE(8c, ANY, b5, NONE, b4, NONE, a2, NONE, 8e, ANY) \
    FIVE(a0, NONE, 85, 02, a5, RAM, 85, 08, a6, RAM) \
    FIVE(a4, RAM, a5, RAM, 85, 02, 30, NEAR, d0, NEAR) \
    FIVE(a5, RAM, 38, NONE, e5, RAM, 29, NONE, 08, NONE) \
    FIVE(a5, RAM, 38, NONE, e5, RAM, c5, RAM, b0, NEAR) \
    FIVE(a8, NONE, c9, NONE, 90, NEAR, a9, NONE, f0, NEAR) \
    FIVE(a9, NONE, 85, 0d, a9, NONE, 85, 0e, 85, 0f) \
    FIVE(a9, NONE, 85, 1b, e6, RAM, ca, NONE, d0, NEAR) \
    FIVE(ae, ANY, f0, NEAR, 10, NEAR, ca, NONE, 30, NEAR) \
    FIVE(b1, NONE, 85, 1b, b1, NONE, aa, NONE, b1, NONE) \
    FIVE(b1, NONE, 85, RAM, b1, NONE, 85, RAM, b1, NONE) \
    FIVE(b1, NONE, 85, RAM, b1, NONE, aa, NONE, b1, NONE) \
    FIVE(b5, NONE, 0a, NONE, 0a, NONE, 0a, NONE, 0a, NONE) \
    FIVE(b5, NONE, 85, 0e, b5, NONE, 85, 0f, a6, RAM) \
    FIVE(c6, RAM, a4, RAM, b1, NONE, e4, RAM, d0, NEAR) \
    FIVE(c8, NONE, b5, NONE, 85, 0f, c4, RAM, 90, NEAR) \
    FIVE(ea, NONE, ea, NONE, a4, RAM, 88, NONE, d0, NEAR)
/* clang-format on */

#endif
