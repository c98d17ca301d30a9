/* HandManipulate-v1: a hand turns a block, an egg or a pen in its palm, and may also have to bring it to a place. Where
 * the object can be turned to by quarters of a turn is in the view's init_numbers: 24 quaternions. */
#include "engines/mujoco/robotics/hand.h"
#include "engines/mujoco/robotics/rotations.h"

enum { PARALLEL = 24, PLACE_SIZE = 3, QUAT_SIZE = 4, SIZE = PLACE_SIZE + QUAT_SIZE };

enum { TARGET_PLACE = HAND_PARAMS, TARGET_TURN, DRAWS_PLACE, DRAWS_TURN, TURN_NEAR, IGNORES_Z, TOUCH };
enum { PLACE_IGNORED, PLACE_FIXED, PLACE_RANDOM };
static const char *const places[] = {"ignore", "fixed", "random", NULL};
enum { TURN_IGNORED, TURN_FIXED, TURN_XYZ, TURN_Z, TURN_PARALLEL };
static const char *const turns[] = {"ignore", "fixed", "xyz", "z", "parallel", NULL};
enum { TOUCH_OFF, TOUCH_SENSORDATA, TOUCH_BOOLEAN, TOUCH_LOG };
static const char *const touches[] = {"off", "sensordata", "boolean", "log", NULL};
/* clang-format off */
#define PARAMS(distance, draws_turn, ignores_z)                                                                        \
    HAND_SHARED_PARAMS("-(10 * distance + angle)", distance),                                                          \
    [TARGET_PLACE] = {"target_position", BE_PARAM_CHOICE, PLACE_RANDOM, 0, 0, places,                                  \
                      "where the object is to be: anywhere, where it starts, or at a random place"},                   \
    [TARGET_TURN] = {"target_rotation", BE_PARAM_CHOICE, TURN_XYZ, 0, 0, turns,                                        \
                     "how it is to be turned: anyhow, as at the start, at random around any axis or around z, or so "  \
                     "that its sides are parallel to the hand's but for z"},                                           \
    [DRAWS_PLACE] = {"randomize_initial_position", BE_PARAM_BOOL, 1, 0, 1, NULL,                                       \
                     "objects start at random places", .per_lane = 1},                                                 \
    [DRAWS_TURN] = {"randomize_initial_rotation", BE_PARAM_BOOL, draws_turn, 0, 1, NULL,                               \
                    "objects start turned at random, in the way of target_rotation", .per_lane = 1},                   \
    [TURN_NEAR] = HAND_THRESHOLD("rotation_threshold", 0.1, "how close to the goal's angle is there, rad"),            \
    [IGNORES_Z] = {"ignore_z_target_rotation", BE_PARAM_BOOL, ignores_z, 0, 1, NULL,                                   \
                   "the angle around z does not count"}
#define TOUCH_PARAM                                                                                                    \
    [TOUCH] = {"touch_get_obs", BE_PARAM_CHOICE, TOUCH_SENSORDATA, 0, 0, touches,                                      \
               "what is observed of touch sensors: nothing, forces, whether there is one, or log(1 + force)"}
/* clang-format on */
static const be_param params[] = {PARAMS(0.01, 1, 0), {0}};
static const be_param pen_params[] = {PARAMS(0.05, 0, 1), {0}};
static const be_param touch_params[] = {PARAMS(0.01, 1, 0), TOUCH_PARAM, {0}};
static const be_param pen_touch_params[] = {PARAMS(0.05, 0, 1), TOUCH_PARAM, {0}};

enum { GOAL = MJ_FIELDS };
static const be_field state[] = {
    MJ_SHARED_STATE,
    [GOAL] = {"goal", BE_F64, SIZE, "where the object is to be: x, y, z, and its quaternion"},
    {0},
};

enum { OBJECT = HAND_READS, OBJECT_SPEED, CENTRE, SENSORS };
#define READS                                                                                                          \
    HAND_SHARED_READS, [OBJECT] = {"qpos", "joint", "object:joint"},                                                   \
                       [OBJECT_SPEED] = {"qvel", "joint", "object:joint"},                                             \
                       [CENTRE] = {"site_xpos", "site", "object:center"}
