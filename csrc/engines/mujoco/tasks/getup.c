/* MuJoCo Playground's Go1Getup and SpotGetup: a robot that has fallen, and gets up. The names of params and rewards are
 * Playground's. batchenv/envs/mujoco/playground.py has the models. */
#include "mujoco_quadruped.h"

enum { JOINTS = 12 };

/* The parts of the reward, with their weights for a Go1 and for a Spot: params, and infos. A Go1 has more of them. */
#define FOR_ALL_TERMS(DO)                                                                                              \
    DO(ORIENTATION, "orientation", 1.0, 1.0, "being upright")                                                          \
    DO(TORSO_HEIGHT, "torso_height", 1.0, 1.0, "the height of the trunk")                                              \
    DO(POSTURE, "posture", 1.0, 1.0, "being near the pose of the keyframe home, while upright")                        \
    DO(STAND_STILL, "stand_still", 1.0, 1.0, "small actions, while upright at the height of a standing robot")         \
    DO(ACTION_RATE, "action_rate", -0.001, 0.0, "squared changes of the action, and of its changes")                   \
    DO(TORQUES, "torques", -1e-5, 0.0, "torques of the motors: their norm plus their sum, N m")
#define FOR_GO1S_TERMS(DO)                                                                                             \
    FOR_ALL_TERMS(DO)                                                                                                  \
    DO(DOF_POS_LIMITS, "dof_pos_limits", -0.1, 0.0, "how far joints are beyond their soft limits, rad")                \
    DO(DOF_ACC, "dof_acc", -2.5e-7, 0.0, "squared accelerations of the joints")                                        \
    DO(DOF_VEL, "dof_vel", -0.1, 0.0, "squared velocities of the joints, of what is beyond 2 pi rad/s")
#define TERM(name, text, go1, spot, doc) name,
enum { FOR_GO1S_TERMS(TERM) GO1_TERMS, SPOT_TERMS = DOF_POS_LIMITS };
#undef TERM

/* A Spot has the params as far as WEIGHT + SPOT_TERMS. */
/* clang-format off */
enum {
    ACTION_SCALE = MJ_PARAMS, DROP, SETTLE, NOISE_LEVEL, NOISE_GYRO, NOISE_GRAVITY, NOISE_JOINT_POS, WEIGHT,
    NOISE_JOINT_VEL = WEIGHT + GO1_TERMS, SOFT_LIMIT, ENERGY
};
/* clang-format on */
#define PARAMS(scale, angle_noise)                                                                                     \
    MJ_SHARED_PARAMS(5),                                                                                               \
        [ACTION_SCALE] = MJ_WEIGHT("action_scale", scale,                                                              \
                                   "how far an action of 1 moves a joint's target from where "                         \
                                   "the joint is, rad"),                                                               \
        [DROP] = MJ_WITHIN("drop_from_height_prob", 0.6, 0, 1, "probability that an episode starts with a fall"),      \
        [SETTLE] = MJ_WITHIN("settle_time", 0.5, 0, 100, "how long the robot falls or stands before an episode, s"),   \
        [NOISE_LEVEL] = BE_NOISE("level", 1.0, "factor of all of it; 0: none"),                                        \
        [NOISE_GYRO] = BE_NOISE("gyro", 0.2, "rad/s"),                                                                 \
        [NOISE_GRAVITY] = BE_NOISE("gravity", 0.05, "of a vector of length 1"),                                        \
        [NOISE_JOINT_POS] = BE_NOISE("joint_pos", angle_noise, "rad")
