/* Gaits of robots with two legs, in addition to mujoco_locomotion.h: phases of feet and how high they are to be, and
 * pushes that change a robot's velocity at once. */
#ifndef BE_MUJOCO_GAIT_H
#define BE_MUJOCO_GAIT_H

#include "mujoco_locomotion.h"

/* ---- gaits ---------------------------------------------------------------------------------------------- */

enum { BE_LEGS = 2 };

/* Two fields that follow each other. `phase` is the index of the first one in the functions below. */
#define BE_GAIT_FIELDS(phase)                                                                                          \
    [phase] = {"phase", BE_F64, BE_LEGS, "of each foot, rad: it is to rise from -pi to 0, and to sink from 0 to pi"},  \
    [(phase) + BE_PHASE_DT] = {"phase_dt", BE_F64, 1, "how far the phases advance in a step, rad"}
enum { BE_PHASE_DT = 1, BE_GAIT_FIELD_COUNT };

/* One foot in front of the other, and a random frequency between these, Hz. */
static inline void be_gait_start(be_batch *batch, int64_t lane, int phase, double low, double high) {
    memcpy(MJ_FIELD(batch, phase, double, lane), (const double[]){0, M_PI}, BE_LEGS * sizeof(double));
    MJ_FIELD(batch, phase + BE_PHASE_DT, double, lane)
    [0] = 2 * M_PI * be_mujoco_dt(batch) * be_rng_uniform(&batch->rng[lane], low, high);
}

/* To be called once a step, after rewards and observations. stands: 1 where both feet are to stay on the floor. From
 * there they go on with the same phase, as in Playground. */
static inline void be_gait_step(be_batch *batch, int64_t lane, int phase, int stands) {
    double *phases = MJ_FIELD(batch, phase, double, lane);
    const double dt = MJ_FIELD(batch, phase + BE_PHASE_DT, double, lane)[0];
    for (int k = 0; k < BE_LEGS; k++) {
        phases[k] = stands ? M_PI : be_math.fmod(phases[k] + dt + M_PI, 2 * M_PI) - M_PI;
    }
}

/* Appends the phases' cosines, and then their sines. */
static inline float *be_append_gait(const be_batch *batch, int64_t lane, int phase, float *row) {
    const double *phases = MJ_FIELD(batch, phase, double, lane);
    for (int k = 0; k < BE_LEGS; k++) *row++ = (float)be_math.cos(phases[k]);
    for (int k = 0; k < BE_LEGS; k++) *row++ = (float)be_math.sin(phases[k]);
    return row;
}

/* How high a foot is to be: up to `swing`, along a cubic curve that is level at both ends. */
static inline double be_wanted_height(double phase, double swing) {
    const double stride = (phase + M_PI) / (2 * M_PI);
    const int rises = stride <= 0.5;
    const double t = rises ? 2 * stride : 2 * stride - 1, share = t * t * (3 - 2 * t);
    return swing * (rises ? share : 1 - share);
}

/* The squared error of that, m^2, and the reward for it. foot: the first of the rows of reads that say where the feet
 * are. */
static inline double be_gait_error(const be_batch *batch, int64_t lane, int phase, int foot, double swing) {
    const double *phases = MJ_FIELD(batch, phase, double, lane);
    double error = 0;
    for (int k = 0; k < BE_LEGS; k++) {
        const double gap = be_mujoco_read_of(batch, lane, foot + k)[2] - be_wanted_height(phases[k], swing);
        error += gap * gap;
    }
    return error;
}
static inline double be_reward_gait(const be_batch *batch, int64_t lane, int phase, int foot, double swing) {
    return be_tracking(be_gait_error(batch, lane, phase, foot, swing), 0.01);
}

/* ---- kicks: pushes that change the velocity of the robot at once, after equal times ----------------------- */

