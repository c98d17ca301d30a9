/* AdroitHandDoor-v1: a hand that is to undo a latch and open a door. */
#include "engines/mujoco/robotics/adroit.h"

static const adroit task = {.positions = 30, .actuators = 28, .observation = 39, .places = 3};

static const be_field state[] = {
    MJ_SHARED_STATE,
    [ADROIT_PLACE] = {"door_body_pos", BE_F64, 3, "where the door's frame is: x, y, z"},
    {0},
};

enum { HINGE, PALM, HANDLE };
static const be_read reads[] = {
    [HINGE] = {"qpos", "joint", "door_hinge"},
    [PALM] = {"site_xpos", "site", "S_grasp"},
    [HANDLE] = {"site_xpos", "site", "S_handle"},
    {0},
};

static void draw(be_batch *b, int64_t lane) {
    static const double low[] = {-0.3, 0.25, 0.252}, high[] = {-0.2, 0.35, 0.35};
    for (int k = 0; k < 3; k++) adroit_place(b, lane)[k] = be_rng_uniform(&b->rng[lane], low[k], high[k]);
}
static void measure(be_batch *b, int64_t lane) { (void)b, (void)lane; }

/* The latch's angle is the last position, and the door's the one before. */
static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS], *hinge = be_mujoco_read_of(b, lane, HINGE);
    const double *palm = be_mujoco_read_of(b, lane, PALM), *handle = be_mujoco_read_of(b, lane, HANDLE);
    row = be_append(row, qpos + 1, task.positions - 3);
    row = be_append(be_append(row, qpos + task.positions - 1, 1), hinge, 1);
    row = adroit_append_way(palm, handle, be_append(be_append(row, palm, 3), handle, 3));
    *row = *hinge > 1 ? 1 : -1;
}

static int is_done(const be_batch *b, int64_t lane) { return be_mujoco_read_of(b, lane, HINGE)[0] >= 1.35; }

static double shaped(const be_batch *b, int64_t lane) {
    const double angle = be_mujoco_read_of(b, lane, HINGE)[0], *qvel = be_mujoco_arrays(b, lane)[MJ_QVEL];
    double reward = 0.1 * adroit_distance(b, be_mujoco_read_of(b, lane, PALM), be_mujoco_read_of(b, lane, HANDLE));
    reward += -0.1 * (angle - 1.57) * (angle - 1.57);
    reward += -1e-5 * be_sum_squares(qvel, task.positions);
    if (angle > 0.2) reward += 2;
    if (angle > 1.0) reward += 8;
    if (angle > 1.35) reward += 10;
    return reward;
}
ADROIT_FUNCTIONS

BE_ENV(adroit_door) = {ADROIT_MEMBERS("Door")};
