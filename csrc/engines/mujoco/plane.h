/* Infos of robots that move over a plane: where they are, and how fast. They come before the task's own. */
#ifndef BE_MUJOCO_PLANE_H
#define BE_MUJOCO_PLANE_H

#include "engines/mujoco/gymnasium.h"

enum { X_POSITION = MJ_PORTS, Y_POSITION, DISTANCE, X_VELOCITY, Y_VELOCITY, PLANE_PORTS };
/* clang-format off */
#define PLANE_INFOS(kind)                                                                                              \
    [X_POSITION] = kind("x_position", "m"),                                                                            \
    [Y_POSITION] = kind("y_position", "m"),                                                                            \
    [DISTANCE] = kind("distance_from_origin", "m"),                                                                    \
    [X_VELOCITY] = MJ_INFO_STEP("x_velocity", "m/s"),                                                                  \
    [Y_VELOCITY] = MJ_INFO_STEP("y_velocity", "m/s")
/* clang-format on */

static inline void write_position(const be_batch *b, int64_t lane, const be_rows *rows, const double *position) {
    MJ_INFO(rows, X_POSITION, lane) = position[0];
    MJ_INFO(rows, Y_POSITION, lane) = position[1];
    MJ_INFO(rows, DISTANCE, lane) = be_norm(position, 2, (int)be_mujoco_of(b)->fused_dot);
}

#endif
