/* Gaits of robots with legs, in addition to mujoco_locomotion.h: how high feet are to be. */
#ifndef BE_MUJOCO_GAIT_H
#define BE_MUJOCO_GAIT_H

#include "mujoco_locomotion.h"

/* How high a foot is to be: up to `swing`, along a cubic curve that is level at both ends. */
static inline double be_wanted_height(double phase, double swing) {
    const double stride = (phase + M_PI) / (2 * M_PI);
    const int rises = stride <= 0.5;
    const double t = rises ? 2 * stride : 2 * stride - 1, share = t * t * (3 - 2 * t);
    return swing * (rises ? share : 1 - share);
}

#endif
