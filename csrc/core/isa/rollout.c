/* Many steps of a few lanes at a time, so that their state stays in the cache; random actions. */
#include "core/isa/isa.h"

#include <math.h>

#include "core/math/mix.h"
#include "core/space.h"

/* If a bound is infinite, actions are drawn from the values within 1 of the other bound; if both are, within 1 of 0. */
static void finite_bounds(const be_space *space, int64_t j, double *low, double *high) {
    const int64_t b = be_bound_of(space, j);
    *low = isfinite(space->low[b]) ? space->low[b] : isfinite(space->high[b]) ? space->high[b] - 1 : -1;
    *high = isfinite(space->high[b]) ? space->high[b] : *low + 1 + (*low == -1);
}

/* Draws value j of a lane's action from the random `bits`, for spaces other than Discrete and a Box of float32. */
static void draw_value(const be_space *space, int64_t j, uint64_t bits, void *value) {
    const int64_t b = be_bound_of(space, j);
    double low, high;
    if (space->dtype == BE_F64) {
        finite_bounds(space, j, &low, &high);
        const double drawn = low + (high - low) * ((double)(bits >> 11) * 0x1p-53);
        *(double *)value = drawn > high ? high : drawn;
        return;
    }
    const uint64_t choices = (uint64_t)be_space_choices(space, b);
    be_write_integer(value, space->dtype, 0, (int64_t)space->low[b] + (int64_t)((be_u128)bits * choices >> 64));
}

/* Draws the actions of port `port`, which is number `place` of the ports of actions. */
static void draw_port(const be_batch *batch, int port, int place, const be_random_policy *policy, int64_t step,
                      int64_t begin, int64_t end, void *actions) {
    const be_space *space = &batch->space[port];
    const int64_t size = be_space_row_size(space);
    uint64_t stream = be_mix64(policy->key + BE_GAMMA64 * (policy->first_step + (uint64_t)step));
    if (place > 0) stream = be_mix64(stream + (uint64_t)place);
    if (space->kind == BE_SPACE_DISCRETE) {
        int64_t *restrict action = actions;
        const uint64_t n = (uint64_t)be_space_choices(space, 0);
        const int64_t start = (int64_t)space->low[0];
        for (int64_t i = begin; i < end; i++)
            action[i] = start + (int64_t)((be_mix64(stream + BE_GAMMA64 * (uint64_t)i) >> 32) * n >> 32);
        return;
    }
    if (space->kind != BE_SPACE_BOX || space->dtype != BE_F32) {
        const size_t bytes = be_dtype_size(space->dtype);
        for (int64_t i = begin * size; i < end * size; i++) {
            draw_value(space, i % size, be_mix64(stream + BE_GAMMA64 * (uint64_t)i),
                       (char *)actions + (size_t)i * bytes);
        }
        return;
    }
    float *restrict action = actions;
    const int64_t bounds = be_num_bounds(space);
    float lows[BE_MAX_BOUNDS], highs[BE_MAX_BOUNDS];
    for (int64_t j = 0; j < bounds; j++) {
        double low, high;
        finite_bounds(space, j, &low, &high);
        lows[j] = (float)low;
        highs[j] = (float)high;
    }
    for (int64_t i = begin * size; i < end * size; i++) {
        const float low = lows[i % bounds], high = highs[i % bounds];
        float u = (float)(be_mix64(stream + BE_GAMMA64 * (uint64_t)i) >> 40) * 0x1p-24f;
        float value = low + (high - low) * u;
        action[i] = value > high ? high : value;
    }
}

static void draw_actions(const be_batch *batch, const be_random_policy *policy, int64_t step, int64_t begin,
                         int64_t end, const be_rows *rows) {
    int place = 0;
    for (int k = 0; batch->type->ports[k].name; k++) {
        if (batch->type->ports[k].role != BE_ACTION) continue;
        draw_port(batch, k, place++, policy, step, begin, end, rows->port[k]);
    }
}

/* Lanes whose state takes about this many bytes are rolled out together. */
#define ROLLOUT_BYTES 20480

int64_t be_isa_rollout(be_batch *batch, int64_t begin, int64_t end, int64_t first_step, int64_t steps,
                       const be_rows *all, const be_random_policy *policy, be_error *error) {
    size_t lane_bytes = sizeof *batch->elapsed + 1;
    for (int k = 0; batch->type->state[k].name; k++) lane_bytes += be_field_bytes(batch, k);
    int64_t chunk = (int64_t)(ROLLOUT_BYTES / lane_bytes / BLOCK * BLOCK);
    if (chunk < BLOCK) chunk = BLOCK;
    int64_t finished = 0;
    for (int64_t first = begin; first < end; first += chunk) {
        const int64_t last = first + chunk < end ? first + chunk : end;
        for (int64_t t = first_step; t < first_step + steps; t++) {
            be_rows rows;
            rows.first = 0;
            be_rows_slice(&batch->driver->outer, &rows, all, t * batch->num_lanes);
            if (policy) draw_actions(batch, policy, t, first, last, &rows);
            int64_t count = be_isa_step(batch, first, last, &rows, error);
            if (count < 0) return -1;
            finished += count;
        }
    }
    return finished;
}
