/* What a task over a MuJoCo model is made of. A task is an env type (batchenv.h) whose engine steps the model: its
 * tables say what it reads of the model, by names, and its functions compute rewards, ends and observations of one lane
 * from that. examples/own_task/stand.c is a whole one; csrc/engines/mujoco/tasks has Gymnasium's. */
#ifndef BE_MUJOCO_TASK_H
#define BE_MUJOCO_TASK_H

#include <string.h>

#include "batchenv.h"

#pragma GCC visibility push(default)

/* The first of a lane's arrays. What the task reads follows. */
enum { MJ_QPOS, MJ_QVEL, MJ_CTRL, MJ_ARRAYS };

/* A row of be_env_type.reads: where its numbers are. */
typedef struct be_mujoco_read {
    int64_t array;        /* the number of the lane's array */
    int64_t count;        /* how many things have such a name; 1 for a whole array */
    int64_t size;         /* how many numbers each has, or the first if they differ */
    const int64_t *first; /* where each thing's numbers begin in the array */
} be_mujoco_read;

/* What a task sees of MuJoCo: sizes and numbers of the model that all lanes began with, and the lanes' arrays. */
#define BE_MUJOCO_VIEW                                                                                                 \
    int64_t num_qpos, num_qvel, num_ctrl, num_body;                                                                    \
    double timestep;                          /* s */                                                                  \
    const double *init_qpos, *init_qvel;      /* where the model has them: its qpos0, and zeros */                     \
    const double *control_low, *control_high; /* the actuators' bounds */                                              \
    const be_mujoco_read *reads;              /* in the order of be_env_type.reads */                                  \
    double *const *arrays;                    /* of all lanes: see be_mujoco_arrays */                                 \
    int64_t arrays_per_lane;                                                                                           \
    int fused_dot;    /* 1 if NumPy's dot of a few numbers uses fused multiply-adds */                                 \
    int fused_einsum; /* the same for einsum */                                                                        \
    int fused_matmul; /* and for the dot of two matrices */                                                            \
    int64_t num_joints;                                                                                                \
    /* Of each joint: its type (mjtJoint), whether it has limits, and where its positions begin. */                    \
    const int32_t *joint_type, *joint_limited, *joint_qpos;                                                            \
    int64_t num_mocap;                                                                                                 \
    int64_t fused_matvec; /* as fused_matmul, of a matrix and a vector */                                              \
    /* For tasks whose episodes start where their Python has brought the model: at which time, and what else it has    \
     * found out there. Then init_qpos and init_qvel are of that place. */                                             \
    double init_time;                                                                                                  \
    const double *init_numbers;                                                                                        \
    int64_t fused_vecmat; /* as fused_matvec, of three numbers and a matrix */
typedef struct be_mujoco_view {
    BE_MUJOCO_VIEW
} be_mujoco_view;

static inline const be_mujoco_view *be_mujoco_of(const be_batch *batch) { return batch->engine; }

/* A lane's arrays, as its last step or reset left them: MJ_QPOS, MJ_QVEL, MJ_CTRL, and those that the task reads. A
 * task may write the former two before be_mujoco_begin(), and all three before be_mujoco_begin_controlled(). */
static inline double *const *be_mujoco_arrays(const be_batch *batch, int64_t lane) {
    const be_mujoco_view *view = be_mujoco_of(batch);
    return view->arrays + lane * view->arrays_per_lane;
}

/* ---- params that all types have, first in their tables ---------------------------------------------- */

enum { MJ_FRAME_SKIP, MJ_ON_UNSTABLE, MJ_PARAMS };
#define MJ_SHARED_PARAMS(frame_skip_default) MJ_PARAMS_WITH(frame_skip_default, 0)
#define MJ_PARAMS_WITH(frame_skip_default, on_unstable_default)                                                        \
    [MJ_FRAME_SKIP] =                                                                                                  \
        {"frame_skip", BE_PARAM_INT, frame_skip_default, 1, 1e6, NULL, "MuJoCo's steps per step of the env", 1},       \
    [MJ_ON_UNSTABLE] = {"on_unstable",                                                                                 \
                        BE_PARAM_CHOICE,                                                                               \
                        on_unstable_default,                                                                           \
                        0,                                                                                             \
                        0,                                                                                             \
                        be_mujoco_on_unstable,                                                                         \
                        "what an unstable simulation does: go on from MuJoCo's own reset, truncate, raise LaneError",  \
                        1}
