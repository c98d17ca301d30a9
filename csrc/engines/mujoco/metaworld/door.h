/* Meta-World's door, which the hand is to open or to close by its handle. */
#ifndef BE_MUJOCO_SAWYER_DOOR_H
#define BE_MUJOCO_SAWYER_DOOR_H

#include "engines/mujoco/metaworld/sawyer.h"

enum { DOOR_HANDLE = SAWYER_READS, DOOR_FRAME, DOOR_HINGE, DOOR_SPEED };
static const be_read reads[] = {SAWYER_SHARED_READS,
                                [DOOR_HANDLE] = {"geom_xpos", "geom", "handle"},
                                [DOOR_FRAME] = {"geom_xmat", "geom", "handle"},
                                [DOOR_HINGE] = {"qpos", "joint", "doorjoint"},
                                [DOOR_SPEED] = {"qvel", "joint", "doorjoint"},
                                {0}};

/* Begins an episode with the door at this angle; the goal's place is so far from the door's. */
static inline int door_begin(be_batch *b, int64_t lane, const double *goal, double x, double y, double angle,
                             be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_add(goal, x, y, 0.0, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    be_mujoco_read_of(b, lane, DOOR_HINGE)[0] = angle;
    be_mujoco_read_of(b, lane, DOOR_SPEED)[0] = 0;
    return be_mujoco_evaluate(b, lane, NULL, error);
}

static void door_object(const be_batch *b, int64_t lane, double *row) {
    sawyer_quat(be_mujoco_read_of(b, lane, DOOR_FRAME), be_append(row, be_mujoco_read_of(b, lane, DOOR_HANDLE), 3));
}

#endif
