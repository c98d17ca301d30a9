/* Pendulum-v1: swing a pendulum up with limited torque.
 *
 * The order of operations of gymnasium.envs.classic_control.PendulumEnv. The torque is float32 there, so its two terms
 * are float32 products; squares are pow(x, 2), as NumPy's scalars compute them.
 */
#include "batchenv.h"
#include "exact_math.h"

#define PI 3.141592653589793

/* prepare() sets the spaces that depend on params. */
enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION},
    [OBSERVATION] = {"", BE_OBSERVATION},
    {0},
};

enum { THETA, THETA_DOT };
static const be_field state[] = {
    [THETA] = {"theta", BE_F64, 1, "angle from upright, rad, not wrapped"},
    [THETA_DOT] = {"theta_dot", BE_F64, 1, "angular velocity, rad/s"},
    {0},
};

enum { G, M, L, DT, MAX_SPEED, MAX_TORQUE, NUM_PARAMS };
static const be_param params[] = {
    [G] = {"g", BE_PARAM_FLOAT, 10.0, -1e3, 1e3, NULL, "gravity, m/s^2"},
    [M] = {"m", BE_PARAM_FLOAT, 1.0, 1e-6, 1e6, NULL, "mass, kg"},
    [L] = {"l", BE_PARAM_FLOAT, 1.0, 1e-6, 1e6, NULL, "length, m"},
    [DT] = {"dt", BE_PARAM_FLOAT, 0.05, 1e-9, 1e3, NULL, "seconds between steps"},
    [MAX_SPEED] = {"max_speed", BE_PARAM_FLOAT, 8.0, 1e-6, 1e6, NULL, "bound of the angular velocity, rad/s"},
    [MAX_TORQUE] = {"max_torque", BE_PARAM_FLOAT, 2.0, 1e-6, 1e6, NULL, "bound of the torque, N m"},
    {0},
};

enum { X_INIT, Y_INIT };
static const be_param options[] = {
    [X_INIT] = {"x_init", BE_PARAM_FLOAT, PI, 0, 1e300, NULL, "bound of the initial angle, rad"},
    [Y_INIT] = {"y_init", BE_PARAM_FLOAT, 1.0, 0, 1e300, NULL, "bound of the initial angular velocity, rad/s"},
    {0},
};

enum { PULL, TORQUE_GAIN, TORQUE_BOUND, NUM_CONSTANTS };

static int prepare(be_setup *setup, be_error *error) {
    (void)error;
    const double *p = setup->params;
    setup->constants[PULL] = 3 * p[G] / (2 * p[L]);
    setup->constants[TORQUE_GAIN] = (double)(float)(3.0 / (p[M] * be_libm_square(p[L])));
    setup->constants[TORQUE_BOUND] = (double)(float)p[MAX_TORQUE];
    double high[] = {1.0, 1.0, p[MAX_SPEED]}, low[] = {-1.0, -1.0, -p[MAX_SPEED]};
    be_space_box_f32(&setup->space[OBSERVATION], 3, low, high);
    be_space_box_f32(&setup->space[ACTION], 1, (double[]){-p[MAX_TORQUE]}, &p[MAX_TORQUE]);
    return BE_OK;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    const double *theta = b->state[THETA], *theta_dot = b->state[THETA_DOT];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        float *observation = BE_ROW(float, rows->port[OBSERVATION], rows, i, 3);
        observation[0] = (float)be_math.cos(theta[i]);
        observation[1] = (float)be_math.sin(theta[i]);
        observation[2] = (float)theta_dot[i];
    }
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    double *theta = b->state[THETA], *theta_dot = b->state[THETA_DOT];
    const double x = rows->options[X_INIT], y = rows->options[Y_INIT];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        theta[i] = be_rng_uniform(&b->rng[i], -x, x);
        theta_dot[i] = be_rng_uniform(&b->rng[i], -y, y);
    }
    return observe(b, lanes, count, rows, error);
}

