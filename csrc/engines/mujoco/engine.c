#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/system/fork.h"
#include "engines/mujoco/inside.h"

const char *const be_mujoco_on_unstable[] = {"ignore", "reset", "raise", NULL};
enum { IGNORE, RESET, RAISE };

enum { FINGERPRINT };
const be_field be_mujoco_state[] = {
    [FINGERPRINT] = {"model_fingerprint", BE_I64, 1, "identifies the model: lanes of another model cannot be restored"},
    {0},
};

const char *const be_mujoco_array_names[MJ_ARRAYS] = {
    [MJ_QPOS] = "qpos",
    [MJ_QVEL] = "qvel",
    [MJ_CTRL] = "ctrl",
    [MJ_XPOS] = "xpos",
    [MJ_XIPOS] = "xipos",
    [MJ_CINERT] = "cinert",
    [MJ_CVEL] = "cvel",
    [MJ_QFRC_ACTUATOR] = "qfrc_actuator",
    [MJ_QFRC_CONSTRAINT] = "qfrc_constraint",
    [MJ_CFRC_EXT] = "cfrc_ext",
    [MJ_SITE_XPOS] = "site_xpos",
    [MJ_TEN_LENGTH] = "ten_length",
    [MJ_TEN_VELOCITY] = "ten_velocity",
    [MJ_BODY_MASS] = "body_mass",
};
const char *const be_mujoco_kept_names[] = {"sensordata",      "cacc",           "cfrc_int", "cfrc_ext",
                                            "subtree_linvel",  "subtree_angmom", "energy",   "qfrc_inverse",
                                            "flexvert_lambda", "flexvert_conage"};
const char *const be_mujoco_unstable_names[] = {"BADQPOS", "BADQVEL", "BADQACC", "BADCTRL"};
const char *const be_mujoco_body_names[] = {
    [MJ_MAIN_BODY] = "main_body", [MJ_FINGERTIP] = "fingertip", [MJ_TARGET] = "target",
    [MJ_TIPS_ARM] = "tips_arm",   [MJ_OBJECT] = "object",       [MJ_GOAL] = "goal",
};

const char *const be_mujoco_callback_names[] = {"mjcb_passive", "mjcb_control",  "mjcb_contactfilter", "mjcb_sensor",
                                                "mjcb_act_dyn", "mjcb_act_gain", "mjcb_act_bias"};

/* ---- errors and warnings ----------------------------------------------------------------------------- */

/* A thread-local variable that can be read without a function call, if the C library has room for it. This matters
 * because MuJoCo asks for the time some 30 times in each of its steps. */
#ifdef __GLIBC__
#define QUICK __attribute__((tls_model("initial-exec")))
#else
#define QUICK
#endif
static QUICK _Thread_local be_mujoco_guard *present;

static void on_error(const char *message) {
    snprintf(present->message, sizeof present->message, "%s", message);
    longjmp(present->jump, 1);
}

/* Does nothing: MuJoCo also counts warnings in the mjData, which is looked at after each step, so nothing is printed or
 * written to a log file. */
static void on_warning(const char *message) { (void)message; }

/* MuJoCo 4 passes a struct that holds the severity and, somewhere, the text. Where the text is, is found out by
 * provoking a message. */
static int log_error_level;
static ptrdiff_t log_text = -1;
#define LOG_TRIAL "batchenv looks where the text is"
#define LOG_TRIAL_BYTES 64

static void on_log_trial(const void *message) {
    const char *bytes = message;
    memcpy(&log_error_level, bytes, sizeof log_error_level);
    for (ptrdiff_t i = 0; i + (ptrdiff_t)sizeof LOG_TRIAL <= LOG_TRIAL_BYTES; i++) {
        if (memcmp(bytes + i, LOG_TRIAL, sizeof LOG_TRIAL) == 0) log_text = i;
    }
    longjmp(present->jump, 1);
}

static void on_log(const void *message) {
    int level;
    memcpy(&level, message, sizeof level);
    if (level == log_error_level) on_error(log_text < 0 ? "an error" : (const char *)message + log_text);
}

void be_mujoco_enter(const be_mujoco_source *source, be_mujoco_guard *g) {
    present = g;
    if (source->set_log) {
        source->set_log(on_log);
    } else {
        source->set_error(on_error);
        if (source->set_warning) source->set_warning(on_warning);
    }
}

