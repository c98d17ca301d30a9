/* Things that Meta-World's hand is to hold, of which tasks observe a body's place and quaternion. */
#ifndef BE_MUJOCO_SAWYER_CAGED_H
#define BE_MUJOCO_SAWYER_CAGED_H

#include "engines/mujoco/metaworld/caging.h"

/* The rows before a task's own. */
enum { CAGED = CAGING_READS, CAGED_QUAT, CAGED_READS };
#define CAGED_SHARED_READS(name)                                                                                       \
    CAGING_SHARED_READS, [CAGED] = {"xpos", "body", name}, [CAGED_QUAT] = {"xquat", "body", name}

static void caged_object(const be_batch *b, int64_t lane, double *row) {
    (void)be_append(be_append(row, be_mujoco_read_of(b, lane, CAGED), 3), be_mujoco_read_of(b, lane, CAGED_QUAT), 4);
}

#endif
