/* DM Control's fish, which is to be upright or to swim to a target. */
#include "engines/mujoco/dm_control.h"

static const be_param params[] = {DM_PARAMS(10), {0}};

enum { PLACE = DM_FIELDS };
static const be_field state[] = {DM_SHARED_STATE, [PLACE] = {"target", BE_F64, 3, "where the target is: x, y, z"}, {0}};

enum { ROOT, FRAME, MOUTH, MOUTH_FRAME, MOUTH_SIZE, TARGET_SIZE, JOINTS, NUM_JOINTS = 7 };
static const be_read reads[] = {
    [ROOT] = {"qpos", "joint", "root"},
    [FRAME] = {"xmat", "body", "torso"},
    [MOUTH] = {"geom_xpos", "geom", "mouth"},
    [MOUTH_FRAME] = {"geom_xmat", "geom", "mouth"},
    [MOUTH_SIZE] = {"model.geom_size", "geom", "mouth"},
    [TARGET_SIZE] = {"model.geom_size", "geom", "target"},
    [JOINTS] = {"qpos", "joint", "tail1"},
    {"qpos", "joint", "tail_twist"},
    {"qpos", "joint", "tail2"},
    {"qpos", "joint", "finright_roll"},
    {"qpos", "joint", "finright_pitch"},
    {"qpos", "joint", "finleft_roll"},
    {"qpos", "joint", "finleft_pitch"},
    {0},
};

static const be_port upright_ports[] = {{"", BE_ACTION},
                                        {"joint_angles", BE_OBSERVATION},
                                        {"upright", BE_OBSERVATION},
                                        {"velocity", BE_OBSERVATION},
                                        DM_INFOS};
static const be_port swim_ports[] = {{"", BE_ACTION},
                                     {"joint_angles", BE_OBSERVATION},
                                     {"upright", BE_OBSERVATION},
                                     {"target", BE_OBSERVATION},
                                     {"velocity", BE_OBSERVATION},
                                     DM_INFOS};

static void upright_sizes(const be_mujoco_view *view, int64_t *size) {
    size[0] = NUM_JOINTS;
    size[1] = DM_ONE;
    size[2] = view->num_qvel;
}
static void swim_sizes(const be_mujoco_view *view, int64_t *size) {
    upright_sizes(view, size);
    size[3] = size[2];
    size[2] = 3;
}

static int upright_start(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    be_random_state *random = dm_random(b, lane);
    dm_draw_quat(b, lane, be_random_state_normal, be_mujoco_read_of(b, lane, ROOT) + 3);
    for (int j = 0; j < NUM_JOINTS; j++)
        be_mujoco_read_of(b, lane, JOINTS + j)[0] = be_random_state_uniform(random, -.2, .2);
    return BE_OK;
}
static int swim_start(be_batch *b, int64_t lane, be_error *error) {
    const int status = upright_start(b, lane, error);
    be_random_state *random = dm_random(b, lane);
    double *place = MJ_FIELD(b, PLACE, double, lane);
    for (int k = 0; k < 2; k++) place[k] = be_random_state_uniform(random, -.4, .4);
    place[2] = be_random_state_uniform(random, .1, .3);
    return status;
}

static double upright(const be_batch *b, int64_t lane) { return be_mujoco_read_of(b, lane, FRAME)[8]; }

/* Where the target is, seen from the mouth. */
static void look(const be_batch *b, int64_t lane, double seen[3]) {
    const double *place = MJ_FIELD(b, PLACE, double, lane), *mouth = be_mujoco_read_of(b, lane, MOUTH);
    const double away[] = {place[0] - mouth[0], place[1] - mouth[1], place[2] - mouth[2]};
    dm_in_frame(away, be_mujoco_read_of(b, lane, MOUTH_FRAME), 3, be_mujoco_of(b)->fused_vecmat, seen);
}

/* What comes before the target, which only the fish that swims sees, and what comes after it. */
static double *append_angles(const be_batch *b, int64_t lane, double *row) {
    for (int j = 0; j < NUM_JOINTS; j++) *row++ = be_mujoco_read_of(b, lane, JOINTS + j)[0];
    *row++ = upright(b, lane);
    return row;
}
static void append_velocities(const be_batch *b, int64_t lane, double *row) {
    be_append(row, be_mujoco_arrays(b, lane)[MJ_QVEL], be_mujoco_of(b)->num_qvel);
}

static void upright_write(const be_batch *b, int64_t lane, double *row) {
    append_velocities(b, lane, append_angles(b, lane, row));
}
static void swim_write(const be_batch *b, int64_t lane, double *row) {
    row = append_angles(b, lane, row);
    look(b, lane, row);
    append_velocities(b, lane, row + 3);
}

static double upright_reward(const be_batch *b, int64_t lane) { return dm_gaussian(b, upright(b, lane), 1, 1, 1); }

static double swim_reward(const be_batch *b, int64_t lane) {
    const double radii = be_mujoco_read_of(b, lane, MOUTH_SIZE)[0] + be_mujoco_read_of(b, lane, TARGET_SIZE)[0];
    double seen[3];
    look(b, lane, seen);
    const double near = dm_gaussian(b, be_norm(seen, 3, be_mujoco_of(b)->fused_dot), 0, radii, 2 * radii);
    return (7 * near + 0.5 * (upright(b, lane) + 1)) / 8;
}

static const dm_task upright_task = {3, upright_sizes, upright_start, upright_write, upright_reward};
DM_TYPES(fish_upright, "FishUpright", 25, upright_task, upright_ports,
         ((const be_id[]){DM_ID("fish-upright", "FishUpright"), {0}}));

static const dm_task swim_task = {4, swim_sizes, swim_start, swim_write, swim_reward};
DM_TYPES_WITH(fish_swim, "FishSwim", 25, swim_task, swim_ports, state, params,
              ((const be_id[]){DM_ID("fish-swim", "FishSwim"), {0}}));