/* Params that follow each other in a task's table. */
enum { BE_KICK_ENABLE, BE_KICK_INTERVAL, BE_KICK_SIZE = BE_KICK_INTERVAL + 2, BE_KICK_COUNT = BE_KICK_SIZE + 2 };
#define BE_KICK_PARAMS(first, most)                                                                                    \
    [(first) + BE_KICK_ENABLE] = {"push_enable", BE_PARAM_BOOL, 1, 0, 1, NULL, "push the robot", 0, 1},                \
               [(first) + BE_KICK_INTERVAL] =                                                                          \
                   MJ_WITHIN("push_interval_min", 5, 0, 1e6, "pushes: shortest time between two, s; see push_enable"), \
               MJ_WITHIN("push_interval_max", 10, 0, 1e6, "pushes: longest time between two, s"),                      \
               [(first) + BE_KICK_SIZE] =                                                                              \
                   MJ_WITHIN("push_magnitude_min", 0.1, -1e6, 1e6, "pushes: least change of the velocity, m/s"),       \
               MJ_WITHIN("push_magnitude_max", most, -1e6, 1e6, "pushes: largest change of the velocity, m/s")

/* Three fields that follow each other. `push` is the index of the first one in the functions below. */
#define BE_KICK_FIELDS(push)                                                                                           \
    [push] = {"push", BE_F64, 2, "what has been added to the velocity for the coming step: m/s along x and y"},        \
    [(push) + BE_KICK_STEP] = {"push_step", BE_I32, 1, "steps of this episode", 0, 1 << 30},                           \
    [(push) + BE_KICK_STEPS] = {"push_interval_steps", BE_I32, 1, "steps between pushes; 0: there are none"}
enum { BE_KICK_STEP = 1, BE_KICK_STEPS, BE_KICK_FIELD_COUNT };

/* To be called at the end of each step, and by be_kick_start: pushes the robot for the coming step. What the step has
 * computed does not show that yet, but the lane's velocities do. */
static inline void be_kick_step(be_batch *batch, int64_t lane, int first, int push) {
    double *kick = MJ_FIELD(batch, push, double, lane);
    int32_t *step = MJ_FIELD(batch, push + BE_KICK_STEP, int32_t, lane);
    const int64_t steps = MJ_FIELD(batch, push + BE_KICK_STEPS, int32_t, lane)[0];
    *step += 1;
    kick[0] = kick[1] = 0;
    if (steps < 1 || (*step + 1) % steps || be_param_of(batch, first + BE_KICK_ENABLE, lane) == 0) return;
    const double angle = be_rng_uniform(&batch->rng[lane], 0, 2 * M_PI);
    const double size = be_draw_between(batch, lane, first + BE_KICK_SIZE);
    kick[0] = size * be_math.cos(angle);
    kick[1] = size * be_math.sin(angle);
    for (int j = 0; j < 2; j++) be_mujoco_arrays(batch, lane)[MJ_QVEL][j] += kick[j];
    be_mujoco_put_velocities(batch, lane);
}
/* To be called at the end of each reset. */
static inline void be_kick_start(be_batch *batch, int64_t lane, int first, int push) {
    MJ_FIELD(batch, push + BE_KICK_STEP, int32_t, lane)[0] = -1;
    MJ_FIELD(batch, push + BE_KICK_STEPS, int32_t, lane)
    [0] = be_steps_of(be_draw_between(batch, lane, first + BE_KICK_INTERVAL), be_mujoco_dt(batch));
    be_kick_step(batch, lane, first, push);
}

/* ---- sums over joints ------------------------------------------------------------------------------------- */

/* The squared distance from a pose. weights: of the joints; NULL: 1 each. */
static inline double be_pose_cost(const double *angles, const double *pose, const double *weights, int64_t count) {
    double sum = 0;
    for (int64_t j = 0; j < count; j++) {
        const double gap = angles[j] - pose[j];
        sum += gap * gap * (weights ? weights[j] : 1);
    }
    return sum;
}

/* How far some joints, by their numbers, or the first ones, are from a pose, rad. */
static inline double be_deviation(const double *angles, const double *pose, const uint8_t *joints, int64_t count) {
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t j = joints ? joints[k] : k;
        sum += fabs(angles[j] - pose[j]);
    }
    return sum;
}

#endif
