/* Reacher-v5 and -v4. */
#include "engines/mujoco/gymnasium.h"

enum { DISTANCE = MJ_PARAMS, CONTROL };
static const be_param params[] = {
    MJ_SHARED_PARAMS(2),
    [DISTANCE] = MJ_WEIGHT("reward_dist_weight", 1.0, "reward for being near the target, per m"),
    [CONTROL] = MJ_WEIGHT("reward_control_weight", 1.0, "cost of controls, per squared control"),
    {0},
};

enum { FINGERTIP, TARGET };
static const be_read reads[] = {
    [FINGERTIP] = {"xpos", "body", "fingertip"}, [TARGET] = {"xpos", "body", "target"}, {0}};

enum { REWARD_DIST = MJ_PORTS, REWARD_CTRL, UNSTABLE };
static const be_port ports[] = {
    MJ_SHARED_PORTS,
    [REWARD_DIST] = MJ_INFO_STEP("reward_dist", "part of the reward"),
    [REWARD_CTRL] = MJ_INFO_STEP_F32("reward_ctrl", "part of the reward"),
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    {0},
};

static int prepare_any(be_setup *setup, int64_t vector, be_error *error) {
    const be_mujoco_view *source = setup->engine;
    return be_mujoco_spaces(setup, 4 + source->num_qpos - 2 + 2 + vector, 4, 4, error);
}
static int prepare(be_setup *setup, be_error *error) { return prepare_any(setup, 2, error); }
static int prepare_v4(be_setup *setup, be_error *error) { return prepare_any(setup, 3, error); }

/* The vector from the target to the fingertip. */
static void find_vector(const be_batch *b, int64_t lane, double vector[3]) {
    const double *fingertip = be_mujoco_read_of(b, lane, FINGERTIP), *target = be_mujoco_read_of(b, lane, TARGET);
    for (int j = 0; j < 3; j++) vector[j] = fingertip[j] - target[j];
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const be_mujoco_view *source = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    const int64_t before = 4 + source->num_qpos - 2 + 2;
    double vector[3];
    find_vector(b, lane, vector);
    for (int j = 0; j < 2; j++) *row++ = be_math.cos(arrays[MJ_QPOS][j]);
    for (int j = 0; j < 2; j++) *row++ = be_math.sin(arrays[MJ_QPOS][j]);
    row = be_append(row, arrays[MJ_QPOS] + 2, source->num_qpos - 2);
    row = be_append(row, arrays[MJ_QVEL], 2);
    be_append(row, vector, b->space[MJ_OBSERVATION_PORT].shape[0] - before);
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    const be_mujoco_view *source = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane), *qpos = arrays[MJ_QPOS], *qvel = arrays[MJ_QVEL];
    const int64_t nq = source->num_qpos, nv = source->num_qvel;
    be_rng *rng = &b->rng[lane];
    be_mujoco_clear_info(b, lane, rows);
    for (int64_t j = 0; j < nq; j++) qpos[j] = be_rng_uniform(rng, -0.1, 0.1) + source->init_qpos[j];
    double goal[2];
    do {
        for (int j = 0; j < 2; j++) goal[j] = be_rng_uniform(rng, -0.2, 0.2);
    } while (!(be_norm(goal, 2, (int)source->fused_dot) < 0.2));
    memcpy(qpos + nq - 2, goal, sizeof goal);
    for (int64_t j = 0; j < nv; j++) qvel[j] = source->init_qvel[j] + be_rng_uniform(rng, -0.005, 0.005);
    qvel[nv - 2] = qvel[nv - 1] = 0;
    return be_mujoco_begin(b, lane, error);
}
MJ_RESET_AND_OBSERVE(start, write_observation)

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int v4 = be_mujoco_is_v4(b);
    const be_mujoco_view *source = be_mujoco_of(b);
    double vector[3];
    if (v4) find_vector(b, lane, vector); /* -v4 rewards where the step starts, -v5 where it ends */
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    if (!v4) find_vector(b, lane, vector);
    const double distance = -be_norm(vector, 3, (int)source->fused_dot) * be_param_of(b, DISTANCE, lane);
    const float control =
        -be_sum_squares_f32(MJ_ACTION(b, rows, lane), source->num_ctrl) * (float)be_param_of(b, CONTROL, lane);
    write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));
    rows->reward[lane - rows->first] = distance + (double)control;
    rows->terminated[lane - rows->first] = 0;
    MJ_INFO(rows, REWARD_DIST, lane) = distance;
    MJ_INFO_F32(rows, REWARD_CTRL, lane) = control;
    return status;
}

#define MEMBERS                                                                                                        \
    MJ_SHARED_MEMBERS, .frames_per_second = 50, .params = params, .ports = ports, .reads = reads, .reset = reset,      \
        .observe = observe, .step = step
BE_ENV(reacher) = {.name = "Reacher", .ids = MJ_ID("Reacher-v5", 50, BE_THRESHOLD(-3.75)), .prepare = prepare, MEMBERS};
BE_ENV(reacher_v4) = {.name = "ReacherV4",
                      .ids = MJ_ID("Reacher-v4", 50, BE_THRESHOLD(-3.75)),
                      .prepare = prepare_v4,
                      .variant = MJ_V4,
                      MEMBERS};
