/* What the tasks have in common: steps and resets of a lane, their spaces, and what snapshots hold of a lane. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engines/mujoco/inside.h"
#include "engines/mujoco/pictures.h"

const char *const be_mujoco_on_unstable[] = {"ignore", "reset", "raise", NULL};
enum { IGNORE, RESET, RAISE };

const be_field be_mujoco_state[] = {
    MJ_SHARED_STATE,
    {0},
};

const char *const be_mujoco_array_names[MJ_ARRAYS] = {
    [MJ_QPOS] = "qpos",
    [MJ_QVEL] = "qvel",
    [MJ_CTRL] = "ctrl",
};
const char *const be_mujoco_kept_names[] = {"sensordata",      "cacc",           "cfrc_int", "cfrc_ext",
                                            "subtree_linvel",  "subtree_angmom", "energy",   "qfrc_inverse",
                                            "flexvert_lambda", "flexvert_conage"};
const char *const be_mujoco_unstable_names[] = {"BADQPOS", "BADQVEL", "BADQACC", "BADCTRL"};
const char *const be_mujoco_callback_names[] = {"mjcb_passive", "mjcb_control",  "mjcb_contactfilter", "mjcb_sensor",
                                                "mjcb_act_dyn", "mjcb_act_gain", "mjcb_act_bias"};

/* ---- steps and resets --------------------------------------------------------------------------------- */

int be_mujoco_advance(be_batch *batch, int64_t lane, const be_rows *rows, int unstable_info, be_error *error) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    const be_mujoco_lane *handles = be_mujoco_lane_of(batch, lane);
    const void *action = be_mujoco_action_at(batch, rows, lane - rows->first);
    be_mujoco_control(source, batch, lane, action, handles->arrays[MJ_CTRL]);
    int unstable = -1, status = BE_OK;
    if (!be_mujoco_take_ahead(batch, lane)) {
        const int64_t steps = (int64_t)be_param_of(batch, MJ_FRAME_SKIP, 0);
        const be_mujoco_order order = {
            .steps = steps, .forces = source->forces, .batch = batch, .lane = lane, .action = action};
        status = be_mujoco_run(batch, lane, be_mujoco_call_step, &order, &unstable, error);
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

/* What was of the lane's last episode is of no use in the next one. placed: 1: the task has written what acts on the
 * lane's model. */
static int leave_behind(be_batch *batch, int64_t lane, int placed, be_error *error) {
    int64_t *fingerprint = &((int64_t *)batch->state[MJ_FINGERPRINT])[lane];
    be_mujoco_drop_ahead(batch, lane);
    const int is_new = be_mujoco_is_new(batch, lane);
    if (is_new && !placed) be_mujoco_begin_acting(batch, lane);
    *fingerprint = be_mujoco_source_of(batch)->fingerprint;
    return be_mujoco_settle_model(batch, lane, is_new, error);
}

static int begin_with(be_batch *batch, int64_t lane, int warm, be_error *error) {
    int unstable;
    const int status = leave_behind(batch, lane, 1, error);
    if (status != BE_OK) return status;
    return be_mujoco_run(batch, lane, be_mujoco_call_begin, &(const be_mujoco_order){.warm = warm}, &unstable, error);
}

static void clear_controls(be_batch *batch, int64_t lane) {
    const size_t size = (size_t)be_mujoco_of(batch)->num_ctrl * sizeof(double);
    memset(be_mujoco_arrays(batch, lane)[MJ_CTRL], 0, size);
}

int be_mujoco_begin_controlled(be_batch *batch, int64_t lane, be_error *error) {
    return begin_with(batch, lane, 0, error);
}

int be_mujoco_begin(be_batch *batch, int64_t lane, be_error *error) {
    clear_controls(batch, lane);
    return begin_with(batch, lane, 0, error);
}

int be_mujoco_begin_warm(be_batch *batch, int64_t lane, be_error *error) {
    clear_controls(batch, lane);
    return begin_with(batch, lane, !be_mujoco_is_new(batch, lane), error);
}

int be_mujoco_begin_alike(be_batch *batch, int64_t lane, int64_t kind, const be_mujoco_approach *approach,
                          be_error *error) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    const be_mujoco_lane *handles = be_mujoco_lane_of(batch, lane);
    const size_t bytes = (size_t)source->record_size * sizeof(double);
    int unstable, status = leave_behind(batch, lane, 1, error);
    if (status != BE_OK) return status;
    be_mujoco_kind *kept = &source->kinds[kind];
    const int alike = !handles->own && !be_mujoco_has_callbacks(source);
    if (alike && __atomic_load_n(&kept->stage, __ATOMIC_ACQUIRE) == MJ_KEPT_NOW) {
        memcpy(handles->state, kept->record, bytes);
        return BE_OK;
    }
    const be_mujoco_order order = {.steps = approach->steps, .approach = approach};
    status = be_mujoco_run(batch, lane, be_mujoco_call_approach, &order, &unstable, error);
    int32_t stage = MJ_NOT_KEPT;
    if (status == BE_OK && alike &&
        __atomic_compare_exchange_n(&kept->stage, &stage, MJ_BEING_KEPT, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        memcpy(kept->record, handles->state, bytes);
        __atomic_store_n(&kept->stage, MJ_KEPT_NOW, __ATOMIC_RELEASE);
    }
    return status;
}

int be_mujoco_reset(be_batch *batch, int64_t lane, be_error *error) {
    int unstable;
    const int status = leave_behind(batch, lane, 0, error);
    if (status != BE_OK) return status;
    return be_mujoco_run(batch, lane, be_mujoco_call_reset, &(const be_mujoco_order){0}, &unstable, error);
}

int be_mujoco_evaluate(be_batch *batch, int64_t lane, int *contacts, be_error *error) {
    int unstable;
    if (contacts && be_mujoco_source_of(batch)->contacts_at < 0)
        return be_fail(error, BE_ERROR_ENGINE, lane,
                       "batchenv does not know where this version of MuJoCo counts contacts");
    const be_mujoco_order order = {.contacts = contacts};
    return be_mujoco_run(batch, lane, be_mujoco_call_evaluate, &order, &unstable, error);
}

int be_mujoco_press(const be_batch *batch, int64_t lane, const int64_t (*pairs)[2], int64_t count, double *forces,
                    be_error *error) {
    int unstable;
    if (be_mujoco_source_of(batch)->contact_at < 0)
        return be_fail(error, BE_ERROR_ENGINE, lane,
                       "batchenv does not know where this version of MuJoCo has its contacts");
    memset(forces, 0, (size_t)count * sizeof *forces);
    const be_mujoco_order order = {.pairs = pairs, .num_pairs = count, .forces_of = forces};
    return be_mujoco_run(batch, lane, be_mujoco_call_press, &order, &unstable, error);
}

int be_mujoco_drop(be_batch *batch, int64_t lane, be_error *error) {
    int unstable;
    return be_mujoco_run(batch, lane, be_mujoco_call_drop, &(const be_mujoco_order){0}, &unstable, error);
}

int be_mujoco_settle_on(be_batch *batch, int64_t lane, be_error *error) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    be_mujoco_lane *handles = &source->lanes[lane];
    const int64_t begun = handles->settles;
    handles->settles = 0;
    if (begun < 0) { /* it has failed; beginning again would draw other numbers */
        *error = batch->driver->failures[lane];
        return error->status;
    }
    const int64_t steps = begun ? begun - 1 : source->begin(batch, lane, error);
    if (steps < 0) return error->status;
    if (steps == 0 || be_mujoco_take_ahead(batch, lane)) return BE_OK;
    int unstable; /* if it is, MuJoCo has reset the lane, which is a start, too */
    const be_mujoco_order order = {.steps = steps, .forces = source->forces};
    return be_mujoco_run(batch, lane, be_mujoco_call_step, &order, &unstable, error);
}

