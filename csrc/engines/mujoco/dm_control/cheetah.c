/* DM Control's cheetah, which is to run. */
#include "engines/mujoco/dm_control.h"

static const be_param params[] = {DM_PARAMS(1), {0}};

enum { VELOCITY = DM_RANGES + 1 };
static const be_read reads[] = {
    [DM_RANGES] = {"model.jnt_range"}, [VELOCITY] = {"sensordata", "sensor", "torso_subtreelinvel"}, {0}};

static const be_port ports[] = {{"", BE_ACTION}, {"position", BE_OBSERVATION}, {"velocity", BE_OBSERVATION}, DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = view->num_qpos - 1;
    size[1] = view->num_qvel;
}

static int start(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    const be_mujoco_view *view = be_mujoco_of(b);
    double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS];
    const double *range = be_mujoco_read_of(b, lane, DM_RANGES);
    for (int64_t j = 0; j < view->num_joints; j++) {
        if (view->joint_limited[j])
            qpos[view->joint_qpos[j]] = be_random_state_uniform(dm_random(b, lane), range[2 * j], range[2 * j + 1]);
    }
    return BE_OK;
}

static void write_observation(const be_batch *b, int64_t lane, double *row) { be_mujoco_append_state(b, lane, 1, row); }

static double reward(const be_batch *b, int64_t lane) {
    return dm_linear(be_mujoco_read_of(b, lane, VELOCITY)[0], 10, HUGE_VAL, 10, 0);
}

static const dm_task task = {2, sizes, start, write_observation, reward, .settles = 200};
DM_TYPES(cheetah, "Cheetah", 100, task, ports, ((const be_id[]){DM_ID("cheetah-run", "CheetahRun"), {0}}));
