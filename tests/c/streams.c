/* The random streams of rng.h and random_state.h, many draws per call, for tests/helpers/streams.py. */
#include "random_state.h"
#include "rng.h"

#define FILL(name, type, draw, ...)                                                                                    \
    void stream_##name(be_rng *rng, type *out, int64_t n, __VA_ARGS__) {                                               \
        for (int64_t i = 0; i < n; i++) out[i] = draw;                                                                 \
    }

void stream_random(be_rng *rng, double *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = be_rng_double(rng);
}

void stream_random32(be_rng *rng, float *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = be_rng_float(rng);
}

void stream_standard_normal(be_rng *rng, double *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = be_rng_standard_normal(rng);
}

FILL(uniform, double, be_rng_uniform(rng, low, high), double low, double high)
FILL(normal, double, be_rng_normal(rng, loc, scale), double loc, double scale)
FILL(integers, int64_t, be_rng_integers_inclusive(rng, low, last), int64_t low, int64_t last)
FILL(integers32, int32_t, be_rng_integers32(rng, low, high), int64_t low, int64_t high)
FILL(choice, int64_t, be_rng_choice(rng, size), int64_t size)
FILL(choice_p, int64_t, be_rng_choice_p(rng, p, size), const double *p, int64_t size)

#define FILL_LIKE_NUMPY(name, type, draw, ...)                                                                         \
    void random_state_##name(be_random_state *stream, type *out, int64_t n, __VA_ARGS__) {                             \
        for (int64_t i = 0; i < n; i++) out[i] = draw;                                                                 \
    }

void random_state_double(be_random_state *stream, double *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = be_random_state_double(stream);
}

void random_state_normal(be_random_state *stream, double *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = be_random_state_normal(stream);
}

FILL_LIKE_NUMPY(uniform, double, be_random_state_uniform(stream, low, high), double low, double high)
FILL_LIKE_NUMPY(choice_p, int64_t, be_random_state_choice_p(stream, p, size), const double *p, int64_t size)
FILL_LIKE_NUMPY(integers, int64_t, be_random_state_integers(stream, low, high), int64_t low, int64_t high)
