/* BipedalWalker-v3, BipedalWalkerHardcore-v3: a hull on two legs of two parts walks over uneven ground.
 *
 * gymnasium.envs.box2d.bipedal_walker.BipedalWalker, by Oleg Klimov, with the physics of Box2D 2.3 (see world.h).
 */
#include <pthread.h>

#define MAX_CONTACTS 96
#include "lane.h"
#include "workspace.h"

#define SCALE 30.0
#define FRAMES 50
#define STEP_LENGTH (14 / SCALE)
#define GROUND_Y (400 / SCALE / 4)
#define LIDAR_RANGE (160 / SCALE)
#define LEG_DOWN (-8 / SCALE)
#define LEG_WIDTH (8 / SCALE)
#define LEG_HEIGHT (34 / SCALE)

enum { HULL, LEFT_LEG, LEFT_FOOT, RIGHT_LEG, RIGHT_FOOT, BODIES };
enum { JOINTS = 4, LENGTH = 200, EDGES = LENGTH - 1, POLYGONS_MAX = 48, GROUNDS_MAX = EDGES + POLYGONS_MAX };
enum { LEAVES = BODIES + GROUNDS_MAX, PAIRS = GROUNDS_MAX * BODIES, RAYS = 10, SIZE = 14 + RAYS };
enum { CLOUD_DRAWS = 10 * 11 }; /* a place, and two numbers for each of five corners */
_Static_assert(2 * LEAVES <= TREE_NODES, "the tree has room for all");

/* Gymnasium's joints, left hip, left knee, right hip, right knee, in the order in which the solver goes through them.
 */
enum { RIGHT_KNEE, RIGHT_HIP, LEFT_HIP, LEFT_KNEE };
static const int of_action[JOINTS] = {LEFT_HIP, LEFT_KNEE, RIGHT_HIP, RIGHT_KNEE};
static const int joint_a[JOINTS] = {RIGHT_LEG, HULL, HULL, LEFT_LEG};
static const int joint_b[JOINTS] = {RIGHT_FOOT, RIGHT_LEG, LEFT_LEG, LEFT_FOOT};

enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_BOX(BE_F32, -1, 1, JOINTS)},
    [OBSERVATION] = {"", BE_OBSERVATION},
    {0},
};

