/* Ant-v5 and -v4. */
#include <stdlib.h>

#include "engines/mujoco/plane.h"

enum {
    FORWARD = MJ_PARAMS,
    CONTROL,
    CONTACT,
    HEALTHY,
    TERMINATE,
    Z_MIN,
    Z_MAX,
    FORCE_MIN,
    FORCE_MAX,
    NOISE,
    EXCLUDE,
    INCLUDE_FORCES /* -v5 only */
};
/* clang-format off */
#define SHARED_PARAMS                                                                                                  \
    MJ_SHARED_PARAMS(5),                                                                                               \
    [FORWARD] = MJ_WEIGHT("forward_reward_weight", 1.0, "reward for speed, per m/s"),                                  \
    [CONTROL] = MJ_WEIGHT("ctrl_cost_weight", 0.5, "cost of controls, per squared control"),                           \
    [CONTACT] = MJ_WEIGHT("contact_cost_weight", 5e-4, "cost of contact forces, per squared force"),                   \
    [HEALTHY] = MJ_WEIGHT("healthy_reward", 1.0, "reward for each step in which the lane is healthy"),                 \
    [TERMINATE] = MJ_TERMINATE,                                                                                        \
    [Z_MIN] = MJ_BOUND("healthy_z_min", 0.2, "the lowest healthy height of the torso, m"),                             \
    [Z_MAX] = MJ_BOUND("healthy_z_max", 1.0, "the greatest healthy height of the torso, m"),                           \
    [FORCE_MIN] = MJ_BOUND("contact_force_min", -1.0, "contact forces are clipped to at least this"),                  \
    [FORCE_MAX] = MJ_BOUND("contact_force_max", 1.0, "contact forces are clipped to at most this"),                    \
    [NOISE] = MJ_SCALE(0.1),                                                                                           \
    [EXCLUDE] = MJ_EXCLUDE
/* clang-format on */
static const be_param params[] = {SHARED_PARAMS, [INCLUDE_FORCES] = MJ_INCLUDE("cfrc_ext"), {0}};
static const be_param params_v4[] = {SHARED_PARAMS, {0}};

enum { MAIN_BODY, FORCES };
static const be_read reads[] = {[MAIN_BODY] = {"xpos", "body", "@main_body"}, [FORCES] = {"cfrc_ext"}, {0}};
static const be_read reads_v4[] = {[MAIN_BODY] = {"xpos", "body", "torso"}, {0}};
static const be_read reads_v4_contact[] = {[MAIN_BODY] = {"xpos", "body", "torso"}, [FORCES] = {"cfrc_ext"}, {0}};

enum { REWARD_FORWARD = PLANE_PORTS, REWARD_CTRL, REWARD_SURVIVE, UNSTABLE, REWARD_CONTACT };
enum { FORWARD_REWARD_V4 = REWARD_CONTACT };
/* clang-format off */
#define SHARED(kind)                                                                                                   \
    PLANE_INFOS(kind),                                                                                                 \
    [REWARD_FORWARD] = MJ_INFO_STEP("reward_forward", "part of the reward"),                                           \
    [REWARD_SURVIVE] = MJ_INFO_STEP("reward_survive", "part of the reward"),                                           \
    [UNSTABLE] = MJ_UNSTABLE_INFO
/* clang-format on */
static const be_port ports[] = {
    MJ_SHARED_PORTS,
    SHARED(MJ_INFO_ALWAYS),
    [REWARD_CTRL] = MJ_INFO_STEP_F32("reward_ctrl", "part of the reward"),
    [REWARD_CONTACT] = MJ_INFO_STEP("reward_contact", "part of the reward"),
    {0},
};
static const be_port ports_v4[] = {
    MJ_SHARED_PORTS,
    SHARED(MJ_INFO_STEP),
    [REWARD_CTRL] = MJ_INFO_STEP_F32("reward_ctrl", "part of the reward"),
    [FORWARD_REWARD_V4] = MJ_INFO_STEP("forward_reward", "the same as reward_forward"),
    {0},
};
static const be_port ports_v4_contact[] = {
    MJ_SHARED_PORTS,
    SHARED(MJ_INFO_STEP),
    [REWARD_CTRL] = MJ_INFO_STEP("reward_ctrl", "the contact cost, as in Gymnasium"),
    [FORWARD_REWARD_V4] = MJ_INFO_STEP("forward_reward", "the same as reward_forward"),
    {0},
};

enum { CHARGES_CONTACTS = MJ_OWN };

/* Observes the forces on bodies from the first one on: -v5 leaves out the world's, which are 0. */
static int prepare_any(be_setup *setup, int observes, int64_t first, be_error *error) {
    const be_mujoco_view *source = setup->engine;
    const int64_t size = be_mujoco_state_size(source, setup->params[EXCLUDE] != 0 ? 2 : 0);
    return be_mujoco_spaces(setup, size + observes * 6 * (source->num_body - first), 3, 0, error);
}
static int prepare(be_setup *setup, be_error *error) {
    return prepare_any(setup, setup->params[INCLUDE_FORCES] != 0, 1, error);
}
static int prepare_v4(be_setup *setup, be_error *error) { return prepare_any(setup, 0, 0, error); }
static int prepare_v4_contact(be_setup *setup, be_error *error) { return prepare_any(setup, 1, 0, error); }

