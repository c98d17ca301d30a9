/* What the tasks of DM Control's dog have in common. A file lists the reads of DOG_READS first. */
#ifndef BE_DM_DOG_H
#define BE_DM_DOG_H

#include "engines/mujoco/dm_control.h"

/* An episode's own number: where the torso and the pelvis are high enough. */
enum { STAND_HEIGHTS = DM_FIELDS };
static const be_field state[] = {
    DM_SHARED_STATE, {"stand_heights", BE_F64, 2, "heights of torso and pelvis, m, from which the dog stands"}, {0}};

enum {
    GRAVITY,
    MASS,
    TORSO,
    PELVIS,
    TORSO_FRAME,
    PELVIS_FRAME,
    SKULL_FRAME,
    VELOCITY,
    ACTIVATIONS,
    SENSORS,
    FORCES = SENSORS + 3,
    TOUCH = FORCES + 4,
    DOG_OWN = TOUCH + 4
};
#define DOG_READS                                                                                                      \
    [GRAVITY] = {"model.opt.gravity"}, [MASS] = {"model.body_subtreemass", "body", "torso"},                           \
    [TORSO] = {"xpos", "body", "torso"}, [PELVIS] = {"xpos", "body", "pelvis"},                                        \
    [TORSO_FRAME] = {"xmat", "body", "torso"}, [PELVIS_FRAME] = {"xmat", "body", "pelvis"},                            \
    [SKULL_FRAME] = {"xmat", "body", "skull"}, [VELOCITY] = {"sensordata", "sensor", "torso_linvel"},                  \
    [ACTIVATIONS] = {"act"}, [SENSORS] = {"sensordata", "sensor", "accelerometer"},                                    \
    {"sensordata", "sensor", "velocimeter"},                                                                           \
    {"sensordata", "sensor", "gyro"}, [FORCES] = {"sensordata", "sensor", "foot_L"},                                   \
    {"sensordata", "sensor", "foot_R"}, {"sensordata", "sensor", "hand_L"},                                            \
    {"sensordata", "sensor", "hand_R"}, [TOUCH] = {"sensordata", "sensor", "palm_L"},                                  \
    {"sensordata", "sensor", "palm_R"}, {"sensordata", "sensor", "sole_L"}, {"sensordata", "sensor", "sole_R"}

enum { DOG_PARTS = 9 };
#define DOG_PORTS                                                                                                      \
    {"", BE_ACTION}, {"joint_angles", BE_OBSERVATION}, {"joint_velocites", BE_OBSERVATION},                            \
        {"torso_pelvis_height", BE_OBSERVATION}, {"z_projection", BE_OBSERVATION},                                     \
        {"torso_com_velocity", BE_OBSERVATION}, {"inertial_sensors", BE_OBSERVATION}, {"foot_forces", BE_OBSERVATION}, \
        {"touch_sensors", BE_OBSERVATION}, {                                                                           \
        "actuator_state", BE_OBSERVATION                                                                               \
    }

static inline void common_sizes(const be_mujoco_view *view, int64_t *size) {
    const int64_t hinges = dm_num_hinges(view);
    const int64_t all[] = {hinges, hinges, 2, 9, 3, 9, 12, 4, view->reads[ACTIVATIONS].size};
    memcpy(size, all, sizeof all);
}

static inline void start_standing(be_batch *b, int64_t lane) {
    be_random_state *random = dm_random(b, lane);
    double *heights = MJ_FIELD(b, STAND_HEIGHTS, double, lane);
    heights[0] = be_mujoco_read_of(b, lane, TORSO)[2] * 0.9;
    heights[1] = be_mujoco_read_of(b, lane, PELVIS)[2] * 0.9;
    const double azimuth = be_random_state_uniform(random, 0, 2 * M_PI);
    const double quat[] = {be_numpy_cos(azimuth / 2), 0, 0, be_numpy_sin(azimuth / 2)};
    be_append(be_mujoco_arrays(b, lane)[MJ_QPOS] + 3, quat, 4);
    double *speed = be_mujoco_arrays(b, lane)[MJ_QVEL];
    speed[0] = 2 * be_random_state_normal(random);
    speed[1] = 2 * be_random_state_normal(random);
    speed[5] = 2 * be_random_state_normal(random);
    const be_mujoco_view *view = be_mujoco_of(b);
    double *activations = be_mujoco_activations_of(b, lane);
    for (int64_t k = 0; k < view->num_ctrl && k < view->reads[ACTIVATIONS].size; k++)
        activations[k] = be_random_state_uniform(random, view->control_low[k], view->control_high[k]);
}

/* The velocity of the dog's centre of mass as the torso sees it. */
static inline void own_velocity(const be_batch *b, int64_t lane, double *velocity) {
    dm_in_frame(be_mujoco_read_of(b, lane, VELOCITY), be_mujoco_read_of(b, lane, TORSO_FRAME), 3,
                be_mujoco_of(b)->fused_vecmat, velocity);
}

static inline double *write_common(const be_batch *b, int64_t lane, double *row) {
    row = dm_append_hinges(b, lane, row);
    *row++ = be_mujoco_read_of(b, lane, TORSO)[2];
    *row++ = be_mujoco_read_of(b, lane, PELVIS)[2];
    row = be_append(row, be_mujoco_read_of(b, lane, SKULL_FRAME) + 6, 3);
    row = be_append(row, be_mujoco_read_of(b, lane, TORSO_FRAME) + 6, 3);
    row = be_append(row, be_mujoco_read_of(b, lane, PELVIS_FRAME) + 6, 3);
    own_velocity(b, lane, row);
    row += 3;
    for (int k = SENSORS; k < TOUCH; k++) row = be_append(row, be_mujoco_read_of(b, lane, k), 3);
    for (int k = TOUCH; k < DOG_OWN; k++) *row++ = be_mujoco_read_of(b, lane, k)[0];
    return be_append(row, be_mujoco_read_of(b, lane, ACTIVATIONS), be_mujoco_of(b)->reads[ACTIVATIONS].size);
}

static inline double standing(const be_batch *b, int64_t lane) {
    const double *heights = MJ_FIELD(b, STAND_HEIGHTS, double, lane);
    const double torso = dm_gaussian(b, be_mujoco_read_of(b, lane, TORSO)[2], heights[0], HUGE_VAL, heights[0]);
    const double pelvis = dm_gaussian(b, be_mujoco_read_of(b, lane, PELVIS)[2], heights[1], HUGE_VAL, heights[1]);
    double product = torso * pelvis;
    const double cosine = be_numpy_cos(30 * (M_PI / 180));
    for (int k = 0; k < 3; k++) {
        const double z = be_mujoco_read_of(b, lane, (const int[]){SKULL_FRAME, TORSO_FRAME, PELVIS_FRAME}[k])[8];
        product *= dm_linear(z, cosine, HUGE_VAL, cosine + 1, 0);
    }
    double force = 0;
    for (int k = TOUCH; k < DOG_OWN; k++) force += be_mujoco_read_of(b, lane, k)[0];
    const double weight = -be_mujoco_read_of(b, lane, GRAVITY)[2] * be_mujoco_read_of(b, lane, MASS)[0];
    return product * dm_linear(force, weight, HUGE_VAL, weight, 0.9);
}

#endif
