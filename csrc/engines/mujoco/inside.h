/* What the files of this folder share, and tasks do not need. Each file calls only those above it: guard.c,
 * acting.c, slots.c, ahead.c, engine.c. */
#ifndef BE_MUJOCO_INSIDE_H
#define BE_MUJOCO_INSIDE_H

#include "core/driver.h"
#include "core/system/jump.h"
#include "engines/mujoco/mujoco.h"

/* ---- guard.c ------------------------------------------------------------------------------------------ */

/* MuJoCo's error handler must not return, and the default one ends the process. This one jumps out of the call, as
 * MuJoCo's own bindings do. The contents of the mjData are then unknown; mj_resetData makes it usable again. */
typedef struct be_mujoco_guard {
    jmp_buf jump;
    char message[400];
} be_mujoco_guard;

/* From one to the other, errors of MuJoCo in this thread jump to g->jump, and warnings are not printed. */
void be_mujoco_enter(const be_mujoco_source *source, be_mujoco_guard *g);
void be_mujoco_leave(const be_mujoco_source *source);

/* To be called when a batch is opened and closed: in between, MuJoCo's steps of lanes need no time for its clock. */
void be_mujoco_open_guard(const be_mujoco_source *source);
void be_mujoco_close_guard(void);

/* ---- acting.c ----------------------------------------------------------------------------------------- */

/* Gives a lane that has not had an episode what the model has. */
void be_mujoco_begin_acting(be_batch *batch, int64_t lane);
/* Gives the slot's models what of the lane's state acts on them. */
void be_mujoco_act(const be_batch *batch, int64_t lane, const be_mujoco_slot *slot);
/* The same for groups, where the fields are of doubles: whether they are numbers that MuJoCo takes, and the lane's
 * numbers in a group. */
int be_mujoco_acts_soundly(const be_batch *batch, int64_t lane);
void be_mujoco_act_on_floats(const be_batch *batch, int64_t lane, double *floats);

/* ---- slots.c ------------------------------------------------------------------------------------------ */

/* Whether the user has set one of MuJoCo's callbacks. */
int be_mujoco_has_callbacks(const be_mujoco_source *source);

/* Takes a slot that nobody else uses until it is given back. There are as many slots as threads, so one is found at
 * once. `torn` is set to 1 if a thread of a parent process had it when this process was forked: its data may then be in
 * any state. */
be_mujoco_slot *be_mujoco_borrow(const be_mujoco_source *source, int64_t lane, int *torn);
void be_mujoco_give_back(const be_mujoco_source *source, be_mujoco_slot *slot);

/* The warning of instability that there was in a slot's last call, or -1. */
int be_mujoco_take_unstable(const be_mujoco_source *source, const be_mujoco_slot *slot);

/* What MuJoCo is to do with a lane. */
typedef struct be_mujoco_order {
    int64_t steps;         /* how many; be_mujoco_call_restore: 1 if the last step is to be repeated, or 0 */
    int forces;            /* 1: also mj_rnePostConstraint */
    const be_batch *batch; /* whose type writes controls of `lane` between steps; NULL: nobody does */
    int64_t lane;
    const void *action; /* as the action space has it: float or double */
    int *contacts;      /* be_mujoco_call_evaluate: set to how many contacts there are; or NULL */
    int warm;           /* be_mujoco_call_begin: 1: the lane keeps the accelerations with which the solver begins */
    const be_mujoco_approach *approach; /* be_mujoco_call_approach */
    const int64_t (*pairs)[2];          /* be_mujoco_call_press: of geoms */
    int64_t num_pairs;
    double *forces_of; /* each pair's, to which it adds */
} be_mujoco_order;

/* What MuJoCo does with a lane in a slot. */
typedef void be_mujoco_call(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                            const be_mujoco_order *order);
be_mujoco_call be_mujoco_call_begin, be_mujoco_call_step, be_mujoco_call_restore, be_mujoco_call_reset,
    be_mujoco_call_evaluate, be_mujoco_call_drop, be_mujoco_call_approach, be_mujoco_call_press;

/* Runs `call` on a lane, and turns MuJoCo's errors, and exceptions of the user's callbacks, into ours. `unstable` is
 * set to the warning of instability that occurred, or to -1. */
int be_mujoco_run(const be_batch *batch, int64_t lane, be_mujoco_call *call, const be_mujoco_order *order,
                  int *unstable, be_error *error);

/* ---- all files ---------------------------------------------------------------------------------------- */

/* Writes the controls of a lane for an action. batch: NULL where no task is, but in the self-check: the action is the
 * controls. */
static inline void be_mujoco_control(const be_mujoco_source *source, const be_batch *batch, int64_t lane,
                                     const void *action, double *controls) {
    if (batch && batch->type->control) {
        batch->type->control(batch, lane, action, controls);
    } else if (batch && batch->space[MJ_ACTION_PORT].dtype == BE_F64) {
        memcpy(controls, action, (size_t)source->num_ctrl * sizeof *controls);
    } else {
        for (int64_t j = 0; j < source->num_ctrl; j++) controls[j] = ((const float *)action)[j];
    }
}

/* The action of row k, counted from the first of `rows`. */
static inline const void *be_mujoco_action_at(const be_batch *batch, const be_rows *rows, int64_t k) {
    const be_space *space = &batch->space[MJ_ACTION_PORT];
    const size_t bytes = be_dtype_size(space->dtype) * (size_t)space->shape[0];
    return (const unsigned char *)rows->port[MJ_ACTION_PORT] + (size_t)k * bytes;
}

/* ---- models.c ----------------------------------------------------------------------------------------- */

/* Gives a lane whose episode begins the compiled model again, if it is new and its start has drawn none. */
int be_mujoco_settle_model(be_batch *batch, int64_t lane, int is_new, be_error *error);
/* What a snapshot of a lane has of its model, after its other bytes. */
size_t be_mujoco_drawn_bytes(const be_mujoco_source *source);
void be_mujoco_save_drawn(const be_mujoco_source *source, int64_t lane, void *bytes);
void be_mujoco_load_drawn(be_batch *batch, int64_t lane, const void *bytes);

/* ---- ahead.c ------------------------------------------------------------------------------------------ */

/* Steps of several lanes at once (engines/physics), before each lane's own step, which then takes what is ready. */
void be_mujoco_open_ahead(be_batch *batch);
/* Copies the result of such a step to the lane. Returns 0 if there is none. */
int be_mujoco_take_ahead(be_batch *batch, int64_t lane);
/* Begins the episodes of lanes that are about to be reset, and takes the steps for which they settle: see
 * be_mujoco_settling. */
void be_mujoco_begin_together(be_batch *batch, const int64_t *lanes, int64_t count);
/* Forgets such a result. */
void be_mujoco_drop_ahead(be_batch *batch, int64_t lane);

#endif
