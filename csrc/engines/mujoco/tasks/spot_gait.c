/* MuJoCo Playground's SpotJoystickGaitTracking: a Spot that follows commands in one of five gaits. The names of params
 * and rewards are Playground's. batchenv/envs/mujoco/playground.py has the model. */
#include "mujoco_gait.h"
#include "mujoco_quadruped.h"

enum { JOINTS = 12, FEET = 4, COMMAND_TIME = 200, GAITS = 5, BOUND = 3 };

/* Where the feet are in their strides when an episode starts, rad. */
static const double phases[GAITS][FEET] = {
    {0, M_PI, M_PI, 0},                /* trot */
    {0, 0.5 * M_PI, M_PI, 1.5 * M_PI}, /* walk */
    {0, M_PI, 0, M_PI},                /* pace */
    {0, 0, M_PI, M_PI},                /* bound */
    {0, 0, 0, 0},                      /* pronk */
};

/* The parts of the reward: params with their weights, and infos. The first ones are be_reward_trunk's. What is charged
 * for is last: it multiplies the rest. */
#define FOR_ALL_TERMS(DO)                                                                                              \
    DO(TRACKING_LIN_VEL, "tracking_lin_vel", 0.5, "following the commanded velocity along x and y")                    \
    DO(TRACKING_ANG_VEL, "tracking_ang_vel", 0.5, "following the commanded turning rate")                              \
    DO(FEET_PHASE, "feet_phase", 2.0, "feet at the heights of their gait")                                             \
    DO(LIN_VEL_Z, "lin_vel_z", -0.5, "squared vertical velocity, when bounding or pronking")                           \
    DO(ANG_VEL_XY, "ang_vel_xy", -0.5, "squared rates of roll and pitch")                                              \
    DO(HIP_SPLAY, "hip_splay", -0.5, "squared distance of the hips from the pose of the keyframe home")
#define TERM(name, text, weight, doc) name,
enum { FOR_ALL_TERMS(TERM) TERMS, REWARDS = LIN_VEL_Z };
#undef TERM

/* clang-format off */
enum {
    ACTION_SCALE = MJ_PARAMS, EARLY, HISTORY_LEN, NOISE_GYRO, NOISE_GRAVITY, NOISE_JOINT_POS, SIGMA,
    FREQUENCY, FOOT_HEIGHT = FREQUENCY + 2, GAIT_COUNT = FOOT_HEIGHT + 2, WEIGHT, RANGE = WEIGHT + TERMS
};
/* clang-format on */
#define WEIGHT_PARAM(name, text, weight, doc) [WEIGHT + (name)] = MJ_WEIGHT("reward_" text, weight, doc),
static const be_param params[] = {
    MJ_SHARED_PARAMS(5),
    [ACTION_SCALE] = MJ_WEIGHT("action_scale", 0.6, "how far an action of 1 moves a joint's target, rad"),
    [EARLY] = {"early_termination", BE_PARAM_BOOL, 1, 0, 1, NULL, "episodes end where the robot tilts", 0, 1},
    [HISTORY_LEN] = {"history_len", BE_PARAM_INT, 3, 1, 100, NULL, "how many errors of joints are observed"},
    [NOISE_GYRO] = BE_NOISE("gyro", 0.1, "rad/s"),
    [NOISE_GRAVITY] = BE_NOISE("gravity", 0.03, "of a vector of length 1"),
    [NOISE_JOINT_POS] = BE_NOISE("joint_pos", 0.05, "rad"),
    [SIGMA] = MJ_WITHIN("tracking_sigma", 0.25, 1e-9, 1e6, "squared error at which rewards for tracking are 1/e"),
    [FREQUENCY] = MJ_WITHIN("gait_frequency_min", 0.5, 0, 1e3, "fewest strides per second"),
    MJ_WITHIN("gait_frequency_max", 4.0, 0, 1e3, "most strides per second"),
    [FOOT_HEIGHT] = MJ_WITHIN("foot_height_min", 0.08, -1e6, 1e6, "least height that feet are to be lifted to, m"),
    MJ_WITHIN("foot_height_max", 0.4, -1e6, 1e6, "largest height that feet are to be lifted to, m"),
    [GAIT_COUNT] = {"gaits", BE_PARAM_INT, GAITS, 1, GAITS, NULL,
                    "how many of these gaits there are: trot, walk, pace, bound, pronk", 0, 1},
    FOR_ALL_TERMS(WEIGHT_PARAM)[RANGE] = BE_COMMAND_RANGE("lin_vel_x", -1.0, 1.0, "m/s forwards"),
    BE_COMMAND_RANGE("lin_vel_y", -0.5, 0.5, "m/s to the left"),
    BE_COMMAND_RANGE("ang_vel_yaw", -1.0, 1.0, "rad/s"),
    {0},
};