extern const char *const be_mujoco_on_unstable[];

/* Means "no bound", because tables may hold finite numbers only. */
#define MJ_ANY 1.7976931348623157e308

/* ---- ports ------------------------------------------------------------------------------------------- */

/* The first ports of all types; be_mujoco_spaces sets their spaces. Infos follow. A type whose observations have
 * several parts names the first of them itself, instead of taking MJ_SHARED_PORTS, and sets the spaces of all of them
 * after be_mujoco_spaces. */
enum { MJ_ACTION_PORT, MJ_OBSERVATION_PORT, MJ_PORTS };
#define MJ_SHARED_PORTS [MJ_ACTION_PORT] = {"", BE_ACTION}, [MJ_OBSERVATION_PORT] = {"", BE_OBSERVATION}

/* ---- state and info ---------------------------------------------------------------------------------- */

/* A task with a state of its own has a table that begins with this row, and MJ_MEMBERS instead of MJ_SHARED_MEMBERS. */
enum { MJ_FINGERPRINT, MJ_FIELDS };
#define MJ_SHARED_STATE                                                                                                \
    [MJ_FINGERPRINT] = {"model_fingerprint", BE_I64, 1,                                                                \
                        "identifies the model: lanes of another model cannot be restored"}
extern const be_field be_mujoco_state[];
#define MJ_UNSTABLE_INFO                                                                                               \
    {"unstable", BE_INFO, BE_VALUE(BE_BOOL), .when = BE_WHERE_NOT_0,                                                   \
     .doc = "MuJoCo found the simulation unstable in this step"}

/* How many simulated seconds a step of the env takes. */
static inline double be_mujoco_dt(const be_batch *batch) {
    return be_mujoco_of(batch)->timestep * be_param_of(batch, MJ_FRAME_SKIP, 0);
}

/* ---- what types are made of -------------------------------------------------------------------------- */

/* Does the rest of prepare() when the size of an observation is known. The model must have at least these numbers of
 * positions and velocities. */
int be_mujoco_spaces(be_setup *setup, int64_t observation_size, int64_t positions, int64_t velocities, be_error *error);

/* The same for a task whose control() takes actions from `low` to `high`, whatever the actuators' bounds are. */
int be_mujoco_spaces_between(be_setup *setup, int64_t observation_size, int64_t positions, int64_t velocities,
                             double low, double high, be_error *error);

/* The same for a task whose control() makes controls of `actions` numbers; the model need not have actuators. */
int be_mujoco_spaces_of_actions(be_setup *setup, int64_t observation_size, int64_t positions, int64_t velocities,
                                int64_t actions, double low, double high, be_error *error);

/* Sets the lane's controls and takes MuJoCo's steps; where the task reads contact forces, also calls
 * mj_rnePostConstraint. If it does not return BE_OK, the caller must return that status at once. */
int be_mujoco_advance(be_batch *batch, int64_t lane, const be_rows *rows, int unstable_info, be_error *error);

/* Starts an episode with the qpos and qvel that the caller has written into the lane's arrays: mj_resetData, then
 * mj_forward. Its time is init_time. */
int be_mujoco_begin(be_batch *batch, int64_t lane, be_error *error);

/* The same with the controls that the caller has written, too: some sensors, and forces of actuators, show them in the
 * first observation. */
int be_mujoco_begin_controlled(be_batch *batch, int64_t lane, be_error *error);

/* be_mujoco_begin for tasks whose reference only sets positions and velocities (it does not call mj_resetData): in the
 * lane's next step, MuJoCo looks for accelerations near those of its last step, if it is not new. */
int be_mujoco_begin_warm(be_batch *batch, int64_t lane, be_error *error);

/* For tasks whose episodes start after the robot has come to rest. open() says so with be_mujoco_open_settling, and
 * reset calls be_mujoco_settle for each lane: `begin` starts the episode (be_mujoco_begin and the like), writes the
 * controls, and returns how many of MuJoCo's steps there are to be with these, or -1 if it has failed; when they are
 * taken, the time is set back to 0. Where many lanes are reset at once, begin() is called for all of them first, and
 * their steps are taken together. Neither .control nor .recontrol is asked. */
