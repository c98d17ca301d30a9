/* DM Control's arm that is to bring a ball or a peg to a target, or into something that is there. */
#include "engines/mujoco/dm_control/arm.h"

static const be_param params[] = {DM_PARAMS(10), {0}};

enum { PLACE = DM_FIELDS, TURN };
static const be_field state[] = {
    DM_SHARED_STATE,
    [PLACE] = {"target", BE_F64, 2, "where the target is: x, z"},
    [TURN] = {"target_quat", BE_F64, 2, "how it is turned: the quaternion's w, y"},
    {0},
};

/* Where things are, and then what a peg has in addition. */
enum {
    TOUCHES = 5,
    TOUCH = ARM_READS,
    GRASP_FRAME = TOUCH + TOUCHES,
    TARGET,
    TARGET_SITE,
    OBJECT,
    OBJECT_QUAT,
    OBJECT_SITE,
    OBJECT_QPOS,
    OBJECT_QVEL = OBJECT_QPOS + 3,
    TARGET_TIP = OBJECT_QVEL + 3,
    TIP,
    PEG_GRASP,
    PEG_PINCH,
    PINCH
};
#define READS(object)                                                                                                  \
    ARM_SHARED_READS, [TOUCH] = {"sensordata", "sensor", "palm_touch"}, {"sensordata", "sensor", "finger_touch"},      \
                      {"sensordata", "sensor", "thumb_touch"}, {"sensordata", "sensor", "fingertip_touch"},            \
                      {"sensordata", "sensor", "thumbtip_touch"}, [GRASP_FRAME] = {"site_xmat", "site", "grasp"},      \
                      [TARGET] = {"model.body_pos", "body", "target_" object},                                         \
                      [TARGET_SITE] = {"model.site_pos", "site", "target_" object},                                    \
                      [OBJECT] = {"xpos", "body", object}, [OBJECT_QUAT] = {"xquat", "body", object},                  \
                      [OBJECT_SITE] = {"site_xpos", "site", object}, [OBJECT_QPOS] = {"qpos", "joint", object "_x"},   \
                      {"qpos", "joint", object "_z"},                                                                  \
                      {"qpos", "joint", object "_y"}, [OBJECT_QVEL] = {"qvel", "joint", object "_x"},                  \
                      {"qvel", "joint", object "_z"}, {"qvel", "joint", object "_y"}
static const be_read ball_reads[] = {READS("ball"), {0}};
static const be_read peg_reads[] = {
    READS("peg"),
    [TARGET_TIP] = {"model.site_pos", "site", "target_peg_tip"},
    [TIP] = {"site_xpos", "site", "peg_tip"},
    [PEG_GRASP] = {"site_xpos", "site", "peg_grasp"},
    [PEG_PINCH] = {"site_xpos", "site", "peg_pinch"},
    [PINCH] = {"site_xpos", "site", "pinch"},
    {0},
};

enum { PARTS = 7 };
static const be_port ports[] = {{"", BE_ACTION},
                                {"arm_pos", BE_OBSERVATION},
                                {"arm_vel", BE_OBSERVATION},
                                {"touch", BE_OBSERVATION},
                                {"hand_pos", BE_OBSERVATION},
                                {"object_pos", BE_OBSERVATION},
                                {"object_vel", BE_OBSERVATION},
                                {"target_pos", BE_OBSERVATION},
                                DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    static const int64_t all[PARTS] = {2 * ARM_JOINTS, ARM_JOINTS, TOUCHES, 4, 4, 3, 4};
    (void)view;
    memcpy(size, all, sizeof all);
}

/* The object starts in the hand, in the target, or anywhere else, thrown. */
static int put_object(be_batch *b, int64_t lane, double angle, be_error *error) {
    static const double odds[] = {.1, .1, 1 - .1 - .1};
    enum { IN_HAND, IN_TARGET };
    be_random_state *random = dm_random(b, lane);
    const double *target = MJ_FIELD(b, PLACE, double, lane);
    double place[] = {target[0], target[1], angle};
    const int64_t kind = be_random_state_choice_p(random, odds, 3);
    if (kind == IN_HAND) {
        const int status = be_mujoco_evaluate(b, lane, NULL, error);
        if (status != BE_OK) return status;
        const double *grasp = be_mujoco_read_of(b, lane, ARM_GRASP), *frame = be_mujoco_read_of(b, lane, GRASP_FRAME);
        place[0] = grasp[0];
        place[1] = grasp[2];
        place[2] = M_PI - be_numpy_arctan2(frame[6], frame[0]);
    } else if (kind != IN_TARGET) {
        place[0] = be_random_state_uniform(random, -.5, .5);
        place[1] = be_random_state_uniform(random, 0, .7);
        place[2] = be_random_state_uniform(random, 0, 2 * M_PI);
        be_mujoco_read_of(b, lane, OBJECT_QVEL)[0] = be_random_state_uniform(random, -5, 5);
    }
    for (int k = 0; k < 3; k++) be_mujoco_read_of(b, lane, OBJECT_QPOS + k)[0] = place[k];
    return BE_OK;
}