void be_mujoco_leave(const be_mujoco_source *source) {
    if (source->set_log) {
        source->set_log(NULL);
    } else {
        source->set_error(NULL);
        if (source->set_warning) source->set_warning(NULL);
    }
    present = NULL;
}

static void learn_log(const be_mujoco_source *source) {
    be_mujoco_guard g;
    present = &g;
    source->set_log(on_log_trial);
    if (be_setjmp(g.jump) == 0) source->mju_error("%s", LOG_TRIAL);
    source->set_log(NULL);
    present = NULL;
}

/* ---- the clock ------------------------------------------------------------------------------------------- */

/* MuJoCo's bindings give it a clock, which it reads before and after every stage of a step to fill mjData.timer. For a
 * small model this takes up to half of the time of a step. Nobody sees the timers of mjData on loan, so steps of lanes
 * read 0 instead. All other callers of MuJoCo in this process get the clock as before. */
static double (**clock_variable)(void); /* MuJoCo's variable, while it holds our function */
static double (*clock_of_others)(void); /* what it held before */
static int64_t batches;                 /* how many are open; the lock protects it and the replacement of the clock */
static int clock_is_theirs;
static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;

static double clock_outside_lanes(void) { return present ? 0 : clock_of_others(); }

/* Our clock is set from the opening of the first batch to the end of the last one. If other code sets a clock in
 * between, that one stays. It might call ours, so ours is then never set again. */
