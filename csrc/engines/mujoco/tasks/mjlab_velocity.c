/* mjlab's velocity tasks on a plane: a Go1 or a G1 that follows commands. The names of rewards and of most params are
 * mjlab's. batchenv/envs/mujoco/mjlab.py has the models.
 *
 * mjlab computes rewards and ends of episodes from what the last of MuJoCo's steps has computed where it began, but
 * from the positions of joints where it ended; and observations from what mj_forward computes there, except for
 * contacts of feet. Here there is no mj_forward: what is observed follows from positions and velocities alone. */
#include "mujoco_locomotion.h"

/* The parts of the reward: params with their weights, and infos. */
#define FOR_ALL_TERMS(DO)                                                                                              \
    DO(TRACK_LINEAR, "track_linear_velocity", 2.0, "following the commanded velocity, and not moving up or down")      \
    DO(TRACK_ANGULAR, "track_angular_velocity", 2.0, "following the commanded turning rate, without roll and pitch")   \
    DO(UPRIGHT, "upright", 1.0, "holding the trunk, or torso, upright")                                                \
    DO(POSE, "pose", 1.0, "being near the pose of the keyframe init_state")                                            \
    DO(BODY_ANG_VEL, "body_ang_vel", 0.0, "squared rates of roll and pitch of the trunk, or torso")                    \
    DO(ANGULAR_MOMENTUM, "angular_momentum", 0.0, "squared angular momentum of the robot")                             \
    DO(DOF_POS_LIMITS, "dof_pos_limits", -1.0, "how far joints are beyond their soft limits, rad")                     \
    DO(ACTION_RATE, "action_rate_l2", -0.1, "squared change of the action")                                            \
    DO(AIR_TIME, "air_time", 0.0, "how many feet have been in the air neither too briefly nor too long")               \
    DO(FOOT_CLEARANCE, "foot_clearance", -2.0, "distance of moving feet from target_height")                           \
    DO(SWING_HEIGHT, "foot_swing_height", -0.25, "squared relative error of how high feet were, when they land")       \
    DO(FOOT_SLIP, "foot_slip", -0.1, "squared speed of feet on the floor")                                             \
    DO(SOFT_LANDING, "soft_landing", -1e-5, "forces on feet that land, N")                                             \
    DO(SELF_COLLISIONS, "self_collisions", 0.0, "MuJoCo's steps in which parts of the robot press on each other")
#define TERM(name, text, weight, doc) name,
enum { FOR_ALL_TERMS(TERM) TERMS };
#undef TERM

/* clang-format off */
enum { KICKS = 6 }; /* numbers of a velocity: x, y, z, roll, pitch, yaw */
enum {
    ACTION_SCALE = MJ_PARAMS, SOFT_LIMIT,
    NOISE_LEVEL, NOISE_LIN_VEL, NOISE_ANG_VEL, NOISE_GRAVITY, NOISE_JOINT_POS, NOISE_JOINT_VEL, ENCODER_BIAS,
    LINEAR_STD, ANGULAR_STD, UPRIGHT_STD, WALKING, RUNNING, TARGET_HEIGHT, ACTIVE,
    AIR_LEAST, AIR_MOST, AIR_ACTIVE, HARD, LIMIT_ANGLE,
    COMMAND_LOW, HEADING_LOW = COMMAND_LOW + 2 * BE_COMMAND, RESAMPLE = HEADING_LOW + 2,
    STANDING = RESAMPLE + 2, HEADING, FORWARD, STIFFNESS,
    PUSH_ENABLE, PUSH_INTERVAL, KICK = PUSH_INTERVAL + 2,
    WEIGHT = KICK + KICKS
};
/* clang-format on */
#define NOISE(name, value, unit) MJ_WITHIN("noise_" name, value, 0, 1e6, "noise of observations: " unit)
#define STD(name, value, unit) MJ_WITHIN(name "_std", value, 1e-9, 1e6, "at such an error, this reward is 1/e: " unit)
#define RANGE(at, name, least, most, doc)                                                                              \
    [at] = MJ_WITHIN(name "_min", least, -1e6, 1e6, "least " doc),                                                     \
    [(at) + 1] = MJ_WITHIN(name "_max", most, -1e6, 1e6, "largest " doc)
