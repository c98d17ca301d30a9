/* MuJoCo Playground's Go1JoystickFlatTerrain and Go1JoystickRoughTerrain: a Go1 that follows commands. The names of
 * params and rewards are Playground's. batchenv/envs/mujoco/playground.py has the model. */
#include "mujoco_quadruped.h"

enum { JOINTS = 12, FEET = 4 };

/* The parts of the reward: params with their weights, and infos. */
#define FOR_ALL_TERMS(DO)                                                                                              \
    DO(TRACKING_LIN_VEL, "tracking_lin_vel", 1.0, "following the commanded velocity along x and y")                    \
    DO(TRACKING_ANG_VEL, "tracking_ang_vel", 0.5, "following the commanded turning rate")                              \
    DO(LIN_VEL_Z, "lin_vel_z", -0.5, "squared vertical velocity")                                                      \
    DO(ANG_VEL_XY, "ang_vel_xy", -0.05, "squared rates of roll and pitch")                                             \
    DO(ORIENTATION, "orientation", -5.0, "squared tilt")                                                               \
    DO(DOF_POS_LIMITS, "dof_pos_limits", -1.0, "how far joints are beyond their soft limits, rad")                     \
    DO(POSE, "pose", 0.5, "being near the pose of the keyframe home")                                                  \
    DO(TERMINATION, "termination", -1.0, "falling")                                                                    \
    DO(STAND_STILL, "stand_still", -1.0, "distance from that pose where the command is 0, rad")                        \
    DO(TORQUES, "torques", -0.0002, "torques of the motors: their norm plus their sum, N m")                           \
    DO(ACTION_RATE, "action_rate", -0.01, "squared change of the action")                                              \
    DO(ENERGY, "energy", -0.001, "power of the motors, W")                                                             \
    DO(FEET_CLEARANCE, "feet_clearance", -2.0, "distance of moving feet from max_foot_height")                         \
    DO(FEET_HEIGHT, "feet_height", -0.2, "squared relative error of how high feet were, when they touch down")         \
    DO(FEET_SLIP, "feet_slip", -0.1, "squared speed of feet on the floor")                                             \
    DO(FEET_AIR_TIME, "feet_air_time", 0.1, "how long feet were in the air, when they touch down")
#define TERM(name, text, weight, doc) name,
enum { FOR_ALL_TERMS(TERM) TERMS };
#undef TERM

/* clang-format off */
enum {
    ACTION_SCALE = MJ_PARAMS, SOFT_LIMIT,
    NOISE_LEVEL, NOISE_GYRO, NOISE_GRAVITY, NOISE_JOINT_POS, NOISE_JOINT_VEL, NOISE_LINVEL,
    SIGMA, FOOT_HEIGHT, WEIGHT,
    PUSHES = WEIGHT + TERMS, MOST = PUSHES + BE_PUSH_COUNT, KEPT = MOST + BE_COMMAND
};
/* clang-format on */
#define COMMAND_MOST(name, value, unit) MJ_WITHIN("command_a_" name, value, 0, 1e6, "largest command, " unit)
#define WEIGHT_PARAM(name, text, weight, doc) [WEIGHT + (name)] = MJ_WEIGHT("reward_" text, weight, doc),
static const be_param params[] = {
    MJ_SHARED_PARAMS(5),
    [ACTION_SCALE] = MJ_WEIGHT("action_scale", 0.5, "how far an action of 1 moves a joint's target, rad"),
    [SOFT_LIMIT] =
        MJ_WITHIN("soft_joint_pos_limit_factor", 0.95, 0, 1e6, "soft limits of joints, relative to their range"),
    [NOISE_LEVEL] = BE_NOISE("level", 1.0, "factor of all of it; 0: none"),
    [NOISE_JOINT_POS] = BE_NOISE("joint_pos", 0.03, "rad"),
    [NOISE_JOINT_VEL] = BE_NOISE("joint_vel", 1.5, "rad/s"),
    [NOISE_GYRO] = BE_NOISE("gyro", 0.2, "rad/s"),
    [NOISE_GRAVITY] = BE_NOISE("gravity", 0.05, "of a vector of length 1"),
    [NOISE_LINVEL] = BE_NOISE("linvel", 0.1, "m/s"),
    [SIGMA] = MJ_WITHIN("tracking_sigma", 0.25, 1e-9, 1e6, "squared error at which rewards for tracking are 1/e"),
    [FOOT_HEIGHT] = MJ_WITHIN("max_foot_height", 0.1, 1e-9, 1e6, "how high feet are to be lifted, m"),
    FOR_ALL_TERMS(WEIGHT_PARAM) BE_PUSH_PARAMS(PUSHES),
    [MOST] = COMMAND_MOST("x", 1.5, "m/s forwards"),
    [MOST + 1] = COMMAND_MOST("y", 0.8, "m/s to the left"),
    [MOST + 2] = COMMAND_MOST("yaw", 1.2, "rad/s"),
    [KEPT] = BE_COMMAND_KEPT("x", 0.9),
    [KEPT + 1] = BE_COMMAND_KEPT("y", 0.25),
    [KEPT + 2] = BE_COMMAND_KEPT("yaw", 0.5),
    {0},
};

