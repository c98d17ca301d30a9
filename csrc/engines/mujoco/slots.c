/* mjData on loan: a lane borrows one for each call of MuJoCo's. */
#include <sched.h>
#include <string.h>

#include "core/system/fork.h"
#include "engines/mujoco/inside.h"

/* The value of be_mujoco_slot.busy while a thread of this process has the slot. It differs between processes: after a
 * fork, slots that the parent's other threads had will never be given back, since those threads do not exist in the
 * child. */
static int64_t busy_here(void) { return 1 + be_fork_count(); }

/* It is not inlined because be_mujoco_run() calls setjmp, which is safe only for variables of its own frame. */
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
        memcpy(lane->arrays[j], slot->arrays[j], (size_t)source->sizes[j] * sizeof(double));
    }
}

int be_mujoco_has_callbacks(const be_mujoco_source *source) {
    for (int k = 0; k < MJ_CALLBACKS; k++) {
        if (source->callback[k] && *source->callback[k]) return 1;
    }
    return 0;
}

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

/* The lane with the slot's models, on which it has acted. */
static __attribute__((noinline)) be_mujoco_lane with_slot(const be_batch *batch, int64_t lane,
                                                          const be_mujoco_slot *slot) {
    be_mujoco_lane handles = be_mujoco_source_of(batch)->lanes[lane];
    be_mujoco_act(batch, lane, slot);
    handles.model = slot->model[MJ_WHOLE];
    handles.still = slot->model[MJ_STILL];
    handles.mute = be_mujoco_has_callbacks(batch->engine) ? NULL : slot->model[MJ_MUTE];
    return handles;
}

int be_mujoco_run(const be_batch *batch, int64_t lane, be_mujoco_call *call, const be_mujoco_order *order,
                  int *unstable, be_error *error) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    int torn;
    be_mujoco_slot *const slot = be_mujoco_borrow(source, lane, &torn);
    const be_mujoco_lane own = source->num_acting ? with_slot(batch, lane, slot) : (be_mujoco_lane){0};
    const be_mujoco_lane *const handles = source->num_acting ? &own : be_mujoco_lane_of(batch, lane);
    const int held = be_mujoco_has_callbacks(source) ? source->hold_python() : -1;
    be_mujoco_guard g;
    be_mujoco_enter(source, &g);
    volatile int resets = 0;
    const int failed = be_setjmp(g.jump);
    if (!failed) {
        if (torn) renew(source, handles, slot);
        call(source, handles, slot, order);
    } else if (resets++ == 0) { /* so that the next lane finds it in order */
        renew(source, handles, slot);
    }
    be_mujoco_leave(source);
    const int raised = held >= 0 && source->let_python_go(source->owner, held, lane);
    *unstable = be_mujoco_take_unstable(source, slot);
    be_mujoco_give_back(source, slot);
    if (raised)
        return be_fail(error, BE_ERROR_ENGINE, lane, "a callback of MuJoCo's (mjcb_...) has raised an exception");
    return failed ? be_fail(error, BE_ERROR_ENGINE, lane, "MuJoCo: %s", g.message) : BE_OK;
}

/* Gives the slot the qpos and qvel that a task has written into the lane's arrays. */
static void put_places(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot) {
    memcpy(slot->arrays[MJ_QPOS], lane->arrays[MJ_QPOS], (size_t)source->num_qpos * sizeof(double));
    memcpy(slot->arrays[MJ_QVEL], lane->arrays[MJ_QVEL], (size_t)source->num_qvel * sizeof(double));
}

/* Starts an episode with the lane's qpos, qvel and ctrl. Resets the data first, because mj_forward does not touch what
 * only other functions compute, and that would be another lane's. */
