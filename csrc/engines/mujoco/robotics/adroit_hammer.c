/* AdroitHandHammer-v1: a hand that is to take a hammer and drive a nail into a board. */
#include "engines/mujoco/robotics/adroit.h"
#include "engines/mujoco/robotics/rotations.h"

static const adroit task = {.positions = 33, .actuators = 26, .observation = 46, .places = 3};

static const be_field state[] = {
    MJ_SHARED_STATE,
    [ADROIT_PLACE] = {"board_pos", BE_F64, 3, "where the nail's board is: x, y, z"},
    {0},
};

enum { COMPILED, HAMMER, HAMMER_QUAT, PALM, HEAD, NAIL, GOAL, IMPACT };
static const be_read reads[] = {
    [COMPILED] = {"model.body_pos", "body", "nail_board"},
    [HAMMER] = {"xpos", "body", "Object"},
    [HAMMER_QUAT] = {"xquat", "body", "Object"},
    [PALM] = {"site_xpos", "site", "S_grasp"},
    [HEAD] = {"site_xpos", "site", "tool"},
    [NAIL] = {"site_xpos", "site", "S_target"},
    [GOAL] = {"site_xpos", "site", "nail_goal"},
    [IMPACT] = {"sensordata", "sensor", "S_nail"},
    {0},
};

/* Only the height of the board is drawn. */
static void draw(be_batch *b, int64_t lane) {
    if (be_mujoco_is_new(b, lane)) (void)be_append(adroit_place(b, lane), be_mujoco_read_of(b, lane, COMPILED), 3);
    adroit_place(b, lane)[2] = be_rng_uniform(&b->rng[lane], 0.1, 0.25);
}
static void measure(be_batch *b, int64_t lane) { (void)b, (void)lane; }

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    row = be_append(row, arrays[MJ_QPOS], task.positions - 6);
    for (int k = task.positions - 6; k < task.positions; k++) *row++ = be_clip_one(arrays[MJ_QVEL][k], -1, 1);
    row = be_append(row, be_mujoco_read_of(b, lane, PALM), 3);
    row = be_append(row, be_mujoco_read_of(b, lane, HAMMER), 3);
    rotation_euler(be_mujoco_read_of(b, lane, HAMMER_QUAT), row);
    row = be_append(row + 3, be_mujoco_read_of(b, lane, NAIL), 3);
    *row = be_clip_one(be_mujoco_read_of(b, lane, IMPACT)[0], -1, 1);
}

static double nail_distance(const be_batch *b, int64_t lane) {
    return adroit_distance(b, be_mujoco_read_of(b, lane, NAIL), be_mujoco_read_of(b, lane, GOAL));
}
static int is_done(const be_batch *b, int64_t lane) { return nail_distance(b, lane) < 0.01; }

static double shaped(const be_batch *b, int64_t lane) {
    const double *hammer = be_mujoco_read_of(b, lane, HAMMER), *head = be_mujoco_read_of(b, lane, HEAD);
    const double *qvel = be_mujoco_arrays(b, lane)[MJ_QVEL], left = nail_distance(b, lane);
    double reward = 0.1 * adroit_distance(b, be_mujoco_read_of(b, lane, PALM), hammer);
    reward -= adroit_distance(b, head, be_mujoco_read_of(b, lane, NAIL));
    reward -= 10 * left;
    reward -= 1e-2 * sqrt(be_numpy_dot_of(qvel, qvel, task.positions));
    if (hammer[2] > 0.04 && head[2] > 0.04) reward += 2;
    if (left < 0.020) reward += 25;
    if (left < 0.010) reward += 75;
    return reward;
}
ADROIT_FUNCTIONS

BE_ENV(adroit_hammer) = {ADROIT_MEMBERS("Hammer")};
