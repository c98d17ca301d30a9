/* SyntheticDict-v0 and SyntheticNested-v0: observations and actions of several parts, for tests of what moves them.
 *
 * What they show depends on the lane's stream and on every part of every action so far, so that a part lost or given to
 * another lane is seen. The first is stepped in ranges of lanes, the second a lane a call.
 */
#include <math.h>
#include <string.h>

#include "batchenv.h"

/* ---- SyntheticDict ---------------------------------------------------------------------------------- */

enum { ROWS = 3, COLUMNS = 4, CELLS = ROWS * COLUMNS, PLACES = 10 };

enum { ACTION, IMAGE, POSITION, PLACE, TOUCHED, CARRIED, PARTS };
static const be_port dict_ports[] = {
    [ACTION] = {"", BE_ACTION, BE_MULTI_DISCRETE(ROWS, 2, COLUMNS)},
    [IMAGE] = {"image", BE_OBSERVATION, BE_BOX(BE_U8, 0, 255, ROWS, COLUMNS)},
    [POSITION] = {"position", BE_OBSERVATION, BE_BOX(BE_F32, -INFINITY, INFINITY, 2)},
    [PLACE] = {"place", BE_OBSERVATION, BE_DISCRETE(PLACES)},
    [TOUCHED] = {"touched", BE_INFO, BE_VALUE(BE_I32), .doc = "the cell that the action has touched; -1 after a reset"},
    [CARRIED] = {"carried", BE_INFO, BE_VALUE(BE_BOOL), .when = BE_WHERE_NOT_0, .doc = "the place went past the last"},
    [PARTS] = {"parts", BE_INFO, BE_VALUES(BE_F64, 2), .when = BE_IN_STEPS, .doc = "what the reward is the sum of"},
    {0},
};

enum { D_CELLS, D_POSITION, D_PLACE };
static const be_field dict_state[] = {
    [D_CELLS] = {"cells", BE_U8, CELLS, "how often each was touched, modulo 256", 0, 255},
    [D_POSITION] = {"position", BE_F64, 2, "two numbers"},
    [D_PLACE] = {"place", BE_I64, 1, "one of ten", 0, PLACES - 1},
    {0},
};

enum { END_PROBABILITY, DICT_PARAMS };
#define END                                                                                                            \
    [END_PROBABILITY] = {"end_probability", BE_PARAM_FLOAT, 0.1, 0, 1, NULL, "chance that a step ends the episode"}
static const be_param dict_params[] = {END, {0}};

static int dict_observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        const double *position = (const double *)b->state[D_POSITION] + 2 * i;
        memcpy(BE_ROW(uint8_t, rows->port[IMAGE], rows, i, CELLS), (uint8_t *)b->state[D_CELLS] + CELLS * i, CELLS);
        for (int j = 0; j < 2; j++) BE_ROW(float, rows->port[POSITION], rows, i, 2)[j] = (float)position[j];
        *BE_ROW(int64_t, rows->port[PLACE], rows, i, 1) = ((const int64_t *)b->state[D_PLACE])[i];
    }
    return BE_OK;
}

static int dict_reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        memset((uint8_t *)b->state[D_CELLS] + CELLS * i, 0, CELLS);
        for (int j = 0; j < 2; j++) ((double *)b->state[D_POSITION])[2 * i + j] = be_rng_uniform(&b->rng[i], -1, 1);
        ((int64_t *)b->state[D_PLACE])[i] = 0;
        *BE_ROW(int32_t, rows->port[TOUCHED], rows, i, 1) = -1;
        *BE_ROW(uint8_t, rows->port[CARRIED], rows, i, 1) = 0;
        memset(BE_ROW(double, rows->port[PARTS], rows, i, 2), 0, 2 * sizeof(double));
    }
    return dict_observe(b, lanes, count, rows, error);
}

static int dict_step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        const int64_t *action = (const int64_t *)rows->port[ACTION] + 3 * k;
        double *position = (double *)b->state[D_POSITION] + 2 * i, *parts = (double *)rows->port[PARTS] + 2 * k;
        int64_t *place = (int64_t *)b->state[D_PLACE] + i;
        rows->terminated[k] = 0;
        if (rows->skip[k]) continue;
        const double u = be_rng_double(&b->rng[i]);
        const int64_t cell = action[0] * COLUMNS + action[2];
        ((uint8_t *)b->state[D_CELLS])[CELLS * i + cell] += (uint8_t)(1 + 100 * action[1]);
        position[action[1]] = position[action[1]] * 0.5 + (u - 0.5);
        *place += action[0] + action[2];
        ((int32_t *)rows->port[TOUCHED])[k] = (int32_t)cell;
        ((uint8_t *)rows->port[CARRIED])[k] = *place >= PLACES;
        *place %= PLACES;
        parts[0] = position[0];
        parts[1] = (double)action[2];
        rows->reward[k] = parts[0] + parts[1];
        rows->terminated[k] = u < be_param_of(b, END_PROBABILITY, i);
        dict_observe(b, &i, 1, rows, error);
    }
    return BE_OK;
}

