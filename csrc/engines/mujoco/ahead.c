/* Steps of several lanes at once. Where csrc/engines/physics does not know a lane's contacts, or constraints, MuJoCo's
 * own functions find or solve them, in an mjData that is lent to the lane. */
#include <string.h>

#include "engines/mujoco/inside.h"

const char *const be_mujoco_state_names[] = {"TIME", "QPOS",         "QVEL",         "ACT",       "WARMSTART",
                                             "CTRL", "QFRC_APPLIED", "XFRC_APPLIED", "MOCAP_POS", "MOCAP_QUAT"};
const char *const be_mujoco_stage_names[] = {"mj_tendon",        "mj_collision",         "mj_makeConstraint",
                                             "mj_island",        "mj_projectConstraint", "mj_referenceConstraint",
                                             "mj_fwdConstraint", "mj_sensorPos",         "mj_sensorAcc",
                                             "mj_sensorVel",     "mj_camlight",          "mj_energyPos"};

const char *const be_mujoco_alone_texts[] = {
    [MJ_ALONE_SINGLE] = "because no other lane was at hand",
    [MJ_ALONE_MODEL] = "because of the model that the lane had",
    [MJ_ALONE_INPUT] = "because equalities had been switched on or off",
    [MJ_ALONE_CALLBACK] = "because a callback of MuJoCo's was set",
    [MJ_ALONE_FAILED] = "because of numbers at which MuJoCo may warn",
};

enum { TOGETHER = 64 }; /* lanes that are divided into groups at a time */

/* A group under way. */
typedef struct task {
    const be_mujoco_source *source;
    const be_batch *batch; /* NULL in the self-check: see be_mujoco_control */
    be_mujoco_slot *slot;
    be_mujoco_lane *lanes[BE_PHYSICS_LANES];
    const void *const *actions; /* of these lanes; NULL: their controls stay */
    int count;
    int64_t steps;
    int forces, body_forces, accelerations, sensors, pushed; /* see be_physics_job */
    int shows_pushes;                                        /* 1: somebody reads what is applied */
    be_mujoco_guard *guard;
    int lent; /* 1: the slot's mjData holds what it needs besides what LEND copies */
} task;

static int64_t number_of(const task *t, int lane) { return t->lanes[lane] - t->source->lanes; }

/* The mjModel of a lane. If the lane acts on it, it is to be asked for before each call of MuJoCo's. */
static const void *model_of(const task *t, int lane) {
    if (t->source->num_acting == 0) return t->lanes[lane]->model;
    be_mujoco_act(t->batch, number_of(t, lane), t->slot);
    return t->slot->model[MJ_WHOLE];
}

/* ---- one lane's constraints ---------------------------------------------------------------------------- */

static void lend(const task *t, const be_physics_group *group, int lane, const int *arrays, size_t count) {
    for (size_t k = 0; k < count; k++) {
        double *to = t->slot->mirror[arrays[k]];
        if (to) t->source->together.isa->read(group, arrays[k], lane, to);
    }
}
#define LEND(t, group, lane, ...)                                                                                      \
    do {                                                                                                               \
        static const int arrays_[] = {__VA_ARGS__};                                                                    \
        lend(t, group, lane, arrays_, sizeof arrays_ / sizeof *arrays_);                                               \
    } while (0)

/* To be called before a lane lends the mjData its arrays: makes it sound. */
static void begin_lending(task *t) {
    const be_mujoco_source *source = t->source;
    const be_mujoco_lane *first = t->lanes[0];
    if (!t->lent) source->mj_set_state(first->model, t->slot->data, first->state, source->state_signature);
    t->lent = 1;
}

static void lend_places(const task *t, const be_physics_group *group, int lane) {
    LEND(t, group, lane, BE_ARRAY_xpos, BE_ARRAY_xquat, BE_ARRAY_xmat, BE_ARRAY_xipos, BE_ARRAY_ximat,
         BE_ARRAY_geom_xpos, BE_ARRAY_geom_xmat, BE_ARRAY_site_xpos, BE_ARRAY_site_xmat, BE_ARRAY_site_xquat,
         BE_ARRAY_cvel);
}

