/* Humanoid and HumanoidStandup, -v5 and -v4. */
#include "engines/mujoco/plane.h"

/* ---- what is read ---------------------------------------------------------------------------------- */

enum { CINERT, CVEL, QFRC_ACTUATOR, CFRC_EXT, PARTS, XIPOS = PARTS, MASS, LENGTHS, VELOCITIES };
static const be_read reads[] = {
    [CINERT] = {"cinert"},
    [CVEL] = {"cvel"},
    [QFRC_ACTUATOR] = {"qfrc_actuator"},
    [CFRC_EXT] = {"cfrc_ext"},
    [XIPOS] = {"xipos"},
    [MASS] = {"model.body_mass"},
    [LENGTHS] = {"ten_length"},
    [VELOCITIES] = {"ten_velocity"},
    {0},
};

/* -v5 has a param for each part that may be observed, from `first` on; -v4 observes all of them. */
enum { EXCLUDE = MJ_PARAMS, OWN_PARAMS };
/* clang-format off */
#define INCLUDE_PARAMS(first)                                                                                          \
    [(first) + CINERT] = MJ_INCLUDE("cinert"),                                                                         \
    [(first) + CVEL] = MJ_INCLUDE("cvel"),                                                                             \
    [(first) + QFRC_ACTUATOR] = MJ_INCLUDE("qfrc_actuator"),                                                           \
    [(first) + CFRC_EXT] = MJ_INCLUDE("cfrc_ext")
/* clang-format on */

/* ---- Humanoid's tables ----------------------------------------------------------------------------- */

enum {
    FORWARD = OWN_PARAMS,
    CONTROL,
    HEALTHY,
    TERMINATE,
    Z_MIN,
    Z_MAX,
    NOISE,
    CONTACT,
    CONTACT_MIN,
    CONTACT_MAX,
    INCLUDE
};
/* clang-format off */
#define SHARED_PARAMS                                                                                                  \
    MJ_SHARED_PARAMS(5),                                                                                               \
    [EXCLUDE] = MJ_EXCLUDE,                                                                                            \
    [FORWARD] = MJ_WEIGHT("forward_reward_weight", 1.25, "reward for speed, per m/s"),                                 \
    [CONTROL] = MJ_WEIGHT("ctrl_cost_weight", 0.1, "cost of controls, per squared control"),                           \
    [HEALTHY] = MJ_WEIGHT("healthy_reward", 5.0, "reward for each step in which the lane is healthy"),                 \
    [TERMINATE] = MJ_TERMINATE,                                                                                        \
    [Z_MIN] = MJ_BOUND("healthy_z_min", 1.0, "the torso's height must be above, m"),                                   \
    [Z_MAX] = MJ_BOUND("healthy_z_max", 2.0, "the torso's height must be below, m"),                                   \
    [NOISE] = MJ_SCALE(1e-2),                                                                                          \
    [CONTACT] = MJ_WEIGHT("contact_cost_weight", 5e-7, "cost of contact forces, per squared force"),                   \
    [CONTACT_MIN] = MJ_BOUND("contact_cost_min", -MJ_ANY, "the contact cost is clipped to at least this"),             \
    [CONTACT_MAX] = MJ_BOUND("contact_cost_max", 10.0, "the contact cost is clipped to at most this")
/* clang-format on */
static const be_param params[] = {SHARED_PARAMS, INCLUDE_PARAMS(INCLUDE), {0}};
static const be_param params_v4[] = {SHARED_PARAMS, {0}};

enum { REWARD_FORWARD = PLANE_PORTS, REWARD_CTRL, REWARD_SURVIVE, UNSTABLE, REWARD_CONTACT };
enum { FORWARD_REWARD_V4 = REWARD_CONTACT, TENDON_LENGTH, TENDON_VELOCITY };
/* clang-format off */
#define SHARED(kind, forward, ctrl, survive)                                                                           \
    PLANE_INFOS(kind),                                                                                                 \
    [REWARD_FORWARD] = MJ_INFO_STEP(forward, "part of the reward"),                                                    \
    [REWARD_CTRL] = MJ_INFO_STEP(ctrl, "part of the reward"),                                                          \
    [REWARD_SURVIVE] = MJ_INFO_STEP(survive, "part of the reward"),                                                    \
    [UNSTABLE] = MJ_UNSTABLE_INFO
