/* Acrobot-v1: a two-link pendulum, driven at the joint between the links.
 *
 * Sutton (1996); Sutton and Barto, "Reinforcement Learning: An Introduction", section 11.3 of the first edition; in
 * the order of operations of gymnasium.envs.classic_control.AcrobotEnv, with one fourth-order Runge-Kutta step.
 */
#include "batchenv.h"
#include "exact_math.h"
#include "numpy_f32.h"

#define PI 3.141592653589793

/* prepare() sets the spaces that depend on params. */
enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(3)},
    [OBSERVATION] = {"", BE_OBSERVATION},
    {0},
};

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
    be_space_box_f32(&setup->space[OBSERVATION], 6, low, high);
    setup->flags = p[TORQUE_NOISE_MAX] > 0 ? 0 : BE_STEP_FINISHED_HARMLESS;
    return BE_OK;
}

/* The reset state is float32, so the sines and cosines of the first observation are NumPy's float32 ones. */
static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    double *const *s = (double *const *)b->state;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        float *observation = BE_ROW(float, rows->port[OBSERVATION], rows, i, 6);
        for (int j = 0; j < 2; j++) {
            double angle = s[j][i];
            int fresh = b->elapsed[i] == 0;
            observation[2 * j] = fresh ? be_numpy_cosf((float)angle) : (float)be_math.cos(angle);
            observation[2 * j + 1] = fresh ? be_numpy_sinf((float)angle) : (float)be_math.sin(angle);
        }
        observation[4] = (float)s[DTHETA1][i];
        observation[5] = (float)s[DTHETA2][i];
    }
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        for (int j = 0; j < NUM_FIELDS; j++) {
            double value = be_rng_uniform(&b->rng[i], rows->options[LOW], rows->options[HIGH]);
            ((double *)b->state[j])[i] = (double)(float)value;
        }
    }
    return observe(b, lanes, count, rows, error);
}

/* Brings an angle into [-pi, pi] by whole turns, with one rounded subtraction per turn. An angle a million turns away,
 * for which Gymnasium's loop would not end, is brought back by one remainder; infinity becomes NaN. */
