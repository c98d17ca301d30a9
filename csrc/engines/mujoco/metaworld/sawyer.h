/* What Meta-World's tasks have in common: Sawyer, an arm whose hand follows a mocap body, which actions move. A file in
 * metaworld/ has one task: what its object is, how its episodes begin, and the reward. Which goals there are, and in
 * which bounds they are observed, comes from batchenv/envs/mujoco/metaworld.py in the view's init_numbers. Roundings
 * are those of the package's NumPy, so sums are written as they are there. */
#ifndef BE_MUJOCO_SAWYER_H
#define BE_MUJOCO_SAWYER_H

#include "engines/mujoco/gymnasium.h"
#include "engines/mujoco/tolerance.h"

/* ---- tables ------------------------------------------------------------------------------------------- */

/* init_numbers: how many goals there are, how many numbers each has, the bounds in which a goal is observed, and the
 * goals. */
enum { SAWYER_COUNT, SAWYER_SIZE, SAWYER_LOW, SAWYER_HIGH = SAWYER_LOW + 3, SAWYER_GOALS = SAWYER_HIGH + 3 };

enum {
    SAWYER_HIDDEN = MJ_PARAMS,
    SAWYER_TERMINATE,
    SAWYER_TASKS,
    SAWYER_TASK,
    SAWYER_SELECT,
    SAWYER_SAMPLE,
    SAWYER_FIRST,
    SAWYER_EVERY
};
static const char *const sawyer_ways[] = {"random", "pseudorandom", NULL};
#define SAWYER_MOST_TASKS 1000
static const be_param sawyer_params[] = {
    MJ_SHARED_PARAMS(5),
    [SAWYER_HIDDEN] = {"partially_observable", BE_PARAM_BOOL, 0, 0, 1, NULL, "True: zeros are observed as the goal"},
    [SAWYER_TERMINATE] = {"terminate_on_success", BE_PARAM_BOOL, 0, 0, 1, NULL, "True: a success ends the episode",
                          .per_lane = 1},
    [SAWYER_TASKS] = {"num_tasks", BE_PARAM_INT, 0, 0, SAWYER_MOST_TASKS, NULL,
                      "so many zeros end an observation, one of which is a 1 that says which task it is"},
    [SAWYER_TASK] = {"task_idx", BE_PARAM_INT, 0, 0, SAWYER_MOST_TASKS - 1, NULL, "which one is the 1"},
    [SAWYER_SELECT] = {"task_select", BE_PARAM_CHOICE, 0, 0, 0, sawyer_ways,
                       "pseudorandom: a lane takes all its goals, in random order, before one comes again"},
    [SAWYER_SAMPLE] = {"sample_tasks_on_reset", BE_PARAM_BOOL, 1, 0, 1, NULL,
                       "False: episodes keep their goal until the reset option sample_tasks=True", .per_lane = 1},
    [SAWYER_FIRST] = {"goals_first", BE_PARAM_INT, 0, 0, 1e6, NULL, "a lane has this goal and every later one,",
                      .per_lane = 1},
    [SAWYER_EVERY] = {"goals_every", BE_PARAM_INT, 1, 1, 1e6, NULL, "or every second, third, ... one from there on",
                      .per_lane = 1},
    {0},
};

enum { SAWYER_ASKED };
static const be_param sawyer_options[] = {
    [SAWYER_ASKED] = {"sample_tasks", BE_PARAM_BOOL, 0, 0, 1, NULL,
                      "True: the next goal, also with sample_tasks_on_reset=False"},
    {0},
};

