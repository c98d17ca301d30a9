/* What tasks of robots that walk have in common, in addition to mujoco_task.h: commands, pushes, contacts of feet,
 * noise of observations. Each part keeps its numbers in fields of the task's state. The rules are those of MuJoCo
 * Playground's joystick tasks; csrc/engines/mujoco/tasks/go1_joystick.c uses all of them. */
#ifndef BE_MUJOCO_LOCOMOTION_H
#define BE_MUJOCO_LOCOMOTION_H

#include <math.h>

#include "libm.h"
#include "mujoco_task.h"

/* ---- random numbers, time ---------------------------------------------------------------------------- */

/* Of the exponential distribution with mean 1. */
static inline double be_standard_exponential(be_rng *rng) { return -be_math.log1p(-be_rng_double(rng)); }

/* The nearest number of steps of `dt` seconds. */
static inline int32_t be_steps_of(double seconds, double dt) { return (int32_t)fmin(rint(seconds / dt), 1e9); }

/* ---- observations ------------------------------------------------------------------------------------ */

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

/* The reward for following a command: 1 without an error, and less the larger the squared error is. */
static inline double be_tracking(double squared_error, double sigma) { return be_math.exp(-squared_error / sigma); }

/* ---- commands: velocities forwards (m/s), to the left (m/s) and around the vertical (rad/s) ------------ */

enum { BE_COMMAND = 3 };

/* Commands that are kept for a time, whose mean is BE_COMMAND_SECONDS. */
#define BE_COMMAND_SECONDS 5.0
#define BE_COMMAND_FIELD {"command", BE_F64, BE_COMMAND, "velocities to follow: m/s forwards, m/s to the left, rad/s"}
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
static inline void be_command_step(double command[BE_COMMAND], int32_t *steps, const double most[BE_COMMAND],
                                   const double kept[BE_COMMAND], double dt, be_rng *rng) {
    if (*steps > 1) {
        *steps -= 1;
        return;
    }
    for (int j = 0; j < BE_COMMAND; j++) {
        const double drawn = be_rng_uniform(rng, -most[j], most[j]);
        const int moves = be_rng_double(rng) < kept[j], changes = be_rng_double(rng) < 0.5;
        if (changes) command[j] = moves ? drawn : 0;
    }
    *steps = be_command_steps(rng, dt);
}

/* ---- pushes: now and then, a force on the trunk that would change its velocity by `kick` --------------- */

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

/* Ranges of uniform distributions: low, high. */
typedef struct be_push_ranges {
    double kick[2], duration[2], wait[2]; /* m/s, s, s */
} be_push_ranges;

static inline void be_push_start(be_push *push, const be_push_ranges *ranges, double dt, be_rng *rng) {
    *push = (be_push){0};
    push->steps_until_next = be_steps_of(be_rng_uniform(rng, ranges->wait[0], ranges->wait[1]), dt);
    push->duration = be_rng_uniform(rng, ranges->duration[0], ranges->duration[1]);
    push->duration_steps = be_steps_of(push->duration, dt);
    push->kick = be_rng_uniform(rng, ranges->kick[0], ranges->kick[1]);
}
static inline int be_push_acts(const be_push *push) { return push->steps_since_last >= push->steps_until_next; }

/* Writes the force (N) of the next step: half a sine wave over the time of the push. mass: what is pushed, kg. */
static inline void be_push_step(be_push *push, double mass, double dt, be_rng *rng, double force[3]) {
    memset(force, 0, 3 * sizeof *force);
    if (!be_push_acts(push)) {
        push->steps_since_last += 1;
        if (!be_push_acts(push)) return;
        const double angle = be_rng_uniform(rng, 0, 2 * M_PI);
        push->steps = 0;
        push->direction[0] = be_math.cos(angle);
        push->direction[1] = be_math.sin(angle);
        return;
    }
    const double share = 0.5 * be_math.sin(M_PI * push->steps * dt / push->duration);
    for (int j = 0; j < 2; j++) force[j] = share * mass * push->kick / push->duration * push->direction[j];
    if (push->steps >= push->duration_steps) push->steps_since_last = 0;
    push->steps += 1;
}

/* ---- feet ---------------------------------------------------------------------------------------------- */

#define BE_AIR_TIME_FIELD(count) {"feet_air_time", BE_F64, count, "since each foot has left the floor, s"}
#define BE_SWING_PEAK_FIELD(count) {"swing_peak", BE_F64, count, "how high each foot has been since then, m"}
#define BE_LAST_CONTACT_FIELD(count) {"last_contact", BE_BOOL, count, "whether each foot was on the floor"}

/* One foot's numbers, in these fields. */
typedef struct be_foot {
    double *air_time, *swing_peak;
    uint8_t *last_contact;
} be_foot;

/* To be called after the physics. height: the foot's, m. Returns whether this is the foot's first contact after it was
 * in the air. */
static inline int be_foot_step(const be_foot *foot, int contact, double height, double dt) {
    const int first = *foot->air_time > 0 && (contact || *foot->last_contact);
    *foot->air_time += dt;
    *foot->swing_peak = fmax(*foot->swing_peak, height);
    return first;
}
/* To be called when rewards and observations have been computed. */
static inline void be_foot_end(const be_foot *foot, int contact) {
    *foot->last_contact = (uint8_t)(contact != 0);
    if (!contact) return;
    *foot->air_time = 0;
    *foot->swing_peak = 0;
}

#endif