#define SHARE(name, value, doc) MJ_WITHIN("rel_" name "_envs", value, 0, 1, "share of commands " doc)
#define KICK_MOST(name, value, unit) MJ_WITHIN("push_" name, value, 0, 1e6, "largest change of velocity, " unit)
#define WEIGHT_PARAM(name, text, weight, doc) [WEIGHT + (name)] = MJ_WEIGHT("reward_" text, weight, doc),
static const be_param params[] = {
    MJ_SHARED_PARAMS(4),
    [ACTION_SCALE] =
        MJ_WEIGHT("action_scale", 0.25, "how far an action of 1 moves a joint's target: times effort / stiffness, rad"),
    [SOFT_LIMIT] =
        MJ_WITHIN("soft_joint_pos_limit_factor", 0.9, 0, 1e6, "soft limits of joints, relative to their range"),
    [NOISE_LEVEL] = NOISE("level", 1.0, "factor of all of it; 0: none"),
    [NOISE_LIN_VEL] = NOISE("base_lin_vel", 0.5, "m/s"),
    [NOISE_ANG_VEL] = NOISE("base_ang_vel", 0.2, "rad/s"),
    [NOISE_GRAVITY] = NOISE("projected_gravity", 0.05, "of a vector of length 1"),
    [NOISE_JOINT_POS] = NOISE("joint_pos", 0.01, "rad"),
    [NOISE_JOINT_VEL] = NOISE("joint_vel", 1.5, "rad/s"),
    [ENCODER_BIAS] = MJ_WITHIN("encoder_bias", 0.015, 0, 1e6, "largest error of joints' encoders in an episode, rad"),
    [LINEAR_STD] = STD("track_linear_velocity", 0.5, "m/s"),
    [ANGULAR_STD] = STD("track_angular_velocity", 0.7071067811865476, "rad/s"),
    [UPRIGHT_STD] = STD("upright", 0.4472135954999579, "sine of the tilt"),
    [WALKING] = MJ_WITHIN("walking_threshold", 0.05, 0, 1e6, "command from which the pose is a walker's, m/s + rad/s"),
    [RUNNING] = MJ_WITHIN("running_threshold", 1.5, 0, 1e6, "command from which it is a runner's"),
    [TARGET_HEIGHT] = MJ_WITHIN("target_height", 0.1, 1e-9, 1e6, "how high feet are to be lifted, m"),
    [ACTIVE] = MJ_WITHIN("command_threshold", 0.05, 0, 1e6, "command above which the use of feet is rewarded"),
    [AIR_LEAST] = MJ_WITHIN("air_time_threshold_min", 0.05, 0, 1e6, "longer than this in the air, s"),
    [AIR_MOST] = MJ_WITHIN("air_time_threshold_max", 0.5, 0, 1e6, "shorter than this in the air, s"),
    [AIR_ACTIVE] = MJ_WITHIN("air_time_command_threshold", 0.5, 0, 1e6, "command above which air_time counts"),
    [HARD] = MJ_WITHIN("self_collision_force_threshold", 10, 0, 1e6, "above which it counts, N"),
    [LIMIT_ANGLE] = MJ_WITHIN("limit_angle", 1.2217304763960306, 0, M_PI, "tilt beyond which the robot fell over, rad"),
    RANGE(COMMAND_LOW, "command_lin_vel_x", -1, 1, "command, m/s forwards"),
    RANGE(COMMAND_LOW + 2, "command_lin_vel_y", -1, 1, "command, m/s to the left"),
    RANGE(COMMAND_LOW + 4, "command_ang_vel_z", -0.5, 0.5, "command, rad/s"),
    RANGE(HEADING_LOW, "command_heading", -M_PI, M_PI, "heading to turn to, rad"),
    RANGE(RESAMPLE, "command_resampling_time", 3, 8, "time of a command, s"),
    [STANDING] = SHARE("standing", 0.1, "to stand"),
    [HEADING] = SHARE("heading", 0.3, "to turn to a heading"),
    [FORWARD] = SHARE("forward", 0.2, "to walk straight on"),
    [STIFFNESS] = MJ_WITHIN("heading_control_stiffness", 0.5, -1e6, 1e6, "turning rate per error of the heading, 1/s"),
    [PUSH_ENABLE] = {"push_enable", BE_PARAM_BOOL, 1, 0, 1, NULL, "change the robot's velocity now and then", 0, 1},
    RANGE(PUSH_INTERVAL, "push_interval", 1, 3, "time between pushes, s"),
    [KICK] = KICK_MOST("x", 0.5, "m/s"),
    [KICK + 1] = KICK_MOST("y", 0.5, "m/s"),
    [KICK + 2] = KICK_MOST("z", 0.4, "m/s"),
    [KICK + 3] = KICK_MOST("roll", 0.52, "rad/s"),
    [KICK + 4] = KICK_MOST("pitch", 0.52, "rad/s"),
    [KICK + 5] = KICK_MOST("yaw", 0.78, "rad/s"),
    FOR_ALL_TERMS(WEIGHT_PARAM){0},
};

/* ---- ports, state --------------------------------------------------------------------------------------- */

enum { ACTOR = MJ_OBSERVATION_PORT, CRITIC = MJ_PORTS, UNSTABLE, TERM_INFO };
#define TERM_PORT(name, text, weight, doc) [TERM_INFO + (name)] = MJ_INFO_STEP("reward/" text, doc),
static const be_port ports[] = {
    [MJ_ACTION_PORT] = {"", BE_ACTION},
    [ACTOR] = {"actor", BE_OBSERVATION},
    [CRITIC] = {"critic", BE_OBSERVATION, BE_BOX(BE_F32, -HUGE_VAL, HUGE_VAL, 1)},
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    FOR_ALL_TERMS(TERM_PORT){0},
};

/* prepare() says how many numbers fields of joints and feet have. A foot's timer says for how many seconds it has been
 * in the air or, below 0, on the floor. */
