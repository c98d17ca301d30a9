/* Gaits of robots with two legs, in addition to mujoco_locomotion.h: phases of feet and how high they are to be, and
 * pushes that change a robot's velocity at once. Below them is what MuJoCo Playground's joystick tasks of the G1, the
 * T1 and the Berkeley humanoid have in common; csrc/engines/mujoco/tasks/g1_joystick.c uses all of it. */
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

/* The reward for that. foot: the first of the rows of reads that say where the feet are. */
static inline double be_reward_gait(const be_batch *batch, int64_t lane, int phase, int foot, double swing) {
    const double *phases = MJ_FIELD(batch, phase, double, lane);
    double error = 0;
    for (int k = 0; k < BE_LEGS; k++) {
        const double gap = be_mujoco_read_of(batch, lane, foot + k)[2] - be_wanted_height(phases[k], swing);
        error += gap * gap;
    }
    return be_tracking(error, 0.01);
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
    for (int j = 0; j < 2; j++) be_mujoco_add_velocity(batch, lane, j, kick[j]);
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

/* ---- bipeds that follow commands: parts of the reward ------------------------------------------------------ */

/* DO(name, text, weight, doc), with each robot's weights. The first five are those of be_reward_trunk. */
#define BE_TRUNK_TERM_ROWS(DO, lin_vel, ang_vel, lin_vel_z, ang_vel_xy, orientation, base_height)                      \
    DO(BE_TRACKING_LIN_VEL, "tracking_lin_vel", lin_vel, "following the commanded velocity along x and y")             \
    DO(BE_TRACKING_ANG_VEL, "tracking_ang_vel", ang_vel, "following the commanded turning rate")                       \
    DO(BE_LIN_VEL_Z, "lin_vel_z", lin_vel_z, "squared vertical velocity")                                              \
    DO(BE_ANG_VEL_XY, "ang_vel_xy", ang_vel_xy, "squared rates of roll and pitch")                                     \
    DO(BE_ORIENTATION, "orientation", orientation, "squared tilt")                                                     \
    DO(BE_BASE_HEIGHT, "base_height", base_height, "squared distance of the trunk from base_height_target")
#define BE_EFFORT_TERM_ROWS(DO, torques, action_rate, energy)                                                          \
    DO(BE_TORQUES, "torques", torques, "torques of the motors, N m")                                                   \
    DO(BE_ACTION_RATE, "action_rate", action_rate, "squared change of the action")                                     \
    DO(BE_ENERGY, "energy", energy, "power of the motors, W")
#define BE_FEET_TERM_ROWS(DO, clearance, air_time, slip, height, phase)                                                \
    DO(BE_FEET_CLEARANCE, "feet_clearance", clearance, "distance of moving feet from max_foot_height")                 \
    DO(BE_FEET_AIR_TIME, "feet_air_time", air_time, "how long feet were in the air, when they touch down")             \
    DO(BE_FEET_SLIP, "feet_slip", slip, "speed of the trunk, times how many feet are on the floor")                    \
    DO(BE_FEET_HEIGHT, "feet_height", height, "squared relative error of how high feet were, when they touch down")    \
    DO(BE_FEET_PHASE, "feet_phase", phase, "feet being as high as their phases say")
#define BE_LIFE_TERM_ROWS(DO, alive, stand_still, termination)                                                         \
    DO(BE_ALIVE, "alive", alive, "1")                                                                                  \
    DO(BE_STAND_STILL, "stand_still", stand_still, "distance from the first pose where the command is 0, rad")         \
    DO(BE_TERMINATION, "termination", termination, "the end of the episode")
#define BE_POSE_TERM_ROWS(DO, knee, hip, limits, pose)                                                                 \
    DO(BE_KNEE, "joint_deviation_knee", knee, "distance of the knees from the first pose, rad")                        \
    DO(BE_HIP, "joint_deviation_hip", hip, "distance of the hips' roll and yaw from the first pose, rad")              \
    DO(BE_LIMITS, "dof_pos_limits", limits, "how far joints are beyond their soft limits, rad")                        \
    DO(BE_POSE, "pose", pose, "squared distance from the first pose")
#define BE_TERM_NAME(name, text, weight, doc) name,
enum {
    BE_TRUNK_TERM_ROWS(BE_TERM_NAME, 0, 0, 0, 0, 0, 0) BE_EFFORT_TERM_ROWS(BE_TERM_NAME, 0, 0, 0)
        BE_FEET_TERM_ROWS(BE_TERM_NAME, 0, 0, 0, 0, 0) BE_LIFE_TERM_ROWS(BE_TERM_NAME, 0, 0, 0)
            BE_POSE_TERM_ROWS(BE_TERM_NAME, 0, 0, 0, 0) BE_BIPED_TERMS
};

/* ---- bipeds: tables ------------------------------------------------------------------------------------------ */

/* Params. The weights of all parts of the reward follow, and then their joints' noise and others of the task's own.
 * push: the largest size of a push, m/s. x, y, yaw: the largest commands. Up to the commands, Apollo has them, too. */
enum {
    BE_BIPED_SCALE = MJ_PARAMS,
    BE_BIPED_LEVEL,
    BE_BIPED_SIGMA = BE_BIPED_LEVEL + 5,
    BE_BIPED_FOOT_HEIGHT,
    BE_BIPED_KICKS,
    BE_BIPED_RANGES = BE_BIPED_KICKS + BE_KICK_COUNT,
    BE_BIPED_SOFT = BE_BIPED_RANGES + 2 * BE_COMMAND,
    BE_BIPED_BASE_HEIGHT,
    BE_BIPED_WEIGHTS
};
enum { BE_JOINT_VEL_NOISE = BE_BIPED_LEVEL + 1, BE_GYRO_NOISE, BE_GRAVITY_NOISE, BE_LINVEL_NOISE };
#define BE_BIPED_FIRST_PARAMS(frame_skip, scale, sigma, foot_height, push, x, y, yaw)                                  \
    MJ_SHARED_PARAMS(frame_skip),                                                                                      \
        [BE_BIPED_SCALE] = MJ_WEIGHT("action_scale", scale, "how far an action of 1 moves a joint's target, rad"),     \
        BE_NOISE("level", 1.0, "factor of all of it; 0: none"), BE_NOISE("joint_vel", 1.5, "rad/s"),                   \
        BE_NOISE("gyro", 0.2, "rad/s"), BE_NOISE("gravity", 0.05, "of a vector of length 1"),                          \
        BE_NOISE("linvel", 0.1, "m/s"),                                                                                \
        MJ_WITHIN("tracking_sigma", sigma, 1e-9, 1e6, "squared error at which rewards for tracking are 1/e"),          \
        MJ_WITHIN("max_foot_height", foot_height, 1e-9, 1e6, "how high feet are to be lifted, m"),                     \
        BE_KICK_PARAMS(BE_BIPED_KICKS, push),                                                                          \
        [BE_BIPED_RANGES] = BE_COMMAND_RANGE("lin_vel_x", -(x), x, "m/s forwards"),                                    \
        BE_COMMAND_RANGE("lin_vel_y", -(y), y, "m/s to the left"),                                                     \
        BE_COMMAND_RANGE("ang_vel_yaw", -(yaw), yaw, "rad/s")
#define BE_BIPED_PARAMS(scale, sigma, foot_height, base_height, push, x, y, yaw)                                       \
    BE_BIPED_FIRST_PARAMS(10, scale, sigma, foot_height, push, x, y, yaw),                                             \
        [BE_BIPED_SOFT] =                                                                                              \
            MJ_WITHIN("soft_joint_pos_limit_factor", 0.95, 0, 1e6, "soft limits of joints, relative to their range"),  \
        [BE_BIPED_BASE_HEIGHT] =                                                                                       \
            MJ_WITHIN("base_height_target", base_height, -1e6, 1e6, "how high the trunk is to be, m")
#define BE_BIPED_WEIGHT(name, text, weight, doc) [BE_BIPED_WEIGHTS + (name)] = MJ_WEIGHT("reward_" text, weight, doc),

/* Ports; those of the parts of the reward follow, by BE_BIPED_TERM. */
enum { BE_BIPED_STATE = MJ_OBSERVATION_PORT, BE_BIPED_PRIVILEGED, BE_BIPED_UNSTABLE, BE_BIPED_PEAK, BE_BIPED_INFOS };
#define BE_BIPED_FIRST_PORTS                                                                                           \
    [MJ_ACTION_PORT] = {"", BE_ACTION}, [BE_BIPED_STATE] = {"state", BE_OBSERVATION},                                  \
    [BE_BIPED_PRIVILEGED] = {"privileged_state", BE_OBSERVATION}, [BE_BIPED_UNSTABLE] = MJ_UNSTABLE_INFO
#define BE_BIPED_PORTS BE_BIPED_FIRST_PORTS, [BE_BIPED_PEAK] = MJ_INFO_STEP("swing_peak", "mean over the feet, m")
#define BE_BIPED_TERM(name, text, weight, doc) [BE_BIPED_INFOS + (name)] = MJ_INFO_STEP("reward/" text, doc),

/* State. */
enum {
    BE_BIPED_SEEN = MJ_FIELDS,
    BE_BIPED_ACTION,
    BE_BIPED_PHASE,
    BE_BIPED_PUSH = BE_BIPED_PHASE + BE_GAIT_FIELD_COUNT,
    BE_BIPED_COMMAND = BE_BIPED_PUSH + BE_KICK_FIELD_COUNT,
    BE_BIPED_AIR = BE_BIPED_COMMAND + 2,
    BE_BIPED_FIELD_COUNT = BE_BIPED_AIR + BE_FEET_FIELD_COUNT
};
enum { BE_BIPED_COMMAND_STEPS = 500 };
#define BE_BIPED_FIRST_FIELDS(joints)                                                                                  \
    MJ_SHARED_STATE,                                                                                                   \
        [BE_BIPED_SEEN] = {"last_observation", BE_F32, 1, "the last privileged_state, which begins with the state"},   \
        [BE_BIPED_ACTION] = {"last_act", BE_F32, joints, "the last action"}, BE_GAIT_FIELDS(BE_BIPED_PHASE),           \
        BE_KICK_FIELDS(BE_BIPED_PUSH), [BE_BIPED_COMMAND] = BE_COMMAND_FIELD
#define BE_BIPED_FIELDS(joints)                                                                                        \
    BE_BIPED_FIRST_FIELDS(joints), BE_COMMAND_STEP_FIELD(BE_BIPED_COMMAND, BE_BIPED_COMMAND_STEPS),                    \
        BE_FEET_FIELDS(BE_BIPED_AIR, BE_LEGS)

/* What is read: from BE_BIPED_FOUND on, for each foot, whether its parts are on the floor; then where each foot is, and
 * its velocity. */
enum { BE_BIPED_XMAT = BE_ROBOT_ROWS, BE_BIPED_JOINT_RANGES, BE_BIPED_FOUND };
#define BE_BIPED_READS(part, key, imu)                                                                                 \
    BE_ROBOT_READS_OF(part, key), [BE_BIPED_XMAT] = {"site_xmat", "site", imu},                                        \
                                  [BE_BIPED_JOINT_RANGES] = {"model.jnt_range"}
#define BE_BIPED_FEET_READS(left, right)                                                                               \
    {"site_xpos", "site", left}, {"site_xpos", "site", right}, {"sensordata", "sensor", left "_global_linvel"},        \
        {"sensordata", "sensor", right "_global_linvel"}

/* How robots differ. */
enum { BE_BIPED_MOST_JOINTS = 32 };
typedef struct be_biped {
    int parts;                 /* of each foot */
    int stands;                /* 1: both feet are to stay on the floor where the command is 0 */
    double low_hz, high_hz;    /* of strides */
    double still;              /* commands smaller than this are to stand still */
    int noise;                 /* the param of the noise of joints' positions */
    const uint8_t *noise_of;   /* of each joint: its param's distance from that; NULL: one for all joints */
    const double *stiffness;   /* of each joint: its weight in the part `pose`; NULL: 1 for all */
    uint8_t knees[2], hips[4]; /* numbers of these joints */
} be_biped;

/* ---- bipeds: steps ------------------------------------------------------------------------------------------- */

/* more: how many numbers the critic sees in addition to the policy. */
static inline int be_biped_prepare_for(be_setup *setup, const be_read *reads, int64_t joints, int64_t more,
                                       be_error *error) {
    if (be_check_robot(setup, reads, joints, error) != BE_OK) return error->status;
    const int64_t seen = 4 * 3 + 3 * joints + 2 * BE_LEGS, all = seen + more;
    const int status = be_mujoco_spaces_between(setup, seen, 7 + joints, 6 + joints, -1, 1, error);
    be_space_box(&setup->space[BE_BIPED_STATE], BE_F32, 1, &seen, -HUGE_VAL, HUGE_VAL);
    be_space_box(&setup->space[BE_BIPED_PRIVILEGED], BE_F32, 1, &all, -HUGE_VAL, HUGE_VAL);
    setup->field_size[BE_BIPED_SEEN] = (int)all;
    return status;
}
static inline int be_biped_prepare(be_setup *setup, const be_read *reads, int64_t joints, be_error *error) {
    return be_biped_prepare_for(setup, reads, joints, 5 * 3 + 3 * joints + 1 + 5 * BE_LEGS, error);
}

static inline void be_biped_control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    const double *pose = be_pose_of(b, lane), scale = be_param_of(b, BE_BIPED_SCALE, lane);
    const int64_t joints = be_mujoco_of(b)->num_ctrl;
    for (int64_t j = 0; j < joints; j++) controls[j] = pose[j] + (double)action[j] * scale;
}