enum { STATUS = WORLD_FIELDS, TERRAIN, POLYGON, SHAPING, LEAF, NODE_BOX, NODE_LINKS, LIDAR };
/* What the field "status" holds. */
enum { TOUCHES, OVER = 2, POLYGON_COUNT, ENDS, STATUS_INTS = ENDS + 3 };
static const be_field state[] = {
    [BODY] = {"bodies", BE_F32, BODIES * BODY_FLOATS,
              "hull, left leg, left foot, right leg, right foot: center of mass (x, y), its velocity (x, y), angle, "
              "angular velocity, origin (x, y), sine and cosine of the angle, seconds at rest, box of the broad phase "
              "(low x, low y, high x, high y)"},
    [JOINT] = {"joints", BE_F32, JOINTS * 4,
               "right knee, right hip, left hip, left knee: impulses of the last step (x, y, limit, motor)"},
    [LIMIT] = {"limits", BE_I32, JOINTS, "0: the joint is between its limits, 1: at the lower one, 2: at the upper one",
               0, 2},
    [CONTACTS] = {"contacts", BE_I32, 1, "pairs of a body and a piece of ground with overlapping boxes", 0,
                  MAX_CONTACTS},
    [PAIR] = {"pairs", BE_I32, MAX_CONTACTS, "of each contact, oldest first: 5 x ground + body", 0, PAIRS - 1},
    [POINTS] = {"points", BE_I32, MAX_CONTACTS, "of each contact: where the two touch", 0, 2},
    [FEATURE] = {"features", BE_I32, MAX_CONTACTS * 2, "of each point: the corner and the face that made it", 0,
                 FEATURES(255, 255, FACE, FACE)},
    [IMPULSE] = {"impulses", BE_F32, MAX_CONTACTS * 4,
                 "of each contact: normal impulses of its points, then tangential ones"},
    [STATUS] =
        {"status", BE_I32, STATUS_INTS,
         "1 if the left foot is on the ground; the right foot; 1 if the hull has touched it; number of polygons; "
         "the tree's root, first free node and number of nodes",
         -1, TREE_NODES},
    [TERRAIN] = {"terrain", BE_F64, LENGTH + CLOUD_DRAWS,
                 "height of the ground every 14/30 m; then the random numbers between 0 and 1 that clouds have drawn"},
    [POLYGON] = {"polygons", BE_F32, POLYGONS_MAX * 8, "four corners each"},
    [SHAPING] = {"shaping", BE_F64, 1, "the potential from whose changes rewards are made"},
    [LEAF] = {"leaves", BE_I32, LEAVES, "nodes in the tree of boxes: of bodies, then of ground; -1: none", -1,
              TREE_NODES - 1},
    [NODE_BOX] = {"node_boxes", BE_F32, TREE_NODES * 4, "boxes of the tree's nodes (low x, low y, high x, high y)"},
    [NODE_LINKS] = {"node_links", BE_I32, TREE_NODES * LINKS_INTS,
                    "of the tree's nodes: parent or next free one, children (of a leaf: -1, and what it is), height",
                    -1, TREE_NODES - 1},
    [LIDAR] = {"lidar", BE_F32, RAYS, "fractions of the rays' range at which they meet the ground"},
    {0},
};
_Static_assert(GROUNDS_MAX + BODIES < TREE_NODES, "owners fit into the range of links");

enum {
    HARDCORE,
    FRESH_WORLD,
    MOTORS_TORQUE,
    SPEED_HIP,
    SPEED_KNEE,
    FRICTION,
    INITIAL_RANDOM,
    HULL_DENSITY,
    LEG_DENSITY,
};
static const be_param params[] = {
    [HARDCORE] = {"hardcore", BE_PARAM_BOOL, 0, 0, 1, NULL, "stumps, stairs and pits"},
    [FRESH_WORLD] = {"fresh_world", BE_PARAM_BOOL, 0, 0, 1, NULL,
                     "each episode depends on its random numbers alone; else, as in Gymnasium, also on those before"},
    [MOTORS_TORQUE] = {"motors_torque", BE_PARAM_FLOAT, 80.0, 0, 1e6, NULL,
                       "torque of each joint's motor for an action of 1, N m; it is what the reward charges for"},
    [SPEED_HIP] = {"speed_hip", BE_PARAM_FLOAT, 4.0, 1e-6, 1e6, NULL,
                   "speed that the motors of the hips strive for, rad/s; observed speeds are divided by it"},
    [SPEED_KNEE] = {"speed_knee", BE_PARAM_FLOAT, 6.0, 1e-6, 1e6, NULL, "the same for the knees, rad/s"},
    [FRICTION] = {"friction", BE_PARAM_FLOAT, 2.5, 0, 1e6, NULL, "of the ground"},
    [INITIAL_RANDOM] = {"initial_random", BE_PARAM_FLOAT, 5.0, 0, 1e6, NULL,
                        "largest force on the hull in an episode's first step, in x, N"},
    [HULL_DENSITY] = {"hull_density", BE_PARAM_FLOAT, 5.0, DENSITY_MIN, DENSITY_MAX, NULL, "kg/m^2"},
    [LEG_DENSITY] = {"leg_density", BE_PARAM_FLOAT, 1.0, DENSITY_MIN, DENSITY_MAX, NULL,
                     "of all parts of the legs, kg/m^2"},
    {0},
};

/* ---- the world ------------------------------------------------------------------------------------ */

/* A lane's ground. */
typedef struct course {
    const double *height;
    const vec2 (*polygon)[4];
    float friction;
} course;

