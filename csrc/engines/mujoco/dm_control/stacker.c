/* DM Control's arm that is to stack boxes, and to let go of them. */
#include "engines/mujoco/dm_control/arm.h"

enum { BOXES = MJ_PARAMS };
static const be_param params[] = {
    DM_PARAMS(10),
    [BOXES] = {"n_boxes", BE_PARAM_INT, 2, 1, 4, NULL, "how many boxes there are"},
    {0},
};

enum { PLACE = DM_FIELDS };
static const be_field state[] = {DM_SHARED_STATE, [PLACE] = {"target", BE_F64, 2, "where the target is: x, z"}, {0}};

enum {
    TOUCH = ARM_READS,
    TARGET,
    TARGET_QUAT,
    TARGET_SITE,
    TARGET_SIZE,
    BOX,
    BOX_QUAT,
    BOX_SITE,
    BOX_X,
    BOX_Y,
    BOX_Z,
    BOX_VX,
    BOX_VY,
    BOX_VZ
};
static const be_read reads[] = {
    ARM_SHARED_READS,
    [TOUCH] = {"sensordata"},
    [TARGET] = {"model.body_pos", "body", "target"},
    [TARGET_QUAT] = {"model.body_quat", "body", "target"},
    [TARGET_SITE] = {"model.site_pos", "site", "target"},
    [TARGET_SIZE] = {"model.geom_size", "geom", "target"},
    [BOX] = {"xpos", "body", "box[0-3]"},
    [BOX_QUAT] = {"xquat", "body", "box[0-3]"},
    [BOX_SITE] = {"site_xpos", "site", "box[0-3]"},
    [BOX_X] = {"qpos", "joint", "box[0-3]_x"},
    [BOX_Y] = {"qpos", "joint", "box[0-3]_y"},
    [BOX_Z] = {"qpos", "joint", "box[0-3]_z"},
    [BOX_VX] = {"qvel", "joint", "box[0-3]_x"},
    [BOX_VY] = {"qvel", "joint", "box[0-3]_y"},
    [BOX_VZ] = {"qvel", "joint", "box[0-3]_z"},
    {0},
};

enum { PARTS = 7 };
static const be_port ports[] = {{"", BE_ACTION},
                                {"arm_pos", BE_OBSERVATION},
                                {"arm_vel", BE_OBSERVATION},
                                {"touch", BE_OBSERVATION},
                                {"hand_pos", BE_OBSERVATION},
                                {"box_pos", BE_OBSERVATION},
                                {"box_vel", BE_OBSERVATION},
                                {"target_pos", BE_OBSERVATION},
                                DM_INFOS};

/* A model of the user's own may lack parts of a box. */
static int64_t boxes_of(const be_mujoco_view *view) {
    int64_t boxes = INT64_MAX;
    for (int read = BOX; read <= BOX_VZ; read++)
        if (view->reads[read].count < boxes) boxes = view->reads[read].count;
    return boxes;
}

static void sizes(const be_mujoco_view *view, int64_t *size) {
    const int64_t boxes = boxes_of(view);
    const int64_t all[PARTS] = {2 * ARM_JOINTS, ARM_JOINTS, view->reads[TOUCH].size, 4, 4 * boxes, 3 * boxes, 2};
    memcpy(size, all, sizeof all);
}

static int draw(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    be_random_state *random = dm_random(b, lane);
    const int64_t boxes = boxes_of(be_mujoco_of(b));
    const double size = be_mujoco_read_of(b, lane, TARGET_SIZE)[0];
    double *place = MJ_FIELD(b, PLACE, double, lane);
    arm_start(b, lane);
    place[1] = size * (double)(2 * be_random_state_integers(random, 0, boxes) + 1);
    place[0] = be_random_state_uniform(random, -.37, .37);
    for (int64_t k = 0; k < boxes; k++) {
        be_mujoco_read_at(b, lane, BOX_X, k)[0] = be_random_state_uniform(random, .1, .3);
        be_mujoco_read_at(b, lane, BOX_Z, k)[0] = be_random_state_uniform(random, 0, .7);
        be_mujoco_read_at(b, lane, BOX_Y, k)[0] = be_random_state_uniform(random, 0, 2 * M_PI);
    }
    return BE_OK;
}
static int start(be_batch *b, int64_t lane, be_error *error) { return dm_start_clear(b, lane, draw, error); }

static double *append_sensors(const be_batch *b, int64_t lane, double *row) {
    row = arm_append(b, lane, row);
    for (int64_t k = 0; k < be_mujoco_of(b)->reads[TOUCH].size; k++)
        *row++ = be_numpy_log1p(be_mujoco_read_of(b, lane, TOUCH)[k]);
    return row;
}
static void write_sensors(const be_batch *b, int64_t lane, double *row) { append_sensors(b, lane, row); }
static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const int64_t boxes = boxes_of(be_mujoco_of(b));
    row = arm_append_hand(b, lane, append_sensors(b, lane, row));
    for (int64_t k = 0; k < boxes; k++) row = arm_append_pose(b, lane, BOX, BOX_QUAT, k, row);
    for (int64_t k = 0; k < boxes; k++)
        for (int axis = 0; axis < 3; axis++) *row++ = be_mujoco_read_at(b, lane, BOX_VX + axis, k)[0];
    be_append(row, MJ_FIELD(b, PLACE, double, lane), 2);
}

/* A box is to be at the target, and the hand away from it. */
static double reward(const be_batch *b, int64_t lane) {
    const double *place = MJ_FIELD(b, PLACE, double, lane), *quat = be_mujoco_read_of(b, lane, TARGET_QUAT);
    const double body[] = {place[0], be_mujoco_read_of(b, lane, TARGET)[1], place[1]};
    double turned[] = {quat[0], quat[2]}, target[3], nearest = HUGE_VAL;
    arm_normalize(turned);
    arm_site(body, turned, be_mujoco_read_of(b, lane, TARGET_SITE), target);
    for (int64_t k = 0; k < boxes_of(be_mujoco_of(b)); k++) {
        const double distance = dm_distance(b, be_mujoco_read_at(b, lane, BOX_SITE, k), target, 3);
        if (distance < nearest) nearest = distance;
    }
    const double away = dm_distance(b, be_mujoco_read_of(b, lane, ARM_GRASP), target, 3);
    return dm_gaussian(b, nearest, 0, 0, 2 * be_mujoco_read_of(b, lane, TARGET_SIZE)[0]) *
           dm_gaussian(b, away, .1, HUGE_VAL, .01);
}

static const dm_task task = {PARTS, sizes, start, write_observation, reward, .columns = {[0] = 2, [4] = 4}};
DM_TYPES_WITH(stacker, "Stacker", 100, task, ports, state, params,
              ((const be_id[]){DM_ID("stacker-stack_2", "StackerStack2", {"n_boxes", 2}),
                               DM_ID("stacker-stack_4", "StackerStack4", {"n_boxes", 4}),
                               {0}}));
static const dm_task sensors_task = {ARM_SENSORS, sizes, start, write_sensors, reward, .columns = {[0] = 2}};
DM_TYPES_WITH(stacker_sensors, "StackerSensors", 100, sensors_task, arm_sensor_ports, state, params, NULL);
