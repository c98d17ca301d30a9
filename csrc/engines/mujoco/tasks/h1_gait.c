/* MuJoCo Playground's H1InplaceGaitTracking and H1JoystickGaitTracking: an H1 that steps or jumps at a given frequency,
 * on the spot or following commands. The names of params and rewards are Playground's.
 * batchenv/envs/mujoco/playground.py has the model. */
#include "mujoco_gait.h"

enum { JOINTS = 19, FEET = BE_LEGS, SOLES = 3 /* geoms of a foot */, COMMAND_TIME = 500 };
enum { INPLACE, JOYSTICK }; /* variants */

/* The parts of the reward: params with their weights, and infos. Those of JOYSTICK begin as be_reward_trunk's. */
#define FOR_INPLACE_TERMS(DO)                                                                                          \
    DO(FEET_PHASE, "feet_phase", 2.0, "feet being as high as their phases say")                                        \
    DO(POSE, "pose", -0.5, "squared distance of most joints from the pose of the keyframe home")                       \
    DO(ANG_VEL, "ang_vel", -0.5, "squared angular velocity")                                                           \
    DO(LIN_VEL, "lin_vel", -0.5, "squared horizontal velocity")
#define FOR_JOYSTICK_TERMS(DO)                                                                                         \
    DO(TRACKING_LIN_VEL, "tracking_lin_vel", 3.5, "following the commanded velocity along x and y")                    \
    DO(TRACKING_ANG_VEL, "tracking_ang_vel", 0.75, "following the commanded turning rate")                             \
    DO(LIN_VEL_Z, "lin_vel_z", 0.0, "squared vertical velocity, in other gaits than walking")                          \
    DO(ANG_VEL_XY, "ang_vel_xy", 0.0, "squared rates of roll and pitch")                                               \
    DO(JOYSTICK_PHASE, "feet_phase", 5.0, "feet being as high as their phases say")                                    \
    DO(JOYSTICK_POSE, "pose", -2.5, "squared distance of most joints from the pose of the keyframe home")              \
    DO(FEET_AIR_TIME, "feet_air_time", 0.0, "how long feet were in the air, when they touch down")                     \
    DO(FOOT_SLIP, "foot_slip", 0.0, "squared speed of feet on the floor")                                              \
    DO(ACTION_RATE, "action_rate", -0.01, "squared change of the last action, and of its change")
#define TERM(name, text, weight, doc) name,
enum { FOR_INPLACE_TERMS(TERM) INPLACE_TERMS };
enum { FOR_JOYSTICK_TERMS(TERM) JOYSTICK_TERMS };
#undef TERM

/* clang-format off */
enum {
    ACTION_SCALE = MJ_PARAMS, EARLY, HISTORY_LEN,
    NOISE_LEVEL, NOISE_JOINT_POS, NOISE_JOINT_VEL, NOISE_GYRO, NOISE_GRAVITY,
    FREQUENCY, GAITS = FREQUENCY + 2, HEIGHT, WEIGHT = HEIGHT + 2,
    SIGMA = WEIGHT + JOYSTICK_TERMS, RANGE, LIN_VEL_LEAST = RANGE + 2 * BE_COMMAND, ANG_VEL_LEAST /* of JOYSTICK only */
};
/* clang-format on */
#define SHARED_PARAMS(scale, history, noise, fastest, gaits)                                                           \
    MJ_SHARED_PARAMS(5),                                                                                               \
        [ACTION_SCALE] = MJ_WEIGHT("action_scale", scale, "how far an action of 1 moves a joint's target, rad"),       \
        [EARLY] = {"early_termination", BE_PARAM_BOOL, 1, 0, 1, NULL, "episodes end where the robot tilts", 0, 1},     \
        [HISTORY_LEN] = {"history_len",                                                                                \
                         BE_PARAM_INT,                                                                                 \
                         history,                                                                                      \
                         1,                                                                                            \
                         100,                                                                                          \
                         NULL,                                                                                         \
                         "how many steps' velocities and errors of joints are observed"},                              \
        [NOISE_LEVEL] = BE_NOISE("level", noise, "factor of all of it; 0: none"),                                      \
        [NOISE_JOINT_POS] = BE_NOISE("joint_pos", 0.01, "rad"),                                                        \
        [NOISE_JOINT_VEL] = BE_NOISE("joint_vel", 1.5, "rad/s"), [NOISE_GYRO] = BE_NOISE("gyro", 0.2, "rad/s"),        \
        [NOISE_GRAVITY] = BE_NOISE("gravity", 0.05, "of a vector of length 1"),                                        \
        [FREQUENCY] = MJ_WITHIN("gait_frequency_min", 0.5, -1e3, 1e3, "least frequency of the gait, Hz"),              \
        [FREQUENCY + 1] = MJ_WITHIN("gait_frequency_max", fastest, -1e3, 1e3, "largest frequency of the gait, Hz"),    \
        [GAITS] = {"gaits", BE_PARAM_INT, gaits, 1, 2, NULL, "1: episodes of walking; 2: of walking or jumping"},      \
        [HEIGHT] = MJ_WITHIN("foot_height_min", 0.08, -1e6, 1e6, "how high feet are to be lifted at least, m"),        \
        [HEIGHT + 1] = MJ_WITHIN("foot_height_max", 0.4, -1e6, 1e6, "how high feet are to be lifted at most, m")