static shape course_shape(const world *w, int index) {
    const course *c = w->terrain;
    if (index >= EDGES) return shape_hull(c->polygon[index - EDGES], 4);
    const vec2 a = {(float)(index * STEP_LENGTH), (float)c->height[index]};
    const vec2 b = {(float)((index + 1) * STEP_LENGTH), (float)c->height[index + 1]};
    return (shape){.count = 2, .corner = {a, b}};
}

static float course_friction(const world *w, int index) {
    (void)index;
    return ((const course *)w->terrain)->friction;
}

static plan the_plan;
static pthread_once_t planned = PTHREAD_ONCE_INIT;

static void add_part(plan *p, int index, shape s, float friction) {
    p->shape[index] = s;
    p->friction[index] = friction;
}

static void make_plan(void) {
    static const int outline[5][2] = {{-30, 9}, {6, 9}, {34, 1}, {34, -8}, {-30, -8}};
    plan *p = &the_plan;
    vec2 corners[5];
    for (int i = 0; i < 5; i++) corners[i] = (vec2){(float)(outline[i][0] / SCALE), (float)(outline[i][1] / SCALE)};
    p->bodies = BODIES;
    p->joints = JOINTS;
    p->ground = course_shape;
    p->ground_friction = course_friction;
    add_part(p, HULL, shape_hull(corners, 5), 0.1f);
    const float half_leg = (float)(LEG_HEIGHT / 2);
    for (int side = 0; side < 2; side++) {
        add_part(p, LEFT_LEG + 2 * side, shape_box((float)(LEG_WIDTH / 2), half_leg), 0.2f);
        add_part(p, LEFT_FOOT + 2 * side, shape_box((float)(0.8 * LEG_WIDTH / 2), half_leg), 0.2f);
    }
    for (int j = 0; j < JOINTS; j++) {
        const int knee = joint_a[j] != HULL;
        const float side = (float)(joint_b[j] >= RIGHT_LEG ? 0.05 : -0.05);
        const joint_plan joint = {
            .a = joint_a[j],
            .b = joint_b[j],
            .anchor_a = {0.0f, (float)(knee ? -LEG_HEIGHT / 2 : LEG_DOWN)},
            .anchor_b = {0.0f, half_leg},
            .lower = (float)(knee ? -1.6 : -0.8),
            .upper = (float)(knee ? -0.1 : 1.1),
        };
        plan_joint(p, j, joint, knee ? side : 0.0f, side);
    }
}

static int prepare(be_setup *setup, be_error *error) {
    (void)error;
    pthread_once(&planned, make_plan);
    double density[BODIES];
    for (int b = 0; b < BODIES; b++) density[b] = setup->params[b == HULL ? HULL_DENSITY : LEG_DENSITY];
    prepare_masses(&the_plan, density, setup->constants);
    const double pi = 3.141592653589793;
    double high[SIZE] = {pi, 5, 5, 5, pi, 5, pi, 5, 5, pi, 5, pi, 5, 5}, low[SIZE];
    for (int j = 14; j < SIZE; j++) high[j] = 1;
    for (int j = 0; j < SIZE; j++) low[j] = j == 8 || j == 13 ? -0.0 : -high[j];
    be_space_box_f32(&setup->space[OBSERVATION], SIZE, low, high);
    return BE_OK;
}

static int32_t *status_of(const be_batch *batch, int64_t i) {
    return (int32_t *)batch->state[STATUS] + i * STATUS_INTS;
}

static lane_fields fields_of(const be_batch *batch, int64_t i) {
    static const int feet[2] = {LEFT_FOOT, RIGHT_FOOT};
    lane_fields fields = world_fields(batch, i, &the_plan, MAX_CONTACTS);
    fields.touches = status_of(batch, i) + TOUCHES;
    fields.over = status_of(batch, i) + OVER;
    fields.touching = feet;
    return fields;
}

