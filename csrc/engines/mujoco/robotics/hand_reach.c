/* HandReach-v3: the tips of the thumb and of a finger are to meet above the hand. Where all tips are, and the palm,
 * when episodes start, are the view's init_numbers. */
#include "engines/mujoco/robotics/hand.h"

enum { FINGERS = 4, THUMB = FINGERS, TIPS, SIZE = 3 * TIPS };

static const be_param params[] = {
    HAND_SHARED_PARAMS("-distance", 0.01),
    {0},
};

enum { PLACE = MJ_FIELDS };
static const be_field state[] = {
    MJ_SHARED_STATE,
    [PLACE] = {"goal", BE_F64, SIZE, "where the tips are to be: x, y, z of each, the thumb's last"},
    {0},
};

enum { TIP = HAND_READS };
static const be_read reads[] = {
    HAND_SHARED_READS,
    [TIP] = {"site_xpos", "site", "robot0:S_fftip"},
    {"site_xpos", "site", "robot0:S_mftip"},
    {"site_xpos", "site", "robot0:S_rftip"},
    {"site_xpos", "site", "robot0:S_lftip"},
    {"site_xpos", "site", "robot0:S_thtip"},
    {0},
};

static int prepare(be_setup *setup, be_error *error) { return hand_prepare(setup, 0, SIZE, error); }

/* Writes the observation, and returns how far the tips are from the goal. */
static double look(const be_batch *b, int64_t lane, const be_rows *rows) {
    const double *goal = MJ_FIELD(b, PLACE, double, lane);
    double tips[SIZE], away[SIZE];
    for (int k = 0; k < TIPS; k++) (void)be_append(tips + 3 * k, be_mujoco_read_of(b, lane, TIP + k), 3);
    for (int k = 0; k < SIZE; k++) away[k] = tips[k] - goal[k];
    (void)be_append(hand_append_joints(b, lane, MJ_OBSERVATION(b, rows, lane)), tips, SIZE);
    goal_write(rows, lane, HAND_GOAL, tips, goal, SIZE);
    return sqrt(be_sum_squares(away, SIZE));
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) (void)look(b, lanes[k], rows);
    return BE_OK;
}

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = be_mujoco_advance(b, lane, rows, HAND_UNSTABLE, error);
    if (status != BE_OK) return status;
    const double distance = look(b, lane, rows), near = be_param_of(b, HAND_DISTANCE, lane);
    const int dense = be_param_of(b, HAND_REWARD, lane) == HAND_DENSE;
    rows->reward[lane - rows->first] = -(dense ? distance : (double)(distance > near)); /* -0 at the goal */
    rows->terminated[lane - rows->first] = 0;
    MJ_INFO_F32(rows, HAND_SUCCESS, lane) = distance < near;
    return BE_OK;
}

/* The two tips meet, 5 mm from each side of a place above the palm; or, rarely, all stay where they are. */
static void draw_goal(be_batch *b, int64_t lane) {
    static const double above[] = {0.0, -0.09, 0.05};
    const double *tips = be_mujoco_of(b)->init_numbers, *palm = tips + SIZE;
    be_rng *rng = &b->rng[lane];
    const int moved[] = {THUMB, (int)be_rng_choice(rng, FINGERS)};
    double *goal = MJ_FIELD(b, PLACE, double, lane), meeting[3];
    for (int k = 0; k < 3; k++) meeting[k] = palm[k] + above[k];
    for (int k = 0; k < 3; k++) meeting[k] += be_rng_normal(rng, 0, 0.005);
    (void)be_append(goal, tips, SIZE);
    if (be_rng_double(rng) < 0.1) return;
    for (int i = 0; i < 2; i++) {
        double *tip = goal + 3 * (ptrdiff_t)moved[i], way[3];
        for (int k = 0; k < 3; k++) way[k] = meeting[k] - tip[k];
        const double length = be_norm(way, 3, be_mujoco_of(b)->fused_dot);
        for (int k = 0; k < 3; k++) tip[k] = meeting[k] - 0.005 * (way[k] / length);
    }
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    const be_mujoco_view *view = be_mujoco_of(b);
    double *const *arrays = be_mujoco_arrays(b, lane);
    be_mujoco_clear_info(b, lane, rows);
    (void)be_append(arrays[MJ_QPOS], view->init_qpos, view->num_qpos);
    (void)be_append(arrays[MJ_QVEL], view->init_qvel, view->num_qvel);
    draw_goal(b, lane);
    return be_mujoco_begin(b, lane, error);
}
MJ_RESET(reset, start)

BE_ENV(hand_reach) = {
    MJ_MEMBERS_OF("Gymnasium-Robotics"),
    .name = "HandReach",
    .frames_per_second = 25,
    .state = state,
    .params = params,
    .ports = hand_ports,
    .reads = reads,
    .prepare = prepare,
    .reset = reset,
    .observe = observe,
    .step = step,
    .control = hand_control,
    .ids = (const be_id[]){{"HandReach-v3", 50, NULL, {{"reward_type", .text = "sparse"}}},
                           {"HandReachDense-v3", 50, NULL, {{"reward_type", .text = "dense"}}},
                           {0}},
};
