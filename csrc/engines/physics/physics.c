#include "engines/physics/physics.h"

#include <pthread.h>
#include <string.h>

#define NAME(name) #name,
#define ARRAY_NAME(name, count) #name,
const char *const be_physics_size_names[] = {BE_PHYSICS_SIZES(NAME)};
const char *const be_physics_int_names[] = {BE_PHYSICS_INTS(NAME)};
const char *const be_physics_float_names[] = {BE_PHYSICS_FLOATS(NAME)};
const char *const be_physics_array_names[] = {BE_PHYSICS_ARRAYS(ARRAY_NAME)};
const char *const be_physics_sensor_names[] = {BE_PHYSICS_SENSORS(NAME)};
const char *const be_physics_left_texts[] = {
    [BE_LEFT_ALWAYS] = "because of equalities, or friction loss that is not solved here",
    [BE_LEFT_SOLVER] = "because of the model's solver, cones or flags",
    [BE_LEFT_PAIRS] = "because geoms came near each other whose contacts only MuJoCo finds",
    [BE_LEFT_TENDONS] = "because of a tendon's limit",
    [BE_LEFT_ROWS] = "because there were too many rows of constraints, or rows of other equalities than at the start",
    [BE_LEFT_HESSIAN] = "because the solver's Hessian was singular",
    [BE_LEFT_SENSORS] = "because of sensors of contacts in a site",
    [BE_LEFT_ISLANDS] = "because of rows that move trees of joints which do not follow each other in the model",
    [BE_LEFT_CHAINS] = "because of contacts between branches of a tree of joints, with sparse matrices",
    [BE_LEFT_PLACES] = "because of capsules without length",
    [BE_LEFT_EDGES] = "because geoms were exactly as far apart as a contact begins",
};

int64_t be_physics_array_size(const be_physics_model *m, int array) {
#define SIZE(name, count) (count),
    const int64_t sizes[] = {BE_PHYSICS_ARRAYS(SIZE)};
#undef SIZE
    return sizes[array];
}

/* ---- the order of PGS ---------------------------------------------------------------------------------- */

/* In each solve MuJoCo shuffles its rows anew before each sweep, with numbers that are always the same. */
static uint8_t visits[BE_MAX_SWEEPS * BE_PGS_ROWS * (BE_PGS_ROWS + 1) / 2];
static pthread_once_t visits_once = PTHREAD_ONCE_INIT;

static uint8_t *visits_of(int count) { return visits + BE_MAX_SWEEPS * count * (count - 1) / 2; }

/* PCG32, with increment 1 */
static uint32_t next_random(uint64_t *state) {
    const uint64_t old = *state;
    *state = old * 6364136223846793005u + 1;
    const uint32_t shifted = (uint32_t)((old >> 18 ^ old) >> 27);
    const int turn = (int)(old >> 59);
    return shifted >> turn | shifted << (-turn & 31);
}

static void shuffle_visits(void) {
    for (int count = 1; count <= BE_PGS_ROWS; count++) {
        uint8_t *order = visits_of(count);
        uint64_t state = 0;
        next_random(&state);
        for (int row = 0; row < count; row++) order[row] = (uint8_t)row;
        for (int sweep = 0; sweep < BE_MAX_SWEEPS; sweep++, order += count) {
            if (sweep) memcpy(order, order - count, (size_t)count);
            for (int last = count - 1; last > 0; last--) {
                const uint32_t chosen = next_random(&state) % (uint32_t)(last + 1);
                const uint8_t row = order[last];
                order[last] = order[chosen];
                order[chosen] = row;
            }
        }
    }
}

const uint8_t *be_physics_visits(int count, int sweep) {
    pthread_once(&visits_once, shuffle_visits);
    return visits_of(count) + sweep * count;
}
