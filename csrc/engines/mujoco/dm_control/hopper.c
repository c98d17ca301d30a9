/* DM Control's hopper, which is to stand or to hop. */
#include "engines/mujoco/dm_control.h"

enum { HOPPING = MJ_PARAMS };
static const be_param params[] = {
    DM_PARAMS(4),
    [HOPPING] = {"hopping", BE_PARAM_BOOL, 1, 0, 1, NULL, "to hop is rewarded, not to stand with little effort", 0, 1},
    {0},
};

enum { TORSO = DM_RANGES + 1, FOOT, VELOCITY, TOE, HEEL };
static const be_read reads[] = {
    [DM_RANGES] = {"model.jnt_range"},
    [TORSO] = {"xipos", "body", "torso"},
    [FOOT] = {"xipos", "body", "foot"},
    [VELOCITY] = {"sensordata", "sensor", "torso_subtreelinvel"},
    [TOE] = {"sensordata", "sensor", "touch_toe"},
    [HEEL] = {"sensordata", "sensor", "touch_heel"},
    {0},
};

static const be_port ports[] = {
    {"", BE_ACTION}, {"position", BE_OBSERVATION}, {"velocity", BE_OBSERVATION}, {"touch", BE_OBSERVATION}, DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = view->num_qpos - 1;
    size[1] = view->num_qvel;
    size[2] = 2;
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    row = be_mujoco_append_state(b, lane, 1, row);
    *row++ = be_numpy_log1p(be_mujoco_read_of(b, lane, TOE)[0]);
    *row++ = be_numpy_log1p(be_mujoco_read_of(b, lane, HEEL)[0]);
}

static double reward(const be_batch *b, int64_t lane) {
    const double height = be_mujoco_read_of(b, lane, TORSO)[2] - be_mujoco_read_of(b, lane, FOOT)[2];
    const double standing = be_within(height, 0.6, 2);
    if (be_param_of(b, HOPPING, lane) != 0)
        return standing * dm_linear(be_mujoco_read_of(b, lane, VELOCITY)[0], 2, HUGE_VAL, 1, 0.5);
    return standing * ((dm_small_controls(b, lane) + 4) / 5);
}

static const dm_task task = {3, sizes, dm_start_anywhere, write_observation, reward};
DM_TYPES(hopper, "Hopper", 50, task, ports,
         ((const be_id[]){DM_ID("hopper-stand", "HopperStand", {"hopping", 0}),
                          DM_ID("hopper-hop", "HopperHop", {"hopping", 1}),
                          {0}}));