#define WEIGHT_PARAM(name, text, weight, doc) [WEIGHT + (name)] = MJ_WEIGHT("reward_" text, weight, doc),
static const be_param inplace_params[] = {
    SHARED_PARAMS(0.6, 3, 1.0, 4.0, 2),
    FOR_INPLACE_TERMS(WEIGHT_PARAM){0},
};
static const be_param joystick_params[] = {
    SHARED_PARAMS(0.3, 1, 0.6, 2.0, 1),
    FOR_JOYSTICK_TERMS(WEIGHT_PARAM)[SIGMA] =
        MJ_WITHIN("tracking_sigma", 0.5, 1e-9, 1e6, "squared error at which rewards for tracking are 1/e"),
    [RANGE] = BE_COMMAND_RANGE("lin_vel_x", -1.5, 1.5, "m/s forwards"),
    BE_COMMAND_RANGE("lin_vel_y", -0.5, 0.5, "m/s to the left"),
    BE_COMMAND_RANGE("ang_vel_yaw", -1.0, 1.0, "rad/s"),
    [LIN_VEL_LEAST] = MJ_WITHIN("command_lin_vel_threshold", 0.1, 0, 1e6, "slower commands become 0, m/s"),
    [ANG_VEL_LEAST] = MJ_WITHIN("command_ang_vel_threshold", 0.1, 0, 1e6, "slower commands become 0, rad/s"),
    {0},
};

/* ---- ports, state ------------------------------------------------------------------------------------- */

enum { UNSTABLE = MJ_PORTS, TERM_INFO };
#define TERM_PORT(name, text, weight, doc) [TERM_INFO + (name)] = MJ_INFO_STEP("reward/" text, doc),
static const be_port inplace_ports[] = {
    MJ_SHARED_PORTS,
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    FOR_INPLACE_TERMS(TERM_PORT){0},
};
static const be_port joystick_ports[] = {
    MJ_SHARED_PORTS,
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    FOR_JOYSTICK_TERMS(TERM_PORT){0},
};

/* clang-format off */
enum {
    LAST_SEEN = MJ_FIELDS, LAST_ACTION, ACTION_BEFORE, QVEL_HISTORY, ERROR_HISTORY, TARGETS,
    PHASE, GAIT_FREQ = PHASE + BE_GAIT_FIELD_COUNT, GAIT, FOOT_HEIGHT,
    COMMAND, COMMAND_STEP, AIR_TIME, LAST_CONTACT /* of JOYSTICK only */
};
/* clang-format on */
#define SHARED_STATE                                                                                                   \
    MJ_SHARED_STATE, [LAST_SEEN] = {"last_observation", BE_F32, 1, "the last observation"},                            \
                     [LAST_ACTION] = {"last_act", BE_F32, JOINTS, "the last action"},                                  \
                     [ACTION_BEFORE] = {"last_last_act", BE_F32, JOINTS, "the action before"},                         \
                     [QVEL_HISTORY] = {"qvel_history", BE_F32, JOINTS, "velocities of joints, the last first, rad/s"}, \
                     [ERROR_HISTORY] = {"qpos_error_history", BE_F32, JOINTS,                                          \
                                        "joints less their targets, the last first, rad"},                             \
                     [TARGETS] = {"motor_targets", BE_F64, JOINTS, "the joints' targets, rad"},                        \
                     BE_GAIT_FIELDS(PHASE), [GAIT_FREQ] = {"gait_freq", BE_F64, 1, "of this episode, Hz"},             \
                     [GAIT] = {"gait", BE_I32, 1, "of this episode: 0, walking; 1, jumping", 0, 1},                    \
                     [FOOT_HEIGHT] = {"foot_height", BE_F64, 1, "how high feet are to be lifted in this episode, m"}
