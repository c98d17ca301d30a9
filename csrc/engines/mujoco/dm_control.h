/* What the tasks of DM Control have in common. A file in dm_control/ has one domain: how its episodes start, what is
 * observed, and the reward. Its type exists three times: with a Dict of observations; for observation="flat", with all
 * of them in a row; and for "pixels", with a picture. Roundings are those of dm_control's NumPy, so sums and powers are
 * written as they are there. */
#ifndef BE_MUJOCO_DM_CONTROL_H
#define BE_MUJOCO_DM_CONTROL_H

#include <math.h>

#include "engines/mujoco/numpy_sums.h"
#include "engines/mujoco/pictures.h"
#include "engines/mujoco/tolerance.h"
#include "mujoco_task.h"
#include "numpy_loops.h"
#include "random_state.h"

/* ---- tables ------------------------------------------------------------------------------------------- */

/* A task that keeps numbers of an episode, such as where its target is, has a table of its own: it begins with
 * DM_SHARED_STATE, and the first of its own rows has the index DM_FIELDS. Models are never written to: they may belong
 * to all lanes. Which of these numbers users see in pictures and in the lanes' models says `shown` in
 * batchenv/envs/mujoco/dm_control.py, and on which of them the physics depends, `acting`. */
enum { DM_STREAM = MJ_FIELDS, DM_FIELDS };
#define DM_SHARED_STATE MJ_SHARED_STATE, BE_RANDOM_STATE_FIELD
static const be_field dm_state[] __attribute__((unused)) = {DM_SHARED_STATE, {0}};

/* The first params. An unstable simulation raises an error, as dm_control's does. */
enum { DM_RAISE = 2 };
#define DM_PARAMS(frame_skip_default) MJ_PARAMS_WITH(frame_skip_default, DM_RAISE)

/* After the observations: */
enum { DM_UNSTABLE, DM_DISCOUNT };
#define DM_INFOS MJ_UNSTABLE_INFO, MJ_INFO_STEP("discount", "0 where the task has ended the episode, else 1"), {0}
static const be_port dm_flat_ports[] __attribute__((unused)) = {MJ_SHARED_PORTS, DM_INFOS};
static const be_port dm_pixels_ports[] __attribute__((unused)) = {MJ_SHARED_PORTS, DM_INFOS};
enum { DM_DICT, DM_FLAT, DM_PIXELS }; /* what is observed */

enum { DM_FREE, DM_BALL, DM_SLIDE, DM_HINGE }; /* mjtJoint */

/* The first row of the reads of tasks that draw positions of joints: {"model.jnt_range"}. */
enum { DM_RANGES };

enum { DM_SCALE }; /* the constant: of a gaussian that is 0.1 at the margin */

#define DM_MOST 1e10 /* the bound of actions without limits: mjMAXVAL */
enum { DM_MOST_PARTS = 16, DM_MOST_NUMBERS = 512, DM_ONE = INT32_MIN };
typedef struct dm_task {
    int parts; /* of an observation */
    /* Writes how many numbers each part has, or DM_ONE where it is a number and no array. */
    void (*sizes)(const be_mujoco_view *view, int64_t *sizes);
    int (*start)(be_batch *batch, int64_t lane, be_error *error);
    void (*observe)(const be_batch *batch, int64_t lane, double *row); /* all parts, one after the other */
    double (*reward)(const be_batch *batch, int64_t lane);
    int64_t settles; /* for how many steps of MuJoCo a lane settles where start() has left it */
    int (*ended)(const be_batch *batch, int64_t lane); /* with a discount of 0; NULL: only by the limit */
    int64_t columns[DM_MOST_PARTS];                    /* of each part that is a matrix; 0 where it is none */
} dm_task;

/* ---- random numbers ----------------------------------------------------------------------------------- */

static inline be_random_state *dm_random(const be_batch *batch, int64_t lane) {
    return (be_random_state *)batch->state[DM_STREAM] + lane;
}

/* Four numbers, divided by their length. */
static inline void dm_draw_quat(be_batch *batch, int64_t lane, double (*draw)(be_random_state *), double *quat) {
    for (int k = 0; k < 4; k++) quat[k] = draw(dm_random(batch, lane));
    const double length = be_norm(quat, 4, be_mujoco_of(batch)->fused_dot);
    for (int k = 0; k < 4; k++) quat[k] /= length;
}