static inline be_vd wrap(be_vd x) {
    const be_vd pi = be_set1(PI), turn = be_set1(PI - -PI);
    be_vl far = ~(be_abs(x) < 1e6 * PI) & (x == x);
    if (__builtin_expect(be_any(far), 0)) {
        for (int j = 0; j < BE_VL; j++) {
            if (far[j]) x[j] = be_math.remainder(x[j], 2 * PI);
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

/* Lanes that go through a step together, from one short loop to the next. */
#define CHUNK BE_MANY
typedef struct chunk {
    double start[NUM_FIELDS][CHUNK], y[NUM_FIELDS][CHUNK], sum[NUM_FIELDS][CHUNK];
    double torque[CHUNK], angle1[CHUNK], angle12[CHUNK], sin1[CHUNK], cos1[CHUNK], sin2[CHUNK], cos2[CHUNK],
        cos12[CHUNK], d2[CHUNK];
    double square1[CHUNK], square2[CHUNK], d2_square[CHUNK];
} __attribute__((aligned(64))) chunk;

/* A stage of the Runge-Kutta step: computes the time derivative at y, and the next y. */
BE_INLINE void stage(chunk *w, int n, int number, const be_batch *b, int64_t first, int per_lane, values *v) {
    const int nips = b->params[BOOK_OR_NIPS] == 1;
    const be_vd *c = v->constants;
    be_sincos_many(w->y[THETA2], w->sin2, w->cos2, n);
    for (int i = 0; i < n; i += BE_VL) {
        if (per_lane) load_values(b, first + i, 1, v);
        be_vd theta1 = be_load(w->y[THETA1] + i), theta2 = be_load(w->y[THETA2] + i);
        be_store(w->angle12 + i, theta1 + theta2 - PI / 2.0);
        be_store(w->angle1 + i, theta1 - PI / 2);
        be_store(w->d2 + i, c[M2] * (c[D2_FIXED] + c[D2_COS] * be_load(w->cos2 + i)) + c[MOI]);
    }
    be_cos_many(w->angle12, w->cos12, n);
    be_cos_many(w->angle1, w->cos1, n);
    be_square_many(w->y[DTHETA1], w->square1, n);
    be_square_many(w->y[DTHETA2], w->square2, n);
    be_square_many(w->d2, w->d2_square, n);
    for (int i = 0; i < n; i += BE_VL) {
        if (per_lane) load_values(b, first + i, 1, v);
        be_vd dtheta1 = be_load(w->y[DTHETA1] + i), dtheta2 = be_load(w->y[DTHETA2] + i);
        be_vd sin2 = be_load(w->sin2 + i), cos2 = be_load(w->cos2 + i), d2 = be_load(w->d2 + i);
        be_vd d1 = c[D1_FIRST] + c[M2] * (c[D1_FIXED] + c[D1_COS] * cos2) + c[MOI] + c[MOI];
        be_vd phi2 = c[PHI2_COS] * be_load(w->cos12 + i);
        be_vd phi1 = c[PHI1_SQUARE] * be_load(w->square2 + i) * sin2 - c[PHI1_PRODUCT] * dtheta2 * dtheta1 * sin2 +
                     c[PHI1_COS] * be_load(w->cos1 + i) + phi2;
        be_vd push = be_load(w->torque + i) + d2 / d1 * phi1;
        if (!nips) push = push - c[ACC2_SQUARE] * be_load(w->square1 + i) * sin2;
        be_vd acceleration2 = (push - phi2) / (c[ACC2_FIXED] - be_load(w->d2_square + i) / d1);
        be_vd k[] = {dtheta1, dtheta2, -(d2 * acceleration2 + phi1) / d1, acceleration2};
        be_vd ahead = number < 2 ? v->half_dt : v->dt;
        for (int j = 0; j < 4; j++) {
            be_vd sum = k[j];
            if (number > 0) sum = be_load(w->sum[j] + i) + (number < 3 ? 2.0 * sum : sum);
            be_store(w->sum[j] + i, sum);
            be_store(w->y[j] + i, be_load(w->start[j] + i) + (number < 3 ? ahead * k[j] : v->sixth_dt * sum));
        }
    }
}

BE_INLINE int step_lanes(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, int per_lane) {
    const int noisy = !(b->flags & BE_STEP_FINISHED_HARMLESS);
    values v;
    load_values(b, begin, per_lane, &v);
    const int64_t *action = rows->port[ACTION];
    float *observation = rows->port[OBSERVATION];
    double *reward = rows->reward;
    uint8_t *terminated = rows->terminated;
    chunk w;

    for (int64_t first = begin; first < end; first += CHUNK) {
        const int n = end - first < CHUNK ? (int)(end - first) : CHUNK;
        for (int l = 0; l < n; l += BE_VL) {
            be_vd torque = be_small_to_f64(be_load_i64(action + l) - 1);
            if (noisy) {
                for (int j = 0; j < BE_VL; j++) {
                    const int64_t i = first + l + j;
                    double noise = be_param_of(b, TORQUE_NOISE_MAX, i);
                    if (noise > 0 && !rows->skip[i - begin]) torque[j] += be_rng_uniform(&b->rng[i], -noise, noise);
                }
            }
            be_store(w.torque + l, torque);
        }
        for (int j = 0; j < 4; j++) {
            memcpy(w.start[j], (double *)b->state[j] + first, (size_t)n * sizeof(double));
            memcpy(w.y[j], (double *)b->state[j] + first, (size_t)n * sizeof(double));
        }
        for (int number = 0; number < 4; number++) stage(&w, n, number, b, first, per_lane, &v);
        for (int l = 0; l < n; l += BE_VL) {
            if (per_lane) load_values(b, first + l, 1, &v);
            be_store(w.y[THETA1] + l, wrap(be_load(w.y[THETA1] + l)));
            be_store(w.y[THETA2] + l, wrap(be_load(w.y[THETA2] + l)));
            be_store(w.y[DTHETA1] + l, be_clip(be_load(w.y[DTHETA1] + l), -v.max_vel_1, v.max_vel_1));
            be_store(w.y[DTHETA2] + l, be_clip(be_load(w.y[DTHETA2] + l), -v.max_vel_2, v.max_vel_2));
        }
        for (int j = 0; j < 4; j++) memcpy((double *)b->state[j] + first, w.y[j], (size_t)n * sizeof(double));
        be_sincos_many(w.y[THETA1], w.sin1, w.cos1, n);
        be_sincos_many(w.y[THETA2], w.sin2, w.cos2, n);
        for (int l = 0; l < n; l += BE_VL) {
            be_vd cos1 = be_load(w.cos1 + l);
            /* -cos1 - cos(theta1 + theta2) > 1 is impossible while the first link hangs below the joint, as it mostly
             * does.
             */
            be_vl arrived = cos1 < 0;
            if (be_any(arrived)) arrived = -cos1 - be_cos(be_load(w.y[THETA2] + l) + be_load(w.y[THETA1] + l)) > 1.0;
            be_vd row[] = {cos1,
                           be_load(w.sin1 + l),
                           be_load(w.cos2 + l),
                           be_load(w.sin2 + l),
                           be_load(w.y[DTHETA1] + l),
                           be_load(w.y[DTHETA2] + l)};
            be_store_rows(observation + 6 * l, 6, row);
            be_store(reward + l, be_select(arrived, be_set1(0.0), be_set1(-1.0)));
            be_store_flags(terminated + l, arrived);
        }
        action += CHUNK;
        observation += 6 * CHUNK;
        reward += CHUNK;
        terminated += CHUNK;
    }
    return BE_OK;
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    return b->per_lane ? step_lanes(b, begin, end, rows, 1) : step_lanes(b, begin, end, rows, 0);
}

static const be_id ids[] = {{"Acrobot-v1", 500, BE_THRESHOLD(-100.0)}, {0}};

BE_ENV(acrobot) = {
    .abi = BE_ABI,
    .name = "Acrobot",
    .ids = ids,
    .family = "classic control",
    .frames_per_second = 15,
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
