/* Meta-World's stick, with which the hand is to push or to pull a flask. */
#ifndef BE_MUJOCO_SAWYER_STICK_H
#define BE_MUJOCO_SAWYER_STICK_H

#include "engines/mujoco/metaworld/caging.h"

enum { STICK = CAGING_READS, STICK_FRAME, STICK_END, STICK_GEOM, STICK_RIGHT, STICK_LEFT, FLASK, FLASK_HANDLE };
static const be_read reads[] = {CAGING_SHARED_READS,
                                [STICK] = {"xpos", "body", "stick"},
                                [STICK_FRAME] = {"xmat", "body", "stick"},
                                [STICK_END] = {"site_xpos", "site", "stick_end"},
                                [STICK_GEOM] = {"geom_xpos", "geom", "objGeom"},
                                [STICK_RIGHT] = {"geom_xpos", "geom", "rightpad_geom"},
                                [STICK_LEFT] = {"geom_xpos", "geom", "leftpad_geom"},
                                [FLASK] = {"xpos", "body", "object"},
                                [FLASK_HANDLE] = {"site_xpos", "site", "insertion"},
                                {0}};

/* Puts the stick somewhere, and the flask to y. The flask has two joints after the stick's, for x and y. Of their
 * speeds only the second one becomes 0, as in the package, which counts the stick's quaternion among the speeds. */
static int stick_put(be_batch *b, int64_t lane, const double *stick, double y, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const int status = sawyer_put_object(b, lane, stick, error);
    if (status != BE_OK) return status;
    arrays[MJ_QPOS][16] = 0;
    arrays[MJ_QPOS][17] = y;
    arrays[MJ_QVEL][16] = 0;
    return be_mujoco_evaluate(b, lane, NULL, error);
}

/* Writes what is observed of the stick, and where the flask's handle is, `beside` its site. */
static void stick_object(const be_batch *b, int64_t lane, double beside, double *row) {
    sawyer_quat(be_mujoco_read_of(b, lane, STICK_FRAME), be_append(row, be_mujoco_read_of(b, lane, STICK), 3));
    sawyer_add(be_mujoco_read_of(b, lane, FLASK_HANDLE), 0.0, beside, 0.0, row + 7);
}

#endif