enum { SAWYER_UNSTABLE = MJ_PORTS, SAWYER_INFOS };
static const be_port sawyer_ports[] = {
    MJ_SHARED_PORTS,
    [SAWYER_UNSTABLE] = MJ_UNSTABLE_INFO,
    MJ_INFO_STEP("success", "1 if the task is done, and else 0"),
    MJ_INFO_STEP("near_object", "1 if the hand is near the object, and else 0; in some tasks, another number"),
    MJ_INFO_STEP("grasp_success", "1 if the object is held, and else 0; in some tasks, another number"),
    MJ_INFO_STEP("grasp_reward", "how well the object is reached or held"),
    MJ_INFO_STEP("in_place_reward", "how near the object is to the goal: 1 where it is there"),
    MJ_INFO_STEP("obj_to_target", "how far the object is from the goal, m"),
    MJ_INFO_STEP("unscaled_reward", "the reward"),
    {0},
};
typedef struct sawyer_verdict { /* of a step, in the order of the infos */
    double success, near, grasped, grasp, in_place, to_target, reward;
} sawyer_verdict;
enum { SAWYER_NUM_INFOS = 7 };

/* The tip of the hand is between the two fingers. */
enum {
    SAWYER_PLACE = MJ_FIELDS,
    SAWYER_TARGET,
    SAWYER_OBJECT,
    SAWYER_TIP,
    SAWYER_MARK,
    SAWYER_MOCAP,
    SAWYER_FRAME,
    SAWYER_GOAL,
    SAWYER_HAD,
    SAWYER_ORDER
};
enum { SAWYER_FRAME_SIZE = 18, SAWYER_OBSERVATION_SIZE = 39, SAWYER_MOST_ORDERED = 50 };
static const be_field sawyer_state[] = {
    MJ_SHARED_STATE,
    [SAWYER_PLACE] = {"place", BE_F64, 3, "where the body is that belongs to the goal: x, y, z"},
    [SAWYER_TARGET] = {"target", BE_F64, 3, "where the goal is: x, y, z"},
    [SAWYER_OBJECT] = {"object_start", BE_F64, 3, "where the object was when the episode began: x, y, z"},
    [SAWYER_TIP] = {"tip_start", BE_F64, 3, "where the hand's tip was then: x, y, z"},
    [SAWYER_MARK] = {"mark", BE_F64, 3, "what else the task keeps of then"},
    [SAWYER_MOCAP] = {"mocap", BE_F64, 3, "where the body is that the hand follows: x, y, z"},
    [SAWYER_FRAME] = {"frame", BE_F64, SAWYER_FRAME_SIZE, "the observation's part that is of one step before"},
    [SAWYER_GOAL] = {"goal", BE_I64, 1, "which of the goals the episode has"},
    [SAWYER_HAD] = {"goals_had", BE_I64, 1, "how many the lane has taken so far"},
    [SAWYER_ORDER] = {"goal_order", BE_I64, SAWYER_MOST_ORDERED, "pseudorandom: which of its own it takes when"},
    {0},
};

enum { SAWYER_HAND, SAWYER_RIGHT, SAWYER_LEFT, SAWYER_RIGHT_TIP, SAWYER_LEFT_TIP, SAWYER_READS };
#define SAWYER_SHARED_READS                                                                                            \
    [SAWYER_HAND] = {"xpos", "body", "hand"}, [SAWYER_RIGHT] = {"xpos", "body", "rightclaw"},                          \
    [SAWYER_LEFT] = {"xpos", "body", "leftclaw"}, [SAWYER_RIGHT_TIP] = {"site_xpos", "site", "rightEndEffector"},      \
    [SAWYER_LEFT_TIP] = {"site_xpos", "site", "leftEndEffector"}

