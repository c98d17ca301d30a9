#include "core/run/scattered.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch.h"
#include "core/driver.h"
#include "core/error.h"
#include "core/system/memory.h"
#include "core/queue/ring.h"

/* What each thread has of its own. */
typedef struct part {
    alignas(BE_CACHE_LINE) be_batch *batch;
    uint64_t configured;
    double *columns;  /* params and constants per lane, with room for BE_SCATTERED_LANES values each */
    be_agenda agenda; /* the batch's, with what it knows of these lanes */
    be_agenda_place places[BE_SCATTERED_LANES];
} part;

struct be_scattered {
    int num_parts;
    alignas(BE_CACHE_LINE) part parts[];
};

be_scattered *be_scattered_create(const be_batch *batch, int num_parts, be_error *error) {
    const size_t bytes = sizeof(be_scattered) + (size_t)num_parts * sizeof(part);
    be_scattered *scattered = be_aligned_new(BE_CACHE_LINE, bytes);
    if (scattered == NULL) {
        be_out_of_memory(error);
        return NULL;
    }
    memset(scattered, 0, bytes);
    scattered->num_parts = num_parts;
    const be_batch_options options = {
        .type = batch->type,
        .num_lanes = BE_SCATTERED_LANES,
        .autoreset = batch->driver->autoreset,
        .max_episode_steps = batch->driver->max_episode_steps == INT32_MAX ? 0 : batch->driver->max_episode_steps,
        .grid = batch->grid.cells ? &batch->grid : NULL,
        .transform = &batch->driver->transform,
        .params = batch->params,
        .texts = batch->texts,
    };
    for (int i = 0; i < num_parts; i++) {
        part *own = &scattered->parts[i];
        own->configured = UINT64_MAX;
        own->columns = malloc((BE_MAX_PARAMS + BE_MAX_CONSTANTS) * BE_SCATTERED_LANES * sizeof(double));
        if (own->columns) own->batch = be_batch_create(&options, error);
        if (own->batch) {
            (void)be_batch_seed(own->batch, NULL, 0, 0, BE_SCATTERED_LANES); /* any of them may become padding */
            continue;
        }
        if (own->columns == NULL) be_out_of_memory(error);
        be_scattered_destroy(scattered);
        return NULL;
    }
    return scattered;
}

void be_scattered_destroy(be_scattered *scattered) {
    if (scattered == NULL) return;
    for (int i = 0; i < scattered->num_parts; i++) {
        be_batch_destroy(scattered->parts[i].batch);
        free(scattered->parts[i].columns);
    }
    be_aligned_free(scattered);
}

int be_scattered_num_parts(const be_scattered *scattered) { return scattered->num_parts; }

/* ---- there and back --------------------------------------------------------------------------------- */

static void move_columns(be_batch *batch, be_batch *small, const int64_t *lanes, int n, int back) {
    be_lane_column all[BE_MAX_LANE_COLUMNS], few[BE_MAX_LANE_COLUMNS];
    int count = be_lane_columns(batch, all);
    be_lane_columns(small, few);
    if (batch->driver->episode_start) {
        all[count] = (be_lane_column){batch->driver->episode_start, sizeof(double)};
        few[count++] = (be_lane_column){small->driver->episode_start, sizeof(double)};
    }
#define MOVE(bytes)                                                                                                    \
    for (int k = 0; k < n; k++) {                                                                                      \
        unsigned char *a = (unsigned char *)all[j].data + (size_t)lanes[k] * (bytes);                                  \
        unsigned char *b = (unsigned char *)few[j].data + (size_t)k * (bytes);                                         \
        memcpy(back ? a : b, back ? b : a, bytes);                                                                     \
    }
    for (int j = 0; j < count; j++) {
        switch (all[j].bytes) {
        case 1:
            MOVE(1);
            break;
        case 4:
            MOVE(4);
            break;
        case 8:
            MOVE(8);
            break;
        case sizeof(be_rng):
            MOVE(sizeof(be_rng));
            break;
        default:
            MOVE(all[j].bytes);
        }
    }
#undef MOVE
}

static void gather_columns(be_column *few, const be_column *all, double *values, const int64_t *lanes, int n) {
    if (all->mask == 0) {
        *few = *all;
        return;
    }
    for (int k = 0; k < n; k++) values[k] = all->values[lanes[k]];
    *few = (be_column){values, -1};
}

