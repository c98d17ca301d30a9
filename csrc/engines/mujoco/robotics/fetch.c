/* Fetch-v4: an arm whose gripper actions move, to a place, or so that a block or a puck gets there. The grip's place
 * when the arm is in position, and the height of the object there, are the view's init_numbers. */
#include "engines/mujoco/robotics/mocap_arm.h"
#include "engines/mujoco/robotics/rotations.h"

/* What a task is. */
typedef struct fetch {
    int object;                      /* 1: there is one, whose place counts */
    int grips;                       /* 1: actions open and close the gripper, which otherwise stays closed */
    int in_air;                      /* 1: goals of objects may be in the air */
    double object_range, goal_range; /* how far from the grip they may be along an axis, m */
    double goal_ahead;               /* and how far goals are from there along x */
} fetch;
enum { REACH, PUSH, SLIDE, PICK_AND_PLACE };
static const fetch tasks[] = {
    [REACH] = {.goal_range = 0.15},
    [PUSH] = {.object = 1, .object_range = 0.15, .goal_range = 0.15},
    [SLIDE] = {.object = 1, .object_range = 0.1, .goal_range = 0.3, .goal_ahead = 0.4},
    [PICK_AND_PLACE] = {.object = 1, .grips = 1, .in_air = 1, .object_range = 0.15, .goal_range = 0.15},
};
static const fetch *task_of(const be_batch *b) { return &tasks[b->type->variant / MJ_OWN]; }

enum { REWARD = MJ_PARAMS };
enum { SPARSE, DENSE };
static const char *const rewards[] = {"sparse", "dense", NULL};
static const be_param params[] = {
    MJ_SHARED_PARAMS(20),
    [REWARD] = {"reward_type", BE_PARAM_CHOICE, SPARSE, 0, 0, rewards,
                "'sparse': 0 within 0.05 m of the goal, and else -1; 'dense': -distance"},
    {0},
};
#define NEAR 0.05 /* how close to the goal is a success, m */

enum { UNSTABLE = MJ_PORTS, GOAL, SUCCESS = GOAL + GOAL_PORTS };
static const be_port ports[] = {
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    GOAL_SHARED_PORTS(GOAL),
    [SUCCESS] = MJ_INFO_STEP_F32("is_success", "1 if the goal is within 0.05 m, and else 0"),
    {0},
};

enum { PLACE = MJ_FIELDS };
static const be_field state[] = {
    MJ_SHARED_STATE,
    [PLACE] = {"goal", BE_F64, 3, "where the goal is: x, y, z"},
    {0},
};

enum {
    HAND,
    HAND_QUAT,
    AXES,
    GRIP,
    ARM_CENTRE,
    ARM_JOINTS,
    LEFT,
    RIGHT,
    LEFT_SPEED,
    RIGHT_SPEED,
    OBJECT,
    OBJECT_FRAME,
    OBJECT_CENTRE,
    OBJECT_JOINT,
    OBJECT_PLACE
};
#define READS                                                                                                          \
    [HAND] = {"xpos", "body", "robot0:gripper_link"}, [HAND_QUAT] = {"xquat", "body", "robot0:gripper_link"},          \
    [AXES] = {"cdof"}, [GRIP] = {"site_xpos", "site", "robot0:grip"},                                                  \
    [ARM_CENTRE] = {"subtree_com", "body", "robot0:base_link"},                                                        \
    [ARM_JOINTS] = {"qvel", "joint", "robot0:(slide[0-2]|(torso|shoulder|upperarm|elbow|forearm|wrist)_.*)"},          \
    [LEFT] = {"qpos", "joint", "robot0:l_gripper_finger_joint"},                                                       \
    [RIGHT] = {"qpos", "joint", "robot0:r_gripper_finger_joint"},                                                      \
    [LEFT_SPEED] = {"qvel", "joint", "robot0:l_gripper_finger_joint"},                                                 \
    [RIGHT_SPEED] = {"qvel", "joint", "robot0:r_gripper_finger_joint"}
