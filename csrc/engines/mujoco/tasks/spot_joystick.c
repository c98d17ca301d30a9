/* MuJoCo Playground's SpotFlatTerrainJoystick: a Spot that follows commands. The names of params and rewards are
 * Playground's. batchenv/envs/mujoco/playground.py has the model. */
#include "mujoco_quadruped.h"

enum { JOINTS = 12, FEET = 4, COMMAND_TIME = 200 };

/* The parts of the reward: params with their weights, and infos. */
#define FOR_ALL_TERMS(DO)                                                                                              \
    DO(TRACKING_LIN_VEL, "tracking_lin_vel", 1.5, "following the commanded velocity along x and y")                    \
    DO(TRACKING_ANG_VEL, "tracking_ang_vel", 0.8, "following the commanded turning rate")                              \
    DO(LIN_VEL_Z, "lin_vel_z", -2.0, "squared vertical velocity")                                                      \
    DO(ANG_VEL_XY, "ang_vel_xy", -0.05, "squared rates of roll and pitch")                                             \
    DO(ORIENTATION, "orientation", -5.0, "squared tilt")                                                               \
    DO(TERMINATION, "termination", -1.0, "falling")                                                                    \
    DO(POSTURE, "posture", 1.0, "being near the pose of the keyframe home, where the command is 0")                    \
    DO(TORQUES, "torques", -0.0002, "torques of the motors: their norm plus their sum, N m")                           \
    DO(ACTION_RATE, "action_rate", -0.01, "squared changes of the action, and of its changes")                         \
    DO(ENERGY, "energy", -0.001, "power of the motors, W")                                                             \
    DO(FEET_SLIP, "feet_slip", -0.1, "squared speed of feet on the floor")                                             \
    DO(FEET_CLEARANCE, "feet_clearance", -2.0, "distance of moving feet from max_foot_height")                         \
    DO(FEET_HEIGHT, "feet_height", -0.1, "squared relative error of how high feet were, when they touch down")         \
    DO(FEET_AIR_TIME, "feet_air_time", 0.1, "how long feet were in the air, when they touch down")
#define TERM(name, text, weight, doc) name,
enum { FOR_ALL_TERMS(TERM) TERMS };
#undef TERM

/* clang-format off */
enum {
    ACTION_SCALE = MJ_PARAMS, EARLY, HISTORY_LEN,
    NOISE_GYRO, NOISE_GRAVITY, NOISE_JOINT_POS, NOISE_FEET_POS, SIGMA = NOISE_FEET_POS + 3, FOOT_HEIGHT, WEIGHT,
    PUSHES = WEIGHT + TERMS, RANGE = PUSHES + BE_PUSH_COUNT
};
/* clang-format on */
#define WEIGHT_PARAM(name, text, weight, doc) [WEIGHT + (name)] = MJ_WEIGHT("reward_" text, weight, doc),
static const be_param params[] = {
    MJ_SHARED_PARAMS(5),
    [ACTION_SCALE] = MJ_WEIGHT("action_scale", 0.3, "how far an action of 1 moves a joint's target, rad"),
    [EARLY] = {"early_termination", BE_PARAM_BOOL, 1, 0, 1, NULL, "episodes end where the robot tilts", 0, 1},
    [HISTORY_LEN] = {"history_len", BE_PARAM_INT, 3, 1, 100, NULL, "how many errors of joints are observed"},
    [NOISE_JOINT_POS] = BE_NOISE("joint_pos", 0.05, "rad"),
    [NOISE_GYRO] = BE_NOISE("gyro", 0.1, "rad/s"),
    [NOISE_GRAVITY] = BE_NOISE("gravity", 0.03, "of a vector of length 1"),
    [NOISE_FEET_POS] = BE_NOISE("feet_pos_x", 0.01, "m"),
    [NOISE_FEET_POS + 1] = BE_NOISE("feet_pos_y", 0.005, "m"),
    [NOISE_FEET_POS + 2] = BE_NOISE("feet_pos_z", 0.02, "m"),
    [SIGMA] = MJ_WITHIN("tracking_sigma", 0.25, 1e-9, 1e6, "squared error at which rewards for tracking are 1/e"),
    [FOOT_HEIGHT] = MJ_WITHIN("max_foot_height", 0.12, 1e-9, 1e6, "how high feet are to be lifted, m"),
    FOR_ALL_TERMS(WEIGHT_PARAM) BE_PUSH_PARAMS(PUSHES),
    [RANGE] = BE_COMMAND_RANGE("lin_vel_x", -1.0, 1.0, "m/s forwards"),
    BE_COMMAND_RANGE("lin_vel_y", -0.8, 0.8, "m/s to the left"),
    BE_COMMAND_RANGE("ang_vel_yaw", -1.0, 1.0, "rad/s"),
    {0},
};

