/* The Adroit tasks of gymnasium-robotics: a hand on an arm, whose actuators' bounds actions fill, does something with
 * an object. What a task draws is a part of its lane's model: see `acting` in batchenv/envs/mujoco/adroit.py. */
#ifndef BE_MUJOCO_ADROIT_H
#define BE_MUJOCO_ADROIT_H

#include "engines/mujoco/gymnasium.h"
#include "numpy_dot.h"

/* What a task is: how many positions (and velocities) and actuators its model has, and how many numbers the fields of
 * its state have that say where things are: of the first one and, if not 0, of the second one. */
typedef struct adroit {
    int positions, actuators, observation, places, targets;
} adroit;

enum { ADROIT_REWARD = MJ_PARAMS };
enum { ADROIT_DENSE, ADROIT_SPARSE };
static const char *const adroit_rewards[] = {"dense", "sparse", NULL};
static const be_param adroit_params[] = {
    MJ_SHARED_PARAMS(5),
    [ADROIT_REWARD] = {"reward_type", BE_PARAM_CHOICE, ADROIT_DENSE, 0, 0, adroit_rewards,
                       "'sparse': 10 where the task is done, and else -0.1; 'dense': what leads there counts, too"},
    {0},
};

enum { ADROIT_UNSTABLE = MJ_PORTS, ADROIT_SUCCESS };
static const be_port adroit_ports[] = {
    MJ_SHARED_PORTS,
    [ADROIT_UNSTABLE] = MJ_UNSTABLE_INFO,
    [ADROIT_SUCCESS] = {"success", BE_INFO, BE_VALUE(BE_BOOL), .when = BE_IN_STEPS,
                        .doc = "whether the task is done in this step"},
    {0},
};

/* The first fields of a task's own. */
enum { ADROIT_PLACE = MJ_FIELDS, ADROIT_TARGET };

/* Where a reset may put everything, as initial_state_dict of the package: 1, positions, velocities and places. */
enum { ADROIT_GIVEN, ADROIT_MOST = 36, ADROIT_MOST_PLACES = 6 };
enum { ADROIT_QPOS = 1, ADROIT_QVEL = ADROIT_QPOS + ADROIT_MOST, ADROIT_PLACES = ADROIT_QVEL + ADROIT_MOST };
#define ADROIT_NUMBER(name) {name, BE_PARAM_FLOAT, 0, -MJ_ANY, MJ_ANY, NULL, "of initial_state_dict"}
#define ADROIT_SIX(name)                                                                                               \
    ADROIT_NUMBER(name "0"), ADROIT_NUMBER(name "1"), ADROIT_NUMBER(name "2"), ADROIT_NUMBER(name "3"),                \
        ADROIT_NUMBER(name "4"), ADROIT_NUMBER(name "5")
#define ADROIT_ALL(name)                                                                                               \
    ADROIT_SIX(name "0"), ADROIT_SIX(name "1"), ADROIT_SIX(name "2"), ADROIT_SIX(name "3"), ADROIT_SIX(name "4"),      \
        ADROIT_SIX(name "5")
static const be_param adroit_options[] = {
    [ADROIT_GIVEN] = {"given", BE_PARAM_BOOL, 0, 0, 1, NULL, "whether there is an initial_state_dict"},
    ADROIT_ALL("qpos"),
    ADROIT_ALL("qvel"),
    ADROIT_SIX("place"),
    {0},
};

static inline int adroit_prepare(be_setup *setup, const adroit *task, be_error *error) {
    const be_mujoco_view *view = setup->engine;
    if (view->num_qpos != task->positions || view->num_qvel != task->positions || view->num_ctrl != task->actuators)
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "the XML's model has %lld positions, %lld velocities and %lld actuators: there must be %d, %d "
                       "and %d",
                       (long long)view->num_qpos, (long long)view->num_qvel, (long long)view->num_ctrl, task->positions,
                       task->positions, task->actuators);
    return be_mujoco_spaces_between(setup, task->observation, 1, 1, -1, 1, error);
}

/* Actions go from the lower bound of each actuator to the upper one. */
static inline void adroit_control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    (void)lane;
    const be_mujoco_view *view = be_mujoco_of(b);
    for (int64_t j = 0; j < view->num_ctrl; j++) {
        const double low = view->control_low[j], high = view->control_high[j];
        controls[j] = (low + high) / 2 + (double)action[j] * (0.5 * (high - low));
    }
}