/* Has MuJoCo find what constrains a lane. */
static void find(task *t, be_physics_group *group, int lane, int wants) {
    const be_mujoco_source *source = t->source;
    const be_mujoco_together *together = &source->together;
    const void *model = model_of(t, lane);
    void *data = t->slot->data;
    begin_lending(t);
    LEND(t, group, lane, BE_ARRAY_qpos, BE_ARRAY_qvel, BE_ARRAY_cdof, BE_ARRAY_subtree_com, BE_ARRAY_M, BE_ARRAY_qLD,
         BE_ARRAY_qLDiagInv, BE_ARRAY_qfrc_smooth, BE_ARRAY_qacc_smooth, BE_ARRAY_qacc_warmstart);
    if (wants & BE_WANTS_CONTACTS) LEND(t, group, lane, BE_ARRAY_cdof_dot);
    if (wants & BE_WANTS_CONTACTS || *together->model.spatial) lend_places(t, group, lane);
    if (together->model.ntendon) together->stage[MJ_STAGE_TENDON](model, data);
    together->stage[MJ_STAGE_COLLISION](wants & BE_WANTS_CONTACTS ? model : together->without_contacts, data);
}

/* See be_physics_look_for. */
static int collide(void *context, int lane, const int32_t *geoms, const double *places, double margin,
                   be_physics_contact *found) {
    task *t = context;
    const be_mujoco_together *together = &t->source->together;
    const be_mujoco_slot *slot = t->slot;
    const void *model = model_of(t, lane);
    if (be_setjmp(t->guard->jump)) { /* an error of MuJoCo: mj_step will report it */
        t->source->mj_reset_data(model, slot->data);
        return -1;
    }
    begin_lending(t);
    for (int side = 0; side < 2; side++) {
        memcpy(slot->mirror[BE_ARRAY_geom_xpos] + 3 * geoms[side], places + 12 * side, 3 * sizeof *places);
        memcpy(slot->mirror[BE_ARRAY_geom_xmat] + 9 * geoms[side], places + 12 * side + 3, 9 * sizeof *places);
    }
    const int32_t *type = together->model.geom_type;
    const int row = type[geoms[0]] * together->num_geom_types;
    return together->collisions[row + type[geoms[1]]](model, slot->data, found, geoms[0], geoms[1], margin);
}

/* See be_physics_constrain. */
static int constrain(void *context, be_physics_group *group, int lane, int wants) {
    task *t = context;
    const be_mujoco_source *source = t->source;
    const be_mujoco_together *together = &source->together;
    const void *model = model_of(t, lane);
    void *data = t->slot->data;
    if (be_setjmp(t->guard->jump)) {
        source->mj_reset_data(model, data);
        return 0;
    }
    find(t, group, lane, wants);
    for (int k = MJ_STAGE_MAKE; k <= MJ_STAGE_SOLVE; k++) together->stage[k](model, data);
    together->isa->write(group, BE_ARRAY_qacc, lane, t->slot->mirror[BE_ARRAY_qacc]);
    together->isa->write(group, BE_ARRAY_qfrc_constraint, lane, t->slot->mirror[BE_ARRAY_qfrc_constraint]);
    if (wants & BE_WANTS_FORCES) {
        if (t->pushed) LEND(t, group, lane, BE_ARRAY_xfrc_applied);
        source->mj_rne_post_constraint(model, data);
        together->isa->write(group, BE_ARRAY_cfrc_ext, lane, t->slot->mirror[BE_ARRAY_cfrc_ext]);
    }
    if (wants & BE_WANTS_SENSORS) { /* those of contacts are right, the others are not */
        for (int k = MJ_STAGE_SENSE; k <= MJ_STAGE_SENSE_FORCES; k++) {
            if (together->stage[k]) together->stage[k](model, data);
        }
        together->isa->write(group, BE_ARRAY_sensordata, lane, t->slot->mirror[BE_ARRAY_sensordata]);
    }
    return 1;
}