/* ---- ports, state ------------------------------------------------------------------------------------- */

enum { STATE = MJ_OBSERVATION_PORT, PRIVILEGED = MJ_PORTS, UNSTABLE, SWING_PEAK_INFO, TERM_INFO };
#define TERM_PORT(name, text, weight, doc) [TERM_INFO + (name)] = MJ_INFO_STEP("reward/" text, doc),
static const be_port ports[] = {
    [MJ_ACTION_PORT] = {"", BE_ACTION},
    [STATE] = {"state", BE_OBSERVATION},
    [PRIVILEGED] = {"privileged_state", BE_OBSERVATION},
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    [SWING_PEAK_INFO] = MJ_INFO_STEP("swing_peak", "mean over the feet, m"),
    FOR_ALL_TERMS(TERM_PORT){0},
};

enum {
    LAST_SEEN = MJ_FIELDS,
    HISTORY,
    LAST_ACTION,
    ACTION_BEFORE,
    COMMAND,
    AIR_TIME = COMMAND + 2,
    PUSH = AIR_TIME + BE_FEET_FIELD_COUNT
};
static const be_field state[] = {
    MJ_SHARED_STATE,
    [LAST_SEEN] = {"last_observation", BE_F32, 1, "the last privileged_state, which begins with the state"},
    [HISTORY] = {"qpos_error_history", BE_F32, JOINTS, "joints less their targets, the last first, rad"},
    [LAST_ACTION] = {"last_act", BE_F32, JOINTS, "the last action"},
    [ACTION_BEFORE] = {"last_last_act", BE_F32, JOINTS, "the action before"},
    BE_COMMAND_FIELDS(COMMAND, COMMAND_TIME),
    BE_FEET_FIELDS(AIR_TIME, FEET),
    [PUSH] = BE_PUSH_FIELD,
    {0},
};
static be_push *push_of(const be_batch *b, int64_t lane) { return (be_push *)b->state[PUSH] + lane; }

/* ---- the model ----------------------------------------------------------------------------------------- */

/* Rows of one foot each follow each other in the order FL, FR, HL, HR. */
enum { MASS = BE_ROBOT_ROWS, FOUND, FOOT = FOUND + FEET, FOOT_VELOCITY = FOOT + FEET, FOOT_POS = FOOT_VELOCITY + FEET };
static const be_read reads[] = {
    BE_ROBOT_READS,
    [MASS] = {"model.body_subtreemass", "body", "body"},
    [FOUND] = {"sensordata", "sensor", "FL_floor_found"},
    {"sensordata", "sensor", "FR_floor_found"},
    {"sensordata", "sensor", "HL_floor_found"},
    {"sensordata", "sensor", "HR_floor_found"},
    [FOOT] = {"site_xpos", "site", "FL"},
    {"site_xpos", "site", "FR"},
    {"site_xpos", "site", "HL"},
    {"site_xpos", "site", "HR"},
    [FOOT_VELOCITY] = {"sensordata", "sensor", "FL_global_linvel"},
    {"sensordata", "sensor", "FR_global_linvel"},
    {"sensordata", "sensor", "HL_global_linvel"},
    {"sensordata", "sensor", "HR_global_linvel"},
    [FOOT_POS] = {"sensordata", "sensor", "FL_pos"},
    {"sensordata", "sensor", "FR_pos"},
    {"sensordata", "sensor", "HL_pos"},
    {"sensordata", "sensor", "HR_pos"},
    {0},
};

