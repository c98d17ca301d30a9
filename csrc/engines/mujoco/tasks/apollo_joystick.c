/* MuJoCo Playground's ApolloJoystickFlatTerrain: an Apptronik Apollo that follows commands. The names of params and
 * rewards are Playground's. batchenv/envs/mujoco/playground.py has the model. */
#include "mujoco_biped.h"

enum { JOINTS = 32, LEFT_HIP_ROLL = 21, RIGHT_HIP_ROLL = 27, TOUCHES = 5 };

/* The parts of the reward: params with their weights, and infos. */
#define FOR_ALL_TERMS(DO)                                                                                              \
    DO(TRACKING, "tracking", 1.0, "following the commanded velocity and, with half the weight, turning rate")          \
    DO(LIN_VEL_Z, "lin_vel_z", 0.0, "squared velocity along the trunk")                                                \
    DO(ANG_VEL_XY, "ang_vel_xy", -0.15, "squared rates of roll and pitch")                                             \
    DO(ORIENTATION, "orientation", -1.0, "squared tilt")                                                               \
    DO(TORQUES, "torques", 0.0, "torques of the motors, N m")                                                          \
    DO(ACTION_RATE, "action_rate", 0.0, "squared change of the action")                                                \
    DO(ENERGY, "energy", 0.0, "power of the motors, each relative to its largest torque, rad/s")                       \
    DO(FEET_PHASE, "feet_phase", 1.0, "feet being as high as their phases say")                                        \
    DO(ALIVE, "alive", 0.0, "1, but for the last step")                                                                \
    DO(TERMINATION, "termination", 0.0, "the end of the episode")                                                      \
    DO(POSE, "pose", -1.0, "squared distance from the first pose")                                                     \
    DO(COLLISION, "collision", -1.0, "legs touching each other, or a hand touching its thigh")
#define TERM(name, text, weight, doc) name,
enum { FOR_ALL_TERMS(TERM) TERMS };
#undef TERM

enum { WEIGHT = BE_BIPED_SOFT, NOISE_JOINT_POS = WEIGHT + TERMS, KEPT };
#define WEIGHT_PARAM(name, text, weight, doc) [WEIGHT + (name)] = MJ_WEIGHT("reward_" text, weight, doc),
static const be_param params[] = {
    BE_BIPED_FIRST_PARAMS(4, 0.5, 0.25, 0.12, 2.0, 1.5, 0.8, 1.5),
    FOR_ALL_TERMS(WEIGHT_PARAM)[NOISE_JOINT_POS] = BE_NOISE("joint_pos", 0.03, "rad"),
    [KEPT] = BE_COMMAND_KEPT("x", 0.9), /* zero_prob in Playground, though it is not the probability of 0 */
    BE_COMMAND_KEPT("y", 0.25),
    BE_COMMAND_KEPT("yaw", 0.5),
    {0},
};

enum { TERM_INFO = BE_BIPED_PEAK };
#define TERM_PORT(name, text, weight, doc) [TERM_INFO + (name)] = MJ_INFO_STEP("reward/" text, doc),
static const be_port ports[] = {BE_BIPED_FIRST_PORTS, FOR_ALL_TERMS(TERM_PORT){0}};

enum { COMMAND_STEPS = BE_BIPED_COMMAND + 1 };
static const be_field state[] = {BE_BIPED_FIRST_FIELDS(JOINTS), [COMMAND_STEPS] = BE_COMMAND_STEPS_FIELD, {0}};

enum { MAX_TORQUE = BE_BIPED_XMAT + 1, CTRL_HOME, FOOT, TOUCH = FOOT + BE_LEGS };
static const be_read reads[] = {
    BE_ROBOT_READS_OF("", "knees_bent"),
    [BE_BIPED_XMAT] = {"site_xmat", "site", "imu"},
    [MAX_TORQUE] = {"model.jnt_actfrcrange"},
    [CTRL_HOME] = {"model.key_ctrl", "key", "knees_bent"},
    [FOOT] = {"site_xpos", "site", "l_foot"},
    {"site_xpos", "site", "r_foot"},
    [TOUCH] = {"sensordata", "sensor", "collision_l_hand_plate_collision_capsule_body_l_thigh_found"},
    {"sensordata", "sensor", "collision_r_hand_plate_collision_capsule_body_r_thigh_found"},
    {"sensordata", "sensor", "collision_l_sole_collision_r_sole_found"},
    {"sensordata", "sensor", "collision_capsule_body_l_shin_collision_capsule_body_r_shin_found"},
    {"sensordata", "sensor", "collision_capsule_body_l_thigh_collision_capsule_body_r_thigh_found"},
    {0},
};

