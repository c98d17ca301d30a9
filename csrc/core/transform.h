/* Built-in transforms of observations and rewards: what Gymnasium's wrappers do, in this order.
 *
 * Rewards: summed over repeated actions, recorded, scaled, clipped. Observations: rescaled, the step count appended
 * (flattened), converted, stacked. */
#ifndef BE_TRANSFORM_H
#define BE_TRANSFORM_H

#include "batchenv.h"

typedef struct be_transform {
    int record_statistics; /* 1: the step that ends an episode gives its return, length and seconds */
    int action_repeat;     /* how many steps are taken with each action; 1: no repetition */
    int transform_reward;
    double reward_scale, reward_low, reward_high;
    int transform_observation; /* 1 if any of the following is used */
    int rescale;
    /* One coefficient per component of an observation, in the precision of the space. The driver sets them: see
     * be_batch_rescale. */
    const double *gradient, *intercept;
    int time_aware; /* 1: flattened (Discrete: one-hot), with the steps since the reset appended */
    int convert;    /* 1: converted to `dtype` */
    be_dtype dtype;
    int frame_stack; /* how many frames an observation has; 0: no stack */
} be_transform;

/* How many values a frame has, their dtype, and how many bytes an observation (all its frames) has. */
int64_t be_frame_size(const be_space *space, const be_transform *transform);
be_dtype be_frame_dtype(const be_space *space, const be_transform *transform);
size_t be_transformed_bytes(const be_space *space, const be_transform *transform);

/* Finds the observation that driver->transform is about, checks that it can be transformed, and makes room for
 * coefficients. The spaces must be known. */
int be_transform_open(be_batch *batch, be_error *error);

/* Sets new coefficients for rescaled observations, one per component, after params have changed the space. Only for a
 * batch whose transform rescales. */
void be_batch_rescale(be_batch *batch, const double *gradient, const double *intercept);

/* What becomes of the stack of frames: it gets a frame (and is filled with it where an episode starts); it stays,
 * because this is the last observation once more; it is filled with this frame. */
typedef enum be_frame { BE_FRAME_NEXT, BE_FRAME_SAME, BE_FRAME_FIRST } be_frame;

/* Transforms the raw observations, which the driver holds, of the `count` lanes listed or, if lanes is NULL, of `count`
 * lanes from `first` on, and writes them to their rows; `rows` is the row of lane `first`. */
void be_transform_observations(be_batch *batch, const int64_t *lanes, int64_t count, int64_t first, void *rows,
                               be_frame frame_is);

#endif