/* See be_physics_sense. */
static const double *sense(void *context, be_physics_group *group, int lane) {
    task *t = context;
    const be_mujoco_together *together = &t->source->together;
    const void *model = model_of(t, lane);
    void *data = t->slot->data;
    if (be_setjmp(t->guard->jump)) {
        t->source->mj_reset_data(model, data);
        return NULL;
    }
    begin_lending(t);
    LEND(t, group, lane, BE_ARRAY_qpos, BE_ARRAY_qvel, BE_ARRAY_subtree_com, BE_ARRAY_M, BE_ARRAY_ten_length);
    lend_places(t, group, lane);
    static const int stages[] = {MJ_STAGE_CAMERAS, MJ_STAGE_POTENTIAL, MJ_STAGE_SENSE, MJ_STAGE_SENSE_VELOCITIES};
    for (size_t k = 0; k < sizeof stages / sizeof *stages; k++) {
        if (together->stage[stages[k]]) together->stage[stages[k]](model, data);
    }
    return t->slot->mirror[BE_ARRAY_sensordata];
}

/* ---- a group -------------------------------------------------------------------------------------------- */

/* Copies the parts of a state that a group changes, except for the time, from the group to a row. */
static void read_state(const task *t, const be_physics_group *group, int lane, double *row) {
    const be_mujoco_together *together = &t->source->together;
    together->isa->read(group, BE_ARRAY_qpos, lane, row + together->state_at[MJ_STATE_QPOS]);
    together->isa->read(group, BE_ARRAY_qvel, lane, row + together->state_at[MJ_STATE_QVEL]);
    together->isa->read(group, BE_ARRAY_act, lane, row + together->state_at[MJ_STATE_ACT]);
    together->isa->read(group, BE_ARRAY_qacc_warmstart, lane, row + together->state_at[MJ_STATE_WARMSTART]);
}

static double *before_of(const task *t, int lane) { return t->lanes[lane]->ahead + t->source->row_size; }

/* Lets the task write a lane's controls anew, for its next step. */
static void recontrol(const task *t, be_physics_group *group, int lane, int64_t step) {
    const be_mujoco_source *source = t->source;
    const be_mujoco_together *together = &source->together;
    double *state = t->lanes[lane]->ahead;
    double *qpos = state + together->state_at[MJ_STATE_QPOS], *qvel = state + together->state_at[MJ_STATE_QVEL];
    double *controls = state + together->state_at[MJ_STATE_CTRL];
    together->isa->read(group, BE_ARRAY_qpos, lane, qpos);
    together->isa->read(group, BE_ARRAY_qvel, lane, qvel);
    t->batch->type->recontrol(t->batch, t->lanes[lane] - source->lanes, t->actions[lane], step, qpos, qvel, controls);
    together->isa->write(group, BE_ARRAY_ctrl, lane, controls);
    memcpy(before_of(t, lane) + together->state_at[MJ_STATE_CTRL], controls,
           (size_t)source->num_ctrl * sizeof *controls);
}

static int before_step(void *context, be_physics_group *group, int64_t step) {
    const task *t = context;
    const int changes = step && t->batch && t->batch->type->recontrol;
    for (int lane = 0; changes && lane < t->count; lane++) recontrol(t, group, lane, step);
    for (int lane = 0; step == t->steps - 1 && lane < t->count; lane++) {
        read_state(t, group, lane, before_of(t, lane));
    }
    return changes;
}