/* What a biped sees, as far as it is computed: where down is, and its joints' distances from the first pose, rad. */
typedef struct be_biped_view {
    double gravity[3], angles[BE_BIPED_MOST_JOINTS];
} be_biped_view;

static inline be_biped_view be_biped_look(const be_batch *b, int64_t lane) {
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS] + 7, *pose = be_pose_of(b, lane);
    const int64_t joints = be_mujoco_of(b)->num_ctrl;
    be_biped_view view;
    be_projected_gravity(be_mujoco_read_of(b, lane, BE_BIPED_XMAT), view.gravity);
    for (int64_t j = 0; j < joints; j++) view.angles[j] = qpos[j] - pose[j];
    return view;
}

/* Begins the lane's observation with what the policy is to see, and draws its noise. Returns where that ends. */
static inline float *be_biped_see_state(be_batch *b, int64_t lane, const be_biped *biped, const be_biped_view *view) {
    const int64_t joints = be_mujoco_of(b)->num_ctrl;
    float *row = MJ_FIELD(b, BE_BIPED_SEEN, float, lane);
#define BE_NOISY(values, count, noise)                                                                                 \
    be_append_noisy(row, values, count, be_param_of(b, noise, lane) * be_param_of(b, BE_BIPED_LEVEL, lane),            \
                    &b->rng[lane])
    row = BE_NOISY(be_mujoco_read_of(b, lane, BE_LINVEL), 3, BE_LINVEL_NOISE);
    row = BE_NOISY(be_mujoco_read_of(b, lane, BE_GYRO), 3, BE_GYRO_NOISE);
    row = BE_NOISY(view->gravity, 3, BE_GRAVITY_NOISE);
    row = be_append_f32(row, MJ_FIELD(b, BE_BIPED_COMMAND, double, lane), BE_COMMAND);
    for (int64_t j = 0; j < joints; j++) {
        row = BE_NOISY(&view->angles[j], 1, biped->noise + (biped->noise_of ? biped->noise_of[j] : 0));
    }
    row = BE_NOISY(be_mujoco_arrays(b, lane)[MJ_QVEL] + 6, joints, BE_JOINT_VEL_NOISE);
#undef BE_NOISY
    memcpy(row, MJ_FIELD(b, BE_BIPED_ACTION, float, lane), (size_t)joints * sizeof *row);
    return be_append_gait(b, lane, BE_BIPED_PHASE, row + joints);
}

