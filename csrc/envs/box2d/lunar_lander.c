/* LunarLander-v3, LunarLanderContinuous-v3: a lander with two legs and three engines comes down on the moon.
 *
 * gymnasium.envs.box2d.lunar_lander.LunarLander, by Oleg Klimov, with the physics of Box2D 2.3 (see world.h). Python's
 * part computes in float64 and hands float32 to the world.
 */
#include <pthread.h>

#include "lane.h"
#include "workspace.h"

#define SCALE 30.0
#define WIDTH (600 / SCALE)
#define HEIGHT (400 / SCALE)
#define PAD_Y (HEIGHT / 4)
#define FRAMES 50

enum { LANDER, LEFT_LEG, RIGHT_LEG, BODIES };
enum { JOINTS = 2, CHUNKS = 11, GROUNDS = CHUNKS, PAIRS_MAX = GROUNDS * BODIES };

enum { EXHAUST_DOUBLES = 5 };

enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(4)},
    [OBSERVATION] = {"", BE_OBSERVATION},
    {0},
};

enum { TOUCHES = WORLD_FIELDS, GAME_OVER, TERRAIN, SHAPING, WIND, EXHAUST };
static const be_field state[] = {
    [BODY] =
        {"bodies", BE_F32, BODIES * BODY_FLOATS,
         "lander, left leg, right leg: center of mass (x, y), its velocity (x, y), angle, angular velocity, origin "
         "(x, y), sine and cosine of the angle, seconds at rest, box of the broad phase (low x, low y, high x, high "
         "y)"},
    [JOINT] = {"joints", BE_F32, JOINTS * 4, "right leg, left leg: impulses of the last step (x, y, limit, motor)"},
    [LIMIT] = {"limits", BE_I32, JOINTS, "0: the joint is between its limits, 1: at the lower one, 2: at the upper one",
               0, 2},
    [CONTACTS] = {"contacts", BE_I32, 1, "pairs of a body and a piece of ground with overlapping boxes", 0, PAIRS_MAX},
    [PAIR] = {"pairs", BE_I32, PAIRS_MAX, "of each contact, oldest first: 3 x ground + body", 0, PAIRS_MAX - 1},
    [POINTS] = {"points", BE_I32, PAIRS_MAX, "of each contact: where the two touch", 0, 2},
    [FEATURE] = {"features", BE_I32, PAIRS_MAX * 2, "of each point: the corner and the face that made it", 0,
                 FEATURES(255, 255, FACE, FACE)},
    [IMPULSE] = {"impulses", BE_F32, PAIRS_MAX * 4,
                 "of each contact: normal impulses of its points, then tangential ones"},
    [TOUCHES] = {"legs_touch", BE_I32, 2, "left leg, right leg: 1 if on the ground", 0, 1},
    [GAME_OVER] = {"game_over", BE_I32, 1, "1 if the lander has touched the ground", 0, 1},
    [TERRAIN] = {"terrain", BE_F64, CHUNKS, "height of the ground at x = 0, 2, ... 20"},
    [SHAPING] = {"shaping", BE_F64, 1, "the potential from whose changes rewards are made"},
    [WIND] = {"wind", BE_I64, 2, "steps of the wind's and of the turbulence's pattern", -9999, INT64_C(1) << 40},
    [EXHAUST] = {"exhaust", BE_F64, 2 * EXHAUST_DOUBLES,
                 "what the main engine and a side engine have blown out in the last step, for pictures: its place (x, "
                 "y), its impulse (x, y) and the throttle, which is 0 if the engine was off"},
    {0},
};