/* clang-format on */
enum { TENDONS = 2 };
#define TENDON_INFO(name_, doc_) {name_, BE_INFO, BE_VALUES(BE_F64, TENDONS), .doc = doc_}
static const be_port ports[] = {
    MJ_SHARED_PORTS,
    SHARED(MJ_INFO_ALWAYS, "reward_forward", "reward_ctrl", "reward_survive"),
    [REWARD_CONTACT] = MJ_INFO_STEP("reward_contact", "part of the reward"),
    [TENDON_LENGTH] = TENDON_INFO("tendon_length", "rad"),
    [TENDON_VELOCITY] = TENDON_INFO("tendon_velocity", "rad/s"),
    {0},
};
static const be_port ports_v4[] = {
    MJ_SHARED_PORTS,
    SHARED(MJ_INFO_STEP, "reward_linvel", "reward_quadctrl", "reward_alive"),
    [FORWARD_REWARD_V4] = MJ_INFO_STEP("forward_reward", "the same as reward_linvel"),
    {0},
};

/* ---- HumanoidStandup's tables ---------------------------------------------------------------------- */

enum { UP = OWN_PARAMS, STANDUP_CONTROL, STANDUP_NOISE, IMPACT, IMPACT_MIN, IMPACT_MAX, STANDUP_INCLUDE };
/* clang-format off */
#define SHARED_STANDUP_PARAMS                                                                                          \
    MJ_SHARED_PARAMS(5),                                                                                               \
    [EXCLUDE] = MJ_EXCLUDE,                                                                                            \
    [UP] = MJ_WEIGHT("uph_cost_weight", 1.0, "has no effect, as in Gymnasium"),                                        \
    [STANDUP_CONTROL] = MJ_WEIGHT("ctrl_cost_weight", 0.1, "cost of controls, per squared control"),                   \
    [STANDUP_NOISE] = MJ_SCALE(1e-2),                                                                                  \
    [IMPACT] = MJ_WEIGHT("impact_cost_weight", 0.5e-6, "cost of contact forces, per squared force"),                   \
    [IMPACT_MIN] = MJ_BOUND("impact_cost_min", -MJ_ANY, "the impact cost is clipped to at least this"),                \
    [IMPACT_MAX] = MJ_BOUND("impact_cost_max", 10.0, "the impact cost is clipped to at most this")
/* clang-format on */
static const be_param standup_params[] = {SHARED_STANDUP_PARAMS, INCLUDE_PARAMS(STANDUP_INCLUDE), {0}};
static const be_param standup_params_v4[] = {SHARED_STANDUP_PARAMS, {0}};

enum {
    REWARD_LINUP = MJ_PORTS,
    REWARD_QUADCTRL,
    REWARD_IMPACT,
    STANDUP_UNSTABLE,
    STANDUP_X,
    STANDUP_Y,
    STANDUP_Z,
    STANDUP_TENDON_LENGTH,
    STANDUP_TENDON_VELOCITY
};
/* clang-format off */
#define SHARED_STANDUP                                                                                                 \
    [REWARD_LINUP] = MJ_INFO_STEP("reward_linup", "part of the reward"),                                               \
    [REWARD_QUADCTRL] = MJ_INFO_STEP("reward_quadctrl", "part of the reward"),                                         \
    [REWARD_IMPACT] = MJ_INFO_STEP("reward_impact", "part of the reward"),                                             \
    [STANDUP_UNSTABLE] = MJ_UNSTABLE_INFO
/* clang-format on */
static const be_port standup_ports[] = {
    MJ_SHARED_PORTS,
    SHARED_STANDUP,
    [STANDUP_X] = MJ_INFO_ALWAYS("x_position", "m"),
    [STANDUP_Y] = MJ_INFO_ALWAYS("y_position", "m"),
    [STANDUP_Z] = MJ_INFO_ALWAYS("z_distance_from_origin", "height above the start, m"),
    [STANDUP_TENDON_LENGTH] = TENDON_INFO("tendon_length", "rad"),
    [STANDUP_TENDON_VELOCITY] = TENDON_INFO("tendon_velocity", "rad/s"),
    {0},
};
static const be_port standup_ports_v4[] = {MJ_SHARED_PORTS, SHARED_STANDUP, {0}};

/* ---- observations ---------------------------------------------------------------------------------- */

enum { STANDUP = MJ_OWN };

/* -v4 observes the world's body, all zeros, and the root joint's six degrees of freedom, which no actuator moves.
 * `shown` says which parts are observed. */