/* Computes the lane's observation. */
static inline void be_biped_see(be_batch *b, int64_t lane, const be_biped *biped) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const int64_t joints = be_mujoco_of(b)->num_ctrl;
    const int foot = BE_BIPED_FOUND + biped->parts * BE_LEGS;
    const be_biped_view view = be_biped_look(b, lane);
    float *row = be_biped_see_state(b, lane, biped, &view);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_GYRO), 3);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_ACCELEROMETER), 3);
    row = be_append_f32(row, view.gravity, 3);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_LINVEL), 3);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_GLOBAL_ANGVEL), 3);
    row = be_append_f32(row, view.angles, joints);
    row = be_append_f32(row, arrays[MJ_QVEL] + 6, joints);
    row = be_append_f32(row, &arrays[MJ_QPOS][2], 1);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_TORQUE), joints);
    for (int k = 0; k < BE_LEGS; k++)
        *row++ = (float)be_touches(b, lane, BE_BIPED_FOUND + k * biped->parts, biped->parts);
    for (int k = 0; k < BE_LEGS; k++) row = be_append_f32(row, be_mujoco_read_of(b, lane, foot + BE_LEGS + k), 3);
    be_append_f32(row, MJ_FIELD(b, BE_BIPED_AIR, double, lane), BE_LEGS);
}

