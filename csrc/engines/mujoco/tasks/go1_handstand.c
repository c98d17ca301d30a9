/* MuJoCo Playground's Go1Handstand and Go1Footstand: a Go1 that stands on its front feet, or on its hind feet. The
 * names of params and rewards are Playground's. batchenv/envs/mujoco/playground.py has the model. */
#include "mujoco_quadruped.h"

enum { JOINTS = 12, FEET = 4, LEG_GEOMS = 12 };

/* The parts of the reward: params with their weights, and infos. */
#define FOR_ALL_TERMS(DO)                                                                                              \
    DO(HEIGHT, "height", 1.0, "the height of the trunk")                                                               \
    DO(ORIENTATION, "orientation", 1.0, "the trunk's forward direction pointing down, or up")                          \
    DO(CONTACT, "contact", -0.1, "any foot on the floor")                                                              \
    DO(ACTION_RATE, "action_rate", 0.0, "squared change of the action")                                                \
    DO(TERMINATION, "termination", 0.0, "the end of the episode")                                                      \
    DO(DOF_POS_LIMITS, "dof_pos_limits", -0.5, "how far joints are beyond their soft limits, rad")                     \
    DO(TORQUES, "torques", 0.0, "squared torques of the motors")                                                       \
    DO(POSE, "pose", -0.1, "squared distance of the legs in the air from the pose of the keyframe home")               \
    DO(STAY_STILL, "stay_still", 0.0, "squared velocities along x and y, and around the vertical")                     \
    DO(ENERGY, "energy", 0.0, "power of the motors, W")                                                                \
    DO(DOF_ACC, "dof_acc", 0.0, "squared accelerations of the joints")
#define TERM(name, text, weight, doc) name,
enum { FOR_ALL_TERMS(TERM) TERMS };
#undef TERM

/* clang-format off */
enum {
    ACTION_SCALE = MJ_PARAMS, SOFT_LIMIT, CROUCH, MOST_ENERGY,
    NOISE_LEVEL, NOISE_GYRO, NOISE_GRAVITY, NOISE_JOINT_POS, NOISE_JOINT_VEL, NOISE_LINVEL, WEIGHT
};
/* clang-format on */
#define WEIGHT_PARAM(name, text, weight, doc) [WEIGHT + (name)] = MJ_WEIGHT("reward_" text, weight, doc),
static const be_param params[] = {
    MJ_SHARED_PARAMS(5),
    [ACTION_SCALE] = MJ_WEIGHT("action_scale", 0.3, "how far an action of 1 moves a joint's target, rad"),
    [SOFT_LIMIT] = MJ_WITHIN("soft_joint_pos_limit_factor", 0.9, 0, 1e6,
                             "soft limits of joints around the middle of their range, relative to it"),
    [CROUCH] = MJ_WITHIN("init_from_crouch", 0.0, 0, 1, "probability that an episode starts in a crouch"),
    [MOST_ENERGY] = MJ_WITHIN("energy_termination_threshold", MJ_ANY, 0, MJ_ANY,
                              "power of the motors beyond which an episode ends, W"),
    [NOISE_LEVEL] = BE_NOISE("level", 1.0, "factor of all of it; 0: none"),
    [NOISE_GYRO] = BE_NOISE("gyro", 0.2, "rad/s"),
    [NOISE_GRAVITY] = BE_NOISE("gravity", 0.05, "of a vector of length 1"),
    [NOISE_JOINT_POS] = BE_NOISE("joint_pos", 0.01, "rad"),
    [NOISE_JOINT_VEL] = BE_NOISE("joint_vel", 1.5, "rad/s"),
    [NOISE_LINVEL] = BE_NOISE("linvel", 0.1, "m/s"),
    FOR_ALL_TERMS(WEIGHT_PARAM){0},
};

/* ---- ports, state ------------------------------------------------------------------------------------- */

enum { SEEN = 3 * 3 + 3 * JOINTS /* numbers that the policy sees */, ALL_SEEN = SEEN + 4 * 3 + 3 * JOINTS + 1 };
enum { STATE = MJ_OBSERVATION_PORT, PRIVILEGED = MJ_PORTS, UNSTABLE, TERM_INFO };
#define TERM_PORT(name, text, weight, doc) [TERM_INFO + (name)] = MJ_INFO_STEP("reward/" text, doc),
static const be_port ports[] = {
    [MJ_ACTION_PORT] = {"", BE_ACTION},
    [STATE] = {"state", BE_OBSERVATION},
    [PRIVILEGED] = {"privileged_state", BE_OBSERVATION, BE_BOX(BE_F32, -HUGE_VAL, HUGE_VAL, ALL_SEEN)},
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    FOR_ALL_TERMS(TERM_PORT){0},
};