int be_mujoco_settle(be_batch *batch, int64_t lane, be_error *error) {
    const int status = be_mujoco_settle_on(batch, lane, error);
    if (status == BE_OK)
        be_mujoco_source_of(batch)->lanes[lane].state[0] = 0; /* where MuJoCo's states begin with the time */
    return status;
}

double *be_mujoco_push_of(const be_batch *batch, int64_t lane, int64_t body) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    return source->lanes[lane].state + source->input_at + source->num_qvel + 6 * body;
}

/* Mocap bodies are at the end of what users may set: their places, then their quaternions. */
double *be_mujoco_mocap_quat_of(const be_batch *batch, int64_t lane) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    return source->lanes[lane].state + source->input_at + source->num_input - 4 * source->num_mocap;
}
double *be_mujoco_mocap_pos_of(const be_batch *batch, int64_t lane) {
    return be_mujoco_mocap_quat_of(batch, lane) - 3 * be_mujoco_source_of(batch)->num_mocap;
}

double *be_mujoco_next_positions_of(const be_batch *batch, int64_t lane) {
    return be_mujoco_lane_of(batch, lane)->state + 1; /* after the time */
}

double *be_mujoco_next_velocities_of(const be_batch *batch, int64_t lane) {
    return be_mujoco_lane_of(batch, lane)->state + be_mujoco_velocities_at(be_mujoco_source_of(batch));
}

void be_mujoco_put_velocities(const be_batch *batch, int64_t lane) {
    const size_t size = (size_t)be_mujoco_source_of(batch)->num_qvel * sizeof(double);
    memcpy(be_mujoco_next_velocities_of(batch, lane), be_mujoco_lane_of(batch, lane)->arrays[MJ_QVEL], size);
}