/* Writes the positions and velocities that an episode starts with. */
static inline void be_biped_place(be_batch *b, int64_t lane) {
    double *const *arrays = be_mujoco_arrays(b, lane), *qpos = arrays[MJ_QPOS];
    const int64_t joints = be_mujoco_of(b)->num_ctrl;
    be_rng *rng = &b->rng[lane];
    be_append(qpos, be_mujoco_read_of(b, lane, BE_HOME), 7 + joints);
    be_scatter(qpos, rng);
    for (int64_t j = 0; j < joints; j++) qpos[7 + j] *= be_rng_uniform(rng, 0.5, 1.5);
    be_scatter_velocities(arrays[MJ_QVEL], joints, rng);
}

static inline int be_biped_start(be_batch *b, int64_t lane, const be_rows *rows, const be_biped *biped,
                                 be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const int64_t joints = be_mujoco_of(b)->num_ctrl;
    be_biped_place(b, lane);
    be_append(arrays[MJ_CTRL], arrays[MJ_QPOS] + 7, joints);
    const int status = be_mujoco_begin_controlled(b, lane, error);
    be_gait_start(b, lane, BE_BIPED_PHASE, biped->low_hz, biped->high_hz);
    be_command_begin(b, lane, BE_BIPED_COMMAND, BE_BIPED_RANGES);
    memset(MJ_FIELD(b, BE_BIPED_ACTION, float, lane), 0, (size_t)joints * sizeof(float));
    be_feet_start(b, lane, BE_BIPED_AIR, BE_LEGS);
    be_mujoco_clear_info(b, lane, rows);
    be_biped_see(b, lane, biped);
    be_kick_start(b, lane, BE_BIPED_KICKS, BE_BIPED_PUSH);
    return status;
}

