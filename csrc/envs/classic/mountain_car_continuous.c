/* MountainCarContinuous-v0: the car in the valley with a continuous push.
 *
 * Gymnasium's Continuous_MountainCarEnv, with its mixed precision: the first step of an episode computes in float64
 * (the reset state is float64), later ones in float32 (the state a step stores is float32), and Python's min/max and
 * the clipping assignments bring in Python floats, which NumPy compares in the precision of the other side (NEP 50).
 */
#include "batchenv.h"
#include "exact_math.h"

/* prepare() sets the spaces that depend on params. */
enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_BOX(BE_F32, -1, 1, 1)},
    [OBSERVATION] = {"", BE_OBSERVATION},
    {0},
};

enum { POSITION, VELOCITY };
static const be_field state[] = {
    [POSITION] = {"position", BE_F64, 1, "along the x axis (float32 precision after the first step)"},
    [VELOCITY] = {"velocity", BE_F64, 1, "a step (float32 precision after the first step)"},
    {0},
};

enum { GOAL_VELOCITY, MIN_POSITION, MAX_POSITION, MAX_SPEED, GOAL_POSITION, POWER, NUM_PARAMS };
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
    be_space_box_f32(&setup->space[OBSERVATION], 2, low, high);
    return BE_OK;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    const double *position = b->state[POSITION], *velocity = b->state[VELOCITY];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        float *observation = BE_ROW(float, rows->port[OBSERVATION], rows, i, 2);
        observation[0] = (float)position[i];
        observation[1] = (float)velocity[i];
    }
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    double *position = b->state[POSITION], *velocity = b->state[VELOCITY];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        position[i] = be_rng_uniform(&b->rng[i], rows->options[LOW], rows->options[HIGH]);
        velocity[i] = 0.0;
    }
    return observe(b, lanes, count, rows, error);
}

BE_INLINE void load_params(const be_batch *b, int64_t i, int per_lane, be_vd *p) {
    for (int k = 0; k < NUM_PARAMS; k++) p[k] = be_param_at(b, k, i, per_lane);
}

/* The lanes whose episodes are about to take their first step. */
static inline be_vl fresh_lanes(const be_batch *b, int64_t i) {
    be_vi steps;
    memcpy(&steps, b->elapsed + i, sizeof steps);
    return be_to_i64(steps) == 0;
}

typedef struct moved {
    be_vd position, velocity;
    be_vl arrived;
} moved;

/* What a push beyond [-1, 1] adds to the velocity. It is clipped to a Python float, so the result is float64. */
static inline be_vd gain_of_clipped(be_vf push, be_vd slope, const be_vd *p) {
    return be_copysign(be_set1(1.0), be_to_f64(push)) * p[POWER] - slope;
}
/* What any other push adds, in float32. */
static inline be_vf gain_of_push(be_vf push, be_vd slope, const be_vd *p) {
    return push * be_to_f32(p[POWER]) - be_to_f32(slope);
}
static inline be_vi inside(be_vf push) { return (push >= be_set1f(-1)) & (push <= be_set1f(1)); }

/* The first step of an episode, in float64. */
BE_INLINE moved first_step(be_vd position, be_vd velocity, be_vf push, be_vd slope, const be_vd *p) {
    be_vd gain = be_to_f64(gain_of_push(push, slope, p));
    velocity = velocity + be_select(be_to_i64(inside(push)), gain, gain_of_clipped(push, slope, p));
    velocity = be_clip(velocity, -p[MAX_SPEED], p[MAX_SPEED]);
    position = be_clip(position + velocity, p[MIN_POSITION], p[MAX_POSITION]);
    velocity = be_select((position == p[MIN_POSITION]) & (velocity < 0), be_set1(0.0), velocity);
    return (moved){position, velocity, (position >= p[GOAL_POSITION]) & (velocity >= p[GOAL_VELOCITY])};
}

/* value >= goal. NumPy compares in float32; but a value that was clipped to `high` (the lanes `above`) or `low`
 * (`below`) is a Python float by then. */
static inline be_vi at_least(be_vf value, be_vd goal, be_vi above, be_vd high, be_vi below, be_vd low) {
    be_vi clipped = (above & be_to_i32(high >= goal)) | (below & be_to_i32(low >= goal));
    return clipped | (~(above | below) & (value >= be_to_f32(goal)));
}

