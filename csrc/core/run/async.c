#include "core/run/async.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch.h"
#include "core/driver.h"
#include "core/error.h"
#include "core/math/fp.h"
#include "core/system/memory.h"
#include "core/run/plan.h"
#include "core/run/scattered.h"

#define CHUNK BE_SCATTERED_LANES /* the most lanes in an item */
#define ENGINE_CHUNK 16          /* the same for types that are stepped one lane per call */
#define ITEM_NS 20e3             /* an item should take about this long */
#define NOW_NS 30e3              /* the caller does work up to this long itself, since waking a worker takes as long */
#define OUTLIER 4
#define TIME_EVERY 4 /* one step in so many is timed: for single lanes, reading the clock costs a good part of it */
#define HELP_NS 50e3 /* the caller helps with items up to this long */

enum { STEP_LISTED, STEP_RANGE, RESET_LISTED }; /* an item's tag */

/* Each worker's own memory: rows for a chunk. */
typedef struct scratch {
    alignas(BE_CACHE_LINE) unsigned turn;
    be_rows out; /* also holds the actions of scattered lanes */
    unsigned char *memory;
} scratch;

struct be_async {
    be_batch *batch;
    const be_isa *isa;
    int64_t batch_rows;
    int num_buffers, num_scratch, by_lane, ordered;
    int64_t most;                  /* lanes in an item: for so many there is room in `scratch` */
    const be_placement *placement; /* or NULL */
    be_pool *pool;
    be_table table;
    be_rows *buffers;
    scratch *scratch;
    be_scattered *scattered; /* one part per worker; NULL for BE_LANE_BY_LANE */
    uint8_t *in_flight;      /* per lane */
    int32_t *next;           /* per lane: the next lane of its item */
    be_rows actions;         /* per lane */
    unsigned char *action_memory;
    be_item *items;
    uint8_t *seen; /* per lane: scratch memory of be_async_check */
    double options[BE_MAX_OPTIONS];
    const double *chosen_options;
    uint64_t configured;                           /* the params for which lane_ns was measured */
    alignas(BE_CACHE_LINE) _Atomic double lane_ns; /* on another cache line than what workers read all the time */
};

/* ---- rows ------------------------------------------------------------------------------------------- */

/* Points `rows` at the actions from lane `lane` on. */
static void point_actions(const be_async *async, be_rows *rows, int64_t lane) {
    BE_ARRAYS(array, &async->table, BE_ROWS_ACTION) {
        rows->slot[array->slot] = (unsigned char *)async->actions.slot[array->slot] + (size_t)lane * array->bytes;
    }
}

/* Copies the actions of the lanes listed to rows 0, 1, ... of `rows` or, with `back`, from there. */
static void move_actions(const be_async *async, const be_rows *rows, const int64_t *lanes, int64_t n, int back) {
    BE_ARRAYS(array, &async->table, BE_ROWS_ACTION) {
        unsigned char *all = async->actions.slot[array->slot], *few = rows->slot[array->slot];
        for (int64_t k = 0; k < n; k++) {
            unsigned char *lane = all + (size_t)lanes[k] * array->bytes, *row = few + (size_t)k * array->bytes;
            memcpy(back ? lane : row, back ? row : lane, array->bytes);
        }
    }
}

static int step_listed(be_async *async, int worker, const int64_t *lanes, int n, be_error *error) {
    const be_rows *rows = &async->scratch[worker].out;
    move_actions(async, rows, lanes, n, 0);
    const int64_t finished =
        be_scattered_step(async->scattered, worker, async->isa, async->batch, lanes, n, rows, error);
    return finished < 0 ? (int)error->status : BE_OK;
}

/* ---- items ------------------------------------------------------------------------------------------ */

/* Steps n neighbouring lanes from `lane` on, whose results go to `out` from row `row` on. */
static int step_range(be_async *async, const be_rows *out, int64_t row, int64_t lane, int64_t n, be_error *error) {
    be_rows rows;
    be_rows_slice(&async->table, &rows, out, row);
    rows.first = lane;
    point_actions(async, &rows, lane);
    return async->isa->step(async->batch, lane, lane + n, &rows, error) < 0 ? (int)error->status : BE_OK;
}

static int reset_one(be_async *async, const be_rows *out, int64_t row, int64_t lane, be_error *error) {
    be_rows rows;
    be_rows_slice(&async->table, &rows, out, row);
    rows.first = lane;
    return be_batch_reset(async->batch, lane, lane + 1, NULL, async->chosen_options, &rows, error);
}

