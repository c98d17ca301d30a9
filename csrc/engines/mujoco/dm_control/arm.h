/* What DM Control's stacker and manipulator have in common: a planar arm with a hand, and a target that touches
 * nothing. The target is a body of the world that belongs to the model in dm_control. Here it is a part of the lanes'
 * state, and where its sites are is computed as MuJoCo does. It only turns about y: MuJoCo's versions do not differ
 * then. */
#ifndef BE_MUJOCO_DM_CONTROL_ARM_H
#define BE_MUJOCO_DM_CONTROL_ARM_H

#include "engines/mujoco/dm_control.h"

/* A task's table of reads begins with these. */
enum {
    ARM_JOINTS = 8,
    ARM_THUMB = 6,
    ARM_FINGER = 4,
    ARM_RANGES = 0,
    ARM_QPOS = ARM_RANGES + ARM_JOINTS,
    ARM_QVEL = ARM_QPOS + ARM_JOINTS,
    ARM_HAND = ARM_QVEL + ARM_JOINTS,
    ARM_HAND_QUAT,
    ARM_GRASP,
    ARM_READS
};
#define ARM_ROWS(array)                                                                                                \
    {array, "joint", "arm_root"}, {array, "joint", "arm_shoulder"}, {array, "joint", "arm_elbow"},                     \
        {array, "joint", "arm_wrist"}, {array, "joint", "finger"}, {array, "joint", "fingertip"},                      \
        {array, "joint", "thumb"}, {array, "joint", "thumbtip"}
#define ARM_SHARED_READS                                                                                               \
    ARM_ROWS("model.jnt_range"), ARM_ROWS("qpos"), ARM_ROWS("qvel"), {"xpos", "body", "hand"},                         \
        {"xquat", "body", "hand"}, {"site_xpos", "site", "grasp"}

/* What is observed where fully_observable is false. */
enum { ARM_SENSORS = 3 };
static const be_port arm_sensor_ports[] = {
    {"", BE_ACTION}, {"arm_pos", BE_OBSERVATION}, {"arm_vel", BE_OBSERVATION}, {"touch", BE_OBSERVATION}, DM_INFOS};

/* Puts the arm anywhere within its limits, and the fingers opposite to each other. */
static void arm_start(be_batch *b, int64_t lane) {
    for (int k = 0; k < ARM_JOINTS; k++) {
        const int64_t joint = be_mujoco_of(b)->reads[ARM_RANGES + k].first[0] / 2;
        const double *range = be_mujoco_read_of(b, lane, ARM_RANGES + k);
        const int limited = be_mujoco_of(b)->joint_limited[joint];
        be_mujoco_read_of(b, lane, ARM_QPOS + k)[0] =
            be_random_state_uniform(dm_random(b, lane), limited ? range[0] : -M_PI, limited ? range[1] : M_PI);
    }
    be_mujoco_read_of(b, lane, ARM_QPOS + ARM_FINGER)[0] = be_mujoco_read_of(b, lane, ARM_QPOS + ARM_THUMB)[0];
}

/* Appends where a body is and how it has turned, of rows of reads. */
static double *arm_append_pose(const be_batch *b, int64_t lane, int place, int quat, int64_t k, double *row) {
    *row++ = be_mujoco_read_at(b, lane, place, k)[0];
    *row++ = be_mujoco_read_at(b, lane, place, k)[2];
    *row++ = be_mujoco_read_at(b, lane, quat, k)[0];
    *row++ = be_mujoco_read_at(b, lane, quat, k)[2];
    return row;
}

/* Appends angles and speeds. */
static double *arm_append(const be_batch *b, int64_t lane, double *row) {
    for (int k = 0; k < ARM_JOINTS; k++) {
        const double angle = be_mujoco_read_of(b, lane, ARM_QPOS + k)[0];
        *row++ = be_numpy_sin(angle);
        *row++ = be_numpy_cos(angle);
    }
    for (int k = 0; k < ARM_JOINTS; k++) *row++ = be_mujoco_read_of(b, lane, ARM_QVEL + k)[0];
    return row;
}

static double *arm_append_hand(const be_batch *b, int64_t lane, double *row) {
    return arm_append_pose(b, lane, ARM_HAND, ARM_HAND_QUAT, 0, row);
}

/* mju_normalize4, where the first number and the third one are `quat`, and the others 0. */
static __attribute__((unused)) void arm_normalize(double quat[2]) {
    const double shortest = 1e-15, length = sqrt(quat[0] * quat[0] + quat[1] * quat[1]);
    if (length < shortest) {
        quat[0] = 1;
        quat[1] = 0;
    } else if (fabs(length - 1) > shortest) {
        const double inverse = 1 / length;
        quat[0] *= inverse;
        quat[1] *= inverse;
    }
}

/* mju_quat2Mat and mj_local2Global: where a site is whose place in its body is `local`. body: where that is. */
static __attribute__((unused)) void arm_site(const double body[3], const double quat[2], const double local[3],
                                             double place[3]) {
    const double w = quat[0] * quat[0], y = quat[1] * quat[1], slant = 2 * (quat[0] * quat[1]);
    place[0] = (w - y) * local[0] + slant * local[2] + body[0];
    place[1] = (w + y) * local[1] + body[1];
    place[2] = -slant * local[0] + (w - y) * local[2] + body[2];
}

#endif
