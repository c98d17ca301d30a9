/* MountainCarContinuous-v0: the car in the valley with a continuous push.
 *
 * Gymnasium's Continuous_MountainCarEnv, with its mixed precision: the first step of an episode computes in float64
 * (the reset state is float64), later ones in float32 (the state a step stores is float32), and Python's min/max and
 * the clipping assignments bring in Python floats, which NumPy compares in the precision of the other side (NEP 50).
 * float32 operations are done in float64 and rounded once, which is exact for + - * (53 >= 2 * 24 + 2 bits).
 */
#include "batchenv.h"
#include "core/exact_math.h"

enum { POSITION, VELOCITY };
static const be_field state[] = {
    [POSITION] = {"position", BE_F64, 1, "along the x axis (float32 precision after the first step)"},
    [VELOCITY] = {"velocity", BE_F64, 1, "a step (float32 precision after the first step)"},
    {0},
};

enum { GOAL_VELOCITY, MIN_POSITION, MAX_POSITION, MAX_SPEED, GOAL_POSITION, POWER };
static const be_param params[] = {
    [GOAL_VELOCITY] = {"goal_velocity", BE_PARAM_FLOAT, 0.0, -1e300, 1e300, NULL, "least velocity at the goal"},
    [MIN_POSITION] = {"min_position", BE_PARAM_FLOAT, -1.2, -1e6, 1e6, NULL, "the wall on the left"},
    [MAX_POSITION] = {"max_position", BE_PARAM_FLOAT, 0.6, -1e6, 1e6, NULL, "the end on the right"},
    [MAX_SPEED] = {"max_speed", BE_PARAM_FLOAT, 0.07, 0, 1e6, NULL, "bound of the velocity"},
    [GOAL_POSITION] = {"goal_position", BE_PARAM_FLOAT, 0.45, -1e6, 1e6, NULL, "where the episode terminates"},
    [POWER] = {"power", BE_PARAM_FLOAT, 0.0015, -1e6, 1e6, NULL, "velocity a full push adds in a step"},
    {0},
};

enum { LOW, HIGH };
static const be_param options[] = {
    [LOW] = {"low", BE_PARAM_FLOAT, -0.6, -1e300, 1e300, NULL, "lower bound of the initial position"},
    [HIGH] = {"high", BE_PARAM_FLOAT, -0.4, -1e300, 1e300, NULL, "upper bound of the initial position"},
    {0},
};

static int prepare(be_setup *setup, be_error *error) {
    const double *p = setup->params;
    if (p[MIN_POSITION] > p[MAX_POSITION]) {
        return be_fail(error, BE_ERROR_VALUE, -1, "min_position=%g must not be above max_position=%g", p[MIN_POSITION],
                       p[MAX_POSITION]);
    }
    double low[] = {p[MIN_POSITION], -p[MAX_SPEED]}, high[] = {p[MAX_POSITION], p[MAX_SPEED]};
    be_space_box_f32(&setup->observation_space, 2, low, high);
    be_space_box_f32(&setup->action_space, 1, (double[]){-1.0}, (double[]){1.0});
    return BE_OK;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_io *io, be_error *error) {
    (void)error;
    const double *position = b->state[POSITION], *velocity = b->state[VELOCITY];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        float *observation = BE_ROW(float, io->observation, io, i, 2);
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

/* A Python float as NumPy sees it beside a lane's float64 (`fresh`) or float32. */
static inline be_vd beside(be_vl fresh, be_vd value) { return be_select(fresh, value, be_round_f32(value)); }

typedef struct values {
    be_vd min_position, max_position, max_speed, goal_position, goal_velocity, power;
} values;

BE_INLINE values load_values(const be_batch *b, int64_t i, int per_lane) {
    return (values){
        .min_position = be_param_at(b, MIN_POSITION, i, per_lane),
        .max_position = be_param_at(b, MAX_POSITION, i, per_lane),
        .max_speed = be_param_at(b, MAX_SPEED, i, per_lane),
        .goal_position = be_param_at(b, GOAL_POSITION, i, per_lane),
        .goal_velocity = be_param_at(b, GOAL_VELOCITY, i, per_lane),
        .power = be_param_at(b, POWER, i, per_lane),
    };
}

BE_INLINE int step_lanes(be_batch *b, int64_t begin, int64_t end, const be_io *io, int per_lane) {
    double *restrict pposition = b->state[POSITION], *restrict pvelocity = b->state[VELOCITY];
    const int32_t *elapsed = b->elapsed;
    values v = load_values(b, begin, per_lane);
    const be_vd one = be_set1(1.0);
    const float *action = io->action;
    float *observation = io->observation;
    double *reward = io->reward;
    uint8_t *terminated = io->terminated;

    for (int64_t i = begin; i < end; i += BE_VL) {
        if (per_lane) v = load_values(b, i, 1);
        be_vd position = be_load(pposition + i), velocity = be_load(pvelocity + i);
        be_vd push = be_to_f64(be_load_f32(action));
        be_vi steps;
        memcpy(&steps, elapsed + i, sizeof steps);
        be_vl fresh = __builtin_convertvector(steps, be_vl) == 0;

        be_vd angle = 3.0 * position;
        angle = be_select(fresh, angle, be_round_f32(angle));
        be_vd slope = 0.0025 * be_cos(angle);
        be_vl inside = (push >= -one) & (push <= one);
        be_vd gain_f32 = be_round_f32(be_round_f32(push * be_round_f32(v.power)) - be_round_f32(slope));
        be_vd gain_f64 = be_copysign(one, push) * v.power - slope;
        be_vd gain = be_select(inside, gain_f32, gain_f64);
        velocity = be_select(fresh, velocity + gain, be_round_f32(velocity + be_round_f32(gain)));

        be_vd speed_limit = beside(fresh, v.max_speed);
        be_vl fast_right = velocity > speed_limit, fast_left = velocity < -speed_limit;
        velocity = be_select(fast_right, v.max_speed, velocity);
        velocity = be_select(fast_left, -v.max_speed, velocity);

        position = be_select(fresh, position + velocity, be_round_f32(position + be_round_f32(velocity)));
        be_vd left = beside(fresh, v.min_position);
        be_vl beyond_right = position > beside(fresh, v.max_position);
        position = be_select(beyond_right, v.max_position, position);
        be_vl beyond_left = position < left;
        position = be_select(beyond_left, v.min_position, position);
        be_vl stopped = (beyond_left | (position == left)) & (velocity < 0);
        velocity = be_select(stopped, be_set1(0.0), velocity);

        be_vd goal_position = beside(fresh | beyond_left | beyond_right, v.goal_position);
        be_vd goal_velocity = beside(fresh | fast_left | fast_right | stopped, v.goal_velocity);
        be_vl arrived = (position >= goal_position) & (velocity >= goal_velocity);

        position = be_round_f32(position);
        velocity = be_round_f32(velocity);
        be_store(pposition + i, position);
        be_store(pvelocity + i, velocity);
        be_vd row[] = {position, velocity};
        be_store_rows(observation, 2, row);
        be_store(reward, be_select(arrived, be_set1(100.0), be_set1(0.0)) - push * push * 0.1);
        be_store_flags(terminated, arrived);
        action += BE_VL;
        observation += 2 * BE_VL;
        reward += BE_VL;
        terminated += BE_VL;
    }
    return BE_OK;
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_io *io, be_error *error) {
    (void)error;
    return b->per_lane ? step_lanes(b, begin, end, io, 1) : step_lanes(b, begin, end, io, 0);
}

const be_env_type BE_ENV(mountain_car_continuous) = {
    .name = "MountainCarContinuous",
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