static int draw(be_batch *b, int64_t lane, double most, be_error *error) {
    be_random_state *random = dm_random(b, lane);
    double *target = MJ_FIELD(b, PLACE, double, lane), *quat = MJ_FIELD(b, TURN, double, lane);
    arm_start(b, lane);
    target[0] = be_random_state_uniform(random, -.4, .4);
    target[1] = be_random_state_uniform(random, .1, .4);
    const double angle = be_random_state_uniform(random, -most, most);
    quat[0] = be_numpy_cos(angle / 2);
    quat[1] = be_numpy_sin(angle / 2);
    return put_object(b, lane, angle, error);
}
static int draw_target(be_batch *b, int64_t lane, be_error *error) { return draw(b, lane, M_PI, error); }
static int draw_receptacle(be_batch *b, int64_t lane, be_error *error) { return draw(b, lane, M_PI / 3, error); }
static int start(be_batch *b, int64_t lane, be_error *error) { return dm_start_clear(b, lane, draw_target, error); }
static int start_insert(be_batch *b, int64_t lane, be_error *error) {
    return dm_start_clear(b, lane, draw_receptacle, error);
}

/* How the target is turned, as MuJoCo normalizes it. */
static void turn_of(const be_batch *b, int64_t lane, double quat[2]) {
    memcpy(quat, MJ_FIELD(b, TURN, double, lane), 2 * sizeof *quat);
    arm_normalize(quat);
}

static double *append_sensors(const be_batch *b, int64_t lane, double *row) {
    row = arm_append(b, lane, row);
    for (int k = 0; k < TOUCHES; k++) *row++ = be_numpy_log1p(be_mujoco_read_of(b, lane, TOUCH + k)[0]);
    return row;
}
static void write_sensors(const be_batch *b, int64_t lane, double *row) { append_sensors(b, lane, row); }
static void write_observation(const be_batch *b, int64_t lane, double *row) {
    double quat[2];
    turn_of(b, lane, quat);
    row = arm_append_hand(b, lane, append_sensors(b, lane, row));
    row = arm_append_pose(b, lane, OBJECT, OBJECT_QUAT, 0, row);
    for (int k = 0; k < 3; k++) *row++ = be_mujoco_read_of(b, lane, OBJECT_QVEL + k)[0];
    row = be_append(row, MJ_FIELD(b, PLACE, double, lane), 2);
    be_append(row, quat, 2);
}

/* 1 where two places are within a centimetre. */
static double close(const be_batch *b, const double *from, const double *to) {
    return dm_gaussian(b, dm_distance(b, from, to, 3), 0, .01, .01 * 2);
}

/* The same of a site of the target and one of the object. */
static double brought(const be_batch *b, int64_t lane, int target_site, int object_site) {
    const double *target = MJ_FIELD(b, PLACE, double, lane);
    const double body[] = {target[0], be_mujoco_read_of(b, lane, TARGET)[1], target[1]};
    double quat[2], place[3];
    turn_of(b, lane, quat);
    arm_site(body, quat, be_mujoco_read_of(b, lane, target_site), place);
    return close(b, be_mujoco_read_of(b, lane, object_site), place);
}

static double ball_reward(const be_batch *b, int64_t lane) { return brought(b, lane, TARGET_SITE, OBJECT_SITE); }

static double peg_reward(const be_batch *b, int64_t lane) {
    const double grasp = close(b, be_mujoco_read_of(b, lane, PEG_GRASP), be_mujoco_read_of(b, lane, ARM_GRASP));
    const double pinch = close(b, be_mujoco_read_of(b, lane, PEG_PINCH), be_mujoco_read_of(b, lane, PINCH));
    const double grasping = (grasp + pinch) / 2 / 3;
    const double bringing = (brought(b, lane, TARGET_SITE, OBJECT_SITE) + brought(b, lane, TARGET_TIP, TIP)) / 2;
    return grasping > bringing ? grasping : bringing;
}

/* A task and its ids: what the arm is to do with a thing. */
#define TASK(do, Do, start, thing, Thing)                                                                              \
    static const dm_task do##_##thing = {PARTS, sizes, start, write_observation, thing##_reward, .columns = {2}};      \
    static const dm_task do##_##thing##_sensors = {ARM_SENSORS,   sizes,          start,                               \
                                                   write_sensors, thing##_reward, .columns = {2}};                     \
    DM_TYPES_READING(manipulator_##do##_##thing, "Manipulator" Do Thing, 100, do##_##thing, ports, state, params,      \
                     thing##_reads,                                                                                    \
                     ((const be_id[]){DM_ID("manipulator-" #do "_" #thing, "Manipulator" Do Thing), {0}}));            \
    DM_TYPES_READING(manipulator_##do##_##thing##_sensors, "Manipulator" Do Thing "Sensors", 100,                      \
                     do##_##thing##_sensors, arm_sensor_ports, state, params, thing##_reads, NULL)
TASK(bring, "Bring", start, ball, "Ball");
TASK(bring, "Bring", start, peg, "Peg");
TASK(insert, "Insert", start_insert, ball, "Ball");
TASK(insert, "Insert", start_insert, peg, "Peg");
