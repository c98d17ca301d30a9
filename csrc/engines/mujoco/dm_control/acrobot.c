/* DM Control's acrobot, which is to swing up. */
#include "engines/mujoco/dm_control.h"

enum { SPARSE = MJ_PARAMS };
static const be_param params[] = {
    DM_PARAMS(1),
    [SPARSE] = {"sparse", BE_PARAM_BOOL, 0, 0, 1, NULL, "reward 1 at the target, and 0 elsewhere", 0, 1},
    {0},
};

enum { UPPER, LOWER, TARGET, TIP, RADIUS };
static const be_read reads[] = {
    [UPPER] = {"xmat", "body", "upper_arm"},          [LOWER] = {"xmat", "body", "lower_arm"},
    [TARGET] = {"site_xpos", "site", "target"},       [TIP] = {"site_xpos", "site", "tip"},
    [RADIUS] = {"model.site_size", "site", "target"}, {0},
};

static const be_port ports[] = {
    {"", BE_ACTION}, {"orientations", BE_OBSERVATION}, {"velocity", BE_OBSERVATION}, DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = 4;
    size[1] = view->num_qvel;
}

static int start(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS];
    for (int j = 0; j < 2; j++) qpos[j] = be_random_state_uniform(dm_random(b, lane), -M_PI, M_PI);
    return BE_OK;
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const double *upper = be_mujoco_read_of(b, lane, UPPER), *lower = be_mujoco_read_of(b, lane, LOWER);
    row = be_append(row, (const double[]){upper[2], lower[2], upper[8], lower[8]}, 4);
    be_append(row, be_mujoco_arrays(b, lane)[MJ_QVEL], be_mujoco_of(b)->num_qvel);
}

static double reward(const be_batch *b, int64_t lane) {
    const double *target = be_mujoco_read_of(b, lane, TARGET), *tip = be_mujoco_read_of(b, lane, TIP);
    const double radius = be_mujoco_read_of(b, lane, RADIUS)[0];
    const double distance = dm_distance(b, tip, target, 3);
    return be_param_of(b, SPARSE, lane) != 0 ? be_within(distance, 0, radius) : dm_gaussian(b, distance, 0, radius, 1);
}

static const dm_task task = {2, sizes, start, write_observation, reward};
DM_TYPES(acrobot, "Acrobot", 100, task, ports,
         ((const be_id[]){DM_ID("acrobot-swingup", "AcrobotSwingup", {"sparse", 0}),
                          DM_ID("acrobot-swingup_sparse", "AcrobotSwingupSparse", {"sparse", 1}),
                          {0}}));