#define GO1_WEIGHT(name, text, go1, spot, doc) [WEIGHT + (name)] = MJ_WEIGHT("reward_" text, go1, doc),
#define SPOT_WEIGHT(name, text, go1, spot, doc) [WEIGHT + (name)] = MJ_WEIGHT("reward_" text, spot, doc),
static const be_param go1_params[] = {
    PARAMS(0.5, 0.03),
    FOR_GO1S_TERMS(GO1_WEIGHT)[NOISE_JOINT_VEL] = BE_NOISE("joint_vel", 1.5, "rad/s"),
    [SOFT_LIMIT] = MJ_WITHIN("soft_joint_pos_limit_factor", 0.95, 0, 1e6,
                             "soft limits of joints around the middle of their range, relative to it"),
    [ENERGY] = MJ_WITHIN("energy_termination_threshold", MJ_ANY, 0, MJ_ANY,
                         "power of the motors beyond which an episode ends, W"),
    {0},
};
static const be_param spot_params[] = {PARAMS(0.6, 0.01), FOR_ALL_TERMS(SPOT_WEIGHT){0}};

/* ---- ports, state ------------------------------------------------------------------------------------- */

enum {
    SPOT_SEEN = 2 * 3 + 2 * JOINTS, /* numbers that the policy sees */
    GO1_SEEN = SPOT_SEEN + JOINTS,
    GO1_ALL_SEEN = GO1_SEEN + 4 * 3 + 3 * JOINTS + 1
};
enum { STATE = MJ_OBSERVATION_PORT, PRIVILEGED, GO1_UNSTABLE, GO1_INFO };
enum { SPOT_UNSTABLE = MJ_PORTS, SPOT_INFO };
#define GO1_PORT(name, text, go1, spot, doc) [GO1_INFO + (name)] = MJ_INFO_STEP("reward/" text, doc),
#define SPOT_PORT(name, text, go1, spot, doc) [SPOT_INFO + (name)] = MJ_INFO_STEP("reward/" text, doc),
static const be_port go1_ports[] = {
    [MJ_ACTION_PORT] = {"", BE_ACTION},
    [STATE] = {"state", BE_OBSERVATION},
    [PRIVILEGED] = {"privileged_state", BE_OBSERVATION, BE_BOX(BE_F32, -HUGE_VAL, HUGE_VAL, GO1_ALL_SEEN)},
    [GO1_UNSTABLE] = MJ_UNSTABLE_INFO,
    FOR_GO1S_TERMS(GO1_PORT){0},
};
static const be_port spot_ports[] = {
    MJ_SHARED_PORTS,
    [SPOT_UNSTABLE] = MJ_UNSTABLE_INFO,
    FOR_ALL_TERMS(SPOT_PORT){0},
};

enum { LAST_SEEN = MJ_FIELDS, LAST_ACTION, ACTION_BEFORE };
static const be_field state[] = {
    MJ_SHARED_STATE,
    [LAST_SEEN] = {"last_observation", BE_F32, 1, "the last observation; a Go1's privileged_state"},
    [LAST_ACTION] = {"last_act", BE_F32, JOINTS, "the last action"},
    [ACTION_BEFORE] = {"last_last_act", BE_F32, JOINTS, "the action before"},
    {0},
};

/* ---- the model ----------------------------------------------------------------------------------------- */

enum { XMAT = BE_ROBOT_ROWS, XPOS, RANGES, ACCELERATION };
static const be_read go1_reads[] = {
    BE_ROBOT_READS,
    [XMAT] = {"site_xmat", "site", "imu"},
    [XPOS] = {"site_xpos", "site", "imu"},
    [RANGES] = {"model.jnt_range"},
    [ACCELERATION] = {"qacc"},
    {0},
};
static const be_read spot_reads[] = {BE_ROBOT_READS, {0}};

static int prepare_seen(be_setup *setup, const be_read *reads, int64_t seen, int64_t all, be_error *error) {
    if (be_check_robot(setup, reads, JOINTS, error) != BE_OK) return error->status;
    const int status = be_mujoco_spaces(setup, seen, 7 + JOINTS, 6 + JOINTS, error);
    const int64_t joints = JOINTS;
    be_space_box(&setup->space[MJ_ACTION_PORT], BE_F32, 1, &joints, -1, 1);
    be_space_box(&setup->space[STATE], BE_F32, 1, &seen, -HUGE_VAL, HUGE_VAL);
    setup->field_size[LAST_SEEN] = (int)all;
    return status;
}
static int prepare_go1(be_setup *setup, be_error *error) {
    return prepare_seen(setup, go1_reads, GO1_SEEN, GO1_ALL_SEEN, error);
}
static int prepare_spot(be_setup *setup, be_error *error) {
    return prepare_seen(setup, spot_reads, SPOT_SEEN, SPOT_SEEN, error);
}

