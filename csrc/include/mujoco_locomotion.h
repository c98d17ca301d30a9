/* What tasks of robots that walk have in common, in addition to mujoco_task.h: commands, pushes, contacts of feet,
 * noise of observations. Each part keeps its numbers in fields of the task's state. The rules are those of MuJoCo
 * Playground's joystick tasks; csrc/engines/mujoco/tasks/go1_joystick.c uses nearly all of it. */
#ifndef BE_MUJOCO_LOCOMOTION_H
#define BE_MUJOCO_LOCOMOTION_H

#include <math.h>

#include "libm.h"
#include "mujoco_task.h"

/* ---- models ------------------------------------------------------------------------------------------- */

/* For prepare(): the model must have one free joint and then `joints` joints with an actuator each, and the sensors
 * that the task reads must have 3 numbers each, or 1 if their names end in "_found". */
static inline int be_check_robot(const be_setup *setup, const be_read *reads, int64_t joints, be_error *error) {
    const be_mujoco_view *model = setup->engine;
    if (model->num_qpos != 7 + joints || model->num_qvel != 6 + joints || model->num_ctrl != joints) {
        return be_fail(
            error, BE_ERROR_VALUE, -1,
            "xml_file: the model must have one free joint and then %lld joints with an actuator each, but has "
            "%lld positions, %lld velocities and %lld actuators",
            (long long)joints, (long long)model->num_qpos, (long long)model->num_qvel, (long long)model->num_ctrl);
    }
    for (int k = 0; reads[k].array; k++) {
        const char *name = reads[k].name;
        if (!reads[k].object || strcmp(reads[k].object, "sensor") != 0) continue;
        const int64_t size = strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_found") == 0 ? 1 : 3;
        if (model->reads[k].size == size) continue;
        return be_fail(error, BE_ERROR_VALUE, -1, "xml_file: the sensor %s has %lld numbers, but must have %lld", name,
                       (long long)model->reads[k].size, (long long)size);
    }
    return BE_OK;
}

/* What these tasks read of a robot, first in their tables: BE_ROBOT_READS. */
enum {
    BE_GYRO,
    BE_LINVEL,
    BE_GLOBAL_LINVEL,
    BE_GLOBAL_ANGVEL,
    BE_ACCELEROMETER,
    BE_UPVECTOR,
    BE_TORQUE,
    BE_HOME,
    BE_ROBOT_ROWS
};
/* part: the end of the sensors' names, such as "_pelvis". key: the keyframe that episodes start from. */
#define BE_ROBOT_READS_OF(part, key)                                                                                   \
    [BE_GYRO] = {"sensordata", "sensor", "gyro" part}, [BE_LINVEL] = {"sensordata", "sensor", "local_linvel" part},    \
    [BE_GLOBAL_LINVEL] = {"sensordata", "sensor", "global_linvel" part},                                               \
    [BE_GLOBAL_ANGVEL] = {"sensordata", "sensor", "global_angvel" part},                                               \
    [BE_ACCELEROMETER] = {"sensordata", "sensor", "accelerometer" part},                                               \
    [BE_UPVECTOR] = {"sensordata", "sensor", "upvector" part}, [BE_TORQUE] = {"actuator_force"},                       \
    [BE_HOME] = {"model.key_qpos", "key", key}
#define BE_ROBOT_READS BE_ROBOT_READS_OF("", "home")

/* The joints' positions in that keyframe. */
static inline const double *be_pose_of(const be_batch *batch, int64_t lane) {
    return be_mujoco_read_of(batch, lane, BE_HOME) + 7;
}

/* Whether a joint is beyond the bounds of its actuator. */
static inline int be_joints_exceed(const be_batch *batch, int64_t lane) {
    const be_mujoco_view *model = be_mujoco_of(batch);
    const double *joints = be_mujoco_arrays(batch, lane)[MJ_QPOS] + 7;
    for (int64_t j = 0; j < model->num_ctrl; j++) {
        if (joints[j] < model->control_low[j] || joints[j] > model->control_high[j]) return 1;
    }
    return 0;
}

