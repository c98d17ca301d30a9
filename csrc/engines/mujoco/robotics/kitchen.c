/* FrankaKitchen-v1: an arm that is to move things of a kitchen to where they belong. Joints are observed with noise, of
 * which the next action counts on. */
#include "engines/mujoco/gymnasium.h"
#include "numpy_dot.h"

enum { JOINTS = 9, POSITIONS = 30, SPEEDS = 29, NUMBERS = POSITIONS + SPEEDS }; /* of the arm; of the model */
#define NEAR 0.3 /* how far from its goal a thing may be */

/* The things, in the order of their names: their first position, how many they have, and where these are to be. */
enum { THINGS = 7 };
static const struct {
    const char *name;
    int first, size;
    double goal[7];
} things[THINGS] = {
    {"bottom burner", 11, 2, {-0.88, -0.01}},
    {"hinge cabinet", 20, 2, {0.0, 1.45}},
    {"kettle", 23, 7, {-0.23, 0.75, 1.62, 0.99, 0.0, 0.0, -0.06}},
    {"light switch", 17, 2, {-0.69, -0.05}},
    {"microwave", 22, 1, {-0.75}},
    {"slide cabinet", 19, 1, {0.37}},
    {"top burner", 15, 2, {-0.92, -0.01}},
};
#define ALL_THINGS "bottom burner,hinge cabinet,kettle,light switch,microwave,slide cabinet,top burner"

enum { CHOSEN = MJ_PARAMS, TERMINATE, REMOVE, OBJECT_NOISE, ROBOT_NOISE };
static const be_param params[] = {
    MJ_SHARED_PARAMS(40),
    [CHOSEN] = {"tasks_to_complete", BE_PARAM_TEXT, .doc = "names of tasks: a list, or a text with commas",
                .text = ALL_THINGS},
    [TERMINATE] = {"terminate_on_tasks_completed", BE_PARAM_BOOL, 1, 0, 1, NULL,
                   "episodes end when all tasks are completed", .per_lane = 1},
    [REMOVE] = {"remove_task_when_completed", BE_PARAM_BOOL, 1, 0, 1, NULL,
                "a task is rewarded in the step that completes it, and not in those after it", .per_lane = 1},
    [OBJECT_NOISE] = MJ_WITHIN("object_noise_ratio", 0.0005, -1e300, 1e300, "scale of the noise of things' joints"),
    [ROBOT_NOISE] = MJ_WITHIN("robot_noise_ratio", 0.01, -1e300, 1e300, "scale of the noise of the arm's joints"),
    {0},
};
enum { IS_CHOSEN }; /* the constants: of each thing, 1 if it is */

enum { UNSTABLE = MJ_PORTS, ACHIEVED, DESIRED = ACHIEVED + THINGS, LEFT = DESIRED + THINGS, IN_STEP, IN_EPISODE };
#define ACHIEVED_PORT(k, name) [ACHIEVED + (k)] = {"achieved_goal/" name, BE_OBSERVATION}
#define DESIRED_PORT(k, name) [DESIRED + (k)] = {"desired_goal/" name, BE_OBSERVATION}
#define THING_PORTS(k, name) ACHIEVED_PORT(k, name), DESIRED_PORT(k, name)
static const be_port ports[] = {
    [MJ_ACTION_PORT] = {"", BE_ACTION},
    [MJ_OBSERVATION_PORT] = {"observation", BE_OBSERVATION},
    [UNSTABLE] = MJ_UNSTABLE_INFO,
    THING_PORTS(0, "bottom burner"),
    THING_PORTS(1, "hinge cabinet"),
    THING_PORTS(2, "kettle"),
    THING_PORTS(3, "light switch"),
    THING_PORTS(4, "microwave"),
    THING_PORTS(5, "slide cabinet"),
    THING_PORTS(6, "top burner"),
    [LEFT] = {"tasks_to_complete", BE_INFO, BE_VALUE(BE_BOOL), .doc = "which tasks are left to complete"},
    [IN_STEP] = {"step_task_completions", BE_INFO, BE_VALUE(BE_BOOL), .doc = "which tasks this step has completed"},
    [IN_EPISODE] = {"episode_task_completions", BE_INFO, BE_VALUE(BE_BOOL), .doc = "which this episode has completed"},
    {0},
};

enum { SEEN = MJ_FIELDS, IS_LEFT, IS_COMPLETED };
static const be_field state[] = {
    MJ_SHARED_STATE,
    [SEEN] = {"observation", BE_F64, NUMBERS, "what was observed last, with its noise"},
    [IS_LEFT] = {"tasks_to_complete", BE_BOOL, THINGS, "which tasks are left, in the order of their names"},
    [IS_COMPLETED] = {"episode_task_completions", BE_BOOL, THINGS, "which tasks the episode has completed"},
    {0},
};