/* ---- ports, state ------------------------------------------------------------------------------------- */

enum { UNSTABLE = MJ_PORTS, SWING_PEAK_INFO, TERM_INFO };
#define TERM_PORT(name, text, weight, doc) [TERM_INFO + (name)] = MJ_INFO_STEP("reward/" text, doc),
static const be_port ports[] = {
    MJ_SHARED_PORTS,
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    [SWING_PEAK_INFO] = MJ_INFO_STEP("swing_peak", "mean over the feet, m"),
    FOR_ALL_TERMS(TERM_PORT){0},
};

enum { LAST_SEEN = MJ_FIELDS, HISTORY, SWING_PEAK, COMMAND, GAIT_FREQ = COMMAND + 2, GAIT, PHASE, HEIGHT };
static const be_field state[] = {
    MJ_SHARED_STATE,
    [LAST_SEEN] = {"last_observation", BE_F32, 1, "the last observation"},
    [HISTORY] = {"qpos_error_history", BE_F32, JOINTS, "joints less their targets, the last first, rad"},
    [SWING_PEAK] = {"swing_peak", BE_F64, FEET, "how high each foot has been since it has left the floor, m"},
    BE_COMMAND_FIELDS(COMMAND, COMMAND_TIME),
    [GAIT_FREQ] = {"gait_freq", BE_F64, 1, "strides per second"},
    [GAIT] = {"gait", BE_I32, 1, "trot, walk, pace, bound, pronk", 0, GAITS - 1},
    [PHASE] = {"phase", BE_F64, FEET, "where each foot is in its stride, rad"},
    [HEIGHT] = {"foot_height", BE_F64, 1, "how high feet are to be lifted, m"},
    {0},
};

/* ---- the model ----------------------------------------------------------------------------------------- */

/* Rows of one foot each follow each other in the order FL, FR, HL, HR. */
enum { FOUND = BE_ROBOT_ROWS, FOOT = FOUND + FEET };
static const be_read reads[] = {
    BE_ROBOT_READS,
    [FOUND] = {"sensordata", "sensor", "FL_floor_found"},
    {"sensordata", "sensor", "FR_floor_found"},
    {"sensordata", "sensor", "HL_floor_found"},
    {"sensordata", "sensor", "HR_floor_found"},
    [FOOT] = {"site_xpos", "site", "FL"},
    {"site_xpos", "site", "FR"},
    {"site_xpos", "site", "HL"},
    {"site_xpos", "site", "HR"},
    {0},
};

static int prepare(be_setup *setup, be_error *error) {
    if (be_check_robot(setup, reads, JOINTS, error) != BE_OK) return error->status;
    const int64_t joints = JOINTS, history = (int64_t)setup->params[HISTORY_LEN] * JOINTS;
    const int64_t seen = 2 * 3 + JOINTS + history + 3 * FEET + 3;
    const int status = be_mujoco_spaces(setup, seen, 7 + JOINTS, 6 + JOINTS, error);
    be_space_box(&setup->space[MJ_ACTION_PORT], BE_F32, 1, &joints, -1, 1);
    be_space_box(&setup->space[MJ_OBSERVATION_PORT], BE_F32, 1, &seen, -HUGE_VAL, HUGE_VAL);
    setup->field_size[HISTORY] = (int)history;
    setup->field_size[LAST_SEEN] = (int)seen;
    return status;
}

