/* AdroitHandPen-v1: a hand that is to turn a pen as another one is turned. */
#include "engines/mujoco/robotics/adroit.h"
#include "engines/mujoco/robotics/rotations.h"

static const adroit task = {.positions = 30, .actuators = 24, .observation = 45, .places = 4};

enum { LENGTHS = ADROIT_PLACE + 1 };
static const be_field state[] = {
    MJ_SHARED_STATE,
    [ADROIT_PLACE] = {"desired_orien", BE_F64, 4, "how the pen is to be turned: a quaternion"},
    [LENGTHS] = {"lengths", BE_F64, 2, "of the pen and of the target, as they were measured at the start, m"},
    {0},
};

enum { PEN, GOAL, TOP, BOTTOM, TARGET_TOP, TARGET_BOTTOM };
static const be_read reads[] = {
    [PEN] = {"xpos", "body", "Object"},
    [GOAL] = {"site_xpos", "site", "eps_ball"},
    [TOP] = {"site_xpos", "site", "object_top"},
    [BOTTOM] = {"site_xpos", "site", "object_bottom"},
    [TARGET_TOP] = {"site_xpos", "site", "target_top"},
    [TARGET_BOTTOM] = {"site_xpos", "site", "target_bottom"},
    {0},
};

static void draw(be_batch *b, int64_t lane) {
    double euler[3] = {0};
    for (int k = 0; k < 2; k++) euler[k] = be_rng_uniform(&b->rng[lane], -1, 1);
    rotation_of_euler(euler, adroit_place(b, lane));
}

static void measure(be_batch *b, int64_t lane) {
    double *lengths = MJ_FIELD(b, LENGTHS, double, lane);
    for (int k = 0; k < 2; k++)
        lengths[k] = adroit_distance(b, be_mujoco_read_of(b, lane, k ? TARGET_TOP : TOP),
                                     be_mujoco_read_of(b, lane, k ? TARGET_BOTTOM : BOTTOM));
}

/* Where the pen, and where the target points. */
static void directions(const be_batch *b, int64_t lane, double *pen, double *target) {
    const double *lengths = MJ_FIELD(b, LENGTHS, double, lane);
    (void)adroit_append_way(be_mujoco_read_of(b, lane, TOP), be_mujoco_read_of(b, lane, BOTTOM), pen);
    (void)adroit_append_way(be_mujoco_read_of(b, lane, TARGET_TOP), be_mujoco_read_of(b, lane, TARGET_BOTTOM), target);
    for (int k = 0; k < 3; k++) pen[k] /= lengths[0];
    for (int k = 0; k < 3; k++) target[k] /= lengths[1];
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    double *const *arrays = be_mujoco_arrays(b, lane);
    const double *place = be_mujoco_read_of(b, lane, PEN);
    double pen[3], target[3];
    directions(b, lane, pen, target);
    row = be_append(be_append(row, arrays[MJ_QPOS], task.positions - 6), place, 3);
    row = be_append(row, arrays[MJ_QVEL] + task.positions - 6, 6);
    row = be_append(be_append(row, pen, 3), target, 3);
    row = adroit_append_way(place, be_mujoco_read_of(b, lane, GOAL), row);
    (void)adroit_append_way(pen, target, row);
}

/* How far the pen is from its place, and how it is turned: 1: as the target. */
static double pen_distance(const be_batch *b, int64_t lane, double *similarity) {
    double pen[3], target[3];
    directions(b, lane, pen, target);
    *similarity = be_numpy_dot(pen, target, 3, be_mujoco_of(b)->fused_dot);
    return adroit_distance(b, be_mujoco_read_of(b, lane, PEN), be_mujoco_read_of(b, lane, GOAL));
}
static int is_done(const be_batch *b, int64_t lane) {
    double similarity;
    return pen_distance(b, lane, &similarity) < 0.075 && similarity > 0.95;
}

static double shaped(const be_batch *b, int64_t lane) {
    double similarity;
    const double distance = pen_distance(b, lane, &similarity);
    double reward = -distance + similarity;
    if (distance < 0.075 && similarity > 0.9) reward += 10;
    if (distance < 0.075 && similarity > 0.95) reward += 50;
    if (be_mujoco_read_of(b, lane, PEN)[2] < 0.075) reward -= 5;
    return reward;
}
ADROIT_FUNCTIONS

BE_ENV(adroit_pen) = {ADROIT_MEMBERS("Pen")};
