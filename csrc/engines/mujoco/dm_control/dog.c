/* DM Control's dog, which is to stand, walk, trot or run. */
#include "dog.h"

enum { MOVING = MJ_PARAMS, SPEED };
static const be_param params[] = {
    DM_PARAMS(3),
    [MOVING] = {"moving", BE_PARAM_BOOL, 1, 0, 1, NULL, "speed is rewarded, and not only to stand", 0, 1},
    [SPEED] = MJ_WITHIN("move_speed", 1, 0, 1e9, "speed that is wanted, m/s"),
    {0},
};

static const be_read reads[] = {DOG_READS, {0}};
static const be_port ports[] = {DOG_PORTS, DM_INFOS};

static int start(be_batch *b, int64_t lane, be_error *error) {
    (void)error;
    start_standing(b, lane);
    return BE_OK;
}

static void write_observation(const be_batch *b, int64_t lane, double *row) { write_common(b, lane, row); }

static double reward(const be_batch *b, int64_t lane) {
    const double stand = standing(b, lane), wanted = be_param_of(b, SPEED, lane);
    if (be_param_of(b, MOVING, lane) == 0) return stand;
    double velocity[3];
    own_velocity(b, lane, velocity);
    const double forward = dm_linear(velocity[0], wanted, 2 * wanted, wanted > 1 ? wanted : 1, 0);
    return stand * ((4 * forward + 1) / 5);
}

static const dm_task task = {DOG_PARTS, common_sizes, start, write_observation, reward};
DM_TYPES_WITH(dog, "Dog", 67, task, ports, state, params,
              ((const be_id[]){DM_ID("dog-stand", "DogStand", {"moving", 0}),
                               DM_ID("dog-walk", "DogWalk", {"move_speed", 1}),
                               DM_ID("dog-trot", "DogTrot", {"move_speed", 3}),
                               DM_ID("dog-run", "DogRun", {"move_speed", 9}),
                               {0}}));