void be_mujoco_call_begin(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                          const be_mujoco_order *order) {
    const int64_t warm_at = source->input_at - source->num_ctrl - source->num_qvel; /* in MuJoCo's states */
    if (order->warm) memcpy(lane->before + warm_at, lane->state + warm_at, (size_t)source->num_qvel * sizeof(double));
    source->mj_reset_data(lane->model, slot->data);
    put_places(source, lane, slot);
    memcpy(slot->arrays[MJ_CTRL], lane->arrays[MJ_CTRL], (size_t)source->num_ctrl * sizeof(double));
    source->mj_forward(lane->model, slot->data);
    slot->stepped = 1;
    store_state(source, lane, slot);
    lane->state[0] = source->init_time; /* where MuJoCo's states begin with the time */
    if (order->warm) memcpy(lane->state + warm_at, lane->before + warm_at, (size_t)source->num_qvel * sizeof(double));
}

/* mj_forward without actuators. */
static void forward_still(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot) {
    source->mj_forward(lane->still ? lane->still : lane->model, slot->data);
    slot->stepped = 1;
    store_state(source, lane, slot);
}

void be_mujoco_call_reset(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                          const be_mujoco_order *order) {
    (void)order;
    source->mj_reset_data(lane->model, slot->data);
    forward_still(source, lane, slot);
}

void be_mujoco_call_drop(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                         const be_mujoco_order *order) {
    (void)order;
    source->mj_reset_data(lane->model, slot->data);
    source->mj_forward(lane->still ? lane->still : lane->model, slot->data);
    put_places(source, lane, slot);
    source->mj_step2(lane->model, slot->data);
    slot->stepped = 1;
    store_state(source, lane, slot);
}

void be_mujoco_call_evaluate(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                             const be_mujoco_order *order) {
    load_state(source, lane, slot, lane->state);
    put_places(source, lane, slot);
    forward_still(source, lane, slot);
    if (order->contacts) memcpy(order->contacts, (char *)slot->data + source->contacts_at, sizeof *order->contacts);
}

void be_mujoco_call_step(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                         const be_mujoco_order *order) {
    const int pins = order->batch && source->pin;
    load_state(source, lane, slot, lane->state);
    memcpy(slot->arrays[MJ_CTRL], lane->arrays[MJ_CTRL], (size_t)source->num_ctrl * sizeof(double));
    for (int64_t k = 0; k < order->steps; k++) {
        double *const *arrays = slot->arrays;
        if (k && order->batch && order->batch->type->recontrol) {
            order->batch->type->recontrol(order->batch, order->lane, order->action, k, arrays[MJ_QPOS], arrays[MJ_QVEL],
                                          arrays[MJ_CTRL]);
        }
        const int last = k == order->steps - 1;
        if (last && !pins) copy_state(source, lane, slot, lane->before);
        if (last && lane->mute) { /* sensors of forces are this step's; the others are measured anew after it */
            source->mj_step1(lane->mute, slot->data);
            source->mj_step2(lane->model, slot->data);
        } else {
            source->mj_step(lane->mute ? lane->mute : lane->model, slot->data);
        }
    }
    if (pins) {
        source->pin(order->batch, order->lane, slot->arrays[MJ_QPOS]);
        copy_state(source, lane, slot, lane->before);
    }
    if (order->forces) source->mj_rne_post_constraint(lane->model, slot->data);
    if (pins && source->forward_warms) {
        source->mj_forward(lane->model, slot->data);
    } else if (source->fresh || pins) {
        source->mj_step1(lane->model, slot->data);
    }
    store_state(source, lane, slot);
}

void be_mujoco_call_approach(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                             const be_mujoco_order *order) {
    const be_mujoco_approach *approach = order->approach;
    double *mocap = lane->state + source->input_at + source->num_input - 7 * source->num_mocap;
    renew(source, lane, slot);
    copy_state(source, lane, slot, lane->state);
    memcpy(mocap, approach->mocap_pos, (size_t)(3 * source->num_mocap) * sizeof *mocap);
    memcpy(mocap + 3 * source->num_mocap, approach->mocap_quat, (size_t)(4 * source->num_mocap) * sizeof *mocap);
    memcpy(lane->arrays[MJ_CTRL], approach->controls, (size_t)source->num_ctrl * sizeof(double));
    be_mujoco_call_step(source, lane, slot, order);
}