static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    be_control_around(b, be_pose_of(b, lane), action, be_param_of(b, ACTION_SCALE, lane), controls);
}

static int on_floor(const be_batch *b, int64_t lane, int foot) {
    return be_mujoco_read_of(b, lane, FOUND + foot)[0] > 0;
}

/* ---- observations ---------------------------------------------------------------------------------------- */

/* Computes the lane's observation, which draws its noise. The command is not part of it, as in Playground. targets: of
 * the joints. */
static void see(be_batch *b, int64_t lane, const double targets[JOINTS]) {
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS] + 7, *phase = MJ_FIELD(b, PHASE, double, lane);
    const double *gyro = be_mujoco_read_of(b, lane, BE_GYRO), *up = be_mujoco_read_of(b, lane, BE_UPVECTOR);
    be_rng *rng = &b->rng[lane];
    float *row = MJ_FIELD(b, LAST_SEEN, float, lane);
    row = be_append_noisy(row, gyro, 3, be_param_of(b, NOISE_GYRO, lane), rng);
    row = be_append_noisy(row, up, 3, be_param_of(b, NOISE_GRAVITY, lane), rng);
    row = be_append_noisy(row, qpos, JOINTS, be_param_of(b, NOISE_JOINT_POS, lane), rng);
    row = be_append_errors(b, lane, row, HISTORY, row - JOINTS, targets, JOINTS);
    for (int k = 0; k < FEET; k++) *row++ = (float)on_floor(b, lane, k);
    for (int k = 0; k < FEET; k++) *row++ = (float)be_math.cos(phase[k]);
    for (int k = 0; k < FEET; k++) *row++ = (float)be_math.sin(phase[k]);
    *row++ = (float)MJ_FIELD(b, GAIT_FREQ, double, lane)[0];
    *row++ = (float)MJ_FIELD(b, GAIT, int32_t, lane)[0];
    *row = (float)MJ_FIELD(b, HEIGHT, double, lane)[0];
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    be_observe_field(b, lanes, count, rows, LAST_SEEN);
    return BE_OK;
}

/* ---- episodes -------------------------------------------------------------------------------------------- */

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    be_append(arrays[MJ_QPOS], be_mujoco_read_of(b, lane, BE_HOME), 7 + JOINTS);
    memset(arrays[MJ_QVEL], 0, (6 + JOINTS) * sizeof(double));
    const int status = be_mujoco_begin(b, lane, error);

    const int64_t last = (int64_t)be_param_of(b, GAIT_COUNT, lane) - 1;
    const int gait = (int)be_rng_integers_inclusive(&b->rng[lane], 0, last);
    MJ_FIELD(b, GAIT_FREQ, double, lane)[0] = be_draw_between(b, lane, FREQUENCY);
    MJ_FIELD(b, GAIT, int32_t, lane)[0] = gait;
    memcpy(MJ_FIELD(b, PHASE, double, lane), phases[gait], sizeof phases[gait]);
    MJ_FIELD(b, HEIGHT, double, lane)[0] = be_draw_between(b, lane, FOOT_HEIGHT);
    be_command_begin(b, lane, COMMAND, RANGE);
    memset(MJ_FIELD(b, HISTORY, float, lane), 0, (size_t)b->field_size[HISTORY] * sizeof(float));
    memset(MJ_FIELD(b, SWING_PEAK, double, lane), 0, FEET * sizeof(double));
    be_mujoco_clear_info(b, lane, rows);
    see(b, lane, (const double[JOINTS]){0}); /* there are no targets yet */
    return status;
}
MJ_RESET(reset, start)