double *be_mujoco_activations_of(const be_batch *batch, int64_t lane) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    return source->lanes[lane].state + be_mujoco_velocities_at(source) + source->num_qvel;
}

int be_mujoco_start(be_batch *batch, int64_t lane, double scale, int normal, be_error *error) {
    return be_mujoco_start_at(batch, lane, be_mujoco_source_of(batch)->init_qpos, scale, normal, error);
}

int be_mujoco_start_at(be_batch *batch, int64_t lane, const double *positions, double scale, int normal,
                       be_error *error) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    const be_mujoco_lane *handles = be_mujoco_lane_of(batch, lane);
    be_rng *rng = &batch->rng[lane];
    for (int64_t j = 0; j < source->num_qpos; j++) {
        handles->arrays[MJ_QPOS][j] = positions[j] + be_rng_uniform(rng, -scale, scale);
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

void be_mujoco_picture_space(const be_setup *setup, be_space *space) {
    const be_mujoco_source *source = setup->engine;
    const int64_t shape[] = {source->picture_height, source->picture_width, 3};
    be_space_box(space, BE_U8, 3, shape, 0, 255);
}

int be_mujoco_draw(const be_batch *batch, int64_t lane, unsigned char *picture, be_error *error) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    if (source->draw(source->owner, batch, lane, picture) == 0) return BE_OK;
    return be_fail(error, BE_ERROR_ENGINE, lane, "its picture could not be drawn");
}

/* ---- making and keeping -------------------------------------------------------------------------------- */

int be_mujoco_spaces_of_actions(be_setup *setup, int64_t observation_size, int64_t positions, int64_t velocities,
                                int64_t actions, double low, double high, be_error *error) {
    const be_mujoco_source *source = setup->engine;
    if (source->num_qpos < positions || source->num_qvel < velocities || actions < 1 || observation_size < 1) {
        return be_fail(
            error, BE_ERROR_VALUE, -1,
            "the XML's model has %lld positions, %lld velocities and %lld actuators, but at least %lld, %lld "
            "and 1 are needed",
            (long long)source->num_qpos, (long long)source->num_qvel, (long long)source->num_ctrl, (long long)positions,
            (long long)velocities);
    }
    be_space_box(&setup->space[MJ_OBSERVATION_PORT], BE_F64, 1, &observation_size, -HUGE_VAL, HUGE_VAL);
    be_space_box(&setup->space[MJ_ACTION_PORT], BE_F32, 1, &actions, low, high);
    return BE_OK;
}

int be_mujoco_spaces_between(be_setup *setup, int64_t observation_size, int64_t positions, int64_t velocities,
                             double low, double high, be_error *error) {
    const int64_t actions = ((const be_mujoco_view *)setup->engine)->num_ctrl;
    return be_mujoco_spaces_of_actions(setup, observation_size, positions, velocities, actions, low, high, error);
}

int be_mujoco_spaces(be_setup *setup, int64_t observation_size, int64_t positions, int64_t velocities,
                     be_error *error) {
    const be_mujoco_source *source = setup->engine;
    const int status = be_mujoco_spaces_between(setup, observation_size, positions, velocities, 0, 0, error);
    if (status != BE_OK) return status;
    for (int64_t i = 1; source->num_ctrl > BE_MAX_BOUNDS && i < source->num_ctrl; i++) {
        if (source->control_low[i] != source->control_low[0] || source->control_high[i] != source->control_high[0]) {
            return be_fail(
                error, BE_ERROR_VALUE, -1,
                "the XML's model has %lld actuators; of more than %d, all need the same ctrlrange: give them one "
                "of -1 1 and a gear each",
                (long long)source->num_ctrl, BE_MAX_BOUNDS);
        }
    }
    be_space *action = &setup->space[MJ_ACTION_PORT];
    for (int i = 0; i < BE_MAX_BOUNDS && i < source->num_ctrl; i++) {
        action->low[i] = (double)(float)source->control_low[i];
        action->high[i] = (double)(float)source->control_high[i];
    }
    return BE_OK;
}

/* What is missing of the tables that a task's file has to begin with, or NULL. */
static const char *missing_of(const be_env_type *type) {
    const be_field *field = type->state;
    if (!field[MJ_FINGERPRINT].name || strcmp(field[MJ_FINGERPRINT].name, be_mujoco_state[MJ_FINGERPRINT].name) != 0)
        return ".state does not begin with MJ_SHARED_STATE";
    if (!type->params || !type->params[0].name || strcmp(type->params[MJ_FRAME_SKIP].name, "frame_skip") != 0 ||
        !type->params[1].name || strcmp(type->params[MJ_ON_UNSTABLE].name, "on_unstable") != 0)
        return ".params does not begin with MJ_SHARED_PARAMS(...)";
    if (type->ports[MJ_ACTION_PORT].role != BE_ACTION || !type->ports[MJ_OBSERVATION_PORT].name ||
        type->ports[MJ_OBSERVATION_PORT].role != BE_OBSERVATION)
        return ".ports does not begin with MJ_SHARED_PORTS";
    return NULL;
}