/* ---- ports, state ------------------------------------------------------------------------------------- */

enum {
    SEEN = 3 * 3 + 3 * JOINTS + BE_COMMAND, /* numbers that the policy sees */
    ALL_SEEN = SEEN + 5 * 3 + 3 * JOINTS + FEET + 3 * FEET + FEET + 3 + 1
};
enum { STATE = MJ_OBSERVATION_PORT, PRIVILEGED = MJ_PORTS, UNSTABLE, SWING_PEAK_INFO, TERM_INFO };
#define TERM_PORT(name, text, weight, doc) [TERM_INFO + (name)] = MJ_INFO_STEP("reward/" text, doc),
static const be_port ports[] = {
    [MJ_ACTION_PORT] = {"", BE_ACTION},
    [STATE] = {"state", BE_OBSERVATION},
    [PRIVILEGED] = {"privileged_state", BE_OBSERVATION, BE_BOX(BE_F32, -HUGE_VAL, HUGE_VAL, ALL_SEEN)},
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    [SWING_PEAK_INFO] = MJ_INFO_STEP("swing_peak", "mean over the feet, m"),
    FOR_ALL_TERMS(TERM_PORT){0},
};

/* Observations have noise, and some of what they show has changed since: so the last one is kept. */
enum { LAST_SEEN = MJ_FIELDS, LAST_ACTION, COMMAND, COMMAND_STEPS, AIR_TIME, PUSH = AIR_TIME + BE_FEET_FIELD_COUNT };
static const be_field state[] = {
    MJ_SHARED_STATE,
    [LAST_SEEN] = {"last_observation", BE_F32, ALL_SEEN, "the last privileged_state, which begins with the state"},
    [LAST_ACTION] = {"last_act", BE_F32, JOINTS, "the last action"},
    [COMMAND] = BE_COMMAND_FIELD,
    [COMMAND_STEPS] = BE_COMMAND_STEPS_FIELD,
    BE_FEET_FIELDS(AIR_TIME, FEET),
    [PUSH] = BE_PUSH_FIELD,
    {0},
};
static be_push *push_of(const be_batch *b, int64_t lane) { return (be_push *)b->state[PUSH] + lane; }

/* ---- the model ----------------------------------------------------------------------------------------- */

/* Rows of one foot each follow each other in the order FR, FL, RR, RL. */
enum { XMAT = BE_ROBOT_ROWS, RANGES, MASS, FOUND, FOOT = FOUND + FEET, FOOT_VELOCITY = FOOT + FEET };
static const be_read reads[] = {
    BE_ROBOT_READS,
    [XMAT] = {"site_xmat", "site", "imu"},
    [RANGES] = {"model.jnt_range"},
    [MASS] = {"model.body_subtreemass", "body", "trunk"},
    [FOUND] = {"sensordata", "sensor", "FR_floor_found"},
    {"sensordata", "sensor", "FL_floor_found"},
    {"sensordata", "sensor", "RR_floor_found"},
    {"sensordata", "sensor", "RL_floor_found"},
    [FOOT] = {"site_xpos", "site", "FR"},
    {"site_xpos", "site", "FL"},
    {"site_xpos", "site", "RR"},
    {"site_xpos", "site", "RL"},
    [FOOT_VELOCITY] = {"sensordata", "sensor", "FR_global_linvel"},
    {"sensordata", "sensor", "FL_global_linvel"},
    {"sensordata", "sensor", "RR_global_linvel"},
    {"sensordata", "sensor", "RL_global_linvel"},
    {0},
};

static int prepare(be_setup *setup, be_error *error) {
    if (be_check_robot(setup, reads, JOINTS, error) != BE_OK) return error->status;
    const int status = be_mujoco_spaces(setup, SEEN, 7 + JOINTS, 6 + JOINTS, error);
    const int64_t joints = JOINTS, seen = SEEN;
    be_space_box(&setup->space[MJ_ACTION_PORT], BE_F32, 1, &joints, -1, 1);
    be_space_box(&setup->space[STATE], BE_F32, 1, &seen, -HUGE_VAL, HUGE_VAL);
    return status;
}