static int32_t *leaves_of(const be_batch *batch, int64_t i) { return (int32_t *)batch->state[LEAF] + i * LEAVES; }

static course course_of(const be_batch *batch, int64_t i) {
    return (course){(const double *)batch->state[TERRAIN] + i * (LENGTH + CLOUD_DRAWS),
                    (const vec2(*)[4])((const float *)batch->state[POLYGON] + i * POLYGONS_MAX * 8),
                    (float)be_param_of(batch, FRICTION, i)};
}

static tree tree_of(const be_batch *batch, int64_t i) {
    return (tree){(box *)((float *)batch->state[NODE_BOX] + i * TREE_NODES * 4),
                  (links *)((int32_t *)batch->state[NODE_LINKS] + i * TREE_NODES * LINKS_INTS),
                  (tree_ends *)(status_of(batch, i) + ENDS)};
}

/* The lanes that step together. */
typedef struct group {
    int count;
    int64_t lane[SOLVER_LANES];
    course course[SOLVER_LANES];
    tree tree[SOLVER_LANES];
    world world[SOLVER_LANES];
    solver solver;
} group;

static void complete(const be_batch *batch, group *g, int k) {
    const int64_t i = g->lane[k];
    world *w = &g->world[k];
    g->course[k] = course_of(batch, i);
    g->tree[k] = tree_of(batch, i);
    w->terrain = &g->course[k];
    w->tree = &g->tree[k];
    w->leaf = leaves_of(batch, i);
    w->grounds = EDGES + status_of(batch, i)[POLYGON_COUNT];
    put_masses(batch, i, w);
}

static double fastest(const be_batch *batch, int64_t i, int action) {
    return be_param_of(batch, action % 2 ? SPEED_KNEE : SPEED_HIP, i);
}

/* ---- lidar ---------------------------------------------------------------------------------------- */

typedef struct ray {
    vec2 from, way;
} ray;

/* The fraction of a ray at which it meets an edge, if that is not beyond `most`; else `most`. */
static float ray_to_edge(const ray *r, vec2 a, vec2 b, float most) {
    const vec2 along = sub(b, a);
    vec2 normal = right_of(along);
    normalize(&normal);
    const float numerator = dot(normal, sub(a, r->from)), denominator = dot(normal, r->way);
    if (denominator == 0.0f) return most;
    const float t = numerator / denominator;
    if (t < 0.0f || most < t) return most;
    const float rr = dot(along, along);
    if (rr == 0.0f) return most;
    const float s = dot(sub(add(r->from, scale(t, r->way)), a), along) / rr;
    return s < 0.0f || 1.0f < s ? most : t;
}

static float ray_to_polygon(const ray *r, const shape *p, float most) {
    float low = 0.0f, high = most;
    int inside = 1;
    for (int i = 0; i < p->count; i++) {
        const float numerator = dot(p->normal[i], sub(p->corner[i], r->from));
        const float denominator = dot(p->normal[i], r->way);
        if (denominator == 0.0f) {
            if (numerator < 0.0f) return most;
        } else if (denominator < 0.0f && numerator < low * denominator) {
            low = numerator / denominator;
            inside = 0;
        } else if (denominator > 0.0f && numerator < high * denominator) {
            high = numerator / denominator;
        }
        if (high < low) return most;
    }
    return inside ? most : low;
}

