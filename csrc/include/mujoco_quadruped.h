/* What tasks of robots with four legs observe, in addition to mujoco_locomotion.h. */
#ifndef BE_MUJOCO_QUADRUPED_H
#define BE_MUJOCO_QUADRUPED_H

#include "mujoco_locomotion.h"

/* Appends, with noise, gyro, gravity, and the joints' positions less those in the keyframe home. noise: the first of
 * their three params. level: a factor of all noise. */
static inline float *be_append_sensed(be_batch *batch, int64_t lane, float *row, const double gravity[3], double level,
                                      int noise, int64_t joints) {
    const double *qpos = be_mujoco_arrays(batch, lane)[MJ_QPOS] + 7, *pose = be_pose_of(batch, lane);
    be_rng *rng = &batch->rng[lane];
    row =
        be_append_noisy(row, be_mujoco_read_of(batch, lane, BE_GYRO), 3, be_param_of(batch, noise, lane) * level, rng);
    row = be_append_noisy(row, gravity, 3, be_param_of(batch, noise + 1, lane) * level, rng);
    const double scale = be_param_of(batch, noise + 2, lane) * level;
    for (int64_t j = 0; j < joints; j++) row = be_append_noisy(row, &(double){qpos[j] - pose[j]}, 1, scale, rng);
    return row;
}

/* Appends what only a critic is to see: gyro, acceleration, velocities of the trunk, positions, velocities and torques
 * of the joints. */
static inline float *be_append_exact(const be_batch *batch, int64_t lane, float *row, int64_t joints) {
    double *const *arrays = be_mujoco_arrays(batch, lane);
    static const int sensors[] = {BE_GYRO, BE_ACCELEROMETER, BE_LINVEL, BE_GLOBAL_ANGVEL};
    for (int k = 0; k < 4; k++) row = be_append_f32(row, be_mujoco_read_of(batch, lane, sensors[k]), 3);
    row = be_append_f32(row, arrays[MJ_QPOS] + 7, joints);
    row = be_append_f32(row, arrays[MJ_QVEL] + 6, joints);
    return be_append_f32(row, be_mujoco_read_of(batch, lane, BE_TORQUE), joints);
}

/* Appends the last errors of joints, which a field of the task's state holds as `joints` numbers each, the last first,
 * after it has got a new one: where joints are, with noise, less their targets. */
static inline float *be_append_errors(be_batch *batch, int64_t lane, float *row, int field, const float *angles,
                                      const double *targets, int64_t joints) {
    float *history = MJ_FIELD(batch, field, float, lane);
    const int64_t size = batch->field_size[field];
    memmove(history + joints, history, (size_t)(size - joints) * sizeof *history);
    for (int64_t j = 0; j < joints; j++) history[j] = (float)((double)angles[j] - targets[j]);
    memcpy(row, history, (size_t)size * sizeof *row);
    return row + size;
}

#endif
