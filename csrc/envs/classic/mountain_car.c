/* MountainCar-v0: an underpowered car in a valley, pushed left, not at all, or right.
 *
 * Moore (1990), in the order of operations of gymnasium.envs.classic_control.MountainCarEnv.
 */
#include "batchenv.h"
#include "exact_math.h"

/* prepare() sets the spaces that depend on params. */
enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(3)},
    [OBSERVATION] = {"", BE_OBSERVATION},
    {0},
};

enum { POSITION, VELOCITY };
static const be_field state[] = {
    [POSITION] = {"position", BE_F64, 1, "along the x axis"},
    [VELOCITY] = {"velocity", BE_F64, 1, "a step"},
    {0},
};

enum { GOAL_VELOCITY, MIN_POSITION, MAX_POSITION, MAX_SPEED, GOAL_POSITION, FORCE, GRAVITY, NUM_PARAMS };
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

/* Lanes that go through a step together, from one short loop to the next. */
#define CHUNK BE_MANY

BE_INLINE int step_lanes(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, int per_lane) {
    double *restrict pposition = b->state[POSITION], *restrict pvelocity = b->state[VELOCITY];
    be_vd p[NUM_PARAMS];
    load_params(b, begin, per_lane, p);
    const int64_t *action = rows->port[ACTION];
    float *observation = rows->port[OBSERVATION];
    double *reward = rows->reward;
    uint8_t *terminated = rows->terminated;

    for (int64_t first = begin; first < end; first += CHUNK) {
        const int n = end - first < CHUNK ? (int)(end - first) : CHUNK;
        double angle[CHUNK], slope[CHUNK];
        for (int l = 0; l < n; l += BE_VL) be_store(angle + l, 3.0 * be_load(pposition + first + l));
        be_cos_many(angle, slope, n);
        for (int l = 0; l < n; l += BE_VL) {
            const int64_t i = first + l;
            if (per_lane) load_params(b, i, 1, p);
            be_vd position = be_load(pposition + i), velocity = be_load(pvelocity + i);
            be_vd push = be_small_to_f64(be_load_i64(action) - 1) * p[FORCE];
            velocity = velocity + (push + be_load(slope + l) * -p[GRAVITY]);
            velocity = be_clip(velocity, -p[MAX_SPEED], p[MAX_SPEED]);
            position = be_clip(position + velocity, p[MIN_POSITION], p[MAX_POSITION]);
            velocity = be_select((position == p[MIN_POSITION]) & (velocity < 0), be_set1(0.0), velocity);
            be_store(pposition + i, position);
            be_store(pvelocity + i, velocity);

            be_vd row[] = {position, velocity};
            be_store_rows(observation, 2, row);
            be_store(reward, be_set1(-1.0));
            be_store_flags(terminated, (position >= p[GOAL_POSITION]) & (velocity >= p[GOAL_VELOCITY]));
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

static const be_id ids[] = {{"MountainCar-v0", 200, BE_THRESHOLD(-110.0)}, {0}};

BE_ENV(mountain_car) = {
    .abi = BE_ABI,
    .name = "MountainCar",
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
