/* MountainCar-v0: an underpowered car in a valley, pushed left, not at all, or right.
 *
 * Moore (1990), in the order of operations of gymnasium.envs.classic_control.MountainCarEnv.
 */
#include "batchenv.h"
#include "core/exact_math.h"

enum { POSITION, VELOCITY };
static const be_field state[] = {
    [POSITION] = {"position", BE_F64, 1, "along the x axis"},
    [VELOCITY] = {"velocity", BE_F64, 1, "a step"},
    {0},
};

enum { GOAL_VELOCITY, MIN_POSITION, MAX_POSITION, MAX_SPEED, GOAL_POSITION, FORCE, GRAVITY };
static const be_param params[] = {
    [GOAL_VELOCITY] = {"goal_velocity", BE_PARAM_FLOAT, 0.0, -1e300, 1e300, NULL, "least velocity at the goal"},
    [MIN_POSITION] = {"min_position", BE_PARAM_FLOAT, -1.2, -1e6, 1e6, NULL, "the wall on the left"},
    [MAX_POSITION] = {"max_position", BE_PARAM_FLOAT, 0.6, -1e6, 1e6, NULL, "the end on the right"},
    [MAX_SPEED] = {"max_speed", BE_PARAM_FLOAT, 0.07, 0, 1e6, NULL, "bound of the velocity"},
    [GOAL_POSITION] = {"goal_position", BE_PARAM_FLOAT, 0.5, -1e6, 1e6, NULL, "where the episode terminates"},
    [FORCE] = {"force", BE_PARAM_FLOAT, 0.001, -1e6, 1e6, NULL, "push"},
    [GRAVITY] = {"gravity", BE_PARAM_FLOAT, 0.0025, -1e6, 1e6, NULL, "pull along the slope"},
    {0},
};

enum { LOW, HIGH };
static const be_param options[] = {
    [LOW] = {"low", BE_PARAM_FLOAT, -0.6, -1e300, 1e300, NULL, "lower bound of the initial position"},
    [HIGH] = {"high", BE_PARAM_FLOAT, -0.4, -1e300, 1e300, NULL, "upper bound of the initial position"},
    {0},
};

static int prepare(be_batch *b, be_error *error) {
    const double *p = b->params;
    if (p[MIN_POSITION] > p[MAX_POSITION]) {
        return be_fail(error, BE_ERROR_VALUE, -1, "min_position=%g must not be above max_position=%g", p[MIN_POSITION],
                       p[MAX_POSITION]);
    }
    double low[] = {p[MIN_POSITION], -p[MAX_SPEED]}, high[] = {p[MAX_POSITION], p[MAX_SPEED]};
    be_space_box_f32(&b->observation_space, 2, low, high);
    be_space_discrete(&b->action_space, 3);
    return BE_OK;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_io *io, be_error *error) {
    (void)error;
    const double *position = b->state[POSITION], *velocity = b->state[VELOCITY];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        float *observation = (float *)io->observation + (i - io->first) * 2;
        observation[0] = (float)position[i];
        observation[1] = (float)velocity[i];
    }
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_io *io, be_error *error) {
    double *position = b->state[POSITION], *velocity = b->state[VELOCITY];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        position[i] = be_rng_uniform(&b->rng[i], io->options[LOW], io->options[HIGH]);
        velocity[i] = 0.0;
    }
    return observe(b, lanes, count, io, error);
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_io *io, be_error *error) {
    (void)error;
    double *restrict pposition = b->state[POSITION], *restrict pvelocity = b->state[VELOCITY];
    const double *p = b->params;
    const be_vd min_position = be_set1(p[MIN_POSITION]), max_position = be_set1(p[MAX_POSITION]);
    const be_vd max_speed = be_set1(p[MAX_SPEED]), force = be_set1(p[FORCE]), gravity = be_set1(p[GRAVITY]);
    const be_vd goal_position = be_set1(p[GOAL_POSITION]), goal_velocity = be_set1(p[GOAL_VELOCITY]);
    const int64_t *action = io->action;
    float *observation = io->observation;
    double *reward = io->reward;
    uint8_t *terminated = io->terminated;

    for (int64_t i = begin; i < end; i += BE_VL) {
        be_vd position = be_load(pposition + i), velocity = be_load(pvelocity + i);
        be_vd push = __builtin_convertvector(be_load_i64(action) - 1, be_vd) * force;
        velocity = velocity + (push + be_cos(3.0 * position) * -gravity);
        velocity = be_clip(velocity, -max_speed, max_speed);
        position = be_clip(position + velocity, min_position, max_position);
        velocity = be_select((position == min_position) & (velocity < 0), be_set1(0.0), velocity);
        be_store(pposition + i, position);
        be_store(pvelocity + i, velocity);

        be_vd row[] = {position, velocity};
        be_store_rows(observation, 2, row);
        be_store(reward, be_set1(-1.0));
        be_store_flags(terminated, (position >= goal_position) & (velocity >= goal_velocity));
        action += BE_VL;
        observation += 2 * BE_VL;
        reward += BE_VL;
        terminated += BE_VL;
    }
    return BE_OK;
}

const be_env_type BE_ENV(mountain_car) = {
    .name = "MountainCar",
    .state = state,
    .params = params,
    .options = options,
    .flags = BE_STEP_FINISHED_HARMLESS,
    .prepare = prepare,
    .check_options = be_check_low_high,
    .reset = reset,
    .observe = observe,
    .step = step,
};