/* Actions move targets from where the joints are, not from a pose. */
static void control_go1(const be_batch *b, int64_t lane, const float *action, double *controls) {
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS] + 7, scale = be_param_of(b, ACTION_SCALE, lane);
    for (int j = 0; j < JOINTS; j++) controls[j] = qpos[j] + (double)action[j] * scale;
}
static void control_spot(const be_batch *b, int64_t lane, const float *action, double *controls) {
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS] + 7;
    be_control_around(b, qpos, action, be_param_of(b, ACTION_SCALE, lane), controls);
}

/* ---- observations ---------------------------------------------------------------------------------------- */

static float *append_last(const be_batch *b, int64_t lane, float *row) {
    memcpy(row, MJ_FIELD(b, LAST_ACTION, float, lane), JOINTS * sizeof *row);
    return row + JOINTS;
}

/* Computes the lane's observation, which draws its noise. */
static void see_go1(be_batch *b, int64_t lane) {
    const double level = be_param_of(b, NOISE_LEVEL, lane), *qvel = be_mujoco_arrays(b, lane)[MJ_QVEL] + 6;
    float *row = MJ_FIELD(b, LAST_SEEN, float, lane);
    double gravity[3];
    be_projected_gravity(be_mujoco_read_of(b, lane, XMAT), gravity);
    row = be_append_sensed(b, lane, row, gravity, level, NOISE_GYRO, JOINTS);
    row = be_append_noisy(row, qvel, JOINTS, be_param_of(b, NOISE_JOINT_VEL, lane) * level, &b->rng[lane]);
    row = be_append_exact(b, lane, append_last(b, lane, row), JOINTS);
    *row = (float)be_mujoco_read_of(b, lane, XPOS)[2];
}
static void see_spot(be_batch *b, int64_t lane) {
    const double *up = be_mujoco_read_of(b, lane, BE_UPVECTOR);
    float *row = MJ_FIELD(b, LAST_SEEN, float, lane);
    row = be_append_sensed(b, lane, row, up, be_param_of(b, NOISE_LEVEL, lane), NOISE_GYRO, JOINTS);
    (void)append_last(b, lane, row);
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    be_observe_field(b, lanes, count, rows, LAST_SEEN);
    return BE_OK;
}

/* ---- episodes -------------------------------------------------------------------------------------------- */

/* The lane's positions: the keyframe home, or anyhow at `height`. low, high: the joints' bounds, `step` numbers apart.
 */
static void place(be_batch *b, int64_t lane, double height, const double *low, const double *high, int step) {
    double *const *arrays = be_mujoco_arrays(b, lane), *qpos = arrays[MJ_QPOS];
    be_rng *rng = &b->rng[lane];
    memset(arrays[MJ_QVEL], 0, (6 + JOINTS) * sizeof *qpos);
    if (be_rng_double(rng) >= be_param_of(b, DROP, lane)) {
        be_append(qpos, be_mujoco_read_of(b, lane, BE_HOME), 7 + JOINTS);
        return;
    }
    qpos[0] = qpos[1] = 0;
    qpos[2] = height;
    for (int j = 3; j < 7; j++) qpos[j] = be_rng_standard_normal(rng);
    const double norm = sqrt(be_squares(qpos + 3, 4)) + 1e-6;
    for (int j = 3; j < 7; j++) qpos[j] /= norm;
    for (int j = 0; j < JOINTS; j++) qpos[7 + j] = be_rng_uniform(rng, low[step * j], high[step * j]);
}