/* Lets the task write positions after the last step. */
static void pin(void *context, be_physics_group *group) {
    const task *t = context;
    const be_mujoco_source *source = t->source;
    for (int lane = 0; lane < t->count; lane++) {
        double *before = before_of(t, lane), *qpos = before + source->together.state_at[MJ_STATE_QPOS];
        read_state(t, group, lane, before);
        source->pin(t->batch, number_of(t, lane), qpos);
        source->together.isa->write(group, BE_ARRAY_qpos, lane, qpos);
    }
}
static int pins(const task *t) { return t->source->pin && t->batch && t->actions; }

/* Copies a lane's state and controls to the group, and to what will be its result. */
static void begin_lane(const task *t, int lane, const void *action) {
    const be_mujoco_source *source = t->source;
    const be_mujoco_together *together = &source->together;
    const be_mujoco_lane *handles = t->lanes[lane];
    be_physics_group *group = t->slot->group;
    double *state = handles->ahead, *before = before_of(t, lane);
    memcpy(state, handles->state, (size_t)source->row_size * sizeof *state);
    double *controls = state + together->state_at[MJ_STATE_CTRL];
    if (t->actions) {
        be_mujoco_control(source, t->batch, handles - source->lanes, action, controls);
    } else {
        memcpy(controls, handles->arrays[MJ_CTRL], (size_t)source->num_ctrl * sizeof *controls);
    }
    if (together->model.nmocap) { /* the task may have moved them with the controls */
        const int64_t first = together->state_at[MJ_STATE_MOCAP_POS];
        memcpy(state + first, handles->state + first, (size_t)(7 * together->model.nmocap) * sizeof *state);
    }
    together->isa->write(group, BE_ARRAY_ctrl, lane, controls);
    together->isa->write(group, BE_ARRAY_qpos, lane, state + together->state_at[MJ_STATE_QPOS]);
    together->isa->write(group, BE_ARRAY_qvel, lane, state + together->state_at[MJ_STATE_QVEL]);
    together->isa->write(group, BE_ARRAY_act, lane, state + together->state_at[MJ_STATE_ACT]);
    together->isa->write(group, BE_ARRAY_qacc_warmstart, lane, state + together->state_at[MJ_STATE_WARMSTART]);
    if (together->model.nmocap) {
        together->isa->write(group, BE_ARRAY_mocap_pos, lane, state + together->state_at[MJ_STATE_MOCAP_POS]);
        together->isa->write(group, BE_ARRAY_mocap_quat, lane, state + together->state_at[MJ_STATE_MOCAP_QUAT]);
    }
    if (t->pushed) {
        together->isa->write(group, BE_ARRAY_qfrc_applied, lane, state + together->state_at[MJ_STATE_QFRC_APPLIED]);
        together->isa->write(group, BE_ARRAY_xfrc_applied, lane, state + together->state_at[MJ_STATE_XFRC_APPLIED]);
    }
    memcpy(before, state, (size_t)source->row_size * sizeof *state);
}

/* Copies a lane's results out of the group. */
static void end_lane(const task *t, int lane) {
    const be_mujoco_source *source = t->source;
    const be_mujoco_together *together = &source->together;
    be_mujoco_lane *handles = t->lanes[lane];
    double *state = handles->ahead, *time = &state[together->state_at[MJ_STATE_TIME]];
    for (int64_t k = 0; k < t->steps; k++) {
        before_of(t, lane)[together->state_at[MJ_STATE_TIME]] = *time;
        *time += source->timestep;
    }
    if (pins(t)) before_of(t, lane)[together->state_at[MJ_STATE_TIME]] = *time;
    read_state(t, t->slot->group, lane, state);
    for (int64_t j = 0; j < source->num_arrays; j++) {
        double *to = state + (handles->arrays[j] - handles->state);
        together->isa->read(t->slot->group, (int)together->array_of[j], lane, to);
    }
    handles->ready = 1;
    handles->together += t->steps;
}

