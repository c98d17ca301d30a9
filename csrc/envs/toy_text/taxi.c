/* Taxi-v4: drive to a passenger on a 5 by 5 map with walls, pick them up, bring them where they want to go.
 *
 * Dietterich (2000), section 3.1, and 7.1 for rain and fickle passengers; draws, probabilities and rewards as
 * gymnasium.envs.toy_text.TaxiEnv has them. A state is ((row * 5 + column) * 5 + passenger) * 4 + destination:
 * passenger and destination are pads 0..3, and passenger 4 sits in the taxi.
 */
#include "batchenv.h"
#include "envs/toy_text/categorical.h"

enum { NUM_CELLS = 25, NUM_PADS = 4, IN_TAXI = 4, NUM_ACTIONS = 6, STATES_PER_CELL = 20 };
enum { SOUTH, NORTH, EAST, WEST, PICKUP, DROPOFF };

enum { ACTION, OBSERVATION, PROB, ACTION_MASK };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(NUM_ACTIONS)},
    [OBSERVATION] = {"", BE_OBSERVATION, BE_DISCRETE(NUM_CELLS * STATES_PER_CELL)},
    [PROB] = {"prob", BE_INFO, BE_VALUE(BE_F64), .doc = "probability of what the last action led to; 1 after a reset"},
    [ACTION_MASK] = {"action_mask", BE_INFO, BE_VALUES(BE_I8, NUM_ACTIONS),
                     .doc = "1 for each action that changes the state"},
    {0},
};

enum { S, LAST_ACTION, FICKLE_STEP, ORIENTATION };
static const be_field state[] = {
    [S] = {"s", BE_I64, 1, "((row * 5 + column) * 5 + passenger) * 4 + destination", 0,
           NUM_CELLS * STATES_PER_CELL - 1},
    [LAST_ACTION] = {"lastaction", BE_I64, 1, "the action of the last step; -1 after a reset", -1, NUM_ACTIONS - 1},
    [FICKLE_STEP] = {"fickle_step", BE_I64, 1, "1: this passenger is going to choose another destination", 0, 1},
    [ORIENTATION] = {"taxi_orientation", BE_I64, 1, "the last move's direction, which the picture shows; 0 at first", 0,
                     WEST},
    {0},
};

enum { IS_RAINY, FICKLE_PASSENGER, RAINY_PROBABILITY, FICKLE_PROBABILITY };
static const be_param params[] = {
    [IS_RAINY] = {"is_rainy", BE_PARAM_BOOL, 0, 0, 1, NULL, "moves may go sideways instead"},
    [FICKLE_PASSENGER] = {"fickle_passenger", BE_PARAM_BOOL, 0, 0, 1, NULL,
                          "the passenger may choose another destination during the ride"},
    [RAINY_PROBABILITY] = {"rainy_probability", BE_PARAM_FLOAT, 0.8, 0, 1, NULL,
                           "in rain: probability of the intended move; the two sides share the rest equally"},
    [FICKLE_PROBABILITY] = {"fickle_probability", BE_PARAM_FLOAT, 0.3, 0, 1, NULL,
                            "probability that a fickle passenger changes their mind in an episode"},
    {0},
};

/* Which ways are open from each cell: south, north, east, west. */
static const uint8_t ways[NUM_CELLS][4] = {
    {1, 0, 1, 0}, {1, 0, 0, 1}, {1, 0, 1, 0}, {1, 0, 1, 1}, {1, 0, 0, 1}, /* R . | . . G */
    {1, 1, 1, 0}, {1, 1, 0, 1}, {1, 1, 1, 0}, {1, 1, 1, 1}, {1, 1, 0, 1}, /* . . | . . . */
    {1, 1, 1, 0}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 0, 1}, /* . . . . .   */
    {1, 1, 0, 0}, {1, 1, 1, 0}, {1, 1, 0, 1}, {1, 1, 1, 0}, {1, 1, 0, 1}, /* . | . . | . . */
    {0, 1, 0, 0}, {0, 1, 1, 0}, {0, 1, 0, 1}, {0, 1, 1, 0}, {0, 1, 0, 1}, /* Y | . . | B . */
};
static const int8_t move_of[4] = {[SOUTH] = 5, [NORTH] = -5, [EAST] = 1, [WEST] = -1};
/* Left and right of each heading, as the driver sees them. */
static const uint8_t left_of[4] = {[SOUTH] = EAST, [NORTH] = WEST, [EAST] = NORTH, [WEST] = SOUTH};
static const uint8_t right_of[4] = {[SOUTH] = WEST, [NORTH] = EAST, [EAST] = SOUTH, [WEST] = NORTH};

/* The pad in a cell, counted from 1; 0: none. */
static const uint8_t pad_in[NUM_CELLS] = {[0] = 1, [4] = 2, [20] = 3, [23] = 4};

/* An episode starts in one of 300 states, each with the same probability: any cell, a passenger waiting at a pad, and
 * another pad as the destination. Constant j is the sum of the probabilities of the first 10 j states, added one by
 * one. */
enum { NUM_STARTS = 300, STRIDE = 10, NUM_SUMS = NUM_STARTS / STRIDE };
static const double start_probability = 1.0 / NUM_STARTS;

static int prepare(be_setup *setup, be_error *error) {
    (void)error;
    double sum = 0.0;
    for (int k = 0; k < NUM_STARTS; k++) {
        if (k % STRIDE == 0) setup->constants[k / STRIDE] = sum;
        sum += start_probability;
    }
    return BE_OK;
}