static const be_read reads[] = {READS, {0}};
static const be_read object_reads[] = {
    READS,
    [OBJECT] = {"site_xpos", "site", "object0"},
    [OBJECT_FRAME] = {"site_xmat", "site", "object0"},
    [OBJECT_CENTRE] = {"subtree_com", "body", "object0"},
    [OBJECT_JOINT] = {"qvel", "joint", "object0:joint"},
    [OBJECT_PLACE] = {"qpos", "joint", "object0:joint"},
    {0},
};
static const mocap_motion grip_motion = {ARM_JOINTS, ARM_CENTRE, GRIP};
static const mocap_motion object_motion = {OBJECT_JOINT, OBJECT_CENTRE, OBJECT};

static int prepare(be_setup *setup, const fetch *f, be_error *error) {
    const be_mujoco_view *view = setup->engine;
    if (view->num_mocap != 1 || view->num_qvel > MOCAP_MOST_SPEEDS || view->num_ctrl != 2 * f->grips)
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "the XML's model has %lld mocap bodies, %lld velocities and %lld actuators: there must be one "
                       "mocap body, %d actuators, and %d velocities at most",
                       (long long)view->num_mocap, (long long)view->num_qvel, (long long)view->num_ctrl, 2 * f->grips,
                       MOCAP_MOST_SPEEDS);
    const int status = be_mujoco_spaces_of_actions(setup, f->object ? 25 : 10, 2, 2, 4, -1, 1, error);
    if (status == BE_OK) goal_spaces(setup, GOAL, 3);
    return status;
}

/* ---- steps ---------------------------------------------------------------------------------------------- */

/* The fourth number of an action says how far fingers are to move from where they are. */
static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    mocap_move(b, lane, be_mujoco_read_of(b, lane, HAND), be_mujoco_read_of(b, lane, HAND_QUAT), action);
    if (!task_of(b)->grips) return;
    controls[0] = be_mujoco_read_of(b, lane, LEFT)[0] + (double)action[3];
    controls[1] = be_mujoco_read_of(b, lane, RIGHT)[0] + (double)action[3];
}

/* A gripper that stays closed is closed after each step. */
static void close(const be_batch *b, int64_t lane, double *qpos) {
    (void)lane;
    qpos[be_mujoco_of(b)->reads[LEFT].first[0]] = 0;
    qpos[be_mujoco_of(b)->reads[RIGHT].first[0]] = 0;
}
static int open(be_batch *b, const void *engine, be_error *error) {
    return task_of(b)->grips ? be_mujoco_open(b, engine, error) : be_mujoco_open_pinning(b, engine, close, error);
}

static const double *achieved_of(const be_batch *b, int64_t lane) {
    return be_mujoco_read_of(b, lane, task_of(b)->object ? OBJECT : GRIP);
}

static void write_observation(const be_batch *b, int64_t lane, const be_rows *rows) {
    const double *grip = be_mujoco_read_of(b, lane, GRIP), dt = be_mujoco_dt(b);
    const double fingers[] = {be_mujoco_read_of(b, lane, RIGHT)[0], be_mujoco_read_of(b, lane, LEFT)[0]};
    const double speeds[] = {be_mujoco_read_of(b, lane, RIGHT_SPEED)[0] * dt,
                             be_mujoco_read_of(b, lane, LEFT_SPEED)[0] * dt};
    double velocity[3], *row = be_append(MJ_OBSERVATION(b, rows, lane), grip, 3);
    mocap_velocity(b, lane, &grip_motion, AXES, velocity, NULL);
    if (task_of(b)->object) {
        const double *object = be_mujoco_read_of(b, lane, OBJECT);
        double away[3], euler[3], linear[3], angular[3];
        rotation_euler_of_matrix(be_mujoco_read_of(b, lane, OBJECT_FRAME), euler);
        mocap_velocity(b, lane, &object_motion, AXES, linear, angular);
        for (int k = 0; k < 3; k++) away[k] = object[k] - grip[k];
        for (int k = 0; k < 3; k++) linear[k] -= velocity[k];
        row = be_append(be_append(row, object, 3), away, 3);
        row = be_append(be_append(row, fingers, 2), euler, 3);
        row = be_append(be_append(row, linear, 3), angular, 3);
    } else {
        row = be_append(row, fingers, 2);
    }
    (void)be_append(be_append(row, velocity, 3), speeds, 2);
    goal_write(rows, lane, GOAL, achieved_of(b, lane), MJ_FIELD(b, PLACE, double, lane), 3);
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    write_observation(b, lane, rows);
    const double distance = goal_distance_along_axis(achieved_of(b, lane), MJ_FIELD(b, PLACE, double, lane), 3);
    const int dense = be_param_of(b, REWARD, lane) == DENSE;
    rows->reward[lane - rows->first] = -(dense ? distance : (double)(distance > NEAR)); /* -0 at the goal */
    rows->terminated[lane - rows->first] = 0;
    MJ_INFO_F32(rows, SUCCESS, lane) = distance < NEAR;
    return BE_OK;
}