void be_mujoco_call_press(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                          const be_mujoco_order *order) {
    const char *data = slot->data, *contact;
    int count;
    load_state(source, lane, slot, lane->before);
    source->mj_forward(lane->model, slot->data);
    memcpy(&count, data + source->contacts_at, sizeof count);
    memcpy(&contact, data + source->contact_at, sizeof contact);
    for (int i = 0; i < count; i++, contact += source->contact_bytes) {
        int32_t geoms[2];
        double force[6];
        memcpy(geoms, contact + source->contact_geoms, sizeof geoms);
        for (int64_t k = 0; k < order->num_pairs; k++) {
            const int64_t *pair = order->pairs[k];
            if ((geoms[0] != pair[0] || geoms[1] != pair[1]) && (geoms[0] != pair[1] || geoms[1] != pair[0])) continue;
            source->mj_contact_force(lane->model, slot->data, i, force);
            order->forces_of[k] += force[0];
        }
    }
}

/* Does anew, in data with the state `before`, what a step has ended with: mj_step or, where joints have been put in
 * place, mj_forward, so that there is all that belongs to them. */
static void repeat(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot) {
    (source->pin ? source->mj_forward : source->mj_step)(lane->model, slot->data);
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
 * recompute what belongs to a sleeping body, so mj_forward first runs with all bodies awake. */
void be_mujoco_call_restore(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                            const be_mujoco_order *order) {
    const int stepped = order->steps > 0;
    double *state = stepped ? lane->before : lane->state;
    const unsigned signature = source->state_signature;
    source->mj_reset_data(lane->model, slot->data);
    source->mj_set_state(lane->model, slot->data, state, signature);
    put_asleep(source, lane, slot, NULL);
    source->mj_forward(lane->model, slot->data);
    source->mj_set_state(lane->model, slot->data, state, signature);
    put_asleep(source, lane, slot, copy_kept(source, slot, state, 1));
    if (stepped) repeat(source, lane, slot);
    copy_kept(source, slot, lane->state, 1);
}

/* Repeats the lane's last step. Returns whether this has led to where the lane is, but for what its user has set since,
 * and for velocities that its task has changed: those that the step ended with are as the accelerations are, which the
 * state holds, too. The velocities are then those that the task reads. */
static int repeat_step(const be_mujoco_source *source, const be_mujoco_lane *lane, be_mujoco_slot *slot,
                       double *scratch) {
    load_state(source, lane, slot, lane->before);
    repeat(source, lane, slot);
    source->mj_get_state(lane->model, slot->data, scratch, source->state_signature);
    memcpy(scratch + source->input_at, lane->state + source->input_at, (size_t)source->num_input * sizeof *scratch);
    const int64_t velocities = be_mujoco_velocities_at(source);
    memcpy(scratch + velocities, lane->state + velocities, (size_t)source->num_qvel * sizeof *scratch);
    if (memcmp(scratch, lane->state, (size_t)source->state_size * sizeof *scratch) != 0) return 0;
    memcpy(scratch + velocities, lane->arrays[MJ_QVEL], (size_t)source->num_qvel * sizeof *scratch);
    source->mj_set_state(lane->model, slot->data, scratch, source->state_signature);
    return 1;
}

int be_mujoco_remake(const be_mujoco_source *source, int64_t lane, const void *model, int stepped, be_mujoco_slot *slot,
                     double *scratch, be_error *error) {
    be_mujoco_lane handles = source->lanes[lane];
    if (model) handles.model = (void *)(uintptr_t)model;
    be_mujoco_guard g;
    be_mujoco_enter(source, &g);
    const int failed = be_setjmp(g.jump);
    if (!failed) {
        renew(source, &handles, slot);
        if (!stepped || !repeat_step(source, &handles, slot, scratch)) {
            renew(source, &handles, slot);
            source->mj_set_state(handles.model, slot->data, handles.state, source->state_signature);
            source->mj_forward(handles.model, slot->data);
        }
        if (stepped) source->mj_rne_post_constraint(handles.model, slot->data);
        if (stepped && source->fresh) source->mj_step1(handles.model, slot->data);
    }
    be_mujoco_leave(source);
    return failed ? be_fail(error, BE_ERROR_ENGINE, lane, "MuJoCo: %s", g.message) : BE_OK;
}
