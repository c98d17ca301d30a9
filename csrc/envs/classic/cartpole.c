/* CartPole-v0, CartPole-v1: a pole on a cart, pushed left or right.
 *
 * Barto, Sutton and Anderson (1983), with the equations of Florian (2007), "Correct equations for the dynamics of
 * the cart-pole system", in the order of operations of gymnasium.envs.classic_control.CartPoleEnv.
 */
#include "batchenv.h"
#include "exact_math.h"

/* prepare() sets the spaces that depend on params. */
enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(2)},
    [OBSERVATION] = {"", BE_OBSERVATION},
    {0},
};

enum { X, X_DOT, THETA, THETA_DOT };
static const be_field state[] = {
    [X] = {"x", BE_F64, 1, "cart position, m"},
    [X_DOT] = {"x_dot", BE_F64, 1, "cart velocity, m/s"},
    [THETA] = {"theta", BE_F64, 1, "pole angle from upright, rad"},
    [THETA_DOT] = {"theta_dot", BE_F64, 1, "pole angular velocity, rad/s"},
    {0},
};

enum {
    SUTTON_BARTO_REWARD,
    GRAVITY,
    MASSCART,
    MASSPOLE,
    LENGTH,
    FORCE_MAG,
    TAU,
    KINEMATICS_INTEGRATOR,
    THETA_THRESHOLD,
    X_THRESHOLD,
    NUM_PARAMS
};
static const char *const integrators[] = {"euler", "semi-implicit euler", NULL};
static const be_param params[] = {
    [SUTTON_BARTO_REWARD] = {"sutton_barto_reward", BE_PARAM_BOOL, 0, 0, 1, NULL,
                             "reward 0 per step and -1 at the fall, instead of 1 per step"},
    [GRAVITY] = {"gravity", BE_PARAM_FLOAT, 9.8, -1e3, 1e3, NULL, "m/s^2"},
    [MASSCART] = {"masscart", BE_PARAM_FLOAT, 1.0, 1e-6, 1e6, NULL, "kg"},
    [MASSPOLE] = {"masspole", BE_PARAM_FLOAT, 0.1, 1e-6, 1e6, NULL, "kg"},
    [LENGTH] = {"length", BE_PARAM_FLOAT, 0.5, 1e-6, 1e6, NULL, "half the pole's length, m"},
    [FORCE_MAG] = {"force_mag", BE_PARAM_FLOAT, 10.0, -1e6, 1e6, NULL, "push, N"},
    [TAU] = {"tau", BE_PARAM_FLOAT, 0.02, 1e-9, 1e3, NULL, "seconds between steps"},
    [KINEMATICS_INTEGRATOR] = {"kinematics_integrator", BE_PARAM_CHOICE, 0, 0, 0, integrators, "how a step is taken"},
    [THETA_THRESHOLD] = {"theta_threshold_radians", BE_PARAM_FLOAT, 12 * 2 * 3.141592653589793 / 360, 1e-6, 1e6, NULL,
                         "angle at which the episode terminates, rad"},
    [X_THRESHOLD] = {"x_threshold", BE_PARAM_FLOAT, 2.4, 1e-6, 1e6, NULL,
                     "distance at which the episode terminates, m"},
    {0},
};

enum { LOW, HIGH };
static const be_param options[] = {
    [LOW] = {"low", BE_PARAM_FLOAT, -0.05, -1e300, 1e300, NULL, "lower bound of every initial state variable"},
    [HIGH] = {"high", BE_PARAM_FLOAT, 0.05, -1e300, 1e300, NULL, "upper bound of every initial state variable"},
    {0},
};

enum { TOTAL_MASS, POLEMASS_LENGTH, NUM_CONSTANTS };

static int prepare(be_setup *setup, be_error *error) {
    (void)error;
    const double *p = setup->params;
    setup->constants[TOTAL_MASS] = p[MASSPOLE] + p[MASSCART];
    setup->constants[POLEMASS_LENGTH] = p[MASSPOLE] * p[LENGTH];
    /* Twice the threshold, so that the observation that ends an episode is still inside. */
    double high[] = {p[X_THRESHOLD] * 2, INFINITY, p[THETA_THRESHOLD] * 2, INFINITY};
    double low[] = {-high[0], -INFINITY, -high[2], -INFINITY};
    be_space_box_f32(&setup->space[OBSERVATION], 4, low, high);
    return BE_OK;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        float *observation = BE_ROW(float, rows->port[OBSERVATION], rows, i, 4);
        for (int j = 0; j < 4; j++) observation[j] = (float)((double *)b->state[j])[i];
    }
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        for (int j = 0; j < 4; j++) {
            ((double *)b->state[j])[i] = be_rng_uniform(&b->rng[i], rows->options[LOW], rows->options[HIGH]);
        }
    }
    return observe(b, lanes, count, rows, error);
}

