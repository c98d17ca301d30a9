/* Hopper and Walker2d, -v5 and -v4: one leg or two in a plane, which must not fall. */
#include "engines/mujoco/gymnasium.h"

enum {
    FORWARD = MJ_PARAMS,
    CONTROL,
    HEALTHY,
    TERMINATE,
    Z_MIN,
    Z_MAX,
    ANGLE_MIN,
    ANGLE_MAX,
    NOISE,
    EXCLUDE,
    STATE_MIN, /* Hopper only */
    STATE_MAX
};
/* clang-format off */
#define SHARED(z_min, z_max, angle_min, angle_max)                                                                     \
    MJ_SHARED_PARAMS(4),                                                                                               \
    [FORWARD] = MJ_WEIGHT("forward_reward_weight", 1.0, "reward for speed, per m/s"),                                  \
    [CONTROL] = MJ_WEIGHT("ctrl_cost_weight", 1e-3, "cost of controls, per squared control"),                          \
    [HEALTHY] = MJ_WEIGHT("healthy_reward", 1.0, "reward for a step in health"),                                       \
    [TERMINATE] = MJ_TERMINATE,                                                                                        \
    [Z_MIN] = MJ_BOUND("healthy_z_min", z_min, "the torso's height must be above, m"),                                 \
    [Z_MAX] = MJ_BOUND("healthy_z_max", z_max, "the torso's height must be below, m"),                                 \
    [ANGLE_MIN] = MJ_BOUND("healthy_angle_min", angle_min, "the torso's angle must be above, rad"),                    \
    [ANGLE_MAX] = MJ_BOUND("healthy_angle_max", angle_max, "the torso's angle must be below, rad"),                    \
    [NOISE] = MJ_SCALE(5e-3),                                                                                          \
    [EXCLUDE] = MJ_EXCLUDE
/* clang-format on */
static const be_param walker_params[] = {SHARED(0.8, 2.0, -1.0, 1.0), {0}};
static const be_param hopper_params[] = {
    SHARED(0.7, MJ_ANY, -0.2, 0.2),
    [STATE_MIN] = MJ_BOUND("healthy_state_min", -100, "all further positions and velocities must be above"),
    [STATE_MAX] = MJ_BOUND("healthy_state_max", 100, "all further positions and velocities must be below"),
    {0},
};

enum { X_POSITION = MJ_PORTS, Z_DISTANCE, X_VELOCITY, REWARD_FORWARD, REWARD_CTRL, REWARD_SURVIVE, UNSTABLE };
static const be_port ports[] = {
    MJ_SHARED_PORTS,
    [X_POSITION] = MJ_INFO_ALWAYS("x_position", "m"),
    [Z_DISTANCE] = MJ_INFO_ALWAYS("z_distance_from_origin", "height above the start, m"),
    [X_VELOCITY] = MJ_INFO_STEP("x_velocity", "m/s"),
    [REWARD_FORWARD] = MJ_INFO_STEP("reward_forward", "part of the reward"),
    [REWARD_CTRL] = MJ_INFO_STEP_F32("reward_ctrl", "part of the reward"),
    [REWARD_SURVIVE] = MJ_INFO_STEP("reward_survive", "part of the reward"),
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    {0},
};
enum { X_POSITION_V4 = MJ_PORTS, X_VELOCITY_V4, UNSTABLE_V4 };
static const be_port ports_v4[] = {
    MJ_SHARED_PORTS,
    [X_POSITION_V4] = MJ_INFO_STEP("x_position", "m"),
    [X_VELOCITY_V4] = MJ_INFO_STEP("x_velocity", "m/s"),
    [UNSTABLE_V4] = MJ_UNSTABLE_INFO,
    {0},
};

static int prepare(be_setup *setup, be_error *error) {
    return be_mujoco_spaces(setup, be_mujoco_state_size(setup->engine, setup->params[EXCLUDE] != 0), 3, 0, error);
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const be_mujoco_view *source = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    const int64_t skip = be_param_of(b, EXCLUDE, 0) != 0;
    row = be_append(row, arrays[MJ_QPOS] + skip, source->num_qpos - skip);
    for (int64_t j = 0; j < source->num_qvel; j++) row[j] = be_clip_one(arrays[MJ_QVEL][j], -10, 10);
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    int status = be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 0, error);
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS];
    be_mujoco_clear_info(b, lane, rows);
    if (be_mujoco_is_v4(b)) return status;
    MJ_INFO(rows, X_POSITION, lane) = qpos[0];
    MJ_INFO(rows, Z_DISTANCE, lane) = qpos[1] - be_mujoco_of(b)->init_qpos[1];
    return status;
}
MJ_RESET_AND_OBSERVE(start, write_observation)