/* suite.utils.randomizers.randomize_limited_and_rotational_joints: a start, or a part of one. */
static __attribute__((unused)) int dm_start_anywhere(be_batch *batch, int64_t lane, be_error *error) {
    (void)error;
    const be_mujoco_view *view = be_mujoco_of(batch);
    const double *range = be_mujoco_read_of(batch, lane, DM_RANGES);
    be_random_state *random = dm_random(batch, lane);
    for (int64_t j = 0; j < view->num_joints; j++, range += 2) {
        double *qpos = be_mujoco_arrays(batch, lane)[MJ_QPOS] + view->joint_qpos[j];
        const int type = view->joint_type[j], limited = view->joint_limited[j];
        if (type == DM_SLIDE || type == DM_HINGE) {
            if (limited) {
                *qpos = be_random_state_uniform(random, range[0], range[1]);
            } else if (type == DM_HINGE) {
                *qpos = be_random_state_uniform(random, -M_PI, M_PI);
            }
        } else if (!limited) { /* the suite has no ball joints with limits */
            if (type == DM_FREE) {
                dm_draw_quat(batch, lane, be_random_state_double, qpos + 3);
            } else {
                dm_draw_quat(batch, lane, be_random_state_normal, qpos);
            }
        }
    }
    return BE_OK;
}

/* Draws a start until nothing touches. dm_control tries for ever. */
static __attribute__((unused)) int dm_start_clear(be_batch *batch, int64_t lane,
                                                  int (*draw)(be_batch *, int64_t, be_error *), be_error *error) {
    enum { TRIES = 1000 }; /* the suite's tasks need 10 on average, or fewer */
    for (int k = 0; k < TRIES; k++) {
        int contacts, status = draw(batch, lane, error);
        if (status == BE_OK) status = be_mujoco_evaluate(batch, lane, &contacts, error);
        if (status != BE_OK || contacts == 0) return status;
    }
    return be_fail(error, BE_ERROR_ENGINE, lane, "no start without contacts was found in %d tries: check the model",
                   TRIES);
}
static __attribute__((unused)) int dm_start_anywhere_clear(be_batch *batch, int64_t lane, be_error *error) {
    return dm_start_clear(batch, lane, dm_start_anywhere, error);
}

/* ---- observations ------------------------------------------------------------------------------------- */

/* Of tasks that show all positions and velocities, and nothing else. */
static const be_port dm_state_ports[]
    __attribute__((unused)) = {{"", BE_ACTION}, {"position", BE_OBSERVATION}, {"velocity", BE_OBSERVATION}, DM_INFOS};
static __attribute__((unused)) void dm_state_sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = view->num_qpos;
    size[1] = view->num_qvel;
}
static __attribute__((unused)) void dm_write_state(const be_batch *batch, int64_t lane, double *row) {
    be_mujoco_append_state(batch, lane, 0, row);
}

/* np.linalg.norm of the first `count` coordinates, 3 at most, of the way from one place to another. */
static inline double dm_distance(const be_batch *batch, const double *from, const double *to, int count) {
    double way[3];
    for (int k = 0; k < count; k++) way[k] = to[k] - from[k];
    return be_norm(way, count, be_mujoco_of(batch)->fused_dot);
}

/* The first `count` coordinates of a vector of the world in a frame, whose matrix is that of a body or geom. fused: the
 * view's fused_vecmat, or fused_matmul where DM Control takes several vectors at once. */
static inline void dm_in_frame(const double *vector, const double *frame, int count, int64_t fused, double *result) {
    for (int k = 0; k < count; k++) {
        double sum = 0; /* as BLAS's sums are at first: never -0 */
        for (int i = 0; i < 3; i++) {
            const double x = vector[i], y = frame[3 * i + k];
            sum = fused ? be_math.fma(x, y, sum) : sum + x * y;
        }
        result[k] = sum;
    }
}