static const be_read reads[] = {READS, {0}};
static const be_read touch_reads[] = {READS, [SENSORS] = {"sensordata", "sensor", ".*robot0:TS_.*"}, {0}};

/* How many touch sensors are observed. */
static int64_t num_touches(const be_mujoco_view *view, double touch) {
    return touch == TOUCH_OFF ? 0 : view->reads[SENSORS].count;
}

static int prepare_with(be_setup *setup, int64_t sensors, be_error *error) {
    const be_mujoco_view *view = setup->engine;
    if (view->reads[OBJECT].size != SIZE)
        return be_fail(error, BE_ERROR_VALUE, -1, "the XML's model needs an object:joint that is a free joint");
    return hand_prepare(setup, SIZE - 1 + sensors, SIZE, error);
}
static int prepare(be_setup *setup, be_error *error) { return prepare_with(setup, 0, error); }
static int prepare_touch(be_setup *setup, be_error *error) {
    return prepare_with(setup, num_touches(setup->engine, setup->params[TOUCH]), error);
}

/* ---- steps ---------------------------------------------------------------------------------------------- */

static double *append_touches(const be_batch *b, int64_t lane, double *row) {
    const double touch = be_param_of(b, TOUCH, lane);
    const int64_t count = num_touches(be_mujoco_of(b), touch);
    for (int64_t k = 0; k < count; k++) {
        const double force = *be_mujoco_read_at(b, lane, SENSORS, k);
        *row++ = touch == TOUCH_BOOLEAN ? force > 0 : touch == TOUCH_LOG ? be_numpy_log(force + 1.0) : force;
    }
    return row;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) {
        const double *object = be_mujoco_read_of(b, lanes[k], OBJECT);
        double *row = hand_append_joints(b, lanes[k], MJ_OBSERVATION(b, rows, lanes[k]));
        row = be_append(row, be_mujoco_read_of(b, lanes[k], OBJECT_SPEED), SIZE - 1);
        row = be_append(row, object, SIZE);
        if (b->type->variant) (void)append_touches(b, lanes[k], row);
        goal_write(rows, lanes[k], HAND_GOAL, object, MJ_FIELD(b, GOAL, double, lanes[k]), SIZE);
    }
    return BE_OK;
}

/* How far the object is from its goal, and by which angle. */
static void measure(const be_batch *b, int64_t lane, double *distance, double *angle) {
    const double *object = be_mujoco_read_of(b, lane, OBJECT), *goal = MJ_FIELD(b, GOAL, double, lane);
    const int placed = be_param_of(b, TARGET_PLACE, lane) != PLACE_IGNORED;
    *distance = placed ? goal_distance_along_axis(object, goal, PLACE_SIZE) : 0;
    *angle = 0;
    if (be_param_of(b, TARGET_TURN, lane) == TURN_IGNORED) return;
    double quat[QUAT_SIZE];
    (void)be_append(quat, object + PLACE_SIZE, QUAT_SIZE);
    if (be_param_of(b, IGNORES_Z, lane) != 0) {
        double euler[3], wanted[3];
        rotation_euler(quat, euler);
        rotation_euler(goal + PLACE_SIZE, wanted);
        euler[2] = wanted[2];
        rotation_of_euler(euler, quat);
    }
    *angle = rotation_angle(quat, goal + PLACE_SIZE);
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    int status = be_mujoco_advance(b, lane, rows, HAND_UNSTABLE, error);
    if (status == BE_OK) status = observe(b, &lane, 1, rows, error);
    if (status != BE_OK) return status;
    double distance, angle;
    measure(b, lane, &distance, &angle);
    const int success = distance < be_param_of(b, HAND_DISTANCE, lane) && angle < be_param_of(b, TURN_NEAR, lane);
    const int dense = be_param_of(b, HAND_REWARD, lane) == HAND_DENSE;
    rows->reward[lane - rows->first] = dense ? -(10.0 * distance + angle) : success - 1.0;
    rows->terminated[lane - rows->first] = 0;
    MJ_INFO_F32(rows, HAND_SUCCESS, lane) = (float)success;
    return BE_OK;
}