static int prepare_any(be_setup *setup, const double *shown, int64_t world, int64_t root, be_error *error) {
    const be_mujoco_view *source = setup->engine;
    const int64_t bodies = source->num_body - world;
    const int64_t sizes[PARTS] = {10 * bodies, 6 * bodies, source->num_qvel - root, 6 * bodies};
    int64_t size = be_mujoco_state_size(source, setup->params[EXCLUDE] != 0 ? 2 : 0);
    for (int part = 0; part < PARTS; part++) size += shown[part] != 0 ? sizes[part] : 0;
    return be_mujoco_spaces(setup, size, 7, 6, error);
}
static int prepare_v5(be_setup *setup, int include, be_error *error) {
    const be_mujoco_view *source = setup->engine;
    if (source->reads[LENGTHS].size != TENDONS) {
        return be_fail(error, BE_ERROR_VALUE, -1, "xml_file: the model has %lld tendons, but infos have room for %d",
                       (long long)source->reads[LENGTHS].size, TENDONS);
    }
    return prepare_any(setup, setup->params + include, 1, 6, error);
}
static int prepare(be_setup *setup, be_error *error) { return prepare_v5(setup, INCLUDE, error); }
static int prepare_standup(be_setup *setup, be_error *error) { return prepare_v5(setup, STANDUP_INCLUDE, error); }
static int prepare_v4(be_setup *setup, be_error *error) {
    static const double all[PARTS] = {1, 1, 1, 1};
    return prepare_any(setup, all, 0, 0, error);
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const be_mujoco_view *source = be_mujoco_of(b);
    const int v4 = be_mujoco_is_v4(b), include = b->type->variant & STANDUP ? (int)STANDUP_INCLUDE : (int)INCLUDE;
    const int64_t world = !v4, root = v4 ? 0 : 6, bodies = source->num_body - world;
    const int64_t sizes[PARTS] = {10 * bodies, 6 * bodies, source->num_qvel - root, 6 * bodies};
    const int64_t skip[PARTS] = {10 * world, 6 * world, root, 6 * world};
    row = be_mujoco_append_state(b, lane, be_param_of(b, EXCLUDE, 0) != 0 ? 2 : 0, row);
    for (int part = 0; part < PARTS; part++) {
        if (!v4 && be_param_of(b, include + part, 0) == 0) continue;
        row = be_append(row, be_mujoco_read_of(b, lane, part) + skip[part], sizes[part]);
    }
}

static void write_tendons(const be_batch *b, int64_t lane, const be_rows *rows, int length, int velocity) {
    be_append(BE_ROW(double, rows->port[length], rows, lane, TENDONS), be_mujoco_read_of(b, lane, LENGTHS), TENDONS);
    be_append(BE_ROW(double, rows->port[velocity], rows, lane, TENDONS), be_mujoco_read_of(b, lane, VELOCITIES),
              TENDONS);
}

/* ---- Humanoid -------------------------------------------------------------------------------------- */

/* x and y of the centre of mass: np.einsum("b,bj->j", body_mass, xipos) / body_mass.sum(). */
static void mass_center(const be_batch *b, int64_t lane, double center[2]) {
    const be_mujoco_view *source = be_mujoco_of(b);
    const double *mass = be_mujoco_read_of(b, lane, MASS), *place = be_mujoco_read_of(b, lane, XIPOS);
    const double total = be_sum(mass, source->num_body);
    for (int j = 0; j < 2; j++) {
        double sum = 0;
        for (int64_t k = 0; k < source->num_body; k++) {
            const double x = place[3 * k + j];
            sum = source->fused_einsum ? be_math.fma(mass[k], x, sum) : sum + mass[k] * x;
        }
        center[j] = sum / total;
    }
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    int status = be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 0, error);
    be_mujoco_clear_info(b, lane, rows);
    if (be_mujoco_is_v4(b)) return status;
    write_position(b, lane, rows, be_mujoco_arrays(b, lane)[MJ_QPOS]);
    write_tendons(b, lane, rows, TENDON_LENGTH, TENDON_VELOCITY);
    return status;
}
MJ_RESET_AND_OBSERVE(start, write_observation)

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const be_mujoco_view *source = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *qpos = arrays[MJ_QPOS];
    const int v4 = be_mujoco_is_v4(b);
    double before[2], after[2];
    mass_center(b, lane, before);
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    mass_center(b, lane, after);
    const double dt = be_mujoco_dt(b), velocity[] = {(after[0] - before[0]) / dt, (after[1] - before[1]) / dt};
    const double forward = be_param_of(b, FORWARD, lane) * velocity[0];
    const double control = be_param_of(b, CONTROL, lane) * be_sum_squares(arrays[MJ_CTRL], source->num_ctrl);
    const int healthy = be_param_of(b, Z_MIN, lane) < qpos[2] && qpos[2] < be_param_of(b, Z_MAX, lane);
    const int terminate = be_param_of(b, TERMINATE, lane) != 0;
    const double survive = (double)(healthy || (v4 && terminate)) * be_param_of(b, HEALTHY, lane);
    write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));
    rows->terminated[lane - rows->first] = (uint8_t)(!healthy && terminate);
    MJ_INFO(rows, X_VELOCITY, lane) = velocity[0];
    MJ_INFO(rows, Y_VELOCITY, lane) = velocity[1];
    MJ_INFO(rows, REWARD_FORWARD, lane) = forward;
    MJ_INFO(rows, REWARD_CTRL, lane) = -control;
    MJ_INFO(rows, REWARD_SURVIVE, lane) = survive;
    if (v4) {
        rows->reward[lane - rows->first] = forward + survive - control;
        write_position(b, lane, rows, after);
        MJ_INFO(rows, FORWARD_REWARD_V4, lane) = forward;
        return status;
    }
    const double contact =
        be_param_of(b, CONTACT, lane) * be_sum_squares(be_mujoco_read_of(b, lane, CFRC_EXT), 6 * source->num_body);
    const double clipped = be_clip_one(contact, be_param_of(b, CONTACT_MIN, lane), be_param_of(b, CONTACT_MAX, lane));
    rows->reward[lane - rows->first] = forward + survive - (control + clipped);
    write_position(b, lane, rows, qpos);
    write_tendons(b, lane, rows, TENDON_LENGTH, TENDON_VELOCITY);
    MJ_INFO(rows, REWARD_CONTACT, lane) = -clipped;
    return status;
}