static void stop_clock(const be_mujoco_source *source) {
    pthread_mutex_lock(&clock_lock);
    if (batches++ == 0 && !clock_is_theirs && source->time && *source->time) {
        clock_variable = source->time;
        clock_of_others = *clock_variable;
        __atomic_store_n(clock_variable, clock_outside_lanes, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&clock_lock);
}

static void give_clock_back(void) {
    pthread_mutex_lock(&clock_lock);
    if (--batches == 0 && clock_variable) {
        clock_is_theirs = *clock_variable != clock_outside_lanes;
        if (!clock_is_theirs) __atomic_store_n(clock_variable, clock_of_others, __ATOMIC_RELEASE);
        clock_variable = NULL;
    }
    pthread_mutex_unlock(&clock_lock);
}

/* ---- mjData on loan ------------------------------------------------------------------------------------ */

/* The value of be_mujoco_slot.busy while a thread of this process has the slot. It differs between processes: after a
 * fork, slots that the parent's other threads had will never be given back, since those threads do not exist in the
 * child. */
static int64_t busy_here(void) { return 1 + be_fork_count(); }

/* It is not inlined because guarded() calls setjmp, which is safe only for variables of its own frame. */
__attribute__((noinline)) be_mujoco_slot *be_mujoco_borrow(const be_mujoco_source *source, int64_t lane, int *torn) {
    static _Thread_local int64_t last; /* likely still in this core's cache */
    *torn = 0;
    if (source->num_slots == source->num_lanes) return &source->slots[lane];
    const int64_t here = busy_here();
    for (int64_t tries = 0;; tries++) {
        const int64_t index = (last + tries) % source->num_slots;
        be_mujoco_slot *slot = &source->slots[index];
        int64_t holder = __atomic_load_n(&slot->busy, __ATOMIC_RELAXED);
        if (holder != here &&
            __atomic_compare_exchange_n(&slot->busy, &holder, here, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            last = index;
            *torn = holder != 0;
            return slot;
        }
        if (tries % source->num_slots == source->num_slots - 1) sched_yield();
    }
}

void be_mujoco_give_back(const be_mujoco_source *source, be_mujoco_slot *slot) {
    if (source->num_slots != source->num_lanes) __atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
}

/* Makes a slot's data usable again, whatever is in it. */
static void renew(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot) {
    slot->stepped = 0;
    source->mj_reset_data(lane->model, slot->data);
}

static int keeps_more(const be_mujoco_source *source) { return source->row_size > source->state_size; }

/* Copies the MJ_KEPT arrays out of a slot or, with `back`, into it. Returns where they end in `state`. */
static double *copy_kept(const be_mujoco_source *source, const be_mujoco_slot *slot, double *state, int back) {
    double *row = state + source->state_size;
    for (int k = 0; k < MJ_KEPT; k++) {
        const size_t bytes = (size_t)source->kept_bytes[k];
        if (bytes) memcpy(back ? slot->kept[k] : row, back ? row : slot->kept[k], bytes);
        row += (bytes + sizeof *row - 1) / sizeof *row;
    }
    return row;
}

/* Makes the slot what it was when `state` was copied from one. MuJoCo computes the kinetic energy of data without
 * results anew where otherwise it takes the one of the step before, so such data gets results first. */
static void load_state(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                       double *state) {
    if (keeps_more(source) && !slot->stepped) source->mj_forward(lane->model, slot->data);
    slot->stepped = 1;
    source->mj_set_state(lane->model, slot->data, state, source->state_signature);
    if (keeps_more(source)) copy_kept(source, slot, state, 1);
}

/* Copies the slot's present state to `state`. */
static void copy_state(const be_mujoco_source *source, const be_mujoco_lane *lane, const be_mujoco_slot *slot,
                       double *state) {
    source->mj_get_state(lane->model, slot->data, state, source->state_signature);
    if (!keeps_more(source)) return;
    double *asleep = copy_kept(source, slot, state, 0);
    if (source->num_trees) memcpy(asleep, slot->tree_asleep, (size_t)source->num_trees * sizeof *slot->tree_asleep);
}

static void store_state(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot) {
    copy_state(source, lane, slot, lane->state);
    for (int64_t j = 0; j < source->num_arrays; j++) {
        if (source->copied[j]) memcpy(lane->arrays[j], slot->arrays[j], (size_t)source->sizes[j] * sizeof(double));
    }
}

int be_mujoco_has_callbacks(const be_mujoco_source *source) {
    for (int k = 0; k < MJ_CALLBACKS; k++) {
        if (source->callback[k] && *source->callback[k]) return 1;
    }
    return 0;
}

/* Runs `call` on a lane, and turns MuJoCo's errors, and exceptions of the user's callbacks, into ours. `unstable` is
 * set to the warning of instability that occurred, or to -1.
 */
typedef void call_on_lane(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                          int64_t times, int forces);

static int guarded(const be_batch *batch, int64_t lane, call_on_lane *call, int64_t times, int forces, int *unstable,
                   be_error *error) {
    const be_mujoco_source *source = be_mujoco_of(batch);
    int torn;
    be_mujoco_slot *const slot = be_mujoco_borrow(source, lane, &torn);
    const int held = be_mujoco_has_callbacks(source) ? source->hold_python() : -1;
    be_mujoco_guard g;
    be_mujoco_enter(source, &g);
    volatile int resets = 0;
    const int failed = be_setjmp(g.jump);
    if (!failed) {
        if (torn) renew(source, be_mujoco_lane_of(batch, lane), slot);
        call(source, be_mujoco_lane_of(batch, lane), slot, times, forces);
    } else if (resets++ == 0) { /* so that the next lane finds it in order */
        renew(source, be_mujoco_lane_of(batch, lane), slot);
    }
    be_mujoco_leave(source);
    const int raised = held >= 0 && source->let_python_go(source->owner, held, lane);
    *unstable = be_mujoco_take_unstable(source, slot);
    be_mujoco_give_back(source, slot);
    if (raised)
        return be_fail(error, BE_ERROR_ENGINE, lane, "a callback of MuJoCo's (mjcb_...) has raised an exception");
    return failed ? be_fail(error, BE_ERROR_ENGINE, lane, "MuJoCo: %s", g.message) : BE_OK;
}

/* Starts an episode with the lane's qpos and qvel. Resets the data first, because mj_forward does not touch what only
 * other functions compute, and that would be another lane's. */
static void call_begin(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot, int64_t times,
                       int forces) {
    (void)times, (void)forces;
    source->mj_reset_data(lane->model, slot->data);
    memcpy(slot->arrays[MJ_QPOS], lane->arrays[MJ_QPOS], (size_t)source->num_qpos * sizeof(double));
    memcpy(slot->arrays[MJ_QVEL], lane->arrays[MJ_QVEL], (size_t)source->num_qvel * sizeof(double));
    source->mj_forward(lane->model, slot->data);
    slot->stepped = 1;
    store_state(source, lane, slot);
}

void be_mujoco_call_step(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                         int64_t times, int forces) {
    load_state(source, lane, slot, lane->state);
    memcpy(slot->arrays[MJ_CTRL], lane->arrays[MJ_CTRL], (size_t)source->num_ctrl * sizeof(double));
    for (int64_t k = 0; k < times; k++) {
        if (k == times - 1) copy_state(source, lane, slot, lane->before);
        source->mj_step(lane->model, slot->data);
    }
    if (forces) source->mj_rne_post_constraint(lane->model, slot->data);
    store_state(source, lane, slot);
}

/* Puts trees to sleep and wakes them as `saved` says; NULL means that all are awake. Trees that fell asleep together
 * form a ring, in which each has the number of the next. If a forged snapshot holds no such rings, all trees are awake,
 * too. */
static void put_asleep(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                       const double *saved) {
    const unsigned char *bytes = (const unsigned char *)saved;
    int32_t *asleep = slot->tree_asleep;
    int sound = saved != NULL;
    for (int64_t k = 0; k < source->num_trees; k++) asleep[k] = -1;
    for (int64_t k = 0; sound && k < source->num_trees; k++) {
        int32_t next, after;
        memcpy(&next, bytes + (size_t)k * sizeof next, sizeof next);
        if (next < 0) continue;
        sound = next < source->num_trees && asleep[next] < 0;
        if (!sound) break;
        memcpy(&after, bytes + (size_t)next * sizeof next, sizeof after);
        sound = after >= 0;
        asleep[next] = 0; /* the next tree of some tree */
    }
    for (int64_t k = 0; k < source->num_trees; k++) asleep[k] = -1;
    if (sound) memcpy(asleep, bytes, (size_t)source->num_trees * sizeof *asleep);
    source->mj_update_sleep(lane->model, slot->data);
}

/* For models whose bodies may sleep: makes the lane's own mjData what it was when the lane was saved. MuJoCo does not
 * recompute what belongs to a sleeping body, so mj_forward first runs with all bodies awake. `stepped`: the last step
 * is repeated. */
static void call_restore(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                         int64_t stepped, int forces) {
    (void)forces;
    double *state = stepped ? lane->before : lane->state;
    const unsigned signature = source->state_signature;
    source->mj_reset_data(lane->model, slot->data);
    source->mj_set_state(lane->model, slot->data, state, signature);
    put_asleep(source, lane, slot, NULL);
    source->mj_forward(lane->model, slot->data);
    source->mj_set_state(lane->model, slot->data, state, signature);
    put_asleep(source, lane, slot, copy_kept(source, slot, state, 1));
    if (stepped) source->mj_step(lane->model, slot->data);
    copy_kept(source, slot, lane->state, 1);
}

/* Repeats the lane's last step. Returns whether this has led to where the lane is. */
static int repeat_step(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                       double *scratch) {
    load_state(source, lane, slot, lane->before);
    source->mj_step(lane->model, slot->data);
    source->mj_get_state(lane->model, slot->data, scratch, source->state_signature);
    return memcmp(scratch, lane->state, (size_t)source->state_size * sizeof *scratch) == 0;
}

int be_mujoco_remake(const be_mujoco_source *source, int64_t lane, int stepped, be_mujoco_slot *slot, double *scratch,
                     be_error *error) {
    const be_mujoco_lane *handles = &source->lanes[lane];
    be_mujoco_guard g;
    be_mujoco_enter(source, &g);
    const int failed = be_setjmp(g.jump);
    if (!failed) {
        renew(source, handles, slot);
        if (!stepped || !repeat_step(source, handles, slot, scratch)) {
            renew(source, handles, slot);
            source->mj_set_state(handles->model, slot->data, handles->state, source->state_signature);
            source->mj_forward(handles->model, slot->data);
        }
        if (stepped) source->mj_rne_post_constraint(handles->model, slot->data);
    }
    be_mujoco_leave(source);
    return failed ? be_fail(error, BE_ERROR_ENGINE, lane, "MuJoCo: %s", g.message) : BE_OK;
}

/* ---- steps and resets --------------------------------------------------------------------------------- */

/* By default MuJoCo resets the data of an unstable simulation, and with it the counters of warnings. So they are set to
 * 0 here, too. */
int be_mujoco_take_unstable(const be_mujoco_source *source, const be_mujoco_slot *slot) {
    int found = -1;
    for (int k = 0; k < MJ_UNSTABLE; k++) {
        int32_t *count = (int32_t *)((char *)slot->warnings + source->unstable[k] * source->warning_stride);
        if (*count != 0) {
            *count = 0;
            found = k;
        }
    }
    return found;
}

int be_mujoco_advance(be_batch *batch, int64_t lane, const be_rows *rows, int unstable_info, int contact_forces,
                      be_error *error) {
    const be_mujoco_source *source = be_mujoco_of(batch);
    const be_mujoco_lane *handles = be_mujoco_lane_of(batch, lane);
    const float *action = MJ_ACTION(batch, rows, lane);
    for (int64_t j = 0; j < source->num_ctrl; j++) handles->arrays[MJ_CTRL][j] = action[j];
    int unstable = -1, status = BE_OK;
    if (!be_mujoco_take_ahead(batch, lane)) {
        const int64_t steps = (int64_t)be_param_of(batch, MJ_FRAME_SKIP, 0);
        status = guarded(batch, lane, be_mujoco_call_step, steps, contact_forces, &unstable, error);
        source->lanes[lane].alone[handles->why] += steps;
    }
    BE_ROW(uint8_t, rows->port[unstable_info], rows, lane, 1)[0] = unstable >= 0;
    if (status != BE_OK || unstable < 0) return status;
    switch ((int)be_param_of(batch, MJ_ON_UNSTABLE, 0)) {
    case RAISE:
        return be_fail(error, BE_ERROR_ENGINE, lane,
                       "the simulation is unstable (MuJoCo's warning %s); on_unstable='ignore' or 'reset' goes on",
                       be_mujoco_unstable_names[unstable]);
    case RESET:
        rows->truncated[lane - rows->first] = 1;
        return BE_OK;
    default:
        return BE_OK;
    }
}

int be_mujoco_begin(be_batch *batch, int64_t lane, be_error *error) {
    int unstable;
    be_mujoco_drop_ahead(batch, lane);
    ((int64_t *)batch->state[FINGERPRINT])[lane] = be_mujoco_of(batch)->fingerprint;
    return guarded(batch, lane, call_begin, 1, 0, &unstable, error);
}

int be_mujoco_start(be_batch *batch, int64_t lane, double scale, int normal, be_error *error) {
    const be_mujoco_source *source = be_mujoco_of(batch);
    const be_mujoco_lane *handles = be_mujoco_lane_of(batch, lane);
    be_rng *rng = &batch->rng[lane];
    for (int64_t j = 0; j < source->num_qpos; j++) {
        handles->arrays[MJ_QPOS][j] = source->init_qpos[j] + be_rng_uniform(rng, -scale, scale);
    }
    for (int64_t j = 0; j < source->num_qvel; j++) {
        const double noise = normal ? scale * be_rng_standard_normal(rng) : be_rng_uniform(rng, -scale, scale);
        handles->arrays[MJ_QVEL][j] = source->init_qvel[j] + noise;
    }
    return be_mujoco_begin(batch, lane, error);
}

void be_mujoco_clear_info(const be_batch *batch, int64_t lane, const be_rows *rows) {
    for (int k = MJ_PORTS; batch->type->ports[k].name; k++) {
        const be_space *space = &batch->space[k];
        const size_t bytes = be_dtype_size(space->dtype) * (size_t)(space->ndim ? space->shape[0] : 1);
        memset((unsigned char *)rows->port[k] + (size_t)(lane - rows->first) * bytes, 0, bytes);
    }
}

/* ---- making and keeping -------------------------------------------------------------------------------- */

int be_mujoco_spaces(be_setup *setup, int64_t observation_size, int64_t positions, int64_t velocities,
                     be_error *error) {
    const be_mujoco_source *source = setup->engine;
    if (source->num_qpos < positions || source->num_qvel < velocities || source->num_ctrl < 1 || observation_size < 1) {
        return be_fail(
            error, BE_ERROR_VALUE, -1,
            "the XML's model has %lld positions, %lld velocities and %lld actuators, but at least %lld, %lld "
            "and 1 are needed",
            (long long)source->num_qpos, (long long)source->num_qvel, (long long)source->num_ctrl, (long long)positions,
            (long long)velocities);
    }
    for (int64_t i = 1; source->num_ctrl > BE_MAX_BOUNDS && i < source->num_ctrl; i++) {
        if (source->control_low[i] != source->control_low[0] || source->control_high[i] != source->control_high[0]) {
            return be_fail(
                error, BE_ERROR_VALUE, -1,
                "the XML's model has %lld actuators; of more than %d, all need the same ctrlrange: give them one "
                "of -1 1 and a gear each",
                (long long)source->num_ctrl, BE_MAX_BOUNDS);
        }
    }
    be_space_box(&setup->space[MJ_OBSERVATION_PORT], BE_F64, 1, &observation_size, -HUGE_VAL, HUGE_VAL);
    be_space *action = &setup->space[MJ_ACTION_PORT];
    be_space_box(action, BE_F32, 1, &source->num_ctrl, 0, 0);
    for (int i = 0; i < BE_MAX_BOUNDS && i < source->num_ctrl; i++) {
        action->low[i] = (double)(float)source->control_low[i];
        action->high[i] = (double)(float)source->control_high[i];
    }
    return BE_OK;
}

int be_mujoco_open(be_batch *batch, const void *engine, be_error *error) {
    const be_mujoco_source *source = engine;
    if (source == NULL || source->num_lanes != batch->num_lanes) {
        return be_fail(error, BE_ERROR_VALUE, -1, "%s needs MuJoCo's handles: make it with batchenv.make()",
                       batch->type->name);
    }
    batch->engine = (void *)(uintptr_t)engine;
    if (source->set_log) learn_log(source);
    stop_clock(source);
    be_mujoco_open_ahead(batch);
    return BE_OK;
}

/* Everything except the clock belongs to the caller. */
void be_mujoco_close(be_batch *batch) {
    (void)batch;
    give_clock_back();
}

size_t be_mujoco_saved_bytes(const be_batch *batch) {
    const be_mujoco_source *source = be_mujoco_of(batch);
    size_t count = 2 * (size_t)source->row_size;
    for (int64_t j = 0; j < source->num_arrays; j++) count += source->copied[j] ? (size_t)source->sizes[j] : 0;
    return count * sizeof(double);
}

/* Copies a lane's state into `bytes` or, with `back`, out of them. */
static void copy_lane(const be_batch *batch, int64_t lane, unsigned char *bytes, int back) {
    const be_mujoco_source *source = be_mujoco_of(batch);
    const be_mujoco_lane *handles = be_mujoco_lane_of(batch, lane);
#define COPY(values, count)                                                                                            \
    do {                                                                                                               \
        const size_t size_ = (size_t)(count) * sizeof(double);                                                         \
        memcpy(back ? (unsigned char *)(values) : bytes, back ? bytes : (unsigned char *)(values), size_);             \
        bytes += size_;                                                                                                \
    } while (0)
    COPY(handles->state, source->row_size);
    COPY(handles->before, source->row_size);
    for (int64_t j = 0; j < source->num_arrays; j++) {
        if (source->copied[j]) COPY(handles->arrays[j], source->sizes[j]);
    }
#undef COPY
}

void be_mujoco_save(const be_batch *batch, int64_t lane, void *bytes) { copy_lane(batch, lane, bytes, 0); }

void be_mujoco_load(be_batch *batch, int64_t lane, const void *bytes) {
    copy_lane(batch, lane, (unsigned char *)(uintptr_t)bytes, 1);
    be_mujoco_drop_ahead(batch, lane);
    if (be_mujoco_of(batch)->num_trees == 0) return;
    be_error error; /* there will be none, because MuJoCo has been in this state before */
    int unstable;
    (void)guarded(batch, lane, call_restore, batch->elapsed[lane] > 0, 0, &unstable, &error);
}

int be_mujoco_check_state(const be_batch *batch, const void *const *columns, int64_t count, be_error *error) {
    const int64_t *fingerprints = columns[FINGERPRINT];
    for (int64_t k = 0; k < count; k++) {
        if (fingerprints[k] != be_mujoco_of(batch)->fingerprint) {
            return be_fail(
                error, BE_ERROR_VALUE, -1,
                "the snapshot is not of this model and MuJoCo version: its lane %lld has another fingerprint",
                (long long)k);
        }
    }
    return BE_OK;
}
