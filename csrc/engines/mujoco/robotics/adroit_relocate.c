/* AdroitHandRelocate-v1: a hand that is to take a ball to a place in the air. */
#include "engines/mujoco/robotics/adroit.h"

static const adroit task = {.positions = 36, .actuators = 30, .observation = 39, .places = 3, .targets = 3};

static const be_field state[] = {
    MJ_SHARED_STATE,
    [ADROIT_PLACE] = {"obj_pos", BE_F64, 3, "where the ball's body was at the start: x, y, z"},
    [ADROIT_TARGET] = {"target_pos", BE_F64, 3, "where the ball is to be: x, y, z"},
    {0},
};

enum { COMPILED, BALL, PALM };
static const be_read reads[] = {
    [COMPILED] = {"model.body_pos", "body", "Object"},
    [BALL] = {"xpos", "body", "Object"},
    [PALM] = {"site_xpos", "site", "S_grasp"},
    {0},
};

/* The height of the ball is not drawn. */
static void draw(be_batch *b, int64_t lane) {
    static const double low[] = {-0.2, -0.2, 0.15}, high[] = {0.2, 0.2, 0.35};
    be_rng *rng = &b->rng[lane];
    double *place = adroit_place(b, lane), *target = MJ_FIELD(b, ADROIT_TARGET, double, lane);
    if (be_mujoco_is_new(b, lane)) (void)be_append(place, be_mujoco_read_of(b, lane, COMPILED), 3);
    place[0] = be_rng_uniform(rng, -0.15, 0.15);
    place[1] = be_rng_uniform(rng, -0.15, 0.3);
    for (int k = 0; k < 3; k++) target[k] = be_rng_uniform(rng, low[k], high[k]);
}
static void measure(be_batch *b, int64_t lane) { (void)b, (void)lane; }

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const double *ball = be_mujoco_read_of(b, lane, BALL), *palm = be_mujoco_read_of(b, lane, PALM);
    const double *target = MJ_FIELD(b, ADROIT_TARGET, double, lane);
    row = be_append(row, be_mujoco_arrays(b, lane)[MJ_QPOS], task.positions - 6);
    row = adroit_append_way(palm, ball, row);
    row = adroit_append_way(palm, target, row);
    (void)adroit_append_way(ball, target, row);
}

static double ball_distance(const be_batch *b, int64_t lane) {
    return adroit_distance(b, be_mujoco_read_of(b, lane, BALL), MJ_FIELD(b, ADROIT_TARGET, double, lane));
}
static int is_done(const be_batch *b, int64_t lane) { return ball_distance(b, lane) < 0.1; }

static double shaped(const be_batch *b, int64_t lane) {
    const double *ball = be_mujoco_read_of(b, lane, BALL), *palm = be_mujoco_read_of(b, lane, PALM);
    const double left = ball_distance(b, lane);
    double reward = 0.1 * adroit_distance(b, palm, ball);
    if (ball[2] > 0.04) { /* it is off the table */
        reward += 1.0;
        reward += -0.5 * adroit_distance(b, palm, MJ_FIELD(b, ADROIT_TARGET, double, lane));
        reward += -0.5 * left;
    }
    if (left < 0.1) reward += 10.0;
    if (left < 0.05) reward += 20.0;
    return reward;
}
ADROIT_FUNCTIONS

BE_ENV(adroit_relocate) = {ADROIT_MEMBERS("Relocate")};