/* Appends the angles of all hinges, in the model's order, and then their speeds. */
static __attribute__((unused)) double *dm_append_hinges(const be_batch *batch, int64_t lane, double *row) {
    const be_mujoco_view *view = be_mujoco_of(batch);
    for (int64_t j = 0; j < view->num_joints; j++) {
        if (view->joint_type[j] == DM_HINGE) *row++ = be_mujoco_arrays(batch, lane)[MJ_QPOS][view->joint_qpos[j]];
    }
    const double *speed = be_mujoco_arrays(batch, lane)[MJ_QVEL];
    for (int64_t j = 0; j < view->num_joints; j++) {
        const int type = view->joint_type[j];
        if (type == DM_HINGE) *row++ = *speed;
        speed += type == DM_FREE ? 6 : type == DM_BALL ? 3 : 1;
    }
    return row;
}
static __attribute__((unused)) int64_t dm_num_hinges(const be_mujoco_view *view) {
    int64_t count = 0;
    for (int64_t j = 0; j < view->num_joints; j++) count += view->joint_type[j] == DM_HINGE;
    return count;
}

/* ---- rewards: more of tolerance.h ---------------------------------------------------------------------- */

/* The default, a gaussian. Of a number, and of an element of an array. */
static inline double dm_gaussian(const be_batch *batch, double x, double lower, double upper, double margin) {
    return be_gaussian(x, lower, upper, margin, be_constant_of(batch, DM_SCALE, 0));
}
static inline double dm_gaussian_of_array(const be_batch *batch, double x, double lower, double upper, double margin) {
    if (BE_WITHIN(x, lower, upper)) return 1.0;
    const double scaled = be_beyond(x, lower, upper, margin) * be_constant_of(batch, DM_SCALE, 0);
    return be_numpy_exp(-0.5 * (scaled * scaled));
}

static inline double dm_linear(double x, double lower, double upper, double margin, double at_margin) {
    if (BE_WITHIN(x, lower, upper)) return 1.0;
    const double scaled = be_beyond(x, lower, upper, margin) * (1 - at_margin);
    return fabs(scaled) < 1 ? 1 - scaled : 0.0;
}

/* 0.1 at the margin. */
static inline double dm_reciprocal(double x, double lower, double upper, double margin) {
    if (BE_WITHIN(x, lower, upper)) return 1.0;
    return 1 / (fabs(be_beyond(x, lower, upper, margin)) * (1 / 0.1 - 1) + 1);
}

/* Around 0, of an element of an array. */
static inline double dm_quadratic_of_array(double x, double margin) {
    if (x == 0) return 1.0;
    const double scaled = be_beyond(x, 0, 0, margin);
    return fabs(scaled) < 1 ? 1 - scaled * scaled : 0.0;
}

/* The mean of such values of all controls, which several tasks reward. */
static __attribute__((unused)) double dm_small_controls(const be_batch *batch, int64_t lane) {
    enum { MOST = 64 };
    const int64_t count = be_mujoco_of(batch)->num_ctrl < MOST ? be_mujoco_of(batch)->num_ctrl : MOST;
    const double *controls = be_mujoco_arrays(batch, lane)[MJ_CTRL];
    double values[MOST];
    for (int64_t j = 0; j < count; j++) values[j] = dm_quadratic_of_array(controls[j], 1);
    return be_sum(values, count) / (double)count;
}

/* ---- the functions of a type --------------------------------------------------------------------------- */

