/* MuJoCo Playground's Op3Joystick: a Robotis OP3 that follows commands. The names of params and rewards are
 * Playground's, whose task has settings for pushes, too, but never pushes. batchenv/envs/mujoco/playground.py has the
 * model. */
#include "mujoco_locomotion.h"

enum { JOINTS = 20, FEET = 2, SOLES = 2 /* geoms of a foot */, COMMAND_TIME = 500 };
enum { SEEN = 2 * 3 + BE_COMMAND + 2 * JOINTS }; /* numbers of one step that are observed */

/* The parts of the reward: params with their weights, and infos. */
#define FOR_ALL_TERMS(DO)                                                                                              \
    DO(TRACKING_LIN_VEL, "tracking_lin_vel", 1.5, "following the commanded velocity along x and y")                    \
    DO(TRACKING_ANG_VEL, "tracking_ang_vel", 0.8, "following the commanded turning rate")                              \
    DO(LIN_VEL_Z, "lin_vel_z", -2.0, "squared vertical velocity")                                                      \
    DO(ANG_VEL_XY, "ang_vel_xy", -0.05, "squared rates of roll and pitch")                                             \
    DO(ORIENTATION, "orientation", -5.0, "squared tilt")                                                               \
    DO(TORQUES, "torques", -0.0002, "torques of the motors: their norm plus their sum, N m")                           \
    DO(ACTION_RATE, "action_rate", -0.01, "squared changes of the action, and of its changes")                         \
    DO(ZERO_CMD, "zero_cmd", -0.5, "squared action where the command is nearly 0")                                     \
    DO(TERMINATION, "termination", -1.0, "the end of an episode, less than 500 steps after a new command")             \
    DO(FEET_SLIP, "feet_slip", -0.1, "squared speed of feet on the floor")                                             \
    DO(FEET_CLEARANCE, "feet_clearance", 0.0, "squared distance of moving feet from max_foot_height")                  \
    DO(ENERGY, "energy", -0.0001, "power of the motors, W")
#define TERM(name, text, weight, doc) name,
enum { FOR_ALL_TERMS(TERM) TERMS };
#undef TERM

/* clang-format off */
enum {
    ACTION_SCALE = MJ_PARAMS, EARLY, NOISE, HISTORY_SIZE, SIGMA, FOOT_HEIGHT, WEIGHT, RANGE = WEIGHT + TERMS
};
/* clang-format on */
#define WEIGHT_PARAM(name, text, weight, doc) [WEIGHT + (name)] = MJ_WEIGHT("reward_" text, weight, doc),
static const be_param params[] = {
    MJ_SHARED_PARAMS(5),
    [ACTION_SCALE] = MJ_WEIGHT("action_scale", 0.3, "how far an action of 1 moves a joint's target, rad"),
    [EARLY] = {"early_termination", BE_PARAM_BOOL, 1, 0, 1, NULL, "episodes end where the robot falls", 0, 1},
    [NOISE] = MJ_WITHIN("obs_noise", 0.05, 0, 1e6, "noise of all that is observed"),
    [HISTORY_SIZE] = {"obs_history_size", BE_PARAM_INT, 3, 1, 100, NULL, "how many steps are observed"},
    [SIGMA] = MJ_WITHIN("tracking_sigma", 0.25, 1e-9, 1e6, "squared error at which rewards for tracking are 1/e"),
    [FOOT_HEIGHT] = MJ_WITHIN("max_foot_height", 0.07, -1e6, 1e6, "how high feet are to be lifted, m"),
    FOR_ALL_TERMS(WEIGHT_PARAM)[RANGE] = BE_COMMAND_RANGE("lin_vel_x", -0.6, 1.5, "m/s forwards"),
    BE_COMMAND_RANGE("lin_vel_y", -0.8, 0.8, "m/s to the left"),
    BE_COMMAND_RANGE("ang_vel_yaw", -0.7, 0.7, "rad/s"),
    {0},
};

/* ---- ports, state ------------------------------------------------------------------------------------- */

