/* What Gymnasium's Ant computes of its steps: its params, what it reads, its infos, and its rewards. */
#ifndef BE_MUJOCO_ANT_H
#define BE_MUJOCO_ANT_H

#include <stdlib.h>

#include "engines/mujoco/plane.h"

/* A type's own params follow. */
enum { FORWARD = MJ_PARAMS, CONTROL, CONTACT, HEALTHY, TERMINATE, Z_MIN, Z_MAX, FORCE_MIN, FORCE_MAX, ANT_PARAMS };
/* clang-format off */
#define ANT_SHARED_PARAMS                                                                                              \
    MJ_SHARED_PARAMS(5),                                                                                               \
    [FORWARD] = MJ_WEIGHT("forward_reward_weight", 1.0, "reward for speed, per m/s"),                                  \
    [CONTROL] = MJ_WEIGHT("ctrl_cost_weight", 0.5, "cost of controls, per squared control"),                           \
    [CONTACT] = MJ_WEIGHT("contact_cost_weight", 5e-4, "cost of contact forces, per squared force"),                   \
    [HEALTHY] = MJ_WEIGHT("healthy_reward", 1.0, "reward for each step in which the lane is healthy"),                 \
    [TERMINATE] = MJ_TERMINATE,                                                                                        \
    [Z_MIN] = MJ_BOUND("healthy_z_min", 0.2, "the lowest healthy height of the torso, m"),                             \
    [Z_MAX] = MJ_BOUND("healthy_z_max", 1.0, "the greatest healthy height of the torso, m"),                           \
    [FORCE_MIN] = MJ_BOUND("contact_force_min", -1.0, "contact forces are clipped to at least this"),                  \
    [FORCE_MAX] = MJ_BOUND("contact_force_max", 1.0, "contact forces are clipped to at most this")
/* clang-format on */
#define ANT_INCLUDE_FORCES MJ_INCLUDE("cfrc_ext") /* of -v5 only, whose last param it is */

enum { MAIN_BODY, FORCES };
static const be_read ant_reads[] = {[MAIN_BODY] = {"xpos", "body", "@main_body"}, [FORCES] = {"cfrc_ext"}, {0}};
static const be_read ant_reads_v4[] = {[MAIN_BODY] = {"xpos", "body", "torso"}, {0}};
static const be_read ant_reads_v4_contact[] = {[MAIN_BODY] = {"xpos", "body", "torso"}, [FORCES] = {"cfrc_ext"}, {0}};

enum { REWARD_FORWARD = PLANE_PORTS, REWARD_CTRL, REWARD_SURVIVE, UNSTABLE, REWARD_CONTACT, ANT_PORTS };
enum { FORWARD_REWARD_V4 = REWARD_CONTACT };
/* clang-format off */
#define ANT_SHARED_INFOS(kind)                                                                                         \
    PLANE_INFOS(kind),                                                                                                 \
    [REWARD_FORWARD] = MJ_INFO_STEP("reward_forward", "part of the reward"),                                           \
    [REWARD_SURVIVE] = MJ_INFO_STEP("reward_survive", "part of the reward"),                                           \
    [UNSTABLE] = MJ_UNSTABLE_INFO
#define ANT_INFOS                                                                                                      \
    ANT_SHARED_INFOS(MJ_INFO_ALWAYS),                                                                                  \
    [REWARD_CTRL] = MJ_INFO_STEP_F32("reward_ctrl", "part of the reward"),                                             \
    [REWARD_CONTACT] = MJ_INFO_STEP("reward_contact", "part of the reward")
#define ANT_INFOS_V4                                                                                                   \
    ANT_SHARED_INFOS(MJ_INFO_STEP),                                                                                    \
    [REWARD_CTRL] = MJ_INFO_STEP_F32("reward_ctrl", "part of the reward"),                                             \
    [FORWARD_REWARD_V4] = MJ_INFO_STEP("forward_reward", "the same as reward_forward")
#define ANT_INFOS_V4_CONTACT                                                                                           \
    ANT_SHARED_INFOS(MJ_INFO_STEP),                                                                                    \
    [REWARD_CTRL] = MJ_INFO_STEP("reward_ctrl", "the contact cost, as in Gymnasium"),                                  \
    [FORWARD_REWARD_V4] = MJ_INFO_STEP("forward_reward", "the same as reward_forward")
/* clang-format on */

enum { CHARGES_CONTACTS = MJ_OWN };
static inline int ant_charges_contacts(const be_batch *b) { return (b->type->variant & CHARGES_CONTACTS) != 0; }

static inline double ant_clipped_force(const be_batch *b, int64_t lane, double force) {
    return be_clip_one(force, be_param_of(b, FORCE_MIN, lane), be_param_of(b, FORCE_MAX, lane));
}