BE_INLINE void load_values(const be_batch *b, int64_t i, int per_lane, be_vd *p, be_vd *c) {
    for (int k = 0; k < NUM_PARAMS; k++) p[k] = be_param_at(b, k, i, per_lane);
    for (int k = 0; k < NUM_CONSTANTS; k++) c[k] = be_constant_at(b, k, i, per_lane);
}

/* Lanes that go through a step together, from one short loop to the next. */
#define CHUNK BE_MANY
typedef struct chunk {
    double torque[CHUNK], angle[CHUNK], angle_square[CHUNK], theta_dot_square[CHUNK], torque_square[CHUNK];
    double sine[CHUNK], cosine[CHUNK];
} __attribute__((aligned(64))) chunk;

BE_INLINE int step_lanes(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, int per_lane) {
    double *ptheta = b->state[THETA], *ptheta_dot = b->state[THETA_DOT];
    be_vd p[NUM_PARAMS], c[NUM_CONSTANTS];
    load_values(b, begin, per_lane, p, c);
    const be_vd torque_cost = be_set1((double)0.001f);
    const be_vd pi = be_set1(PI), two_pi = be_set1(2 * PI);
    const float *action = rows->port[ACTION];
    float *observation = rows->port[OBSERVATION];
    double *reward = rows->reward;
    chunk w;

    for (int64_t first = begin; first < end; first += CHUNK) {
        const int n = end - first < CHUNK ? (int)(end - first) : CHUNK;
        double *theta = ptheta + first, *theta_dot = ptheta_dot + first;
        for (int l = 0; l < n; l += BE_VL) {
            if (per_lane) load_values(b, first + l, 1, p, c);
            be_store(w.torque + l, be_clip(be_to_f64(be_load_f32(action + l)), -c[TORQUE_BOUND], c[TORQUE_BOUND]));
            be_store(w.angle + l, be_python_mod(be_load(theta + l) + pi, two_pi) - pi);
        }
        be_square_many(w.angle, w.angle_square, n);
        be_square_many(theta_dot, w.theta_dot_square, n);
        be_square_f32_many(w.torque, w.torque_square, n);
        be_sin_many(theta, w.sine, n);
        for (int l = 0; l < n; l += BE_VL) {
            if (per_lane) load_values(b, first + l, 1, p, c);
            be_vd cost = be_load(w.angle_square + l) + 0.1 * be_load(w.theta_dot_square + l);
            cost = cost + be_round_f32(torque_cost * be_load(w.torque_square + l));
            be_store(reward + l, -cost);
            be_vd push = be_round_f32(c[TORQUE_GAIN] * be_load(w.torque + l));
            be_vd speed = be_load(theta_dot + l) + (c[PULL] * be_load(w.sine + l) + push) * p[DT];
            speed = be_clip(speed, -p[MAX_SPEED], p[MAX_SPEED]);
            be_store(theta_dot + l, speed);
            be_store(theta + l, be_load(theta + l) + speed * p[DT]);
        }
        be_sincos_many(theta, w.sine, w.cosine, n);
        for (int l = 0; l < n; l += BE_VL) {
            be_vd row[] = {be_load(w.cosine + l), be_load(w.sine + l), be_load(theta_dot + l)};
            be_store_rows(observation + 3 * l, 3, row);
        }
        action += CHUNK;
        observation += 3 * CHUNK;
        reward += CHUNK;
    }
    memset(rows->terminated, 0, (size_t)(end - begin));
    return BE_OK;
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    return b->per_lane ? step_lanes(b, begin, end, rows, 1) : step_lanes(b, begin, end, rows, 0);
}

static const be_id ids[] = {{"Pendulum-v1", 200}, {0}};

BE_ENV(pendulum) = {
    .abi = BE_ABI,
    .name = "Pendulum",
    .ids = ids,
    .family = "classic control",
    .frames_per_second = 30,
    .ports = ports,
    .state = state,
    .params = params,
    .options = options,
    .flags = BE_STEP_FINISHED_HARMLESS,
    .prepare = prepare,
    .reset = reset,
    .observe = observe,
    .step = step,
};