enum { LAST_SEEN = MJ_FIELDS, LAST_ACTION };
static const be_field state[] = {
    MJ_SHARED_STATE,
    [LAST_SEEN] = {"last_observation", BE_F32, ALL_SEEN, "the last privileged_state, which begins with the state"},
    [LAST_ACTION] = {"last_act", BE_F32, JOINTS, "the last action"},
    {0},
};

/* ---- the model ----------------------------------------------------------------------------------------- */

/* Rows of a foot, and of a geom of a leg, follow each other. The legs whose contacts with the floor end an episode are
 * the front ones, also of a robot that stands on its hind feet: Playground's Footstand chooses the others, but goes on
 * to read the sensors of these. */
enum { XMAT = BE_ROBOT_ROWS, XPOS, RANGES, ACCELERATION, CROUCHED, FOOT_FOUND, LEG_FOUND = FOOT_FOUND + FEET };
static const be_read reads[] = {
    BE_ROBOT_READS,
    [XMAT] = {"site_xmat", "site", "imu"},
    [XPOS] = {"site_xpos", "site", "imu"},
    [RANGES] = {"model.jnt_range"},
    [ACCELERATION] = {"qacc"},
    [CROUCHED] = {"model.key_qpos", "key", "pre_recovery"},
    [FOOT_FOUND] = {"sensordata", "sensor", "FR_floor_found"},
    {"sensordata", "sensor", "FL_floor_found"},
    {"sensordata", "sensor", "RR_floor_found"},
    {"sensordata", "sensor", "RL_floor_found"},
    [LEG_FOUND] = {"sensordata", "sensor", "fl_calf1_floor_found"},
    {"sensordata", "sensor", "fl_calf2_floor_found"},
    {"sensordata", "sensor", "fr_calf1_floor_found"},
    {"sensordata", "sensor", "fr_calf2_floor_found"},
    {"sensordata", "sensor", "fl_thigh1_floor_found"},
    {"sensordata", "sensor", "fl_thigh2_floor_found"},
    {"sensordata", "sensor", "fl_thigh3_floor_found"},
    {"sensordata", "sensor", "fr_thigh1_floor_found"},
    {"sensordata", "sensor", "fr_thigh2_floor_found"},
    {"sensordata", "sensor", "fr_thigh3_floor_found"},
    {"sensordata", "sensor", "fl_hip_floor_found"},
    {"sensordata", "sensor", "fr_hip_floor_found"},
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

/* Actions move the targets from where the last ones have left them. Nothing keeps them within the joints' ranges: only
 * the motors clip them. */
static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    const double *targets = be_mujoco_arrays(b, lane)[MJ_CTRL], scale = be_param_of(b, ACTION_SCALE, lane);
    for (int j = 0; j < JOINTS; j++) controls[j] = targets[j] + (double)action[j] * scale;
}

/* ---- observations ---------------------------------------------------------------------------------------- */

/* Computes the lane's observation, which draws its noise. */
static void see(be_batch *b, int64_t lane) {
    const double level = be_param_of(b, NOISE_LEVEL, lane), *qvel = be_mujoco_arrays(b, lane)[MJ_QVEL] + 6;
    const double *linvel = be_mujoco_read_of(b, lane, BE_LINVEL);
    float *row = MJ_FIELD(b, LAST_SEEN, float, lane);
    be_rng *rng = &b->rng[lane];
    double gravity[3];
    be_projected_gravity(be_mujoco_read_of(b, lane, XMAT), gravity);
    row = be_append_noisy(row, linvel, 3, be_param_of(b, NOISE_LINVEL, lane) * level, rng);
    row = be_append_sensed(b, lane, row, gravity, level, NOISE_GYRO, JOINTS);
    row = be_append_noisy(row, qvel, JOINTS, be_param_of(b, NOISE_JOINT_VEL, lane) * level, rng);
    memcpy(row, MJ_FIELD(b, LAST_ACTION, float, lane), JOINTS * sizeof *row);
    row = be_append_exact(b, lane, row + JOINTS, JOINTS);
    *row = (float)be_mujoco_read_of(b, lane, XPOS)[2];
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    be_observe_field(b, lanes, count, rows, LAST_SEEN);
    return BE_OK;
}