/* A later one, in float32. */
BE_INLINE moved later_step(be_vf position, be_vf velocity, be_vf push, be_vd slope, const be_vd *p) {
    const be_vf max_speed = be_to_f32(p[MAX_SPEED]), min_position = be_to_f32(p[MIN_POSITION]),
                max_position = be_to_f32(p[MAX_POSITION]), zero = be_set1f(0);
    be_vf gain = be_to_f32(gain_of_clipped(push, slope, p));
    velocity = velocity + be_select_f32(inside(push), gain_of_push(push, slope, p), gain);
    be_vi fast_right = velocity > max_speed, fast_left = velocity < -max_speed;
    velocity = be_clip_f32(velocity, -max_speed, max_speed);
    be_vi leftward = (velocity < zero) | (fast_left & be_to_i32(p[MAX_SPEED] > 0)); /* not 0 as float32 may be */

    position = position + velocity;
    be_vi beyond_right = position > max_position, beyond_left = position < min_position;
    position = be_clip_f32(position, min_position, max_position);
    be_vi stopped = (position == min_position) & leftward;

    be_vi arrived = at_least(velocity, p[GOAL_VELOCITY], fast_right, p[MAX_SPEED], fast_left, -p[MAX_SPEED]);
    arrived = (stopped & be_to_i32(p[GOAL_VELOCITY] <= 0)) | (~stopped & arrived);
    arrived &= at_least(position, p[GOAL_POSITION], beyond_right, p[MAX_POSITION], beyond_left, p[MIN_POSITION]);
    velocity = be_select_f32(stopped, zero, velocity);
    return (moved){be_to_f64(position), be_to_f64(velocity), be_to_i64(arrived)};
}

/* Lanes that go through a step together, from one short loop to the next. */
#define CHUNK BE_MANY

BE_INLINE int step_lanes(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, int per_lane) {
    double *restrict pposition = b->state[POSITION], *restrict pvelocity = b->state[VELOCITY];
    be_vd p[NUM_PARAMS];
    load_params(b, begin, per_lane, p);
    const float *action = rows->port[ACTION];
    float *observation = rows->port[OBSERVATION];
    double *reward = rows->reward;
    uint8_t *terminated = rows->terminated;

    for (int64_t first = begin; first < end; first += CHUNK) {
        const int n = end - first < CHUNK ? (int)(end - first) : CHUNK;
        double angle[CHUNK], cosine[CHUNK];
        for (int l = 0; l < n; l += BE_VL) {
            be_vd exact = 3.0 * be_load(pposition + first + l);
            be_store(angle + l, be_select(fresh_lanes(b, first + l), exact, be_round_f32(exact)));
        }
        be_cos_many(angle, cosine, n);
        for (int l = 0; l < n; l += BE_VL) {
            const int64_t i = first + l;
            if (per_lane) load_params(b, i, 1, p);
            be_vd position = be_load(pposition + i), velocity = be_load(pvelocity + i);
            be_vf push = be_load_f32(action);
            be_vd slope = 0.0025 * be_load(cosine + l);
            be_vl fresh = fresh_lanes(b, i);
            moved next = later_step(be_to_f32(position), be_to_f32(velocity), push, slope, p);
            if (__builtin_expect(be_any(fresh), 0)) {
                moved start = first_step(position, velocity, push, slope, p);
                next.position = be_select(fresh, be_round_f32(start.position), next.position);
                next.velocity = be_select(fresh, be_round_f32(start.velocity), next.velocity);
                next.arrived = (fresh & start.arrived) | (~fresh & next.arrived);
            }
            be_store(pposition + i, next.position);
            be_store(pvelocity + i, next.velocity);
            be_vd row[] = {next.position, next.velocity}, effort = be_to_f64(push);
            be_store_rows(observation, 2, row);
            be_store(reward, be_select(next.arrived, be_set1(100.0), be_set1(0.0)) - effort * effort * 0.1);
            be_store_flags(terminated, next.arrived);
            action += BE_VL;
            observation += 2 * BE_VL;
            reward += BE_VL;
            terminated += BE_VL;
        }
    }
    return BE_OK;
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    return b->per_lane ? step_lanes(b, begin, end, rows, 1) : step_lanes(b, begin, end, rows, 0);
}

static const be_id ids[] = {{"MountainCarContinuous-v0", 999, BE_THRESHOLD(90.0)}, {0}};

BE_ENV(mountain_car_continuous) = {
    .abi = BE_ABI,
    .name = "MountainCarContinuous",
    .ids = ids,
    .family = "classic control",
    .frames_per_second = 30,
    .ports = ports,
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