/* Copies the batch's present params and what follows from them. */
static void configure(const be_batch *batch, part *own, const int64_t *lanes, int n) {
    be_batch *small = own->batch;
    if (own->configured != batch->driver->configured) {
        own->configured = batch->driver->configured;
        small->per_lane = batch->per_lane;
        small->flags = batch->flags;
        memcpy(small->driver->space, batch->driver->space, (size_t)batch->driver->num_ports * sizeof(be_space));
        memcpy(small->params, batch->params, sizeof small->params);
        memcpy(small->constants, batch->constants, sizeof small->constants);
        small->driver->transform = batch->driver->transform;
        be_batch_set_agenda(small, batch->driver->agenda ? &own->agenda : NULL, batch->driver->tells_entries);
    }
    if (!batch->per_lane) return;
    double *values = own->columns;
    for (int j = 0; j < BE_MAX_PARAMS && batch->type->params[j].name; j++, values += BE_SCATTERED_LANES) {
        gather_columns(&small->param_columns[j], &batch->param_columns[j], values, lanes, n);
    }
    values = own->columns + BE_MAX_PARAMS * BE_SCATTERED_LANES;
    for (int j = 0; j < BE_MAX_CONSTANTS; j++, values += BE_SCATTERED_LANES) {
        gather_columns(&small->constant_columns[j], &batch->constant_columns[j], values, lanes, n);
    }
}

/* What an agenda knows of lanes. */
static void move_places(be_batch *batch, part *own, const int64_t *lanes, int n, int back) {
    if (batch->driver->agenda == NULL) return;
    be_agenda_place *all = batch->driver->agenda->places;
    if (back) {
        for (int k = 0; k < n; k++) all[lanes[k]] = own->places[k];
        return;
    }
    own->agenda = *batch->driver->agenda;
    own->agenda.places = own->places;
    for (int k = 0; k < n; k++) own->places[k] = all[lanes[k]];
}

/* Params that the agenda has changed, and what follows from them. */
static void return_columns(be_batch *batch, const be_batch *small, const int64_t *lanes, int n) {
    if (batch->driver->agenda == NULL || batch->driver->agenda->num_params == 0) return;
    for (int j = 0; j < BE_MAX_PARAMS + BE_MAX_CONSTANTS; j++) {
        const int is_param = j < BE_MAX_PARAMS;
        const be_column *all = is_param ? &batch->param_columns[j] : &batch->constant_columns[j - BE_MAX_PARAMS];
        const be_column *few = is_param ? &small->param_columns[j] : &small->constant_columns[j - BE_MAX_PARAMS];
        if (all->values == NULL || all->mask == 0) continue;
        for (int k = 0; k < n; k++) ((double *)all->values)[lanes[k]] = few->values[k];
    }
}

/* Failures of single lanes are told by the batch that the lanes belong to. */
static void move_failures(be_batch *batch, be_batch *small, const int64_t *lanes, int n) {
    for (int k = 0; k < n; k++) {
        if (be_batch_take_failure(small, k)) be_note_failure(batch, lanes[k], be_batch_failure(small, k));
    }
}

int64_t be_scattered_step(be_scattered *scattered, int index, const be_isa *isa, be_batch *batch, const int64_t *lanes,
                          int n, const be_rows *rows, be_error *error) {
    part *own = &scattered->parts[index];
    be_rows from_0 = *rows;
    from_0.first = 0;
    configure(batch, own, lanes, n);
    move_columns(batch, own->batch, lanes, n, 0);
    move_places(batch, own, lanes, n, 0);
    own->batch->num_lanes = n; /* the last lanes of a batch may be fewer than a block */
    const int64_t finished = isa->step(own->batch, 0, n, &from_0, error);
    move_columns(batch, own->batch, lanes, n, 1);
    move_places(batch, own, lanes, n, 1);
    return_columns(batch, own->batch, lanes, n);
    if (be_lanes_may_fail(batch->type)) move_failures(batch, own->batch, lanes, n);
    return finished;
}

/* ---- lists of lanes --------------------------------------------------------------------------------- */

int64_t be_lanes_check(const int64_t *lanes, int64_t count, int64_t num_lanes, const uint8_t *taken, uint8_t *seen,
                       int *what) {
    int64_t bad = -1;
    for (int64_t k = 0; k < count && bad < 0; k++) {
        const int64_t lane = lanes[k];
        if (lane < 0 || lane >= num_lanes) {
            *what = BE_LANE_RANGE;
            bad = k;
        } else if ((taken && taken[lane]) || seen[lane]) {
            *what = taken && taken[lane] ? BE_LANE_TAKEN : BE_LANE_TWICE;
            bad = k;
        } else {
            seen[lane] = 1;
        }
    }
    for (int64_t j = 0; j < (bad < 0 ? count : bad); j++) seen[lanes[j]] = 0;
    return bad;
}

int64_t be_lanes_run(const be_batch *batch, const int64_t *lanes, int64_t count, int64_t most) {
    if (batch->type->flags & BE_LANE_BY_LANE || lanes[0] % 64) return 0;
    if (count > most) count = most;
    int64_t n = 1;
    while (n < count && lanes[n] == lanes[0] + n) n++;
    return lanes[0] + n == batch->num_lanes ? n : n / 64 * 64;
}