BE_INLINE void load_values(const be_batch *b, int64_t i, int per_lane, be_vd *p, be_vd *c) {
    for (int k = 0; k < NUM_PARAMS; k++) p[k] = be_param_at(b, k, i, per_lane);
    for (int k = 0; k < NUM_CONSTANTS; k++) c[k] = be_constant_at(b, k, i, per_lane);
}

BE_INLINE int step_lanes(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, int per_lane) {
    double *restrict px = b->state[X], *restrict px_dot = b->state[X_DOT];
    double *restrict ptheta = b->state[THETA], *restrict ptheta_dot = b->state[THETA_DOT];
    const int euler = b->params[KINEMATICS_INTEGRATOR] == 0, sutton_barto = b->params[SUTTON_BARTO_REWARD] != 0;
    be_vd p[NUM_PARAMS], c[NUM_CONSTANTS];
    load_values(b, begin, per_lane, p, c);
    const int64_t *action = rows->port[ACTION];
    float *observation = rows->port[OBSERVATION];
    double *reward = rows->reward;
    uint8_t *terminated = rows->terminated;

    for (int64_t i = begin; i < end; i += BE_VL) {
        if (per_lane) load_values(b, i, 1, p, c);
        be_vd x = be_load(px + i), x_dot = be_load(px_dot + i);
        be_vd theta = be_load(ptheta + i), theta_dot = be_load(ptheta_dot + i);
        be_vd force = be_select(be_load_i64(action) == 1, p[FORCE_MAG], -p[FORCE_MAG]);
        be_vd sintheta, costheta;
        be_sincos_small(theta, &sintheta, &costheta);

        be_vd temp = (force + c[POLEMASS_LENGTH] * (theta_dot * theta_dot) * sintheta) / c[TOTAL_MASS];
        be_vd thetaacc = (p[GRAVITY] * sintheta - costheta * temp) /
                         (p[LENGTH] * (4.0 / 3.0 - p[MASSPOLE] * (costheta * costheta) / c[TOTAL_MASS]));
        be_vd xacc = temp - c[POLEMASS_LENGTH] * thetaacc * costheta / c[TOTAL_MASS];

        if (euler) {
            x = x + p[TAU] * x_dot;
            x_dot = x_dot + p[TAU] * xacc;
            theta = theta + p[TAU] * theta_dot;
            theta_dot = theta_dot + p[TAU] * thetaacc;
        } else {
            x_dot = x_dot + p[TAU] * xacc;
            x = x + p[TAU] * x_dot;
            theta_dot = theta_dot + p[TAU] * thetaacc;
            theta = theta + p[TAU] * theta_dot;
        }
        be_store(px + i, x);
        be_store(px_dot + i, x_dot);
        be_store(ptheta + i, theta);
        be_store(ptheta_dot + i, theta_dot);

        be_vl fallen =
            (x < -p[X_THRESHOLD]) | (x > p[X_THRESHOLD]) | (theta < -p[THETA_THRESHOLD]) | (theta > p[THETA_THRESHOLD]);
        be_vd row[] = {x, x_dot, theta, theta_dot};
        be_store_rows(observation, 4, row);
        be_store(reward, sutton_barto ? be_select(fallen, be_set1(-1.0), be_set1(0.0)) : be_set1(1.0));
        be_store_flags(terminated, fallen);
        action += BE_VL;
        observation += 4 * BE_VL;
        reward += BE_VL;
        terminated += BE_VL;
    }
    return BE_OK;
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    return b->per_lane ? step_lanes(b, begin, end, rows, 1) : step_lanes(b, begin, end, rows, 0);
}

static const be_id ids[] = {
    {"CartPole-v0", 200, BE_THRESHOLD(195.0)},
    {"CartPole-v1", 500, BE_THRESHOLD(475.0)},
    {0},
};

BE_ENV(cartpole) = {
    .abi = BE_ABI,
    .name = "CartPole",
    .ids = ids,
    .family = "classic control",
    .frames_per_second = 50,
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