typedef int64_t be_mujoco_settling(be_batch *batch, int64_t lane, be_error *error);
int be_mujoco_open_settling(be_batch *batch, const void *engine, be_mujoco_settling *begin, be_error *error);
int be_mujoco_settle(be_batch *batch, int64_t lane, be_error *error);
/* The same, but the time goes on. If called again, it begins again. */
int be_mujoco_settle_on(be_batch *batch, int64_t lane, be_error *error);

/* For tasks whose starts follow from the physics, as DM Control's do: mj_resetData and mj_forward, without actuators;
 * and mj_forward for the qpos and qvel that the caller has written into the lane's arrays since, as often as it likes.
 * contacts: set to how many contacts there are; or NULL. The lane's arrays show the results. */
int be_mujoco_reset(be_batch *batch, int64_t lane, be_error *error);
int be_mujoco_evaluate(be_batch *batch, int64_t lane, int *contacts, be_error *error);

/* To be called after be_mujoco_reset: takes a step of MuJoCo from the qpos and qvel that the caller has written since.
 * As in DM Control, it still has the forces of where the reset was (mj_step2). */
int be_mujoco_drop(be_batch *batch, int64_t lane, be_error *error);

/* The most common start: init_qpos + uniform(-scale, scale), and init_qvel + the same or, with `normal`,
 * init_qvel + scale * standard_normal(). */
int be_mujoco_start(be_batch *batch, int64_t lane, double scale, int normal, be_error *error);

/* The same around other positions, such as those of a keyframe. */
int be_mujoco_start_at(be_batch *batch, int64_t lane, const double *positions, double scale, int normal,
                       be_error *error);

/* The force (N) and the torque (N m) on a body, at its centre of mass and along the world's axes: 6 numbers, which act
 * in every step of MuJoCo until they change. A reset sets them to 0; a task may write them at the end of its step or
 * reset.
 */
double *be_mujoco_push_of(const be_batch *batch, int64_t lane, int64_t body);

/* Lets the lane's next step begin with the velocities that the task has written into the lane's MJ_QVEL at the end of
 * its step or reset: a push that changes velocities at once. What else the task reads still is of the step that has
 * ended. */
void be_mujoco_put_velocities(const be_batch *batch, int64_t lane);

/* The velocities with which the lane's next step begins, to be changed at the end of a step or reset where they are to
 * be others than those that the task goes on to read. */
double *be_mujoco_next_velocities_of(const be_batch *batch, int64_t lane);

/* For types with a table `drawn` (be_drawn in batchenv.h): gives the lane the model of the episode that is about to
 * start, drawn from the lane's stream. To be called before be_mujoco_begin() and the like. If it does not return BE_OK,
 * the caller must return that status at once. A model of the pool that has been made before costs next to nothing; any
 * other takes milliseconds, while no other lane's is made. What the task reads of the model, such as
 * "model.geom_friction", is the lane's. Snapshots hold the model. */
int be_mujoco_draw_model(be_batch *batch, int64_t lane, be_error *error);

/* The factors, summands and values that were drawn for the lane's model, in the order of the table: for critics, which
 * may see them. `count`: set to how many there are; or NULL. prepare() knows them by be_mujoco_num_drawn(). */
const double *be_mujoco_drawn_of(const be_batch *batch, int64_t lane, int64_t *count);
int64_t be_mujoco_num_drawn(const be_setup *setup);

/* Whether the lane has had no episode since it was made or seeded. Fields of state that outlast episodes, such as
 * levels of terrain, are 0 then, and begin anew. To be called before be_mujoco_begin() and the like. */
int be_mujoco_is_new(const be_batch *batch, int64_t lane);

/* Where the lane's mocap bodies are, and how they are turned: 3 and 4 numbers of each. A reset puts them where the
 * model has them. control() may write them for the step that is about to be taken, if it does not read them. */
double *be_mujoco_mocap_pos_of(const be_batch *batch, int64_t lane);
double *be_mujoco_mocap_quat_of(const be_batch *batch, int64_t lane);

/* For tasks that hold joints in place: after the last of MuJoCo's steps in a step of the env, `pin` may write the
 * lane's positions. What depends on positions and velocities is then computed anew (mj_step1), and the task reads that.
 * open() says so with be_mujoco_open_pinning. */