static const double stiffness[JOINTS] = {
    5, 5, 5,                   /* torso */
    1, 1, 1,                   /* neck */
    1, 1, 0.1,  1,    1, 1, 1, /* left arm */
    1, 1, 0.1,  1,    1, 1, 1, /* right arm */
    1, 1, 0.01, 0.01, 1, 1,    /* left leg: hip's yaw, roll and pitch, knee, ankle */
    1, 1, 0.01, 0.01, 1, 1,    /* right leg */
};
static const be_biped apollo = {.low_hz = 1.25, .high_hz = 1.75, .noise = NOISE_JOINT_POS};

static int prepare(be_setup *setup, be_error *error) {
    return be_biped_prepare_for(setup, reads, JOINTS, 3 * 3 + 3 * JOINTS + 7, error);
}

static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    const double *home = be_mujoco_read_of(b, lane, CTRL_HOME), scale = be_param_of(b, BE_BIPED_SCALE, lane);
    for (int j = 0; j < JOINTS; j++) controls[j] = home[j] + (double)action[j] * scale;
}

/* ---- episodes -------------------------------------------------------------------------------------------- */

/* Computes the lane's observation. */
static void see(be_batch *b, int64_t lane) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const be_biped_view view = be_biped_look(b, lane);
    float *row = be_biped_see_state(b, lane, &apollo, &view);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_GYRO), 3);
    row = be_append_f32(row, view.gravity, 3);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_LINVEL), 3);
    row = be_append_f32(row, view.angles, JOINTS);
    row = be_append_f32(row, arrays[MJ_QVEL] + 6, JOINTS);
    row = be_append_f32(row, be_mujoco_read_of(b, lane, BE_TORQUE), JOINTS);
    be_append_f32(row, arrays[MJ_QPOS], 7);
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    be_observe_field(b, lanes, count, rows, BE_BIPED_SEEN);
    return BE_OK;
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    be_biped_place(b, lane);
    const int status = be_mujoco_begin(b, lane, error);
    be_gait_start(b, lane, BE_BIPED_PHASE, apollo.low_hz, apollo.high_hz);
    MJ_FIELD(b, COMMAND_STEPS, int32_t, lane)[0] = be_command_steps(&b->rng[lane], be_mujoco_dt(b));
    be_command_draw(b, lane, BE_BIPED_RANGES, 0, MJ_FIELD(b, BE_BIPED_COMMAND, double, lane));
    memset(MJ_FIELD(b, BE_BIPED_ACTION, float, lane), 0, JOINTS * sizeof(float));
    be_mujoco_clear_info(b, lane, rows);
    see(b, lane);
    be_kick_start(b, lane, BE_BIPED_KICKS, BE_BIPED_PUSH);
    return status;
}
MJ_RESET(reset, start)

/* What changes after rewards and observations. */
static void end_step(be_batch *b, int64_t lane, const float *action) {
    double low[BE_COMMAND], high[BE_COMMAND], kept[BE_COMMAND];
    for (int j = 0; j < BE_COMMAND; j++) {
        low[j] = be_param_of(b, BE_BIPED_RANGES + 2 * j, lane);
        high[j] = be_param_of(b, BE_BIPED_RANGES + 2 * j + 1, lane);
        kept[j] = be_param_of(b, KEPT + j, lane);
    }
    be_gait_step(b, lane, BE_BIPED_PHASE, !(be_biped_speed(b, lane) > 0.01));
    memcpy(MJ_FIELD(b, BE_BIPED_ACTION, float, lane), action, JOINTS * sizeof *action);
    be_command_step_between(MJ_FIELD(b, BE_BIPED_COMMAND, double, lane), MJ_FIELD(b, COMMAND_STEPS, int32_t, lane), low,
                            high, kept, be_mujoco_dt(b), &b->rng[lane]);
    be_kick_step(b, lane, BE_BIPED_KICKS, BE_BIPED_PUSH);
}