enum { UNSTABLE = MJ_PORTS, TERM_INFO };
#define TERM_PORT(name, text, weight, doc) [TERM_INFO + (name)] = MJ_INFO_STEP("reward/" text, doc),
static const be_port ports[] = {
    MJ_SHARED_PORTS,
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    FOR_ALL_TERMS(TERM_PORT){0},
};

enum { HISTORY = MJ_FIELDS, LAST_ACTION, ACTION_BEFORE, COMMAND, COMMAND_STEP };
static const be_field state[] = {
    MJ_SHARED_STATE,
    [HISTORY] = {"obs_history", BE_F32, SEEN, "the observation: of the last steps, the last first"},
    [LAST_ACTION] = {"last_act", BE_F32, JOINTS, "the last action"},
    [ACTION_BEFORE] = {"last_last_act", BE_F32, JOINTS, "the action before"},
    BE_COMMAND_FIELDS(COMMAND, COMMAND_TIME),
    {0},
};

/* ---- the model ----------------------------------------------------------------------------------------- */

/* Rows of the left foot come before those of the right one. */
enum { TORSO = BE_ROBOT_ROWS, FOUND, FOOT = FOUND + FEET * SOLES, FOOT_VELOCITY = FOOT + FEET };
static const be_read reads[] = {
    BE_ROBOT_READS_OF("", "stand_bent_knees"),
    [TORSO] = {"xpos", "body", "body_link"},
    [FOUND] = {"sensordata", "sensor", "l_foot1_floor_found"},
    {"sensordata", "sensor", "l_foot2_floor_found"},
    {"sensordata", "sensor", "r_foot1_floor_found"},
    {"sensordata", "sensor", "r_foot2_floor_found"},
    [FOOT] = {"site_xpos", "site", "left_foot"},
    {"site_xpos", "site", "right_foot"},
    [FOOT_VELOCITY] = {"sensordata", "sensor", "left_foot_global_linvel"},
    {"sensordata", "sensor", "right_foot_global_linvel"},
    {0},
};

static int prepare(be_setup *setup, be_error *error) {
    if (be_check_robot(setup, reads, JOINTS, error) != BE_OK) return error->status;
    const int64_t joints = JOINTS, size = (int64_t)setup->params[HISTORY_SIZE] * SEEN;
    const int status = be_mujoco_spaces(setup, size, 7 + JOINTS, 6 + JOINTS, error);
    be_space_box(&setup->space[MJ_ACTION_PORT], BE_F32, 1, &joints, -1, 1);
    be_space_box(&setup->space[MJ_OBSERVATION_PORT], BE_F32, 1, &size, -HUGE_VAL, HUGE_VAL);
    setup->field_size[HISTORY] = (int)size;
    return status;
}

static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    be_control_around(b, be_pose_of(b, lane), action, be_param_of(b, ACTION_SCALE, lane), controls);
}

/* ---- observations ---------------------------------------------------------------------------------------- */

/* Puts what the lane shows now, with noise, before what it has shown. */
static void see(be_batch *b, int64_t lane) {
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS] + 7, *pose = be_pose_of(b, lane);
    const float *last = MJ_FIELD(b, LAST_ACTION, float, lane);
    double seen[SEEN], *end = be_append(seen, be_mujoco_read_of(b, lane, BE_GYRO), 3);
    end = be_append(end, be_mujoco_read_of(b, lane, BE_UPVECTOR), 3);
    end = be_append(end, MJ_FIELD(b, COMMAND, double, lane), BE_COMMAND);
    for (int j = 0; j < JOINTS; j++) {
        end[j] = qpos[j] - pose[j];
        end[JOINTS + j] = (double)last[j];
    }
    for (int j = 0; j < SEEN; j++) seen[j] = fmin(fmax(seen[j], -100), 100);
    float *history = MJ_FIELD(b, HISTORY, float, lane);
    memmove(history + SEEN, history, (size_t)(b->field_size[HISTORY] - SEEN) * sizeof *history);
    be_append_noisy(history, seen, SEEN, be_param_of(b, NOISE, lane), &b->rng[lane]);
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    be_observe_field(b, lanes, count, rows, HISTORY);
    return BE_OK;
}