static const be_field inplace_state[] = {SHARED_STATE, {0}};
static const be_field joystick_state[] = {
    SHARED_STATE,
    BE_COMMAND_FIELDS(COMMAND, COMMAND_TIME),
    [AIR_TIME] = {"feet_air_time", BE_F64, FEET, "since each foot has left the floor, s"},
    [LAST_CONTACT] = {"last_contact", BE_BOOL, FEET, "whether each foot was on the floor"},
    {0},
};

/* ---- the model ----------------------------------------------------------------------------------------- */

/* Rows of the left foot come before those of the right one. */
enum { POSITION = BE_ROBOT_ROWS, FORWARD, FOUND, FOOT = FOUND + FEET * SOLES, FOOT_VELOCITY = FOOT + FEET };
static const be_read reads[] = {
    BE_ROBOT_READS,
    [POSITION] = {"sensordata", "sensor", "position"},
    [FORWARD] = {"sensordata", "sensor", "forwardvector"},
    [FOUND] = {"sensordata", "sensor", "left_foot1_floor_found"},
    {"sensordata", "sensor", "left_foot2_floor_found"},
    {"sensordata", "sensor", "left_foot3_floor_found"},
    {"sensordata", "sensor", "right_foot1_floor_found"},
    {"sensordata", "sensor", "right_foot2_floor_found"},
    {"sensordata", "sensor", "right_foot3_floor_found"},
    [FOOT] = {"site_xpos", "site", "left_foot"},
    {"site_xpos", "site", "right_foot"},
    [FOOT_VELOCITY] = {"sensordata", "sensor", "left_foot_global_linvel"},
    {"sensordata", "sensor", "right_foot_global_linvel"},
    {0},
};

/* command: how many numbers of it are observed. */
static int prepare_for(be_setup *setup, int64_t command, be_error *error) {
    if (be_check_robot(setup, reads, JOINTS, error) != BE_OK) return error->status;
    const int64_t joints = JOINTS, history = (int64_t)setup->params[HISTORY_LEN] * JOINTS;
    const int64_t size = 2 * 3 + 3 * JOINTS + command + 2 * history + FEET + 2 * BE_LEGS + 3;
    const int status = be_mujoco_spaces(setup, size, 7 + JOINTS, 6 + JOINTS, error);
    be_space_box(&setup->space[MJ_ACTION_PORT], BE_F32, 1, &joints, -1, 1);
    be_space_box(&setup->space[MJ_OBSERVATION_PORT], BE_F32, 1, &size, -HUGE_VAL, HUGE_VAL);
    setup->field_size[LAST_SEEN] = (int)size;
    setup->field_size[QVEL_HISTORY] = setup->field_size[ERROR_HISTORY] = (int)history;
    return status;
}
static int prepare_inplace(be_setup *setup, be_error *error) { return prepare_for(setup, 0, error); }
static int prepare_joystick(be_setup *setup, be_error *error) { return prepare_for(setup, BE_COMMAND, error); }

/* With commands, actions move the targets on from where they are; at first, as in Playground, that is 0. */
static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    const double *centre = b->type->variant == JOYSTICK ? MJ_FIELD(b, TARGETS, double, lane) : be_pose_of(b, lane);
    be_control_around(b, centre, action, be_param_of(b, ACTION_SCALE, lane), controls);
}

/* ---- observations ---------------------------------------------------------------------------------------- */