/* What is observed: positions from the one numbered `hidden` on, velocities, and forces on bodies (-v5 leaves out the
 * world's, which are 0). */
static inline int64_t ant_observation_size(const be_mujoco_view *source, int64_t hidden, int forces, int v4) {
    return be_mujoco_state_size(source, hidden) + (forces ? 6 * (source->num_body - !v4) : 0);
}
static inline void ant_write_observation(const be_batch *b, int64_t lane, int64_t hidden, int forces, double *row) {
    row = be_mujoco_append_state(b, lane, hidden, row);
    if (!forces) return;
    const double *force = be_mujoco_read_of(b, lane, FORCES);
    for (int64_t j = be_mujoco_is_v4(b) ? 0 : 6; j < 6 * be_mujoco_of(b)->num_body; j++)
        *row++ = ant_clipped_force(b, lane, force[j]);
}

/* Writes the infos of an episode's start, after be_mujoco_clear_info. */
static inline void ant_write_start(const be_batch *b, int64_t lane, const be_rows *rows) {
    if (!be_mujoco_is_v4(b)) write_position(b, lane, rows, be_mujoco_arrays(b, lane)[MJ_QPOS]);
}

static inline int ant_is_healthy(const be_batch *b, int64_t lane) {
    const be_mujoco_view *source = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *qpos = arrays[MJ_QPOS], *qvel = arrays[MJ_QVEL];
    for (int64_t j = 0; j < source->num_qpos; j++) {
        if (!isfinite(qpos[j])) return 0;
    }
    for (int64_t j = 0; j < source->num_qvel; j++) {
        if (!isfinite(qvel[j])) return 0;
    }
    return be_param_of(b, Z_MIN, lane) <= qpos[2] && qpos[2] <= be_param_of(b, Z_MAX, lane);
}

/* np.sum(np.square(np.clip(cfrc_ext, ...))), in NumPy's order. */
static inline double ant_squared_forces(const be_batch *b, int64_t lane) {
    const be_mujoco_view *source = be_mujoco_of(b);
    const double *forces = be_mujoco_read_of(b, lane, FORCES);
    const int64_t size = 6 * source->num_body;
    enum { ROOM = 600 };
    double few[ROOM], *clipped = few;
    few[0] = 0; /* size is never 0, but compilers cannot know, and warn */
    if (size > ROOM && (clipped = malloc((size_t)size * sizeof *clipped)) == NULL) return NAN;
    for (int64_t j = 0; j < size; j++) clipped[j] = ant_clipped_force(b, lane, forces[j]);
    const double sum = be_sum_squares(clipped, size);
    if (clipped != few) free(clipped);
    return sum;
}

/* Takes a step; writes its infos, its reward, and whether it has terminated the episode. */
static inline int ant_step(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    const be_mujoco_view *source = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *position = be_mujoco_read_of(b, lane, MAIN_BODY);
    const double before[] = {position[0], position[1]};
    const int v4 = be_mujoco_is_v4(b), forces = !v4 || ant_charges_contacts(b);
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    const double dt = be_mujoco_dt(b), velocity[] = {(position[0] - before[0]) / dt, (position[1] - before[1]) / dt};
    const double forward = velocity[0] * (v4 ? 1.0 : be_param_of(b, FORWARD, lane));
    const float control =
        (float)be_param_of(b, CONTROL, lane) * be_sum_squares_f32(MJ_ACTION(b, rows, lane), source->num_ctrl);
    const double contact = forces ? be_param_of(b, CONTACT, lane) * ant_squared_forces(b, lane) : 0;
    const int healthy = ant_is_healthy(b, lane), terminate = be_param_of(b, TERMINATE, lane) != 0;
    const double survive = (double)(healthy || (v4 && terminate)) * be_param_of(b, HEALTHY, lane);
    rows->reward[lane - rows->first] = forward + survive - (forces ? (double)control + contact : (double)control);
    rows->terminated[lane - rows->first] = (uint8_t)(!healthy && terminate);
    write_position(b, lane, rows, v4 ? position : arrays[MJ_QPOS]);
    MJ_INFO(rows, X_VELOCITY, lane) = velocity[0];
    MJ_INFO(rows, Y_VELOCITY, lane) = velocity[1];
    MJ_INFO(rows, REWARD_FORWARD, lane) = forward;
    MJ_INFO(rows, REWARD_SURVIVE, lane) = survive;
    if (ant_charges_contacts(b)) {
        MJ_INFO(rows, REWARD_CTRL, lane) = -contact;
    } else {
        MJ_INFO_F32(rows, REWARD_CTRL, lane) = -control;
    }
    if (v4) {
        MJ_INFO(rows, FORWARD_REWARD_V4, lane) = forward;
    } else {
        MJ_INFO(rows, REWARD_CONTACT, lane) = -contact;
    }
    return status;
}

#endif
