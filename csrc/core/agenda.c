#include "core/agenda.h"

#include <math.h>
#include <string.h>

#include "core/driver.h"
#include "core/math/mix.h"
#include "core/params.h"
#include "core/snapshot.h"

/* ---- which entry comes next ------------------------------------------------------------------------- */

/* A number from 0 to n - 1 for each k from 0 to n - 1, all different: a Feistel network of four rounds over 2h bits,
 * walked until the result is less than n (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). */
static int64_t shuffled(uint64_t key, int64_t n, int64_t k) {
    if (n < 2) return 0;
    const int bits = 64 - __builtin_clzll((uint64_t)n - 1), half = (bits + 1) / 2;
    const uint64_t mask = (UINT64_C(1) << half) - 1;
    uint64_t x = (uint64_t)k;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t round = 0; round < 4; round++) {
            const uint64_t turned = left ^ (be_mix64(key + BE_GAMMA64 * (right + (round << 48))) & mask);
            left = right;
            right = turned;
        }
        x = left << half | right;
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}

/* An entry by its weight. */
static int64_t sampled(const be_agenda *agenda, int64_t stream, int64_t taken) {
    const int64_t first = agenda->sum_rows > 1 ? stream * agenda->count : 0;
    const double *sums = agenda->sums + first;
    const double total = sums[agenda->count - 1];
    const uint64_t bits =
        be_mix64(be_mix64(agenda->key + BE_GAMMA64 * (uint64_t)stream) + BE_GAMMA64 * (uint64_t)taken);
    double x = (double)(bits >> 11) * 0x1p-53 * total;
    if (x >= total) x = nextafter(total, 0); /* by rounding */
    int64_t entry = agenda->guides[first + (int64_t)((be_u128)bits * (uint64_t)agenda->count >> 64)];
    while (sums[entry] <= x) entry++;
    return entry;
}

void be_agenda_guide(const double *sums, int64_t count, int64_t *guides) {
    int64_t entry = 0;
    for (int64_t k = 0; k < count; k++) {
        const double share = (double)k / (double)count - 0x1p-51; /* a little less: rounding never begins too late */
        const double x = share > 0 ? nextafter(sums[count - 1] * share, 0) : 0;
        while (sums[entry] <= x) entry++;
        guides[k] = entry;
    }
}

int64_t be_agenda_item(const be_agenda *agenda, int64_t stream, int64_t taken) {
    if (agenda->order == BE_SAMPLED) return sampled(agenda, stream, taken);
    const int64_t *starts = agenda->starts;
    const int64_t size = starts ? starts[stream + 1] - starts[stream] : agenda->count;
    if (size == 0) return BE_NO_ENTRY;
    int64_t place = starts ? taken : stream + taken * agenda->streams, pass = 0;
    if (place >= size) {
        if (!agenda->repeat) return BE_NO_ENTRY;
        pass = place / size;
        place -= pass * size;
    }
    if (agenda->order == BE_SHUFFLED) {
        const uint64_t list = starts ? (uint64_t)stream + 1 : 0;
        place = shuffled(be_mix64(agenda->key + BE_GAMMA64 * list) + (uint64_t)pass, size, place);
    }
    return starts ? agenda->members[starts[stream] + place] : place;
}

int64_t be_agenda_decide(be_agenda *agenda, int64_t lane) {
    be_agenda_place *place = &agenda->places[lane];
    if (place->next != BE_UNDECIDED) return place->next;
    const int64_t entry = be_agenda_item(agenda, place->stream, place->taken);
    place->taken += entry >= 0;
    return place->next = entry;
}

/* ---- lanes that take it ----------------------------------------------------------------------------- */

static int has_seed(const be_agenda *agenda, int64_t entry) {
    return agenda->rng && (agenda->seeded == NULL || agenda->seeded[entry]);
}

/* Gives a lane the streams of an entry's seed, if it has one. */
static void seed_lane(be_batch *batch, int64_t lane, int64_t entry) {
    const be_agenda *agenda = batch->driver->agenda;
    if (!has_seed(agenda, entry)) return;
    be_random_state *states = be_batch_random_states(batch);
    if (states) {
        const int64_t start = agenda->word_starts[entry];
        be_random_state_seed(&states[lane], agenda->words + start, (size_t)(agenda->word_starts[entry + 1] - start), 0);
    }
    batch->rng[lane] = agenda->rng[entry];
}

static const void *snapshot_of(const be_agenda *agenda, int64_t entry) {
    return agenda->snapshots && entry >= 0 ? agenda->snapshots[entry] : NULL;
}

/* What takes more than a copy. */
static int prepare_lane(be_batch *batch, const be_agenda *agenda, int64_t lane, int64_t entry, be_error *error) {
    int status = BE_OK;
    if (agenda->num_params) {
        const double *values = agenda->values + entry * agenda->num_params;
        status = be_lane_configure(batch, lane, agenda->params, values, agenda->num_params, error);
    }
    if (status == BE_OK && agenda->prepare) status = agenda->prepare(agenda->context, lane, entry, error);
    return status;
}

/* Whether a life was lost, and not the game. */
static int goes_on(be_batch *batch, int64_t lane) { return batch->type->goes_on && batch->type->goes_on(batch, lane); }