static const be_id dict_ids[] = {{"SyntheticDict-v0", 40, .unlisted = 1}, {0}};

BE_ENV(synthetic_dict) = {
    .abi = BE_ABI,
    .name = "SyntheticDict",
    .ids = dict_ids,
    .family = "testing",
    .frames_per_second = 1,
    .ports = dict_ports,
    .state = dict_state,
    .params = dict_params,
    .reset = dict_reset,
    .observe = dict_observe,
    .step = dict_step,
};

/* ---- SyntheticNested -------------------------------------------------------------------------------- */

enum { GEAR, KEYS, PUSH, DIALS, ANGLE, SPEED, FLAGS, PRESSED };
static const be_port nested_ports[] = {
    [GEAR] = {"0", BE_ACTION, BE_DISCRETE_FROM(1, 3)},
    [KEYS] = {"1/keys", BE_ACTION, BE_MULTI_BINARY(3)},
    [PUSH] = {"1/push", BE_ACTION, BE_BOX(BE_F32, -1, 1, 2)},
    [DIALS] = {"2", BE_ACTION, BE_MULTI_DISCRETE(2, 3)},
    [ANGLE] = {"arm/0", BE_OBSERVATION, BE_DISCRETE_FROM(-2, 5)},
    [SPEED] = {"arm/1", BE_OBSERVATION, BE_BOX(BE_F64, -INFINITY, INFINITY, 2)},
    [FLAGS] = {"flags", BE_OBSERVATION, BE_MULTI_BINARY(3)},
    [PRESSED] = {"pressed", BE_INFO, BE_VALUE(BE_I64), .doc = "keys down"},
    {0},
};

enum { N_ANGLE, N_SPEED, N_FLAGS };
static const be_field nested_state[] = {
    [N_ANGLE] = {"angle", BE_I64, 1, "-2 to 2", -2, 2},
    [N_SPEED] = {"speed", BE_F64, 2, "two numbers"},
    [N_FLAGS] = {"flags", BE_I8, 3, "0 or 1", 0, 1},
    {0},
};

enum { FAIL_STEP = DICT_PARAMS, FAIL_LANE };
static const be_param nested_params[] = {
    END,
    [FAIL_STEP] = {"fail_step", BE_PARAM_INT, 0, 0, INT32_MAX, NULL, "the step of an episode that fails; 0: none"},
    [FAIL_LANE] = {"fail_lane", BE_PARAM_INT, -1, -1, INT32_MAX, NULL, "the lane in which it fails; -1: all"},
    {0},
};

static int nested_observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        *BE_ROW(int64_t, rows->port[ANGLE], rows, i, 1) = ((const int64_t *)b->state[N_ANGLE])[i];
        memcpy(BE_ROW(double, rows->port[SPEED], rows, i, 2), (double *)b->state[N_SPEED] + 2 * i, 2 * sizeof(double));
        memcpy(BE_ROW(int8_t, rows->port[FLAGS], rows, i, 3), (int8_t *)b->state[N_FLAGS] + 3 * i, 3);
    }
    return BE_OK;
}

static int nested_reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        ((int64_t *)b->state[N_ANGLE])[i] = be_rng_integers(&b->rng[i], -2, 3);
        for (int j = 0; j < 2; j++) ((double *)b->state[N_SPEED])[2 * i + j] = be_rng_double(&b->rng[i]);
        memset((int8_t *)b->state[N_FLAGS] + 3 * i, 0, 3);
        *BE_ROW(int64_t, rows->port[PRESSED], rows, i, 1) = 0;
    }
    return nested_observe(b, lanes, count, rows, error);
}

static int nested_step(be_batch *b, int64_t i, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int64_t k = i - rows->first;
    const int64_t gear = ((const int64_t *)rows->port[GEAR])[k], *dials = (const int64_t *)rows->port[DIALS] + 2 * k;
    const int8_t *keys = (const int8_t *)rows->port[KEYS] + 3 * k;
    const float *push = (const float *)rows->port[PUSH] + 2 * k;
    int64_t *angle = (int64_t *)b->state[N_ANGLE] + i, pressed = 0;
    double *speed = (double *)b->state[N_SPEED] + 2 * i;
    int8_t *flags = (int8_t *)b->state[N_FLAGS] + 3 * i;
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
    rows->terminated[k] = u < be_param_of(b, END_PROBABILITY, i);
    return nested_observe(b, &i, 1, rows, error);
}

static const be_id nested_ids[] = {{"SyntheticNested-v0", 40, .unlisted = 1}, {0}};

BE_ENV(synthetic_nested) = {
    .abi = BE_ABI,
    .name = "SyntheticNested",
    .ids = nested_ids,
    .family = "testing",
    .frames_per_second = 1,
    .ports = nested_ports,
    .state = nested_state,
    .params = nested_params,
    .flags = BE_LANE_BY_LANE,
    .reset = nested_reset,
    .observe = nested_observe,
    .step = nested_step,
};
