/* DM Control's quadruped, which is to walk or run. */
#include "quadruped.h"

enum { SPEED = MJ_PARAMS };
static const be_param params[] = {
    DM_PARAMS(4),
    [SPEED] = MJ_WITHIN("desired_speed", 0.5, 0, 1e9, "speed that is wanted, m/s; 0: to stand upright is enough"),
    {0},
};

static const be_read reads[] = {QUADRUPED_READS, {0}};
static const be_port ports[] = {QUADRUPED_PORTS, DM_INFOS};

static int start(be_batch *b, int64_t lane, be_error *error) {
    double quat[4];
    dm_draw_quat(b, lane, be_random_state_normal, quat);
    return place_clear(b, lane, quat, 0, 0, error);
}

static void write_observation(const be_batch *b, int64_t lane, double *row) { write_common(b, lane, row); }

static double reward(const be_batch *b, int64_t lane) {
    const double wanted = be_param_of(b, SPEED, lane), speed = be_mujoco_read_of(b, lane, VELOCITY)[0];
    return upright(b, lane, 1) * dm_linear(speed, wanted, HUGE_VAL, wanted, 0.5);
}

static const dm_task task = {QUADRUPED_PARTS, common_sizes, start, write_observation, reward};
DM_TYPES(quadruped, "Quadruped", 50, task, ports,
         ((const be_id[]){DM_ID("quadruped-walk", "QuadrupedWalk", {"desired_speed", 0.5}),
                          DM_ID("quadruped-run", "QuadrupedRun", {"desired_speed", 5}),
                          {0}}));
