/* DM Control's point mass, which is to go to a target. */
#include "engines/mujoco/dm_control.h"

static const be_param params[] = {DM_PARAMS(1), {0}};

enum { RANGES, TARGET, MASS, TARGET_SIZE };
static const be_read reads[] = {
    [RANGES] = {"model.jnt_range"},
    [TARGET] = {"geom_xpos", "geom", "target"},
    [MASS] = {"geom_xpos", "geom", "pointmass"},
    [TARGET_SIZE] = {"model.geom_size", "geom", "target"},
    {0},
};

static const be_port ports[] = {{"", BE_ACTION}, {"position", BE_OBSERVATION}, {"velocity", BE_OBSERVATION}, DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = view->num_qpos;
    size[1] = view->num_qvel;
}

static int start(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    dm_randomize_joints(b, lane, RANGES);
    return BE_OK;
}

static void write_observation(const be_batch *b, int64_t lane, double *row) { be_mujoco_append_state(b, lane, 0, row); }

static double reward(const be_batch *b, int64_t lane) {
    const double *target = be_mujoco_read_of(b, lane, TARGET), *mass = be_mujoco_read_of(b, lane, MASS);
    const double size = be_mujoco_read_of(b, lane, TARGET_SIZE)[0];
    double away[3];
    for (int k = 0; k < 3; k++) away[k] = target[k] - mass[k];
    const double near = dm_gaussian(b, be_norm(away, 3, be_mujoco_of(b)->fused_dot), 0, size, size);
    return near * ((dm_small_controls(b, lane) + 4) / 5);
}

static const dm_task task = {2, sizes, start, write_observation, reward};
DM_TYPES(point_mass, "PointMass", 50, task, ports, ((const be_id[]){DM_ID("point_mass-easy", "PointMassEasy"), {0}}));