/* Whether somebody reads the array. */
static int wants(const be_mujoco_source *source, int array) {
    for (int64_t j = 0; j < source->num_arrays; j++) {
        if (source->sizes[j] && source->together.array_of[j] == array) return 1;
    }
    return 0;
}
static int wants_forces(const be_mujoco_source *source) {
    return wants(source, BE_ARRAY_cfrc_ext) || wants(source, BE_ARRAY_cfrc_int);
}
static int wants_sensors(const be_mujoco_source *source) {
    return wants(source, BE_ARRAY_sensordata) || wants(source, BE_ARRAY_subtree_linvel) ||
           wants(source, BE_ARRAY_subtree_angmom);
}

/* Whether forces are applied to lanes of a group. */
static int has_pushes(const task *t) {
    const be_mujoco_source *source = t->source;
    const int64_t count = source->num_qvel + 6 * source->num_body;
    uint64_t found = 0; /* bits of any number: -0 is applied like others */
    for (int lane = 0; lane < t->count; lane++) {
        const double *forces = t->lanes[lane]->state + source->together.state_at[MJ_STATE_QFRC_APPLIED];
        for (int64_t i = 0; i < count; i++) {
            uint64_t bits;
            memcpy(&bits, &forces[i], sizeof bits);
            found |= bits;
        }
    }
    return found != 0;
}

static task task_of(const be_mujoco_source *source, int64_t steps) {
    return (task){.source = source,
                  .steps = steps,
                  .forces = wants_forces(source),
                  .body_forces = wants(source, BE_ARRAY_cfrc_int),
                  .accelerations = wants(source, BE_ARRAY_cacc),
                  .sensors = wants_sensors(source),
                  .shows_pushes = wants(source, BE_ARRAY_qfrc_applied) || wants(source, BE_ARRAY_xfrc_applied)};
}

static void step_group(task *t, const void *const *actions) {
    const be_mujoco_source *source = t->source;
    t->actions = actions;
    int torn;
    for (int lane = 0; lane < t->count; lane++) t->lanes[lane]->why = MJ_ALONE_FAILED;
    t->slot = be_mujoco_borrow(source, t->lanes[0] - source->lanes, &torn);
    be_mujoco_guard guard;
    t->guard = &guard;
    t->lent = 0;
    t->pushed = t->shows_pushes || has_pushes(t);
    be_mujoco_enter(source, &guard);
    const int sound = be_setjmp(guard.jump) == 0;
    if (sound) {
        if (torn) source->mj_reset_data(t->lanes[0]->model, t->slot->data);
        be_physics_job job = {.count = t->count,
                              .steps = t->steps,
                              .forces = t->forces,
                              .body_forces = t->body_forces,
                              .accelerations = t->accelerations,
                              .sensors = t->sensors,
                              .pushed = t->pushed,
                              .fresh = source->fresh,
                              .functions = &source->together.functions,
                              .constrain = constrain,
                              .collide = collide,
                              .sense = sense,
                              .context = t,
                              .before_step = before_step,
                              .pin = pins(t) ? pin : NULL};
        for (int lane = 0; lane < t->count; lane++) {
            job.floats[lane] = t->lanes[lane]->floats;
            if (source->num_acting) {
                double *own = t->slot->floats + lane * source->together.model.num_floats;
                be_mujoco_act_on_floats(t->batch, number_of(t, lane), own);
                job.floats[lane] = own;
            }
            job.time[lane] = t->lanes[lane]->state[source->together.state_at[MJ_STATE_TIME]];
            begin_lane(t, lane, actions ? actions[lane] : NULL);
        }
        source->together.isa->step(t->slot->group, &job);
        for (int lane = 0; lane < t->count; lane++) {
            t->lanes[lane]->rows = job.rows[lane];
            if (job.failed >> lane & 1) continue;
            end_lane(t, lane);
            t->lanes[lane]->why = MJ_ALONE_SINGLE; /* of a next step that nobody asks to go along with others */
            t->lanes[lane]->called += job.called[lane];
            for (int k = 0; job.noted && k < BE_LEFT_CAUSES; k++) t->lanes[lane]->left[k] += job.left[lane][k];
        }
    }
    be_mujoco_leave(source);
    be_mujoco_give_back(source, t->slot);
}