enum {
    CONTINUOUS,
    GRAVITY,
    ENABLE_WIND,
    WIND_POWER,
    TURBULENCE_POWER,
    MAIN_ENGINE_POWER,
    SIDE_ENGINE_POWER,
    LEG_SPRING_TORQUE,
    INITIAL_RANDOM,
    LANDER_DENSITY,
    LEG_DENSITY,
};
static const be_param params[] = {
    [CONTINUOUS] = {"continuous", BE_PARAM_BOOL, 0, 0, 1, NULL,
                    "actions are the throttles of the main and of the side engines"},
    [GRAVITY] = {"gravity", BE_PARAM_FLOAT, -10.0, -12, 0, NULL, "m/s^2; between -12 and 0, both excluded"},
    [ENABLE_WIND] = {"enable_wind", BE_PARAM_BOOL, 0, 0, 1, NULL, "wind and turbulence while no leg is on the ground"},
    [WIND_POWER] = {"wind_power", BE_PARAM_FLOAT, 15.0, -1e6, 1e6, NULL,
                    "largest force of the wind, 0 to 20 recommended"},
    [TURBULENCE_POWER] = {"turbulence_power", BE_PARAM_FLOAT, 1.5, -1e6, 1e6, NULL,
                          "largest torque of the turbulence, 0 to 2 recommended"},
    [MAIN_ENGINE_POWER] = {"main_engine_power", BE_PARAM_FLOAT, 13.0, 0, 1e6, NULL,
                           "impulse of the main engine in a step, as a multiple of 4/30 N s"},
    [SIDE_ENGINE_POWER] = {"side_engine_power", BE_PARAM_FLOAT, 0.6, 0, 1e6, NULL,
                           "impulse of a side engine in a step, as a multiple of 12/30 N s"},
    [LEG_SPRING_TORQUE] = {"leg_spring_torque", BE_PARAM_FLOAT, 40.0, 0, 1e6, NULL,
                           "largest torque with which the legs are spread, N m"},
    [INITIAL_RANDOM] = {"initial_random", BE_PARAM_FLOAT, 1000.0, 0, 1e6, NULL,
                        "largest force on the lander in an episode's first step, in x and in y, N"},
    [LANDER_DENSITY] = {"lander_density", BE_PARAM_FLOAT, 5.0, DENSITY_MIN, DENSITY_MAX, NULL, "kg/m^2"},
    [LEG_DENSITY] = {"leg_density", BE_PARAM_FLOAT, 1.0, DENSITY_MIN, DENSITY_MAX, NULL, "of both legs, kg/m^2"},
    {0},
};

/* The first piece is an edge along the bottom; the others are the surface. */
static shape moon(const world *w, int index) {
    const double *height = w->terrain;
    shape s = {.count = 2, .corner = {{0.0f, 0.0f}, {(float)WIDTH, 0.0f}}};
    for (int k = 0; index > 0 && k < 2; k++) {
        const int at = index - 1 + k;
        s.corner[k] = (vec2){(float)(WIDTH / (CHUNKS - 1) * at), (float)height[at]};
    }
    return s;
}

static float moon_friction(const world *w, int index) {
    (void)w;
    return index ? 0.1f : 0.2f;
}

static plan the_plan;
static pthread_once_t planned = PTHREAD_ONCE_INIT;

static float leg_angle(int side) { return (float)(side * 0.05); }

static void make_plan(void) {
    static const int outline[6][2] = {{-14, 17}, {-17, 0}, {-17, -10}, {17, -10}, {17, 0}, {14, 17}};
    plan *p = &the_plan;
    vec2 corners[6];
    for (int i = 0; i < 6; i++) corners[i] = (vec2){(float)(outline[i][0] / SCALE), (float)(outline[i][1] / SCALE)};
    p->bodies = BODIES;
    p->joints = JOINTS;
    p->one_ground = 1;
    p->ground = moon;
    p->ground_friction = moon_friction;
    p->shape[LANDER] = shape_hull(corners, 6);
    p->friction[LANDER] = 0.1f;
    for (int k = 0; k < 2; k++) {
        const int leg = LEFT_LEG + k, side = k ? 1 : -1;
        p->shape[leg] = shape_box((float)(2 / SCALE), (float)(8 / SCALE));
        p->friction[leg] = 0.2f;
        const int j = 1 - k;
        const joint_plan joint = {
            .a = LANDER,
            .b = leg,
            .anchor_b = {(float)(side * 20 / SCALE), (float)(18 / SCALE)},
            .lower = (float)(k ? -0.9 : 0.9 - 0.5),
            .upper = (float)(k ? -0.9 + 0.5 : 0.9),
        };
        plan_joint(p, j, joint, 0.0f, leg_angle(side));
    }
}