static const be_read reads[] = {{"qpos"}, {0}}; /* what the arm and things show */

/* What the package has in a file: bounds of the arm's positions and speeds, low and high of each, and how large the
 * noise of positions and speeds may be. */
enum { AT_BOUNDS, AT_SPEED_BOUNDS = 2 * JOINTS, AT_NOISE = 4 * JOINTS, AT_SPEED_NOISE = AT_NOISE + SPEEDS };

static int is_chosen(const be_batch *b, int k) { return be_constant_of(b, IS_CHOSEN + k, 0) != 0; }

static int choose(const char *text, double *chosen, be_error *error) {
    for (int k = 0; k < THINGS; k++) chosen[k] = 0;
    for (;;) {
        const size_t length = strcspn(text, ",");
        int k = 0;
        while (k < THINGS && (strlen(things[k].name) != length || strncmp(things[k].name, text, length) != 0)) k++;
        if (k == THINGS)
            return be_fail(error, BE_ERROR_VALUE, -1,
                           "tasks_to_complete names '%.*s', which is none of the tasks: %s (one or more, with commas)",
                           (int)(length < 40 ? length : 40), text, ALL_THINGS);
        chosen[k] = 1;
        if (text[length] == '\0') return BE_OK;
        text += length + 1;
    }
}

static int prepare(be_setup *setup, be_error *error) {
    const be_mujoco_view *view = setup->engine;
    int64_t count = 0;
    int status = choose(setup->texts[CHOSEN], setup->constants + IS_CHOSEN, error);
    if (status != BE_OK) return status;
    if (view->num_qpos != POSITIONS || view->num_qvel != SPEEDS || view->num_ctrl != JOINTS)
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "the XML's model has %lld positions, %lld velocities and %lld actuators: there must be %d, %d "
                       "and %d",
                       (long long)view->num_qpos, (long long)view->num_qvel, (long long)view->num_ctrl, POSITIONS,
                       SPEEDS, JOINTS);
    status = be_mujoco_spaces_of_actions(setup, NUMBERS, POSITIONS, SPEEDS, JOINTS, -1, 1, error);
    setup->space[MJ_ACTION_PORT].dtype = BE_F64;
    for (int k = 0; k < THINGS; k++) {
        const int chosen = setup->constants[IS_CHOSEN + k] != 0;
        const int64_t size = chosen ? things[k].size : 0;
        be_space_box(&setup->space[ACHIEVED + k], BE_F64, 1, &size, -HUGE_VAL, HUGE_VAL);
        be_space_box(&setup->space[DESIRED + k], BE_F64, 1, &size, -HUGE_VAL, HUGE_VAL);
        count += chosen;
    }
    for (int port = LEFT; port <= IN_EPISODE; port++) be_space_box(&setup->space[port], BE_BOOL, 1, &count, 0, 1);
    return status;
}

/* ---- steps ---------------------------------------------------------------------------------------------- */

/* As NumPy's clip, with the same zeros. */
static double clip(double x, const double *bounds) {
    x = x > bounds[0] ? x : bounds[0];
    return x < bounds[1] ? x : bounds[1];
}

/* Actions are speeds of joints, which say where these are to be a step later, from where they were seen. The action
 * space has doubles. */
static void control(const be_batch *b, int64_t lane, const float *action, double *controls) {
    const double *numbers = be_mujoco_of(b)->init_numbers, *seen = MJ_FIELD(b, SEEN, double, lane);
    const double *speeds = (const double *)(const void *)action, dt = be_mujoco_dt(b);
    for (int j = 0; j < JOINTS; j++) {
        const double speed = clip(0.0 + speeds[j] * 2, numbers + AT_SPEED_BOUNDS + 2 * j);
        controls[j] = clip(seen[j] + speed * dt, numbers + AT_BOUNDS + 2 * j);
    }
}

/* Adds noise to some numbers. `most` says how large it may be. */
static double *append_noisy(const be_batch *b, int64_t lane, const double *values, int count, double scale,
                            const double *most, double *row) {
    for (int k = 0; k < count; k++) row[k] = values[k] + scale * most[k] * be_rng_uniform(&b->rng[lane], -1, 1);
    return row + count;
}

