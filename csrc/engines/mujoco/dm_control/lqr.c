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

static const be_read reads[] = {{0}};

/* x.dot(x) */
static double square(const be_batch *b, const double *x, int64_t count, double sum) {
    for (int64_t k = 0; k < count; k++)
        sum = be_mujoco_of(b)->fused_dot ? be_math.fma(x[k], x[k], sum) : sum + x[k] * x[k];
    return sum;
}

static int start(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    const int64_t count = be_mujoco_of(b)->num_qpos;
    be_random_state *random = dm_random(b, lane);
    if (be_random_state_is_fresh(random)) {
        /* dm_control draws the springs of a model from the stream of its episodes, when it makes the env. Here
         * batchenv/envs/mujoco/dm_models.py draws them, so the numbers for stiffness and damping are left out. */
        for (int64_t k = 0; k < 2 * count; k++) (void)be_random_state_double(random);
    }
    double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS];
    for (int64_t k = 0; k < count; k++) qpos[k] = be_random_state_normal(random);
    const double length = sqrt(square(b, qpos, count, 0));
    for (int64_t k = 0; k < count; k++) qpos[k] = sqrt(2) * qpos[k] / length;
    return BE_OK;
}

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

static const dm_task task = {2, dm_state_sizes, start, dm_write_state, reward, .ended = at_rest};
DM_TYPES(lqr, "Lqr", 33, task, dm_state_ports,
         ((const be_id[]){{"dm_control/lqr-lqr_2_1-v0", 0, NULL, {{"n_bodies", 2}, {"n_actuators", 1}}},
                          {"dm_control/lqr-lqr_6_2-v0", 0, NULL, {{"n_bodies", 6}, {"n_actuators", 2}}},
                          {"LqrLqr21-v1", 1000, NULL, {{"n_bodies", 2}, {"n_actuators", 1}}, .unlisted = 1},
                          {"LqrLqr62-v1", 1000, NULL, {{"n_bodies", 6}, {"n_actuators", 2}}, .unlisted = 1},
                          {0}}));
