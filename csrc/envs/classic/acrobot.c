/* Acrobot-v1: a two-link pendulum, driven at the joint between the links.
 *
 * Sutton (1996); Sutton and Barto, "Reinforcement Learning: An Introduction", section 11.3 of the first edition; in
 * the order of operations of gymnasium.envs.classic_control.AcrobotEnv, with one fourth-order Runge-Kutta step.
 */
#include "batchenv.h"
#include "core/exact_math.h"
#include "core/numpy_f32.h"

#define PI 3.141592653589793

enum { THETA1, THETA2, DTHETA1, DTHETA2, NUM_FIELDS };
static const be_field state[] = {
    [THETA1] = {"theta1", BE_F64, 1, "angle of the first link from hanging down, rad"},
    [THETA2] = {"theta2", BE_F64, 1, "angle of the second link from the first, rad"},
    [DTHETA1] = {"dtheta1", BE_F64, 1, "angular velocity of theta1, rad/s"},
    [DTHETA2] = {"dtheta2", BE_F64, 1, "angular velocity of theta2, rad/s"},
    {0},
};

enum {
    BOOK_OR_NIPS,
    TORQUE_NOISE_MAX,
    DT,
    LINK_LENGTH_1,
    LINK_LENGTH_2,
    LINK_MASS_1,
    LINK_MASS_2,
    LINK_COM_POS_1,
    LINK_COM_POS_2,
    LINK_MOI,
    MAX_VEL_1,
    MAX_VEL_2
};
static const char *const equations[] = {"book", "nips", NULL};
static const be_param params[] = {
    [BOOK_OR_NIPS] = {"book_or_nips", BE_PARAM_CHOICE, 0, 0, 0, equations, "the book's equations, or the 1996 paper's"},
    [TORQUE_NOISE_MAX] = {"torque_noise_max", BE_PARAM_FLOAT, 0.0, 0, 1e6, NULL,
                          "bound of the uniform noise added to the torque, N m"},
    [DT] = {"dt", BE_PARAM_FLOAT, 0.2, 1e-9, 1e3, NULL, "seconds between steps"},
    [LINK_LENGTH_1] = {"LINK_LENGTH_1", BE_PARAM_FLOAT, 1.0, 1e-6, 1e6, NULL, "m"},
    [LINK_LENGTH_2] = {"LINK_LENGTH_2", BE_PARAM_FLOAT, 1.0, 1e-6, 1e6, NULL, "m; as in Gymnasium, drawing only"},
    [LINK_MASS_1] = {"LINK_MASS_1", BE_PARAM_FLOAT, 1.0, 1e-6, 1e6, NULL, "kg"},
    [LINK_MASS_2] = {"LINK_MASS_2", BE_PARAM_FLOAT, 1.0, 1e-6, 1e6, NULL, "kg"},
    [LINK_COM_POS_1] = {"LINK_COM_POS_1", BE_PARAM_FLOAT, 0.5, 0, 1e6, NULL, "centre of mass of link 1, m"},
    [LINK_COM_POS_2] = {"LINK_COM_POS_2", BE_PARAM_FLOAT, 0.5, 0, 1e6, NULL, "centre of mass of link 2, m"},
    [LINK_MOI] = {"LINK_MOI", BE_PARAM_FLOAT, 1.0, 1e-6, 1e6, NULL, "moment of inertia of both links, kg m^2"},
    [MAX_VEL_1] = {"MAX_VEL_1", BE_PARAM_FLOAT, 4 * PI, 1e-6, 1e6, NULL, "bound of dtheta1, rad/s"},
    [MAX_VEL_2] = {"MAX_VEL_2", BE_PARAM_FLOAT, 9 * PI, 1e-6, 1e6, NULL, "bound of dtheta2, rad/s"},
    {0},
};

enum { LOW, HIGH };
static const be_param options[] = {
    [LOW] = {"low", BE_PARAM_FLOAT, -0.1, -1e6, 1e6, NULL, "lower bound of every initial state variable"},
    [HIGH] = {"high", BE_PARAM_FLOAT, 0.1, -1e6, 1e6, NULL, "upper bound of every initial state variable"},
    {0},
};

/* The constant factors of the equations of motion, each multiplied up from the left as Python does. */
enum {
    D1_FIRST,
    D1_FIXED,
    D1_COS,
    M2,
    MOI,
    D2_FIXED,
    D2_COS,
    PHI2_COS,
    PHI1_SQUARE,
    PHI1_PRODUCT,
    PHI1_COS,
    ACC2_FIXED,
    ACC2_SQUARE,
    NUM_CONSTANTS
};

