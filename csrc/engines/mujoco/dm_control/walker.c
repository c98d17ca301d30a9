/* DM Control's walker, which is to stand, walk or run in a plane. */
#include "engines/mujoco/dm_control.h"

enum { SPEED = MJ_PARAMS };
static const be_param params[] = {
    DM_PARAMS(10),
    [SPEED] = MJ_WITHIN("move_speed", 1, 0, 1e9, "speed that is wanted, m/s; 0: to stand is enough"),
    {0},
};

enum { FRAMES = DM_RANGES + 1, FRAME, PLACE, VELOCITY };
static const be_read reads[] = {
    [DM_RANGES] = {"model.jnt_range"},
    [FRAMES] = {"xmat"},
    [FRAME] = {"xmat", "body", "torso"},
    [PLACE] = {"xpos", "body", "torso"},
    [VELOCITY] = {"sensordata", "sensor", "torso_subtreelinvel"},
    {0},
};

static const be_port ports[] = {{"", BE_ACTION},
                                {"orientations", BE_OBSERVATION},
                                {"height", BE_OBSERVATION},
                                {"velocity", BE_OBSERVATION},
                                DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = 2 * (view->num_body - 1);
    size[1] = DM_ONE;
    size[2] = view->num_qvel;
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const double *frames = be_mujoco_read_of(b, lane, FRAMES);
    for (int64_t body = 1; body < be_mujoco_of(b)->num_body; body++) {
        *row++ = frames[9 * body];
        *row++ = frames[9 * body + 2];
    }
    *row++ = be_mujoco_read_of(b, lane, PLACE)[2];
    be_append(row, be_mujoco_arrays(b, lane)[MJ_QVEL], be_mujoco_of(b)->num_qvel);
}

static double reward(const be_batch *b, int64_t lane) {
    const double speed = be_param_of(b, SPEED, lane), height = be_mujoco_read_of(b, lane, PLACE)[2];
    const double standing = dm_gaussian(b, height, 1.2, HUGE_VAL, 1.2 / 2);
    const double upright = (1 + be_mujoco_read_of(b, lane, FRAME)[8]) / 2;
    const double stand = (3 * standing + upright) / 4;
    if (speed == 0) return stand;
    const double moving = dm_linear(be_mujoco_read_of(b, lane, VELOCITY)[0], speed, HUGE_VAL, speed / 2, 0.5);
    return stand * (5 * moving + 1) / 6;
}

static const dm_task task = {3, sizes, dm_start_anywhere, write_observation, reward};
DM_TYPES(walker, "Walker", 40, task, ports,
         ((const be_id[]){DM_ID("walker-stand", "WalkerStand", {"move_speed", 0}),
                          DM_ID("walker-walk", "WalkerWalk", {"move_speed", 1}),
                          DM_ID("walker-run", "WalkerRun", {"move_speed", 8}),
                          {0}}));
