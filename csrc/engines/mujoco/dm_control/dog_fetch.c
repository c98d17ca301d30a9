/* DM Control's dog, which is to bring a ball to a target. */
#include "dog.h"

static const be_param params[] = {DM_PARAMS(3), {0}};

enum {
    FLOOR = DOG_OWN,
    BALL_ROOT,
    BALL_SPEED,
    BALL,
    BALL_MOTION,
    BALL_CENTRE,
    TARGET,
    TARGET_SIZE,
    HEAD,
    HEAD_FRAME,
    HEAD_MOTION,
    HEAD_CENTRE,
    BITES,
    BITE_SIZE = BITES + 2
};
static const be_read reads[] = {
    DOG_READS,
    [FLOOR] = {"model.geom_size", "geom", "floor"},
    [BALL_ROOT] = {"qpos", "joint", "ball_root"},
    [BALL_SPEED] = {"qvel", "joint", "ball_root"},
    [BALL] = {"geom_xpos", "geom", "ball"},
    [BALL_MOTION] = {"cvel", "body", "ball"},
    [BALL_CENTRE] = {"subtree_com", "body", "ball"},
    [TARGET] = {"geom_xpos", "geom", "target"},
    [TARGET_SIZE] = {"model.geom_size", "geom", "target"},
    [HEAD] = {"site_xpos", "site", "head"},
    [HEAD_FRAME] = {"site_xmat", "site", "head"},
    [HEAD_MOTION] = {"cvel", "body", "skull"},
    [HEAD_CENTRE] = {"subtree_com", "body", "torso"},
    [BITES] = {"site_xpos", "site", "upper_bite"},
    {"site_xpos", "site", "lower_bite"},
    [BITE_SIZE] = {"model.site_size", "site", "upper_bite"},
    {0},
};
static const be_port ports[] = {
    DOG_PORTS, {"ball_state", BE_OBSERVATION}, {"target_position", BE_OBSERVATION}, DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    common_sizes(view, size);
    size[DOG_PARTS] = 6;
    size[DOG_PARTS + 1] = 3;
}

/* The ball flies to the middle, more or less. */
static int start(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    start_standing(b, lane);
    be_random_state *random = dm_random(b, lane);
    const double radius = 0.75 * be_mujoco_read_of(b, lane, FLOOR)[0];
    const double azimuth = be_random_state_uniform(random, 0, 2 * M_PI);
    const double sine = be_numpy_sin(azimuth), cosine = be_numpy_cos(azimuth);
    be_append(be_mujoco_read_of(b, lane, BALL_ROOT), (const double[]){radius * sine, radius * cosine, 0.05}, 3);
    const double height = be_random_state_uniform(random, 0, 3);
    const double speed = be_random_state_uniform(random, 0, 5);
    double *velocity = be_mujoco_read_of(b, lane, BALL_SPEED);
    velocity[0] = speed * (-sine + 0.05 * be_random_state_normal(random));
    velocity[1] = speed * (-cosine + 0.05 * be_random_state_normal(random));
    velocity[2] = sqrt(2 * -be_mujoco_read_of(b, lane, GRAVITY)[2] * height);
    return BE_OK;
}

/* The velocity of a point of a body as mj_objectVelocity has it. motion: the body's cvel; centre: what that is about.
 */
static void velocity_of(const double *motion, const double *point, const double *centre, double *velocity) {
    const double way[] = {point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]};
    for (int k = 0; k < 3; k++) {
        const int next = (k + 1) % 3, last = (k + 2) % 3;
        velocity[k] = motion[3 + k] - (way[next] * motion[last] - way[last] * motion[next]);
    }
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const double *head = be_mujoco_read_of(b, lane, HEAD), *frame = be_mujoco_read_of(b, lane, HEAD_FRAME);
    const double *ball = be_mujoco_read_of(b, lane, BALL), *target = be_mujoco_read_of(b, lane, TARGET);
    const double *ball_motion = be_mujoco_read_of(b, lane, BALL_MOTION),
                 *motion = be_mujoco_read_of(b, lane, HEAD_MOTION);
    double own[3], velocity[3], to_ball[3], to_target[3];
    velocity_of(motion, head, be_mujoco_read_of(b, lane, HEAD_CENTRE), own);
    velocity_of(ball_motion, ball, be_mujoco_read_of(b, lane, BALL_CENTRE), velocity);
    for (int k = 0; k < 3; k++) {
        velocity[k] -= own[k];
        to_ball[k] = ball[k] - head[k];
        to_target[k] = target[k] - head[k];
    }
    row = write_common(b, lane, row);
    dm_in_frame(to_ball, frame, 3, be_mujoco_of(b)->fused_vecmat, row);
    dm_in_frame(velocity, frame, 3, be_mujoco_of(b)->fused_vecmat, row + 3);
    dm_in_frame(to_target, frame, 3, be_mujoco_of(b)->fused_vecmat, row + 6);
}

static double reward(const be_batch *b, int64_t lane) {
    const double *ball = be_mujoco_read_of(b, lane, BALL);
    const double upper = dm_distance(b, ball, be_mujoco_read_of(b, lane, BITES), 3);
    const double lower = dm_distance(b, ball, be_mujoco_read_of(b, lane, BITES + 1), 3);
    const double bite = dm_reciprocal(0.5 * (upper + lower), 0, be_mujoco_read_of(b, lane, BITE_SIZE)[0], 2);
    const double left = dm_distance(b, ball, be_mujoco_read_of(b, lane, TARGET), 3);
    const double size = be_mujoco_read_of(b, lane, TARGET_SIZE)[0];
    const double brought = dm_reciprocal(left, 0, size, be_mujoco_read_of(b, lane, FLOOR)[0]);
    const double reach = left < 2 * size ? 1 : (6 * bite + 1) / 7; /* a ball that has been brought may be let go */
    return standing(b, lane) * reach * ((brought + 1) / 2);
}

static const dm_task task = {DOG_PARTS + 2, sizes, start, write_observation, reward};
DM_TYPES_WITH(dog_fetch, "DogFetch", 67, task, ports, state, params,
              ((const be_id[]){DM_ID("dog-fetch", "DogFetch"), {0}}));
