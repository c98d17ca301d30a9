/* MuJoCo Playground's T1JoystickFlatTerrain and T1JoystickRoughTerrain: a Booster T1 that follows commands. The names
 * of params and rewards are Playground's. batchenv/envs/mujoco/playground.py has the model. */
#include "mujoco_biped.h"

enum { JOINTS = 23, FOOT_PARTS = 4 };

/* The parts of the reward: params with their weights, and infos. */
#define FOR_ALL_TERMS(DO)                                                                                              \
    BE_TRUNK_TERM_ROWS(DO, 1.0, 0.5, 0.0, -0.15, -1.0, 0.0)                                                            \
    BE_EFFORT_TERM_ROWS(DO, 0.0, 0.0, 0.0)                                                                             \
    BE_FEET_TERM_ROWS(DO, 0.0, 2.0, -0.25, 0.0, 1.0)                                                                   \
    BE_LIFE_TERM_ROWS(DO, 0.25, 0.0, 0.0)                                                                              \
    BE_POSE_TERM_ROWS(DO, -0.1, -0.1, -1.0, -1.0)                                                                      \
    DO(DOF_ACC, "dof_acc", 0.0, "squared accelerations of the joints")                                                 \
    DO(DOF_VEL, "dof_vel", 0.0, "squared velocities of the joints")                                                    \
    DO(FEET_DISTANCE, "feet_distance", -1.0, "how much closer than 0.2 m the feet are, sideways, m: at most 0.1")      \
    DO(COLLISION, "collision", -1.0, "the feet touching each other")
enum { DOF_ACC = BE_BIPED_TERMS, DOF_VEL, FEET_DISTANCE, COLLISION, TERMS };

enum { NOISE_JOINT_POS = BE_BIPED_WEIGHTS + TERMS };
static const be_param params[] = {
    BE_BIPED_PARAMS(1.0, 0.25, 0.12, 0.665, 1.0, 1.0, 0.8, 1.0),
    FOR_ALL_TERMS(BE_BIPED_WEIGHT)[NOISE_JOINT_POS] = BE_NOISE("joint_pos", 0.03, "rad"),
    {0},
};

static const be_port ports[] = {BE_BIPED_PORTS, FOR_ALL_TERMS(BE_BIPED_TERM){0}};
static const be_field state[] = {BE_BIPED_FIELDS(JOINTS), {0}};

enum { FOOT = BE_BIPED_FOUND + FOOT_PARTS * BE_LEGS, QACC = FOOT + 2 * BE_LEGS, FEET_TOUCH };
static const be_read reads[] = {
    BE_BIPED_READS("", "home", "imu"),
    [BE_BIPED_FOUND] = {"sensordata", "sensor", "left_foot_1_floor_found"},
    {"sensordata", "sensor", "left_foot_2_floor_found"},
    {"sensordata", "sensor", "left_foot_3_floor_found"},
    {"sensordata", "sensor", "left_foot_4_floor_found"},
    {"sensordata", "sensor", "right_foot_1_floor_found"},
    {"sensordata", "sensor", "right_foot_2_floor_found"},
    {"sensordata", "sensor", "right_foot_3_floor_found"},
    {"sensordata", "sensor", "right_foot_4_floor_found"},
    BE_BIPED_FEET_READS("left_foot", "right_foot"),
    [QACC] = {"qacc"},
    [FEET_TOUCH] = {"sensordata", "sensor", "left_foot_right_foot_found"},
    {0},
};

static const double stiffness[JOINTS] = {
    1,    1,                /* head */
    0.1,  1, 1, 1,          /* left arm */
    0.1,  1, 1, 1,          /* right arm */
    1,                      /* waist */
    0.01, 1, 1, 0.01, 1, 1, /* left leg: hip's pitch, roll and yaw, knee, ankle */
    0.01, 1, 1, 0.01, 1, 1, /* right leg */
};
static const be_biped t1 = {
    .parts = FOOT_PARTS,
    .stands = 1,
    .low_hz = 1.25,
    .high_hz = 1.75,
    .still = 0.1,
    .noise = NOISE_JOINT_POS,
    .stiffness = stiffness,
    .knees = {14, 20},
    .hips = {12, 13, 18, 19},
};

static int prepare(be_setup *setup, be_error *error) { return be_biped_prepare(setup, reads, JOINTS, error); }
BE_BIPED_EPISODES(t1)

/* How far apart the feet are, to the sides of the trunk, m. */
static double feet_distance(const be_batch *b, int64_t lane) {
    const double *xmat = be_mujoco_read_of(b, lane, BE_BIPED_XMAT);
    const double *left = be_mujoco_read_of(b, lane, FOOT), *right = be_mujoco_read_of(b, lane, FOOT + 1);
    const double yaw = be_math.atan2(xmat[3], xmat[0]);
    return fabs(be_math.cos(yaw) * (left[1] - right[1]) - be_math.sin(yaw) * (left[0] - right[0]));
}

/* The parts of the reward that are not those of other robots. */
static void reward(const be_batch *b, int64_t lane, double terms[TERMS]) {
    const double rise = be_mujoco_read_of(b, lane, BE_LINVEL)[2];
    const double *command = MJ_FIELD(b, BE_BIPED_COMMAND, double, lane);
    terms[BE_LIN_VEL_Z] = rise * rise; /* in the trunk's frame, as are the rates of roll and pitch */
    terms[BE_ANG_VEL_XY] = be_squares(be_mujoco_read_of(b, lane, BE_GYRO), 2);
    if (!(be_biped_speed(b, lane) > 0.1)) terms[BE_FEET_AIR_TIME] = 0;
    if (!(fabs(command[1]) > 0.1)) terms[BE_HIP] = 0;
    terms[DOF_ACC] = be_squares(be_mujoco_read_of(b, lane, QACC) + 6, JOINTS);
    terms[DOF_VEL] = be_squares(be_mujoco_arrays(b, lane)[MJ_QVEL] + 6, JOINTS);
    terms[FEET_DISTANCE] = fmin(fmax(0.2 - feet_distance(b, lane), 0), 0.1);
    terms[COLLISION] = be_touches(b, lane, FEET_TOUCH, 1);
    terms[BE_TERMINATION] = be_mujoco_read_of(b, lane, BE_UPVECTOR)[2] < 0;
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, BE_BIPED_UNSTABLE, error);
    if (status != BE_OK) return status;
    double terms[TERMS];
    be_biped_step(b, lane, rows, &t1, terms);
    reward(b, lane, terms);
    be_write_reward(b, lane, rows, terms, TERMS, BE_BIPED_WEIGHTS, BE_BIPED_INFOS);
    rows->terminated[lane - rows->first] = terms[BE_TERMINATION] != 0;
    be_biped_end(b, lane, rows, &t1);
    return BE_OK;
}

static const be_id ids[] = {
    {"T1JoystickFlatTerrain-v0", 1000, NULL, {{"task", .text = "flat_terrain"}}},
    {"T1JoystickRoughTerrain-v0", 1000, NULL, {{"task", .text = "rough_terrain"}}},
    {0},
};
BE_ENV(t1_joystick) = {
    BE_PLAYGROUND_MEMBERS,
    .name = "T1Joystick",
    .ids = ids,
    .control = be_biped_control,
};
