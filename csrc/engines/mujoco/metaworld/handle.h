/* Meta-World's handles, which the hand is to press down or to pull up. */
#ifndef BE_MUJOCO_SAWYER_HANDLE_H
#define BE_MUJOCO_SAWYER_HANDLE_H

#include "engines/mujoco/metaworld/caging.h"

/* Where it is, and where it is to be. */
enum { HANDLE = CAGING_READS, HANDLE_GOAL };
#define HANDLE_READS(handle, goal)                                                                                     \
    {CAGING_SHARED_READS, [HANDLE] = {"site_xpos", "site", handle}, [HANDLE_GOAL] = {"site_xpos", "site", goal}, {0}}

/* Begins an episode with the handle so high, at rest. */
static inline int handle_begin(be_batch *b, int64_t lane, const double *goal, double height, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_turn_object(b, lane, height);
    const int status = be_mujoco_evaluate(b, lane, NULL, error);
    if (status != BE_OK) return status;
    sawyer_put(b, lane, SAWYER_TARGET, be_mujoco_read_of(b, lane, HANDLE_GOAL));
    sawyer_put(b, lane, SAWYER_MARK, be_mujoco_read_of(b, lane, HANDLE));
    return BE_OK;
}

static void handle_object(const be_batch *b, int64_t lane, double *row) {
    memset(be_append(row, be_mujoco_read_of(b, lane, HANDLE), 3), 0, 4 * sizeof *row);
}

#endif