/* ---- episodes ------------------------------------------------------------------------------------------- */

/* Draws a rotation of this kind. */
static void draw_turn(const be_batch *b, int64_t lane, int kind, double *quat) {
    const be_mujoco_view *view = be_mujoco_of(b);
    be_rng *rng = &b->rng[lane];
    const double angle = be_rng_uniform(rng, -M_PI, M_PI);
    double axis[] = {0, 0, 1}, around[QUAT_SIZE];
    for (int k = 0; k < 3 && kind != TURN_Z && kind != TURN_PARALLEL; k++) axis[k] = be_rng_uniform(rng, -1, 1);
    rotation_around(axis, angle, view->fused_dot, around);
    if (kind == TURN_PARALLEL) {
        const double *quarters = view->init_numbers + QUAT_SIZE * be_rng_integers(rng, 0, PARALLEL);
        rotation_product(around, quarters, quat);
    } else {
        (void)be_append(quat, around, QUAT_SIZE);
    }
}

/* Begins a try to start an episode: the object falls into the palm. */
static int64_t begin(be_batch *b, int64_t lane, be_error *error) {
    const be_mujoco_view *view = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    (void)be_append(arrays[MJ_QPOS], view->init_qpos, view->num_qpos);
    (void)be_append(arrays[MJ_QVEL], view->init_qvel, view->num_qvel);
    double *place = be_mujoco_read_of(b, lane, OBJECT), *quat = place + PLACE_SIZE, turn[QUAT_SIZE];
    const int kind = (int)be_param_of(b, TARGET_TURN, lane);
    if (be_param_of(b, DRAWS_TURN, lane) != 0 && kind != TURN_FIXED) {
        draw_turn(b, lane, kind, turn);
        rotation_product(quat, turn, quat);
    }
    if (be_param_of(b, DRAWS_PLACE, lane) != 0 && be_param_of(b, TARGET_PLACE, lane) != PLACE_FIXED) {
        for (int k = 0; k < PLACE_SIZE; k++) place[k] += be_rng_normal(&b->rng[lane], 0, 0.005);
    }
    rotation_normalize(quat, QUAT_SIZE, view->fused_dot);
    if (be_mujoco_begin_warm(b, lane, error) != BE_OK) return -1;
    for (int64_t j = 0; j < view->num_ctrl; j++) arrays[MJ_CTRL][j] = hand_target(view, j, 0);
    return 10 * (int64_t)be_param_of(b, MJ_FRAME_SKIP, lane);
}
static int open(be_batch *b, const void *engine, be_error *error) {
    return be_mujoco_open_settling(b, engine, begin, error);
}

static void draw_goal(be_batch *b, int64_t lane) {
    static const double low[] = {-0.04, -0.06, 0.0}, high[] = {0.04, 0.02, 0.06}; /* around the object, m */
    const int kind = (int)be_param_of(b, TARGET_TURN, lane);
    double *goal = be_append(MJ_FIELD(b, GOAL, double, lane), be_mujoco_read_of(b, lane, OBJECT), SIZE) - SIZE;
    for (int k = 0; k < PLACE_SIZE && be_param_of(b, TARGET_PLACE, lane) == PLACE_RANDOM; k++)
        goal[k] += be_rng_uniform(&b->rng[lane], low[k], high[k]);
    if (kind != TURN_IGNORED && kind != TURN_FIXED) draw_turn(b, lane, kind, goal + PLACE_SIZE);
    rotation_normalize(goal + PLACE_SIZE, QUAT_SIZE, be_mujoco_of(b)->fused_dot);
}