/* What a task is. */
typedef struct sawyer_task {
    double hand[3];         /* where the hand starts */
    int placed;             /* 1: a goal says where a body of the model is, */
    int place_at;           /* from this one of its numbers on, */
    double place_by[3];     /* to which these are added */
    int waits;              /* steps of the env that follow when the hand is where it starts */
    int squeezed;           /* the row of the object's geom, which is held only between the geoms of the next two */
    int done_held;          /* 1: the task is done only while the object is held */
    double low[3], high[3]; /* where the mocap body may be */
    /* Begins an episode with a goal, when the hand is where it starts, and writes the lane's fields. */
    int (*begin)(be_batch *batch, int64_t lane, const double *goal, be_error *error);
    /* Writes where the object is (3), and its quaternion (4); and the same of a second one, if there is one. They are 0
     * before. */
    void (*object)(const be_batch *batch, int64_t lane, double *row);
    /* seen: the observation; effort: how firmly the hand is to close. */
    void (*judge)(const be_batch *batch, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict);
} sawyer_task;
#define SAWYER_USUAL_BOUNDS .low = {-0.5, 0.40, 0.05}, .high = {0.5, 1, 0.5}
#define SAWYER_DEEP_BOUNDS .low = {-0.5, 0.40, -0.15}, .high = {0.5, 1, 0.5}

/* ---- places ------------------------------------------------------------------------------------------- */

#define SAWYER_FIELD(b, field, lane) MJ_FIELD(b, field, double, lane)

static inline void sawyer_put(const be_batch *b, int64_t lane, int field, const double *place) {
    (void)be_append(SAWYER_FIELD(b, field, lane), place, 3);
}

static inline void sawyer_add(const double *place, double x, double y, double z, double *sum) {
    sum[0] = place[0] + x;
    sum[1] = place[1] + y;
    sum[2] = place[2] + z;
}

static inline double sawyer_distance(const be_batch *b, const double *from, const double *to) {
    const double way[] = {from[0] - to[0], from[1] - to[1], from[2] - to[2]};
    return be_norm(way, 3, be_mujoco_of(b)->fused_dot);
}

/* The same where each axis counts as much as `scale` says. */
static inline double sawyer_scaled_distance(const be_batch *b, const double *from, const double *to,
                                            const double *scale) {
    double way[3];
    for (int k = 0; k < 3; k++) way[k] = (from[k] - to[k]) * scale[k];
    return be_norm(way, 3, be_mujoco_of(b)->fused_dot);
}

static inline void sawyer_tip(const be_batch *b, int64_t lane, double *tip) {
    const double *right = be_mujoco_read_of(b, lane, SAWYER_RIGHT_TIP);
    const double *left = be_mujoco_read_of(b, lane, SAWYER_LEFT_TIP);
    for (int k = 0; k < 3; k++) tip[k] = (right[k] + left[k]) / 2.0;
}

/* What is behind the fingers, with which some objects are pushed, of a place of the hand. */
static inline void sawyer_shoulder(const double *hand, double *shoulder) {
    sawyer_add(hand, 0.0, 0.055, 0.07, shoulder);
}

/* The quaternion of a matrix, as SciPy's Rotation has it: x, y, z, w. */
static __attribute__((unused)) void sawyer_quat(const double *matrix, double *quat) {
    const double trace = matrix[0] + matrix[4] + matrix[8];
    const double sizes[] = {matrix[0], matrix[4], matrix[8], trace};
    int largest = 0;
    for (int k = 1; k < 4; k++) largest = sizes[k] > sizes[largest] ? k : largest;
    if (largest == 3) {
        quat[0] = matrix[7] - matrix[5];
        quat[1] = matrix[2] - matrix[6];
        quat[2] = matrix[3] - matrix[1];
        quat[3] = 1 + trace;
    } else {
        const int i = largest, j = (i + 1) % 3, k = (j + 1) % 3;
        quat[i] = 1 - trace + 2 * matrix[3 * i + i];
        quat[j] = matrix[3 * j + i] + matrix[3 * i + j];
        quat[k] = matrix[3 * k + i] + matrix[3 * i + k];
        quat[3] = matrix[3 * k + j] - matrix[3 * j + k];
    }
    const double length = sqrt(quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3]);
    for (int k = 0; k < 4; k++) quat[k] /= length;
}

