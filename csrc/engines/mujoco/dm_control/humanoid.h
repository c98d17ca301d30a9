/* What DM Control's two humanoids have in common, which are to stand, walk or run. Before it includes this, a file says
 * what its model's parts are called, and how many steps of MuJoCo each step takes:
 *     HUMANOID_STEPS, HUMANOID_TRUNK "torso", HUMANOID_LIMBS("xpos") rows of hands and feet,
 *     HUMANOID_UP which of the numbers of the trunk's frame is 1 where it is upright */
#ifndef BE_DM_HUMANOID_H
#define BE_DM_HUMANOID_H

#include "engines/mujoco/dm_control.h"

enum { SPEED = MJ_PARAMS };
static const be_param params[] = {
    DM_PARAMS(HUMANOID_STEPS),
    [SPEED] = MJ_WITHIN("move_speed", 1, 0, 1e9, "speed that is wanted, m/s; 0: to stand is enough"),
    {0},
};

enum { FRAME = DM_RANGES + 1, PLACE, HEAD, LIMBS, VELOCITY = LIMBS + 4 };
static const be_read reads[] = {
    [DM_RANGES] = {"model.jnt_range"},
    [FRAME] = {"xmat", "body", HUMANOID_TRUNK},
    [PLACE] = {"xpos", "body", HUMANOID_TRUNK},
    [HEAD] = {"xpos", "body", "head"},
    [LIMBS] = HUMANOID_LIMBS("xpos"),
    [VELOCITY] = {"sensordata", "sensor", HUMANOID_TRUNK "_subtreelinvel"},
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

static void sizes(const be_mujoco_view *view, int64_t *size) {
    const int64_t all[] = {view->num_qpos - 7, DM_ONE, 12, 3, 3, view->num_qvel};
    memcpy(size, all, sizeof all);
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const be_mujoco_view *view = be_mujoco_of(b);
    const double *frame = be_mujoco_read_of(b, lane, FRAME), *place = be_mujoco_read_of(b, lane, PLACE);
    row = be_append(row, be_mujoco_arrays(b, lane)[MJ_QPOS] + 7, view->num_qpos - 7);
    *row++ = be_mujoco_read_of(b, lane, HEAD)[2];
    for (int limb = 0; limb < 4; limb++) { /* seen from the trunk */
        const double *end = be_mujoco_read_of(b, lane, LIMBS + limb);
        dm_in_frame((const double[]){end[0] - place[0], end[1] - place[1], end[2] - place[2]}, frame, 3,
                    be_mujoco_of(b)->fused_vecmat, row);
        row += 3;
    }
    row = be_append(row, frame + 6, 3);
    row = be_append(row, be_mujoco_read_of(b, lane, VELOCITY), 3);
    be_append(row, be_mujoco_arrays(b, lane)[MJ_QVEL], view->num_qvel);
}

static double reward(const be_batch *b, int64_t lane) {
    const double wanted = be_param_of(b, SPEED, lane), *velocity = be_mujoco_read_of(b, lane, VELOCITY);
    const double standing = dm_gaussian(b, be_mujoco_read_of(b, lane, HEAD)[2], 1.4, HUGE_VAL, 1.4 / 4);
    const double upright = dm_linear(be_mujoco_read_of(b, lane, FRAME)[HUMANOID_UP], 0.9, HUGE_VAL, 1.9, 0);
    const double stand = standing * upright, effort = (4 + dm_small_controls(b, lane)) / 5;
    if (wanted == 0) {
        double still = 0;
        for (int k = 0; k < 2; k++) still += dm_gaussian_of_array(b, velocity[k], 0, 0, 2);
        return effort * stand * (still / 2);
    }
    const double speed = be_norm(velocity, 2, be_mujoco_of(b)->fused_dot);
    return effort * stand * ((5 * dm_linear(speed, wanted, HUGE_VAL, wanted, 0) + 1) / 6);
}

static const dm_task task = {6, sizes, dm_start_anywhere_clear, write_observation, reward};

#endif
