/* MuJoCo Playground's G1JoystickFlatTerrain and G1JoystickRoughTerrain: a G1 that follows commands. The names of params
 * and rewards are Playground's. batchenv/envs/mujoco/playground.py has the model. */
#include "mujoco_biped.h"

enum { JOINTS = 29 };
enum { LEFT_HIP_ROLL = 1, LEFT_HIP_YAW, LEFT_KNEE, RIGHT_HIP_ROLL = 7, RIGHT_HIP_YAW, RIGHT_KNEE };

/* The parts of the reward: params with their weights, and infos. */
#define FOR_ALL_TERMS(DO)                                                                                              \
    BE_TRUNK_TERM_ROWS(DO, 1.0, 0.75, 0.0, -0.15, -2.0, 0.0)                                                           \
    BE_EFFORT_TERM_ROWS(DO, 0.0, 0.0, 0.0)                                                                             \
    BE_FEET_TERM_ROWS(DO, 0.0, 2.0, -0.25, 0.0, 1.0)                                                                   \
    BE_LIFE_TERM_ROWS(DO, 0.0, -1.0, -100.0)                                                                           \
    BE_POSE_TERM_ROWS(DO, -0.1, -0.25, -1.0, -0.1)                                                                     \
    DO(DOF_ACC, "dof_acc", 0.0, "squared accelerations of the joints")                                                 \
    DO(COLLISION, "collision", -0.1, "a hand touching its thigh")                                                      \
    DO(CONTACT_FORCE, "contact_force", -0.01, "forces at the feet beyond max_contact_force, N")
enum { DOF_ACC = BE_BIPED_TERMS, COLLISION, CONTACT_FORCE, TERMS };

enum { NOISE_JOINT_POS = BE_BIPED_WEIGHTS + TERMS, MAX_FORCE };
static const be_param params[] = {
    BE_BIPED_PARAMS(0.5, 0.25, 0.15, 0.5, 2.0, 1.0, 0.5, 1.0),
    FOR_ALL_TERMS(BE_BIPED_WEIGHT)[NOISE_JOINT_POS] = BE_NOISE("joint_pos", 0.03, "rad"),
    [MAX_FORCE] = MJ_WITHIN("max_contact_force", 500, -1e6, 1e6, "force at a foot that costs nothing yet, N"),
    {0},
};

static const be_port ports[] = {BE_BIPED_PORTS, FOR_ALL_TERMS(BE_BIPED_TERM){0}};
static const be_field state[] = {BE_BIPED_FIELDS(JOINTS), {0}};

/* Rows with a name are of sensors of the torso, and the others of the pelvis. */
enum {
    LINVEL_TORSO = BE_BIPED_FOUND + 3 * BE_LEGS,
    ANGVEL_TORSO,
    UP_TORSO,
    QACC,
    FEET_TOUCH,
    HAND_TOUCHES = FEET_TOUCH + 3,
    FOOT_FORCE = HAND_TOUCHES + 2
};
static const be_read reads[] = {
    BE_BIPED_READS("_pelvis", "knees_bent", "imu_in_pelvis"),
    [BE_BIPED_FOUND] = {"sensordata", "sensor", "left_foot_floor_found"},
    {"sensordata", "sensor", "right_foot_floor_found"},
    BE_BIPED_FEET_READS("left_foot", "right_foot"),
    [LINVEL_TORSO] = {"sensordata", "sensor", "global_linvel_torso"},
    [ANGVEL_TORSO] = {"sensordata", "sensor", "global_angvel_torso"},
    [UP_TORSO] = {"sensordata", "sensor", "upvector_torso"},
    [QACC] = {"qacc"},
    [FEET_TOUCH] = {"sensordata", "sensor", "right_foot_left_foot_found"},
    {"sensordata", "sensor", "left_foot_right_shin_found"},
    {"sensordata", "sensor", "right_foot_left_shin_found"},
    [HAND_TOUCHES] = {"sensordata", "sensor", "left_hand_left_thigh_found"},
    {"sensordata", "sensor", "right_hand_right_thigh_found"},
    [FOOT_FORCE] = {"sensordata", "sensor", "left_foot_force"},
    {"sensordata", "sensor", "right_foot_force"},
    {0},
};