/* clang-format off */
enum {
    LAST_ACTOR = MJ_FIELDS, LAST_CRITIC, LAST_ACTION, COMMAND, COMMAND_LEFT, HEADING_TARGET, IS_HEADING, IS_STANDING,
    PUSH_LEFT, BIAS, TIMER, NEXT_TIMER, PEAK, HEIGHT, CONTACT
};
/* clang-format on */
static const be_field state[] = {
    MJ_SHARED_STATE,
    [LAST_ACTOR] = {"last_actor", BE_F32, 1, "the last observation of the actor, whose noise is drawn once"},
    [LAST_CRITIC] = {"last_critic", BE_F32, 1, "that of the critic"},
    [LAST_ACTION] = {"last_action", BE_F32, 1, "the last action"},
    [COMMAND] = BE_COMMAND_FIELD,
    [COMMAND_LEFT] = {"command_time_left", BE_F64, 1, "until the command changes, s"},
    [HEADING_TARGET] = {"heading_target", BE_F64, 1, "the heading to turn to, rad"},
    [IS_HEADING] = {"is_heading", BE_BOOL, 1, "whether the command is to turn to that heading"},
    [IS_STANDING] = {"is_standing", BE_BOOL, 1, "whether the command is to stand"},
    [PUSH_LEFT] = {"push_time_left", BE_F64, 1, "until the next push, s"},
    [BIAS] = {"encoder_bias", BE_F64, 1, "what encoders of joints add in this episode, rad"},
    [TIMER] = {"foot_timer", BE_F32, 1, "how long each foot has been in the air or, below 0, on the floor, s"},
    [NEXT_TIMER] = {"next_foot_timer", BE_F32, 1, "the same while a step is under way"},
    [PEAK] = {"peak_height", BE_F64, 1, "how high each foot has been since it landed, m"},
    [HEIGHT] = {"foot_height", BE_F64, 1, "of each foot, as last observed, m"},
    [CONTACT] = {"foot_contact", BE_BOOL, 1, "whether each foot is on the floor"},
    {0},
};
static double *numbers(const be_batch *b, int field, int64_t lane) { return MJ_FIELD(b, field, double, lane); }
static float *timer_of(const be_batch *b, int64_t lane) { return MJ_FIELD(b, TIMER, float, lane); }
static float *next_timer_of(const be_batch *b, int64_t lane) { return MJ_FIELD(b, NEXT_TIMER, float, lane); }

/* ---- the model ------------------------------------------------------------------------------------------ */

/* Feet, and legs from the base to the foot, follow each other in the model's order. */
#define LEG "(FR|FL|RR|RL)_(hip|thigh|calf)|(left|right)_(hip_(pitch|roll|yaw)|knee|ankle_(pitch|roll))"
#define FOOT_SITE "FR|FL|RR|RL|(left|right)_foot"
#define FOOT_GEOM "(FR|FL|RR|RL)_foot_collision|(left|right)_foot[1-7]_collision"
#define FOOT_BODY "(FR|FL|RR|RL)_calf|(left|right)_ankle_roll_link"
#define BASE "trunk|pelvis"
#define TORSO "trunk|torso_link"
/* clang-format off */
enum {
    LINVEL, GYRO, MOMENTUM, HOME, IMU, RANGES, EFFORT, GAIN, TOLERANCES, BASE_MAT, BASE_CENTRE, TORSO_MAT, TORSO_VEL,
    FORCE, SELF_FORCE, SITE, FOOT_VEL, SITE_AT, LEG_POS, LEG_QUAT, LEG_AXIS, LEG_ANGLE, GEOM_POS, GEOM_QUAT, GEOM_SIZE
};
/* clang-format on */
static const be_read reads[] = {
    [LINVEL] = {"sensordata", "sensor", "imu_lin_vel"},
    [GYRO] = {"sensordata", "sensor", "imu_ang_vel"},
    [MOMENTUM] = {"sensordata", "sensor", "root_angmom"},
    [HOME] = {"model.key_qpos", "key", "init_state"},
    [IMU] = {"model.site_pos", "site", "imu|imu_in_pelvis"},
    [RANGES] = {"model.jnt_range"},
    [EFFORT] = {"model.actuator_forcerange", "actuator", ".*"},
    [GAIN] = {"model.actuator_gainprm", "actuator", ".*"},
    [TOLERANCES] = {"model.jnt_user"},
    [BASE_MAT] = {"xmat", "body", BASE},
    [BASE_CENTRE] = {"subtree_com", "body", BASE},
    [TORSO_MAT] = {"xmat", "body", TORSO},
    [TORSO_VEL] = {"cvel", "body", TORSO},
    [FORCE] = {"sensordata", "sensor", "feet_ground_contact_.*_force"},
    [SELF_FORCE] = {"sensordata", "sensor", "self_collision_.*_force"},
    [SITE] = {"site_xpos", "site", FOOT_SITE},
    [FOOT_VEL] = {"cvel", "body", FOOT_BODY},
    [SITE_AT] = {"model.site_pos", "site", FOOT_SITE},
    [LEG_POS] = {"model.body_pos", "body", "(" LEG ")(_link)?"},
    [LEG_QUAT] = {"model.body_quat", "body", "(" LEG ")(_link)?"},
    [LEG_AXIS] = {"model.jnt_axis", "joint", "(" LEG ")_joint"},
    [LEG_ANGLE] = {"qpos", "joint", "(" LEG ")_joint"},
    [GEOM_POS] = {"model.geom_pos", "geom", FOOT_GEOM},
    [GEOM_QUAT] = {"model.geom_quat", "geom", FOOT_GEOM},
    [GEOM_SIZE] = {"model.geom_size", "geom", FOOT_GEOM},
    {0},
};