/* Objects that have fallen out of the hand start again. */
static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    enum { TRIES = 1000 };
    int tries = 0;
    be_mujoco_clear_info(b, lane, rows);
    do {
        if (tries++ == TRIES)
            return be_fail(error, BE_ERROR_ENGINE, lane, "the object has fallen out of the hand in %d starts", TRIES);
        int status = be_mujoco_settle_on(b, lane, error);
        if (status == BE_OK) status = be_mujoco_evaluate(b, lane, NULL, error);
        if (status != BE_OK) return status;
    } while (!(be_mujoco_read_of(b, lane, CENTRE)[2] > 0.04));
    draw_goal(b, lane);
    return BE_OK;
}
MJ_RESET(reset, start)

/* ---- types ---------------------------------------------------------------------------------------------- */

/* `touch` and `value`: one more setting, or NULL and NULL. */
/* clang-format off */
#define ID(name_, place, turn, reward, touch, value)                                                                   \
    {name_ "-v1", 100, NULL, {{"target_position", .text = place}, {"target_rotation", .text = turn},                   \
                              {"reward_type", .text = reward}, {touch, .text = value}}}
/* clang-format on */
#define IDS_OF(name_, place, turn, touch, value)                                                                       \
    ID(name_, place, turn, "sparse", touch, value), ID(name_ "Dense", place, turn, "dense", touch, value)
#define IDS(name_, place, turn) IDS_OF("HandManipulate" name_, place, turn, NULL, NULL)
#define TOUCH_IDS(name_, place, turn)                                                                                  \
    IDS_OF("HandManipulate" name_ "_BooleanTouchSensors", place, turn, "touch_get_obs", "boolean"),                    \
        IDS_OF("HandManipulate" name_ "_ContinuousTouchSensors", place, turn, "touch_get_obs", "sensordata")

#define HAND(type, name_, touch, params_, ...)                                                                         \
    BE_ENV(hand_##type) = {                                                                                            \
        MJ_MEMBERS_OPENED("Gymnasium-Robotics", open, BE_LANE_BY_LANE),                                                \
        .name = "HandManipulate" name_,                                                                                \
        .variant = MJ_OWN * (touch),                                                                                   \
        .frames_per_second = 25,                                                                                       \
        .state = state,                                                                                                \
        .params = params_,                                                                                             \
        .ports = hand_ports,                                                                                           \
        .reads = (touch) ? touch_reads : reads,                                                                        \
        .prepare = (touch) ? prepare_touch : prepare,                                                                  \
        .reset = reset,                                                                                                \
        .observe = observe,                                                                                            \
        .step = step,                                                                                                  \
        .control = hand_control,                                                                                       \
        .ids = (const be_id[]){__VA_ARGS__, {0}},                                                                      \
    }
HAND(block, "Block", 0, params, IDS("BlockRotateZ", "ignore", "z"), IDS("BlockRotateParallel", "ignore", "parallel"),
     IDS("BlockRotateXYZ", "ignore", "xyz"), IDS("BlockFull", "random", "xyz"), IDS("Block", "random", "xyz"));
HAND(egg, "Egg", 0, params, IDS("EggRotate", "ignore", "xyz"), IDS("EggFull", "random", "xyz"),
     IDS("Egg", "random", "xyz"));
HAND(pen, "Pen", 0, pen_params, IDS("PenRotate", "ignore", "xyz"), IDS("PenFull", "random", "xyz"),
     IDS("Pen", "random", "xyz"));
HAND(block_touch, "BlockTouch", 1, touch_params, TOUCH_IDS("BlockRotateZ", "ignore", "z"),
     TOUCH_IDS("BlockRotateParallel", "ignore", "parallel"), TOUCH_IDS("BlockRotateXYZ", "ignore", "xyz"),
     TOUCH_IDS("Block", "random", "xyz"));
HAND(egg_touch, "EggTouch", 1, touch_params, TOUCH_IDS("EggRotate", "ignore", "xyz"),
     TOUCH_IDS("Egg", "random", "xyz"));
HAND(pen_touch, "PenTouch", 1, pen_touch_params, TOUCH_IDS("PenRotate", "ignore", "xyz"),
     TOUCH_IDS("Pen", "random", "xyz"));