/* ---- actions ------------------------------------------------------------------------------------------ */

/* For control(): targets of joints around `centre`, within the bounds of their actuators. */
static inline void be_control_around(const be_batch *batch, const double *centre, const float *action, double scale,
                                     double *controls) {
    const be_mujoco_view *model = be_mujoco_of(batch);
    for (int64_t j = 0; j < model->num_ctrl; j++) {
        controls[j] = fmin(fmax(centre[j] + (double)action[j] * scale, model->control_low[j]), model->control_high[j]);
    }
}

/* At the end of a step: the field `last` becomes the action, and the field after it what that was before. */
static inline void be_keep_actions(const be_batch *batch, int64_t lane, int last, const float *action) {
    const size_t size = (size_t)batch->field_size[last] * sizeof *action;
    memcpy(MJ_FIELD(batch, last + 1, float, lane), MJ_FIELD(batch, last, float, lane), size);
    memcpy(MJ_FIELD(batch, last, float, lane), action, size);
}

/* The members of a type of MuJoCo Playground's, whose tables and functions have these names. */
#define BE_PLAYGROUND_MEMBERS                                                                                          \
    MJ_MEMBERS_OF("MuJoCo Playground"), .frames_per_second = 50, .state = state, .params = params, .ports = ports,     \
        .reads = reads, .prepare = prepare, .reset = reset, .observe = observe, .step = step

/* ---- random numbers, time ---------------------------------------------------------------------------- */

/* Of the exponential distribution with mean 1. */
static inline double be_standard_exponential(be_rng *rng) { return -be_math.log1p(-be_rng_double(rng)); }

/* A number of the uniform distribution between two params of the lane. */
static inline double be_draw_between(be_batch *batch, int64_t lane, int low) {
    return be_rng_uniform(&batch->rng[lane], be_param_of(batch, low, lane), be_param_of(batch, low + 1, lane));
}

/* The nearest number of steps of `dt` seconds. */
static inline int32_t be_steps_of(double seconds, double dt) { return (int32_t)fmin(rint(seconds / dt), 1e9); }

/* ---- starts of episodes ------------------------------------------------------------------------------ */

/* Turns a quaternion around the vertical of its own frame. */
static inline void be_turn(double quat[4], double yaw) {
    const double w = quat[0], x = quat[1], y = quat[2], z = quat[3];
    const double c = be_math.cos(yaw / 2), s = be_math.sin(yaw / 2);
    quat[0] = w * c - z * s;
    quat[1] = x * c + y * s;
    quat[2] = y * c - x * s;
    quat[3] = z * c + w * s;
}

/* Moves a robot by up to 0.5 m along x and y, and turns it around the vertical. */
static inline void be_scatter(double *qpos, be_rng *rng) {
    for (int j = 0; j < 2; j++) qpos[j] += be_rng_uniform(rng, -0.5, 0.5);
    be_turn(qpos + 3, be_rng_uniform(rng, -3.14, 3.14));
}
/* Velocities: of the trunk, up to 0.5 m/s and rad/s; of the joints, 0. */
static inline void be_scatter_velocities(double *qvel, int64_t joints, be_rng *rng) {
    memset(qvel, 0, (size_t)(6 + joints) * sizeof *qvel);
    for (int j = 0; j < 6; j++) qvel[j] = be_rng_uniform(rng, -0.5, 0.5);
}

/* ---- observations ------------------------------------------------------------------------------------ */

/* Noise of observations: a row of params. */
#define BE_NOISE(name, value, unit) MJ_WITHIN("noise_" name, value, 0, 1e6, "noise of observations: " unit)

/* Appends values as float32, each with noise in [-scale, scale). Without noise, scale is 0 and rng may be NULL. Returns
 * the end of the row. */