static void work_in_mode(be_async *async, const be_item *item, int worker) {
    scratch *own = &async->scratch[worker];
    const int n = item->count;
    const double old = atomic_load_explicit(&async->lane_ns, memory_order_relaxed);
    const int timed = item->tag != RESET_LISTED && (old == 0 || own->turn++ % TIME_EVERY == 0);
    const double start = timed ? be_now_ns() : 0;
    int64_t *lanes = own->out.lane;
    for (int64_t k = 0, lane = item->first; k < n; k++) {
        lanes[k] = lane;
        lane = item->tag == STEP_RANGE ? lane + 1 : async->next[lane];
    }
    be_error error = {0};
    int status = BE_OK;
    if (item->tag == STEP_RANGE) {
        status = step_range(async, &own->out, 0, item->first, n, &error);
    } else if (item->tag == STEP_LISTED && !async->by_lane) {
        status = step_listed(async, worker, lanes, n, &error);
    } else if (item->tag == STEP_LISTED) {
        be_step_ahead(async->batch, lanes, NULL, NULL, n, &async->actions);
    }
    for (int k = 0; item->tag != STEP_RANGE && k < n; k++) {
        if (item->tag == RESET_LISTED) {
            status |= reset_one(async, &own->out, k, lanes[k], &error);
        } else if (async->by_lane) {
            status |= step_range(async, &own->out, k, lanes[k], 1, &error);
        }
    }
    for (int k = 0; k < n; k++) {
        own->out.failed[k] = status != BE_OK || be_batch_take_failure(async->batch, lanes[k]);
    }
    if (!timed) return;
    /* An estimate of what the next steps cost. Other workers write it, too; anybody's value will do. A step during
     * which the thread lost its CPU for a while says little, so outliers are cut. */
    double ns = (be_now_ns() - start) / n;
    if (old > 0 && ns > OUTLIER * old) ns = OUTLIER * old;
    const double guess = old == 0 ? ns : old + (ns - old) * (1.0 / 8);
    atomic_store_explicit(&async->lane_ns, guess, memory_order_relaxed);
}

static void work(void *context, const be_item *item, int worker) {
    const be_fp before = be_fp_enter();
    work_in_mode(context, item, worker);
    be_fp_leave(&before);
}

static void deliver(void *context, const be_item *item, int64_t offset, const be_stretch *rows, int worker) {
    (void)item;
    be_async *async = context;
    const be_rows *out = &async->scratch[worker].out, *to = &async->buffers[rows->buffer];
    if (!async->ordered) {
        be_rows_copy(&async->table, BE_ROWS_OUT, to, rows->row, out, offset, rows->count);
        return;
    }
    for (int64_t k = offset; k < offset + rows->count;) {
        int64_t n = 1;
        while (k + n < offset + rows->count && out->lane[k + n] == out->lane[k] + n) n++;
        be_rows_copy(&async->table, BE_ROWS_OUT, to, out->lane[k], out, k, n);
        k += n;
    }
}

/* ---- life ------------------------------------------------------------------------------------------- */

static int make_scratch(be_async *async, scratch *own, be_error *error) {
    const size_t chunk = (size_t)async->most;
    const size_t rows = be_rows_lay_out(&async->table, BE_ROWS_ALL, &own->out, chunk, NULL);
    own->memory = be_aligned_new(64, rows);
    if (own->memory == NULL) return be_out_of_memory(error);
    memset(own->memory, 0, rows);
    be_rows_lay_out(&async->table, BE_ROWS_ALL, &own->out, chunk, own->memory);
    return BE_OK;
}

