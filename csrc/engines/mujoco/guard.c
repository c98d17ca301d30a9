/* What MuJoCo calls in this process: for errors, for warnings, and for the time. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "engines/mujoco/inside.h"

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
void be_mujoco_open_guard(const be_mujoco_source *source) {
    if (source->set_log) learn_log(source);
    pthread_mutex_lock(&clock_lock);
    if (batches++ == 0 && !clock_is_theirs && source->time && *source->time) {
        clock_variable = source->time;
        clock_of_others = *clock_variable;
        __atomic_store_n(clock_variable, clock_outside_lanes, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&clock_lock);
}

void be_mujoco_close_guard(void) {
    pthread_mutex_lock(&clock_lock);
    if (--batches == 0 && clock_variable) {
        clock_is_theirs = *clock_variable != clock_outside_lanes;
        if (!clock_is_theirs) __atomic_store_n(clock_variable, clock_of_others, __ATOMIC_RELEASE);
        clock_variable = NULL;
    }
    pthread_mutex_unlock(&clock_lock);
}