static void look(const world *w, float out[RAYS]) {
    const course *c = w->terrain;
    const vec2 from = w->body[HULL].s.xf.p;
    for (int k = 0; k < RAYS; k++) {
        const vec2 to = {(float)(from.x + be_math.sin(1.5 * k / 10.0) * LIDAR_RANGE),
                         (float)(from.y - be_math.cos(1.5 * k / 10.0) * LIDAR_RANGE)};
        const ray r = {from, sub(to, from)};
        float nearest = 1.0f;
        /* Edge i is between i and i + 1 steps; one more on both sides, since coordinates are rounded. */
        const int first = (int)clamp_f(floorf((float)(from.x / STEP_LENGTH)) - 1.0f, 0.0f, (float)EDGES);
        const int last = (int)clamp_f(floorf((float)(to.x / STEP_LENGTH)) + 1.0f, -1.0f, (float)(EDGES - 1));
        for (int i = first; i <= last; i++) {
            const vec2 a = {(float)(i * STEP_LENGTH), (float)c->height[i]};
            const vec2 b = {(float)((i + 1) * STEP_LENGTH), (float)c->height[i + 1]};
            nearest = ray_to_edge(&r, a, b, nearest);
        }
        for (int i = 0; i < w->grounds - EDGES; i++) {
            const vec2 *corner = c->polygon[i];
            float low = corner[0].x, high = corner[0].x;
            for (int j = 1; j < 4; j++) {
                low = min_f(low, corner[j].x);
                high = max_f(high, corner[j].x);
            }
            if (high < from.x - 1.0f || low > to.x + 1.0f) continue;
            const shape polygon = shape_hull(corner, 4);
            nearest = ray_to_polygon(&r, &polygon, nearest);
        }
        out[k] = nearest;
    }
}

/* ---- steps ---------------------------------------------------------------------------------------- */

static void measure(const be_batch *batch, int64_t i, float *row) {
    const body_state *b = (const body_state *)((const float *)batch->state[BODY] + i * BODIES * BODY_FLOATS);
    const body_state *hull = &b[HULL];
    const int32_t *touches = status_of(batch, i) + TOUCHES;
    row[0] = hull->a;
    row[1] = (float)(2.0 * hull->w / FRAMES);
    row[2] = (float)(0.3 * hull->v.x * (600 / SCALE) / FRAMES);
    row[3] = (float)(0.3 * hull->v.y * (400 / SCALE) / FRAMES);
    for (int k = 0; k < JOINTS; k++) {
        const joint_plan *p = &the_plan.joint[of_action[k]];
        const float angle = b[p->b].a - b[p->a].a - p->reference, speed = b[p->b].w - b[p->a].w;
        const int knee = k % 2;
        float *out = row + (k < 2 ? 4 : 9) + 2 * knee;
        out[0] = knee ? (float)(angle + 1.0) : angle;
        out[1] = (float)(speed / fastest(batch, i, k));
    }
    row[8] = (float)touches[0];
    row[13] = (float)touches[1];
    memcpy(row + 14, (const float *)batch->state[LIDAR] + i * RAYS, RAYS * sizeof(float));
}

static int observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) {
        measure(batch, lanes[k], BE_ROW(float, rows->port[OBSERVATION], rows, lanes[k], SIZE));
    }
    return BE_OK;
}

static float strength(float action) { return clamp_f(fabsf(action), 0.0f, 1.0f); }

/* One step of the worlds that have been loaded into a group. */
static int step_group(be_batch *batch, group *g, be_error *error) {
    solver_begin(&g->solver, &the_plan);
    for (int k = 0; k < g->count; k++) {
        collide(&g->world[k]);
        solver_put(&g->solver, k, &g->world[k], -10.0f);
    }
    solver_run(&g->solver, BODIES, JOINTS, joint_a, joint_b);
    for (int k = 0; k < g->count; k++) solver_get(&g->solver, k, &g->world[k]);
    for (int k = 0; k < g->count; k++) {
        const int64_t i = g->lane[k];
        world *w = &g->world[k];
        solve_positions(w);
        solve_impacts(w, &g->solver);
        if (w->full) {
            return be_fail(error, BE_ERROR_ENGINE, i, "lane %lld has more than %d contacts", (long long)i,
                           MAX_CONTACTS);
        }
        look(w, (float *)batch->state[LIDAR] + i * RAYS);
        const lane_fields fields = fields_of(batch, i);
        world_store(w, &fields);
    }
    return BE_OK;
}

