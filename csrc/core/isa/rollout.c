/* Many steps of a few lanes at a time, so that their state stays in the cache; random actions. */
#include "core/isa/isa.h"

/* The output function of SplitMix64 (Steele, Lea and Flood, 2014). */
static inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void draw_actions(const be_batch *batch, const be_random_policy *policy, int64_t step, int64_t begin,
                         int64_t end, void *actions) {
    const be_space *space = &batch->action_space;
    const int64_t size = be_space_row_size(space);
    const uint64_t gamma = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t stream = mix(policy->key + gamma * (policy->first_step + (uint64_t)step));
    if (space->kind == BE_SPACE_DISCRETE) {
        int64_t *restrict action = actions;
        const uint64_t n = (uint64_t)space->n;
        for (int64_t i = begin; i < end; i++)
            action[i] = (int64_t)((mix(stream + gamma * (uint64_t)i) >> 32) * n >> 32);
        return;
    }
    float *restrict action = actions;
    const int64_t bounds = be_num_bounds(space);
    for (int64_t i = begin * size; i < end * size; i++) {
        const float low = (float)space->low[i % bounds], high = (float)space->high[i % bounds];
        float u = (float)(mix(stream + gamma * (uint64_t)i) >> 40) * 0x1p-24f;
        float value = low + (high - low) * u;
        action[i] = value > high ? high : value;
    }
}

/* Lanes whose state takes about this many bytes are rolled out together. */
#define ROLLOUT_BYTES 20480

int64_t be_isa_rollout(be_batch *batch, int64_t begin, int64_t end, int64_t first_step, int64_t steps,
                       const be_arrays *arrays, const be_random_policy *policy, be_error *error) {
    size_t lane_bytes = sizeof *batch->elapsed + 1;
    for (const be_field *field = batch->type->state; field->name; field++) {
        lane_bytes += be_dtype_size(field->dtype) * (size_t)field->size;
    }
    int64_t chunk = (int64_t)(ROLLOUT_BYTES / lane_bytes / BLOCK * BLOCK);
    if (chunk < BLOCK) chunk = BLOCK;
    int64_t finished = 0;
    for (int64_t first = begin; first < end; first += chunk) {
        const int64_t last = first + chunk < end ? first + chunk : end;
        for (int64_t t = first_step; t < first_step + steps; t++) {
            be_arrays rows = rows_from(batch, arrays, t * batch->num_lanes);
            if (policy) draw_actions(batch, policy, t, first, last, (void *)rows.action);
            int64_t count = be_isa_step(batch, first, last, &rows, error);
            if (count < 0) return -1;
            finished += count;
        }
    }
    return finished;
}