/* Whether feet are on the floor, at a reset. */
static void touch(const be_batch *b, int64_t lane, int contact[FEET]) {
    for (int k = 0; k < FEET; k++) contact[k] = be_touches(b, lane, FOUND + k * SOLES, SOLES);
}

/* What Playground takes for that in steps. It reads other sensors: it has the numbers of the contacts' sensors, but
 * uses them as if they were the places of their values. */
static void mistake(const be_batch *b, int64_t lane, int contact[FEET]) {
    const double *up = be_mujoco_read_of(b, lane, BE_UPVECTOR), *forward = be_mujoco_read_of(b, lane, FORWARD);
    contact[0] = be_mujoco_read_of(b, lane, POSITION)[2] > 0 || up[0] > 0 || up[1] > 0;
    contact[1] = up[2] > 0 || forward[0] > 0 || forward[1] > 0;
}

static float *append_history(const be_batch *b, int64_t lane, int field, const double values[JOINTS], float *row) {
    const int64_t size = b->field_size[field];
    float *history = MJ_FIELD(b, field, float, lane);
    memmove(history + JOINTS, history, (size_t)(size - JOINTS) * sizeof *history);
    be_append_f32(history, values, JOINTS);
    memcpy(row, history, (size_t)size * sizeof *row);
    return row + size;
}

/* Computes the lane's observation, which draws its noise. */
static void see(be_batch *b, int64_t lane, const int contact[FEET]) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *qpos = arrays[MJ_QPOS] + 7, *qvel = arrays[MJ_QVEL] + 6, *pose = be_pose_of(b, lane);
    const double *targets = MJ_FIELD(b, TARGETS, double, lane), level = be_param_of(b, NOISE_LEVEL, lane);
    float *row = MJ_FIELD(b, LAST_SEEN, float, lane);
    be_rng *rng = &b->rng[lane];
    double angles[JOINTS], errors[JOINTS];
    for (int j = 0; j < JOINTS; j++) {
        angles[j] = qpos[j] - pose[j];
        errors[j] = qpos[j] - targets[j];
    }
    row = be_append_noisy(row, be_mujoco_read_of(b, lane, BE_GYRO), 3, be_param_of(b, NOISE_GYRO, lane) * level, rng);
    row = be_append_noisy(row, be_mujoco_read_of(b, lane, BE_UPVECTOR), 3, be_param_of(b, NOISE_GRAVITY, lane) * level,
                          rng);
    row = be_append_noisy(row, angles, JOINTS, be_param_of(b, NOISE_JOINT_POS, lane) * level, rng);
    row = be_append_noisy(row, qvel, JOINTS, be_param_of(b, NOISE_JOINT_VEL, lane) * level, rng);
    memcpy(row, MJ_FIELD(b, LAST_ACTION, float, lane), JOINTS * sizeof *row);
    row += JOINTS;
    if (b->type->variant == JOYSTICK) row = be_append_f32(row, MJ_FIELD(b, COMMAND, double, lane), BE_COMMAND);
    row = append_history(b, lane, QVEL_HISTORY, qvel, row); /* without noise, as in Playground */
    row = append_history(b, lane, ERROR_HISTORY, errors, row);
    for (int k = 0; k < FEET; k++) *row++ = (float)contact[k];
    row = be_append_gait(b, lane, PHASE, row);
    *row++ = (float)MJ_FIELD(b, GAIT_FREQ, double, lane)[0];
    *row++ = (float)MJ_FIELD(b, GAIT, int32_t, lane)[0];
    *row = (float)MJ_FIELD(b, FOOT_HEIGHT, double, lane)[0];
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    be_observe_field(b, lanes, count, rows, LAST_SEEN);
    return BE_OK;
}

/* ---- episodes -------------------------------------------------------------------------------------------- */

static void draw_command(be_batch *b, int64_t lane) {
    double *command = MJ_FIELD(b, COMMAND, double, lane);
    be_command_draw(b, lane, RANGE, 0, command);
    for (int j = 0; j < BE_COMMAND; j++) {
        if (fabs(command[j]) < be_param_of(b, j < 2 ? LIN_VEL_LEAST : ANG_VEL_LEAST, lane)) command[j] = 0;
    }
    MJ_FIELD(b, COMMAND_STEP, int32_t, lane)[0] = 0;
}
static void keep_command(be_batch *b, int64_t lane) {
    int32_t *step = MJ_FIELD(b, COMMAND_STEP, int32_t, lane);
    if (*step < COMMAND_TIME) {
        *step += 1;
    } else {
        draw_command(b, lane);
    }
}