/* Puts an object that moves freely somewhere, at rest; its joint is after the arm's nine. */
static __attribute__((unused)) int sawyer_put_object(be_batch *b, int64_t lane, const double *place, be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    (void)be_append(arrays[MJ_QPOS] + 9, place, 3);
    memset(arrays[MJ_QVEL] + 9, 0, 6 * sizeof(double));
    return be_mujoco_evaluate(b, lane, NULL, error);
}

/* Puts the joint of an object that has one number somewhere, at rest; it is after the arm's nine, and has no name. */
static __attribute__((unused)) void sawyer_turn_object(const be_batch *b, int64_t lane, double position) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    arrays[MJ_QPOS][9] = position;
    arrays[MJ_QVEL][9] = 0;
}

/* ---- rewards ------------------------------------------------------------------------------------------ */

/* A number of Python's or NumPy's, which decides in what its sums and products are rounded: a float goes along with
 * what it meets. */
typedef enum sawyer_kind { SAWYER_FLOAT, SAWYER_FLOAT32, SAWYER_FLOAT64 } sawyer_kind;
typedef struct sawyer_number {
    double value;
    sawyer_kind kind;
} sawyer_number;
static inline sawyer_number sawyer_float(double value) { return (sawyer_number){value, SAWYER_FLOAT}; }

#define SAWYER_OPERATION(name, operator)                                                                               \
    static inline sawyer_number name(sawyer_number a, sawyer_number b) {                                               \
        const sawyer_kind kind = a.kind > b.kind ? a.kind : b.kind;                                                    \
        if (kind == SAWYER_FLOAT32)                                                                                    \
            return (sawyer_number){(double)(float)((float)a.value operator(float) b.value), kind};                     \
        return (sawyer_number){a.value operator b.value, kind};                                                        \
    }
SAWYER_OPERATION(sawyer_plus, +)
SAWYER_OPERATION(sawyer_minus, -)
SAWYER_OPERATION(sawyer_times, *)
SAWYER_OPERATION(sawyer_over, /)

/* Hamacher's product, of numbers from 0 to 1. */
static inline sawyer_number sawyer_both(sawyer_number a, sawyer_number b) {
    const sawyer_number product = sawyer_times(a, b), sum = sawyer_minus(sawyer_plus(a, b), product);
    return sum.value > 0 ? sawyer_over(product, sum) : sawyer_float(0);
}
static __attribute__((unused)) double sawyer_both_floats(double a, double b) {
    return sawyer_both(sawyer_float(a), sawyer_float(b)).value;
}

/* 1 up to `most`, and less beyond it. */
static inline double sawyer_near(double x, double most, double margin) { return be_long_tail(x, 0, most, margin); }

/* min(max(0, effort), 1), of an action, which is 1 at most. */
static __attribute__((unused)) sawyer_number sawyer_closed(float effort) {
    return effort > 0 ? (sawyer_number){(double)effort, SAWYER_FLOAT32} : sawyer_float(0);
}

/* ---- observations ------------------------------------------------------------------------------------- */

static inline void sawyer_write_frame(const be_batch *b, int64_t lane, const sawyer_task *task, double *frame) {
    const double apart =
        sawyer_distance(b, be_mujoco_read_of(b, lane, SAWYER_RIGHT), be_mujoco_read_of(b, lane, SAWYER_LEFT));
    double *row = be_append(frame, be_mujoco_read_of(b, lane, SAWYER_HAND), 3);
    *row++ = be_clip_one(apart / 0.1, 0.0, 1.0);
    memset(row, 0, 14 * sizeof *row);
    task->object(b, lane, row);
}

/* clipped: 1: the observation is brought within the bounds of its space, as those of steps are, and those of starts are
 * not. */