static inline float *be_append_noisy(float *row, const double *values, int64_t count, double scale, be_rng *rng) {
    for (int64_t j = 0; j < count; j++) {
        *row++ = (float)(values[j] + (rng ? scale * (2 * be_rng_double(rng) - 1) : 0.0));
    }
    return row;
}
static inline float *be_append_f32(float *row, const double *values, int64_t count) {
    return be_append_noisy(row, values, count, 0, NULL);
}

/* For observe(): rows that a field of the task's state holds. Where there are several observations, each is the
 * beginning of those numbers. */
static inline void be_observe_field(const be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows,
                                    int field) {
    for (int port = MJ_OBSERVATION_PORT; batch->type->ports[port].role == BE_OBSERVATION; port++) {
        const int64_t size = batch->space[port].shape[0];
        for (int64_t k = 0; k < count; k++) {
            memcpy(BE_ROW(float, rows->port[port], rows, lanes[k], size), MJ_FIELD(batch, field, float, lanes[k]),
                   (size_t)size * sizeof(float));
        }
    }
}

/* Where down is in the frame of a site or body: its xmat's inverse times (0, 0, -1). */
static inline void be_projected_gravity(const double xmat[9], double gravity[3]) {
    for (int j = 0; j < 3; j++) gravity[j] = -xmat[6 + j];
}

/* ---- sums that rewards are made of -------------------------------------------------------------------- */