static int prepare(be_setup *setup, be_error *error) {
    const double gravity = setup->params[GRAVITY];
    if (gravity <= -12 || gravity >= 0) {
        return be_fail(error, BE_ERROR_VALUE, -1, "gravity=%g must be between -12 and 0, both excluded", gravity);
    }
    pthread_once(&planned, make_plan);
    const double *p = setup->params;
    prepare_masses(&the_plan, (double[BODIES]){p[LANDER_DENSITY], p[LEG_DENSITY], p[LEG_DENSITY]}, setup->constants);
    const double high[] = {2.5, 2.5, 10, 10, 2 * 3.141592653589793, 10, 1, 1};
    const double low[] = {-2.5, -2.5, -10, -10, -2 * 3.141592653589793, -10, -0.0, -0.0};
    be_space_box_f32(&setup->space[OBSERVATION], 8, low, high);
    if (setup->params[CONTINUOUS] != 0) {
        be_space_box_f32(&setup->space[ACTION], 2, (double[]){-1, -1}, (double[]){1, 1});
    } else {
        be_space_discrete(&setup->space[ACTION], 4);
    }
    return BE_OK;
}

/* ---- a lane's fields and its world ---------------------------------------------------------------- */

static lane_fields fields_of(const be_batch *batch, int64_t i) {
    static const int legs[2] = {LEFT_LEG, RIGHT_LEG};
    lane_fields fields = world_fields(batch, i, &the_plan, PAIRS_MAX);
    fields.touches = (int32_t *)batch->state[TOUCHES] + i * 2;
    fields.over = (int32_t *)batch->state[GAME_OVER] + i;
    fields.touching = legs;
    return fields;
}

/* What a world has beside its fields. */
static void complete(const be_batch *batch, int64_t i, world *w) {
    const double *height = (const double *)batch->state[TERRAIN] + i * CHUNKS;
    float top = 0.0f;
    for (int k = 0; k < CHUNKS; k++) top = max_f(top, (float)height[k]);
    w->top = top + SKIN + BOX_MARGIN;
    w->terrain = height;
    w->grounds = GROUNDS;
    w->tree = NULL;
    for (int j = 0; j < JOINTS; j++) {
        w->motor_speed[j] = (float)(j ? -0.3 : 0.3);
        w->max_torque[j] = (float)be_param_of(batch, LEG_SPRING_TORQUE, i);
    }
    put_masses(batch, i, w);
}

static int check_state(const be_batch *batch, const void *const *columns, int64_t count, be_error *error) {
    (void)batch;
    int status = BE_OK;
    for (int64_t i = 0; i < count && status == BE_OK; i++) {
        const int32_t *pair = (const int32_t *)columns[PAIR] + i * PAIRS_MAX;
        status = check_pairs(pair, ((const int32_t *)columns[CONTACTS])[i], i, error);
    }
    return status;
}

/* ---- engines and wind ----------------------------------------------------------------------------- */

/* What the engines do in a step: main is 0 or 0.5 to 1; side likewise, to the left or right by the sign of `direction`.
 */
typedef struct throttle {
    double main, side, direction;
} throttle;