static int between(double low, double value, double high) { return low < value && value < high; }

enum { HOPPER = MJ_OWN };

static int is_healthy(const be_batch *b, int64_t lane) {
    const be_mujoco_view *source = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *qpos = arrays[MJ_QPOS], *qvel = arrays[MJ_QVEL];
    if (!between(be_param_of(b, Z_MIN, lane), qpos[1], be_param_of(b, Z_MAX, lane))) return 0;
    if (!between(be_param_of(b, ANGLE_MIN, lane), qpos[2], be_param_of(b, ANGLE_MAX, lane))) return 0;
    if (!(b->type->variant & HOPPER)) return 1;
    const double low = be_param_of(b, STATE_MIN, lane), high = be_param_of(b, STATE_MAX, lane);
    for (int64_t j = 2; j < source->num_qpos; j++) {
        if (!between(low, qpos[j], high)) return 0;
    }
    for (int64_t j = 0; j < source->num_qvel; j++) {
        if (!between(low, qvel[j], high)) return 0;
    }
    return 1;
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const be_mujoco_view *source = be_mujoco_of(b);
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS], before = qpos[0];
    const int v4 = be_mujoco_is_v4(b);
    const int status = be_mujoco_advance(b, lane, rows, v4 ? (int)UNSTABLE_V4 : (int)UNSTABLE, error);
    if (status != BE_OK) return status;
    const double velocity = (qpos[0] - before) / be_mujoco_dt(b);
    const double forward = be_param_of(b, FORWARD, lane) * velocity;
    const float cost =
        (float)be_param_of(b, CONTROL, lane) * be_sum_squares_f32(MJ_ACTION(b, rows, lane), source->num_ctrl);
    const int healthy = is_healthy(b, lane), terminate = be_param_of(b, TERMINATE, lane) != 0;
    const double survive = (double)(healthy || (v4 && terminate)) * be_param_of(b, HEALTHY, lane);
    write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));
    rows->reward[lane - rows->first] = forward + survive - (double)cost;
    rows->terminated[lane - rows->first] = (uint8_t)(!healthy && terminate);
    if (v4) {
        MJ_INFO(rows, X_POSITION_V4, lane) = qpos[0];
        MJ_INFO(rows, X_VELOCITY_V4, lane) = velocity;
        return status;
    }
    MJ_INFO(rows, X_POSITION, lane) = qpos[0];
    MJ_INFO(rows, Z_DISTANCE, lane) = qpos[1] - source->init_qpos[1];
    MJ_INFO(rows, X_VELOCITY, lane) = velocity;
    MJ_INFO(rows, REWARD_FORWARD, lane) = forward;
    MJ_INFO_F32(rows, REWARD_CTRL, lane) = -cost;
    MJ_INFO(rows, REWARD_SURVIVE, lane) = survive;
    return status;
}

#define MEMBERS                                                                                                        \
    MJ_SHARED_MEMBERS, .frames_per_second = 125, .prepare = prepare, .reset = reset, .observe = observe, .step = step
BE_ENV(hopper) = {.name = "Hopper",
                  .ids = MJ_ID("Hopper-v5", 1000, BE_THRESHOLD(3800.0)),
                  .variant = HOPPER,
                  .params = hopper_params,
                  .ports = ports,
                  MEMBERS};
BE_ENV(hopper_v4) = {.name = "HopperV4",
                     .ids = MJ_ID("Hopper-v4", 1000, BE_THRESHOLD(3800.0)),
                     .variant = MJ_V4 | HOPPER,
                     .params = hopper_params,
                     .ports = ports_v4,
                     MEMBERS};
BE_ENV(walker2d) = {
    .name = "Walker2d", .ids = MJ_ID("Walker2d-v5", 1000, NULL), .params = walker_params, .ports = ports, MEMBERS};
BE_ENV(walker2d_v4) = {.name = "Walker2dV4",
                       .ids = MJ_ID("Walker2d-v4", 1000, NULL),
                       .variant = MJ_V4,
                       .params = walker_params,
                       .ports = ports_v4,
                       MEMBERS};