enum { MOST_FEET = 8 };

static int64_t joints_of(const be_batch *b) { return be_mujoco_of(b)->num_ctrl; }
static int64_t feet_of(const be_batch *b) { return be_mujoco_count_of(b, FORCE); }
static const double *pose_of(const be_batch *b, int64_t lane) { return be_mujoco_read_of(b, lane, HOME) + 7; }

static int prepare(be_setup *setup, be_error *error) {
    const be_mujoco_view *model = setup->engine;
    const int64_t joints = model->num_ctrl, feet = model->reads[FORCE].count;
    if (be_check_robot(setup, reads, joints, error) != BE_OK) return error->status;
    const int64_t links = model->reads[LEG_POS].count, geoms = model->reads[GEOM_POS].count;
    if (feet > MOST_FEET || model->reads[SITE].count != feet || model->reads[FOOT_VEL].count != feet ||
        links % feet != 0 || model->reads[LEG_AXIS].count != links || geoms % feet != 0) {
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "xml_file: the model must have %lld feet with a site each, and as many joints and geoms each",
                       (long long)feet);
    }
    const int64_t actor = 3 * 3 + 3 * joints + BE_COMMAND, critic = actor + 3 * feet + 3 * feet;
    const int64_t sizes[] = {[LAST_ACTOR] = actor, [LAST_CRITIC] = critic, [LAST_ACTION] = joints,
                             [BIAS] = joints,      [TIMER] = feet,         [NEXT_TIMER] = feet,
                             [PEAK] = feet,        [HEIGHT] = feet,        [CONTACT] = feet};
    for (int field = 0; field <= CONTACT; field++) {
        if (sizes[field]) setup->field_size[field] = (int)sizes[field];
    }
    const int status = be_mujoco_spaces_between(setup, actor, 7 + joints, 6 + joints, -HUGE_VAL, HUGE_VAL, error);
    be_space_box(&setup->space[ACTOR], BE_F32, 1, &actor, -HUGE_VAL, HUGE_VAL);
    be_space_box(&setup->space[CRITIC], BE_F32, 1, &critic, -HUGE_VAL, HUGE_VAL);
    return status;
}

static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    const double *pose = pose_of(b, lane), *bias = numbers(b, BIAS, lane), scale = be_param_of(b, ACTION_SCALE, lane);
    for (int64_t j = 0; j < joints_of(b); j++) {
        const double effort = be_mujoco_read_at(b, lane, EFFORT, j)[1], gain = be_mujoco_read_at(b, lane, GAIN, j)[0];
        controls[j] = pose[j] + (double)action[j] * (scale * effort / gain) - bias[j];
    }
}

/* ---- where feet are, from positions alone ------------------------------------------------------------- */

static void cross(const double a[3], const double b[3], double product[3]) {
    product[0] = a[1] * b[2] - a[2] * b[1];
    product[1] = a[2] * b[0] - a[0] * b[2];
    product[2] = a[0] * b[1] - a[1] * b[0];
}

/* Turns a vector of the world, or of a body's parent, into the frame that `quat` turns. */
static void into(const double quat[4], double v[3]) {
    double once[3], twice[3];
    cross(quat + 1, v, once);
    cross(quat + 1, once, twice);
    for (int j = 0; j < 3; j++) v[j] += 2 * (twice[j] - quat[0] * once[j]);
}

static double dot3(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Where the base's frame is turned to, as a quaternion of length 1. */
static void orientation_of(const double *qpos, double quat[4]) {
    const double length = sqrt(be_squares(qpos + 3, 4));
    for (int j = 0; j < 4; j++) quat[j] = length > 0 ? qpos[3 + j] / length : j == 0;
}

/* How high the lowest point of a foot's geoms is above their body. up: the vertical in the body's frame. */
static double lowest_of(const be_batch *b, int64_t lane, int64_t foot, const double up[3]) {
    const int64_t count = be_mujoco_count_of(b, GEOM_POS) / feet_of(b);
    double low = HUGE_VAL;
    for (int64_t k = foot * count; k < (foot + 1) * count; k++) {
        const double *quat = be_mujoco_read_at(b, lane, GEOM_QUAT, k), *size = be_mujoco_read_at(b, lane, GEOM_SIZE, k);
        const double w = quat[0], x = quat[1], y = quat[2], z = quat[3];
        const double axis[3] = {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)};
        const double middle = dot3(up, be_mujoco_read_at(b, lane, GEOM_POS, k));
        low = fmin(low, middle - size[0] - size[1] * fabs(dot3(up, axis))); /* a sphere's size[1] is 0 */
    }
    return low;
}