static inline void sawyer_write(const be_batch *b, int64_t lane, const sawyer_task *task, int clipped, double *row) {
    static const double low[] = {-0.525, 0.348, -0.0525, -1.0}, high[] = {0.525, 1.025, 0.7, 1.0};
    const double *numbers = be_mujoco_of(b)->init_numbers, *target = SAWYER_FIELD(b, SAWYER_TARGET, lane);
    double *before = row + SAWYER_FRAME_SIZE, *goal = before + SAWYER_FRAME_SIZE;
    const int hidden = be_param_of(b, SAWYER_HIDDEN, lane) != 0, tasks = (int)be_param_of(b, SAWYER_TASKS, lane);
    for (int k = 0; k < tasks; k++) goal[3 + k] = 0.0;
    if (tasks) goal[3 + (int)be_param_of(b, SAWYER_TASK, lane)] = 1.0;
    sawyer_write_frame(b, lane, task, row);
    (void)be_append(before, SAWYER_FIELD(b, SAWYER_FRAME, lane), SAWYER_FRAME_SIZE);
    for (int k = 0; k < 3; k++) goal[k] = hidden ? 0.0 : target[k];
    if (!clipped) return;
    for (int k = 0; k < 4; k++) {
        row[k] = be_clip_one(row[k], low[k], high[k]);
        before[k] = be_clip_one(before[k], low[k], high[k]);
    }
    for (int k = 0; k < 3 && !hidden; k++)
        goal[k] = be_clip_one(goal[k], numbers[SAWYER_LOW + k], numbers[SAWYER_HIGH + k]);
}

/* ---- the functions of a type --------------------------------------------------------------------------- */

static void sawyer_keep_positions(const be_batch *b, int64_t lane, double *qpos) { (void)b, (void)lane, (void)qpos; }

/* After each step, all that is read is evaluated anew, as the package does. */
static inline int sawyer_open(be_batch *b, const void *engine, be_error *error) {
    const int status = be_mujoco_open_pinning(b, engine, sawyer_keep_positions, error);
    if (status != BE_OK) return status;
    return be_mujoco_keep_kinds(b, (int64_t)be_mujoco_of(b)->init_numbers[SAWYER_COUNT], error);
}

enum { SAWYER_SCALE }; /* the constant: of a gaussian that is 0.1 at the margin */

static inline int sawyer_prepare(be_setup *setup, be_error *error) {
    const be_mujoco_view *view = setup->engine;
    if (view->num_mocap != 1 || view->num_ctrl != 2)
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "the XML's model has %lld mocap bodies and %lld actuators: there must be 1 and 2",
                       (long long)view->num_mocap, (long long)view->num_ctrl);
    const int64_t tasks = (int64_t)setup->params[SAWYER_TASKS], task = (int64_t)setup->params[SAWYER_TASK];
    if (tasks && task >= tasks)
        return be_fail(error, BE_ERROR_VALUE, -1, "task_idx=%lld must be less than num_tasks=%lld", (long long)task,
                       (long long)tasks);
    setup->constants[SAWYER_SCALE] = be_gaussian_scale();
    return be_mujoco_spaces_of_actions(setup, SAWYER_OBSERVATION_SIZE + tasks, 10, 10, 4, -1, 1, error);
}

static const double sawyer_turn[] = {1, 0, 1, 0};

static inline void sawyer_control(const be_batch *b, int64_t lane, const sawyer_task *task, const float *action,
                                  double *controls) {
    const double *mocap = SAWYER_FIELD(b, SAWYER_MOCAP, lane);
    double *place = be_mujoco_mocap_pos_of(b, lane);
    for (int k = 0; k < 3; k++) {
        place[k] = be_clip_one(mocap[k] + (double)(action[k] * 0.01f), task->low[k], task->high[k]);
    }
    (void)be_append(be_mujoco_mocap_quat_of(b, lane), sawyer_turn, 4);
    controls[0] = (double)action[3];
    controls[1] = -(double)action[3];
}

