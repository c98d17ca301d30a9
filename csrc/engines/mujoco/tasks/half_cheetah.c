/* HalfCheetah-v5 and -v4. */
#include "engines/mujoco/gymnasium.h"

enum { FORWARD = MJ_PARAMS, CONTROL, NOISE, EXCLUDE };
static const be_param params[] = {
    MJ_SHARED_PARAMS(5),
    [FORWARD] = MJ_WEIGHT("forward_reward_weight", 1.0, "reward for speed, per m/s"),
    [CONTROL] = MJ_WEIGHT("ctrl_cost_weight", 0.1, "cost of controls, per squared control"),
    [NOISE] = MJ_SCALE(0.1),
    [EXCLUDE] = MJ_EXCLUDE,
    {0},
};

enum { X_POSITION = MJ_PORTS, X_VELOCITY, REWARD_FORWARD, REWARD_CTRL, UNSTABLE };
static const be_port ports[] = {
    MJ_SHARED_PORTS,
    [X_POSITION] = MJ_INFO_ALWAYS("x_position", "m"),
    [X_VELOCITY] = MJ_INFO_STEP("x_velocity", "m/s"),
    [REWARD_FORWARD] = MJ_INFO_STEP("reward_forward", "part of the reward"),
    [REWARD_CTRL] = MJ_INFO_STEP_F32("reward_ctrl", "part of the reward"),
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    {0},
};
static const be_port ports_v4[] = {
    MJ_SHARED_PORTS,
    [X_POSITION] = MJ_INFO_STEP("x_position", "m"),
    [X_VELOCITY] = MJ_INFO_STEP("x_velocity", "m/s"),
    [REWARD_FORWARD] = MJ_INFO_STEP("reward_run", "part of the reward"),
    [REWARD_CTRL] = MJ_INFO_STEP_F32("reward_ctrl", "part of the reward"),
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    {0},
};

static int prepare(be_setup *setup, be_error *error) {
    return be_mujoco_spaces(setup, be_mujoco_state_size(setup->engine, setup->params[EXCLUDE] != 0 ? 1 : 0), 1, 0,
                            error);
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    be_mujoco_append_state(b, lane, be_param_of(b, EXCLUDE, 0) != 0 ? 1 : 0, row);
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    int status = be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 1, error);
    be_mujoco_clear_info(b, lane, rows);
    if (!be_mujoco_is_v4(b)) MJ_INFO(rows, X_POSITION, lane) = be_mujoco_arrays(b, lane)[MJ_QPOS][0];
    return status;
}
MJ_RESET_AND_OBSERVE(start, write_observation)

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const be_mujoco_view *source = be_mujoco_of(b);
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS], before = qpos[0];
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    const double velocity = (qpos[0] - before) / be_mujoco_dt(b);
    const double forward = be_param_of(b, FORWARD, lane) * velocity;
    /* Gymnasium squares and sums float32 actions; the product with a Python float is float32, too. */
    const float cost =
        (float)be_param_of(b, CONTROL, lane) * be_sum_squares_f32(MJ_ACTION(b, rows, lane), source->num_ctrl);
    write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));
    rows->reward[lane - rows->first] = forward - (double)cost;
    rows->terminated[lane - rows->first] = 0;
    MJ_INFO(rows, X_POSITION, lane) = qpos[0];
    MJ_INFO(rows, X_VELOCITY, lane) = velocity;
    MJ_INFO(rows, REWARD_FORWARD, lane) = forward;
    MJ_INFO_F32(rows, REWARD_CTRL, lane) = -cost;
    return status;
}

#define MEMBERS                                                                                                        \
    MJ_SHARED_MEMBERS, .frames_per_second = 20, .params = params, .prepare = prepare, .reset = reset,                  \
        .observe = observe, .step = step
BE_ENV(half_cheetah) = {
    .name = "HalfCheetah", .ids = MJ_ID("HalfCheetah-v5", 1000, BE_THRESHOLD(4800.0)), .ports = ports, MEMBERS};
BE_ENV(half_cheetah_v4) = {.name = "HalfCheetahV4",
                           .ids = MJ_ID("HalfCheetah-v4", 1000, BE_THRESHOLD(4800.0)),
                           .variant = MJ_V4,
                           .ports = ports_v4,
                           MEMBERS};