/* Begins the episode, and returns for how many steps the robot then falls, with the joints' positions as targets. */
static int64_t begin_go1(be_batch *b, int64_t lane, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *ranges = be_mujoco_read_of(b, lane, RANGES) + 2;
    place(b, lane, 0.5, ranges, ranges + 1, 2);
    for (int j = 0; j < 6; j++) arrays[MJ_QVEL][j] = be_rng_uniform(&b->rng[lane], -0.5, 0.5);
    be_append(arrays[MJ_CTRL], arrays[MJ_QPOS] + 7, JOINTS);
    if (be_mujoco_begin_controlled(b, lane, error) != BE_OK) return -1;
    /* Playground cuts the number of a Go1's steps, and rounds a Spot's. */
    return (int64_t)(be_param_of(b, SETTLE, lane) / be_mujoco_of(b)->timestep);
}

static int64_t begin_spot(be_batch *b, int64_t lane, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const be_mujoco_view *model = be_mujoco_of(b);
    place(b, lane, 1.0, model->control_low, model->control_high, 1);
    if (be_mujoco_begin(b, lane, error) != BE_OK) return -1;
    be_append(arrays[MJ_CTRL], arrays[MJ_QPOS] + 7, JOINTS);
    return be_steps_of(be_param_of(b, SETTLE, lane), model->timestep);
}

static int open_go1(be_batch *b, const void *engine, be_error *error) {
    return be_mujoco_open_settling(b, engine, begin_go1, error);
}
static int open_spot(be_batch *b, const void *engine, be_error *error) {
    return be_mujoco_open_settling(b, engine, begin_spot, error);
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    memset(MJ_FIELD(b, LAST_ACTION, float, lane), 0, JOINTS * sizeof(float));
    memset(MJ_FIELD(b, ACTION_BEFORE, float, lane), 0, JOINTS * sizeof(float));
    be_mujoco_clear_info(b, lane, rows);
    return be_mujoco_settle(b, lane, error);
}

static int start_go1(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    const int status = start(b, lane, rows, error);
    if (status == BE_OK) see_go1(b, lane);
    return status;
}
MJ_RESET(reset_go1, start_go1)

static int start_spot(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    const int status = start(b, lane, rows, error);
    if (status == BE_OK) see_spot(b, lane);
    return status;
}
MJ_RESET(reset_spot, start_spot)

/* ---- rewards ----------------------------------------------------------------------------------------------- */

/* tilt: the squared distance of the trunk's vertical from the world's. high: whether the trunk is where it is to be. */
static void reward(const be_batch *b, int64_t lane, const float *action, double tilt, int high, double *terms) {
    const int upright = tilt < 0.01;
    const double off = be_squared_distance(be_mujoco_arrays(b, lane)[MJ_QPOS] + 7, be_pose_of(b, lane), JOINTS);
    double size = 0;
    for (int j = 0; j < JOINTS; j++) size += (double)action[j] * (double)action[j];
    terms[ORIENTATION] = be_math.exp(-2 * tilt);
    terms[POSTURE] = upright ? be_math.exp(-0.5 * off) : 0;
    terms[STAND_STILL] = upright && high ? be_math.exp(-0.5 * size) : 0;
    terms[ACTION_RATE] =
        be_action_rate(action, MJ_FIELD(b, LAST_ACTION, float, lane), MJ_FIELD(b, ACTION_BEFORE, float, lane), JOINTS);
    terms[TORQUES] = be_effort(be_mujoco_read_of(b, lane, BE_TORQUE), JOINTS);
}

