/* DM Control's point mass, which is to go to a target. */
#include "engines/mujoco/dm_control.h"

static const be_param params[] = {DM_PARAMS(1), {0}};

enum { TARGET = DM_RANGES + 1, MASS, TARGET_SIZE };
static const be_read reads[] = {
    [DM_RANGES] = {"model.jnt_range"},
    [TARGET] = {"geom_xpos", "geom", "target"},
    [MASS] = {"geom_xpos", "geom", "pointmass"},
    [TARGET_SIZE] = {"model.geom_size", "geom", "target"},
    {0},
};

static double reward(const be_batch *b, int64_t lane) {
    const double *target = be_mujoco_read_of(b, lane, TARGET), *mass = be_mujoco_read_of(b, lane, MASS);
    const double size = be_mujoco_read_of(b, lane, TARGET_SIZE)[0];
    const double near = dm_gaussian(b, dm_distance(b, mass, target, 3), 0, size, size);
    return near * ((dm_small_controls(b, lane) + 4) / 5);
}

static const dm_task task = {2, dm_state_sizes, dm_start_anywhere, dm_write_state, reward};
DM_TYPES(point_mass, "PointMass", 50, task, dm_state_ports,
         ((const be_id[]){DM_ID("point_mass-easy", "PointMassEasy"), {0}}));