/* The force on the trunk, N. */
static double *force_of(const be_batch *b, int64_t lane) {
    return be_mujoco_push_of(b, lane, be_mujoco_of(b)->reads[MASS].first[0]);
}

static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    const double *pose = be_pose_of(b, lane), scale = be_param_of(b, ACTION_SCALE, lane);
    for (int j = 0; j < JOINTS; j++) controls[j] = pose[j] + (double)action[j] * scale;
}

/* ---- observations ---------------------------------------------------------------------------------------- */

/* Computes the lane's observation, which draws its noise. */
static void see(be_batch *b, int64_t lane) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *qvel = arrays[MJ_QVEL] + 6, *pose = be_pose_of(b, lane), level = be_param_of(b, NOISE_LEVEL, lane);
    const double *gyro = be_mujoco_read_of(b, lane, BE_GYRO), *linvel = be_mujoco_read_of(b, lane, BE_LINVEL);
    float *row = MJ_FIELD(b, LAST_SEEN, float, lane);
    be_rng *rng = &b->rng[lane];
    double gravity[3], angles[JOINTS];
    be_projected_gravity(be_mujoco_read_of(b, lane, XMAT), gravity);
    for (int j = 0; j < JOINTS; j++) angles[j] = arrays[MJ_QPOS][7 + j] - pose[j];
    row = be_append_noisy(row, linvel, 3, be_param_of(b, NOISE_LINVEL, lane) * level, rng);
    row = be_append_sensed(b, lane, row, gravity, level, NOISE_GYRO, JOINTS);
    row = be_append_noisy(row, qvel, JOINTS, be_param_of(b, NOISE_JOINT_VEL, lane) * level, rng);
    memcpy(row, MJ_FIELD(b, LAST_ACTION, float, lane), JOINTS * sizeof *row);
    row = be_append_f32(row + JOINTS, MJ_FIELD(b, COMMAND, double, lane), BE_COMMAND);

    row = be_append_f32(row, gyro, 3);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_ACCELEROMETER), 3);
    row = be_append_f32(row, gravity, 3);
    row = be_append_f32(row, linvel, 3);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_GLOBAL_ANGVEL), 3);
    row = be_append_f32(row, angles, JOINTS);
    row = be_append_f32(row, qvel, JOINTS);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_TORQUE), JOINTS);
    for (int k = 0; k < FEET; k++) *row++ = MJ_FIELD(b, AIR_TIME + BE_LAST_CONTACT, uint8_t, lane)[k];
    for (int k = 0; k < FEET; k++) row = be_append_f32(row, be_mujoco_read_of(b, lane, FOOT_VELOCITY + k), 3);
    row = be_append_f32(row, MJ_FIELD(b, AIR_TIME, double, lane), FEET);
    row = be_append_f32(row, force_of(b, lane), 3);
    *row = (float)be_push_acts(push_of(b, lane));
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    be_observe_field(b, lanes, count, rows, LAST_SEEN);
    return BE_OK;
}

/* ---- episodes -------------------------------------------------------------------------------------------- */

static void params_of(const be_batch *b, int64_t lane, int first, int count, double *values) {
    for (int k = 0; k < count; k++) values[k] = be_param_of(b, first + k, lane);
}

/* The force of the next step, which this one's observation has not shown. */
static void push(be_batch *b, int64_t lane) {
    be_push_step(b, lane, PUSHES, push_of(b, lane), be_mujoco_read_of(b, lane, MASS)[0], force_of(b, lane));
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane), *qpos = arrays[MJ_QPOS];
    be_rng *rng = &b->rng[lane];
    be_append(qpos, be_mujoco_read_of(b, lane, BE_HOME), 7 + JOINTS);
    be_scatter(qpos, rng);
    be_scatter_velocities(arrays[MJ_QVEL], JOINTS, rng);
    be_append(arrays[MJ_CTRL], qpos + 7, JOINTS);
    const int status = be_mujoco_begin_controlled(b, lane, error);

    double most[BE_COMMAND];
    params_of(b, lane, MOST, BE_COMMAND, most);
    be_push_start(b, lane, PUSHES, push_of(b, lane));
    be_command_start(MJ_FIELD(b, COMMAND, double, lane), MJ_FIELD(b, COMMAND_STEPS, int32_t, lane), most,
                     be_mujoco_dt(b), rng);
    memset(MJ_FIELD(b, LAST_ACTION, float, lane), 0, JOINTS * sizeof(float));
    be_feet_start(b, lane, AIR_TIME, FEET);
    be_mujoco_clear_info(b, lane, rows);
    see(b, lane);
    push(b, lane);
    return status;
}
MJ_RESET(reset, start)

