/* The files of this folder are compiled once per instruction set, as env kernels are: what one of them calls in another
 * has the instruction set in its name. Outside, they are called through be_isa. */
#ifndef BE_ISA_H
#define BE_ISA_H

#include "core/batch.h"

#define be_isa_step BE_ISA_NAME(be_isa_step)
#define be_isa_step_rows BE_ISA_NAME(be_isa_step_rows)
#define be_isa_rollout BE_ISA_NAME(be_isa_rollout)
#define be_isa_check_actions BE_ISA_NAME(be_isa_check_actions)
#define be_isa_probe BE_ISA_NAME(be_isa_probe)

/* See be_isa for what each does. */
int64_t be_isa_step(be_batch *batch, int64_t begin, int64_t end, const be_arrays *arrays, be_error *error);
int64_t be_isa_step_rows(be_batch *batch, int64_t first, int64_t n, const be_arrays *rows, be_error *error);
int64_t be_isa_rollout(be_batch *batch, int64_t begin, int64_t end, int64_t first, int64_t steps,
                       const be_arrays *arrays, const be_random_policy *policy, be_error *error);
int be_isa_check_actions(const be_batch *batch, const void *actions, be_dtype dtype, int64_t first_lane, int64_t count,
                         int clip, void *canonical, be_error *error);
void be_isa_probe(int64_t mismatches[5]);

/* Lanes stepped before their flags are looked at: their rows stay in the L1 cache in between. */
#define BLOCK BE_LIST

static inline void *row_of(const void *rows, int64_t row, size_t bytes) {
    return rows ? (unsigned char *)rows + (size_t)row * bytes : NULL;
}

/* The same arrays from row `row` on: a lane, or num_lanes * t of a rollout's. */
static inline be_arrays rows_from(const be_batch *batch, const be_arrays *arrays, int64_t row) {
    const struct be_driver *driver = batch->driver;
    be_arrays rows = {
        .action = row_of(arrays->action, row, driver->action_bytes),
        .observation = row_of(arrays->observation, row, driver->observation_bytes),
        .reward = arrays->reward + row,
        .terminated = arrays->terminated + row,
        .truncated = arrays->truncated + row,
        .final_observation = row_of(arrays->final_observation, row, driver->observation_bytes),
        .started = row_of(arrays->started, row, 1),
        .episode_return = row_of(arrays->episode_return, row, sizeof(double)),
        .episode_seconds = row_of(arrays->episode_seconds, row, sizeof(double)),
        .episode_length = row_of(arrays->episode_length, row, sizeof(int64_t)),
    };
    for (int j = 0; j < driver->num_info; j++) {
        rows.info[j] = row_of(arrays->info[j], row, driver->info_bytes[j]);
        rows.final_info[j] = row_of(arrays->final_info[j], row, driver->info_bytes[j]);
    }
    return rows;
}

#endif
