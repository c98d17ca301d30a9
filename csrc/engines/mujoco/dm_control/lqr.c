/* DM Control's linear systems with quadratic costs (LQR): a chain of bodies on springs, of which the first few are
 * pushed, is to come to rest. */
#include "engines/mujoco/dm_control.h"

enum { COST = MJ_PARAMS, BODIES, ACTUATORS };
static const be_param params[] = {
    DM_PARAMS(1),
    [COST] = MJ_WITHIN("control_cost_coef", 0.1, 1e-300, 1e300, "weight of the controls' squares"),
    [BODIES] = {"n_bodies", BE_PARAM_INT, 2, 1, 15, NULL, "how many bodies there are"},
    [ACTUATORS] = {"n_actuators", BE_PARAM_INT, 1, 1, 15, NULL, "how many of them are pushed, the first ones"},
    {0},
};

/* dm_control draws the springs of a model from the stream of its episodes, when it makes the env. So where a lane's
 * stream is not where the last start left it, since it has been seeded, the numbers for the springs come first: they
 * are left out, because batchenv/envs/mujoco/dm_control.py draws the springs. */
enum { STREAM_LEFT = DM_FIELDS };
static const be_field state[] = {
    DM_SHARED_STATE,
    {"stream_left", BE_I64, 2, "where the stream was when the last episode had started: tells whether it was seeded"},
    {0},
};

static const be_read reads[] = {{0}};

static const be_port ports[] = {{"", BE_ACTION}, {"position", BE_OBSERVATION}, {"velocity", BE_OBSERVATION}, DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = view->num_qpos;
    size[1] = view->num_qvel;
}

/* x.dot(x) */
static double square(const be_batch *b, const double *x, int64_t count, double sum) {
    for (int64_t k = 0; k < count; k++)
        sum = be_mujoco_of(b)->fused_dot ? be_math.fma(x[k], x[k], sum) : sum + x[k] * x[k];
    return sum;
}

static void place_of(const be_random_state *stream, int64_t *place) {
    place[0] = (int64_t)((uint64_t)stream->key[0] | (uint64_t)stream->key[1] << 32);
    place[1] = stream->used;
}

static int start(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    const int64_t count = be_mujoco_of(b)->num_qpos;
    be_random_state *random = dm_random(b, lane);
    int64_t *left = MJ_FIELD(b, STREAM_LEFT, int64_t, lane), now[2];
    place_of(random, now);
    if (now[0] != left[0] || now[1] != left[1]) {
        for (int64_t k = 0; k < 2 * count; k++) (void)be_random_state_double(random); /* stiffness, damping */
    }
    double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS];
    for (int64_t k = 0; k < count; k++) qpos[k] = be_random_state_normal(random);
    const double length = sqrt(square(b, qpos, count, 0));
    for (int64_t k = 0; k < count; k++) qpos[k] = sqrt(2) * qpos[k] / length;
    place_of(random, left);
    return BE_OK;
}

static void write_observation(const be_batch *b, int64_t lane, double *row) { be_mujoco_append_state(b, lane, 0, row); }

static double reward(const be_batch *b, int64_t lane) {
    const be_mujoco_view *view = be_mujoco_of(b);
    const double places = 0.5 * square(b, be_mujoco_arrays(b, lane)[MJ_QPOS], view->num_qpos, 0);
    const double control = 0.5 * square(b, be_mujoco_arrays(b, lane)[MJ_CTRL], view->num_ctrl, 0);
    return 1 - (places + control * be_param_of(b, COST, lane));
}

static int at_rest(const be_batch *b, int64_t lane) {
    const be_mujoco_view *view = be_mujoco_of(b);
    const double positions = square(b, be_mujoco_arrays(b, lane)[MJ_QPOS], view->num_qpos, 0);
    return sqrt(square(b, be_mujoco_arrays(b, lane)[MJ_QVEL], view->num_qvel, positions)) < 1e-6;
}

static const dm_task task = {2, sizes, start, write_observation, reward, .ended = at_rest};
DM_TYPES_WITH(lqr, "Lqr", 33, task, ports, state, params,
              ((const be_id[]){{"dm_control/lqr-lqr_2_1-v0", 0, NULL, {{"n_bodies", 2}, {"n_actuators", 1}}},
                               {"dm_control/lqr-lqr_6_2-v0", 0, NULL, {{"n_bodies", 6}, {"n_actuators", 2}}},
                               {"LqrLqr21-v1", 1000, NULL, {{"n_bodies", 2}, {"n_actuators", 1}}, .unlisted = 1},
                               {"LqrLqr62-v1", 1000, NULL, {{"n_bodies", 6}, {"n_actuators", 2}}, .unlisted = 1},
                               {0}}));
