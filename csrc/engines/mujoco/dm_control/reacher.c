/* DM Control's arm with two links, which is to reach a target. */
#include "engines/mujoco/dm_control.h"

enum { TARGET_SIZE = MJ_PARAMS };
static const be_param params[] = {
    DM_PARAMS(1),
    [TARGET_SIZE] = MJ_WITHIN("target_size", .05, 0, 1e9, "radius of the target from the next episode on, m"),
    {0},
};

enum { PLACE = DM_FIELDS, RADIUS };
static const be_field state[] = {
    DM_SHARED_STATE,
    [PLACE] = {"target", BE_F64, 2, "where the target is: x, y"},
    [RADIUS] = {"target_radius", BE_F64, 1, "radius of the target"},
    {0},
};

enum { FINGER = DM_RANGES + 1, FINGER_SIZE };
static const be_read reads[] = {
    [DM_RANGES] = {"model.jnt_range"},
    [FINGER] = {"geom_xpos", "geom", "finger"},
    [FINGER_SIZE] = {"model.geom_size", "geom", "finger"},
    {0},
};

static const be_port ports[] = {{"", BE_ACTION},
                                {"position", BE_OBSERVATION},
                                {"to_target", BE_OBSERVATION},
                                {"velocity", BE_OBSERVATION},
                                DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = view->num_qpos;
    size[1] = 2;
    size[2] = view->num_qvel;
}

static int start(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    (void)dm_start_anywhere(b, lane, error);
    const double angle = be_random_state_uniform(dm_random(b, lane), 0, 2 * M_PI);
    const double distance = be_random_state_uniform(dm_random(b, lane), .05, .20);
    double *place = MJ_FIELD(b, PLACE, double, lane);
    place[0] = distance * be_numpy_sin(angle);
    place[1] = distance * be_numpy_cos(angle);
    MJ_FIELD(b, RADIUS, double, lane)[0] = be_param_of(b, TARGET_SIZE, lane);
    return BE_OK;
}

static void look(const be_batch *b, int64_t lane, double away[2]) {
    const double *place = MJ_FIELD(b, PLACE, double, lane), *finger = be_mujoco_read_of(b, lane, FINGER);
    for (int k = 0; k < 2; k++) away[k] = place[k] - finger[k];
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    row = be_append(row, be_mujoco_arrays(b, lane)[MJ_QPOS], be_mujoco_of(b)->num_qpos);
    look(b, lane, row);
    be_append(row + 2, be_mujoco_arrays(b, lane)[MJ_QVEL], be_mujoco_of(b)->num_qvel);
}

static double reward(const be_batch *b, int64_t lane) {
    const double radii = MJ_FIELD(b, RADIUS, double, lane)[0] + be_mujoco_read_of(b, lane, FINGER_SIZE)[0];
    double away[2];
    look(b, lane, away);
    return be_within(be_norm(away, 2, be_mujoco_of(b)->fused_dot), 0, radii);
}

static const dm_task task = {3, sizes, start, write_observation, reward};
DM_TYPES_WITH(reacher, "Reacher", 50, task, ports, state, params,
              ((const be_id[]){DM_ID("reacher-easy", "ReacherEasy", {"target_size", .05}),
                               DM_ID("reacher-hard", "ReacherHard", {"target_size", .015}),
                               {0}}));