/* Allocates memory on cache lines of its own. */
static void *zeroed(size_t bytes) {
    bytes = (bytes + BE_CACHE_LINE - 1) / BE_CACHE_LINE * BE_CACHE_LINE;
    void *memory = be_aligned_new(BE_CACHE_LINE, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

/* Allocates all that does not need the workers. */
static int allocate(be_async *async, be_error *error) {
    const be_batch *batch = async->batch;
    const size_t n = (size_t)batch->num_lanes, padded = n + BE_LANE_BLOCK;
    async->buffers = calloc((size_t)async->num_buffers, sizeof *async->buffers);
    async->scratch = zeroed((size_t)async->num_scratch * sizeof *async->scratch);
    async->in_flight = calloc(n, 1);
    async->seen = calloc(n, 1);
    async->next = calloc(n, sizeof *async->next);
    async->items = calloc(n, sizeof *async->items);
    async->table = *be_batch_table(batch);
    be_table_add(&async->table, BE_SLOT_LANE, BE_ROWS_DRIVER, sizeof(int64_t));
    be_table_add(&async->table, BE_SLOT_FAILED, BE_ROWS_DRIVER, 1);
    async->action_memory = zeroed(be_rows_lay_out(&async->table, BE_ROWS_ACTION, &async->actions, padded, NULL));
    if (!async->buffers || !async->scratch || !async->in_flight || !async->seen || !async->next || !async->items ||
        !async->action_memory) {
        return be_out_of_memory(error);
    }
    be_rows_lay_out(&async->table, BE_ROWS_ACTION, &async->actions, padded, async->action_memory);
    for (int i = 0; i < async->num_scratch; i++) {
        if (make_scratch(async, &async->scratch[i], error) != BE_OK) return (int)error->status;
    }
    if (async->by_lane) return BE_OK;
    async->scattered = be_scattered_create(batch, async->num_scratch, error);
    return async->scattered ? BE_OK : (int)error->status;
}

be_async *be_async_create(be_batch *batch, const be_isa *isa, int64_t batch_rows, int num_workers, const int *cpus,
                          int num_cpus, be_error *error) {
    be_async *async = zeroed(sizeof *async);
    if (async == NULL) {
        be_out_of_memory(error);
        return NULL;
    }
    async->batch = batch;
    async->isa = isa;
    async->batch_rows = batch_rows;
    async->by_lane = (batch->type->flags & BE_LANE_BY_LANE) != 0;
    async->most = async->by_lane ? ENGINE_CHUNK : CHUNK;
    if (batch->driver->ahead && async->most < batch->driver->together) async->most = batch->driver->together;
    if (async->most > CHUNK) async->most = CHUNK;
    async->ordered = batch_rows == batch->num_lanes;
    async->placement = cpus ? NULL : be_batch_placement(batch);
    async->num_buffers = (int)((batch->num_lanes + batch_rows - 1) / batch_rows) + 1;
    async->num_scratch = num_workers + 1;
    const be_pool_options options = {
        .num_workers = num_workers,
        .cpus = cpus,
        .num_cpus = num_cpus,
        .placement = async->placement,
        .batch_rows = batch_rows,
        .batches = async->num_buffers,
        .max_items = batch->num_lanes,
        .context = async,
        .work = work,
        .deliver = deliver,
    };
    if (allocate(async, error) == BE_OK) {
        char message[256];
        async->pool = be_pool_create(&options, message, sizeof message);
        if (async->pool) return async;
        be_fail(error, BE_ERROR_ENGINE, -1, "cannot start %d workers: %s", num_workers, message);
    }
    be_async_destroy(async);
    return NULL;
}

void be_async_destroy(be_async *async) {
    if (async == NULL) return;
    be_pool_destroy(async->pool, 0);
    for (int i = 0; async->scratch && i < async->num_scratch; i++) {
        be_aligned_free(async->scratch[i].memory);
    }
    be_scattered_destroy(async->scattered);
    free(async->buffers);
    be_aligned_free(async->scratch);
    free(async->in_flight);
    free(async->seen);
    free(async->next);
    free(async->items);
    free(async->action_memory);
    be_aligned_free(async);
}

int be_async_num_buffers(const be_async *async) { return async->num_buffers; }

void be_async_set_buffer(be_async *async, int buffer, const be_rows *results) { async->buffers[buffer] = *results; }

const be_table *be_async_table(const be_async *async) { return &async->table; }

/* ---- submitting and receiving ----------------------------------------------------------------------- */

int64_t be_async_check(be_async *async, const int64_t *lanes, int64_t count, int *what) {
    return be_lanes_check(lanes, count, async->batch->num_lanes, async->in_flight, async->seen, what);
}

/* Puts checked lanes into items of at most `most` lanes; returns how many. */
static int64_t make_items(be_async *async, const int64_t *lanes, int64_t count, int reset, int64_t most) {
    int64_t num_items = 0;
    for (int64_t k = 0; k < count;) {
        int64_t n = reset ? 0 : be_lanes_run(async->batch, lanes + k, count - k, most);
        const uint32_t tag = n ? STEP_RANGE : reset ? RESET_LISTED : STEP_LISTED;
        if (n == 0) {
            n = count - k < most ? count - k : most;
            for (int64_t j = k; j < k + n - 1; j++) async->next[lanes[j]] = (int32_t)lanes[j + 1];
        }
        async->items[num_items++] = (be_item){lanes[k], (int32_t)n, tag};
        k += n;
    }
    return num_items;
}

/* The same, but all lanes of an item are in the same block. Each block has one item that is being filled. */
static int64_t make_items_by_block(be_async *async, const int64_t *lanes, int64_t count, int reset, int64_t most) {
    be_item *filling[BE_MAX_NODES] = {0};
    int64_t last[BE_MAX_NODES], num_items = 0;
    for (int64_t k = 0; k < count;) {
        const int block = be_block_of_lane(async->placement, lanes[k]);
        const int64_t left =
            async->placement->blocks[block].end_lane - lanes[k]; /* for kernels a multiple of 64, or up to the end */
        int64_t n = reset ? 0 : be_lanes_run(async->batch, lanes + k, count - k, most);
        if (n > 0) {
            n = n < left ? n : left;
            async->items[num_items++] = (be_item){lanes[k], (int32_t)n, STEP_RANGE};
            k += n;
            continue;
        }
        if (filling[block] && filling[block]->count < most) {
            async->next[last[block]] = (int32_t)lanes[k];
            filling[block]->count++;
        } else {
            filling[block] = &async->items[num_items++];
            *filling[block] = (be_item){lanes[k], 1, reset ? RESET_LISTED : STEP_LISTED};
        }
        last[block] = lanes[k++];
    }
    return num_items;
}

be_pool_status be_async_submit(be_async *async, const int64_t *lanes, int64_t count, const be_rows *actions,
                               const double *options) {
    if (async->by_lane && async->configured != async->batch->driver->configured) {
        async->configured = async->batch->driver->configured;
        atomic_store_explicit(&async->lane_ns, 0, memory_order_relaxed);
    }
    const double lane_ns = atomic_load_explicit(&async->lane_ns, memory_order_relaxed);
    int64_t most = async->by_lane ? ENGINE_CHUNK : CHUNK;
    if (async->by_lane && lane_ns * (double)most > ITEM_NS) {
        most = lane_ns > 0 ? (int64_t)(ITEM_NS / lane_ns) : 1;
        if (most < 1) most = 1;
    }
    if (async->by_lane && lane_ns == 0) most = 1; /* the cost is not known yet */
    if (async->batch->driver->ahead) {
        const int64_t share = (count + be_async_num_workers(async) - 1) / be_async_num_workers(async);
        const int64_t together = async->batch->driver->together;
        if (most < together) most = share < together ? share : together;
        if (most > async->most) most = async->most;
    }
    if (actions == NULL) {
        if (options) memcpy(async->options, options, sizeof async->options);
        async->chosen_options = options ? async->options : async->batch->driver->default_options;
        if (async->by_lane) most = 1;
    }
    const int64_t num_items = async->placement ? make_items_by_block(async, lanes, count, actions == NULL, most)
                                               : make_items(async, lanes, count, actions == NULL, most);
    if (actions) move_actions(async, actions, lanes, count, 1);
    for (int64_t k = 0; k < count; k++) async->in_flight[lanes[k]] = 1;
    const int now = actions && (lane_ns > 0 || !async->by_lane) && lane_ns * (double)count < NOW_NS;
    be_pool_status status = be_pool_submit(async->pool, async->items, num_items, now ? BE_POOL_NOW : 0);
    if (status != BE_POOL_OK) {
        for (int64_t k = 0; k < count; k++) async->in_flight[lanes[k]] = 0;
    }
    return status;
}

/* The caller helps if that is quicker than waiting for a worker. At first the cost of an engine's lane is unknown: then
 * it does not help. */
static unsigned helping(const be_async *async) {
    const double lane_ns = atomic_load_explicit(&async->lane_ns, memory_order_relaxed);
    if (async->by_lane && lane_ns == 0) return 0;
    const double item_ns = lane_ns * (async->by_lane ? 1 : CHUNK);
    return item_ns < HELP_NS ? BE_POOL_HELP : 0;
}

be_pool_status be_async_recv(be_async *async, int64_t timeout, int *buffer) {
    be_stretch rows;
    be_pool_status status = be_pool_recv(async->pool, timeout, helping(async), &rows);
    if (status != BE_POOL_OK) return status;
    *buffer = rows.buffer;
    const int64_t *lanes = async->buffers[rows.buffer].lane;
    for (int64_t k = 0; k < rows.count; k++) async->in_flight[lanes[k]] = 0;
    return be_pool_release(async->pool);
}

be_pool_status be_async_finish(be_async *async, int64_t timeout) {
    return be_pool_finish(async->pool, timeout, helping(async));
}

be_pool_status be_async_clear(be_async *async) {
    be_pool_status status = be_pool_clear(async->pool);
    if (status == BE_POOL_OK) memset(async->in_flight, 0, (size_t)async->batch->num_lanes);
    return status;
}

int64_t be_async_in_flight(const be_async *async) { return be_pool_in_flight(async->pool); }

int64_t be_async_list_in_flight(const be_async *async, const uint8_t *mask, int64_t *lanes, int64_t room) {
    int64_t count = 0;
    if (be_async_in_flight(async) == 0) return 0;
    for (int64_t i = 0; i < async->batch->num_lanes; i++) {
        if (!async->in_flight[i] || (mask && !mask[i])) continue;
        if (count < room) lanes[count] = i;
        count++;
    }
    return count;
}

int be_async_num_workers(const be_async *async) { return be_pool_num_workers(async->pool); }

int be_async_eventfd(be_async *async) { return be_pool_eventfd(async->pool); }