/* ---- lanes of a batch ------------------------------------------------------------------------------------ */

/* Whether the lane can be stepped with others. If not, notes why. */
static int fits(const be_batch *batch, be_mujoco_lane *lane) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    const be_mujoco_together *together = &source->together;
    const size_t bytes = (size_t)together->num_fixed * sizeof(double);
    lane->why = lane->floats == NULL                                                    ? MJ_ALONE_MODEL
                : memcmp(lane->state + together->fixed_at, together->fixed, bytes) != 0 ? MJ_ALONE_INPUT
                : !be_mujoco_acts_soundly(batch, lane - source->lanes)                  ? MJ_ALONE_FAILED
                                                                                        : MJ_ALONE_SINGLE;
    return lane->why == MJ_ALONE_SINGLE && !lane->ready;
}

/* Lanes that iterate together wait for the one with the most rows, so a group gets lanes with about as many: of as many
 * as before, since lanes change slowly. */
static void sort_by_rows(be_mujoco_lane **lanes, const void **actions, int count) {
    for (int k = 1; k < count; k++) {
        be_mujoco_lane *const lane = lanes[k];
        const void *const action = actions ? actions[k] : NULL;
        int j = k;
        for (; j > 0 && lanes[j - 1]->rows > lane->rows; j--) {
            lanes[j] = lanes[j - 1];
            if (actions) actions[j] = actions[j - 1];
        }
        lanes[j] = lane;
        if (actions) actions[j] = action;
    }
}

/* Has these lanes stepped in groups. */
static void step_some(task *t, be_mujoco_lane **lanes, const void **actions, int count) {
    const int most = t->source->together.isa->lanes;
    sort_by_rows(lanes, actions, count);
    for (int k = 0; k < count; k += t->count) {
        t->count = count - k < most ? count - k : most;
        memcpy(t->lanes, lanes + k, (size_t)t->count * sizeof *lanes);
        if (t->count > 1) step_group(t, actions ? actions + k : NULL); /* one lane alone is quicker with mj_step */
    }
}

static void step_ahead(be_batch *batch, const int64_t *lanes, const int64_t *places, int64_t count,
                       const be_rows *rows) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    if (be_mujoco_has_callbacks(source)) {
        for (int64_t k = 0; k < count; k++) source->lanes[lanes[k]].why = MJ_ALONE_CALLBACK;
        return;
    }
    task t = task_of(source, (int64_t)be_param_of(batch, MJ_FRAME_SKIP, 0));
    t.batch = batch;
    be_mujoco_lane *chosen[TOGETHER];
    const void *actions[TOGETHER];
    for (int64_t next = 0; next < count;) {
        int found = 0;
        for (; next < count && found < TOGETHER; next++) {
            if (!fits(batch, &source->lanes[lanes[next]])) continue;
            chosen[found] = &source->lanes[lanes[next]];
            actions[found++] = be_mujoco_action_at(batch, rows, places[next]);
        }
        step_some(&t, chosen, actions, found);
    }
}

static void settle_together(be_batch *batch, const int64_t *lanes, int64_t count, int64_t steps) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    task t = task_of(source, steps);
    t.batch = batch;
    be_mujoco_lane *chosen[TOGETHER];
    for (int64_t next = 0; next < count;) {
        int found = 0;
        for (; next < count && found < TOGETHER; next++) {
            be_mujoco_lane *lane = &source->lanes[lanes[next]];
            if (lane->settles == steps + 1 && fits(batch, lane)) chosen[found++] = lane;
        }
        step_some(&t, chosen, NULL, found);
    }
}

