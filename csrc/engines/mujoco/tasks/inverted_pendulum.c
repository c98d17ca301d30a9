/* InvertedPendulum-v5 and -v4. */
#include "engines/mujoco/gymnasium.h"

enum { NOISE = MJ_PARAMS };
static const be_param params[] = {MJ_SHARED_PARAMS(2), [NOISE] = MJ_SCALE(0.01), {0}};

enum { UNSTABLE = MJ_PORTS, REWARD_SURVIVE };
static const be_port ports[] = {
    MJ_SHARED_PORTS,
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    [REWARD_SURVIVE] = {"reward_survive", BE_INFO, BE_VALUE(BE_I64), .when = BE_IN_STEPS, .doc = "the reward"},
    {0},
};
static const be_port ports_v4[] = {MJ_SHARED_PORTS, [UNSTABLE] = MJ_UNSTABLE_INFO, {0}};

static int prepare(be_setup *setup, be_error *error) {
    return be_mujoco_spaces(setup, be_mujoco_state_size(setup->engine, 0), 2, 0, error);
}

static void write_observation(const be_batch *b, int64_t lane, double *row) { be_mujoco_append_state(b, lane, 0, row); }

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    be_mujoco_clear_info(b, lane, rows);
    return be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 0, error);
}
MJ_RESET_AND_OBSERVE(start, write_observation)

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    double *row = MJ_OBSERVATION(b, rows, lane);
    write_observation(b, lane, row);
    int terminated = fabs(row[1]) > 0.2;
    for (int64_t j = 0; j < b->space[MJ_OBSERVATION_PORT].shape[0]; j++) terminated |= !isfinite(row[j]);
    const int v4 = be_mujoco_is_v4(b);
    rows->terminated[lane - rows->first] = (uint8_t)terminated;
    rows->reward[lane - rows->first] = v4 || !terminated;
    if (!v4) BE_ROW(int64_t, rows->port[REWARD_SURVIVE], rows, lane, 1)[0] = !terminated;
    return status;
}

#define MEMBERS                                                                                                        \
    MJ_SHARED_MEMBERS, .frames_per_second = 25, .params = params, .prepare = prepare, .reset = reset,                  \
        .observe = observe, .step = step
BE_ENV(inverted_pendulum) = {.name = "InvertedPendulum",
                             .ids = MJ_ID("InvertedPendulum-v5", 1000, BE_THRESHOLD(950.0)),
                             .ports = ports,
                             MEMBERS};
BE_ENV(inverted_pendulum_v4) = {.name = "InvertedPendulumV4",
                                .ids = MJ_ID("InvertedPendulum-v4", 1000, BE_THRESHOLD(950.0)),
                                .variant = MJ_V4,
                                .ports = ports_v4,
                                MEMBERS};