static double limited(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

static throttle throttle_discrete(int64_t action) {
    return (throttle){action == 2, action == 1 || action == 3, (double)(action - 2)};
}

static throttle throttle_continuous(const float *action) {
    const double up = limited(action[0], -1, 1), aside = limited(action[1], -1, 1);
    throttle t = {0};
    if (up > 0.0) t.main = (limited(up, 0.0, 1.0) + 1.0) * 0.5;
    if (fabs(aside) > 0.5) {
        t.side = limited(fabs(aside), 0.5, 1.0);
        t.direction = aside > 0 ? 1 : -1;
    }
    return t;
}

/* Blows gas out at a place, with an impulse (x, y) from which the lander gets the opposite one. */
static void blow(world *w, double x, double y, double at_x, double at_y, double power,
                 double exhaust[EXHAUST_DOUBLES]) {
    body *b = &w->body[LANDER];
    const mass *m = &w->mass[LANDER];
    const vec2 impulse = {(float)-x, (float)-y}, at = {(float)at_x, (float)at_y};
    b->s.v = add(b->s.v, scale(m->inverse, impulse));
    b->s.w += m->inverse_inertia * cross(sub(at, b->s.c), impulse);
    memcpy(exhaust, (double[EXHAUST_DOUBLES]){at_x, at_y, x, y, power}, EXHAUST_DOUBLES * sizeof(double));
}

static void fire(const be_batch *batch, int64_t i, world *w, const throttle *t) {
    const body *b = &w->body[LANDER];
    double *exhaust = (double *)batch->state[EXHAUST] + i * 2 * EXHAUST_DOUBLES;
    memset(exhaust, 0, 2 * EXHAUST_DOUBLES * sizeof(double));
    be_rng *rng = &batch->rng[i];
    double sine, cosine;
    be_math.sincos(b->s.a, &sine, &cosine);
    const double up[2] = {sine, cosine}, across[2] = {-cosine, sine};
    double spread[2];
    for (int k = 0; k < 2; k++) spread[k] = be_rng_uniform(rng, -1.0, 1.0) / SCALE;
    if (t->main > 0) {
        const double x = up[0] * (4 / SCALE + 2 * spread[0]) + across[0] * spread[1];
        const double y = -up[1] * (4 / SCALE + 2 * spread[0]) - across[1] * spread[1];
        const double power = be_param_of(batch, MAIN_ENGINE_POWER, i);
        blow(w, x * power * t->main, y * power * t->main, b->s.xf.p.x + x, b->s.xf.p.y + y, t->main, exhaust);
    }
    if (t->side > 0) {
        const double away = 3 * spread[1] + t->direction * 12 / SCALE;
        const double x = up[0] * spread[0] + across[0] * away, y = -up[1] * spread[0] - across[1] * away;
        const double power = be_param_of(batch, SIDE_ENGINE_POWER, i);
        blow(w, x * power * t->side, y * power * t->side, b->s.xf.p.x + x - up[0] * 17 / SCALE,
             b->s.xf.p.y + y + up[1] * 14 / SCALE, t->side, exhaust + EXHAUST_DOUBLES);
    }
}

static double gust(int64_t *index, double power) {
    const double i = (double)(*index)++;
    return be_math.tanh(be_math.sin(0.02 * i) + be_math.sin(3.141592653589793 * 0.01 * i)) * power;
}

/* ---- steps ---------------------------------------------------------------------------------------- */

static void measure(const be_batch *batch, int64_t i, double out[8]) {
    const body_state *b = (const body_state *)((const float *)batch->state[BODY] + i * BODIES * BODY_FLOATS) + LANDER;
    const int32_t *touches = (const int32_t *)batch->state[TOUCHES] + 2 * i;
    out[0] = (b->xf.p.x - WIDTH / 2) / (WIDTH / 2);
    out[1] = (b->xf.p.y - (PAD_Y + 18 / SCALE)) / (HEIGHT / 2);
    out[2] = b->v.x * (WIDTH / 2) / FRAMES;
    out[3] = b->v.y * (HEIGHT / 2) / FRAMES;
    out[4] = b->a;
    out[5] = 20.0 * b->w / FRAMES;
    out[6] = touches[0];
    out[7] = touches[1];
}

static int observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) {
        float *row = BE_ROW(float, rows->port[OBSERVATION], rows, lanes[k], 8);
        double values[8];
        measure(batch, lanes[k], values);
        for (int j = 0; j < 8; j++) row[j] = (float)values[j];
    }
    return BE_OK;
}

