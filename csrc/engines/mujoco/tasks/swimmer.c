/* Swimmer-v5 and -v4. */
#include "engines/mujoco/plane.h"

enum { FORWARD = MJ_PARAMS, CONTROL, NOISE, EXCLUDE };
static const be_param params[] = {
    MJ_SHARED_PARAMS(4),
    [FORWARD] = MJ_WEIGHT("forward_reward_weight", 1.0, "reward for speed, per m/s"),
    [CONTROL] = MJ_WEIGHT("ctrl_cost_weight", 1e-4, "cost of controls, per squared control"),
    [NOISE] = MJ_SCALE(0.1),
    [EXCLUDE] = MJ_EXCLUDE,
    {0},
};

enum { REWARD_FORWARD = PLANE_PORTS, REWARD_CTRL, UNSTABLE, FORWARD_REWARD_V4 };
/* clang-format off */
#define SHARED(kind, reward_forward)                                                                                   \
    PLANE_INFOS(kind),                                                                                                 \
    [REWARD_FORWARD] = MJ_INFO_STEP(reward_forward, "part of the reward"),                                             \
    [REWARD_CTRL] = MJ_INFO_STEP_F32("reward_ctrl", "part of the reward"),                                             \
    [UNSTABLE] = MJ_UNSTABLE_INFO
/* clang-format on */
static const be_port ports[] = {MJ_SHARED_PORTS, SHARED(MJ_INFO_ALWAYS, "reward_forward"), {0}};
static const be_port ports_v4[] = {
    MJ_SHARED_PORTS,
    SHARED(MJ_INFO_STEP, "reward_fwd"),
    [FORWARD_REWARD_V4] = MJ_INFO_STEP("forward_reward", "the same as reward_fwd"),
    {0},
};

static int prepare(be_setup *setup, be_error *error) {
    return be_mujoco_spaces(setup, be_mujoco_state_size(setup->engine, setup->params[EXCLUDE] != 0 ? 2 : 0), 2, 0,
                            error);
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    be_mujoco_append_state(b, lane, be_param_of(b, EXCLUDE, 0) != 0 ? 2 : 0, row);
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    int status = be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 0, error);
    be_mujoco_clear_info(b, lane, rows);
    if (!be_mujoco_is_v4(b)) write_position(b, lane, rows, be_mujoco_arrays(b, lane)[MJ_QPOS]);
    return status;
}
MJ_RESET_AND_OBSERVE(start, write_observation)

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const be_mujoco_view *source = be_mujoco_of(b);
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS], before[] = {qpos[0], qpos[1]};
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    const double dt = be_mujoco_dt(b), velocity[] = {(qpos[0] - before[0]) / dt, (qpos[1] - before[1]) / dt};
    const double forward = be_param_of(b, FORWARD, lane) * velocity[0];
    const float cost =
        (float)be_param_of(b, CONTROL, lane) * be_sum_squares_f32(MJ_ACTION(b, rows, lane), source->num_ctrl);
    write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));
    rows->reward[lane - rows->first] = forward - (double)cost;
    rows->terminated[lane - rows->first] = 0;
    write_position(b, lane, rows, qpos);
    MJ_INFO(rows, X_VELOCITY, lane) = velocity[0];
    MJ_INFO(rows, Y_VELOCITY, lane) = velocity[1];
    MJ_INFO(rows, REWARD_FORWARD, lane) = forward;
    MJ_INFO_F32(rows, REWARD_CTRL, lane) = -cost;
    if (be_mujoco_is_v4(b)) MJ_INFO(rows, FORWARD_REWARD_V4, lane) = forward;
    return status;
}

#define MEMBERS                                                                                                        \
    MJ_SHARED_MEMBERS, .frames_per_second = 25, .params = params, .prepare = prepare, .reset = reset,                  \
        .observe = observe, .step = step
BE_ENV(swimmer) = {.name = "Swimmer", .ids = MJ_ID("Swimmer-v5", 1000, BE_THRESHOLD(360.0)), .ports = ports, MEMBERS};
BE_ENV(swimmer_v4) = {.name = "SwimmerV4",
                      .ids = MJ_ID("Swimmer-v4", 1000, BE_THRESHOLD(360.0)),
                      .variant = MJ_V4,
                      .ports = ports_v4,
                      MEMBERS};