/* A way between two places, and how long it is. */
static inline double *adroit_append_way(const double *from, const double *to, double *row) {
    for (int k = 0; k < 3; k++) row[k] = from[k] - to[k];
    return row + 3;
}
static inline double adroit_distance(const be_batch *b, const double *from, const double *to) {
    double way[3];
    (void)adroit_append_way(from, to, way);
    return be_norm(way, 3, be_mujoco_of(b)->fused_dot);
}

static inline double *adroit_place(const be_batch *b, int64_t lane) { return MJ_FIELD(b, ADROIT_PLACE, double, lane); }

/* Starts an episode whose places have been drawn. */
static inline int adroit_begin(be_batch *b, int64_t lane, be_error *error) {
    const be_mujoco_view *view = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    (void)be_append(arrays[MJ_QPOS], view->init_qpos, view->num_qpos);
    (void)be_append(arrays[MJ_QVEL], view->init_qvel, view->num_qvel);
    return be_mujoco_begin(b, lane, error);
}

/* Moves the lane to where the options of its reset say, if they say anything. */
static inline int adroit_take_given(be_batch *b, int64_t lane, const double *options, const adroit *task,
                                    be_error *error) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    if (options[ADROIT_GIVEN] == 0) return BE_OK;
    (void)be_append(adroit_place(b, lane), options + ADROIT_PLACES, task->places);
    if (task->targets)
        (void)be_append(MJ_FIELD(b, ADROIT_TARGET, double, lane), options + ADROIT_PLACES + task->places,
                        task->targets);
    (void)be_append(arrays[MJ_QPOS], options + ADROIT_QPOS, task->positions);
    (void)be_append(arrays[MJ_QVEL], options + ADROIT_QVEL, task->positions);
    return be_mujoco_evaluate(b, lane, NULL, error);
}

/* The functions of a type, of its own
 *     static const adroit task;
 *     static void draw(be_batch *batch, int64_t lane);
 *     static void measure(be_batch *batch, int64_t lane);
 *     static void write_observation(const be_batch *batch, int64_t lane, double *row);
 *     static int is_done(const be_batch *batch, int64_t lane);
 *     static double shaped(const be_batch *batch, int64_t lane);
 * where draw() draws places; measure() keeps what is to be known of where an episode starts; is_done() says whether the
 * task is done; and shaped() is the dense reward. */
#define ADROIT_FUNCTIONS                                                                                               \
    static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {                                \
        be_mujoco_clear_info(b, lane, rows);                                                                           \
        draw(b, lane);                                                                                                 \
        const int status = adroit_begin(b, lane, error);                                                               \
        if (status != BE_OK) return status;                                                                            \
        measure(b, lane);                                                                                              \
        return adroit_take_given(b, lane, rows->options, &task, error);                                                \
    }                                                                                                                  \
    MJ_RESET_AND_OBSERVE(start, write_observation)                                                                     \
    static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {                    \
        (void)end;                                                                                                     \
        const int status = be_mujoco_advance(b, lane, rows, ADROIT_UNSTABLE, error);                                   \
        if (status != BE_OK) return status;                                                                            \
        write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));                                                     \
        const int done = is_done(b, lane), sparse = be_param_of(b, ADROIT_REWARD, lane) == ADROIT_SPARSE;              \
        rows->reward[lane - rows->first] = !sparse ? shaped(b, lane) : done ? 10.0 : -0.1;                             \
        rows->terminated[lane - rows->first] = 0;                                                                      \
        BE_ROW(uint8_t, rows->port[ADROIT_SUCCESS], rows, lane, 1)[0] = (uint8_t)done;                                 \
        return BE_OK;                                                                                                  \
    }                                                                                                                  \
    static int prepare(be_setup *setup, be_error *error) { return adroit_prepare(setup, &task, error); }
#define ADROIT_MEMBERS(name_)                                                                                          \
    MJ_MEMBERS_OF("Gymnasium-Robotics"), .name = "AdroitHand" name_, .frames_per_second = 100, .state = state,         \
        .params = adroit_params, .options = adroit_options, .ports = adroit_ports, .reads = reads, .prepare = prepare, \
        .reset = reset, .observe = observe, .step = step, .control = adroit_control, .ids = (const be_id[]) {          \
        {"AdroitHand" name_ "-v1", 200, NULL, {{"reward_type", .text = "dense"}}},                                     \
            {"AdroitHand" name_ "Sparse-v1", 200, NULL, {{"reward_type", .text = "sparse"}}}, {0}                      \
    }

#endif
