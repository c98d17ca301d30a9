/* DM Control's swimmers, chains of links that are to reach a target. */
#include "engines/mujoco/dm_control.h"

enum { LINKS = MJ_PARAMS };
static const be_param params[] = {
    DM_PARAMS(15),
    [LINKS] = {"n_links", BE_PARAM_INT, 3, 3, 100, NULL, "how many links there are, the head among them"},
    {0},
};

enum { PLACE = DM_FIELDS };
static const be_field state[] = {DM_SHARED_STATE, [PLACE] = {"target", BE_F64, 2, "where the target is: x, y"}, {0}};

enum { TARGET = DM_RANGES + 1, TARGET_SIZE, NOSE, HEAD, VELOCITIES };
static const be_read reads[] = {
    [DM_RANGES] = {"model.jnt_range"},
    [TARGET] = {"model.geom_pos", "geom", "target"},
    [TARGET_SIZE] = {"model.geom_size", "geom", "target"},
    [NOSE] = {"geom_xpos", "geom", "nose"},
    [HEAD] = {"xmat", "body", "head"},
    [VELOCITIES] = {"sensordata", "sensor", "head_vel|head_gyro|velocimeter_.*|gyro_.*"},
    {0},
};

static const be_port ports[] = {{"", BE_ACTION},
                                {"joints", BE_OBSERVATION},
                                {"to_target", BE_OBSERVATION},
                                {"body_velocities", BE_OBSERVATION},
                                DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = view->num_qpos - 3;
    size[1] = 2;
    size[2] = 3 * (view->reads[VELOCITIES].count / 2);
}

static int start(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    be_random_state *random = dm_random(b, lane);
    (void)dm_start_anywhere(b, lane, error);
    const double most = be_random_state_double(random) < .2 ? .3 : 2;
    for (int k = 0; k < 2; k++) MJ_FIELD(b, PLACE, double, lane)[k] = be_random_state_uniform(random, -most, most);
    return BE_OK;
}

/* Where the target is, seen from the head's nose. */
static void look(const be_batch *b, int64_t lane, double seen[2]) {
    const double *place = MJ_FIELD(b, PLACE, double, lane), *nose = be_mujoco_read_of(b, lane, NOSE);
    const double height = be_mujoco_read_of(b, lane, TARGET)[2];
    const double away[] = {place[0] - nose[0], place[1] - nose[1], height - nose[2]};
    dm_in_frame(away, be_mujoco_read_of(b, lane, HEAD), 2, be_mujoco_of(b)->fused_vecmat, seen);
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    row = be_append(row, be_mujoco_arrays(b, lane)[MJ_QPOS] + 3, be_mujoco_of(b)->num_qpos - 3);
    look(b, lane, row);
    row += 2;
    for (int64_t link = 0; link < be_mujoco_count_of(b, VELOCITIES) / 2; link++) {
        row = be_append(row, be_mujoco_read_at(b, lane, VELOCITIES, 2 * link), 2);
        *row++ = be_mujoco_read_at(b, lane, VELOCITIES, 2 * link + 1)[2];
    }
}

static double reward(const be_batch *b, int64_t lane) {
    const double size = be_mujoco_read_of(b, lane, TARGET_SIZE)[0];
    double seen[2];
    look(b, lane, seen);
    return be_long_tail(be_norm(seen, 2, be_mujoco_of(b)->fused_dot), 0, size, 5 * size);
}

static const dm_task task = {3, sizes, start, write_observation, reward};
DM_TYPES_WITH(swimmer, "Swimmer", 33, task, ports, state, params,
              ((const be_id[]){DM_ID("swimmer-swimmer6", "SwimmerSwimmer6", {"n_links", 6}),
                               DM_ID("swimmer-swimmer15", "SwimmerSwimmer15", {"n_links", 15}),
                               {0}}));