/* ---- rewards ----------------------------------------------------------------------------------------------- */

/* speed: of the command. */
static void reward_joints(const be_batch *b, int64_t lane, const float *action, double speed, double terms[TERMS]) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *qpos = arrays[MJ_QPOS] + 7, *pose = be_pose_of(b, lane),
                 *torque = be_mujoco_read_of(b, lane, BE_TORQUE);
    const double *ranges = be_mujoco_read_of(b, lane, RANGES) + 2, soft = be_param_of(b, SOFT_LIMIT, lane);
    double beyond = 0, off = 0, away = 0;
    for (int j = 0; j < JOINTS; j++) {
        const double gap = qpos[j] - pose[j];
        beyond += be_beyond(qpos[j], soft * ranges[2 * j], soft * ranges[2 * j + 1]);
        off += gap * gap * (j % 3 == 2 ? 0.1 : 1.0); /* knees may bend */
        away += fabs(gap);
    }
    terms[DOF_POS_LIMITS] = beyond;
    terms[POSE] = be_math.exp(-off);
    terms[STAND_STILL] = speed < 0.01 ? away : 0;
    terms[TORQUES] = be_effort(torque, JOINTS);
    terms[ACTION_RATE] = be_action_rate(action, MJ_FIELD(b, LAST_ACTION, float, lane), NULL, JOINTS);
    terms[ENERGY] = be_power(arrays[MJ_QVEL] + 6, torque, JOINTS);
}

/* What changes after rewards and observations. */
static void end_step(be_batch *b, int64_t lane, const float *action) {
    double most[BE_COMMAND], kept[BE_COMMAND];
    params_of(b, lane, MOST, BE_COMMAND, most);
    params_of(b, lane, KEPT, BE_COMMAND, kept);
    memcpy(MJ_FIELD(b, LAST_ACTION, float, lane), action, JOINTS * sizeof *action);
    be_command_step(MJ_FIELD(b, COMMAND, double, lane), MJ_FIELD(b, COMMAND_STEPS, int32_t, lane), most, kept,
                    be_mujoco_dt(b), &b->rng[lane]);
    push(b, lane);
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    const float *action = MJ_ACTION(b, rows, lane);
    const double speed = sqrt(be_squares(MJ_FIELD(b, COMMAND, double, lane), BE_COMMAND));
    double terms[TERMS];
    const be_feet_sums feet = be_feet_step(b, lane, AIR_TIME, FOUND, FEET, be_param_of(b, FOOT_HEIGHT, lane));
    see(b, lane);
    (void)observe(b, &lane, 1, rows, error);
    be_reward_trunk(b, lane, MJ_FIELD(b, COMMAND, double, lane), be_param_of(b, SIGMA, lane), terms);
    terms[TERMINATION] = be_mujoco_read_of(b, lane, BE_UPVECTOR)[2] < 0;
    reward_joints(b, lane, action, speed, terms);
    terms[FEET_CLEARANCE] = feet.clearance;
    terms[FEET_SLIP] = speed > 0.01 ? feet.slip : 0;
    terms[FEET_HEIGHT] = speed > 0.01 ? feet.height : 0;
    terms[FEET_AIR_TIME] = speed > 0.01 ? feet.air_time : 0;
    be_write_reward(b, lane, rows, terms, TERMS, WEIGHT, TERM_INFO);
    rows->terminated[lane - rows->first] = terms[TERMINATION] != 0;
    MJ_INFO(rows, SWING_PEAK_INFO, lane) = be_feet_end(b, lane, AIR_TIME, FOUND, FEET);
    end_step(b, lane, action);
    return BE_OK;
}

static const be_id ids[] = {
    {"Go1JoystickFlatTerrain-v0", 1000, NULL, {{"task", .text = "flat_terrain"}}},
    {"Go1JoystickRoughTerrain-v0", 1000, NULL, {{"task", .text = "rough_terrain"}}},
    {0},
};
BE_ENV(go1_joystick) = {
    BE_PLAYGROUND_MEMBERS,
    .name = "Go1Joystick",
    .ids = ids,
    .control = control,
};