static int prepare(be_setup *setup, be_error *error) {
    (void)error;
    const double *p = setup->params;
    double *c = setup->constants;
    const double m1 = p[LINK_MASS_1], m2 = p[LINK_MASS_2], l1 = p[LINK_LENGTH_1];
    const double lc1 = p[LINK_COM_POS_1], lc2 = p[LINK_COM_POS_2], moi = p[LINK_MOI], g = 9.8;
    c[D1_FIRST] = m1 * be_libm_square(lc1);
    c[D1_FIXED] = be_libm_square(l1) + be_libm_square(lc2);
    c[D1_COS] = 2 * l1 * lc2;
    c[M2] = m2;
    c[MOI] = moi;
    c[D2_FIXED] = be_libm_square(lc2);
    c[D2_COS] = l1 * lc2;
    c[PHI2_COS] = m2 * lc2 * g;
    c[PHI1_SQUARE] = -m2 * l1 * lc2;
    c[PHI1_PRODUCT] = 2 * m2 * l1 * lc2;
    c[PHI1_COS] = (m1 * lc1 + m2 * l1) * g;
    c[ACC2_FIXED] = m2 * be_libm_square(lc2) + moi;
    c[ACC2_SQUARE] = m2 * l1 * lc2;
    double high[] = {1.0, 1.0, 1.0, 1.0, p[MAX_VEL_1], p[MAX_VEL_2]};
    double low[] = {-1.0, -1.0, -1.0, -1.0, -p[MAX_VEL_1], -p[MAX_VEL_2]};
    be_space_box_f32(&setup->observation_space, 6, low, high);
    be_space_discrete(&setup->action_space, 3);
    setup->flags = p[TORQUE_NOISE_MAX] > 0 ? 0 : BE_STEP_FINISHED_HARMLESS;
    return BE_OK;
}

/* The reset state is float32, and so the first observation's sines and cosines are NumPy's float32 ones. */
static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_io *io, be_error *error) {
    (void)error;
    double *const *s = (double *const *)b->state;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        float *observation = BE_ROW(float, io->observation, io, i, 6);
        for (int j = 0; j < 2; j++) {
            double angle = s[j][i];
            int fresh = b->elapsed[i] == 0;
            observation[2 * j] = fresh ? be_numpy_cosf((float)angle) : (float)cos(angle);
            observation[2 * j + 1] = fresh ? be_numpy_sinf((float)angle) : (float)sin(angle);
        }
        observation[4] = (float)s[DTHETA1][i];
        observation[5] = (float)s[DTHETA2][i];
    }
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_io *io, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        for (int j = 0; j < NUM_FIELDS; j++) {
            double value = be_rng_uniform(&b->rng[i], io->options[LOW], io->options[HIGH]);
            ((double *)b->state[j])[i] = (double)(float)value;
        }
    }
    return observe(b, lanes, count, io, error);
}

/* Time derivative of (theta1, theta2, dtheta1, dtheta2) under `torque`. */
static inline void derivative(const be_vd *c, int nips, const be_vd s[4], be_vd torque, be_vd out[4]) {
    be_vd sin2, cos2;
    be_sincos(s[THETA2], &sin2, &cos2);
    be_vd d1 = c[D1_FIRST] + c[M2] * (c[D1_FIXED] + c[D1_COS] * cos2) + c[MOI] + c[MOI];
    be_vd d2 = c[M2] * (c[D2_FIXED] + c[D2_COS] * cos2) + c[MOI];
    be_vd phi2 = c[PHI2_COS] * be_cos(s[THETA1] + s[THETA2] - PI / 2.0);
    be_vd phi1 = c[PHI1_SQUARE] * be_square(s[DTHETA2]) * sin2 - c[PHI1_PRODUCT] * s[DTHETA2] * s[DTHETA1] * sin2 +
                 c[PHI1_COS] * be_cos(s[THETA1] - PI / 2) + phi2;
    be_vd push = torque + d2 / d1 * phi1;
    if (!nips) push = push - c[ACC2_SQUARE] * be_square(s[DTHETA1]) * sin2;
    be_vd acceleration2 = (push - phi2) / (c[ACC2_FIXED] - be_square(d2) / d1);
    out[0] = s[DTHETA1];
    out[1] = s[DTHETA2];
    out[2] = -(d2 * acceleration2 + phi1) / d1;
    out[3] = acceleration2;
}

/* Into [-pi, pi] by whole turns, one rounded subtraction a turn. What is a million turns away (Gymnasium's loop would
 * not come back from there) goes home in one remainder, infinity as NaN. */
