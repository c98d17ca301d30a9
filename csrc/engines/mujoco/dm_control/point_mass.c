/* DM Control's point mass, which is to go to a target. In the hard task, each control moves it along a line that is
 * drawn anew for each episode. */
#include "engines/mujoco/dm_control.h"

enum { GAINS = DM_FIELDS };
static const be_field hard_state[] = {
    DM_SHARED_STATE,
    [GAINS] = {"gains", BE_F64, 4, "how far each control moves it in x and y: x, y of the first, x, y of the second"},
    {0},
};

static const be_param params[] = {DM_PARAMS(1), {0}};

enum { TARGET = DM_RANGES + 1, MASS, TARGET_SIZE };
static const be_read reads[] = {
    [DM_RANGES] = {"model.jnt_range"},
    [TARGET] = {"geom_xpos", "geom", "target"},
    [MASS] = {"geom_xpos", "geom", "pointmass"},
    [TARGET_SIZE] = {"model.geom_size", "geom", "target"},
    {0},
};

static void draw_direction(be_batch *b, int64_t lane, double *direction) {
    for (int k = 0; k < 2; k++) direction[k] = be_random_state_normal(dm_random(b, lane));
    const double length = be_norm(direction, 2, be_mujoco_of(b)->fused_dot);
    for (int k = 0; k < 2; k++) direction[k] /= length;
}

static int start_hard(be_batch *b, int64_t lane, be_error *error) {
    double *gains = MJ_FIELD(b, GAINS, double, lane);
    const int status = dm_start_anywhere(b, lane, error);
    draw_direction(b, lane, gains);
    do draw_direction(b, lane, gains + 2);
    while (fabs(be_numpy_dot(gains, gains + 2, 2, be_mujoco_of(b)->fused_dot)) > 0.9);
    return status;
}

static double reward(const be_batch *b, int64_t lane) {
    const double *target = be_mujoco_read_of(b, lane, TARGET), *mass = be_mujoco_read_of(b, lane, MASS);
    const double size = be_mujoco_read_of(b, lane, TARGET_SIZE)[0];
    const double near = dm_gaussian(b, dm_distance(b, mass, target, 3), 0, size, size);
    return near * ((dm_small_controls(b, lane) + 4) / 5);
}

static const dm_task task = {2, dm_state_sizes, dm_start_anywhere, dm_write_state, reward};
DM_TYPES(point_mass, "PointMass", 50, task, dm_state_ports,
         ((const be_id[]){DM_ID("point_mass-easy", "PointMassEasy"), {0}}));

static const dm_task hard = {2, dm_state_sizes, start_hard, dm_write_state, reward};
DM_TYPES_WITH(point_mass_hard, "PointMassHard", 50, hard, dm_state_ports, hard_state, params,
              ((const be_id[]){DM_ID("point_mass-hard", "PointMassHard"), {0}}));
