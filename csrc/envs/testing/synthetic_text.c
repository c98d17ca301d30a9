/* SyntheticText-v0 and SyntheticWord-v0: observations that are texts, for tests of what moves and makes them.
 *
 * The first shows a Dict: a word of a table, a sum of two numbers that a function writes, and an array. Each may be
 * left out. The second shows the word alone. The codes depend on the lane's stream and on every action so far.
 */
#include <stdio.h>

#include "batchenv.h"

static int write_sum(const be_env_type *type, const int64_t *code, char *text, int size) {
    (void)type;
    return snprintf(text, (size_t)size, "%lld and %lld are %lld", (long long)code[0], (long long)code[1],
                    (long long)(code[0] + code[1]));
}

static int write_letters(const be_env_type *type, const int64_t *code, char *text, int size) {
    (void)type;
    if (*code > 1000) return -1;
    for (int64_t k = 0; k < *code && k < size; k++) text[k] = (char)('a' + k % 26);
    if (size > 0) text[*code < size ? *code : size - 1] = '\0';
    return (int)*code;
}

#define WORDS BE_TEXTS("go", "stop", "turn left", "über die Brücke", "")
enum { NUM_WORDS = 5 };

enum { ACTION, PLACE, WORD, SUM, LETTERS, ALONE, MOVED };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(4)},
    [PLACE] = {"place", BE_OBSERVATION, BE_BOX(BE_U8, 0, 255, 2)},
    [WORD] = {"word", BE_OBSERVATION, WORDS},
    [SUM] = {"told/sum", BE_OBSERVATION, BE_TEXT_CODES(write_sum, 2)},
    [LETTERS] = {"letters", BE_OBSERVATION, BE_TEXT_OF(write_letters, 900)},
    [ALONE] = {"", BE_OBSERVATION, WORDS},
    [MOVED] = {"moved", BE_INFO, BE_VALUE(BE_I32), .doc = "the last action; -1 after a reset"},
    {0},
};

enum { S_WORD, S_SUM };
static const be_field state[] = {
    [S_WORD] = {"word", BE_I64, 1, "the code of a word", 0, NUM_WORDS - 1},
    [S_SUM] = {"sum", BE_I64, 2, "two numbers", -(INT64_C(1) << 40), INT64_C(1) << 40},
    {0},
};

enum { END_PROBABILITY, SHOWS, BROKEN };
static const char *const shows[] = {"all", "texts", "place", "word", NULL};
static const be_param params[] = {
    [END_PROBABILITY] = {"end_probability", BE_PARAM_FLOAT, 0.1, 0, 1, NULL, "chance that a step ends the episode"},
    [SHOWS] = {"shows", BE_PARAM_CHOICE, 0, .choices = shows, .doc = "which parts the observation has"},
    [BROKEN] = {"broken", BE_PARAM_BOOL, 0, .doc = "whether codes that stand for no text are shown"},
    {0},
};

static void leave_out(be_space *space) {
    space->ndim = 1;
    space->shape[0] = 0;
}

static int prepare(be_setup *setup, be_error *error) {
    (void)error;
    const int chosen = (int)setup->params[SHOWS];
    if (chosen != 3) leave_out(&setup->space[ALONE]);
    if (chosen == 1 || chosen == 3) leave_out(&setup->space[PLACE]);
    for (int port = WORD; port <= LETTERS && chosen >= 2; port++) leave_out(&setup->space[port]);
    return BE_OK;
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    const int chosen = (int)b->params[SHOWS];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k], *sum = (const int64_t *)b->state[S_SUM] + 2 * i;
        const int64_t word = ((const int64_t *)b->state[S_WORD])[i] + (b->params[BROKEN] != 0 ? NUM_WORDS : 0);
        if (chosen == 0 || chosen == 2) {
            uint8_t *place = BE_ROW(uint8_t, rows->port[PLACE], rows, i, 2);
            place[0] = (uint8_t)word;
            place[1] = (uint8_t)(sum[0] + sum[1]);
        }
        if (chosen == 3) *BE_ROW(int64_t, rows->port[ALONE], rows, i, 1) = word;
        if (chosen >= 2) continue;
        *BE_ROW(int64_t, rows->port[WORD], rows, i, 1) = word;
        for (int j = 0; j < 2; j++) BE_ROW(int64_t, rows->port[SUM], rows, i, 2)[j] = sum[j];
        *BE_ROW(int64_t, rows->port[LETTERS], rows, i, 1) = (int64_t)((uint64_t)(sum[0] * 37 + sum[1]) % 900);
    }
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        ((int64_t *)b->state[S_WORD])[i] = be_rng_integers(&b->rng[i], 0, NUM_WORDS);
        for (int j = 0; j < 2; j++) ((int64_t *)b->state[S_SUM])[2 * i + j] = be_rng_integers(&b->rng[i], -9, 10);
        *BE_ROW(int32_t, rows->port[MOVED], rows, i, 1) = -1;
    }
    return observe(b, lanes, count, rows, error);
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        rows->terminated[k] = 0;
        if (rows->skip[k]) continue;
        const int64_t action = ((const int64_t *)rows->port[ACTION])[k];
        int64_t *word = (int64_t *)b->state[S_WORD] + i, *sum = (int64_t *)b->state[S_SUM] + 2 * i;
        const double u = be_rng_double(&b->rng[i]);
        *word = (*word + action) % NUM_WORDS;
        sum[action & 1] += action;
        ((int32_t *)rows->port[MOVED])[k] = (int32_t)action;
        rows->reward[k] = (double)*word;
        rows->terminated[k] = u < be_param_of(b, END_PROBABILITY, i);
        observe(b, &i, 1, rows, error);
    }
    return BE_OK;
}

static const be_id ids[] = {
    {"SyntheticText-v0", 40, .unlisted = 1},
    {"SyntheticWord-v0", 40, .settings = {{"shows", .text = "word"}}, .unlisted = 1},
    {0},
};

BE_ENV(synthetic_text) = {
    .abi = BE_ABI,
    .name = "SyntheticText",
    .ids = ids,
    .family = "testing",
    .frames_per_second = 1,
    .ports = ports,
    .state = state,
    .params = params,
    .prepare = prepare,
    .reset = reset,
    .observe = observe,
    .step = step,
};
