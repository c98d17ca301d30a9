/* What the files of this folder share, and tasks do not need. */
#ifndef BE_MUJOCO_INSIDE_H
#define BE_MUJOCO_INSIDE_H

#include "core/driver.h"
#include "core/system/jump.h"
#include "engines/mujoco/mujoco.h"

/* MuJoCo's error handler must not return, and the default one ends the process. This one jumps out of the call, as
 * MuJoCo's own bindings do. The contents of the mjData are then unknown; mj_resetData makes it usable again. */
typedef struct be_mujoco_guard {
    jmp_buf jump;
    char message[400];
} be_mujoco_guard;

/* From one to the other, errors of MuJoCo in this thread jump to g->jump, and warnings are not printed. */
void be_mujoco_enter(const be_mujoco_source *source, be_mujoco_guard *g);
void be_mujoco_leave(const be_mujoco_source *source);

/* Whether the user has set one of MuJoCo's callbacks. */
int be_mujoco_has_callbacks(const be_mujoco_source *source);

/* Takes a slot that nobody else uses until it is given back. There are as many slots as threads, so one is found at
 * once. `torn` is set to 1 if a thread of a parent process had it when this process was forked: its data may then be in
 * any state. */
be_mujoco_slot *be_mujoco_borrow(const be_mujoco_source *source, int64_t lane, int *torn);
void be_mujoco_give_back(const be_mujoco_source *source, be_mujoco_slot *slot);

/* Takes `times` steps of MuJoCo with a lane, in a slot; `forces`: also mj_rnePostConstraint. */
void be_mujoco_call_step(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                         int64_t times, int forces);

/* The warning of instability that there was in a slot's last call, or -1. */
int be_mujoco_take_unstable(const be_mujoco_source *source, const be_mujoco_slot *slot);

/* Steps of several lanes at once (engines/physics), before each lane's own step, which then takes what is ready. */
void be_mujoco_open_ahead(be_batch *batch);
be_ahead be_mujoco_ahead;
/* Copies the result of be_mujoco_ahead to the lane. Returns 0 if there is none. */
int be_mujoco_take_ahead(be_batch *batch, int64_t lane);
/* Forgets such a result. */
void be_mujoco_drop_ahead(be_batch *batch, int64_t lane);

#endif
