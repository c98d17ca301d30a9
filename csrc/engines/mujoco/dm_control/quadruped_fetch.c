/* DM Control's quadruped, which is to bring a ball to a target. */
#include "quadruped.h"

static const be_param params[] = {DM_PARAMS(4), {0}};

enum {
    FLOOR = QUADRUPED_OWN,
    ROOT_SPEED,
    BALL_ROOT,
    BALL_SPEED,
    BALL,
    BALL_SIZE,
    TARGET,
    TARGET_SIZE,
    MOUTH,
    MOUTH_SIZE
};
static const be_read reads[] = {
    QUADRUPED_READS,
    [FLOOR] = {"model.geom_size", "geom", "floor"},
    [ROOT_SPEED] = {"qvel", "joint", "root"},
    [BALL_ROOT] = {"qpos", "joint", "ball_root"},
    [BALL_SPEED] = {"qvel", "joint", "ball_root"},
    [BALL] = {"xpos", "body", "ball"},
    [BALL_SIZE] = {"model.geom_size", "geom", "ball"},
    [TARGET] = {"site_xpos", "site", "target"},
    [TARGET_SIZE] = {"model.site_size", "site", "target"},
    [MOUTH] = {"site_xpos", "site", "workspace"},
    [MOUTH_SIZE] = {"model.site_size", "site", "workspace"},
    {0},
};
static const be_port ports[] = {
    QUADRUPED_PORTS, {"ball_state", BE_OBSERVATION}, {"target_position", BE_OBSERVATION}, DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    common_sizes(view, size);
    size[QUADRUPED_PARTS] = 9;
    size[QUADRUPED_PARTS + 1] = 3;
}

static int start(be_batch *b, int64_t lane, be_error *error) {
    be_random_state *random = dm_random(b, lane);
    const double azimuth = be_random_state_uniform(random, 0, 2 * M_PI);
    const double quat[] = {be_numpy_cos(azimuth / 2), 0, 0, be_numpy_sin(azimuth / 2)};
    const double radius = 0.9 * be_mujoco_read_of(b, lane, FLOOR)[0];
    const double x = be_random_state_uniform(random, -radius, radius);
    const double y = be_random_state_uniform(random, -radius, radius);
    const int status = place_clear(b, lane, quat, x, y, error);
    if (status != BE_OK) return status;
    double *ball = be_mujoco_read_of(b, lane, BALL_ROOT), *speed = be_mujoco_read_of(b, lane, BALL_SPEED);
    for (int k = 0; k < 2; k++) ball[k] = be_random_state_uniform(random, -radius, radius);
    ball[2] = 2;
    for (int k = 0; k < 2; k++) speed[k] = 5 * be_random_state_normal(random);
    return BE_OK;
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const double *torso = be_mujoco_read_of(b, lane, TORSO), *frame = be_mujoco_read_of(b, lane, TORSO_FRAME);
    const double *ball = be_mujoco_read_of(b, lane, BALL), *speed = be_mujoco_read_of(b, lane, BALL_SPEED);
    const double *target = be_mujoco_read_of(b, lane, TARGET), *own = be_mujoco_read_of(b, lane, ROOT_SPEED);
    double state[3][3], way[3];
    for (int k = 0; k < 3; k++) {
        state[0][k] = ball[k] - torso[k];
        state[1][k] = speed[k] - own[k];
        state[2][k] = speed[3 + k];
        way[k] = target[k] - torso[k];
    }
    row = write_common(b, lane, row);
    for (int i = 0; i < 3; i++, row += 3) dm_in_frame(state[i], frame, 3, be_mujoco_of(b)->fused_matmul, row);
    dm_in_frame(way, frame, 3, be_mujoco_of(b)->fused_vecmat, row);
}

/* Distances are along the floor. */
static double reward(const be_batch *b, int64_t lane) {
    const double *ball = be_mujoco_read_of(b, lane, BALL), *mouth = be_mujoco_read_of(b, lane, MOUTH);
    const double arena = be_mujoco_read_of(b, lane, FLOOR)[0] * sqrt(2);
    const double near = be_mujoco_read_of(b, lane, MOUTH_SIZE)[0] + be_mujoco_read_of(b, lane, BALL_SIZE)[0];
    const double reach = dm_linear(dm_distance(b, mouth, ball, 2), 0, near, arena, 0);
    const double *target = be_mujoco_read_of(b, lane, TARGET), size = be_mujoco_read_of(b, lane, TARGET_SIZE)[0];
    const double fetch = dm_linear(dm_distance(b, target, ball, 2), 0, size, arena, 0);
    return upright(b, lane, 1) * (reach * (0.5 + 0.5 * fetch));
}

static const dm_task task = {QUADRUPED_PARTS + 2, sizes, start, write_observation, reward};
DM_TYPES(quadruped_fetch, "QuadrupedFetch", 50, task, ports,
         ((const be_id[]){DM_ID("quadruped-fetch", "QuadrupedFetch"), {0}}));