static double shaping_of(const be_batch *batch, int64_t i) {
    const body_state *hull = (const body_state *)((const float *)batch->state[BODY] + i * BODIES * BODY_FLOATS);
    return 130 * (double)hull->xf.p.x / SCALE - 5.0 * fabs((double)hull->a);
}

static double reward_of(be_batch *batch, int64_t i, const float *action, uint8_t *terminated) {
    const body_state *hull = (const body_state *)((const float *)batch->state[BODY] + i * BODIES * BODY_FLOATS);
    double *last = (double *)batch->state[SHAPING] + i;
    const double shaping = shaping_of(batch, i);
    float reward = (float)(shaping - *last); /* NumPy computes in float32 from the first cost on */
    *last = shaping;
    const float price = (float)(0.00035 * be_param_of(batch, MOTORS_TORQUE, i));
    for (int j = 0; j < JOINTS; j++) reward -= price * strength(action[j]);
    const int over = status_of(batch, i)[OVER] || hull->xf.p.x < 0;
    *terminated = over || hull->xf.p.x > (LENGTH - 10) * STEP_LENGTH;
    return over ? -100.0 : (double)reward;
}

static int step(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    group *g = workspace(sizeof *g, error);
    if (g == NULL) return (int)error->status;
    const float *actions = rows->port[ACTION];
    for (int64_t from = begin; from < end; from += SOLVER_LANES) {
        g->count = 0;
        for (int64_t i = from; i < from + SOLVER_LANES && i < end; i++) {
            rows->terminated[i - begin] = 0;
            if (rows->skip[i - begin]) continue;
            const int k = g->count++;
            world *w = &g->world[k];
            g->lane[k] = i;
            const lane_fields fields = fields_of(batch, i);
            world_load(w, &the_plan, &fields);
            complete(batch, g, k);
            for (int j = 0; j < JOINTS; j++) {
                const float action = actions[JOINTS * (i - begin) + j];
                const float speed = (float)fastest(batch, i, j);
                w->motor_speed[of_action[j]] = action > 0 ? speed : action < 0 ? -speed : 0.0f;
                w->max_torque[of_action[j]] = (float)be_param_of(batch, MOTORS_TORQUE, i) * strength(action);
            }
        }
        if (g->count == 0) continue;
        const int result = step_group(batch, g, error);
        if (result != BE_OK) return result;
        for (int k = 0; k < g->count; k++) {
            const int64_t i = g->lane[k];
            measure(batch, i, BE_ROW(float, rows->port[OBSERVATION], rows, i, SIZE));
            rows->reward[i - begin] = reward_of(batch, i, actions + JOINTS * (i - begin), &rows->terminated[i - begin]);
        }
    }
    return BE_OK;
}

/* ---- reset ---------------------------------------------------------------------------------------- */

static void add_polygon(vec2 (*polygons)[4], int32_t *count, double x1, double y1, double x2, double y2) {
    if (*count == POLYGONS_MAX) return; /* there are 36 at most */
    vec2 *p = polygons[(*count)++];
    p[0] = (vec2){(float)x1, (float)y1};
    p[1] = (vec2){(float)x2, (float)y1};
    p[2] = (vec2){(float)x2, (float)y2};
    p[3] = (vec2){(float)x1, (float)y2};
}

/* Makes the ground and draws the random numbers of the clouds, which are seen in pictures only. Returns the number of
 * polygons. */
