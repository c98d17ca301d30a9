/* DM Control's cart with one pole or more, which are to stand upright. */
#include "engines/mujoco/dm_control.h"

enum { SWING_UP = MJ_PARAMS, SPARSE, POLES };
static const be_param params[] = {
    DM_PARAMS(1),
    [SWING_UP] = {"swing_up", BE_PARAM_BOOL, 1, 0, 1, NULL, "poles hang at the start", 0, 1},
    [SPARSE] = {"sparse", BE_PARAM_BOOL, 0, 0, 1, NULL, "reward 1 near the goal, and 0 elsewhere", 0, 1},
    [POLES] = {"num_poles", BE_PARAM_INT, 1, 1, 100, NULL, "how many poles there are, each on the one before"},
    {0},
};

enum { FRAMES };
static const be_read reads[] = {[FRAMES] = {"xmat"}, {0}};

static const be_port ports[] = {{"", BE_ACTION}, {"position", BE_OBSERVATION}, {"velocity", BE_OBSERVATION}, DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = 1 + 2 * (view->num_body - 2);
    size[1] = view->num_qvel;
}

static int start(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    be_random_state *random = dm_random(b, lane);
    const int64_t nv = be_mujoco_of(b)->num_qvel;
    double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS], *qvel = be_mujoco_arrays(b, lane)[MJ_QVEL];
    if (be_param_of(b, SWING_UP, lane) != 0) {
        qpos[0] = .01 * be_random_state_normal(random);
        qpos[1] = M_PI + .01 * be_random_state_normal(random);
        for (int64_t j = 2; j < nv; j++) qpos[j] = .1 * be_random_state_normal(random);
    } else {
        qpos[0] = be_random_state_uniform(random, -.1, .1);
        for (int64_t j = 1; j < nv; j++) qpos[j] = be_random_state_uniform(random, -.034, .034);
    }
    for (int64_t j = 0; j < nv; j++) qvel[j] = 0.01 * be_random_state_normal(random);
    return BE_OK;
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const double *frames = be_mujoco_read_of(b, lane, FRAMES);
    *row++ = be_mujoco_arrays(b, lane)[MJ_QPOS][0];
    for (int64_t body = 2; body < be_mujoco_of(b)->num_body; body++) {
        *row++ = frames[9 * body + 8];
        *row++ = frames[9 * body + 2];
    }
    be_append(row, be_mujoco_arrays(b, lane)[MJ_QVEL], be_mujoco_of(b)->num_qvel);
}

static double reward(const be_batch *b, int64_t lane) {
    enum { MOST = 128 };
    const double *frames = be_mujoco_read_of(b, lane, FRAMES) + 18;
    const double place = be_mujoco_arrays(b, lane)[MJ_QPOS][0], *qvel = be_mujoco_arrays(b, lane)[MJ_QVEL];
    const int64_t poles = be_mujoco_of(b)->num_body - 2 < MOST ? be_mujoco_of(b)->num_body - 2 : MOST;
    if (be_param_of(b, SPARSE, lane) != 0) {
        double inside = 1;
        for (int64_t k = 0; k < poles; k++) inside *= be_within(frames[9 * k + 8], .995, 1);
        return be_within(place, -.25, .25) * inside;
    }
    double upright[MOST], slowest = 1;
    for (int64_t k = 0; k < poles; k++) {
        upright[k] = (frames[9 * k + 8] + 1) / 2;
        slowest = fmin(slowest, dm_gaussian_of_array(b, qvel[1 + k], 0, 0, 5));
    }
    const double centered = (1 + dm_gaussian(b, place, 0, 0, 2)) / 2;
    const double effort = (4 + dm_quadratic_of_array(be_mujoco_arrays(b, lane)[MJ_CTRL][0], 1)) / 5;
    return be_sum(upright, poles) / (double)poles * effort * ((1 + slowest) / 2) * centered;
}

static const dm_task task = {2, sizes, start, write_observation, reward};
DM_TYPES(cartpole, "Cartpole", 100, task, ports,
         ((const be_id[]){DM_ID("cartpole-balance", "CartpoleBalance", {"swing_up", 0}),
                          DM_ID("cartpole-balance_sparse", "CartpoleBalanceSparse", {"swing_up", 0}, {"sparse", 1}),
                          DM_ID("cartpole-swingup", "CartpoleSwingup", {"swing_up", 1}),
                          DM_ID("cartpole-swingup_sparse", "CartpoleSwingupSparse", {"swing_up", 1}, {"sparse", 1}),
                          DM_ID("cartpole-two_poles", "CartpoleTwoPoles", {"num_poles", 2}),
                          DM_ID("cartpole-three_poles", "CartpoleThreePoles", {"num_poles", 3}),
                          {0}}));