/* ---- episodes -------------------------------------------------------------------------------------------- */

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    be_append(arrays[MJ_QPOS], be_mujoco_read_of(b, lane, BE_HOME), 7 + JOINTS);
    memset(arrays[MJ_QVEL], 0, (6 + JOINTS) * sizeof(double));
    const int status = be_mujoco_begin(b, lane, error);
    be_command_begin(b, lane, COMMAND, RANGE);
    for (int field = HISTORY; field <= ACTION_BEFORE; field++) {
        memset(MJ_FIELD(b, field, float, lane), 0, (size_t)b->field_size[field] * sizeof(float));
    }
    be_mujoco_clear_info(b, lane, rows);
    see(b, lane);
    return status;
}
MJ_RESET(reset, start)

/* ---- rewards ----------------------------------------------------------------------------------------------- */

static int ends(const be_batch *b, int64_t lane) {
    if (be_joints_exceed(b, lane)) return 1;
    if (be_param_of(b, EARLY, lane) == 0) return 0;
    return be_mujoco_read_of(b, lane, BE_UPVECTOR)[2] < 0.85 || be_mujoco_read_of(b, lane, TORSO)[2] < 0.21;
}

static void reward_joints(const be_batch *b, int64_t lane, const float *action, double terms[TERMS]) {
    const double *torque = be_mujoco_read_of(b, lane, BE_TORQUE);
    const int stands = sqrt(be_squares(MJ_FIELD(b, COMMAND, double, lane), BE_COMMAND)) < 0.1;
    double size = 0;
    for (int j = 0; j < JOINTS; j++) size += (double)action[j] * (double)action[j];
    terms[TORQUES] = be_effort(torque, JOINTS);
    terms[ACTION_RATE] =
        be_action_rate(action, MJ_FIELD(b, LAST_ACTION, float, lane), MJ_FIELD(b, ACTION_BEFORE, float, lane), JOINTS);
    terms[ZERO_CMD] = stands ? size : 0;
    terms[ENERGY] = be_power(be_mujoco_arrays(b, lane)[MJ_QVEL] + 6, torque, JOINTS);
}

static void reward_feet(const be_batch *b, int64_t lane, double terms[TERMS]) {
    terms[FEET_SLIP] = terms[FEET_CLEARANCE] = 0;
    for (int k = 0; k < FEET; k++) {
        const double moved = be_squares(be_mujoco_read_of(b, lane, FOOT_VELOCITY + k), 2);
        const double off = be_mujoco_read_of(b, lane, FOOT + k)[2] - be_param_of(b, FOOT_HEIGHT, lane);
        if (be_touches(b, lane, FOUND + k * SOLES, SOLES)) terms[FEET_SLIP] += moved;
        terms[FEET_CLEARANCE] += off * off * sqrt(sqrt(moved));
    }
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    const float *action = MJ_ACTION(b, rows, lane);
    const int32_t command_step = MJ_FIELD(b, COMMAND_STEP, int32_t, lane)[0];
    double terms[TERMS];
    see(b, lane);
    (void)observe(b, &lane, 1, rows, error);
    const int over = ends(b, lane);
    be_reward_trunk(b, lane, MJ_FIELD(b, COMMAND, double, lane), be_param_of(b, SIGMA, lane), terms);
    reward_joints(b, lane, action, terms);
    reward_feet(b, lane, terms);
    terms[TERMINATION] = over && command_step < COMMAND_TIME;
    be_write_reward(b, lane, rows, terms, TERMS, WEIGHT, TERM_INFO);
    rows->terminated[lane - rows->first] = over;
    be_keep_actions(b, lane, LAST_ACTION, action);
    be_command_keep(b, lane, COMMAND, RANGE, COMMAND_TIME);
    return BE_OK;
}

BE_ENV(op3_joystick) = {
    BE_PLAYGROUND_MEMBERS,
    .name = "Op3Joystick",
    .ids = MJ_ID("Op3Joystick-v0", 1000, NULL),
    .control = control,
};