static int prepare(be_setup *setup, be_error *error) {
    if (be_check_robot(setup, reads, JOINTS, error) != BE_OK) return error->status;
    const int64_t joints = JOINTS, history = (int64_t)setup->params[HISTORY_LEN] * JOINTS;
    const int64_t seen = 2 * 3 + JOINTS + history + 3 * FEET + JOINTS + BE_COMMAND;
    const int64_t all = seen + 5 * 3 + JOINTS + 3 * FEET + 2 * JOINTS + FEET + 3 * FEET + FEET + 3;
    const int status = be_mujoco_spaces(setup, seen, 7 + JOINTS, 6 + JOINTS, error);
    be_space_box(&setup->space[MJ_ACTION_PORT], BE_F32, 1, &joints, -1, 1);
    be_space_box(&setup->space[STATE], BE_F32, 1, &seen, -HUGE_VAL, HUGE_VAL);
    be_space_box(&setup->space[PRIVILEGED], BE_F32, 1, &all, -HUGE_VAL, HUGE_VAL);
    setup->field_size[HISTORY] = (int)history;
    setup->field_size[LAST_SEEN] = (int)all;
    return status;
}

/* The force on the trunk, N. */
static double *force_of(const be_batch *b, int64_t lane) {
    return be_mujoco_push_of(b, lane, be_mujoco_of(b)->reads[MASS].first[0]);
}

static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    be_control_around(b, be_pose_of(b, lane), action, be_param_of(b, ACTION_SCALE, lane), controls);
}

/* ---- observations ---------------------------------------------------------------------------------------- */

/* Computes the lane's observation, which draws its noise. targets: of the joints. */
static void see(be_batch *b, int64_t lane, const double targets[JOINTS]) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *qpos = arrays[MJ_QPOS] + 7, *pose = be_pose_of(b, lane), *gyro = be_mujoco_read_of(b, lane, BE_GYRO);
    const double *up = be_mujoco_read_of(b, lane, BE_UPVECTOR);
    be_rng *rng = &b->rng[lane];
    float *row = MJ_FIELD(b, LAST_SEEN, float, lane);
    double angles[JOINTS], wanted[JOINTS], feet[FEET][3];
    for (int j = 0; j < JOINTS; j++) angles[j] = qpos[j] - pose[j], wanted[j] = targets[j] - pose[j];
    for (int k = 0; k < FEET; k++) memcpy(feet[k], be_mujoco_read_of(b, lane, FOOT_POS + k), sizeof feet[k]);

    row = be_append_sensed(b, lane, row, up, 1, NOISE_GYRO, JOINTS);
    row = be_append_errors(b, lane, row, HISTORY, row - JOINTS, wanted, JOINTS);
    for (int k = 0; k < FEET; k++) { /* one random number for the three coordinates of a foot, as in Playground */
        const double drawn = 2 * be_rng_double(rng) - 1;
        for (int j = 0; j < 3; j++) *row++ = (float)(feet[k][j] + drawn * be_param_of(b, NOISE_FEET_POS + j, lane));
    }
    memcpy(row, MJ_FIELD(b, LAST_ACTION, float, lane), JOINTS * sizeof *row);
    row = be_append_f32(row + JOINTS, MJ_FIELD(b, COMMAND, double, lane), BE_COMMAND);

    row = be_append_f32(row, gyro, 3);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_ACCELEROMETER), 3);
    row = be_append_f32(row, up, 3);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_LINVEL), 3);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_GLOBAL_ANGVEL), 3);
    row = be_append_f32(row, angles, JOINTS);
    row = be_append_f32(row, feet[0], 3 * FEET);
    row = be_append_f32(row, arrays[MJ_QVEL] + 6, JOINTS);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_TORQUE), JOINTS);
    for (int k = 0; k < FEET; k++) *row++ = MJ_FIELD(b, AIR_TIME + BE_LAST_CONTACT, uint8_t, lane)[k];
    for (int k = 0; k < FEET; k++) row = be_append_f32(row, be_mujoco_read_of(b, lane, FOOT_VELOCITY + k), 3);
    row = be_append_f32(row, MJ_FIELD(b, AIR_TIME, double, lane), FEET);
    be_append_f32(row, force_of(b, lane), 3);
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    be_observe_field(b, lanes, count, rows, LAST_SEEN);
    return BE_OK;
}

/* ---- episodes -------------------------------------------------------------------------------------------- */