static int charges_contacts(const be_batch *b) { return (b->type->variant & CHARGES_CONTACTS) != 0; }

static double clipped_force(const be_batch *b, int64_t lane, double force) {
    return be_clip_one(force, be_param_of(b, FORCE_MIN, lane), be_param_of(b, FORCE_MAX, lane));
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const int v4 = be_mujoco_is_v4(b);
    row = be_mujoco_append_state(b, lane, be_param_of(b, EXCLUDE, 0) != 0 ? 2 : 0, row);
    if (v4 ? !charges_contacts(b) : be_param_of(b, INCLUDE_FORCES, 0) == 0) return;
    const double *forces = be_mujoco_read_of(b, lane, FORCES);
    for (int64_t j = v4 ? 0 : 6; j < 6 * be_mujoco_of(b)->num_body; j++) *row++ = clipped_force(b, lane, forces[j]);
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    int status = be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 1, error);
    be_mujoco_clear_info(b, lane, rows);
    if (!be_mujoco_is_v4(b)) write_position(b, lane, rows, be_mujoco_arrays(b, lane)[MJ_QPOS]);
    return status;
}
MJ_RESET_AND_OBSERVE(start, write_observation)

static int is_healthy(const be_batch *b, int64_t lane) {
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
static double squared_forces(const be_batch *b, int64_t lane) {
    const be_mujoco_view *source = be_mujoco_of(b);
    const double *forces = be_mujoco_read_of(b, lane, FORCES);
    const int64_t size = 6 * source->num_body;
    enum { ROOM = 600 };
    double few[ROOM], *clipped = few;
    few[0] = 0; /* size is never 0, but compilers cannot know, and warn */
    if (size > ROOM && (clipped = malloc((size_t)size * sizeof *clipped)) == NULL) return NAN;
    for (int64_t j = 0; j < size; j++) clipped[j] = clipped_force(b, lane, forces[j]);
    const double sum = be_sum_squares(clipped, size);
    if (clipped != few) free(clipped);
    return sum;
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const be_mujoco_view *source = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *position = be_mujoco_read_of(b, lane, MAIN_BODY);
    const double before[] = {position[0], position[1]};
    const int v4 = be_mujoco_is_v4(b), forces = !v4 || charges_contacts(b);
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    const double dt = be_mujoco_dt(b), velocity[] = {(position[0] - before[0]) / dt, (position[1] - before[1]) / dt};
    const double forward = velocity[0] * (v4 ? 1.0 : be_param_of(b, FORWARD, lane));
    const float control =
        (float)be_param_of(b, CONTROL, lane) * be_sum_squares_f32(MJ_ACTION(b, rows, lane), source->num_ctrl);
    const double contact = forces ? be_param_of(b, CONTACT, lane) * squared_forces(b, lane) : 0;
    const int healthy = is_healthy(b, lane), terminate = be_param_of(b, TERMINATE, lane) != 0;
    const double survive = (double)(healthy || (v4 && terminate)) * be_param_of(b, HEALTHY, lane);
    write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));
    rows->reward[lane - rows->first] = forward + survive - (forces ? (double)control + contact : (double)control);
    rows->terminated[lane - rows->first] = (uint8_t)(!healthy && terminate);
    write_position(b, lane, rows, v4 ? position : arrays[MJ_QPOS]);
    MJ_INFO(rows, X_VELOCITY, lane) = velocity[0];
    MJ_INFO(rows, Y_VELOCITY, lane) = velocity[1];
    MJ_INFO(rows, REWARD_FORWARD, lane) = forward;
    MJ_INFO(rows, REWARD_SURVIVE, lane) = survive;
    if (charges_contacts(b)) {
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

#define MEMBERS MJ_SHARED_MEMBERS, .frames_per_second = 20, .reset = reset, .observe = observe, .step = step
BE_ENV(ant) = {.name = "Ant",
               .ids = MJ_ID("Ant-v5", 1000, BE_THRESHOLD(6000.0)),
               .params = params,
               .ports = ports,
               .reads = reads,
               .prepare = prepare,
               MEMBERS};
BE_ENV(ant_v4) = {.name = "AntV4",
                  .ids = MJ_ID("Ant-v4", 1000, BE_THRESHOLD(6000.0)),
                  .variant = MJ_V4,
                  .params = params_v4,
                  .ports = ports_v4,
                  .reads = reads_v4,
                  .prepare = prepare_v4,
                  MEMBERS};
BE_ENV(ant_v4_contact) = {.name = "AntV4Contact",
                          .variant = MJ_V4 | CHARGES_CONTACTS,
                          .params = params_v4,
                          .ports = ports_v4_contact,
                          .reads = reads_v4_contact,
                          .prepare = prepare_v4_contact,
                          MEMBERS};