static inline int sawyer_step(be_batch *b, int64_t lane, const be_rows *rows, const sawyer_task *task,
                              be_error *error) {
    const float effort = BE_ROW(const float, rows->port[MJ_ACTION_PORT], rows, lane, 4)[3];
    double *row = MJ_OBSERVATION(b, rows, lane);
    sawyer_verdict verdict;
    sawyer_write_frame(b, lane, task, SAWYER_FIELD(b, SAWYER_FRAME, lane));
    const int status = be_mujoco_advance(b, lane, rows, SAWYER_UNSTABLE, error);
    if (status != BE_OK) return status;
    sawyer_put(b, lane, SAWYER_MOCAP, be_mujoco_mocap_pos_of(b, lane));
    sawyer_write(b, lane, task, 1, row);
    task->judge(b, lane, row, effort, &verdict);
    if (task->squeezed && verdict.grasped != 0) {
        const be_mujoco_read *reads_of = be_mujoco_of(b)->reads + task->squeezed;
        const int64_t object = reads_of[0].first[0] / 3, pads[] = {reads_of[1].first[0] / 3, reads_of[2].first[0] / 3};
        const int64_t pairs[2][2] = {{pads[0], object}, {pads[1], object}};
        double forces[2];
        const int pressed = be_mujoco_press(b, lane, pairs, 2, forces, error);
        if (pressed != BE_OK) return pressed;
        verdict.grasped = forces[0] > 0 && forces[1] > 0;
    }
    if (task->done_held && verdict.grasped == 0) verdict.success = 0;
    rows->reward[lane - rows->first] = verdict.reward;
    rows->terminated[lane - rows->first] = verdict.success == 1 && be_param_of(b, SAWYER_TERMINATE, lane) != 0;
    const double infos[SAWYER_NUM_INFOS] = {verdict.success,  verdict.near,      verdict.grasped, verdict.grasp,
                                            verdict.in_place, verdict.to_target, verdict.reward};
    for (int k = 0; k < SAWYER_NUM_INFOS; k++) MJ_INFO(rows, SAWYER_INFOS + k, lane) = infos[k];
    return BE_OK;
}

/* Which goal the lane's next episode has, or -1: it cannot have the one that its state says. */
static inline int64_t sawyer_choose(be_batch *b, int64_t lane, const be_rows *rows) {
    const int64_t count = (int64_t)be_mujoco_of(b)->init_numbers[SAWYER_COUNT];
    const int64_t first = (int64_t)be_param_of(b, SAWYER_FIRST, lane);
    const int64_t every = (int64_t)be_param_of(b, SAWYER_EVERY, lane), own = (count - first + every - 1) / every;
    int64_t *goal = MJ_FIELD(b, SAWYER_GOAL, int64_t, lane), *had = MJ_FIELD(b, SAWYER_HAD, int64_t, lane);
    int64_t *order = MJ_FIELD(b, SAWYER_ORDER, int64_t, lane);
    if (own > 0 && (*had == 0 || be_param_of(b, SAWYER_SAMPLE, lane) != 0 || rows->options[SAWYER_ASKED] != 0)) {
        if (be_param_of(b, SAWYER_SELECT, 0) == 0) {
            *goal = first + every * be_rng_choice(&b->rng[lane], own);
        } else {
            if (own > SAWYER_MOST_ORDERED) return -1;
            if (*had < 0) *had = 0; /* a user has set it */
            const int64_t place = *had % own;
            for (int64_t k = 0; *had == 0 && k < own; k++) order[k] = k;
            if (place == 0) be_rng_shuffle(&b->rng[lane], order, own);
            *goal = first + every * order[place];
        }
        (*had)++;
    }
    return own > 0 && *goal >= 0 && *goal < count ? *goal : -1;
}