int be_mujoco_open(be_batch *batch, const void *engine, be_error *error) {
    const be_mujoco_source *source = engine;
    if (source == NULL || source->num_lanes != batch->num_lanes) {
        return be_fail(error, BE_ERROR_VALUE, -1, "%s needs MuJoCo's handles: make it with batchenv.make()",
                       batch->type->name);
    }
    const char *missing = missing_of(batch->type);
    if (missing) return be_fail(error, BE_ERROR_VALUE, -1, "type %s: %s", batch->type->name, missing);
    batch->engine = (void *)(uintptr_t)engine;
    be_mujoco_open_guard(source);
    be_mujoco_open_ahead(batch);
    return BE_OK;
}

int be_mujoco_open_settling(be_batch *batch, const void *engine, be_mujoco_settling *begin, be_error *error) {
    const int status = be_mujoco_open(batch, engine, error);
    if (status != BE_OK) return status;
    be_mujoco_source *source = batch->engine;
    source->begin = begin;
    if (source->together.isa) batch->driver->starting = be_mujoco_begin_together;
    return status;
}

int be_mujoco_open_pinning(be_batch *batch, const void *engine, be_mujoco_pinning *pin, be_error *error) {
    const int status = be_mujoco_open(batch, engine, error);
    if (status == BE_OK) ((be_mujoco_source *)batch->engine)->pin = pin;
    return status;
}

int be_mujoco_keep_kinds(be_batch *batch, int64_t kinds, be_error *error) {
    be_mujoco_source *source = batch->engine;
    const size_t table = (size_t)kinds * sizeof *source->kinds, size = (size_t)source->record_size;
    unsigned char *block = calloc(1, table + (size_t)kinds * size * sizeof(double));
    if (!block) {
        be_mujoco_close(batch);
        return be_fail(error, BE_ERROR_MEMORY, -1, "there is no memory to keep %lld starts", (long long)kinds);
    }
    source->kinds = (be_mujoco_kind *)block;
    for (int64_t k = 0; k < kinds; k++) source->kinds[k].record = (double *)(block + table) + (size_t)k * size;
    return BE_OK;
}

/* All but the clock and the starts that are kept belongs to the caller. */
void be_mujoco_close(be_batch *batch) {
    be_mujoco_source *source = batch->engine;
    free(source->kinds);
    source->kinds = NULL;
    be_mujoco_close_guard();
}

size_t be_mujoco_saved_bytes(const be_batch *batch) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    size_t count = 2 * (size_t)source->row_size;
    for (int64_t j = 0; j < source->num_arrays; j++) count += (size_t)source->sizes[j];
    return count * sizeof(double) + be_mujoco_drawn_bytes(source);
}

/* Copies a lane's state into `bytes` or, with `back`, out of them. Returns where that ends. */
static unsigned char *copy_lane(const be_batch *batch, int64_t lane, unsigned char *bytes, int back) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
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
        COPY(handles->arrays[j], source->sizes[j]);
    }
#undef COPY
    return bytes;
}

void be_mujoco_save(const be_batch *batch, int64_t lane, void *bytes) {
    be_mujoco_save_drawn(batch->engine, lane, copy_lane(batch, lane, bytes, 0));
}

void be_mujoco_load(be_batch *batch, int64_t lane, const void *bytes) {
    be_mujoco_load_drawn(batch, lane, copy_lane(batch, lane, (unsigned char *)(uintptr_t)bytes, 1));
    be_mujoco_drop_ahead(batch, lane);
    if (be_mujoco_source_of(batch)->num_trees == 0) return;
    be_error error; /* there will be none, because MuJoCo has been in this state before */
    int unstable;
    const be_mujoco_order order = {.steps = batch->elapsed[lane] > 0};
    (void)be_mujoco_run(batch, lane, be_mujoco_call_restore, &order, &unstable, &error);
}

int be_mujoco_check_state(const be_batch *batch, const void *const *columns, int64_t count, be_error *error) {
    const int64_t *fingerprints = columns[MJ_FINGERPRINT];
    for (int64_t k = 0; k < count; k++) {
        if (fingerprints[k] != be_mujoco_source_of(batch)->fingerprint) {
            return be_fail(
                error, BE_ERROR_VALUE, -1,
                "the snapshot is not of this model and MuJoCo version: its lane %lld has another fingerprint",
                (long long)k);
        }
    }
    return BE_OK;
}
