/* PointMaze-v3: a ball that forces along x and y move through a maze. */
#include "engines/mujoco/robotics/maze.h"

static const be_param params[] = {MJ_SHARED_PARAMS(1), MAZE_SHARED_PARAMS(MJ_PARAMS), {0}};

enum { UNSTABLE = MJ_PORTS, GOAL };
static const be_port ports[] = {[UNSTABLE] = MJ_UNSTABLE_INFO, MAZE_SHARED_PORTS(GOAL), {0}};

static const maze task = {1, MJ_PARAMS, GOAL};

static int prepare(be_setup *setup, be_error *error) {
    const int status = be_mujoco_spaces(setup, be_mujoco_state_size(setup->engine, 0), 2, 2, error);
    return status == BE_OK ? maze_prepare(setup, &task, error) : status;
}

static void write_observation(const be_batch *b, int64_t lane, double *row) { be_mujoco_append_state(b, lane, 0, row); }

static void write_start(const be_batch *b, int64_t lane, const be_rows *rows) { (void)b, (void)lane, (void)rows; }

/* A step begins with velocities of 5 m/s at most, after those that the step before has shown. */
static int advance(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    const int status = be_mujoco_advance(b, lane, rows, UNSTABLE, error);
    double *velocities = be_mujoco_next_velocities_of(b, lane);
    for (int64_t k = 0; k < be_mujoco_of(b)->num_qvel; k++) velocities[k] = be_clip_one(velocities[k], -5, 5);
    return status;
}
MAZE_FUNCTIONS

BE_ENV(point_maze) = {MAZE_MEMBERS,     .name = "PointMaze", .ids = MAZE_IDS("PointMaze", "v3", 300, 600, 800),
                      .params = params, .ports = ports,      .prepare = prepare};