/* reset and observe of a task's own. biped: its be_biped. */
#define BE_BIPED_EPISODES(biped)                                                                                       \
    static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {                                \
        return be_biped_start(b, lane, rows, &(biped), error);                                                         \
    }                                                                                                                  \
    static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {       \
        (void)error;                                                                                                   \
        be_observe_field(b, lanes, count, rows, BE_BIPED_SEEN);                                                        \
        return BE_OK;                                                                                                  \
    }                                                                                                                  \
    MJ_RESET(reset, start)

/* The size of the command. */
static inline double be_biped_speed(const be_batch *b, int64_t lane) {
    return sqrt(be_squares(MJ_FIELD(b, BE_BIPED_COMMAND, double, lane), BE_COMMAND));
}

/* To be called after the physics: observations, and those parts of the reward that robots have in common. The others
 * are BE_TERMINATION and the task's own. */
static inline void be_biped_step(be_batch *b, int64_t lane, const be_rows *rows, const be_biped *biped, double *terms) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const int64_t joints = be_mujoco_of(b)->num_ctrl;
    const double *qpos = arrays[MJ_QPOS] + 7, *pose = be_pose_of(b, lane);
    const double *torque = be_mujoco_read_of(b, lane, BE_TORQUE);
    const double swing = be_param_of(b, BE_BIPED_FOOT_HEIGHT, lane);
    const be_feet_sums feet = be_feet_step_of(b, lane, BE_BIPED_AIR, BE_BIPED_FOUND, BE_LEGS, biped->parts, swing);
    be_biped_see(b, lane, biped);
    be_observe_field(b, &lane, 1, rows, BE_BIPED_SEEN);
    int contacts = 0;
    for (int k = 0; k < BE_LEGS; k++) contacts += be_touches(b, lane, BE_BIPED_FOUND + k * biped->parts, biped->parts);
    be_reward_trunk(b, lane, MJ_FIELD(b, BE_BIPED_COMMAND, double, lane), be_param_of(b, BE_BIPED_SIGMA, lane), terms);
    const double high = arrays[MJ_QPOS][2] - be_param_of(b, BE_BIPED_BASE_HEIGHT, lane);
    terms[BE_BASE_HEIGHT] = high * high;
    terms[BE_TORQUES] = be_absolutes(torque, joints);
    terms[BE_ACTION_RATE] =
        be_action_rate(MJ_ACTION(b, rows, lane), MJ_FIELD(b, BE_BIPED_ACTION, float, lane), NULL, joints);
    terms[BE_ENERGY] = be_power(arrays[MJ_QVEL] + 6, torque, joints);
    terms[BE_FEET_CLEARANCE] = feet.clearance;
    terms[BE_FEET_AIR_TIME] = feet.long_time;
    terms[BE_FEET_SLIP] = contacts * sqrt(be_squares(be_mujoco_read_of(b, lane, BE_GLOBAL_LINVEL), 2));
    terms[BE_FEET_HEIGHT] = feet.height;
    terms[BE_FEET_PHASE] = be_reward_gait(b, lane, BE_BIPED_PHASE, BE_BIPED_FOUND + biped->parts * BE_LEGS, swing);
    terms[BE_ALIVE] = 1;
    terms[BE_STAND_STILL] = be_biped_speed(b, lane) < biped->still ? be_deviation(qpos, pose, NULL, joints) : 0;
    terms[BE_KNEE] = be_deviation(qpos, pose, biped->knees, 2);
    terms[BE_HIP] = be_deviation(qpos, pose, biped->hips, 4);
    terms[BE_LIMITS] = be_beyond_soft(qpos, be_mujoco_read_of(b, lane, BE_BIPED_JOINT_RANGES) + 2,
                                      be_param_of(b, BE_BIPED_SOFT, lane), joints);
    terms[BE_POSE] = be_pose_cost(qpos, pose, biped->stiffness, joints);
}

/* What changes after rewards and observations. */
static inline void be_biped_end(be_batch *b, int64_t lane, const be_rows *rows, const be_biped *biped) {
    const size_t bytes = (size_t)be_mujoco_of(b)->num_ctrl * sizeof(float);
    MJ_INFO(rows, BE_BIPED_PEAK, lane) = be_feet_end_of(b, lane, BE_BIPED_AIR, BE_BIPED_FOUND, BE_LEGS, biped->parts);
    be_gait_step(b, lane, BE_BIPED_PHASE, biped->stands && !(be_biped_speed(b, lane) > 0.01));
    memcpy(MJ_FIELD(b, BE_BIPED_ACTION, float, lane), MJ_ACTION(b, rows, lane), bytes);
    be_command_keep(b, lane, BE_BIPED_COMMAND, BE_BIPED_RANGES, BE_BIPED_COMMAND_STEPS);
    be_kick_step(b, lane, BE_BIPED_KICKS, BE_BIPED_PUSH);
}

#endif
