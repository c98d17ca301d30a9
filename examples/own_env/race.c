/* Race-v0: two runners on a track of 12 cells, each an agent of its own. Who arrives is out, and waits for the other.
 */
#include "batchenv.h"

enum { RUNNERS = 2, LENGTH = 12 };

/* The first word of a name says whose the port is. A runner's port is its number after the first one's. */
enum { PACE, VIEW = PACE + RUNNERS, REWARD = VIEW + RUNNERS, ARRIVED = REWARD + RUNNERS };
static const be_port ports[] = {
    [PACE] = {"red", BE_ACTION, BE_DISCRETE(2)}, /* 0: walk one cell; 1: run two, if the runner does not fall */
    {"blue", BE_ACTION, BE_DISCRETE(2)},
    [VIEW] = {"red", BE_OBSERVATION, BE_BOX(BE_F32, 0, LENGTH, RUNNERS)}, /* its own place, and the other's */
    {"blue", BE_OBSERVATION, BE_BOX(BE_F32, 0, LENGTH, RUNNERS)},
    [REWARD] = {"red/reward", BE_REWARD, BE_VALUE(BE_F64), .doc = "1 for who arrives first, less a cost of time"},
    {"blue/reward", BE_REWARD, BE_VALUE(BE_F64), .doc = "1 for who arrives first, less a cost of time"},
    [ARRIVED] = {"red/terminated", BE_INFO, BE_VALUE(BE_BOOL), .doc = "whether it has arrived, in this step or before"},
    {"blue/terminated", BE_INFO, BE_VALUE(BE_BOOL), .doc = "whether it has arrived, in this step or before"},
    {0},
};

enum { PLACE };
static const be_field state[] = {
    [PLACE] = {"place", BE_I64, RUNNERS, "the cell of each runner", 0, LENGTH},
    {0},
};

enum { FALL };
static const be_param params[] = {
    [FALL] = {"fall", BE_PARAM_FLOAT, 0.4, 0, 1, NULL, "probability that a runner falls, and stays where it is"},
    {0},
};

static int64_t *places(const be_batch *batch, int64_t i) { return (int64_t *)batch->state[PLACE] + i * RUNNERS; }

static int observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) {
        const int64_t *place = places(batch, lanes[k]);
        for (int j = 0; j < RUNNERS; j++) {
            float *view = BE_ROW(float, rows->port[VIEW + j], rows, lanes[k], RUNNERS);
            view[0] = (float)place[j];
            view[1] = (float)place[1 - j];
        }
    }
    return BE_OK;
}

static int reset(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        for (int j = 0; j < RUNNERS; j++) {
            places(batch, lanes[k])[j] = be_rng_integers(&batch->rng[lanes[k]], 0, 3);
            *BE_ROW(uint8_t, rows->port[ARRIVED + j], rows, lanes[k], 1) = 0;
        }
    }
    return observe(batch, lanes, count, rows, error);
}

static int step(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        rows->terminated[k] = 0;
        if (rows->skip[k]) continue;
        int64_t *place = places(batch, i);
        const int before[RUNNERS] = {place[0] == LENGTH, place[1] == LENGTH};
        for (int j = 0; j < RUNNERS; j++) {
            if (before[j]) continue; /* it is out: its action means nothing, and it draws no random number */
            const int runs = ((const int64_t *)rows->port[PACE + j])[k] == 1;
            place[j] += runs ? 2 * (be_rng_double(&batch->rng[i]) >= be_param_of(batch, FALL, i)) : 1;
            if (place[j] > LENGTH) place[j] = LENGTH;
        }
        rows->reward[k] = 0; /* the sum of both */
        for (int j = 0; j < RUNNERS; j++) {
            const int arrives = !before[j] && place[j] == LENGTH, first = arrives && place[1 - j] < LENGTH;
            const double reward = before[j] ? 0 : (double)first - 0.01;
            ((double *)rows->port[REWARD + j])[k] = reward;
            ((uint8_t *)rows->port[ARRIVED + j])[k] = place[j] == LENGTH;
            rows->reward[k] += reward;
        }
        rows->terminated[k] = place[0] == LENGTH && place[1] == LENGTH;
        observe(batch, &i, 1, rows, error);
    }
    return BE_OK;
}

static const be_id ids[] = {
    {"Race-v0", 50},
    {0},
};

BE_ENV(race) = {
    .abi = BE_ABI,
    .name = "Race",
    .ids = ids,
    .family = "own",
    .ports = ports,
    .state = state,
    .params = params,
    .reset = reset,
    .observe = observe,
    .step = step,
};