/* The lanes that step together. */
typedef struct group {
    int count;
    int64_t lane[SOLVER_LANES];
    throttle throttle[SOLVER_LANES];
    world world[SOLVER_LANES];
    solver solver;
} group;

/* One step of the worlds that have been loaded into a group. */
static void step_group(be_batch *batch, group *g) {
    static const int joint_a[JOINTS] = {LANDER, LANDER}, joint_b[JOINTS] = {RIGHT_LEG, LEFT_LEG};
    solver_begin(&g->solver, &the_plan);
    for (int k = 0; k < g->count; k++) {
        const int64_t i = g->lane[k];
        world *w = &g->world[k];
        body *lander = &w->body[LANDER];
        if (batch->params[ENABLE_WIND] != 0 && !w->touches[LEFT_LEG] && !w->touches[RIGHT_LEG]) {
            int64_t *wind = (int64_t *)batch->state[WIND] + 2 * i;
            lander->force.x += (float)gust(&wind[0], be_param_of(batch, WIND_POWER, i));
            lander->torque += (float)gust(&wind[1], be_param_of(batch, TURBULENCE_POWER, i));
        }
        fire(batch, i, w, &g->throttle[k]);
        collide(w);
        solver_put(&g->solver, k, w, (float)be_param_of(batch, GRAVITY, i));
    }
    solver_run(&g->solver, BODIES, JOINTS, joint_a, joint_b);
    for (int k = 0; k < g->count; k++) solver_get(&g->solver, k, &g->world[k]);
    for (int k = 0; k < g->count; k++) {
        solve_positions(&g->world[k]);
        solve_impacts(&g->world[k], &g->solver);
        const lane_fields fields = fields_of(batch, g->lane[k]);
        world_store(&g->world[k], &fields);
    }
}

/* Writes a lane's observation, and returns its reward; the first step, which is part of the reset, has none. */
static double finish(be_batch *batch, int64_t i, const throttle *t, int awake, float *row, uint8_t *terminated) {
    double s[8];
    measure(batch, i, s);
    for (int j = 0; j < 8; j++) row[j] = (float)s[j];
    const double shaping = -100 * sqrt(s[0] * s[0] + s[1] * s[1]) - 100 * sqrt(s[2] * s[2] + s[3] * s[3]) -
                           100 * fabs(s[4]) + 10 * s[6] + 10 * s[7];
    double *last = (double *)batch->state[SHAPING] + i;
    double reward = shaping - *last;
    *last = shaping;
    reward -= t->main * 0.30;
    reward -= t->side * 0.03;
    *terminated = 0;
    if (((const int32_t *)batch->state[GAME_OVER])[i] || fabs(s[0]) >= 1.0) {
        *terminated = 1;
        reward = -100;
    }
    if (!awake) {
        *terminated = 1;
        reward = 100;
    }
    return reward;
}

static int step(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    const int continuous = batch->params[CONTINUOUS] != 0;
    group *g = workspace(sizeof *g, error);
    if (g == NULL) return (int)error->status;
    for (int64_t from = begin; from < end; from += SOLVER_LANES) {
        g->count = 0;
        for (int64_t i = from; i < from + SOLVER_LANES && i < end; i++) {
            const int64_t row = i - begin;
            rows->terminated[row] = 0;
            if (rows->skip[row]) continue;
            const int k = g->count++;
            g->lane[k] = i;
            g->throttle[k] = continuous ? throttle_continuous((const float *)rows->port[ACTION] + 2 * row)
                                        : throttle_discrete(((const int64_t *)rows->port[ACTION])[row]);
            const lane_fields fields = fields_of(batch, i);
            world_load(&g->world[k], &the_plan, &fields);
            complete(batch, i, &g->world[k]);
        }
        if (g->count == 0) continue;
        step_group(batch, g);
        for (int k = 0; k < g->count; k++) {
            const int64_t i = g->lane[k];
            rows->reward[i - begin] =
                finish(batch, i, &g->throttle[k], g->world[k].body[LANDER].awake,
                       BE_ROW(float, rows->port[OBSERVATION], rows, i, 8), &rows->terminated[i - begin]);
        }
    }
    return BE_OK;
}

