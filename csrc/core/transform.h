/* What is done to observations and rewards on their way out, built in: the same as Gymnasium's wrappers, in this order.
 *
 * Rewards: summed over repeated actions, recorded, scaled, clipped. Observations: rescaled, the step count appended
 * (flattened), converted, stacked. */
#ifndef BE_TRANSFORM_H
#define BE_TRANSFORM_H

#include "batchenv.h"

typedef struct be_transform {
    int record_statistics; /* return, length and seconds of an episode, in the step that ends it */
    int action_repeat;     /* steps taken with an action; 1: as usual */
    int transform_reward;
    double reward_scale, reward_low, reward_high;
    int transform_observation; /* any of the following */
    int rescale;
    /* One per component of an observation, in the precision of the space; the driver's: see be_batch_rescale. */
    const double *gradient, *intercept;
    int time_aware; /* flattened (Discrete: one-hot), then the steps since the reset */
    int convert;    /* to `dtype` */
    be_dtype dtype;
    int frame_stack; /* frames in an observation; 0: no stack */
} be_transform;

/* Values of a frame, its dtype, and bytes of an observation (all its frames). */
int64_t be_frame_size(const be_space *space, const be_transform *transform);
be_dtype be_frame_dtype(const be_space *space, const be_transform *transform);
size_t be_transformed_bytes(const be_space *space, const be_transform *transform);

/* Writes the transformed observations of `count` lanes, listed or (lanes NULL) from `first` on, to their rows; `rows`
 * is that of lane `first`. They are made of the raw ones, which the driver has. `again`: the present observation once
 * more, no new frame. */
void be_transform_observations(be_batch *batch, const int64_t *lanes, int64_t count, int64_t first, void *rows,
                               int again);

#endif