/* Sets the heights of the feet's sites and, unless it is NULL, whether feet touch the floor, where z is 0. */
static void look(const be_batch *b, int64_t lane, const double *qpos, double *height, uint8_t *contact) {
    const int64_t feet = feet_of(b), depth = be_mujoco_count_of(b, LEG_POS) / feet;
    const int64_t *angle = be_mujoco_of(b)->reads[LEG_ANGLE].first;
    double base[4];
    orientation_of(qpos, base);
    for (int64_t foot = 0; foot < feet; foot++) {
        double up[3] = {0, 0, 1}, z = qpos[2], half[4];
        into(base, up);
        for (int64_t k = foot * depth; k < (foot + 1) * depth; k++) {
            z += dot3(up, be_mujoco_read_at(b, lane, LEG_POS, k));
            into(be_mujoco_read_at(b, lane, LEG_QUAT, k), up);
            const double *axis = be_mujoco_read_at(b, lane, LEG_AXIS, k), turned = qpos[angle[k]] / 2;
            half[0] = be_math.cos(turned);
            const double sine = be_math.sin(turned);
            for (int j = 0; j < 3; j++) half[1 + j] = sine * axis[j];
            into(half, up);
        }
        contact[foot] = z + lowest_of(b, lane, foot, up) <= 0;
        height[foot] = z + dot3(up, be_mujoco_read_at(b, lane, SITE_AT, foot));
    }
}

/* Lets the timers run for one of MuJoCo's steps: in float32, since rewards compare them with multiples of the step. */
static void run_timers(const be_batch *b, float *timer, const uint8_t *contact) {
    const float dt = (float)be_mujoco_of(b)->timestep;
    for (int64_t k = 0; k < feet_of(b); k++) timer[k] = contact[k] ? fminf(timer[k], 0) - dt : fmaxf(timer[k], 0) + dt;
}

/* The same for the first step. It may be done more than once, since it begins with the timers of the step before. */
static void begin_timers(const be_batch *b, int64_t lane) {
    float *next = next_timer_of(b, lane);
    memcpy(next, timer_of(b, lane), (size_t)feet_of(b) * sizeof *next);
    run_timers(b, next, MJ_FIELD(b, CONTACT, uint8_t, lane));
}

/* Lets the timers run for the steps after the first. Only NEXT_TIMER changes, which nobody reads before the step has
 * ended, and which begins anew where a step is repeated. */
static void recontrol(const be_batch *b, int64_t lane, const float *action, int64_t step, const double *qpos,
                      const double *qvel, double *controls) {
    (void)action, (void)qvel, (void)controls;
    double height[MOST_FEET];
    uint8_t contact[MOST_FEET];
    if (step == 1) begin_timers(b, lane);
    look(b, lane, qpos, height, contact);
    run_timers(b, next_timer_of(b, lane), contact);
}

/* ---- observations --------------------------------------------------------------------------------------- */

static float *see_joints(be_batch *b, int64_t lane, float *row, int noisy) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *pose = pose_of(b, lane), *bias = numbers(b, BIAS, lane), level = be_param_of(b, NOISE_LEVEL, lane);
    const int64_t joints = joints_of(b);
    be_rng *rng = noisy ? &b->rng[lane] : NULL;
    for (int64_t j = 0; j < joints; j++) {
        const double angle = arrays[MJ_QPOS][7 + j] + (noisy ? bias[j] : 0) - pose[j];
        row = be_append_noisy(row, &angle, 1, be_param_of(b, NOISE_JOINT_POS, lane) * level, rng);
    }
    row = be_append_noisy(row, arrays[MJ_QVEL] + 6, joints, be_param_of(b, NOISE_JOINT_VEL, lane) * level, rng);
    memcpy(row, MJ_FIELD(b, LAST_ACTION, float, lane), (size_t)joints * sizeof *row);
    return be_append_f32(row + joints, numbers(b, COMMAND, lane), BE_COMMAND);
}

/* Computes the lane's observations, of which the actor's has noise. */
static void see(be_batch *b, int64_t lane) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *qvel = arrays[MJ_QVEL], *turns = qvel + 3, *at = be_mujoco_read_of(b, lane, IMU);
    const double level = be_param_of(b, NOISE_LEVEL, lane);
    double base[4], velocity[3] = {qvel[0], qvel[1], qvel[2]}, gravity[3] = {0, 0, -1}, more[3];
    orientation_of(arrays[MJ_QPOS], base);
    into(base, velocity);
    into(base, gravity);
    cross(turns, at, more);
    for (int j = 0; j < 3; j++) velocity[j] += more[j];
    float *row = MJ_FIELD(b, LAST_ACTOR, float, lane);
    row = be_append_noisy(row, velocity, 3, be_param_of(b, NOISE_LIN_VEL, lane) * level, &b->rng[lane]);
    row = be_append_noisy(row, turns, 3, be_param_of(b, NOISE_ANG_VEL, lane) * level, &b->rng[lane]);
    row = be_append_noisy(row, gravity, 3, be_param_of(b, NOISE_GRAVITY, lane) * level, &b->rng[lane]);
    (void)see_joints(b, lane, row, 1);

    row = be_append_f32(MJ_FIELD(b, LAST_CRITIC, float, lane), velocity, 3);
    row = be_append_f32(row, turns, 3);
    row = be_append_f32(row, gravity, 3);
    row = see_joints(b, lane, row, 0);
    row = be_append_f32(row, numbers(b, HEIGHT, lane), feet_of(b));
    for (int64_t k = 0; k < feet_of(b); k++) *row++ = fmaxf(timer_of(b, lane)[k], 0);
    for (int64_t k = 0; k < feet_of(b); k++) { /* before a step, timers are 0 */
        const float timer = timer_of(b, lane)[k];
        *row++ = timer != 0 ? timer < 0 : MJ_FIELD(b, CONTACT, uint8_t, lane)[k];
    }
    for (int64_t k = 0; k < feet_of(b); k++) {
        const double *force = be_mujoco_read_at(b, lane, FORCE, k);
        for (int j = 0; j < 3; j++) *row++ = (float)copysign(be_math.log1p(fabs(force[j])), force[j]);
    }
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    static const int fields[][2] = {{LAST_ACTOR, ACTOR}, {LAST_CRITIC, CRITIC}};
    for (int64_t k = 0; k < count; k++) {
        for (int j = 0; j < 2; j++) {
            const int size = b->field_size[fields[j][0]];
            memcpy(BE_ROW(float, rows->port[fields[j][1]], rows, lanes[k], size),
                   MJ_FIELD(b, fields[j][0], float, lanes[k]), (size_t)size * sizeof(float));
        }
    }
    return BE_OK;
}