/* The hand takes 50 steps of the env to where it starts. */
static inline int sawyer_start(be_batch *b, int64_t lane, const be_rows *rows, const sawyer_task *task,
                               be_error *error) {
    static const double open_hand[] = {-1, 1};
    const double *numbers = be_mujoco_of(b)->init_numbers;
    const int64_t chosen = sawyer_choose(b, lane, rows);
    if (chosen < 0)
        return be_fail(error, BE_ERROR_VALUE, lane, "there is no goal %lld for it: see goals_first and the state",
                       (long long)*MJ_FIELD(b, SAWYER_GOAL, int64_t, lane));
    const double *goal = numbers + SAWYER_GOALS + chosen * (int64_t)numbers[SAWYER_SIZE];
    const be_mujoco_approach approach = {(50 + task->waits) * (int64_t)be_param_of(b, MJ_FRAME_SKIP, 0), open_hand,
                                         task->hand, sawyer_turn};
    double *tip = SAWYER_FIELD(b, SAWYER_TIP, lane);
    be_mujoco_clear_info(b, lane, rows);
    for (int field = SAWYER_PLACE; field <= SAWYER_MARK; field++)
        memset(SAWYER_FIELD(b, field, lane), 0, 3 * sizeof(double));
    if (task->placed)
        sawyer_add(goal + task->place_at, task->place_by[0], task->place_by[1], task->place_by[2],
                   SAWYER_FIELD(b, SAWYER_PLACE, lane));
    int status = be_mujoco_begin_alike(b, lane, task->placed ? chosen : 0, &approach, error);
    if (status != BE_OK) return status;
    sawyer_put(b, lane, SAWYER_MOCAP, task->hand);
    sawyer_tip(b, lane, tip);
    status = task->begin(b, lane, goal, error);
    if (status == BE_OK) sawyer_write_frame(b, lane, task, SAWYER_FIELD(b, SAWYER_FRAME, lane));
    return status;
}

/* The ids of a type: the package's, and EnvPool's, whose default it is to hide the goal. */
#define SAWYER_IDS(Name, id)                                                                                           \
    ((const be_id[]){{"Meta-World/" id "-v3", 500, NULL},                                                              \
                     {"MetaWorld/" Name "-v3", 500, NULL, {{"partially_observable", 1}}, .unlisted = 1},               \
                     {0}})

/* A type, of its own
 *     static const sawyer_task task;
 *     static const be_read reads[]; */
#define SAWYER_TYPE(file, Name, id)                                                                                    \
    static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {       \
        (void)error;                                                                                                   \
        for (int64_t k = 0; k < count; k++)                                                                            \
            sawyer_write(b, lanes[k], &task, b->elapsed[lanes[k]] > 0, MJ_OBSERVATION(b, rows, lanes[k]));             \
        return BE_OK;                                                                                                  \
    }                                                                                                                  \
    static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {                                \
        return sawyer_start(b, lane, rows, &task, error);                                                              \
    }                                                                                                                  \
    MJ_RESET(reset, start)                                                                                             \
    static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {                    \
        (void)end;                                                                                                     \
        return sawyer_step(b, lane, rows, &task, error);                                                               \
    }                                                                                                                  \
    static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {                      \
        sawyer_control(b, lane, &task, action, controls);                                                              \
    }                                                                                                                  \
    BE_ENV(sawyer_##file) = {MJ_MEMBERS_OPENED("Meta-World", sawyer_open, BE_LANE_BY_LANE),                            \
                             .name = "Sawyer" Name,                                                                    \
                             .ids = SAWYER_IDS(Name, id),                                                              \
                             .frames_per_second = 80,                                                                  \
                             .state = sawyer_state,                                                                    \
                             .params = sawyer_params,                                                                  \
                             .options = sawyer_options,                                                                \
                             .ports = sawyer_ports,                                                                    \
                             .reads = reads,                                                                           \
                             .prepare = sawyer_prepare,                                                                \
                             .reset = reset,                                                                           \
                             .observe = observe,                                                                       \
                             .step = step,                                                                             \
                             .control = control}

#endif
