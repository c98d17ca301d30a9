/* DM Control's pendulum, which is to swing up. */
#include "engines/mujoco/dm_control.h"

static const be_param params[] = {DM_PARAMS(1), {0}};

enum { FRAME };
static const be_read reads[] = {[FRAME] = {"xmat", "body", "pole"}, {0}};

static const be_port ports[] = {
    {"", BE_ACTION}, {"orientation", BE_OBSERVATION}, {"velocity", BE_OBSERVATION}, DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = 2;
    size[1] = view->num_qvel;
}

static int start(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    be_mujoco_arrays(b, lane)[MJ_QPOS][0] = be_random_state_uniform(dm_random(b, lane), -M_PI, M_PI);
    return BE_OK;
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const double *frame = be_mujoco_read_of(b, lane, FRAME);
    *row++ = frame[8];
    *row++ = frame[2];
    be_append(row, be_mujoco_arrays(b, lane)[MJ_QVEL], be_mujoco_of(b)->num_qvel);
}

static double reward(const be_batch *b, int64_t lane) {
    const double bound = be_numpy_cos(8 * (M_PI / 180)); /* 8 degrees from upright */
    return be_within(be_mujoco_read_of(b, lane, FRAME)[8], bound, 1);
}

static const dm_task task = {2, sizes, start, write_observation, reward};
DM_TYPES(pendulum, "Pendulum", 50, task, ports, ((const be_id[]){DM_ID("pendulum-swingup", "PendulumSwingup"), {0}}));