static int32_t make_course(be_rng *rng, int hardcore, double *height, vec2 (*polygons)[4]) {
    enum { GRASS, STUMP, STAIRS, PIT, STATES };
    const double t = STEP_LENGTH;
    int64_t kind = GRASS, counter = 20, steps = 0, width = 0, rise = 0;
    int begins = 0;
    int32_t count = 0;
    double slope = 0.0, y = GROUND_Y, original = 0;
    for (int i = 0; i < LENGTH; i++) {
        const double x = i * t;
        if (kind == GRASS && !begins) {
            const double below = GROUND_Y - y;
            slope = 0.8 * slope + 0.01 * (below > 0 ? 1.0 : below < 0 ? -1.0 : 0.0);
            if (i > 20) slope += be_rng_uniform(rng, -1, 1) / SCALE;
            y += slope;
        } else if (kind == PIT && begins) {
            counter = be_rng_integers(rng, 3, 5);
            add_polygon(polygons, &count, x, y, x + t, y - 4 * t);
            const double shift = t * (double)counter;
            add_polygon(polygons, &count, x + shift, y, x + t + shift, y - 4 * t);
            counter += 2;
            original = y;
        } else if (kind == PIT) {
            y = original;
            if (counter > 1) y -= 4 * t;
        } else if (kind == STUMP && begins) {
            counter = be_rng_integers(rng, 1, 3);
            const double size = (double)counter * t;
            add_polygon(polygons, &count, x, y, x + size, y + size);
        } else if (kind == STAIRS && begins) {
            rise = be_rng_double(rng) > 0.5 ? 1 : -1;
            width = be_rng_integers(rng, 4, 5);
            steps = be_rng_integers(rng, 3, 5);
            original = y;
            for (int64_t s = 0; s < steps; s++) {
                add_polygon(polygons, &count, x + (double)(s * width) * t, y + (double)(s * rise) * t,
                            x + (double)((1 + s) * width) * t, y + (double)(-1 + s * rise) * t);
            }
            counter = steps * width;
        } else if (kind == STAIRS) {
            const double n = (double)(steps * width - counter - rise) / (double)width;
            y = original + n * (double)rise * t;
        }
        begins = 0;
        height[i] = y;
        if (--counter == 0) {
            counter = be_rng_integers(rng, 5, 10);
            kind = kind == GRASS && hardcore ? be_rng_integers(rng, 1, STATES) : GRASS;
            begins = 1;
        }
    }
    for (int k = 0; k < CLOUD_DRAWS; k++) height[LENGTH + k] = be_rng_double(rng);
    return count;
}

/* Ends the last episode's world and begins a new one. Nodes of the tree are given back and taken in Gymnasium's order.
 */
static void begin_episode(be_batch *batch, group *g, int k) {
    const int64_t i = g->lane[k];
    be_rng *rng = &batch->rng[i];
    world *w = &g->world[k];
    int32_t *status = status_of(batch, i), *leaf = leaves_of(batch, i);
    const tree t = tree_of(batch, i);
    const int built = t.ends->fresh > 0;
    if (!built || batch->params[FRESH_WORLD] != 0) {
        tree_clear(&t);
    } else {
        for (int e = EDGES; e-- > 0;) tree_delete(&t, leaf[BODIES + e]);
        for (int p = status[POLYGON_COUNT]; p-- > 0;) tree_delete(&t, leaf[BODIES + EDGES + p]);
        for (int b = 0; b < BODIES; b++) tree_delete(&t, leaf[b]);
    }
    for (int n = 0; n < LEAVES; n++) leaf[n] = NO_NODE;
    status[TOUCHES] = status[TOUCHES + 1] = status[OVER] = 0;
    status[POLYGON_COUNT] =
        make_course(rng, batch->params[HARDCORE] != 0, (double *)batch->state[TERRAIN] + i * (LENGTH + CLOUD_DRAWS),
                    (vec2(*)[4])((float *)batch->state[POLYGON] + i * POLYGONS_MAX * 8));
    world_clear(w, &the_plan);
    complete(batch, g, k);
    for (int n = 0; n < w->grounds; n++) { /* polygons first */
        const int index = n < status[POLYGON_COUNT] ? EDGES + n : n - status[POLYGON_COUNT];
        const transform nowhere = {{0.0f, 0.0f}, {0.0f, 1.0f}};
        const shape s = course_shape(w, index);
        leaf[BODIES + index] = tree_add(&t, with_margin(box_around(&s, &nowhere)), BODIES + index);
    }
    const double push = be_param_of(batch, INITIAL_RANDOM, i);
    const double x = STEP_LENGTH * 20 / 2, y = GROUND_Y + 2 * LEG_HEIGHT;
    for (int b = 0; b < BODIES; b++) {
        const int foot = b == LEFT_FOOT || b == RIGHT_FOOT;
        const double down = foot ? y - LEG_HEIGHT * 3 / 2 - LEG_DOWN : y - LEG_HEIGHT / 2 - LEG_DOWN;
        const double angle = b >= RIGHT_LEG ? 0.05 : -0.05;
        world_add_body(w, b, (float)x, (float)(b == HULL ? y : down), b == HULL ? 0.0f : (float)angle);
        leaf[b] = tree_add(&t, w->body[b].s.box, b);
    }
    w->body[HULL].force.x = (float)be_rng_uniform(rng, -push, push);
    find_contacts(w);
}