static __attribute__((unused)) int dm_prepare(be_setup *setup, const dm_task *task, int kind, be_error *error) {
    const be_mujoco_view *view = setup->engine;
    int64_t sizes[DM_MOST_PARTS], total = 0;
    task->sizes(view, sizes);
    for (int k = 0; k < task->parts; k++) {
        if (sizes[k] < 1 && sizes[k] != DM_ONE)
            return be_fail(error, BE_ERROR_VALUE, -1,
                           "the XML's model has %lld positions and %lld velocities, too few for this task",
                           (long long)view->num_qpos, (long long)view->num_qvel);
        total += sizes[k] == DM_ONE ? 1 : sizes[k];
    }
    if (total > DM_MOST_NUMBERS && kind == DM_DICT)
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "an observation of the XML's model has %lld numbers; of more than %d, make one row of them: "
                       "observation='flat'",
                       (long long)total, DM_MOST_NUMBERS);
    const int status = be_mujoco_spaces(setup, total, 1, 1, error);
    if (status != BE_OK) return status;
    if (kind == DM_PIXELS) be_mujoco_picture_space(setup, &setup->space[MJ_OBSERVATION_PORT]);
    for (int k = 0; k < task->parts && kind == DM_DICT; k++) {
        be_space *space = &setup->space[MJ_OBSERVATION_PORT + k];
        const int64_t columns = task->columns[k], shape[] = {columns ? sizes[k] / columns : sizes[k], columns};
        be_space_box(space, BE_F64, columns ? 2 : sizes[k] != DM_ONE, shape, -HUGE_VAL, HUGE_VAL);
    }
    be_space *action = &setup->space[MJ_ACTION_PORT];
    action->dtype = BE_F64;
    for (int i = 0; i < BE_MAX_BOUNDS && i < view->num_ctrl; i++) {
        action->low[i] = fmax(view->control_low[i], -DM_MOST);
        action->high[i] = fmin(view->control_high[i], DM_MOST);
    }
    setup->constants[DM_SCALE] = be_gaussian_scale();
    return BE_OK;
}

static inline int dm_kind(const be_batch *batch) {
    const be_port *ports = batch->type->ports;
    return ports == dm_flat_ports ? DM_FLAT : ports == dm_pixels_ports ? DM_PIXELS : DM_DICT;
}

static inline int dm_info(const be_batch *batch, const dm_task *task, int info) {
    return MJ_OBSERVATION_PORT + (dm_kind(batch) == DM_DICT ? task->parts : 1) + info;
}

static __attribute__((unused)) int dm_write(const be_batch *batch, int64_t lane, const be_rows *rows,
                                            const dm_task *task, be_error *error) {
    const be_space *first = &batch->space[MJ_OBSERVATION_PORT];
    if (dm_kind(batch) == DM_PIXELS) {
        const int64_t size = first->shape[0] * first->shape[1] * first->shape[2];
        return be_mujoco_draw(batch, lane, BE_ROW(unsigned char, rows->port[MJ_OBSERVATION_PORT], rows, lane, size),
                              error);
    }
    if (dm_kind(batch) == DM_FLAT) {
        task->observe(batch, lane, MJ_OBSERVATION(batch, rows, lane));
        return BE_OK;
    }
    double all[DM_MOST_NUMBERS];
    const double *next = all;
    task->observe(batch, lane, all);
    for (int port = MJ_OBSERVATION_PORT; port < MJ_OBSERVATION_PORT + task->parts; port++) {
        const be_space *space = &batch->space[port];
        int64_t size = 1;
        for (int k = 0; k < space->ndim; k++) size *= space->shape[k];
        memcpy(BE_ROW(double, rows->port[port], rows, lane, size), next, (size_t)size * sizeof *next);
        next += size;
    }
    return BE_OK;
}

static __attribute__((unused)) int dm_begin(be_batch *batch, int64_t lane, const dm_task *task, be_error *error) {
    int status = be_mujoco_reset(batch, lane, error);
    if (status == BE_OK) status = task->start(batch, lane, error);
    if (status == BE_OK && task->settles) status = be_mujoco_drop(batch, lane, error);
    return status;
}

static __attribute__((unused)) int dm_reset(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows,
                                            const dm_task *task, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        int status = task->settles ? be_mujoco_settle(batch, lanes[k], error) : dm_begin(batch, lanes[k], task, error);
        if (status == BE_OK) status = be_mujoco_evaluate(batch, lanes[k], NULL, error);
        if (status != BE_OK) return status;
        BE_ROW(uint8_t, rows->port[dm_info(batch, task, DM_UNSTABLE)], rows, lanes[k], 1)[0] = 0;
        MJ_INFO(rows, dm_info(batch, task, DM_DISCOUNT), lanes[k]) = 0;
        status = dm_write(batch, lanes[k], rows, task, error);
        if (status != BE_OK) return status;
    }
    return BE_OK;
}