/* To be called at the end of each step and reset, when the lane is where its next step begins. */
static void end(be_batch *b, int64_t lane) {
    double *height = numbers(b, HEIGHT, lane);
    look(b, lane, be_mujoco_arrays(b, lane)[MJ_QPOS], height, MJ_FIELD(b, CONTACT, uint8_t, lane));
    /* mjlab's rays reach 1 m down, and no floor where the foot's site is below it. */
    for (int64_t k = 0; k < feet_of(b); k++) height[k] = fmin(fmax(height[k], 0), 1);
    see(b, lane);
}

/* ---- commands, pushes ---------------------------------------------------------------------------------- */

static void draw_command(be_batch *b, int64_t lane) {
    double *command = numbers(b, COMMAND, lane);
    be_rng *rng = &b->rng[lane];
    *numbers(b, COMMAND_LEFT, lane) = be_draw_between(b, lane, RESAMPLE);
    for (int j = 0; j < BE_COMMAND; j++) command[j] = be_draw_between(b, lane, COMMAND_LOW + 2 * j);
    *numbers(b, HEADING_TARGET, lane) = be_draw_between(b, lane, HEADING_LOW);
    *MJ_FIELD(b, IS_HEADING, uint8_t, lane) = be_rng_double(rng) < be_param_of(b, HEADING, lane);
    *MJ_FIELD(b, IS_STANDING, uint8_t, lane) = be_rng_double(rng) < be_param_of(b, STANDING, lane);
    if (be_rng_double(rng) >= be_param_of(b, FORWARD, lane)) return;
    command[0] = fmax(fabs(command[0]), 0.3);
    command[1] = command[2] = 0;
}

/* A command to turn to a heading says how quickly, anew in each step, even where the robot is to walk straight on. */
static void update_command(be_batch *b, int64_t lane) {
    double *command = numbers(b, COMMAND, lane), quat[4];
    if (*MJ_FIELD(b, IS_HEADING, uint8_t, lane)) {
        orientation_of(be_mujoco_arrays(b, lane)[MJ_QPOS], quat);
        const double w = quat[0], x = quat[1], y = quat[2], z = quat[3];
        const double heading = be_math.atan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z));
        const double error = be_math.remainder(*numbers(b, HEADING_TARGET, lane) - heading, 2 * M_PI);
        const double low = be_param_of(b, COMMAND_LOW + 4, lane), high = be_param_of(b, COMMAND_LOW + 5, lane);
        command[2] = fmin(fmax(be_param_of(b, STIFFNESS, lane) * error, low), high);
    }
    if (*MJ_FIELD(b, IS_STANDING, uint8_t, lane)) memset(command, 0, BE_COMMAND * sizeof *command);
}

/* Velocities of a point of a body along the world's axes, from the body's cvel. */
static void velocity_at(const be_batch *b, int64_t lane, const double cvel[6], const double point[3], double v[3]) {
    const double *centre = be_mujoco_read_of(b, lane, BASE_CENTRE);
    cross(cvel, (const double[]){point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]}, v);
    for (int j = 0; j < 3; j++) v[j] += cvel[3 + j];
}

/* The base's velocities along its own axes, before the last of MuJoCo's steps: linear, and the turning rates. */
static void base_velocities(const be_batch *b, int64_t lane, double linear[3], double turns[3]) {
    const double *seen = be_mujoco_read_of(b, lane, LINVEL), *at = be_mujoco_read_of(b, lane, IMU);
    memcpy(turns, be_mujoco_read_of(b, lane, GYRO), 3 * sizeof *turns);
    cross(turns, at, linear);
    for (int j = 0; j < 3; j++) linear[j] = seen[j] - linear[j];
}

static void out_of(const double mat[9], const double v[3], double world[3]) {
    for (int j = 0; j < 3; j++) world[j] = dot3(mat + 3 * j, v);
}