typedef void be_mujoco_pinning(const be_batch *batch, int64_t lane, double *qpos);
int be_mujoco_open_pinning(be_batch *batch, const void *engine, be_mujoco_pinning *pin, be_error *error);

/* For tasks whose episodes begin after hundreds of MuJoCo's steps that are the same in all episodes of a kind, such as
 * an arm's way to where it starts. open() says how many kinds there are, with be_mujoco_keep_kinds after
 * be_mujoco_open() and the like. be_mujoco_begin_alike starts an episode at the end of these steps, which follow on
 * mj_resetData, with controls and mocap bodies as `approach` has them; the lane's arrays are as after any other step.
 * The first lane of a kind takes the steps, others get its results, so all of a kind must have the same model. Lanes
 * with models of their own take the steps themselves. Fields that act on the model are to be written before. */
typedef struct be_mujoco_approach {
    int64_t steps;
    const double *controls, *mocap_pos, *mocap_quat; /* of all actuators and all mocap bodies */
} be_mujoco_approach;
int be_mujoco_keep_kinds(be_batch *batch, int64_t kinds, be_error *error);
int be_mujoco_begin_alike(be_batch *batch, int64_t lane, int64_t kind, const be_mujoco_approach *approach,
                          be_error *error);

/* For tasks that hold joints in place: how firmly geoms press on each other where the last step has ended, N: the sum
 * over the contacts of each of `count` pairs. It takes an mj_forward. */
int be_mujoco_press(const be_batch *batch, int64_t lane, const int64_t (*pairs)[2], int64_t count, double *forces,
                    be_error *error);

/* The positions with which the lane's next step begins, to be changed where they are to be others than those that the
 * task goes on to read. */
double *be_mujoco_next_positions_of(const be_batch *batch, int64_t lane);

/* The activations of the lane's actuators, where the model has such: a start that follows from the physics may write
 * them after be_mujoco_reset(). The array "act", which a task may read, shows them after be_mujoco_evaluate(). */
double *be_mujoco_activations_of(const be_batch *batch, int64_t lane);

/* Zeroes the infos of a lane's row. */
void be_mujoco_clear_info(const be_batch *batch, int64_t lane, const be_rows *rows);

/* The members of be_env_type that all types share. */
int be_mujoco_open(be_batch *batch, const void *engine, be_error *error);
void be_mujoco_close(be_batch *batch);
size_t be_mujoco_saved_bytes(const be_batch *batch);
void be_mujoco_save(const be_batch *batch, int64_t lane, void *bytes);
void be_mujoco_load(be_batch *batch, int64_t lane, const void *bytes);
int be_mujoco_check_state(const be_batch *batch, const void *const *columns, int64_t count, be_error *error);
#define MJ_ID(name, limit, threshold) ((const be_id[]){{name, limit, threshold}, {0}}) /* the one id of a type */
#define MJ_MEMBERS_OF(family_) MJ_MEMBERS_OPENED(family_, be_mujoco_open, BE_LANE_BY_LANE)
#define MJ_MEMBERS_OPENED(family_, open_, flags_)                                                                      \
    .abi = BE_ABI, .family = family_, .flags = (flags_) | BE_SEED_CLEARS, .open = open_, .close = be_mujoco_close,     \
    .saved_bytes = be_mujoco_saved_bytes, .save = be_mujoco_save, .load = be_mujoco_load,                              \
    .check_state = be_mujoco_check_state
#define MJ_MEMBERS MJ_MEMBERS_OF("MuJoCo")
#define MJ_SHARED_MEMBERS MJ_MEMBERS, .state = be_mujoco_state

/* reset and observe, of a task's own
 *     static int start(be_batch *batch, int64_t lane, const be_rows *rows, be_error *error);
 *     static void write_observation(const be_batch *batch, int64_t lane, double *row);
 * where start() writes the info, too. */
#define MJ_RESET_AND_OBSERVE(start, write_observation)                                                                 \
    static int observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {   \
        (void)error;                                                                                                   \
        for (int64_t k = 0; k < count; k++) write_observation(batch, lanes[k], MJ_OBSERVATION(batch, rows, lanes[k])); \
        return BE_OK;                                                                                                  \
    }                                                                                                                  \
    MJ_RESET(reset, start)
