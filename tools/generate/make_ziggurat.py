"""Write csrc/core/math/ziggurat.h: the 256 layers under exp(-x*x/2) that Generator.standard_normal draws from.

Run: python tools/generate/make_ziggurat.py > csrc/core/math/ziggurat.h   (needs mpmath)

The construction is Marsaglia and Tsang's, "The Ziggurat Method for Generating Random Variables" (2000), with 52-bit
integers instead of 32-bit ones: layers of equal area v lie on each other, the right edge of layer i is x[i], and
x[255] = r is where the tail begins. With f(x) = exp(-x*x/2), going up,

    x[i] = f^-1(v / x[i + 1] + f(x[i + 1])),

and a candidate of layer i is an integer below 2**52 times w[i] = x[i] / 2**52, certainly under the curve if the integer
is below k[i] = 2**52 * x[i - 1] / x[i]. Layer 0 is the bottom one with the tail, as wide as v / f(r); k[1] is 0.

NumPy's tables are this recursion carried out in float64, so its roundings are repeated here one by one; only exp and
log are taken from mpmath, rounded to the nearest float64, in order not to depend on a C library.
"""

import math

import mpmath

LAYERS = 256
SCALE = 2.0**52
R = 3.6541528853610088
V = 0.004928673233974652  # the area of a layer in float64; the exact one is 4 units in the last place more
# exp at the edge of this layer is almost in the middle between two float64 (0.498 and 0.502 units away), and the
# tables in use have the farther one. All layers above follow from it.
FARTHER_EXP = 38


def exp(value):
    return float(mpmath.exp(mpmath.mpf(value)))


def log(value):
    return float(mpmath.log(mpmath.mpf(value)))


def tables():
    """k as integers, w and f as floats."""
    x, f, k, w = ([0.0] * LAYERS for _ in range(4))
    top = LAYERS - 1
    x[top] = R
    f[top] = exp(-0.5 * R * R)
    w[top] = R / SCALE
    for i in range(top - 1, 0, -1):
        x[i] = math.sqrt(-2.0 * log(V / x[i + 1] + f[i + 1]))
        f[i] = exp(-0.5 * x[i] * x[i])
        if i == FARTHER_EXP:
            f[i] = math.nextafter(f[i], 1.0)
        w[i] = x[i] / SCALE
        k[i + 1] = x[i] / x[i + 1] * SCALE
    f[0] = 1.0
    w[0] = V / f[top] / SCALE
    k[0] = R * f[top] / V * SCALE
    return [round(value) for value in k], w, f


def main():
    mpmath.mp.prec = 200
    k, w, f = tables()
    print("/* Written by tools/generate/make_ziggurat.py, which says what the numbers are. */")
    print("#ifndef BE_ZIGGURAT_H\n#define BE_ZIGGURAT_H\n\n#include <stdint.h>\n")
    print("/* clang-format off */")
    print(f"#define BE_ZIGGURAT_R {R.hex()}\n")
    print(f"static const struct {{\n    uint64_t k;\n    double w;\n}} be_ziggurat_layer[{LAYERS}] = {{")
    for integer, width in zip(k, w, strict=True):
        print(f"    {{UINT64_C(0x{integer:013x}), {width.hex()}}},")
    print("};\n")
    print(f"static const double be_ziggurat_f[{LAYERS}] = {{")
    for row in range(0, LAYERS, 4):
        print("    " + ", ".join(value.hex() for value in f[row : row + 4]) + ",")
    print("};\n/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    main()