/* ---- rewards ----------------------------------------------------------------------------------------------- */

/* Hips may roll where the command is sideways; all other joints count alike where it is 0. */
static double pose_cost(const be_batch *b, int64_t lane) {
    const double sideways = MJ_FIELD(b, BE_BIPED_COMMAND, double, lane)[1];
    const int stands = be_biped_speed(b, lane) < 0.01;
    double weights[JOINTS];
    for (int j = 0; j < JOINTS; j++) weights[j] = stands ? 1 : stiffness[j];
    weights[LEFT_HIP_ROLL] = weights[RIGHT_HIP_ROLL] = fabs(sideways) > 0.3 ? 0.01 : 1;
    return be_pose_cost(be_mujoco_arrays(b, lane)[MJ_QPOS] + 7, be_pose_of(b, lane), weights, JOINTS);
}

static void reward(const be_batch *b, int64_t lane, const float *action, double terms[TERMS]) {
    const double *gyro = be_mujoco_read_of(b, lane, BE_GYRO), *linvel = be_mujoco_read_of(b, lane, BE_LINVEL);
    const double *up = be_mujoco_read_of(b, lane, BE_UPVECTOR), *torque = be_mujoco_read_of(b, lane, BE_TORQUE);
    const double *most = be_mujoco_read_of(b, lane, MAX_TORQUE) + 2, *qvel = be_mujoco_arrays(b, lane)[MJ_QVEL] + 6;
    const double *command = MJ_FIELD(b, BE_BIPED_COMMAND, double, lane), sigma = be_param_of(b, BE_BIPED_SIGMA, lane);
    const double turned = gyro[2] - command[2];
    double power = 0;
    for (int j = 0; j < JOINTS; j++) power += fabs(qvel[j] * torque[j] / most[2 * j + 1]);
    terms[TRACKING] =
        be_tracking(be_squared_distance(command, linvel, 2), sigma) + 0.5 * be_tracking(turned * turned, sigma);
    terms[LIN_VEL_Z] = linvel[2] * linvel[2];
    terms[ANG_VEL_XY] = be_squares(gyro, 2);
    terms[ORIENTATION] = be_squares(up, 2);
    terms[TORQUES] = be_absolutes(torque, JOINTS);
    terms[ACTION_RATE] = be_action_rate(action, MJ_FIELD(b, BE_BIPED_ACTION, float, lane), NULL, JOINTS);
    terms[ENERGY] = power;
    terms[FEET_PHASE] = be_reward_gait(b, lane, BE_BIPED_PHASE, FOOT, be_param_of(b, BE_BIPED_FOOT_HEIGHT, lane));
    terms[TERMINATION] = up[2] < 0;
    terms[ALIVE] = 1 - terms[TERMINATION];
    terms[POSE] = pose_cost(b, lane);
    terms[COLLISION] = be_touches(b, lane, TOUCH, TOUCHES);
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, BE_BIPED_UNSTABLE, error);
    if (status != BE_OK) return status;
    const float *action = MJ_ACTION(b, rows, lane);
    double terms[TERMS];
    see(b, lane);
    (void)observe(b, &lane, 1, rows, error);
    reward(b, lane, action, terms);
    rows->reward[lane - rows->first] = be_weigh(b, lane, rows, terms, TERMS, WEIGHT, TERM_INFO);
    rows->terminated[lane - rows->first] = terms[TERMINATION] != 0;
    end_step(b, lane, action);
    return BE_OK;
}

BE_ENV(apollo_joystick) = {
    BE_PLAYGROUND_MEMBERS,
    .name = "ApolloJoystick",
    .ids = MJ_ID("ApolloJoystickFlatTerrain-v0", 1000, NULL),
    .control = control,
};
