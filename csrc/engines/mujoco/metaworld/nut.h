/* Meta-World's nut with a handle, which is on a peg, or is to be. */
#ifndef BE_MUJOCO_SAWYER_NUT_H
#define BE_MUJOCO_SAWYER_NUT_H

#include "engines/mujoco/metaworld/tool.h"

enum { NUT_HANDLE = CAGING_READS, NUT_QUAT, NUT_RING };
static const be_read reads[] = {CAGING_SHARED_READS,
                                [NUT_HANDLE] = {"site_xpos", "site", "RoundNut-8"},
                                [NUT_QUAT] = {"xquat", "body", "RoundNut"},
                                [NUT_RING] = {"site_xpos", "site", "RoundNut"},
                                {0}};

static void nut_object(const be_batch *b, int64_t lane, double *row) {
    (void)be_append(be_append(row, be_mujoco_read_of(b, lane, NUT_HANDLE), 3), be_mujoco_read_of(b, lane, NUT_QUAT), 4);
}

static inline double nut_turned(const be_batch *b, const double *seen) {
    return turned_like(b, seen, turned_aside, 0.4);
}

#endif