/* ---- episodes ------------------------------------------------------------------------------------------- */

/* An object starts 0.1 m or more from the grip. */
static void put_object(be_batch *b, int64_t lane, const fetch *f, const double *grip) {
    double *place = be_mujoco_read_of(b, lane, OBJECT_PLACE), away[2];
    do {
        for (int k = 0; k < 2; k++) {
            place[k] = grip[k] + be_rng_uniform(&b->rng[lane], -f->object_range, f->object_range);
            away[k] = place[k] - grip[k];
        }
    } while (be_norm(away, 2, be_mujoco_of(b)->fused_dot) < 0.1);
}

static void draw_goal(be_batch *b, int64_t lane, const fetch *f, const double *grip, double height) {
    be_rng *rng = &b->rng[lane];
    double *goal = MJ_FIELD(b, PLACE, double, lane);
    for (int k = 0; k < 3; k++) goal[k] = grip[k] + be_rng_uniform(rng, -f->goal_range, f->goal_range);
    if (!f->object) return;
    goal[0] += f->goal_ahead;
    goal[2] = height;
    if (f->in_air && be_rng_double(rng) < 0.5) goal[2] += be_rng_uniform(rng, 0, 0.45);
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    const be_mujoco_view *view = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    const fetch *f = task_of(b);
    const double *grip = view->init_numbers;
    be_mujoco_clear_info(b, lane, rows);
    (void)be_append(arrays[MJ_QPOS], view->init_qpos, view->num_qpos);
    (void)be_append(arrays[MJ_QVEL], view->init_qvel, view->num_qvel);
    if (f->object) put_object(b, lane, f, grip);
    draw_goal(b, lane, f, grip, grip[3]);
    return be_mujoco_begin(b, lane, error);
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) write_observation(b, lanes[k], rows);
    return BE_OK;
}
MJ_RESET(reset, start)

#define FETCH(type, name_, number, reads_)                                                                             \
    static int prepare_##type(be_setup *setup, be_error *error) { return prepare(setup, &tasks[number], error); }      \
    BE_ENV(fetch_##type) = {                                                                                           \
        MJ_MEMBERS_OPENED("Gymnasium-Robotics", open, BE_LANE_BY_LANE),                                                \
        .name = "Fetch" name_,                                                                                         \
        .variant = MJ_OWN * (number),                                                                                  \
        .frames_per_second = 25,                                                                                       \
        .state = state,                                                                                                \
        .params = params,                                                                                              \
        .ports = ports,                                                                                                \
        .reads = reads_,                                                                                               \
        .prepare = prepare_##type,                                                                                     \
        .reset = reset,                                                                                                \
        .observe = observe,                                                                                            \
        .step = step,                                                                                                  \
        .control = control,                                                                                            \
        .ids = (const be_id[]){{"Fetch" name_ "-v4", 50, NULL, {{"reward_type", .text = "sparse"}}},                   \
                               {"Fetch" name_ "Dense-v4", 50, NULL, {{"reward_type", .text = "dense"}}},               \
                               {0}}}
FETCH(reach, "Reach", REACH, reads);
FETCH(push, "Push", PUSH, object_reads);
FETCH(slide, "Slide", SLIDE, object_reads);
FETCH(pick_and_place, "PickAndPlace", PICK_AND_PLACE, object_reads);
