/* A user's own model: takes MuJoCo's steps and observes the fields that the user chooses. The user computes rewards and
 * ends of episodes. */
#include "engines/mujoco/mujoco.h"

enum { POSITION_NOISE = MJ_PARAMS, VELOCITY_NOISE };
static const be_param params[] = {
    MJ_SHARED_PARAMS(1),
    [POSITION_NOISE] = {"qpos_noise", BE_PARAM_FLOAT, 0, 0, 1e300, NULL, "episodes start at qpos0 +- this, uniformly"},
    [VELOCITY_NOISE] = {"qvel_noise", BE_PARAM_FLOAT, 0, 0, 1e300, NULL, "episodes start at velocities of +- this"},
    {0},
};

enum { UNSTABLE = MJ_PORTS };
static const be_port ports[] = {MJ_SHARED_PORTS, [UNSTABLE] = MJ_UNSTABLE_INFO, {0}};

static int prepare(be_setup *setup, be_error *error) {
    const be_mujoco_source *source = setup->engine;
    int64_t size = 0;
    for (int64_t j = MJ_ARRAYS; j < source->num_arrays; j++) size += source->sizes[j];
    return be_mujoco_spaces(setup, size, 0, 0, error);
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const be_mujoco_source *source = be_mujoco_source_of(b);
    for (int64_t j = MJ_ARRAYS; j < source->num_arrays; j++) {
        row = be_append(row, be_mujoco_arrays(b, lane)[j], source->sizes[j]);
    }
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    const be_mujoco_source *source = be_mujoco_source_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double qpos_noise = be_param_of(b, POSITION_NOISE, lane), qvel_noise = be_param_of(b, VELOCITY_NOISE, lane);
    be_mujoco_clear_info(b, lane, rows);
    memcpy(arrays[MJ_QPOS], source->init_qpos, (size_t)source->num_qpos * sizeof(double));
    memcpy(arrays[MJ_QVEL], source->init_qvel, (size_t)source->num_qvel * sizeof(double));
    for (int64_t j = 0; qpos_noise > 0 && j < source->num_qpos; j++) {
        arrays[MJ_QPOS][j] += be_rng_uniform(&b->rng[lane], -qpos_noise, qpos_noise);
    }
    for (int64_t j = 0; qvel_noise > 0 && j < source->num_qvel; j++) {
        arrays[MJ_QVEL][j] += be_rng_uniform(&b->rng[lane], -qvel_noise, qvel_noise);
    }
    return be_mujoco_begin(b, lane, error);
}
MJ_RESET_AND_OBSERVE(start, write_observation)

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));
    rows->reward[lane - rows->first] = 0;
    rows->terminated[lane - rows->first] = 0;
    return status;
}

BE_ENV(mujoco_custom) = {
    .name = "MuJoCo",
    .ids = (const be_id[]){{"MuJoCo-v0", .unlisted = 1}, {0}},
    .frames_per_second = 50,
    MJ_SHARED_MEMBERS,
    .ports = ports,
    .params = params,
    .prepare = prepare,
    .reset = reset,
    .observe = observe,
    .step = step,
};