static inline void fetch(const be_rng *rng) {
    __builtin_prefetch(rng);
    __builtin_prefetch((const char *)(rng + 1) - 1); /* it may lie on two lines of the cache */
}

void be_agenda_look_ahead(be_batch *batch, const int64_t *lanes, int64_t count) {
    be_agenda *agenda = batch->driver->agenda;
    for (int64_t k = 0; k < count; k++) __builtin_prefetch(&agenda->places[lanes[k]], 1);
    for (int64_t k = 0; k < count; k++) {
        if (goes_on(batch, lanes[k])) continue;
        const int64_t entry = be_agenda_decide(agenda, lanes[k]);
        if (entry >= 0 && agenda->rng) fetch(&agenda->rng[entry]);
    }
}

#define AT_ONCE 32 /* lanes: so many loads from memory are under way together */

static int begin_some(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    be_agenda *agenda = batch->driver->agenda;
    int64_t entries[AT_ONCE];
    for (int64_t k = 0; k < count; k++) {
        be_agenda_place *place = &agenda->places[lanes[k]];
        const int begun = place->next == BE_BEGUN;
        entries[k] = BE_NO_ENTRY;
        if (!begun && goes_on(batch, lanes[k])) continue;
        if (!begun) place->entry = entries[k] = be_agenda_decide(agenda, lanes[k]);
        place->next = BE_UNDECIDED;
        if (entries[k] >= 0 && agenda->rng) fetch(&agenda->rng[entries[k]]);
    }
    for (int64_t k = 0; k < count; k++) {
        if (entries[k] < 0) continue;
        if (has_seed(agenda, entries[k]) && snapshot_of(agenda, entries[k]) == NULL) {
            be_batch_clear_state(batch, lanes[k], lanes[k] + 1);
            seed_lane(batch, lanes[k], entries[k]);
        }
        if (!agenda->num_params && !agenda->prepare) continue;
        be_error own;
        own.status = BE_OK;
        const int status = prepare_lane(batch, agenda, lanes[k], entries[k], &own);
        if (status == BE_OK) continue;
        if (!(batch->type->flags & BE_LANE_BY_LANE)) {
            *error = own;
            return status;
        }
        if (rows) {
            be_lane_fail(batch, lanes[k], rows, &own);
        } else {
            be_note_failure(batch, lanes[k], &own);
        }
    }
    return BE_OK;
}

/* The same where all that entries have is a seed, and all that a seed gives is a stream: a few nanoseconds a lane. */
static void begin_with_seeds(be_batch *batch, const int64_t *lanes, int64_t count) {
    be_agenda *agenda = batch->driver->agenda;
    for (int64_t k = 0; k < count; k++) {
        be_agenda_place *place = &agenda->places[lanes[k]];
        if (place->next != BE_BEGUN) {
            const int64_t entry = place->next == BE_UNDECIDED ? be_agenda_decide(agenda, lanes[k]) : place->next;
            if (entry >= 0) batch->rng[lanes[k]] = agenda->rng[entry];
            place->entry = entry;
        }
        place->next = BE_UNDECIDED;
    }
}

static int is_seeds_only(const be_batch *batch) {
    const be_agenda *agenda = batch->driver->agenda;
    return agenda->rng && !agenda->seeded && !agenda->words && !agenda->snapshots && !agenda->num_params &&
           !agenda->prepare && !batch->type->goes_on && !(batch->flags & BE_SEED_CLEARS);
}

int be_agenda_begin(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    if (is_seeds_only(batch)) {
        begin_with_seeds(batch, lanes, count);
        return BE_OK;
    }
    int status = BE_OK;
    for (int64_t k = 0; k < count && status == BE_OK; k += AT_ONCE) {
        status = begin_some(batch, lanes + k, count - k < AT_ONCE ? count - k : AT_ONCE, rows, error);
    }
    return status;
}

int be_agenda_load(be_batch *batch, int64_t lane) {
    struct be_driver *driver = batch->driver;
    const be_agenda *agenda = driver->agenda;
    const int64_t entry = agenda->places[lane].entry;
    const void *snapshot = snapshot_of(agenda, entry);
    if (snapshot == NULL) return 0;
    be_snapshot_load(batch, snapshot, &agenda->snapshot_rows[entry], &lane, 1);
    seed_lane(batch, lane, entry);
    if (driver->frames) { /* what is observed next will be the newest frame, which it is already */
        const int64_t frames = driver->transform.frame_stack;
        const size_t bytes = driver->observation_bytes / (size_t)frames;
        unsigned char *stack = driver->frames + (size_t)lane * driver->observation_bytes;
        memmove(stack + bytes, stack, (size_t)(frames - 1) * bytes);
    }
    return 1;
}

/* ---- batches ---------------------------------------------------------------------------------------- */

void be_batch_set_agenda(be_batch *batch, be_agenda *agenda, int tells) {
    struct be_driver *driver = batch->driver;
    be_table *outer = &driver->outer;
    if (driver->tells_entries) { /* it was added last */
        outer->count--;
        driver->tells_entries = 0;
    }
    if (agenda && tells) {
        be_table_add(outer, BE_SLOT_EPISODE_ENTRY, BE_ROWS_DRIVER, sizeof(int64_t));
        driver->tells_entries = 1;
    }
    driver->agenda = agenda;
    driver->configured++;
}