#define MJ_RESET(reset, start)                                                                                         \
    static int reset(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {     \
        for (int64_t k = 0; k < count; k++) {                                                                          \
            int status = start(batch, lanes[k], rows, error);                                                          \
            if (status != BE_OK) return status;                                                                        \
        }                                                                                                              \
        return observe(batch, lanes, count, rows, error);                                                              \
    }

/* What the task reads by row `index` of its table: the numbers of thing k in one lane, or of the first one. */
static inline double *be_mujoco_read_at(const be_batch *batch, int64_t lane, int index, int64_t k) {
    const be_mujoco_read *read = &be_mujoco_of(batch)->reads[index];
    return be_mujoco_arrays(batch, lane)[read->array] + read->first[k];
}
static inline double *be_mujoco_read_of(const be_batch *batch, int64_t lane, int index) {
    return be_mujoco_read_at(batch, lane, index, 0);
}

/* The numbers of one of the task's own fields in one lane. */
#define MJ_FIELD(batch, index, type, lane) ((type *)(batch)->state[index] + (lane) * (batch)->field_size[index])

/* How many things have the name of this row: one or more. */
static inline int64_t be_mujoco_count_of(const be_batch *batch, int index) {
    return be_mujoco_of(batch)->reads[index].count;
}

/* Appends values to a row. Returns the end of the row. */
static inline double *be_append(double *row, const double *values, int64_t count) {
    memcpy(row, values, (size_t)count * sizeof *row);
    return row + count;
}

/* Appends qpos and qvel without the first `hidden` positions. */
static inline double *be_mujoco_append_state(const be_batch *batch, int64_t lane, int64_t hidden, double *row) {
    const be_mujoco_view *source = be_mujoco_of(batch);
    double *const *arrays = be_mujoco_arrays(batch, lane);
    row = be_append(row, arrays[MJ_QPOS] + hidden, source->num_qpos - hidden);
    return be_append(row, arrays[MJ_QVEL], source->num_qvel);
}

/* How many numbers these are. */
static inline int64_t be_mujoco_state_size(const be_mujoco_view *source, int64_t hidden) {
    return source->num_qpos + source->num_qvel - hidden;
}

/* Params that several types have: weights and the like, and reset_noise_scale. */
#define MJ_WEIGHT(name, value, doc) {name, BE_PARAM_FLOAT, value, -1e300, 1e300, NULL, doc, 0}
#define MJ_BOUND(name, value, doc) {name, BE_PARAM_FLOAT, value, -MJ_ANY, MJ_ANY, NULL, doc, 0}
#define MJ_WITHIN(name, value, low, high, doc) {name, BE_PARAM_FLOAT, value, low, high, NULL, doc, 0}
#define MJ_SCALE(value)                                                                                                \
    {"reset_noise_scale", BE_PARAM_FLOAT, value, 0, 1e300, NULL, "size of the random part of an episode's start", 0}
#define MJ_TERMINATE                                                                                                   \
    {"terminate_when_unhealthy", BE_PARAM_BOOL, 1, 0, 1, NULL, "episodes end where the lane is not healthy", 1}

/* Infos that are reported in every row, and infos of steps only. */
#define MJ_INFO_ALWAYS(name_, doc_) {name_, BE_INFO, BE_VALUE(BE_F64), .doc = doc_}
#define MJ_INFO_STEP(name_, doc_) {name_, BE_INFO, BE_VALUE(BE_F64), .when = BE_IN_STEPS, .doc = doc_}
#define MJ_INFO_STEP_F32(name_, doc_) {name_, BE_INFO, BE_VALUE(BE_F32), .when = BE_IN_STEPS, .doc = doc_}

/* The action of a step, and rows of doubles. */
#define MJ_ACTION(batch, rows, lane)                                                                                   \
    BE_ROW(const float, (rows)->port[MJ_ACTION_PORT], rows, lane, be_mujoco_of(batch)->num_ctrl)
#define MJ_OBSERVATION(batch, rows, lane)                                                                              \
    BE_ROW(double, (rows)->port[MJ_OBSERVATION_PORT], rows, lane, (batch)->space[MJ_OBSERVATION_PORT].shape[0])
#define MJ_INFO(rows, index, lane) BE_ROW(double, (rows)->port[index], rows, lane, 1)[0]
#define MJ_INFO_F32(rows, index, lane) BE_ROW(float, (rows)->port[index], rows, lane, 1)[0]

#pragma GCC visibility pop

#endif
