/* Steps, rollouts and resets of all lanes for types that take one lane a call (BE_LANE_BY_LANE): each thread has lanes
 * next to each other and, when it is done, takes those that others have not come to; the caller works too, and the call
 * returns when the work is done, not when every thread has come. */
#ifndef BE_LOOP_H
#define BE_LOOP_H

#include "core/batch.h"
#include "core/pool.h"

/* As be_isa's step, for all lanes. */
int64_t be_loop_step(be_pool *pool, int threads, be_batch *batch, const be_isa *isa, const be_arrays *arrays,
                     be_error *error);

/* As be_isa's rollout, for all lanes; BE_OK, or the first error. */
int be_loop_rollout(be_pool *pool, int threads, be_batch *batch, const be_isa *isa, int64_t steps,
                    const be_arrays *arrays, const be_random_policy *policy, be_error *error);

/* As be_batch_reset, for all lanes. */
int be_loop_reset(be_pool *pool, int threads, be_batch *batch, const uint8_t *mask, const double *options,
                  const be_arrays *arrays, be_error *error);

#endif
