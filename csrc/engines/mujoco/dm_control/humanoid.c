/* DM Control's humanoid, which is to stand, walk or run. */
#include "engines/mujoco/dm_control.h"

enum { SPEED = MJ_PARAMS };
static const be_param params[] = {
    DM_PARAMS(5),
    [SPEED] = MJ_WITHIN("move_speed", 1, 0, 1e9, "speed that is wanted, m/s; 0: to stand is enough"),
    {0},
};

enum { RANGES, FRAME, PLACE, HEAD, LIMBS, VELOCITY = LIMBS + 4 };
static const be_read reads[] = {
    [RANGES] = {"model.jnt_range"},
    [FRAME] = {"xmat", "body", "torso"},
    [PLACE] = {"xpos", "body", "torso"},
    [HEAD] = {"xpos", "body", "head"},
    [LIMBS] = {"xpos", "body", "left_hand"},
    {"xpos", "body", "left_foot"},
    {"xpos", "body", "right_hand"},
    {"xpos", "body", "right_foot"},
    [VELOCITY] = {"sensordata", "sensor", "torso_subtreelinvel"},
    {0},
};

static const be_port ports[] = {
    {"", BE_ACTION},
    {"joint_angles", BE_OBSERVATION},
    {"head_height", BE_OBSERVATION},
    {"extremities", BE_OBSERVATION},
    {"torso_vertical", BE_OBSERVATION},
    {"com_velocity", BE_OBSERVATION},
    {"velocity", BE_OBSERVATION},
    DM_INFOS,
};
static const be_port pure_ports[] = {
    {"", BE_ACTION}, {"position", BE_OBSERVATION}, {"velocity", BE_OBSERVATION}, DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    const int64_t all[] = {view->num_qpos - 7, DM_ONE, 12, 3, 3, view->num_qvel};
    memcpy(size, all, sizeof all);
}
static void pure_sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = view->num_qpos;
    size[1] = view->num_qvel;
}

static int start(be_batch *b, int64_t lane, be_error *error) {
    int contacts = 1;
    while (contacts > 0) {
        dm_randomize_joints(b, lane, RANGES);
        const int status = be_mujoco_evaluate(b, lane, &contacts, error);
        if (status != BE_OK) return status;
    }
    return BE_OK;
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const be_mujoco_view *view = be_mujoco_of(b);
    const double *frame = be_mujoco_read_of(b, lane, FRAME), *place = be_mujoco_read_of(b, lane, PLACE);
    row = be_append(row, be_mujoco_arrays(b, lane)[MJ_QPOS] + 7, view->num_qpos - 7);
    *row++ = be_mujoco_read_of(b, lane, HEAD)[2];
    for (int limb = 0; limb < 4; limb++) { /* seen from the torso */
        const double *end = be_mujoco_read_of(b, lane, LIMBS + limb);
        dm_in_frame((const double[]){end[0] - place[0], end[1] - place[1], end[2] - place[2]}, frame, 3, row);
        row += 3;
    }
    row = be_append(row, frame + 6, 3);
    row = be_append(row, be_mujoco_read_of(b, lane, VELOCITY), 3);
    be_append(row, be_mujoco_arrays(b, lane)[MJ_QVEL], view->num_qvel);
}
static void write_state(const be_batch *b, int64_t lane, double *row) { be_mujoco_append_state(b, lane, 0, row); }

static double reward(const be_batch *b, int64_t lane) {
    const double wanted = be_param_of(b, SPEED, lane), *velocity = be_mujoco_read_of(b, lane, VELOCITY);
    const double standing = dm_gaussian(b, be_mujoco_read_of(b, lane, HEAD)[2], 1.4, HUGE_VAL, 1.4 / 4);
    const double upright = dm_linear(be_mujoco_read_of(b, lane, FRAME)[8], 0.9, HUGE_VAL, 1.9, 0);
    const double stand = standing * upright, effort = (4 + dm_small_controls(b, lane)) / 5;
    if (wanted == 0) {
        double still = 0;
        for (int k = 0; k < 2; k++) still += dm_gaussian_of_array(b, velocity[k], 0, 0, 2);
        return effort * stand * (still / 2);
    }
    const double speed = be_norm(velocity, 2, be_mujoco_of(b)->fused_dot);
    return effort * stand * ((5 * dm_linear(speed, wanted, HUGE_VAL, wanted, 0) + 1) / 6);
}

static const dm_task task = {6, sizes, start, write_observation, reward};
DM_TYPES(humanoid, "Humanoid", 40, task, ports,
         ((const be_id[]){DM_ID("humanoid-stand", "HumanoidStand", {"move_speed", 0}),
                          DM_ID("humanoid-walk", "HumanoidWalk", {"move_speed", 1}),
                          DM_ID("humanoid-run", "HumanoidRun", {"move_speed", 10}),
                          {0}}));

static const dm_task pure_task = {2, pure_sizes, start, write_state, reward};
DM_TYPES(humanoid_pure, "HumanoidPureState", 40, pure_task, pure_ports,
         ((const be_id[]){DM_ID("humanoid-run_pure_state", "HumanoidRunPureState", {"move_speed", 10}), {0}}));
