/* What Gymnasium's tasks have in common. */
#ifndef BE_MUJOCO_GYMNASIUM_H
#define BE_MUJOCO_GYMNASIUM_H

#include "engines/mujoco/numpy_sums.h"
#include "mujoco_task.h"

/* Bits of be_env_type.variant, which tell apart types that share a file. Bits from MJ_OWN on have a meaning in their
 * file only. */
enum { MJ_V4 = 1, MJ_OWN = 2 };

static inline int be_mujoco_is_v4(const be_batch *batch) { return (batch->type->variant & MJ_V4) != 0; }

/* The keyword of tasks whose observations may leave out where the robot is. */
#define MJ_EXCLUDE                                                                                                     \
    {"exclude_current_positions_from_observation", BE_PARAM_BOOL, 1, 0, 1, NULL, "leave x (and y) out of observations"}
#define MJ_INCLUDE(name) {"include_" name "_in_observation", BE_PARAM_BOOL, 1, 0, 1, NULL, "observe mjData's " name}

#endif