void be_mujoco_begin_together(be_batch *batch, const int64_t *lanes, int64_t count) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    if (count < 2 || be_mujoco_has_callbacks(source)) return;
    int64_t longest = 0, shortest = INT64_MAX;
    for (int64_t k = 0; k < count; k++) {
        be_error error;
        const int64_t steps = source->begin(batch, lanes[k], &error);
        if (steps < 0) batch->driver->failures[lanes[k]] = error; /* for be_mujoco_settle */
        source->lanes[lanes[k]].settles = steps < 0 ? -1 : steps + 1;
        longest = steps > longest ? steps : longest;
        shortest = steps > 0 && steps < shortest ? steps : shortest;
    }
    while (shortest <= longest) { /* lanes may settle for different times */
        settle_together(batch, lanes, count, shortest);
        int64_t next = INT64_MAX;
        for (int64_t k = 0; k < count; k++) {
            const int64_t steps = source->lanes[lanes[k]].settles - 1;
            next = steps > shortest && steps < next ? steps : next;
        }
        shortest = next;
    }
}

/* ---- the self-check -------------------------------------------------------------------------------------- */

/* Steps a lane with mj_step. Returns whether its simulation is unstable, or MuJoCo raised an error. */
static int step_one(const be_mujoco_source *source, int64_t lane, const float *action, int64_t steps) {
    const be_mujoco_lane *handles = &source->lanes[lane];
    int torn;
    be_mujoco_slot *const slot = be_mujoco_borrow(source, lane, &torn);
    for (int64_t j = 0; j < source->num_ctrl; j++) handles->arrays[MJ_CTRL][j] = action[j];
    be_mujoco_guard guard;
    be_mujoco_enter(source, &guard);
    const int failed = be_setjmp(guard.jump) != 0;
    if (!failed)
        be_mujoco_call_step(source, handles, slot, &(const be_mujoco_order){.steps = steps, .forces = source->forces});
    be_mujoco_leave(source);
    const int unstable = be_mujoco_take_unstable(source, slot) >= 0;
    be_mujoco_give_back(source, slot);
    return failed || unstable;
}

void be_mujoco_compare(const be_mujoco_source *source, const float *actions, int64_t steps, int64_t *differs,
                       uint8_t *unstable) {
    for (int64_t lane = 0; lane < source->num_lanes;) {
        task t = task_of(source, steps);
        const void *taken[BE_PHYSICS_LANES];
        for (; lane < source->num_lanes && t.count < source->together.isa->lanes; lane++) {
            if (source->lanes[lane].floats == NULL) continue; /* its model does not fit */
            t.lanes[t.count] = &source->lanes[lane];
            taken[t.count++] = actions + lane * source->num_ctrl;
        }
        if (t.count) step_group(&t, taken);
    }
    for (int64_t lane = 0; lane < source->num_lanes; lane++) {
        be_mujoco_lane *handles = &source->lanes[lane];
        unstable[lane] = (uint8_t)step_one(source, lane, actions + lane * source->num_ctrl, steps);
        differs[lane] = handles->ready ? -1 : -2;
        for (int64_t k = 0; handles->ready && k < source->record_size; k++) {
            if (memcmp(&handles->state[k], &handles->ahead[k], sizeof(double)) == 0) continue;
            differs[lane] = k;
            break;
        }
        handles->ready = 0;
    }
}

void be_mujoco_open_ahead(be_batch *batch) {
    if (be_mujoco_source_of(batch)->together.isa == NULL) return;
    batch->driver->ahead = step_ahead;
    batch->driver->together = TOGETHER;
    batch->driver->group = be_mujoco_source_of(batch)->together.isa->lanes;
}

int be_mujoco_take_ahead(be_batch *batch, int64_t lane) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    be_mujoco_lane *handles = &source->lanes[lane];
    if (!handles->ready) return 0;
    handles->ready = 0;
    memcpy(handles->state, handles->ahead, (size_t)source->record_size * sizeof *handles->state);
    return 1;
}

void be_mujoco_drop_ahead(be_batch *batch, int64_t lane) { be_mujoco_source_of(batch)->lanes[lane].ready = 0; }