static __attribute__((unused)) int dm_step(be_batch *batch, int64_t lane, const be_rows *rows, const dm_task *task,
                                           be_error *error) {
    const int status = be_mujoco_advance(batch, lane, rows, dm_info(batch, task, DM_UNSTABLE), error);
    if (status != BE_OK) return status;
    rows->reward[lane - rows->first] = task->reward(batch, lane);
    const int ended = task->ended && task->ended(batch, lane);
    rows->terminated[lane - rows->first] = (uint8_t)ended;
    MJ_INFO(rows, dm_info(batch, task, DM_DISCOUNT), lane) = !ended;
    return dm_write(batch, lane, rows, task, error);
}

/* The three types of a task: `file` and `Name` name them, `ports` are those of the one with a Dict; ids: a table, as
 * be_env_type has it; fps: of pictures, as many as there are steps in a second. The file has the tables `reads` and
 * `params` unless it gives others. */
#define DM_TYPES(file, Name, fps, task, ports_, ids_)                                                                  \
    DM_TYPES_WITH(file, Name, fps, task, ports_, dm_state, params, ids_)
#define DM_TYPES_WITH(file, Name, fps, task, ports_, state_, params_, ids_)                                            \
    DM_TYPES_READING(file, Name, fps, task, ports_, state_, params_, reads, ids_)
#define DM_TYPES_READING(file, Name, fps, task, ports_, state_, params_, reads_, ids_)                                 \
    static int file##_prepare(be_setup *s, be_error *e) { return dm_prepare(s, &task, DM_DICT, e); }                   \
    static int file##_prepare_flat(be_setup *s, be_error *e) { return dm_prepare(s, &task, DM_FLAT, e); }              \
    static int file##_prepare_pixels(be_setup *s, be_error *e) { return dm_prepare(s, &task, DM_PIXELS, e); }          \
    static int64_t file##_begin(be_batch *b, int64_t lane, be_error *e) {                                              \
        return dm_begin(b, lane, &task, e) == BE_OK ? task.settles - 1 : -1;                                           \
    }                                                                                                                  \
    static int file##_open(be_batch *b, const void *engine, be_error *e) {                                             \
        return task.settles ? be_mujoco_open_settling(b, engine, file##_begin, e) : be_mujoco_open(b, engine, e);      \
    }                                                                                                                  \
    static int file##_reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *e) {      \
        return dm_reset(b, lanes, count, rows, &task, e);                                                              \
    }                                                                                                                  \
    static int file##_observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *e) {    \
        int status = BE_OK;                                                                                            \
        for (int64_t k = 0; k < count && status == BE_OK; k++) status = dm_write(b, lanes[k], rows, &task, e);         \
        return status;                                                                                                 \
    }                                                                                                                  \
    static int file##_step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *e) {                 \
        (void)end;                                                                                                     \
        return dm_step(b, lane, rows, &task, e);                                                                       \
    }                                                                                                                  \
    BE_ENV(dm_##file) = {DM_MEMBERS(file, Name, fps, state_, params_, reads_), .ids = ids_, .ports = ports_,           \
                         .prepare = file##_prepare};                                                                   \
    BE_ENV(dm_##file##_flat) = {DM_MEMBERS(file, Name "Flat", fps, state_, params_, reads_), .ports = dm_flat_ports,   \
                                .prepare = file##_prepare_flat};                                                       \
    BE_ENV(dm_##file##_pixels) = {DM_MEMBERS(file, Name "Pixels", fps, state_, params_, reads_),                       \
                                  .ports = dm_pixels_ports, .prepare = file##_prepare_pixels}
#define DM_MEMBERS(file, Name, fps, state_, params_, reads_)                                                           \
    MJ_MEMBERS_OPENED("DM Control", file##_open, BE_LANE_BY_LANE | BE_RANDOM_STATE), .name = "Dm" Name,                \
        .frames_per_second = fps, .state = state_, .params = params_, .reads = reads_, .reset = file##_reset,          \
        .observe = file##_observe, .step = file##_step

/* An id of DM Control, and what EnvPool calls it. */
#define DM_ID(name, envpool, ...)                                                                                      \
    {"dm_control/" name "-v0", 1000, NULL, {__VA_ARGS__}}, {envpool "-v1", 1000, NULL, {__VA_ARGS__}, .unlisted = 1}

#endif
