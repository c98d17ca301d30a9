/* MuJoCo Playground's BerkeleyHumanoidJoystickFlatTerrain and BerkeleyHumanoidJoystickRoughTerrain: a Berkeley Humanoid
 * that follows commands. The names of params and rewards are Playground's. batchenv/envs/mujoco/playground.py has the
 * model. */
#include "mujoco_biped.h"

enum { JOINTS = 12 };
enum { LEFT_HIP_YAW, LEFT_HIP_ROLL, LEFT_KNEE = 3, RIGHT_HIP_YAW = 6, RIGHT_HIP_ROLL, RIGHT_KNEE = 9 };

/* The parts of the reward: params with their weights, and infos. */
#define FOR_ALL_TERMS(DO)                                                                                              \
    BE_TRUNK_TERM_ROWS(DO, 1.0, 0.5, 0.0, -0.15, -1.0, 0.0)                                                            \
    BE_EFFORT_TERM_ROWS(DO, -2.5e-5, -0.01, 0.0)                                                                       \
    BE_FEET_TERM_ROWS(DO, 0.0, 2.0, -0.25, 0.0, 1.0)                                                                   \
    BE_LIFE_TERM_ROWS(DO, 0.0, 0.0, -1.0)                                                                              \
    BE_POSE_TERM_ROWS(DO, -0.1, -0.25, -1.0, -1.0)
enum { TERMS = BE_BIPED_TERMS };

enum { NOISE_HIP = BE_BIPED_WEIGHTS + TERMS, NOISE_KNEE, NOISE_ANKLE_PITCH, NOISE_ANKLE_ROLL };
static const be_param params[] = {
    BE_BIPED_PARAMS(0.5, 0.5, 0.1, 0.5, 2.0, 1.0, 1.0, 1.0),
    FOR_ALL_TERMS(BE_BIPED_WEIGHT)[NOISE_HIP] = BE_NOISE("hip_pos", 0.03, "rad"),
    [NOISE_KNEE] = BE_NOISE("kfe_pos", 0.05, "of knees, rad"),
    [NOISE_ANKLE_PITCH] = BE_NOISE("ffe_pos", 0.08, "of ankles' pitch, rad"),
    [NOISE_ANKLE_ROLL] = BE_NOISE("faa_pos", 0.03, "of ankles' roll, rad"),
    {0},
};

static const be_port ports[] = {BE_BIPED_PORTS, FOR_ALL_TERMS(BE_BIPED_TERM){0}};
static const be_field state[] = {BE_BIPED_FIELDS(JOINTS), {0}};
static const be_read reads[] = {
    BE_BIPED_READS("", "home", "imu"),
    [BE_BIPED_FOUND] = {"sensordata", "sensor", "l_foot1_floor_found"},
    {"sensordata", "sensor", "r_foot1_floor_found"},
    BE_BIPED_FEET_READS("l_foot", "r_foot"),
    {0},
};

#define OF_LEGS(...) {__VA_ARGS__, __VA_ARGS__}
static const uint8_t noise_of[JOINTS] =
    OF_LEGS(0, 0, 0, NOISE_KNEE - NOISE_HIP, NOISE_ANKLE_PITCH - NOISE_HIP, NOISE_ANKLE_ROLL - NOISE_HIP);
static const double stiffness[JOINTS] = OF_LEGS(1, 1, 0.01, 0.01, 1, 1);
static const be_biped berkeley = {
    .parts = 1,
    .low_hz = 1.25,
    .high_hz = 1.5,
    .still = 0.1,
    .noise = NOISE_HIP,
    .noise_of = noise_of,
    .stiffness = stiffness,
    .knees = {LEFT_KNEE, RIGHT_KNEE},
    .hips = {LEFT_HIP_YAW, LEFT_HIP_ROLL, RIGHT_HIP_YAW, RIGHT_HIP_ROLL},
};

static int prepare(be_setup *setup, be_error *error) { return be_biped_prepare(setup, reads, JOINTS, error); }

BE_BIPED_EPISODES(berkeley)

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, BE_BIPED_UNSTABLE, error);
    if (status != BE_OK) return status;
    double terms[TERMS];
    be_biped_step(b, lane, rows, &berkeley, terms);
    if (!(be_biped_speed(b, lane) > 0.1)) terms[BE_FEET_AIR_TIME] = 0;
    /* as in Playground: hips may move unless the robot is to walk sideways */
    if (!(fabs(MJ_FIELD(b, BE_BIPED_COMMAND, double, lane)[1]) > 0.1)) terms[BE_HIP] = 0;
    terms[BE_TERMINATION] = be_mujoco_read_of(b, lane, BE_UPVECTOR)[2] < 0;
    be_write_reward(b, lane, rows, terms, TERMS, BE_BIPED_WEIGHTS, BE_BIPED_INFOS);
    rows->terminated[lane - rows->first] = terms[BE_TERMINATION] != 0;
    be_biped_end(b, lane, rows, &berkeley);
    return BE_OK;
}

static const be_id ids[] = {
    {"BerkeleyHumanoidJoystickFlatTerrain-v0", 1000, NULL, {{"task", .text = "flat_terrain"}}},
    {"BerkeleyHumanoidJoystickRoughTerrain-v0", 1000, NULL, {{"task", .text = "rough_terrain"}}},
    {0},
};
BE_ENV(berkeley_joystick) = {
    BE_PLAYGROUND_MEMBERS,
    .name = "BerkeleyHumanoidJoystick",
    .ids = ids,
    .control = be_biped_control,
};
