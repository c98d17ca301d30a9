/* What the tasks of DM Control's quadruped have in common. A file lists the reads of QUADRUPED_READS first. */
#ifndef BE_DM_QUADRUPED_H
#define BE_DM_QUADRUPED_H

#include "engines/mujoco/dm_control.h"

enum { TORSO, TORSO_FRAME, VELOCITY, ACTIVATIONS, IMU, FORCES = IMU + 2, QUADRUPED_OWN = FORCES + 8 };
#define QUADRUPED_READS                                                                                                \
    [TORSO] = {"xpos", "body", "torso"}, [TORSO_FRAME] = {"xmat", "body", "torso"},                                    \
    [VELOCITY] = {"sensordata", "sensor", "velocimeter"}, [ACTIVATIONS] = {"act"},                                     \
    [IMU] = {"sensordata", "sensor", "imu_accel"},                                                                     \
    {"sensordata", "sensor", "imu_gyro"}, [FORCES] = {"sensordata", "sensor", "force_toe_front_left"},                 \
    {"sensordata", "sensor", "force_toe_front_right"}, {"sensordata", "sensor", "force_toe_back_right"},               \
    {"sensordata", "sensor", "force_toe_back_left"}, {"sensordata", "sensor", "torque_toe_front_left"},                \
    {"sensordata", "sensor", "torque_toe_front_right"}, {"sensordata", "sensor", "torque_toe_back_right"},             \
    {"sensordata", "sensor", "torque_toe_back_left"}

enum { QUADRUPED_PARTS = 5 };
#define QUADRUPED_PORTS                                                                                                \
    {"", BE_ACTION}, {"egocentric_state", BE_OBSERVATION}, {"torso_velocity", BE_OBSERVATION},                         \
        {"torso_upright", BE_OBSERVATION}, {"imu", BE_OBSERVATION}, {                                                  \
        "force_torque", BE_OBSERVATION                                                                                 \
    }

static inline void common_sizes(const be_mujoco_view *view, int64_t *size) {
    const int64_t all[] = {2 * dm_num_hinges(view) + view->reads[ACTIVATIONS].size, 3, DM_ONE, 6, 24};
    memcpy(size, all, sizeof all);
}

/* Starts with the torso turned so, at x and y, as many centimetres above the ground as it takes to touch nothing. */
static inline int place_clear(be_batch *b, int64_t lane, const double *quat, double x, double y, be_error *error) {
    double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS], height = 0;
    int contacts = 1;
    for (int tries = 0; tries <= 10000; tries++, height += 0.01) {
        const double place[] = {x, y, height};
        be_append(be_append(qpos, place, 3), quat, 4);
        int status = be_mujoco_evaluate(b, lane, &contacts, error);
        if (status != BE_OK || contacts > 0) continue; /* a full buffer of contacts is as good as contacts */
        status = be_mujoco_reset(b, lane, error);      /* contacts do not depend on what came before, but forces do */
        if (status != BE_OK) return status;
        be_append(be_append(qpos, place, 3), quat, 4);
        return be_mujoco_evaluate(b, lane, &contacts, error);
    }
    return be_fail(error, BE_ERROR_ENGINE, lane, "the robot touches something, however high it is placed");
}

static inline double *write_common(const be_batch *b, int64_t lane, double *row) {
    row = dm_append_hinges(b, lane, row);
    row = be_append(row, be_mujoco_read_of(b, lane, ACTIVATIONS), be_mujoco_of(b)->reads[ACTIVATIONS].size);
    row = be_append(row, be_mujoco_read_of(b, lane, VELOCITY), 3);
    *row++ = be_mujoco_read_of(b, lane, TORSO_FRAME)[8];
    for (int k = IMU; k < FORCES; k++) row = be_append(row, be_mujoco_read_of(b, lane, k), 3);
    for (int k = FORCES; k < QUADRUPED_OWN; k++) {
        for (int i = 0; i < 3; i++) *row++ = be_numpy_arcsinh(be_mujoco_read_of(b, lane, k)[i]);
    }
    return row;
}

/* 1 where the torso's z axis is less than an angle away from the world's; cosine: of that angle. */
static inline double upright(const be_batch *b, int64_t lane, double cosine) {
    return dm_linear(be_mujoco_read_of(b, lane, TORSO_FRAME)[8], cosine, HUGE_VAL, 1 + cosine, 0);
}

#endif
