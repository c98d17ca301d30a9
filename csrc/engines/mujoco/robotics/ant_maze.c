/* AntMaze-v5 and -v4: Gymnasium's Ant in a maze, whose reward is the maze's. What the Ant would be rewarded for is in
 * the infos. */
#include "engines/mujoco/ant.h"
#include "engines/mujoco/robotics/maze.h"

enum { MAZE = ANT_PARAMS, INCLUDE_FORCES = ANT_PARAMS + MAZE_PARAMS /* -v5 only */ };
static const be_param params[] = {
    ANT_SHARED_PARAMS, MAZE_SHARED_PARAMS(MAZE), [INCLUDE_FORCES] = ANT_INCLUDE_FORCES, {0}};
static const be_param params_v4[] = {ANT_SHARED_PARAMS, MAZE_SHARED_PARAMS(MAZE), {0}};

enum { GOAL = ANT_PORTS };
static const be_port ports[] = {ANT_INFOS, MAZE_SHARED_PORTS(GOAL), {0}};
static const be_port ports_v4[] = {ANT_INFOS_V4, MAZE_SHARED_PORTS(GOAL), {0}};
static const be_port ports_v4_contact[] = {ANT_INFOS_V4_CONTACT, MAZE_SHARED_PORTS(GOAL), {0}};

static const maze task = {4, MAZE, GOAL};
enum { HIDDEN = 2 }; /* positions that are not observed: x and y, which are the goal's */

static int prepare_any(be_setup *setup, int forces, int v4, be_error *error) {
    const int64_t size = ant_observation_size(setup->engine, HIDDEN, forces, v4);
    const int status = be_mujoco_spaces(setup, size, 3, 0, error);
    return status == BE_OK ? maze_prepare(setup, &task, error) : status;
}
static int prepare(be_setup *setup, be_error *error) {
    return prepare_any(setup, setup->params[INCLUDE_FORCES] != 0, 0, error);
}
static int prepare_v4(be_setup *setup, be_error *error) { return prepare_any(setup, 0, 1, error); }
static int prepare_v4_contact(be_setup *setup, be_error *error) { return prepare_any(setup, 1, 1, error); }

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const int forces = be_mujoco_is_v4(b) ? ant_charges_contacts(b) : be_param_of(b, INCLUDE_FORCES, 0) != 0;
    ant_write_observation(b, lane, HIDDEN, forces, row);
}

static void write_start(const be_batch *b, int64_t lane, const be_rows *rows) { ant_write_start(b, lane, rows); }
static int advance(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    return ant_step(b, lane, rows, error);
}
MAZE_FUNCTIONS

BE_ENV(ant_maze) = {MAZE_MEMBERS,      .name = "AntMaze", .ids = MAZE_IDS("AntMaze", "v5", 700, 1000, 1000),
                    .params = params,  .ports = ports,    .reads = ant_reads,
                    .prepare = prepare};
BE_ENV(ant_maze_v4) = {MAZE_MEMBERS,          .name = "AntMazeV4",  .ids = MAZE_IDS("AntMaze", "v4", 700, 1000, 1000),
                       .variant = MJ_V4,      .params = params_v4,  .ports = ports_v4,
                       .reads = ant_reads_v4, .prepare = prepare_v4};
BE_ENV(ant_maze_v4_contact) = {MAZE_MEMBERS,
                               .name = "AntMazeV4Contact",
                               .variant = MJ_V4 | CHARGES_CONTACTS,
                               .params = params_v4,
                               .ports = ports_v4_contact,
                               .reads = ant_reads_v4_contact,
                               .prepare = prepare_v4_contact};