/* Adds to the base's velocities, as they were before the last of MuJoCo's steps: so mjlab does it. */
static void push(be_batch *b, int64_t lane) {
    double *left = numbers(b, PUSH_LEFT, lane), *const *arrays = be_mujoco_arrays(b, lane), *qvel = arrays[MJ_QVEL];
    *left -= be_mujoco_dt(b);
    if (*left >= 1e-6) return;
    *left = be_draw_between(b, lane, PUSH_INTERVAL);
    if (be_param_of(b, PUSH_ENABLE, lane) == 0) return;
    const double *mat = be_mujoco_read_of(b, lane, BASE_MAT);
    double linear[3], turns[3], world[KICKS], base[4];
    base_velocities(b, lane, linear, turns);
    out_of(mat, linear, world);
    out_of(mat, turns, world + 3);
    for (int j = 0; j < KICKS; j++) {
        const double most = be_param_of(b, KICK + j, lane);
        world[j] += be_rng_uniform(&b->rng[lane], -most, most);
    }
    orientation_of(arrays[MJ_QPOS], base);
    into(base, world + 3);
    memcpy(qvel, world, KICKS * sizeof *qvel);
    be_mujoco_put_velocities(b, lane);
}

/* ---- episodes ------------------------------------------------------------------------------------------- */

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane), *qpos = arrays[MJ_QPOS];
    const int64_t joints = joints_of(b);
    const size_t feet = (size_t)feet_of(b);
    be_rng *rng = &b->rng[lane];
    be_append(qpos, be_mujoco_read_of(b, lane, HOME), 7 + joints);
    for (int j = 0; j < 2; j++) qpos[j] += be_rng_uniform(rng, -0.5, 0.5);
    qpos[2] += be_rng_uniform(rng, 0.01, 0.05);
    be_turn(qpos + 3, be_rng_uniform(rng, -3.14, 3.14));
    memset(arrays[MJ_QVEL], 0, (size_t)(6 + joints) * sizeof(double));
    const int status = be_mujoco_begin(b, lane, error);

    const double most = be_param_of(b, ENCODER_BIAS, lane);
    for (int64_t j = 0; j < joints; j++) numbers(b, BIAS, lane)[j] = be_rng_uniform(rng, -most, most);
    memset(MJ_FIELD(b, LAST_ACTION, float, lane), 0, (size_t)joints * sizeof(float));
    memset(timer_of(b, lane), 0, feet * sizeof(float));
    memset(next_timer_of(b, lane), 0, feet * sizeof(float));
    memset(numbers(b, PEAK, lane), 0, feet * sizeof(double));
    *numbers(b, PUSH_LEFT, lane) = be_draw_between(b, lane, PUSH_INTERVAL);
    draw_command(b, lane);
    update_command(b, lane);
    be_mujoco_clear_info(b, lane, rows);
    end(b, lane);
    return status;
}
MJ_RESET(reset, start)

/* ---- rewards -------------------------------------------------------------------------------------------- */

static double near(const be_batch *b, int64_t lane, double squared_error, int std) {
    return be_tracking(squared_error, be_param_of(b, std, lane) * be_param_of(b, std, lane));
}

/* How fast the robot is to move: m/s and rad/s in one number. */
static double speed_of(const double *command) { return sqrt(be_squares(command, 2)) + fabs(command[2]); }

static void reward_body(const be_batch *b, int64_t lane, const double *command, double terms[TERMS]) {
    const double *momentum = be_mujoco_read_of(b, lane, MOMENTUM), *force = be_mujoco_read_of(b, lane, SELF_FORCE);
    double linear[3], turns[3];
    base_velocities(b, lane, linear, turns);
    const double turned = command[2] - turns[2];
    terms[TRACK_LINEAR] = near(b, lane, be_squared_distance(command, linear, 2) + linear[2] * linear[2], LINEAR_STD);
    terms[TRACK_ANGULAR] = near(b, lane, turned * turned + be_squares(turns, 2), ANGULAR_STD);
    terms[UPRIGHT] = near(b, lane, be_squares(be_mujoco_read_of(b, lane, TORSO_MAT) + 6, 2), UPRIGHT_STD);
    terms[BODY_ANG_VEL] = be_squares(be_mujoco_read_of(b, lane, TORSO_VEL), 2);
    terms[ANGULAR_MOMENTUM] = be_squares(momentum, 3);
    /* mjlab looks at each of MuJoCo's steps; here, the last one stands for all of them. */
    terms[SELF_COLLISIONS] =
        sqrt(be_squares(force, 3)) > be_param_of(b, HARD, lane) ? be_param_of(b, MJ_FRAME_SKIP, 0) : 0;
}

static void reward_joints(const be_batch *b, int64_t lane, const float *action, double speed, double terms[TERMS]) {
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS] + 7, *pose = pose_of(b, lane);
    const double *ranges = be_mujoco_read_of(b, lane, RANGES) + 2, soft = be_param_of(b, SOFT_LIMIT, lane);
    const double *std = be_mujoco_read_of(b, lane, TOLERANCES) + 3;
    const int gait = speed < be_param_of(b, WALKING, lane) ? 0 : speed < be_param_of(b, RUNNING, lane) ? 1 : 2;
    const float *last = MJ_FIELD(b, LAST_ACTION, float, lane);
    const int64_t joints = joints_of(b);
    double beyond = 0, off = 0, changed = 0;
    for (int64_t j = 0; j < joints; j++) {
        const double low = ranges[2 * j], high = ranges[2 * j + 1], middle = (low + high) / 2;
        const double half = 0.5 * (high - low) * soft, gap = (qpos[j] - pose[j]) / std[3 * j + gait];
        const double change = (double)action[j] - (double)last[j];
        beyond += fmax(middle - half - qpos[j], 0) + fmax(qpos[j] - middle - half, 0);
        off += gap * gap;
        changed += change * change;
    }
    terms[POSE] = be_math.exp(-off / (double)joints);
    terms[DOF_POS_LIMITS] = beyond;
    terms[ACTION_RATE] = changed;
}