static void draw_gait(be_batch *b, int64_t lane) {
    const double frequency = be_draw_between(b, lane, FREQUENCY);
    const int gait = be_rng_double(&b->rng[lane]) * be_param_of(b, GAITS, lane) >= 1;
    MJ_FIELD(b, GAIT_FREQ, double, lane)[0] = frequency;
    MJ_FIELD(b, PHASE + BE_PHASE_DT, double, lane)[0] = 2 * M_PI * be_mujoco_dt(b) * frequency;
    MJ_FIELD(b, GAIT, int32_t, lane)[0] = gait;
    MJ_FIELD(b, PHASE, double, lane)[0] = 0;
    MJ_FIELD(b, PHASE, double, lane)[1] = gait ? 0 : M_PI;
    MJ_FIELD(b, FOOT_HEIGHT, double, lane)[0] = be_draw_between(b, lane, HEIGHT);
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    be_append(arrays[MJ_QPOS], be_mujoco_read_of(b, lane, BE_HOME), 7 + JOINTS);
    memset(arrays[MJ_QVEL], 0, (6 + JOINTS) * sizeof(double));
    const int status = be_mujoco_begin(b, lane, error);
    draw_gait(b, lane);
    for (int field = LAST_ACTION; field <= ERROR_HISTORY; field++) {
        memset(MJ_FIELD(b, field, float, lane), 0, (size_t)b->field_size[field] * sizeof(float));
    }
    memset(MJ_FIELD(b, TARGETS, double, lane), 0, JOINTS * sizeof(double));
    if (b->type->variant == JOYSTICK) {
        draw_command(b, lane);
        memset(MJ_FIELD(b, AIR_TIME, double, lane), 0, FEET * sizeof(double));
        memset(MJ_FIELD(b, LAST_CONTACT, uint8_t, lane), 0, FEET);
    }
    be_mujoco_clear_info(b, lane, rows);
    int contact[FEET];
    touch(b, lane, contact);
    see(b, lane, contact);
    return status;
}
MJ_RESET(reset, start)

/* ---- rewards ----------------------------------------------------------------------------------------------- */

/* sharpness: the squared error at which it is 1/e, m^2. */
static double reward_phase(const be_batch *b, int64_t lane, double sharpness) {
    const double height = MJ_FIELD(b, FOOT_HEIGHT, double, lane)[0];
    return be_tracking(be_gait_error(b, lane, PHASE, FOOT, height), sharpness);
}

static double cost_pose(const be_batch *b, int64_t lane) {
    static const double weights[JOINTS] = {5, 5, 0, 0, 5, 5, 5, 0, 0, 5, 2, 1, 1, 1, 1, 1, 1, 1, 1};
    return be_pose_cost(be_mujoco_arrays(b, lane)[MJ_QPOS] + 7, be_pose_of(b, lane), weights, JOINTS);
}

static double reward_inplace(const be_batch *b, int64_t lane, const be_rows *rows) {
    double terms[INPLACE_TERMS], costs = 0;
    terms[FEET_PHASE] = reward_phase(b, lane, 0.1);
    terms[POSE] = cost_pose(b, lane);
    terms[ANG_VEL] = be_squares(be_mujoco_read_of(b, lane, BE_GLOBAL_ANGVEL), 3);
    terms[LIN_VEL] = be_squares(be_mujoco_read_of(b, lane, BE_GLOBAL_LINVEL), 2);
    (void)be_weigh(b, lane, rows, terms, INPLACE_TERMS, WEIGHT, TERM_INFO);
    for (int k = FEET_PHASE + 1; k < INPLACE_TERMS; k++) costs += MJ_INFO(rows, TERM_INFO + k, lane);
    return MJ_INFO(rows, TERM_INFO + FEET_PHASE, lane) * be_math.exp(0.2 * costs) * be_mujoco_dt(b);
}