/* ---- episodes -------------------------------------------------------------------------------------------- */

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane), *qpos = arrays[MJ_QPOS], *qvel = arrays[MJ_QVEL];
    be_rng *rng = &b->rng[lane];
    const int crouches = be_rng_double(rng) < be_param_of(b, CROUCH, lane);
    be_append(qpos, be_mujoco_read_of(b, lane, crouches ? CROUCHED : BE_HOME), 7 + JOINTS);
    be_scatter(qpos, rng);
    memset(qvel, 0, (6 + JOINTS) * sizeof *qvel);
    for (int j = 0; !crouches && j < 6; j++) qvel[j] = be_rng_uniform(rng, -0.5, 0.5);
    be_append(arrays[MJ_CTRL], qpos + 7, JOINTS);
    const int status = be_mujoco_begin_controlled(b, lane, error);
    memset(MJ_FIELD(b, LAST_ACTION, float, lane), 0, JOINTS * sizeof(float));
    be_mujoco_clear_info(b, lane, rows);
    see(b, lane);
    return status;
}
MJ_RESET(reset, start)

/* ---- rewards ----------------------------------------------------------------------------------------------- */

static void reward_joints(const be_batch *b, int64_t lane, const float *action, int in_air, double *terms) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *qpos = arrays[MJ_QPOS] + 7, *qvel = arrays[MJ_QVEL], *torque = be_mujoco_read_of(b, lane, BE_TORQUE);
    const double *ranges = be_mujoco_read_of(b, lane, RANGES) + 2;
    terms[ACTION_RATE] = be_action_rate(action, MJ_FIELD(b, LAST_ACTION, float, lane), NULL, JOINTS);
    terms[DOF_POS_LIMITS] = be_beyond_soft(qpos, ranges, be_param_of(b, SOFT_LIMIT, lane), JOINTS);
    terms[TORQUES] = be_squares(torque, JOINTS);
    terms[POSE] = be_squared_distance(qpos + in_air, be_pose_of(b, lane) + in_air, JOINTS / 2);
    terms[STAY_STILL] = be_squares(qvel, 2) + qvel[5] * qvel[5];
    terms[ENERGY] = be_power(qvel + 6, torque, JOINTS);
    terms[DOF_ACC] = be_squares(be_mujoco_read_of(b, lane, ACCELERATION) + 6, JOINTS);
}

/* wanted: the trunk's height, m. direction: where forwards is to point, 1 up or -1 down. in_air: the first joint of the
 * legs that are to be in the air. */
static int step_stand(be_batch *b, int64_t lane, const be_rows *rows, double wanted, int direction, int in_air,
                      be_error *error) {
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    const float *action = MJ_ACTION(b, rows, lane);
    const double facing = 0.5 * direction * be_mujoco_read_of(b, lane, XMAT)[6] + 0.5;
    double terms[TERMS];
    see(b, lane);
    (void)observe(b, &lane, 1, rows, error);
    reward_joints(b, lane, action, in_air, terms);
    terms[HEIGHT] = be_math.exp(fmin(be_mujoco_read_of(b, lane, XPOS)[2], wanted) - wanted);
    terms[ORIENTATION] = facing * facing;
    terms[CONTACT] = be_touches(b, lane, FOOT_FOUND, FEET);
    terms[TERMINATION] = be_mujoco_read_of(b, lane, BE_UPVECTOR)[2] < -0.25 ||
                         be_touches(b, lane, LEG_FOUND, LEG_GEOMS) || terms[ENERGY] > be_param_of(b, MOST_ENERGY, lane);
    be_write_reward(b, lane, rows, terms, TERMS, WEIGHT, TERM_INFO);
    rows->terminated[lane - rows->first] = terms[TERMINATION] != 0;
    memcpy(MJ_FIELD(b, LAST_ACTION, float, lane), action, JOINTS * sizeof *action);
    return BE_OK;
}
static int step_on_hands(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    return step_stand(b, lane, rows, 0.55, -1, JOINTS / 2, error);
}
static int step_on_feet(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    return step_stand(b, lane, rows, 0.53, 1, 0, error);
}

#define MEMBERS                                                                                                        \
    MJ_MEMBERS_OF("MuJoCo Playground"), .frames_per_second = 50, .state = state, .params = params, .ports = ports,     \
        .reads = reads, .prepare = prepare, .control = control, .reset = reset, .observe = observe
BE_ENV(go1_handstand) = {
    MEMBERS,
    .name = "Go1Handstand",
    .ids = MJ_ID("Go1Handstand-v0", 500, NULL),
    .step = step_on_hands,
};
BE_ENV(go1_footstand) = {
    MEMBERS,
    .name = "Go1Footstand",
    .ids = MJ_ID("Go1Footstand-v0", 500, NULL),
    .step = step_on_feet,
};