/* The first start whose running sum is above a random number, or state 0. */
static int64_t draw_start(const be_batch *b, int64_t lane, be_rng *rng) {
    const double u = be_rng_double(rng);
    int j = (int)(u * NUM_SUMS);
    while (j > 0 && be_constant_of(b, j, lane) > u) j--;
    while (j < NUM_SUMS - 1 && be_constant_of(b, j + 1, lane) <= u) j++;
    double sum = be_constant_of(b, j, lane);
    for (int k = j * STRIDE; k < NUM_STARTS; k++) {
        sum += start_probability;
        if (sum > u) {
            const int cell = k / 12, passenger = k / 3 % 4, other = k % 3;
            return cell * STATES_PER_CELL + passenger * NUM_PADS + other + (other >= passenger);
        }
    }
    return 0;
}

static inline void write_mask(int64_t s, int8_t *mask) {
    const int64_t cell = s / STATES_PER_CELL, passenger = s / NUM_PADS % 5;
    for (int way = 0; way < 4; way++) mask[way] = (int8_t)ways[cell][way];
    mask[PICKUP] = pad_in[cell] == passenger + 1;
    mask[DROPOFF] = passenger == IN_TAXI && pad_in[cell] != 0;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    const int64_t *s = b->state[S];
    for (int64_t k = 0; k < count; k++) *BE_ROW(int64_t, rows->port[OBSERVATION], rows, lanes[k], 1) = s[lanes[k]];
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    int64_t *s = b->state[S], *last_action = b->state[LAST_ACTION], *fickle_step = b->state[FICKLE_STEP];
    int64_t *orientation = b->state[ORIENTATION];
    const int fickle = be_param_of(b, FICKLE_PASSENGER, 0) != 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        s[i] = draw_start(b, i, &b->rng[i]);
        last_action[i] = -1;
        orientation[i] = SOUTH;
        fickle_step[i] = fickle && be_rng_double(&b->rng[i]) < be_param_of(b, FICKLE_PROBABILITY, i);
        *BE_ROW(double, rows->port[PROB], rows, i, 1) = 1.0;
        write_mask(s[i], BE_ROW(int8_t, rows->port[ACTION_MASK], rows, i, NUM_ACTIONS));
    }
    return observe(b, lanes, count, rows, error);
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    int64_t *restrict ps = b->state[S], *restrict last_action = b->state[LAST_ACTION];
    int64_t *restrict fickle_step = b->state[FICKLE_STEP], *restrict orientation = b->state[ORIENTATION];
    const int64_t *restrict action = rows->port[ACTION];
    int64_t *restrict observation = rows->port[OBSERVATION];
    double *restrict reward = rows->reward, *restrict prob = rows->port[PROB];
    int8_t *restrict mask = rows->port[ACTION_MASK];
    uint8_t *restrict terminated = rows->terminated;
    const int rainy = be_param_of(b, IS_RAINY, 0) != 0, fickle = be_param_of(b, FICKLE_PASSENGER, 0) != 0;

    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        if (rows->skip[k]) continue;
        const double u = be_rng_double(&b->rng[i]);
        const int a = (int)action[k];
        int s = (int)ps[i];
        const int cell = s / STATES_PER_CELL, passenger = s / NUM_PADS % 5, destination = s % NUM_PADS;
        prob[k] = 1.0;
        reward[k] = -1.0;
        terminated[k] = 0;
        if (a <= WEST) {
            int way = a;
            orientation[i] = a;
            if (rainy) {
                const double straight = be_param_of(b, RAINY_PROBABILITY, i), aside = (1.0 - straight) / 2.0;
                const int pick = be_pick3(u, straight, aside, aside);
                if (pick > 0) way = pick == 1 ? left_of[a] : right_of[a];
                prob[k] = pick > 0 ? aside : straight;
            }
            /* If the way ahead is closed, the taxi cannot drift either. */
            if (ways[cell][a] && ways[cell][way]) {
                s += move_of[way] * STATES_PER_CELL;
                if (fickle && fickle_step[i] && passenger == IN_TAXI) {
                    fickle_step[i] = 0;
                    const int other = (int)be_rng_choice(&b->rng[i], NUM_PADS - 1);
                    s += other + (other >= destination) - destination;
                }
            }
        } else if (a == PICKUP) {
            if (pad_in[cell] == passenger + 1) {
                s += (IN_TAXI - passenger) * NUM_PADS;
            } else {
                reward[k] = -10.0;
            }
        } else if (passenger == IN_TAXI && pad_in[cell]) {
            const int pad = pad_in[cell] - 1;
            s += (pad - IN_TAXI) * NUM_PADS;
            terminated[k] = pad == destination;
            if (pad == destination) reward[k] = 20.0;
        } else {
            reward[k] = -10.0;
        }
        ps[i] = observation[k] = s;
        last_action[i] = a;
        write_mask(s, mask + k * NUM_ACTIONS);
    }
    return BE_OK;
}

static const be_id ids[] = {{"Taxi-v4", 200, BE_THRESHOLD(8)}, {0}};

BE_ENV(taxi) = {
    .abi = BE_ABI,
    .name = "Taxi",
    .ids = ids,
    .family = "toy text",
    .frames_per_second = 4,
    .ports = ports,
    .state = state,
    .params = params,
    .prepare = prepare,
    .reset = reset,
    .observe = observe,
    .step = step,
};