/* The weights that Playground has for the joints' poses are read by nothing. */
static const be_biped g1 = {
    .parts = 1,
    .low_hz = 1.25,
    .high_hz = 1.5,
    .still = 0.01,
    .noise = NOISE_JOINT_POS,
    .knees = {LEFT_KNEE, RIGHT_KNEE},
    .hips = {LEFT_HIP_ROLL, LEFT_HIP_YAW, RIGHT_HIP_ROLL, RIGHT_HIP_YAW},
};

static int prepare(be_setup *setup, be_error *error) { return be_biped_prepare(setup, reads, JOINTS, error); }

BE_BIPED_EPISODES(g1)

/* The parts of the reward that are not those of other robots. */
static void reward(const be_batch *b, int64_t lane, double terms[TERMS]) {
    const double *up = be_mujoco_read_of(b, lane, UP_TORSO);
    const double *command = MJ_FIELD(b, BE_BIPED_COMMAND, double, lane);
    const double rise = be_mujoco_read_of(b, lane, LINVEL_TORSO)[2];
    terms[BE_LIN_VEL_Z] += rise * rise;
    terms[BE_ANG_VEL_XY] = be_squares(be_mujoco_read_of(b, lane, ANGVEL_TORSO), 2);
    terms[BE_ORIENTATION] = be_squared_distance(up, (const double[]){0.073, 0, 1}, 3); /* a torso that leans forwards */
    terms[DOF_ACC] = be_squares(be_mujoco_read_of(b, lane, QACC) + 6, JOINTS);
    const int moves = sqrt(be_squares(be_mujoco_read_of(b, lane, BE_GLOBAL_LINVEL), 2)) > 0.1 ||
                      fabs(be_mujoco_read_of(b, lane, BE_GLOBAL_ANGVEL)[2]) > 0.1;
    if (!moves && be_biped_speed(b, lane) <= 0.01) terms[BE_FEET_PHASE] = 0;
    /* Playground multiplies a column of four joints by a row of four weights, which are to let the hips roll where the
     * G1 walks to the left, and sums all products: so each joint counts with the sum of the weights. */
    terms[BE_HIP] *= command[1] > 0.1 ? 2 : 4;
    terms[COLLISION] = be_touches(b, lane, HAND_TOUCHES, 2);
    terms[CONTACT_FORCE] = 0;
    for (int k = 0; k < BE_LEGS; k++) {
        const double force = fabs(be_mujoco_read_of(b, lane, FOOT_FORCE + k)[2]);
        terms[CONTACT_FORCE] += fmax(force - be_param_of(b, MAX_FORCE, lane), 0);
    }
    terms[BE_TERMINATION] = up[2] < 0 || be_touches(b, lane, FEET_TOUCH, 3);
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, BE_BIPED_UNSTABLE, error);
    if (status != BE_OK) return status;
    double terms[TERMS];
    be_biped_step(b, lane, rows, &g1, terms);
    reward(b, lane, terms);
    rows->reward[lane - rows->first] = be_weigh(b, lane, rows, terms, TERMS, BE_BIPED_WEIGHTS, BE_BIPED_INFOS);
    rows->terminated[lane - rows->first] = terms[BE_TERMINATION] != 0;
    be_biped_end(b, lane, rows, &g1);
    return BE_OK;
}

static const be_id ids[] = {
    {"G1JoystickFlatTerrain-v0", 1000, NULL, {{"task", .text = "flat_terrain"}}},
    {"G1JoystickRoughTerrain-v0", 1000, NULL, {{"task", .text = "rough_terrain"}}},
    {0},
};
BE_ENV(g1_joystick) = {
    BE_PLAYGROUND_MEMBERS,
    .name = "G1Joystick",
    .ids = ids,
    .control = be_biped_control,
};