static inline be_vd wrap(be_vd x) {
    const be_vd pi = be_set1(PI), turn = be_set1(PI - -PI);
    be_vl far = ~(be_abs(x) < 1e6 * PI) & (x == x);
    if (__builtin_expect(be_any(far), 0)) {
        for (int j = 0; j < BE_VL; j++) {
            if (far[j]) x[j] = remainder(x[j], 2 * PI);
        }
    }
    for (be_vl over = x > pi; be_any(over); over = x > pi) x = be_select(over, x - turn, x);
    for (be_vl under = x < -pi; be_any(under); under = x < -pi) x = be_select(under, x + turn, x);
    return x;
}

typedef struct values {
    be_vd constants[NUM_CONSTANTS], dt, half_dt, sixth_dt, max_vel_1, max_vel_2;
} values;

BE_INLINE void load_values(const be_batch *b, int64_t i, int per_lane, values *v) {
    for (int k = 0; k < NUM_CONSTANTS; k++) v->constants[k] = be_constant_at(b, k, i, per_lane);
    v->dt = be_param_at(b, DT, i, per_lane);
    v->half_dt = v->dt / 2.0;
    v->sixth_dt = v->dt / 6.0;
    v->max_vel_1 = be_param_at(b, MAX_VEL_1, i, per_lane);
    v->max_vel_2 = be_param_at(b, MAX_VEL_2, i, per_lane);
}

BE_INLINE int step_lanes(be_batch *b, int64_t begin, int64_t end, const be_io *io, int per_lane) {
    const int nips = b->params[BOOK_OR_NIPS] == 1;
    const int noisy = !(b->flags & BE_STEP_FINISHED_HARMLESS);
    values v;
    load_values(b, begin, per_lane, &v);
    const int64_t *action = io->action;
    float *observation = io->observation;
    double *reward = io->reward;
    uint8_t *terminated = io->terminated;

    for (int64_t i = begin; i < end; i += BE_VL) {
        if (per_lane) load_values(b, i, 1, &v);
        be_vd torque = __builtin_convertvector(be_load_i64(action) - 1, be_vd);
        if (noisy) {
            for (int j = 0; j < BE_VL; j++) {
                double noise = be_param_of(b, TORQUE_NOISE_MAX, i + j);
                if (noise > 0 && !io->skip[i - begin + j]) torque[j] += be_rng_uniform(&b->rng[i + j], -noise, noise);
            }
        }
        be_vd y0[4], y[4], k1[4], k2[4], k3[4], k4[4];
        for (int j = 0; j < 4; j++) y0[j] = be_load((double *)b->state[j] + i);
        derivative(v.constants, nips, y0, torque, k1);
        for (int j = 0; j < 4; j++) y[j] = y0[j] + v.half_dt * k1[j];
        derivative(v.constants, nips, y, torque, k2);
        for (int j = 0; j < 4; j++) y[j] = y0[j] + v.half_dt * k2[j];
        derivative(v.constants, nips, y, torque, k3);
        for (int j = 0; j < 4; j++) y[j] = y0[j] + v.dt * k3[j];
        derivative(v.constants, nips, y, torque, k4);
        for (int j = 0; j < 4; j++) y[j] = y0[j] + v.sixth_dt * (k1[j] + 2.0 * k2[j] + 2.0 * k3[j] + k4[j]);

        be_vd theta1 = wrap(y[THETA1]), theta2 = wrap(y[THETA2]);
        be_vd dtheta1 = be_clip(y[DTHETA1], -v.max_vel_1, v.max_vel_1);
        be_vd dtheta2 = be_clip(y[DTHETA2], -v.max_vel_2, v.max_vel_2);
        be_store((double *)b->state[THETA1] + i, theta1);
        be_store((double *)b->state[THETA2] + i, theta2);
        be_store((double *)b->state[DTHETA1] + i, dtheta1);
        be_store((double *)b->state[DTHETA2] + i, dtheta2);

        be_vd sin1, cos1, sin2, cos2;
        be_sincos(theta1, &sin1, &cos1);
        be_sincos(theta2, &sin2, &cos2);
        /* -cos1 - cos(theta1 + theta2) > 1 cannot be while the first link hangs below the joint, as it mostly does. */
        be_vl arrived = cos1 < 0;
        if (be_any(arrived)) arrived = -cos1 - be_cos(theta2 + theta1) > 1.0;
        be_vd row[] = {cos1, sin1, cos2, sin2, dtheta1, dtheta2};
        be_store_rows(observation, 6, row);
        be_store(reward, be_select(arrived, be_set1(0.0), be_set1(-1.0)));
        be_store_flags(terminated, arrived);
        action += BE_VL;
        observation += 6 * BE_VL;
        reward += BE_VL;
        terminated += BE_VL;
    }
    return BE_OK;
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_io *io, be_error *error) {
    (void)error;
    return b->per_lane ? step_lanes(b, begin, end, io, 1) : step_lanes(b, begin, end, io, 0);
}

const be_env_type BE_ENV(acrobot) = {
    .name = "Acrobot",
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