/* A reset ends with a step without torques, whose observation is the first. */
static int reset(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    group *g = workspace(sizeof *g, error);
    if (g == NULL) return (int)error->status;
    for (int64_t from = 0; from < count; from += SOLVER_LANES) {
        g->count = 0;
        for (int64_t n = from; n < from + SOLVER_LANES && n < count; n++) {
            const int k = g->count++;
            g->lane[k] = lanes[n];
            begin_episode(batch, g, k);
        }
        const int result = step_group(batch, g, error);
        if (result != BE_OK) return result;
        for (int k = 0; k < g->count; k++) {
            ((double *)batch->state[SHAPING])[g->lane[k]] = shaping_of(batch, g->lane[k]);
        }
    }
    return observe(batch, lanes, count, rows, error);
}

static int check_state(const be_batch *batch, const void *const *columns, int64_t count, be_error *error) {
    (void)batch;
    for (int64_t i = 0; i < count; i++) {
        const int32_t *status = (const int32_t *)columns[STATUS] + i * STATUS_INTS;
        const int32_t *leaf = (const int32_t *)columns[LEAF] + i * LEAVES;
        const int32_t *pair = (const int32_t *)columns[PAIR] + i * MAX_CONTACTS;
        const int contacts = ((const int32_t *)columns[CONTACTS])[i];
        tree_ends ends;
        memcpy(&ends, status + ENDS, sizeof ends);
        int sound = ends.fresh > 0 && status[POLYGON_COUNT] >= 0 && status[POLYGON_COUNT] <= POLYGONS_MAX;
        for (int k = 0; k < 3; k++) sound &= status[k] == 0 || status[k] == 1;
        if (sound) {
            const int leaves = BODIES + EDGES + status[POLYGON_COUNT];
            for (int n = 0; n < LEAVES; n++) sound &= (leaf[n] != NO_NODE) == (n < leaves);
            for (int k = 0; k < contacts; k++) sound &= pair[k] < leaves * BODIES - BODIES * BODIES;
            sound &= tree_is_sound((const links *)((const int32_t *)columns[NODE_LINKS] + i * TREE_NODES * LINKS_INTS),
                                   &ends, leaf, leaves);
        }
        if (!sound) return be_fail(error, BE_ERROR_VALUE, i, "the world of lane %lld is damaged", (long long)i);
        const int paired = check_pairs(pair, contacts, i, error);
        if (paired != BE_OK) return paired;
    }
    return BE_OK;
}

static const be_id ids[] = {
    {"BipedalWalker-v3", 1600, BE_THRESHOLD(300.0)},
    {"BipedalWalkerHardcore-v3", 2000, BE_THRESHOLD(300.0), {{"hardcore", 1}}},
    {0},
};

BE_ENV(bipedal_walker) = {
    .abi = BE_ABI,
    .name = "BipedalWalker",
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
