/* FrozenLake-v1: from a start over a frozen lake to the goal, around holes, on ice that may carry the walker sideways.
 *
 * Draws, probabilities and rewards as gymnasium.envs.toy_text.FrozenLakeEnv has them. On the map, S is a start, G the
 * goal, H a hole, and every other letter is ice.
 */
#include <string.h>

#include "batchenv.h"
#include "envs/toy_text/categorical.h"

#define MAX_CELLS (1 << 20)

/* prepare() sets the number of cells of the map. */
enum { ACTION, OBSERVATION, PROB };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(4)},
    [OBSERVATION] = {"", BE_OBSERVATION},
    [PROB] = {"prob", BE_INFO, BE_VALUE(BE_F64), .doc = "probability of what the last action led to; 1 after a reset"},
    {0},
};

enum { S, LAST_ACTION };
static const be_field state[] = {
    [S] = {"s", BE_I64, 1, "the cell, row * columns + column", 0, MAX_CELLS - 1},
    [LAST_ACTION] = {"lastaction", BE_I64, 1, "the action of the last step; -1 after a reset", -1, 3},
    {0},
};

enum { IS_SLIPPERY, SUCCESS_RATE, REWARD_GOAL, REWARD_HOLE, REWARD_FROZEN };
static const be_param params[] = {
    [IS_SLIPPERY] = {"is_slippery", BE_PARAM_BOOL, 1, 0, 1, NULL, "moves may go sideways instead"},
    [SUCCESS_RATE] = {"success_rate", BE_PARAM_FLOAT, 1.0 / 3.0, 0, 1, NULL,
                      "probability of the intended move; the two sides share the rest equally"},
    [REWARD_GOAL] = {"reward_goal", BE_PARAM_FLOAT, 1, -1e300, 1e300, NULL, "for reaching the goal"},
    [REWARD_HOLE] = {"reward_hole", BE_PARAM_FLOAT, 0, -1e300, 1e300, NULL, "for falling into a hole"},
    [REWARD_FROZEN] = {"reward_frozen", BE_PARAM_FLOAT, 0, -1e300, 1e300, NULL, "for every other step"},
    {0},
};

enum { FIRST_START, NUM_STARTS };

static int prepare(be_setup *setup, be_error *error) {
    const be_grid *map = &setup->grid;
    if (map->cells == NULL || map->rows < 1 || map->columns < 1 || map->rows > MAX_CELLS ||
        map->columns > MAX_CELLS / map->rows) {
        return be_fail(error, BE_ERROR_VALUE, -1, "desc of %lld rows and %lld columns must have 1 to %d cells",
                       (long long)map->rows, (long long)map->columns, MAX_CELLS);
    }
    const uint8_t *end = map->cells + map->rows * map->columns, *first = NULL;
    int64_t starts = 0;
    for (const uint8_t *p = map->cells; (p = memchr(p, 'S', (size_t)(end - p))) != NULL; p++) {
        if (starts++ == 0) first = p;
    }
    if (starts == 0) {
        return be_fail(error, BE_ERROR_VALUE, -1, "desc has no start: at least one of its cells must be 'S'");
    }
    setup->constants[FIRST_START] = (double)(first - map->cells);
    setup->constants[NUM_STARTS] = (double)starts;
    be_space_discrete(&setup->space[OBSERVATION], map->rows * map->columns);
    return BE_OK;
}

static int check_state(const be_batch *b, const void *const *columns, int64_t count, be_error *error) {
    const int64_t *s = columns[S], cells = b->grid.rows * b->grid.columns;
    for (int64_t i = 0; i < count; i++) {
        if (s[i] >= cells) {
            return be_fail(error, BE_ERROR_VALUE, i, "s=%lld of lane %lld is not a cell of this map, 0..%lld",
                           (long long)s[i], (long long)i, (long long)cells - 1);
        }
    }
    return BE_OK;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    const int64_t *s = b->state[S];
    for (int64_t k = 0; k < count; k++) *BE_ROW(int64_t, rows->port[OBSERVATION], rows, lanes[k], 1) = s[lanes[k]];
    return BE_OK;
}