/* The noise of the things' positions begins with that of the arm's last joint. */
static void see(const be_batch *b, int64_t lane) {
    double *const *arrays = be_mujoco_arrays(b, lane), *row = MJ_FIELD(b, SEEN, double, lane);
    const double *most = be_mujoco_of(b)->init_numbers + AT_NOISE, *most_speed = most + SPEEDS;
    const double *qpos = arrays[MJ_QPOS], *qvel = arrays[MJ_QVEL];
    const double arm = be_param_of(b, ROBOT_NOISE, lane), thing = be_param_of(b, OBJECT_NOISE, lane);
    row = append_noisy(b, lane, qpos, JOINTS, arm, most, row);
    row = append_noisy(b, lane, qvel, JOINTS, arm, most_speed, row);
    row = append_noisy(b, lane, qpos + JOINTS, POSITIONS - JOINTS, thing, most + JOINTS - 1, row);
    (void)append_noisy(b, lane, qvel + JOINTS, SPEEDS - JOINTS, thing, most_speed + JOINTS, row);
}

static int is_near(const double *qpos, int k) {
    double way[7];
    for (int i = 0; i < things[k].size; i++) way[i] = qpos[things[k].first + i] - things[k].goal[i];
    return sqrt(be_numpy_dot_of(way, way, things[k].size)) < NEAR;
}

static void write_observation(const be_batch *b, int64_t lane, const be_rows *rows) {
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS];
    (void)be_append(MJ_OBSERVATION(b, rows, lane), MJ_FIELD(b, SEEN, double, lane), NUMBERS);
    for (int k = 0; k < THINGS; k++) {
        const int size = things[k].size;
        if (!is_chosen(b, k)) continue;
        (void)be_append(BE_ROW(double, rows->port[ACHIEVED + k], rows, lane, size), qpos + things[k].first, size);
        (void)be_append(BE_ROW(double, rows->port[DESIRED + k], rows, lane, size), things[k].goal, size);
    }
}

/* Writes the infos, of which those of tasks that nobody has chosen are left out. */
static void write_infos(const be_batch *b, int64_t lane, const be_rows *rows, const uint8_t *in_step) {
    const uint8_t *flags[] = {MJ_FIELD(b, IS_LEFT, uint8_t, lane), in_step, MJ_FIELD(b, IS_COMPLETED, uint8_t, lane)};
    for (int port = LEFT; port <= IN_EPISODE; port++) {
        uint8_t *row = BE_ROW(uint8_t, rows->port[port], rows, lane, b->space[port].shape[0]);
        for (int k = 0; k < THINGS; k++)
            if (is_chosen(b, k)) *row++ = flags[port - LEFT][k];
    }
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    if (status != BE_OK) return status;
    const double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS];
    uint8_t *left = MJ_FIELD(b, IS_LEFT, uint8_t, lane), *completed = MJ_FIELD(b, IS_COMPLETED, uint8_t, lane);
    uint8_t in_step[THINGS];
    const int removes = be_param_of(b, REMOVE, lane) != 0;
    int reward = 0, all = 1;
    for (int k = 0; k < THINGS; k++) {
        in_step[k] = (uint8_t)(left[k] && is_near(qpos, k));
        reward += in_step[k];
        completed[k] |= in_step[k];
        left[k] &= (uint8_t)!(removes && in_step[k]);
        all &= completed[k] || !is_chosen(b, k);
    }
    see(b, lane);
    write_observation(b, lane, rows);
    write_infos(b, lane, rows, in_step);
    rows->reward[lane - rows->first] = reward;
    rows->terminated[lane - rows->first] = (uint8_t)(all && be_param_of(b, TERMINATE, lane) != 0);
    return BE_OK;
}

/* ---- episodes ------------------------------------------------------------------------------------------- */

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    static const uint8_t none[THINGS];
    const be_mujoco_view *view = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    (void)be_append(arrays[MJ_QPOS], view->init_qpos, POSITIONS);
    (void)be_append(arrays[MJ_QVEL], view->init_qvel, SPEEDS);
    const int status = be_mujoco_begin(b, lane, error);
    if (status != BE_OK) return status;
    for (int k = 0; k < THINGS; k++) {
        MJ_FIELD(b, IS_LEFT, uint8_t, lane)[k] = (uint8_t)is_chosen(b, k);
        MJ_FIELD(b, IS_COMPLETED, uint8_t, lane)[k] = 0;
    }
    see(b, lane);
    BE_ROW(uint8_t, rows->port[UNSTABLE], rows, lane, 1)[0] = 0;
    write_infos(b, lane, rows, none);
    return BE_OK;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) write_observation(b, lanes[k], rows);
    return BE_OK;
}
MJ_RESET(reset, start)

BE_ENV(franka_kitchen) = {
    MJ_MEMBERS_OF("Gymnasium-Robotics"),
    .name = "FrankaKitchen",
    .frames_per_second = 12,
    .state = state,
    .params = params,
    .ports = ports,
    .reads = reads,
    .prepare = prepare,
    .reset = reset,
    .observe = observe,
    .step = step,
    .control = control,
    .ids = (const be_id[]){{"FrankaKitchen-v1", 280}, {0}},
};
