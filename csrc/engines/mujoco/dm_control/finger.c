/* DM Control's finger, which is to spin a body on a hinge, or to turn it until its tip is at a target. */
#include "engines/mujoco/dm_control.h"

static const be_param spin_params[] = {DM_PARAMS(2), {0}};
enum { TARGET_RADIUS = MJ_PARAMS };
static const be_param turn_params[] = {
    DM_PARAMS(2),
    [TARGET_RADIUS] = MJ_WITHIN("target_radius", .07, 0, 1e9, "radius of the target from the next episode on, m"),
    {0},
};

enum { PLACE = DM_FIELDS, RADIUS };
static const be_field state[] = {
    DM_SHARED_STATE,
    [PLACE] = {"target", BE_F64, 2, "where the target is: x, z"},
    [RADIUS] = {"target_radius", BE_F64, 1, "radius of the target"},
    {0},
};

enum { ANCHOR = DM_RANGES + 1, CAP, TIP, SPINNER, PROXIMAL, DISTAL, SPEEDS, HINGE_SPEED = SPEEDS + 2, TOUCH };
static const be_read reads[] = {
    [DM_RANGES] = {"model.jnt_range"},
    [ANCHOR] = {"xanchor", "joint", "hinge"},
    [CAP] = {"model.geom_size", "geom", "cap1"},
    [TIP] = {"sensordata", "sensor", "tip"},
    [SPINNER] = {"sensordata", "sensor", "spinner"},
    [PROXIMAL] = {"sensordata", "sensor", "proximal"},
    [DISTAL] = {"sensordata", "sensor", "distal"},
    [SPEEDS] = {"sensordata", "sensor", "proximal_velocity"},
    {"sensordata", "sensor", "distal_velocity"},
    [HINGE_SPEED] = {"sensordata", "sensor", "hinge_velocity"},
    [TOUCH] = {"sensordata", "sensor", "touchtop"},
    {"sensordata", "sensor", "touchbottom"},
    {0},
};

static const be_port spin_ports[] = {
    {"", BE_ACTION}, {"position", BE_OBSERVATION}, {"velocity", BE_OBSERVATION}, {"touch", BE_OBSERVATION}, DM_INFOS};
static const be_port turn_ports[] = {{"", BE_ACTION},
                                     {"position", BE_OBSERVATION},
                                     {"velocity", BE_OBSERVATION},
                                     {"touch", BE_OBSERVATION},
                                     {"target_position", BE_OBSERVATION},
                                     {"dist_to_target", BE_OBSERVATION},
                                     DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    (void)view;
    memcpy(size, (const int64_t[]){4, 3, 2}, 3 * sizeof *size);
}
static void turn_sizes(const be_mujoco_view *view, int64_t *size) {
    sizes(view, size);
    size[3] = 2;
    size[4] = DM_ONE;
}

static int turn_start(be_batch *b, int64_t lane, be_error *error) {
    const double angle = be_random_state_uniform(dm_random(b, lane), -M_PI, M_PI);
    const double *anchor = be_mujoco_read_of(b, lane, ANCHOR);
    const double distance = be_sum(be_mujoco_read_of(b, lane, CAP), 3);
    double *place = MJ_FIELD(b, PLACE, double, lane);
    place[0] = anchor[0] + distance * be_numpy_sin(angle);
    place[1] = anchor[2] + distance * be_numpy_cos(angle);
    MJ_FIELD(b, RADIUS, double, lane)[0] = be_param_of(b, TARGET_RADIUS, lane);
    return dm_start_anywhere_clear(b, lane, error);
}

/* Where the tip is, seen from the hinge: x and z. */
static void tip_of(const be_batch *b, int64_t lane, double tip[2]) {
    for (int k = 0; k < 2; k++)
        tip[k] = be_mujoco_read_of(b, lane, TIP)[2 * k] - be_mujoco_read_of(b, lane, SPINNER)[2 * k];
}
/* Where the target is, seen from the hinge. Returns how far the tip is from it: less than 0 inside. */
static double target_of(const be_batch *b, int64_t lane, double target[2]) {
    double tip[2], away[2];
    tip_of(b, lane, tip);
    for (int k = 0; k < 2; k++) {
        target[k] = MJ_FIELD(b, PLACE, double, lane)[k] - be_mujoco_read_of(b, lane, SPINNER)[2 * k];
        away[k] = target[k] - tip[k];
    }
    return be_norm(away, 2, be_mujoco_of(b)->fused_dot) - MJ_FIELD(b, RADIUS, double, lane)[0];
}

static void spin_write(const be_batch *b, int64_t lane, double *row) {
    *row++ = be_mujoco_read_of(b, lane, PROXIMAL)[0];
    *row++ = be_mujoco_read_of(b, lane, DISTAL)[0];
    tip_of(b, lane, row);
    row += 2;
    for (int k = 0; k < 3; k++) *row++ = be_mujoco_read_of(b, lane, SPEEDS + k)[0];
    for (int k = 0; k < 2; k++) *row++ = be_numpy_log1p(be_mujoco_read_of(b, lane, TOUCH + k)[0]);
}
static void turn_write(const be_batch *b, int64_t lane, double *row) {
    spin_write(b, lane, row);
    row[11] = target_of(b, lane, row + 9);
}

static double spin_reward(const be_batch *b, int64_t lane) {
    return be_mujoco_read_of(b, lane, HINGE_SPEED)[0] <= -15 ? 1.0 : 0.0;
}
static double turn_reward(const be_batch *b, int64_t lane) {
    double target[2];
    return target_of(b, lane, target) <= 0 ? 1.0 : 0.0;
}

static const dm_task spin_task = {3, sizes, dm_start_anywhere_clear, spin_write, spin_reward};
DM_TYPES_WITH(finger_spin, "FingerSpin", 50, spin_task, spin_ports, dm_state, spin_params,
              ((const be_id[]){DM_ID("finger-spin", "FingerSpin"), {0}}));
static const dm_task turn_task = {5, turn_sizes, turn_start, turn_write, turn_reward};
DM_TYPES_WITH(finger_turn, "FingerTurn", 50, turn_task, turn_ports, state, turn_params,
              ((const be_id[]){DM_ID("finger-turn_easy", "FingerTurnEasy", {"target_radius", .07}),
                               DM_ID("finger-turn_hard", "FingerTurnHard", {"target_radius", .03}),
                               {0}}));