/* Draws one of the starts, each with the same probability. */
static int64_t draw_start(const be_batch *b, int64_t first, int64_t starts, be_rng *rng) {
    const double u = be_rng_double(rng), p = 1.0 / (double)starts;
    if (starts == 1) return first;
    const int64_t cells = b->grid.rows * b->grid.columns;
    double sum = 0.0;
    for (int64_t s = first; s < cells; s++) {
        if (b->grid.cells[s] == 'S' && (sum += p) > u) return s;
    }
    return 0;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    int64_t *s = b->state[S], *last_action = b->state[LAST_ACTION];
    /* They depend on the map alone, so they are the same in all lanes. */
    const int64_t first = (int64_t)be_constant_of(b, FIRST_START, 0),
                  starts = (int64_t)be_constant_of(b, NUM_STARTS, 0);
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        s[i] = draw_start(b, first, starts, &b->rng[i]);
        last_action[i] = -1;
        *BE_ROW(double, rows->port[PROB], rows, i, 1) = 1.0;
    }
    return observe(b, lanes, count, rows, error);
}

/* Kinds of cells. */
enum { FROZEN, HOLE, GOAL };
static const uint8_t kind_of[256] = {['H'] = HOLE, ['G'] = GOAL};

typedef struct values {
    double success, fail, reward[3];
} values;

BE_INLINE values load_values(const be_batch *b, int64_t i) {
    const double success = be_param_of(b, SUCCESS_RATE, i);
    return (values){
        .success = success,
        .fail = (1.0 - success) / 2.0,
        .reward = {[FROZEN] = be_param_of(b, REWARD_FROZEN, i),
                   [HOLE] = be_param_of(b, REWARD_HOLE, i),
                   [GOAL] = be_param_of(b, REWARD_GOAL, i)},
    };
}

BE_INLINE int step_lanes(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, int slippery, int per_lane) {
    int64_t *restrict s = b->state[S], *restrict last_action = b->state[LAST_ACTION];
    const int64_t *restrict action = rows->port[ACTION];
    int64_t *restrict observation = rows->port[OBSERVATION];
    double *restrict reward = rows->reward, *restrict prob = rows->port[PROB];
    uint8_t *restrict terminated = rows->terminated;
    const uint8_t *restrict cells = b->grid.cells;
    const uint32_t columns = (uint32_t)b->grid.columns, num_cells = (uint32_t)b->grid.rows * columns;
    values v = load_values(b, begin);

    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        if (rows->skip[k]) continue;
        if (per_lane) v = load_values(b, i);
        const double u = be_rng_double(&b->rng[i]);
        uint32_t cell = (uint32_t)s[i], direction = (uint32_t)action[k];
        last_action[i] = action[k];
        prob[k] = 1.0;
        if (kind_of[cells[cell]] != FROZEN) { /* the walker cannot leave the goal or a hole */
            observation[k] = cell;
            reward[k] = 0.0;
            terminated[k] = 1;
            continue;
        }
        if (slippery) {
            const int pick = be_pick3(u, v.fail, v.success, v.fail);
            direction = (direction + (uint32_t)pick + 3) % 4;
            prob[k] = pick == 1 ? v.success : v.fail;
        }
        const uint32_t column = cell % columns;
        const uint32_t moves[] = {/* left, down, right, up */
                                  column > 0 ? -1u : 0, cell + columns < num_cells ? columns : 0,
                                  column + 1 < columns ? 1 : 0, cell >= columns ? -columns : 0};
        cell += moves[direction];
        const uint8_t kind = kind_of[cells[cell]];
        s[i] = observation[k] = cell;
        reward[k] = v.reward[kind];
        terminated[k] = kind != FROZEN;
    }
    return BE_OK;
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    const int slippery = be_param_of(b, IS_SLIPPERY, begin) != 0;
    if (b->per_lane) return step_lanes(b, begin, end, rows, slippery, 1);
    return slippery ? step_lanes(b, begin, end, rows, 1, 0) : step_lanes(b, begin, end, rows, 0, 0);
}

static const be_id ids[] = {
    {"FrozenLake-v1", 100, BE_THRESHOLD(0.70), {{"map_name", .text = "4x4"}}},
    {"FrozenLake8x8-v1", 200, BE_THRESHOLD(0.85), {{"map_name", .text = "8x8"}}},
    {0},
};

BE_ENV(frozen_lake) = {
    .abi = BE_ABI,
    .name = "FrozenLake",
    .ids = ids,
    .family = "toy text",
    .frames_per_second = 4,
    .ports = ports,
    .state = state,
    .params = params,
    .grid = "desc",
    .prepare = prepare,
    .check_state = check_state,
    .reset = reset,
    .observe = observe,
    .step = step,
};