/* The force of the next step, which this one's observation has not shown. */
static void push(be_batch *b, int64_t lane) {
    be_push_step(b, lane, PUSHES, push_of(b, lane), be_mujoco_read_of(b, lane, MASS)[0], force_of(b, lane));
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane), *qpos = arrays[MJ_QPOS];
    be_append(qpos, be_mujoco_read_of(b, lane, BE_HOME), 7 + JOINTS);
    memset(arrays[MJ_QVEL], 0, (6 + JOINTS) * sizeof(double));
    be_append(arrays[MJ_CTRL], qpos + 7, JOINTS);
    const int status = be_mujoco_begin_controlled(b, lane, error);

    be_push_start(b, lane, PUSHES, push_of(b, lane));
    be_command_begin(b, lane, COMMAND, RANGE);
    for (int field = HISTORY; field <= ACTION_BEFORE; field++) {
        memset(MJ_FIELD(b, field, float, lane), 0, (size_t)b->field_size[field] * sizeof(float));
    }
    be_feet_start(b, lane, AIR_TIME, FEET);
    be_mujoco_clear_info(b, lane, rows);
    see(b, lane, (const double[JOINTS]){0}); /* there are no targets yet */
    push(b, lane);
    return status;
}
MJ_RESET(reset, start)

/* ---- rewards ----------------------------------------------------------------------------------------------- */

/* stands: whether the command is 0. */
static void reward_joints(const be_batch *b, int64_t lane, const float *action, int stands, double terms[TERMS]) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *torque = be_mujoco_read_of(b, lane, BE_TORQUE);
    const float *last = MJ_FIELD(b, LAST_ACTION, float, lane), *before = MJ_FIELD(b, ACTION_BEFORE, float, lane);
    const double off = be_squared_distance(arrays[MJ_QPOS] + 7, be_pose_of(b, lane), JOINTS);
    terms[POSTURE] = stands ? be_math.exp(-10 * off) : 1;
    terms[TORQUES] = be_effort(torque, JOINTS);
    terms[ACTION_RATE] = be_action_rate(action, last, before, JOINTS);
    terms[ENERGY] = be_power(arrays[MJ_QVEL] + 6, torque, JOINTS);
}

/* What changes after rewards and observations. */
static void end_step(be_batch *b, int64_t lane, const float *action) {
    be_keep_actions(b, lane, LAST_ACTION, action);
    be_command_keep(b, lane, COMMAND, RANGE, COMMAND_TIME);
    push(b, lane);
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    const float *action = MJ_ACTION(b, rows, lane);
    const int stands = sqrt(be_squares(MJ_FIELD(b, COMMAND, double, lane), BE_COMMAND)) < 0.01;
    double terms[TERMS], targets[JOINTS];
    const be_feet_sums feet = be_feet_step(b, lane, AIR_TIME, FOUND, FEET, be_param_of(b, FOOT_HEIGHT, lane));
    control(b, lane, action, targets);
    see(b, lane, targets);
    (void)observe(b, &lane, 1, rows, error);
    be_reward_trunk(b, lane, MJ_FIELD(b, COMMAND, double, lane), be_param_of(b, SIGMA, lane), terms);
    terms[TERMINATION] = be_mujoco_read_of(b, lane, BE_UPVECTOR)[2] < 0.85 && be_param_of(b, EARLY, lane) != 0;
    reward_joints(b, lane, action, stands, terms);
    terms[FEET_SLIP] = feet.slip;
    terms[FEET_CLEARANCE] = feet.clearance;
    terms[FEET_HEIGHT] = stands ? 0 : feet.height;
    terms[FEET_AIR_TIME] = stands ? 0 : feet.air_time;
    be_write_reward(b, lane, rows, terms, TERMS, WEIGHT, TERM_INFO);
    rows->terminated[lane - rows->first] = terms[TERMINATION] != 0;
    MJ_INFO(rows, SWING_PEAK_INFO, lane) = be_feet_end(b, lane, AIR_TIME, FOUND, FEET);
    end_step(b, lane, action);
    return BE_OK;
}

BE_ENV(spot_joystick) = {
    BE_PLAYGROUND_MEMBERS,
    .name = "SpotJoystick",
    .ids = MJ_ID("SpotFlatTerrainJoystick-v0", 1000, NULL),
    .control = control,
};
