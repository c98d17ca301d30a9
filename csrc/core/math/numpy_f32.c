#include "numpy_f32.h"

#include <math.h>

#include "libm.h"

static int numpy_f32_fused = 1;

void be_set_numpy_f32_fused(int fused) { numpy_f32_fused = fused; }

static float fused_sin_or_cos(float x, int is_cosine) {
    float quadrant = (x * 0x1.45f306p-1f + 0x1.8p+23f) - 0x1.8p+23f;
    float r = be_math.fmaf(quadrant, -0x1.921fb0p+00f, x);
    r = be_math.fmaf(quadrant, -0x1.5110b4p-22f, r);
    r = be_math.fmaf(quadrant, -0x1.846988p-48f, r);
    float rr = r * r;
    int64_t n = (int64_t)quadrant + is_cosine;
    float result;
    if (n & 1) {
        result = be_math.fmaf(0x1.98e616p-16f, rr, -0x1.6c06dcp-10f);
        result = be_math.fmaf(result, rr, 0x1.55553cp-05f);
        result = be_math.fmaf(result, rr, -0.5f);
        result = be_math.fmaf(result, rr, 1.0f);
    } else {
        result = be_math.fmaf(0x1.7d3bbcp-19f, rr, -0x1.a06bbap-13f);
        result = be_math.fmaf(result, rr, 0x1.11119ap-07f);
        result = be_math.fmaf(result, rr, -0x1.555556p-03f);
        result = be_math.fmaf(result * rr, r, r);
    }
    return n & 2 ? -result : result;
}

static float sine(float x, int fused) {
    return fused && fabsf(x) <= 71476.0625f ? fused_sin_or_cos(x, 0) : be_math.sinf(x);
}
static float cosine(float x, int fused) {
    return fused && fabsf(x) <= 71476.0625f ? fused_sin_or_cos(x, 1) : be_math.cosf(x);
}

float be_numpy_sinf(float x) { return sine(x, numpy_f32_fused); }
float be_numpy_cosf(float x) { return cosine(x, numpy_f32_fused); }

int64_t be_numpy_f32_mismatches(int fused, const float *x, const float *sines, const float *cosines, int64_t n) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += sine(x[i], fused) != sines[i] || cosine(x[i], fused) != cosines[i];
    return count;
}