static void reward_feet(be_batch *b, int64_t lane, const int contact[FEET], double terms[JOYSTICK_TERMS]) {
    double *air = MJ_FIELD(b, AIR_TIME, double, lane);
    uint8_t *last = MJ_FIELD(b, LAST_CONTACT, uint8_t, lane);
    const int moves = sqrt(be_squares(MJ_FIELD(b, COMMAND, double, lane), 2)) > 0.05;
    terms[FEET_AIR_TIME] = terms[FOOT_SLIP] = 0;
    for (int k = 0; k < FEET; k++) {
        const int touches = air[k] > 0 && (contact[k] || last[k]);
        air[k] += be_mujoco_dt(b);
        if (touches && moves) terms[FEET_AIR_TIME] += air[k] - 0.1;
        if (contact[k]) terms[FOOT_SLIP] += be_squares(be_mujoco_read_of(b, lane, FOOT_VELOCITY + k), 2);
        if (contact[k]) air[k] = 0;
        last[k] = (uint8_t)contact[k];
    }
}

static double reward_joystick(be_batch *b, int64_t lane, const float *action, const int contact[FEET],
                              const be_rows *rows) {
    const float *last = MJ_FIELD(b, LAST_ACTION, float, lane), *before = MJ_FIELD(b, ACTION_BEFORE, float, lane);
    double terms[JOYSTICK_TERMS];
    be_reward_trunk(b, lane, MJ_FIELD(b, COMMAND, double, lane), be_param_of(b, SIGMA, lane), terms);
    if (!MJ_FIELD(b, GAIT, int32_t, lane)[0]) terms[LIN_VEL_Z] = 0;
    terms[JOYSTICK_PHASE] = reward_phase(b, lane, 0.01);
    terms[JOYSTICK_POSE] = cost_pose(b, lane);
    reward_feet(b, lane, contact, terms);
    terms[ACTION_RATE] = be_action_rate(last, before, action, JOINTS); /* in this order, as in Playground */
    const double reward = be_weigh(b, lane, rows, terms, JOYSTICK_TERMS, WEIGHT, TERM_INFO);
    return reward < 0 ? 0 : reward;
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    const float *action = MJ_ACTION(b, rows, lane);
    const int follows = b->type->variant == JOYSTICK;
    double targets[JOINTS];
    int contact[FEET];
    control(b, lane, action, targets);
    be_append(MJ_FIELD(b, TARGETS, double, lane), targets, JOINTS);
    mistake(b, lane, contact);
    see(b, lane, contact);
    (void)observe(b, &lane, 1, rows, error);
    rows->reward[lane - rows->first] =
        follows ? reward_joystick(b, lane, action, contact, rows) : reward_inplace(b, lane, rows);
    const int tilts = be_mujoco_read_of(b, lane, BE_UPVECTOR)[2] < 0.85 && be_param_of(b, EARLY, lane) != 0;
    rows->terminated[lane - rows->first] = tilts || be_joints_exceed(b, lane);
    be_keep_actions(b, lane, LAST_ACTION, action);
    be_gait_step(b, lane, PHASE, 0);
    if (follows) keep_command(b, lane);
    return BE_OK;
}

#define MEMBERS                                                                                                        \
    MJ_MEMBERS_OF("MuJoCo Playground"), .frames_per_second = 50, .reads = reads, .control = control, .reset = reset,   \
        .observe = observe, .step = step
BE_ENV(h1_inplace) = {
    MEMBERS,
    .name = "H1InplaceGaitTracking",
    .ids = MJ_ID("H1InplaceGaitTracking-v0", 1000, NULL),
    .variant = INPLACE,
    .state = inplace_state,
    .prepare = prepare_inplace,
    .params = inplace_params,
    .ports = inplace_ports,
};
BE_ENV(h1_joystick) = {
    MEMBERS,
    .name = "H1JoystickGaitTracking",
    .ids = MJ_ID("H1JoystickGaitTracking-v0", 1000, NULL),
    .variant = JOYSTICK,
    .state = joystick_state,
    .prepare = prepare_joystick,
    .params = joystick_params,
    .ports = joystick_ports,
};