/* ---- HumanoidStandup ------------------------------------------------------------------------------- */

static void write_standup_info(const be_batch *b, int64_t lane, const be_rows *rows) {
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS];
    if (be_mujoco_is_v4(b)) return;
    MJ_INFO(rows, STANDUP_X, lane) = qpos[0];
    MJ_INFO(rows, STANDUP_Y, lane) = qpos[1];
    MJ_INFO(rows, STANDUP_Z, lane) = qpos[2] - be_mujoco_of(b)->init_qpos[2];
    write_tendons(b, lane, rows, STANDUP_TENDON_LENGTH, STANDUP_TENDON_VELOCITY);
}

static int start_standup(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    int status = be_mujoco_start(b, lane, be_param_of(b, STANDUP_NOISE, lane), 0, error);
    be_mujoco_clear_info(b, lane, rows);
    write_standup_info(b, lane, rows);
    return status;
}

MJ_RESET(reset_standup, start_standup)

static int step_standup(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const be_mujoco_view *source = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    const int status = be_mujoco_advance(b, lane, rows, STANDUP_UNSTABLE, error);
    if (status != BE_OK) return status;
    const double up = arrays[MJ_QPOS][2] / source->timestep;
    const double control = be_param_of(b, STANDUP_CONTROL, lane) * be_sum_squares(arrays[MJ_CTRL], source->num_ctrl);
    const double impact = be_clip_one(be_param_of(b, IMPACT, lane) *
                                          be_sum_squares(be_mujoco_read_of(b, lane, CFRC_EXT), 6 * source->num_body),
                                      be_param_of(b, IMPACT_MIN, lane), be_param_of(b, IMPACT_MAX, lane));
    write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));
    rows->reward[lane - rows->first] = up - control - impact + 1;
    rows->terminated[lane - rows->first] = 0;
    MJ_INFO(rows, REWARD_LINUP, lane) = up;
    MJ_INFO(rows, REWARD_QUADCTRL, lane) = -control;
    MJ_INFO(rows, REWARD_IMPACT, lane) = -impact;
    write_standup_info(b, lane, rows);
    return status;
}

#define MEMBERS                                                                                                        \
    MJ_SHARED_MEMBERS, .frames_per_second = 67, .reads = reads, .reset = reset, .observe = observe, .step = step
#define STANDUP_MEMBERS                                                                                                \
    MJ_SHARED_MEMBERS, .frames_per_second = 67, .reads = reads, .reset = reset_standup, .observe = observe,            \
        .step = step_standup
BE_ENV(humanoid) = {.name = "Humanoid",
                    .ids = MJ_ID("Humanoid-v5", 1000, NULL),
                    .params = params,
                    .ports = ports,
                    .prepare = prepare,
                    MEMBERS};
BE_ENV(humanoid_v4) = {.name = "HumanoidV4",
                       .ids = MJ_ID("Humanoid-v4", 1000, NULL),
                       .variant = MJ_V4,
                       .params = params_v4,
                       .ports = ports_v4,
                       .prepare = prepare_v4,
                       MEMBERS};
BE_ENV(humanoid_standup) = {.name = "HumanoidStandup",
                            .ids = MJ_ID("HumanoidStandup-v5", 1000, NULL),
                            .variant = STANDUP,
                            .params = standup_params,
                            .ports = standup_ports,
                            .prepare = prepare_standup,
                            STANDUP_MEMBERS};
BE_ENV(humanoid_standup_v4) = {.name = "HumanoidStandupV4",
                               .ids = MJ_ID("HumanoidStandup-v4", 1000, NULL),
                               .variant = MJ_V4 | STANDUP,
                               .params = standup_params_v4,
                               .ports = standup_ports_v4,
                               .prepare = prepare_v4,
                               STANDUP_MEMBERS};