/* ---- reset ---------------------------------------------------------------------------------------- */

static void begin_episode(be_batch *batch, int64_t i, world *w) {
    be_rng *rng = &batch->rng[i];
    double height[CHUNKS + 1];
    for (int k = 0; k <= CHUNKS; k++) height[k] = be_rng_uniform(rng, 0, HEIGHT / 2);
    for (int k = CHUNKS / 2 - 2; k <= CHUNKS / 2 + 2; k++) height[k] = PAD_Y;
    double *terrain = (double *)batch->state[TERRAIN] + i * CHUNKS;
    for (int k = 0; k < CHUNKS; k++) {
        terrain[k] = 0.33 * (height[k ? k - 1 : CHUNKS] + height[k] + height[k + 1]);
    }
    world_clear(w, &the_plan);
    complete(batch, i, w);
    world_add_body(w, LANDER, (float)(WIDTH / 2), (float)HEIGHT, 0.0f);
    const double push = be_param_of(batch, INITIAL_RANDOM, i);
    w->body[LANDER].force.x = (float)be_rng_uniform(rng, -push, push);
    w->body[LANDER].force.y = (float)be_rng_uniform(rng, -push, push);
    int64_t *wind = (int64_t *)batch->state[WIND] + 2 * i;
    wind[0] = wind[1] = 0;
    if (batch->params[ENABLE_WIND] != 0) {
        wind[0] = be_rng_integers(rng, -9999, 9999);
        wind[1] = be_rng_integers(rng, -9999, 9999);
    }
    for (int k = 0; k < 2; k++) {
        const int side = k ? 1 : -1;
        world_add_body(w, LEFT_LEG + k, (float)(WIDTH / 2 - side * 20 / SCALE), (float)HEIGHT, leg_angle(side));
    }
    find_contacts(w);
    ((double *)batch->state[SHAPING])[i] = 0;
}

/* A reset ends with a step without engines, whose observation is the first. */
static int reset(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    group *g = workspace(sizeof *g, error);
    if (g == NULL) return (int)error->status;
    for (int64_t from = 0; from < count; from += SOLVER_LANES) {
        g->count = 0;
        for (int64_t n = from; n < from + SOLVER_LANES && n < count; n++) {
            const int k = g->count++;
            g->lane[k] = lanes[n];
            g->throttle[k] = (throttle){0};
            begin_episode(batch, lanes[n], &g->world[k]);
        }
        step_group(batch, g);
        for (int k = 0; k < g->count; k++) {
            uint8_t terminated;
            finish(batch, g->lane[k], &g->throttle[k], 1, BE_ROW(float, rows->port[OBSERVATION], rows, g->lane[k], 8),
                   &terminated);
        }
    }
    return BE_OK;
}

static const be_id ids[] = {
    {"LunarLander-v3", 1000, BE_THRESHOLD(200.0)},
    {"LunarLanderContinuous-v3", 1000, BE_THRESHOLD(200.0), {{"continuous", 1}}},
    {0},
};

BE_ENV(lunar_lander) = {
    .abi = BE_ABI,
    .name = "LunarLander",
    .ids = ids,
    .family = "Box2D",
    .frames_per_second = FRAMES,
    .ports = ports,
    .state = state,
    .params = params,
    .prepare = prepare,
    .check_state = check_state,
    .reset = reset,
    .observe = observe,
    .step = step,
};