/* ---- rewards ----------------------------------------------------------------------------------------------- */

static void reward(const be_batch *b, int64_t lane, double terms[TERMS]) {
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS] + 7, *pose = be_pose_of(b, lane);
    double trunk[BE_TRUNK_TERMS], error = 0;
    be_reward_trunk(b, lane, MJ_FIELD(b, COMMAND, double, lane), be_param_of(b, SIGMA, lane), trunk);
    terms[TRACKING_LIN_VEL] = trunk[0];
    terms[TRACKING_ANG_VEL] = trunk[1];
    /* Playground's comment says that these two gaits are the ones that may move vertically, but it charges for them. */
    terms[LIN_VEL_Z] = MJ_FIELD(b, GAIT, int32_t, lane)[0] >= BOUND ? trunk[2] : 0;
    terms[ANG_VEL_XY] = trunk[3];
    terms[HIP_SPLAY] = 0;
    for (int k = 0; k < FEET; k++) {
        const double wanted =
            be_wanted_height(MJ_FIELD(b, PHASE, double, lane)[k], MJ_FIELD(b, HEIGHT, double, lane)[0]);
        const double gap = be_mujoco_read_of(b, lane, FOOT + k)[2] - wanted, splay = qpos[3 * k] - pose[3 * k];
        error += gap * gap;
        terms[HIP_SPLAY] += splay * splay;
    }
    terms[FEET_PHASE] = be_tracking(error, 0.1);
}

/* How high feet have been. Returns the mean. */
static double follow_feet(be_batch *b, int64_t lane) {
    double *peak = MJ_FIELD(b, SWING_PEAK, double, lane), sum = 0;
    for (int k = 0; k < FEET; k++) {
        peak[k] = on_floor(b, lane, k) ? 0 : fmax(peak[k], be_mujoco_read_of(b, lane, FOOT + k)[2]);
        sum += peak[k];
    }
    return sum / FEET;
}

/* What changes after rewards and observations. */
static void end_step(be_batch *b, int64_t lane) {
    double *phase = MJ_FIELD(b, PHASE, double, lane);
    const double moved = 2 * M_PI * be_mujoco_dt(b) * MJ_FIELD(b, GAIT_FREQ, double, lane)[0];
    for (int k = 0; k < FEET; k++) phase[k] = be_math.fmod(phase[k] + moved + M_PI, 2 * M_PI) - M_PI;
    be_command_keep(b, lane, COMMAND, RANGE, COMMAND_TIME);
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    double terms[TERMS], targets[JOINTS];
    control(b, lane, MJ_ACTION(b, rows, lane), targets);
    see(b, lane, targets);
    (void)observe(b, &lane, 1, rows, error);
    reward(b, lane, terms);
    const double gain = be_weigh(b, lane, rows, terms, REWARDS, WEIGHT, TERM_INFO);
    const double cost =
        be_weigh(b, lane, rows, terms + REWARDS, TERMS - REWARDS, WEIGHT + REWARDS, TERM_INFO + REWARDS);
    rows->reward[lane - rows->first] = gain * be_math.exp(0.2 * cost / be_mujoco_dt(b));
    const int falls = be_mujoco_read_of(b, lane, BE_UPVECTOR)[2] < 0.85;
    rows->terminated[lane - rows->first] = falls && be_param_of(b, EARLY, lane) != 0;
    MJ_INFO(rows, SWING_PEAK_INFO, lane) = follow_feet(b, lane);
    end_step(b, lane);
    return BE_OK;
}

BE_ENV(spot_gait) = {
    BE_PLAYGROUND_MEMBERS,
    .name = "SpotJoystickGaitTracking",
    .ids = MJ_ID("SpotJoystickGaitTracking-v0", 1000, NULL),
    .control = control,
};
