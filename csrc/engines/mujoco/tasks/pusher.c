/* Pusher-v5 and -v4. */
#include "engines/mujoco/gymnasium.h"

enum { NEAR = MJ_PARAMS, DISTANCE, CONTROL };
static const be_param params[] = {
    MJ_SHARED_PARAMS(5),
    [NEAR] = MJ_WEIGHT("reward_near_weight", 0.5, "reward for the arm being near the object, per m"),
    [DISTANCE] = MJ_WEIGHT("reward_dist_weight", 1.0, "reward for the object being near the goal, per m"),
    [CONTROL] = MJ_WEIGHT("reward_control_weight", 0.1, "cost of controls, per squared control"),
    {0},
};

enum { TIPS_ARM, OBJECT, GOAL };
static const be_read reads[] = {
    [TIPS_ARM] = {"xpos", "body", "tips_arm"},
    [OBJECT] = {"xpos", "body", "object"},
    [GOAL] = {"xpos", "body", "goal"},
    {0},
};

enum { REWARD_DIST = MJ_PORTS, REWARD_CTRL, UNSTABLE, REWARD_NEAR };
static const be_port ports[] = {
    MJ_SHARED_PORTS,
    [REWARD_DIST] = MJ_INFO_STEP("reward_dist", "part of the reward"),
    [REWARD_CTRL] = MJ_INFO_STEP_F32("reward_ctrl", "part of the reward"),
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    [REWARD_NEAR] = MJ_INFO_STEP("reward_near", "part of the reward"),
    {0},
};
static const be_port ports_v4[] = {
    MJ_SHARED_PORTS,
    [REWARD_DIST] = MJ_INFO_STEP("reward_dist", "part of the reward"),
    [REWARD_CTRL] = MJ_INFO_STEP_F32("reward_ctrl", "squared controls, not weighted"),
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    {0},
};

enum { JOINTS = 7 };

static int prepare(be_setup *setup, be_error *error) {
    return be_mujoco_spaces(setup, 2 * JOINTS + 9, JOINTS + 4, JOINTS + 4, error);
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    row = be_append(row, arrays[MJ_QPOS], JOINTS);
    row = be_append(row, arrays[MJ_QVEL], JOINTS);
    row = be_append(row, be_mujoco_read_of(b, lane, TIPS_ARM), 3);
    row = be_append(row, be_mujoco_read_of(b, lane, OBJECT), 3);
    be_append(row, be_mujoco_read_of(b, lane, GOAL), 3);
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    const be_mujoco_view *source = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane), *qpos = arrays[MJ_QPOS], *qvel = arrays[MJ_QVEL];
    const int64_t nq = source->num_qpos, nv = source->num_qvel;
    be_rng *rng = &b->rng[lane];
    be_mujoco_clear_info(b, lane, rows);
    double object[2];
    do {
        object[0] = be_rng_uniform(rng, -0.3, 0);
        object[1] = be_rng_uniform(rng, -0.2, 0.2);
    } while (!(be_norm(object, 2, (int)source->fused_dot) > 0.17));
    memcpy(qpos, source->init_qpos, (size_t)nq * sizeof *qpos);
    memcpy(qpos + nq - 4, object, sizeof object);
    qpos[nq - 2] = qpos[nq - 1] = 0;
    for (int64_t j = 0; j < nv; j++) qvel[j] = source->init_qvel[j] + be_rng_uniform(rng, -0.005, 0.005);
    memset(qvel + nv - 4, 0, 4 * sizeof *qvel);
    return be_mujoco_begin(b, lane, error);
}
MJ_RESET_AND_OBSERVE(start, write_observation)

/* The distance of the object from a body. */
static double distance_to(const be_batch *b, int64_t lane, int index) {
    const double *object = be_mujoco_read_of(b, lane, OBJECT), *other = be_mujoco_read_of(b, lane, index);
    const double vector[] = {object[0] - other[0], object[1] - other[1], object[2] - other[2]};
    return be_norm(vector, 3, (int)be_mujoco_of(b)->fused_dot);
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int v4 = be_mujoco_is_v4(b);
    const be_mujoco_view *source = be_mujoco_of(b);
    double near = 0, far = 0;
    if (v4) near = distance_to(b, lane, TIPS_ARM), far = distance_to(b, lane, GOAL); /* where the step starts */
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    if (!v4) near = distance_to(b, lane, TIPS_ARM), far = distance_to(b, lane, GOAL);
    const float squares = -be_sum_squares_f32(MJ_ACTION(b, rows, lane), source->num_ctrl);
    const float control = squares * (float)be_param_of(b, CONTROL, lane);
    const double reward_near = -near * be_param_of(b, NEAR, lane);
    const double reward_dist = -far * be_param_of(b, DISTANCE, lane);
    write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));
    rows->reward[lane - rows->first] = reward_dist + (double)control + reward_near;
    rows->terminated[lane - rows->first] = 0;
    MJ_INFO(rows, REWARD_DIST, lane) = reward_dist;
    MJ_INFO_F32(rows, REWARD_CTRL, lane) = v4 ? squares : control;
    if (!v4) MJ_INFO(rows, REWARD_NEAR, lane) = reward_near;
    return status;
}

#define MEMBERS                                                                                                        \
    MJ_SHARED_MEMBERS, .frames_per_second = 20, .params = params, .reads = reads, .prepare = prepare, .reset = reset,  \
        .observe = observe, .step = step
BE_ENV(pusher) = {.name = "Pusher", .ids = MJ_ID("Pusher-v5", 100, BE_THRESHOLD(0.0)), .ports = ports, MEMBERS};
BE_ENV(pusher_v4) = {.name = "PusherV4",
                     .ids = MJ_ID("Pusher-v4", 100, BE_THRESHOLD(0.0)),
                     .ports = ports_v4,
                     .variant = MJ_V4,
                     MEMBERS};
