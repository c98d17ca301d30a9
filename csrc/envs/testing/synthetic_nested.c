/* SyntheticNested-v0: Dicts and Tuples in each other, on both sides, and rewards of a team of three, for tests of what
 * moves them.
 *
 * What it shows depends on the lane's stream and on every part of every action so far, so that a part that is lost or
 * given to another lane is noticed. Its lanes are stepped one by one, and may fail.
 */
#include <math.h>
#include <string.h>

#include "batchenv.h"

enum { GEAR, KEYS, PUSH, DIALS, ANGLE, SPEED, FLAGS, PRESSED, REWARDS, TEAM };
static const be_port ports[] = {
    [GEAR] = {"0", BE_ACTION, BE_DISCRETE_FROM(1, 3)},
    [KEYS] = {"1/keys", BE_ACTION, BE_MULTI_BINARY(3)},
    [PUSH] = {"1/push", BE_ACTION, BE_BOX(BE_F32, -1, 1, 2)},
    [DIALS] = {"2", BE_ACTION, BE_MULTI_DISCRETE(2, 3)},
    [ANGLE] = {"arm/0", BE_OBSERVATION, BE_DISCRETE_FROM(-2, 5)},
    [SPEED] = {"arm/1", BE_OBSERVATION, BE_BOX(BE_F64, -INFINITY, INFINITY, 2)},
    [FLAGS] = {"flags", BE_OBSERVATION, BE_MULTI_BINARY(3)},
    [PRESSED] = {"pressed", BE_INFO, BE_VALUE(BE_I64), .doc = "keys down"},
    [REWARDS] = {"team/rewards", BE_REWARD, BE_VALUES(BE_F64, 3), .doc = "both speeds, and the keys down"},
    [TEAM] = {"team/size", BE_INFO, BE_VALUE(BE_I32), .doc = "three"},
    {0},
};

enum { S_ANGLE, S_SPEED, S_FLAGS };
static const be_field state[] = {
    [S_ANGLE] = {"angle", BE_I64, 1, "-2 to 2", -2, 2},
    [S_SPEED] = {"speed", BE_F64, 2, "two numbers"},
    [S_FLAGS] = {"flags", BE_I8, 3, "0 or 1", 0, 1},
    {0},
};

enum { END_PROBABILITY, FAIL_STEP, FAIL_LANE };
static const be_param params[] = {
    [END_PROBABILITY] = {"end_probability", BE_PARAM_FLOAT, 0.1, 0, 1, NULL, "chance that a step ends the episode"},
    [FAIL_STEP] = {"fail_step", BE_PARAM_INT, 0, 0, INT32_MAX, NULL, "the step of an episode that fails; 0: none"},
    [FAIL_LANE] = {"fail_lane", BE_PARAM_INT, -1, -1, INT32_MAX, NULL, "the lane in which it fails; -1: all"},
    {0},
};

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        *BE_ROW(int64_t, rows->port[ANGLE], rows, i, 1) = ((const int64_t *)b->state[S_ANGLE])[i];
        memcpy(BE_ROW(double, rows->port[SPEED], rows, i, 2), (double *)b->state[S_SPEED] + 2 * i, 2 * sizeof(double));
        memcpy(BE_ROW(int8_t, rows->port[FLAGS], rows, i, 3), (int8_t *)b->state[S_FLAGS] + 3 * i, 3);
    }
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        ((int64_t *)b->state[S_ANGLE])[i] = be_rng_integers(&b->rng[i], -2, 3);
        for (int j = 0; j < 2; j++) ((double *)b->state[S_SPEED])[2 * i + j] = be_rng_double(&b->rng[i]);
        memset((int8_t *)b->state[S_FLAGS] + 3 * i, 0, 3);
        *BE_ROW(int64_t, rows->port[PRESSED], rows, i, 1) = 0;
        *BE_ROW(int32_t, rows->port[TEAM], rows, i, 1) = 3;
    }
    return observe(b, lanes, count, rows, error);
}

static int step(be_batch *b, int64_t i, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int64_t k = i - rows->first;
    const int64_t gear = ((const int64_t *)rows->port[GEAR])[k], *dials = (const int64_t *)rows->port[DIALS] + 2 * k;
    const int8_t *keys = (const int8_t *)rows->port[KEYS] + 3 * k;
    const float *push = (const float *)rows->port[PUSH] + 2 * k;
    int64_t *angle = (int64_t *)b->state[S_ANGLE] + i, pressed = 0;
    double *speed = (double *)b->state[S_SPEED] + 2 * i;
    int8_t *flags = (int8_t *)b->state[S_FLAGS] + 3 * i;
    const double u = be_rng_double(&b->rng[i]), failing = be_param_of(b, FAIL_LANE, i);
    if (b->elapsed[i] + 1 == (int64_t)be_param_of(b, FAIL_STEP, i) && (failing < 0 || failing == (double)i)) {
        return be_fail(error, BE_ERROR_ENGINE, i, "fail_step=%d", b->elapsed[i] + 1);
    }
    *angle = (*angle + 2 + gear + dials[1]) % 5 - 2;
    for (int j = 0; j < 2; j++) speed[j] = speed[j] * 0.5 + (double)push[j] * (double)(1 + dials[0]) + u;
    for (int j = 0; j < 3; j++) {
        flags[j] ^= keys[j];
        pressed += keys[j];
    }
    ((int64_t *)rows->port[PRESSED])[k] = pressed;
    rows->reward[k] = speed[0] + (double)pressed;
    memcpy((double *)rows->port[REWARDS] + 3 * k, speed, 2 * sizeof(double));
    ((double *)rows->port[REWARDS])[3 * k + 2] = (double)pressed;
    ((int32_t *)rows->port[TEAM])[k] = 3;
    rows->terminated[k] = u < be_param_of(b, END_PROBABILITY, i);
    return observe(b, &i, 1, rows, error);
}

static const be_id ids[] = {{"SyntheticNested-v0", 40, .unlisted = 1}, {0}};

BE_ENV(synthetic_nested) = {
    .abi = BE_ABI,
    .name = "SyntheticNested",
    .ids = ids,
    .family = "testing",
    .frames_per_second = 1,
    .ports = ports,
    .state = state,
    .params = params,
    .flags = BE_LANE_BY_LANE,
    .reset = reset,
    .observe = observe,
    .step = step,
};
