#include "core/numpy_f32.h"

#include <math.h>
#include <stdint.h>

static int numpy_f32_fused = 1;

void be_set_numpy_f32_fused(int fused) { numpy_f32_fused = fused; }

static float fused_sin_or_cos(float x, int cosine) {
    float quadrant = (x * 0x1.45f306p-1f + 0x1.8p+23f) - 0x1.8p+23f;
    float r = fmaf(quadrant, -0x1.921fb0p+00f, x);
    r = fmaf(quadrant, -0x1.5110b4p-22f, r);
    r = fmaf(quadrant, -0x1.846988p-48f, r);
    float rr = r * r;
    int64_t n = (int64_t)quadrant + cosine;
    float result;
    if (n & 1) {
        result = fmaf(0x1.98e616p-16f, rr, -0x1.6c06dcp-10f);
        result = fmaf(result, rr, 0x1.55553cp-05f);
        result = fmaf(result, rr, -0.5f);
        result = fmaf(result, rr, 1.0f);
    } else {
        result = fmaf(0x1.7d3bbcp-19f, rr, -0x1.a06bbap-13f);
        result = fmaf(result, rr, 0x1.11119ap-07f);
        result = fmaf(result, rr, -0x1.555556p-03f);
        result = fmaf(result * rr, r, r);
    }
    return n & 2 ? -result : result;
}

float be_numpy_sinf(float x) { return numpy_f32_fused && fabsf(x) <= 71476.0625f ? fused_sin_or_cos(x, 0) : sinf(x); }

float be_numpy_cosf(float x) { return numpy_f32_fused && fabsf(x) <= 71476.0625f ? fused_sin_or_cos(x, 1) : cosf(x); }