static void reward_go1s_joints(const be_batch *b, int64_t lane, double *terms) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *qpos = arrays[MJ_QPOS] + 7, *qvel = arrays[MJ_QVEL] + 6;
    const double *ranges = be_mujoco_read_of(b, lane, RANGES) + 2, soft = be_param_of(b, SOFT_LIMIT, lane);
    terms[DOF_POS_LIMITS] = be_beyond_soft(qpos, ranges, soft, JOINTS);
    terms[DOF_ACC] = be_squares(be_mujoco_read_of(b, lane, ACCELERATION) + 6, JOINTS);
    terms[DOF_VEL] = 0;
    for (int j = 0; j < JOINTS; j++) {
        const double fast = fmax(fabs(qvel[j]) - 2 * M_PI, 0);
        terms[DOF_VEL] += fast * fast;
    }
}

static int step_go1(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, GO1_UNSTABLE, error);
    if (status != BE_OK) return status;
    const double *torque = be_mujoco_read_of(b, lane, BE_TORQUE), *qvel = be_mujoco_arrays(b, lane)[MJ_QVEL] + 6;
    const double wanted = 0.275, height = fmin(be_mujoco_read_of(b, lane, XPOS)[2], wanted);
    double gravity[3], terms[GO1_TERMS];
    see_go1(b, lane);
    (void)observe(b, &lane, 1, rows, error);
    be_projected_gravity(be_mujoco_read_of(b, lane, XMAT), gravity);
    const double tilt = be_squared_distance(gravity, (const double[]){0, 0, -1}, 3);
    reward(b, lane, MJ_ACTION(b, rows, lane), tilt, wanted - height < 0.005, terms);
    terms[TORSO_HEIGHT] = be_math.exp(height) - 1;
    reward_go1s_joints(b, lane, terms);
    be_write_reward(b, lane, rows, terms, GO1_TERMS, WEIGHT, GO1_INFO);
    rows->terminated[lane - rows->first] = be_power(qvel, torque, JOINTS) > be_param_of(b, ENERGY, lane);
    be_keep_actions(b, lane, LAST_ACTION, MJ_ACTION(b, rows, lane));
    return BE_OK;
}

static int step_spot(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, SPOT_UNSTABLE, error);
    if (status != BE_OK) return status;
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS], wanted = be_mujoco_read_of(b, lane, BE_HOME)[2];
    const double low = fmin(fmax((wanted - qpos[2]) / wanted, 0), 1); /* how far the trunk is below, relatively */
    double terms[SPOT_TERMS];
    see_spot(b, lane);
    (void)observe(b, &lane, 1, rows, error);
    const double tilt = be_squared_distance(be_mujoco_read_of(b, lane, BE_UPVECTOR), (const double[]){0, 0, 1}, 3);
    reward(b, lane, MJ_ACTION(b, rows, lane), tilt, low < 0.005, terms);
    terms[TORSO_HEIGHT] = 1 - low;
    be_write_reward(b, lane, rows, terms, SPOT_TERMS, WEIGHT, SPOT_INFO);
    rows->terminated[lane - rows->first] = (uint8_t)be_joints_exceed(b, lane);
    be_keep_actions(b, lane, LAST_ACTION, MJ_ACTION(b, rows, lane));
    return BE_OK;
}

BE_ENV(go1_getup) = {
    MJ_MEMBERS_OPENED("MuJoCo Playground", open_go1, BE_LANE_BY_LANE),
    .name = "Go1Getup",
    .ids = MJ_ID("Go1Getup-v0", 300, NULL),
    .frames_per_second = 50,
    .state = state,
    .params = go1_params,
    .ports = go1_ports,
    .reads = go1_reads,
    .prepare = prepare_go1,
    .control = control_go1,
    .reset = reset_go1,
    .observe = observe,
    .step = step_go1,
};

BE_ENV(spot_getup) = {
    MJ_MEMBERS_OPENED("MuJoCo Playground", open_spot, BE_LANE_BY_LANE),
    .name = "SpotGetup",
    .ids = MJ_ID("SpotGetup-v0", 300, NULL),
    .frames_per_second = 50,
    .state = state,
    .params = spot_params,
    .ports = spot_ports,
    .reads = spot_reads,
    .prepare = prepare_spot,
    .control = control_spot,
    .reset = reset_spot,
    .observe = observe,
    .step = step_spot,
};
