/* A robot that learns to stand: an example of a task over a model of one's own. */
#include <math.h>

#include "mujoco_task.h"

enum { HEIGHT = MJ_PARAMS, EFFORT, SCALE, NOISE };
static const be_param params[] = {
    MJ_SHARED_PARAMS(5),
    [HEIGHT] = MJ_BOUND("least_height", 0.15, "episodes end where the trunk is lower, m"),
    [EFFORT] = MJ_WEIGHT("effort_weight", 0.01, "cost of changing actions, per squared difference"),
    [SCALE] = MJ_WEIGHT("action_scale", 0.25, "how far an action of 1 moves a joint's target, rad"),
    [NOISE] = MJ_SCALE(0.02),
    {0},
};

enum { ACTION = MJ_FIELDS };
static const be_field state[] = {
    MJ_SHARED_STATE,
    [ACTION] = {"last_action", BE_F64, 1, "what the policy asked for last"},
    {0},
};

enum { TRUNK, FEET, GYRO };
static const be_read reads[] = {
    [TRUNK] = {"xpos", "body", "trunk"},
    [FEET] = {"geom_xpos", "geom", ".*_foot"},
    [GYRO] = {"sensordata", "sensor", "gyro"},
    {0},
};

enum { UNSTABLE = MJ_PORTS, UPRIGHT };
static const be_port ports[] = {
    MJ_SHARED_PORTS,
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    [UPRIGHT] = MJ_INFO_STEP("upright", "part of the reward"),
    {0},
};

static int prepare(be_setup *setup, be_error *error) {
    const be_mujoco_view *model = setup->engine;
    const int64_t size = model->num_qpos + model->num_qvel + 3 + model->reads[FEET].count;
    setup->field_size[ACTION] = (int)model->num_ctrl;
    return be_mujoco_spaces_between(setup, size, 7, 6, -1, 1, error);
}

/* Targets of the joints' servos, around where the model starts. */
static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    const be_mujoco_view *model = be_mujoco_of(b);
    for (int64_t j = 0; j < model->num_ctrl; j++) {
        controls[j] = model->init_qpos[7 + j] + be_param_of(b, SCALE, lane) * (double)action[j];
    }
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    row = be_mujoco_append_state(b, lane, 0, row);
    row = be_append(row, be_mujoco_read_of(b, lane, GYRO), 3);
    for (int64_t k = 0; k < be_mujoco_count_of(b, FEET); k++) *row++ = be_mujoco_read_at(b, lane, FEET, k)[2];
}

static double *last_action(const be_batch *b, int64_t lane) {
    return MJ_FIELD(b, ACTION, double, lane);
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    be_mujoco_clear_info(b, lane, rows);
    memset(last_action(b, lane), 0, (size_t)b->field_size[ACTION] * sizeof(double));
    return be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 0, error);
}
MJ_RESET_AND_OBSERVE(start, write_observation)

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    const float *action = MJ_ACTION(b, rows, lane);
    double *last = last_action(b, lane), change = 0;
    for (int64_t j = 0; j < b->field_size[ACTION]; j++) {
        change += ((double)action[j] - last[j]) * ((double)action[j] - last[j]);
        last[j] = (double)action[j];
    }
    const double height = be_mujoco_read_of(b, lane, TRUNK)[2];
    write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));
    rows->reward[lane - rows->first] = height - be_param_of(b, EFFORT, lane) * change;
    rows->terminated[lane - rows->first] = height < be_param_of(b, HEIGHT, lane);
    MJ_INFO(rows, UPRIGHT, lane) = height;
    return BE_OK;
}

BE_ENV(stand) = {
    MJ_MEMBERS,     .name = "Stand",    .ids = (const be_id[]){{"Stand-v0", 500, NULL}, {0}},
    .state = state, .params = params,   .ports = ports,
    .reads = reads, .prepare = prepare, .control = control,
    .reset = reset, .observe = observe, .step = step,
};