static void reward_feet(const be_batch *b, int64_t lane, double speed, double terms[TERMS]) {
    const float *timer = timer_of(b, lane), just = (float)(be_mujoco_dt(b) + 1e-6);
    const float least = (float)be_param_of(b, AIR_LEAST, lane), longest = (float)be_param_of(b, AIR_MOST, lane);
    const double *height = numbers(b, HEIGHT, lane), wanted = be_param_of(b, TARGET_HEIGHT, lane);
    const double active = speed > be_param_of(b, ACTIVE, lane);
    double *peak = numbers(b, PEAK, lane), flying = 0, clearance = 0, swing = 0, slip = 0, landing = 0;
    for (int64_t k = 0; k < feet_of(b); k++) {
        const int contact = timer[k] < 0, lands = contact && -timer[k] < just;
        double v[3];
        velocity_at(b, lane, be_mujoco_read_at(b, lane, FOOT_VEL, k), be_mujoco_read_at(b, lane, SITE, k), v);
        const double moved = be_squares(v, 2);
        flying += timer[k] > least && timer[k] < longest;
        clearance += fabs(height[k] - wanted) * sqrt(moved); /* the height is that of the last observation */
        if (contact)
            slip += moved;
        else
            peak[k] = fmax(peak[k], height[k]);
        if (!lands) continue;
        swing += (peak[k] / wanted - 1) * (peak[k] / wanted - 1);
        landing += sqrt(be_squares(be_mujoco_read_at(b, lane, FORCE, k), 3));
        peak[k] = 0;
    }
    terms[AIR_TIME] = speed > be_param_of(b, AIR_ACTIVE, lane) ? flying : 0;
    terms[FOOT_CLEARANCE] = clearance * active;
    terms[SWING_HEIGHT] = swing * active;
    terms[FOOT_SLIP] = slip * active;
    terms[SOFT_LANDING] = landing * active;
}

/* Weighs the parts of the reward, and writes them and the reward: their sum per second. */
static void write_reward(const be_batch *b, int64_t lane, const be_rows *rows, const double terms[TERMS]) {
    double sum = 0;
    for (int k = 0; k < TERMS; k++) {
        const double weighted = terms[k] * be_param_of(b, WEIGHT + k, lane);
        MJ_INFO(rows, TERM_INFO + k, lane) = isfinite(weighted) ? weighted : 0;
        sum += MJ_INFO(rows, TERM_INFO + k, lane);
    }
    rows->reward[lane - rows->first] = sum * be_mujoco_dt(b);
}

static int step(be_batch *b, int64_t lane, int64_t last, const be_rows *rows, be_error *error) {
    (void)last;
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    const float *action = MJ_ACTION(b, rows, lane);
    const double *command = numbers(b, COMMAND, lane), speed = speed_of(command);
    double terms[TERMS], *left = numbers(b, COMMAND_LEFT, lane);
    if (be_param_of(b, MJ_FRAME_SKIP, 0) == 1) begin_timers(b, lane);
    memcpy(timer_of(b, lane), next_timer_of(b, lane), (size_t)feet_of(b) * sizeof(float));
    reward_body(b, lane, command, terms);
    reward_joints(b, lane, action, speed, terms);
    reward_feet(b, lane, speed, terms);
    write_reward(b, lane, rows, terms);
    /* The cosine of the base's tilt. */
    rows->terminated[lane - rows->first] =
        be_mujoco_read_of(b, lane, BASE_MAT)[8] < be_math.cos(be_param_of(b, LIMIT_ANGLE, lane));

    memcpy(MJ_FIELD(b, LAST_ACTION, float, lane), action, (size_t)joints_of(b) * sizeof *action);
    push(b, lane);
    *left -= be_mujoco_dt(b);
    if (*left <= 0) draw_command(b, lane);
    update_command(b, lane);
    end(b, lane);
    return observe(b, &lane, 1, rows, error);
}

static const be_id ids[] = {
    {"Mjlab-Velocity-Flat-Unitree-Go1-v0", 1000, NULL, {{"robot", .text = "go1"}}},
    {"Mjlab-Velocity-Flat-Unitree-G1-v0",
     1000,
     NULL,
     {{"robot", .text = "g1"},
      {"reward_body_ang_vel", -0.05},
      {"reward_angular_momentum", -0.02},
      {"reward_self_collisions", -1.0}}},
    {0},
};
BE_ENV(mjlab_velocity) = {
    MJ_MEMBERS_OF("mjlab"),
    .name = "MjlabVelocity",
    .ids = ids,
    .frames_per_second = 50,
    .state = state,
    .params = params,
    .ports = ports,
    .reads = reads,
    .prepare = prepare,
    .control = control,
    .recontrol = recontrol,
    .reset = reset,
    .observe = observe,
    .step = step,
};
