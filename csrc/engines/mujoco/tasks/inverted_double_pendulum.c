/* InvertedDoublePendulum-v5 and -v4. */
#include "engines/mujoco/gymnasium.h"

enum { NOISE = MJ_PARAMS, HEALTHY };
static const be_param params[] = {
    MJ_SHARED_PARAMS(5),
    [NOISE] = MJ_SCALE(0.1),
    [HEALTHY] = MJ_WEIGHT("healthy_reward", 10.0, "reward for a step that does not end the episode"),
    {0},
};

enum { CONSTRAINTS, TIP };
static const be_read reads[] = {[CONSTRAINTS] = {"qfrc_constraint"}, [TIP] = {"site_xpos"}, {0}};

enum { UNSTABLE = MJ_PORTS, REWARD_SURVIVE, DISTANCE_PENALTY, VELOCITY_PENALTY };
static const be_port ports[] = {
    MJ_SHARED_PORTS,
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    [REWARD_SURVIVE] = MJ_INFO_STEP("reward_survive", "part of the reward"),
    [DISTANCE_PENALTY] = MJ_INFO_STEP("distance_penalty", "part of the reward"),
    [VELOCITY_PENALTY] = MJ_INFO_STEP("velocity_penalty", "part of the reward"),
    {0},
};
static const be_port ports_v4[] = {MJ_SHARED_PORTS, [UNSTABLE] = MJ_UNSTABLE_INFO, {0}};

/* -v5 observes the constraint force on the cart, -v4 on all joints. */
static int prepare_any(be_setup *setup, int v4, be_error *error) {
    const be_mujoco_view *source = setup->engine;
    if (source->reads[TIP].size == 0) {
        return be_fail(error, BE_ERROR_VALUE, -1, "xml_file: the model must have a site, at the tip");
    }
    return be_mujoco_spaces(setup, 2 * source->num_qpos - 1 + source->num_qvel + (v4 ? source->num_qvel : (int64_t)1),
                            3, 3, error);
}
static int prepare(be_setup *setup, be_error *error) { return prepare_any(setup, 0, error); }
static int prepare_v4(be_setup *setup, be_error *error) { return prepare_any(setup, 1, error); }

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const be_mujoco_view *source = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    const int64_t angles = source->num_qpos - 1;
    *row++ = arrays[MJ_QPOS][0];
    for (int64_t j = 1; j <= angles; j++) *row++ = be_math.sin(arrays[MJ_QPOS][j]);
    for (int64_t j = 1; j <= angles; j++) *row++ = be_math.cos(arrays[MJ_QPOS][j]);
    for (int64_t j = 0; j < source->num_qvel; j++) *row++ = be_clip_one(arrays[MJ_QVEL][j], -10, 10);
    const int64_t count = be_mujoco_is_v4(b) ? source->num_qvel : 1;
    const double *forces = be_mujoco_read_of(b, lane, CONSTRAINTS);
    for (int64_t j = 0; j < count; j++) *row++ = be_clip_one(forces[j], -10, 10);
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    be_mujoco_clear_info(b, lane, rows);
    return be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 1, error);
}
MJ_RESET_AND_OBSERVE(start, write_observation)

/* x ** 2 of a NumPy float64, which is pow(x, 2): in a few cases it rounds differently from x * x. */
static double square(double x) { return be_math.pow(x, 2); }

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    double *const *arrays = be_mujoco_arrays(b, lane);
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));
    const double x = be_mujoco_read_of(b, lane, TIP)[0], y = be_mujoco_read_of(b, lane, TIP)[2];
    const double distance = 0.01 * square(x) + square(y - 2);
    const double velocity = 1e-3 * square(arrays[MJ_QVEL][1]) + 5e-3 * square(arrays[MJ_QVEL][2]);
    const int terminated = y <= 1, v4 = be_mujoco_is_v4(b);
    const double alive = v4 ? 10.0 : be_param_of(b, HEALTHY, lane) * (double)!terminated;
    rows->reward[lane - rows->first] = alive - distance - velocity;
    rows->terminated[lane - rows->first] = (uint8_t)terminated;
    if (v4) return status;
    MJ_INFO(rows, REWARD_SURVIVE, lane) = alive;
    MJ_INFO(rows, DISTANCE_PENALTY, lane) = -distance;
    MJ_INFO(rows, VELOCITY_PENALTY, lane) = -velocity;
    return status;
}

#define MEMBERS                                                                                                        \
    MJ_SHARED_MEMBERS, .frames_per_second = 20, .params = params, .reads = reads, .reset = reset, .observe = observe,  \
        .step = step
BE_ENV(inverted_double_pendulum) = {.name = "InvertedDoublePendulum",
                                    .ids = MJ_ID("InvertedDoublePendulum-v5", 1000, BE_THRESHOLD(9100.0)),
                                    .ports = ports,
                                    .prepare = prepare,
                                    MEMBERS};
BE_ENV(inverted_double_pendulum_v4) = {.name = "InvertedDoublePendulumV4",
                                       .ids = MJ_ID("InvertedDoublePendulum-v4", 1000, BE_THRESHOLD(9100.0)),
                                       .variant = MJ_V4,
                                       .ports = ports_v4,
                                       .prepare = prepare_v4,
                                       MEMBERS};
