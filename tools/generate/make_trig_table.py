"""Write csrc/include/trig_table.h: sin(k/128) and cos(k/128), k = 0..127, each as an unevaluated sum of two doubles.

Run: python tools/generate/make_trig_table.py > csrc/include/trig_table.h   (needs mpmath)
"""

import mpmath

ROWS, STRIDE = 128, 8


def double_double(value):
    """The nearest double, and the nearest double to what is left."""
    high = float(value)
    return high, float(value - mpmath.mpf(high))


def main():
    mpmath.mp.prec = 300
    print("/* Written by tools/generate/make_trig_table.py. Row k: sin(k/128) = [0] + [1] = -([4] + [5]),")
    print(" * cos(k/128) = [2] + [3]. */")
    print("#ifndef BE_TRIG_TABLE_H\n#define BE_TRIG_TABLE_H\n")
    print("/* clang-format off */")
    print(f"#define BE_TRIG_STRIDE {STRIDE}")
    print(f"static const double be_trig_table[{ROWS}][BE_TRIG_STRIDE] __attribute__((aligned(64))) = {{")
    for k in range(ROWS):
        angle = mpmath.mpf(k) / ROWS
        row = [*double_double(mpmath.sin(angle)), *double_double(mpmath.cos(angle)), *double_double(-mpmath.sin(angle))]
        print("    {" + ", ".join(number.hex() for number in row) + "},")
    print("};\n/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    main()
