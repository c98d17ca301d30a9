/* DM Control's ball on a string, which is to be caught in a cup. */
#include "engines/mujoco/dm_control.h"

static const be_param params[] = {DM_PARAMS(10), {0}};

enum { TARGET, TARGET_SIZE, BALL, BALL_SIZE, BALL_X, BALL_Z };
static const be_read reads[] = {
    [TARGET] = {"site_xpos", "site", "target"},
    [TARGET_SIZE] = {"model.site_size", "site", "target"},
    [BALL] = {"xpos", "body", "ball"},
    [BALL_SIZE] = {"model.geom_size", "geom", "ball"},
    [BALL_X] = {"qpos", "joint", "ball_x"},
    [BALL_Z] = {"qpos", "joint", "ball_z"},
    {0},
};

static int draw(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    be_mujoco_read_of(b, lane, BALL_X)[0] = be_random_state_uniform(dm_random(b, lane), -.2, .2);
    be_mujoco_read_of(b, lane, BALL_Z)[0] = be_random_state_uniform(dm_random(b, lane), .2, .5);
    return BE_OK;
}
static int start(be_batch *b, int64_t lane, be_error *error) { return dm_start_clear(b, lane, draw, error); }

static double reward(const be_batch *b, int64_t lane) {
    const double *target = be_mujoco_read_of(b, lane, TARGET), *size = be_mujoco_read_of(b, lane, TARGET_SIZE);
    const double *ball = be_mujoco_read_of(b, lane, BALL), radius = be_mujoco_read_of(b, lane, BALL_SIZE)[0];
    const int inside = fabs(target[0] - ball[0]) < size[0] - radius && fabs(target[2] - ball[2]) < size[2] - radius;
    return inside ? 1.0 : 0.0;
}

static const dm_task task = {2, dm_state_sizes, start, dm_write_state, reward};
DM_TYPES(ball_in_cup, "BallInCup", 50, task, dm_state_ports,
         ((const be_id[]){DM_ID("ball_in_cup-catch", "BallInCupCatch"), {0}}));