static inline double be_squares(const double *values, int64_t count) {
    double sum = 0;
    for (int64_t j = 0; j < count; j++) sum += values[j] * values[j];
    return sum;
}
static inline double be_squared_distance(const double *a, const double *b, int64_t count) {
    double sum = 0;
    for (int64_t j = 0; j < count; j++) sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

static inline double be_absolutes(const double *values, int64_t count) {
    double sum = 0;
    for (int64_t j = 0; j < count; j++) sum += fabs(values[j]);
    return sum;
}

/* Of motors: the norm of their torques plus their sum, and their power. */
static inline double be_effort(const double *torque, int64_t count) {
    return sqrt(be_squares(torque, count)) + be_absolutes(torque, count);
}
static inline double be_power(const double *qvel, const double *torque, int64_t count) {
    double sum = 0;
    for (int64_t j = 0; j < count; j++) sum += fabs(qvel[j] * torque[j]);
    return sum;
}

/* How far a joint is beyond its limits. */
static inline double be_beyond(double position, double low, double high) {
    return fmax(low - position, 0) + fmax(position - high, 0);
}

/* The same, summed over joints whose limits are `soft` times their ranges wide, around the middle. ranges: pairs. */
static inline double be_beyond_soft(const double *positions, const double *ranges, double soft, int64_t count) {
    double sum = 0;
    for (int64_t j = 0; j < count; j++) {
        const double middle = (ranges[2 * j] + ranges[2 * j + 1]) / 2, width = ranges[2 * j + 1] - ranges[2 * j];
        sum += be_beyond(positions[j], middle - 0.5 * width * soft, middle + 0.5 * width * soft);
    }
    return sum;
}

/* The squared change of an action and, with the action before the last one, of its change. */
static inline double be_action_rate(const float *action, const float *last, const float *before, int64_t count) {
    double sum = 0;
    for (int64_t j = 0; j < count; j++) {
        const double once = (double)action[j] - (double)last[j];
        const double twice = before ? (double)action[j] - 2 * (double)last[j] + (double)before[j] : 0;
        sum += once * once + twice * twice;
    }
    return sum;
}

/* The reward for following a command: 1 without an error, and less the larger the squared error is. */
static inline double be_tracking(double squared_error, double sigma) { return be_math.exp(-squared_error / sigma); }

/* Parts of the reward that these tasks begin with: BE_TRUNK_TERMS of BE_ROBOT_READS. */
enum { BE_TRUNK_TERMS = 5 };
static inline void be_reward_trunk(const be_batch *batch, int64_t lane, const double *command, double sigma,
                                   double terms[BE_TRUNK_TERMS]) {
    const double turned = be_mujoco_read_of(batch, lane, BE_GYRO)[2] - command[2];
    const double rise = be_mujoco_read_of(batch, lane, BE_GLOBAL_LINVEL)[2];
    terms[0] = be_tracking(be_squared_distance(command, be_mujoco_read_of(batch, lane, BE_LINVEL), 2), sigma);
    terms[1] = be_tracking(turned * turned, sigma);
    terms[2] = rise * rise;
    terms[3] = be_squares(be_mujoco_read_of(batch, lane, BE_GLOBAL_ANGVEL), 2);
    terms[4] = be_squares(be_mujoco_read_of(batch, lane, BE_UPVECTOR), 2);
}

/* Weighs the parts of the reward, and writes them. weights: the first of their params. infos: the first of their ports.
 * Returns their sum times the seconds of a step. */
static inline double be_weigh(const be_batch *batch, int64_t lane, const be_rows *rows, const double *terms, int count,
                              int weights, int infos) {
    double sum = 0;
    for (int k = 0; k < count; k++) {
        const double weighted = terms[k] * be_param_of(batch, weights + k, lane);
        MJ_INFO(rows, infos + k, lane) = weighted;
        sum += weighted;
    }
    return sum * be_mujoco_dt(batch);
}
/* The same, where the reward is that sum if it is not negative: writes it, too. */
static inline void be_write_reward(const be_batch *batch, int64_t lane, const be_rows *rows, const double *terms,
                                   int count, int weights, int infos) {
    const double sum = be_weigh(batch, lane, rows, terms, count, weights, infos);
    rows->reward[lane - rows->first] = sum < 0 ? 0 : fmin(sum, 10000);
}

/* ---- commands: velocities forwards (m/s), to the left (m/s) and around the vertical (rad/s) ------------ */

enum { BE_COMMAND = 3 };

/* Commands that are kept for a time, whose mean is BE_COMMAND_SECONDS. */
#define BE_COMMAND_SECONDS 5.0
#define BE_COMMAND_FIELD {"command", BE_F64, BE_COMMAND, "velocities to follow: m/s forwards, m/s to the left, rad/s"}
#define BE_COMMAND_KEPT(name, value)                                                                                   \
    MJ_WITHIN("command_b_" name, value, 0, 1, "probability that this part of a new command is not 0")
#define BE_COMMAND_STEPS_FIELD {"steps_until_next_cmd", BE_I32, 1, "until the command changes"}

static inline int32_t be_command_steps(be_rng *rng, double dt) {
    return be_steps_of(be_standard_exponential(rng) * BE_COMMAND_SECONDS, dt);
}
static inline void be_command_start(double command[BE_COMMAND], int32_t *steps, const double most[BE_COMMAND],
                                    double dt, be_rng *rng) {
    *steps = be_command_steps(rng, dt);
    for (int j = 0; j < BE_COMMAND; j++) command[j] = be_rng_uniform(rng, -most[j], most[j]);
}
/* To be called once a step. When the time is over, each part of the command changes with probability 1/2: to a new
 * number with probability `kept`, and otherwise to 0. */
static inline void be_command_step_between(double command[BE_COMMAND], int32_t *steps, const double low[BE_COMMAND],
                                           const double high[BE_COMMAND], const double kept[BE_COMMAND], double dt,
                                           be_rng *rng) {
    if (*steps > 1) {
        *steps -= 1;
        return;
    }
    for (int j = 0; j < BE_COMMAND; j++) {
        const double drawn = be_rng_uniform(rng, low[j], high[j]);
        const int moves = be_rng_double(rng) < kept[j], changes = be_rng_double(rng) < 0.5;
        if (changes) command[j] = moves ? drawn : 0;
    }
    *steps = be_command_steps(rng, dt);
}
static inline void be_command_step(double command[BE_COMMAND], int32_t *steps, const double most[BE_COMMAND],
                                   const double kept[BE_COMMAND], double dt, be_rng *rng) {
    const double least[BE_COMMAND] = {-most[0], -most[1], -most[2]};
    be_command_step_between(command, steps, least, most, kept, dt, rng);
}

/* Commands between params, as in BE_COMMAND_RANGE: lowest and highest of each part. */
#define BE_COMMAND_RANGE(name, low, high, unit)                                                                        \
    MJ_WITHIN("command_" name "_min", low, -1e6, 1e6, "least command, " unit),                                         \
        MJ_WITHIN("command_" name "_max", high, -1e6, 1e6, "largest command, " unit)

/* ranges: the first of their params. The command is all 0 with probability `stands`. */
static inline void be_command_draw(be_batch *batch, int64_t lane, int ranges, double stands,
                                   double command[BE_COMMAND]) {
    for (int j = 0; j < BE_COMMAND; j++) command[j] = be_draw_between(batch, lane, ranges + 2 * j);
    if (be_rng_double(&batch->rng[lane]) < stands) memset(command, 0, BE_COMMAND * sizeof *command);
}

/* Such commands that are kept for `steps` steps: two fields that follow each other. `command` is the index of the first
 * one in the functions below. They are all 0 with probability 1/10. */
#define BE_COMMAND_STEP_FIELD(command, steps)                                                                          \
    [(command) + 1] = {"step", BE_I32, 1, "since the command has changed", 0, steps}
#define BE_COMMAND_FIELDS(command, steps) [command] = BE_COMMAND_FIELD, BE_COMMAND_STEP_FIELD(command, steps)
static inline void be_command_begin(be_batch *batch, int64_t lane, int command, int ranges) {
    be_command_draw(batch, lane, ranges, 0.1, MJ_FIELD(batch, command, double, lane));
    MJ_FIELD(batch, command + 1, int32_t, lane)[0] = 0;
}
/* To be called once a step. */
static inline void be_command_keep(be_batch *batch, int64_t lane, int command, int ranges, int32_t steps) {
    int32_t *step = MJ_FIELD(batch, command + 1, int32_t, lane);
    if (*step < steps) {
        *step += 1;
    } else {
        be_command_begin(batch, lane, command, ranges);
    }
}

/* ---- pushes: now and then, a force on the trunk that changes its velocity by `kick` / pi --------------- */

typedef struct be_push {
    double steps_until_next, duration_steps, duration; /* of this episode; the last one in seconds */
    double kick;                                       /* m/s, of this episode */
    double steps_since_last, steps;                    /* since the last push has ended; since this one has begun */
    double direction[2];
} be_push;
#define BE_PUSH_FIELD                                                                                                  \
    {"push", BE_F64, sizeof(be_push) / sizeof(double),                                                                 \
     "steps between pushes, a push's steps and seconds, kick (m/s), steps since the last one, steps of this one, its " \
     "direction: x, y"}

/* Their params follow each other in a task's table, which has BE_PUSH_PARAMS(the first one's index). */
enum {
    BE_PUSH_ENABLE,
    BE_PUSH_KICK,
    BE_PUSH_TIME = BE_PUSH_KICK + 2,
    BE_PUSH_WAIT = BE_PUSH_TIME + 2,
    BE_PUSH_COUNT = BE_PUSH_WAIT + 2
};
#define BE_PUSH_PARAM(first, index, name, value, low, doc)                                                             \
    [(first) + (index)] = {"pert_" name, BE_PARAM_FLOAT, value, low, 1e6, NULL, "pushes: " doc, 0}
#define BE_PUSH_PARAMS(first)                                                                                          \
    [(first) + BE_PUSH_ENABLE] = {"pert_enable", BE_PARAM_BOOL, 0, 0, 1, NULL, "push the trunk", 0, 1},                \
               BE_PUSH_PARAM(first, BE_PUSH_KICK, "velocity_kick_min", 0, -1e6,                                        \
                             "least size, m/s: pi times the change of velocity"),                                      \
               BE_PUSH_PARAM(first, BE_PUSH_KICK + 1, "velocity_kick_max", 3, -1e6, "largest size, m/s"),              \
               BE_PUSH_PARAM(first, BE_PUSH_TIME, "kick_durations_min", 0.05, 1e-6, "shortest time, s"),               \
               BE_PUSH_PARAM(first, BE_PUSH_TIME + 1, "kick_durations_max", 0.2, 1e-6, "longest time, s"),             \
               BE_PUSH_PARAM(first, BE_PUSH_WAIT, "kick_wait_times_min", 1, 0, "shortest time between two, s"),        \
               BE_PUSH_PARAM(first, BE_PUSH_WAIT + 1, "kick_wait_times_max", 3, 0, "longest time between two, s")

static inline void be_push_start(be_batch *batch, int64_t lane, int first, be_push *push) {
    const double dt = be_mujoco_dt(batch);
    *push = (be_push){0};
    push->steps_until_next = be_steps_of(be_draw_between(batch, lane, first + BE_PUSH_WAIT), dt);
    push->duration = be_draw_between(batch, lane, first + BE_PUSH_TIME);
    push->duration_steps = be_steps_of(push->duration, dt);
    push->kick = be_draw_between(batch, lane, first + BE_PUSH_KICK);
}
static inline int be_push_acts(const be_push *push) { return push->steps_since_last >= push->steps_until_next; }

/* To be called at the end of each step and reset: sets the force (N) of the next step, half a sine wave over the time
 * of the push. Without pushes, the force is the user's. mass: what is pushed, kg. */
static inline void be_push_step(be_batch *batch, int64_t lane, int first, be_push *push, double mass, double force[3]) {
    const int enabled = be_param_of(batch, first + BE_PUSH_ENABLE, lane) != 0;
    if (!enabled && push->steps == 0) return;
    memset(force, 0, 3 * sizeof *force);
    if (!enabled) { /* they have been switched off */
        push->steps = push->steps_since_last = 0;
    } else if (be_push_acts(push)) {
        const double time = push->steps * be_mujoco_dt(batch);
        const double share = 0.5 * be_math.sin(M_PI * time / push->duration);
        for (int j = 0; j < 2; j++) force[j] = share * mass * push->kick / push->duration * push->direction[j];
        if (push->steps >= push->duration_steps) push->steps_since_last = 0;
        push->steps += 1;
    } else {
        push->steps_since_last += 1;
        if (!be_push_acts(push)) return;
        const double angle = be_rng_uniform(&batch->rng[lane], 0, 2 * M_PI);
        push->steps = 0;
        push->direction[0] = be_math.cos(angle);
        push->direction[1] = be_math.sin(angle);
    }
}

/* ---- feet ---------------------------------------------------------------------------------------------- */

/* Whether any of `count` sensors that end in "_found" has found a contact. found: the first of their rows of reads. */
static inline int be_touches(const be_batch *batch, int64_t lane, int found, int count) {
    for (int k = 0; k < count; k++) {
        if (be_mujoco_read_of(batch, lane, found + k)[0] > 0) return 1;
    }
    return 0;
}

/* Three fields that follow each other. `air_time` is the index of the first one in the functions below. */
#define BE_FEET_FIELDS(air_time, count)                                                                                \
    [air_time] = {"feet_air_time", BE_F64, count, "since each foot has left the floor, s"},                            \
    [(air_time) + BE_SWING_PEAK] = {"swing_peak", BE_F64, count, "how high each foot has been since then, m"},         \
    [(air_time) + BE_LAST_CONTACT] = {"last_contact", BE_BOOL, count, "whether each foot was on the floor"}
enum { BE_SWING_PEAK = 1, BE_LAST_CONTACT, BE_FEET_FIELD_COUNT };

/* What rewards for the use of feet are made of: sums over the feet. */
typedef struct be_feet_sums {
    double slip;      /* squared speeds of feet on the floor */
    double clearance; /* distances from the wanted height, each times the root of the foot's speed */
    double height;    /* of feet that touch down: squared relative errors of how high they were */
    double air_time;  /* of feet that touch down: how long they were in the air, each less 0.1 s */
    double long_time; /* the same less 0.2 s, of each at most 0.3 s */
} be_feet_sums;

static inline void be_feet_start(be_batch *batch, int64_t lane, int air_time, int count) {
    memset(MJ_FIELD(batch, air_time, double, lane), 0, (size_t)count * sizeof(double));
    memset(MJ_FIELD(batch, air_time + BE_SWING_PEAK, double, lane), 0, (size_t)count * sizeof(double));
    memset(MJ_FIELD(batch, air_time + BE_LAST_CONTACT, uint8_t, lane), 0, (size_t)count);
}

/* To be called after the physics. found: the first of the rows of reads that say, for `count` feet each, whether its
 * `parts` parts are on the floor; where it is; and its velocity. wanted: how high feet are to be lifted, m. */
static inline be_feet_sums be_feet_step_of(be_batch *batch, int64_t lane, int air_time, int found, int count, int parts,
                                           double wanted) {
    double *air = MJ_FIELD(batch, air_time, double, lane),
           *peak = MJ_FIELD(batch, air_time + BE_SWING_PEAK, double, lane);
    const uint8_t *last = MJ_FIELD(batch, air_time + BE_LAST_CONTACT, uint8_t, lane);
    const double dt = be_mujoco_dt(batch);
    const int place = found + parts * count;
    be_feet_sums sums = {0};
    for (int k = 0; k < count; k++) {
        const double height = be_mujoco_read_of(batch, lane, place + k)[2];
        const double moved = be_squares(be_mujoco_read_of(batch, lane, place + count + k), 2);
        const int contact = be_touches(batch, lane, found + k * parts, parts);
        const int touches = air[k] > 0 && (contact || last[k]);
        air[k] += dt;
        peak[k] = fmax(peak[k], height);
        sums.clearance += fabs(height - wanted) * sqrt(sqrt(moved));
        if (contact) sums.slip += moved;
        if (!touches) continue;
        sums.height += (peak[k] / wanted - 1) * (peak[k] / wanted - 1);
        sums.air_time += air[k] - 0.1;
        sums.long_time += fmin(air[k] - 0.2, 0.3);
    }
    return sums;
}
static inline be_feet_sums be_feet_step(be_batch *batch, int64_t lane, int air_time, int found, int count,
                                        double wanted) {
    return be_feet_step_of(batch, lane, air_time, found, count, 1, wanted);
}

/* To be called when rewards and observations have been computed. Returns the mean of swing_peak. */
static inline double be_feet_end_of(be_batch *batch, int64_t lane, int air_time, int found, int count, int parts) {
    double *air = MJ_FIELD(batch, air_time, double, lane),
           *peak = MJ_FIELD(batch, air_time + BE_SWING_PEAK, double, lane), sum = 0;
    for (int k = 0; k < count; k++) {
        const int contact = be_touches(batch, lane, found + k * parts, parts);
        MJ_FIELD(batch, air_time + BE_LAST_CONTACT, uint8_t, lane)[k] = (uint8_t)contact;
        if (contact) air[k] = peak[k] = 0;
        sum += peak[k];
    }
    return sum / count;
}
static inline double be_feet_end(be_batch *batch, int64_t lane, int air_time, int found, int count) {
    return be_feet_end_of(batch, lane, air_time, found, count, 1);
}

#endif
