/* Tasks whose functions work on all lanes at once, in NumPy. A step of theirs has two parts. A batch of the type below
 * steps the lanes' physics. Then Python computes what each lane gives, and puts it on a stage (be_mujoco_stage), from
 * which a second batch over the same lanes takes it. That one's type is made by Python
 * (batchenv/_core/mujoco_tasks.pxi) of the functions in this file; resets, time limits, statistics and snapshots are
 * its. */
#include <string.h>

#include "core/driver.h"
#include "core/space.h"
#include "engines/mujoco/mujoco.h"

/* ---- the physics ---------------------------------------------------------------------------------------- */

enum { UNSTABLE = MJ_PORTS };
static const be_param params[] = {MJ_SHARED_PARAMS(1), {0}};
static const be_port ports[] = {MJ_SHARED_PORTS, [UNSTABLE] = MJ_UNSTABLE_INFO, {0}};

/* Actions and observations mean nothing, so actuators may have any ranges. */
static int prepare(be_setup *setup, be_error *error) {
    (void)error;
    const be_mujoco_view *model = setup->engine;
    const int64_t size = 1;
    be_space_box(&setup->space[MJ_OBSERVATION_PORT], BE_F64, 1, &size, 0, 0);
    be_space_box(&setup->space[MJ_ACTION_PORT], BE_F32, 1, &model->num_ctrl, 0, 0);
    return BE_OK;
}

/* The controls are where the task has written them, whatever the action is. */
static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    (void)action;
    const double *written = be_mujoco_arrays(b, lane)[MJ_CTRL];
    if (controls != written) memcpy(controls, written, (size_t)be_mujoco_of(b)->num_ctrl * sizeof *controls);
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) *MJ_OBSERVATION(b, rows, lanes[k]) = 0; /* nobody reads it */
    return BE_OK;
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    be_mujoco_clear_info(b, lane, rows);
    return be_mujoco_begin_controlled(b, lane, error);
}
MJ_RESET(reset, start)

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    *MJ_OBSERVATION(b, rows, lane) = 0;
    rows->reward[lane - rows->first] = 0;
    rows->terminated[lane - rows->first] = 0;
    return status;
}

BE_ENV(mujoco_physics) = {
    .name = "MuJoCoPhysics",
    MJ_SHARED_MEMBERS,
    .ports = ports,
    .params = params,
    .prepare = prepare,
    .control = control,
    .reset = reset,
    .observe = observe,
    .step = step,
};

/* ---- the stage -------------------------------------------------------------------------------------------- */

static const be_mujoco_stage *stage_of(const be_batch *b) { return be_mujoco_source_of(b)->stage; }

static size_t row_bytes(const be_batch *b, int port) {
    return be_dtype_size(b->space[port].dtype) * (size_t)be_space_row_size(&b->space[port]);
}

static int is_observation(const be_batch *b, int port) { return b->type->ports[port].role == BE_OBSERVATION; }

/* Copies a lane's row of a port from `source`, which has rows of all lanes, or zeros if that is NULL. */
static void show(const be_batch *b, int port, int64_t lane, const be_rows *rows, const unsigned char *source) {
    const size_t bytes = row_bytes(b, port);
    unsigned char *row = (unsigned char *)rows->port[port] + (size_t)(lane - rows->first) * bytes;
    if (source) {
        memcpy(row, source + (size_t)lane * bytes, bytes);
    } else {
        memset(row, 0, bytes);
    }
}

int be_mujoco_staged_open(be_batch *b, const void *engine, be_error *error) {
    const int status = be_mujoco_open(b, engine, error);
    b->driver->ahead = NULL; /* the physics is another batch's */
    return status;
}

int be_mujoco_staged_observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int port = MJ_OBSERVATION_PORT; b->type->ports[port].name; port++) {
        if (!is_observation(b, port)) continue;
        for (int64_t k = 0; k < count; k++) show(b, port, lanes[k], rows, stage_of(b)->port[port]);
    }
    return BE_OK;
}

int be_mujoco_staged_reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    const be_mujoco_stage *stage = stage_of(b);
    for (int64_t k = 0; k < count; k++) {
        const int64_t lane = lanes[k];
        ((int64_t *)b->state[MJ_FINGERPRINT])[lane] = be_mujoco_source_of(b)->fingerprint;
        if (stage->start_failure[lane]) return be_fail(error, BE_ERROR_ENGINE, lane, "%s", stage->start_failure[lane]);
        for (int port = MJ_OBSERVATION_PORT; b->type->ports[port].name; port++) {
            const size_t bytes = row_bytes(b, port), at = (size_t)lane * bytes;
            if (is_observation(b, port)) memcpy(stage->port[port] + at, stage->start[port] + at, bytes);
            show(b, port, lane, rows, is_observation(b, port) ? stage->port[port] : NULL);
        }
    }
    return BE_OK;
}

int be_mujoco_staged_step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const be_mujoco_stage *stage = stage_of(b);
    if (stage->failure[lane]) return be_fail(error, BE_ERROR_ENGINE, lane, "%s", stage->failure[lane]);
    for (int port = MJ_OBSERVATION_PORT; b->type->ports[port].name; port++) {
        show(b, port, lane, rows, stage->port[port]);
    }
    rows->reward[lane - rows->first] = stage->reward[lane];
    rows->terminated[lane - rows->first] = stage->terminated[lane];
    rows->truncated[lane - rows->first] = stage->truncated[lane];
    return BE_OK;
}

/* A lane's observation is not computed anew when it is restored, since that may draw random numbers. So a snapshot
 * holds it. */
static size_t copy_observation(const be_batch *b, int64_t lane, unsigned char *bytes, int back) {
    size_t total = 0;
    for (int port = MJ_OBSERVATION_PORT; b->type->ports[port].name; port++) {
        if (!is_observation(b, port)) continue;
        const size_t size = row_bytes(b, port);
        if (bytes) {
            unsigned char *row = stage_of(b)->port[port] + (size_t)lane * size, *saved = bytes + total;
            memcpy(back ? row : saved, back ? saved : row, size);
        }
        total += size;
    }
    return total;
}

size_t be_mujoco_staged_saved_bytes(const be_batch *b) {
    return be_mujoco_saved_bytes(b) + (copy_observation(b, 0, NULL, 0) + 7) / 8 * 8;
}

void be_mujoco_staged_save(const be_batch *b, int64_t lane, void *bytes) {
    unsigned char *end = (unsigned char *)bytes + be_mujoco_staged_saved_bytes(b);
    memset(end - 8, 0, 8); /* what fills the last word up */
    be_mujoco_save(b, lane, bytes);
    copy_observation(b, lane, (unsigned char *)bytes + be_mujoco_saved_bytes(b), 0);
}

void be_mujoco_staged_load(be_batch *b, int64_t lane, const void *bytes) {
    be_mujoco_load(b, lane, bytes);
    copy_observation(b, lane, (unsigned char *)(uintptr_t)bytes + be_mujoco_saved_bytes(b), 1);
}
