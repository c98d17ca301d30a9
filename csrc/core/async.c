#include "core/async.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fp.h"
#include "core/plan.h"

#define CHUNK 256       /* lanes in an item at most */
#define ENGINE_CHUNK 16 /* of types that take one lane a call */
#define ITEM_NS 20e3    /* an item should take about this long */
#define NOW_NS 30e3     /* what takes no longer than this is done by the caller: waking a worker costs as much */
#define OUTLIER 4
#define TIME_EVERY 4 /* steps of which one is timed: for single lanes the clock is a good part of an item */
#define HELP_NS 50e3 /* the caller works on items of up to this */

enum { STEP_LISTED, STEP_RANGE, RESET_LISTED }; /* an item's tag */

/* What a worker has for itself: rows for a chunk, and for kernels a batch of a chunk's lanes. */
typedef struct scratch {
    alignas(BE_CACHE_LINE) be_batch *batch; /* NULL for BE_LANE_BY_LANE */
    uint64_t configured;
    unsigned turn;
    double *columns; /* params and constants by lane, CHUNK each */
    be_results out;
    void *action;
    unsigned char *memory;
} scratch;

struct be_async {
    be_batch *batch;
    const be_isa *isa;
    int64_t batch_rows;
    int num_buffers, num_scratch, by_lane, ordered;
    const be_placement *placement; /* or NULL */
    be_pool *pool;
    be_results *buffers;
    scratch *scratch;
    uint8_t *in_flight;    /* by lane */
    int32_t *next;         /* by lane: the one after it in its item */
    unsigned char *action; /* by lane */
    be_item *items;
    uint8_t *seen; /* by lane: scratch of be_async_check */
    double options[BE_MAX_PARAMS];
    const double *chosen_options;
    uint64_t configured;                           /* lane_ns is of these params */
    alignas(BE_CACHE_LINE) _Atomic double lane_ns; /* apart from what workers read all the time */
};

/* ---- rows ------------------------------------------------------------------------------------------- */

static int num_episode_arrays(const be_batch *batch) { return batch->driver->transform.record_statistics ? 3 : 0; }

/* Every array of `to` and `from` with the bytes of a row, one after the other: f(to, from, bytes). */
#define EACH_ARRAY(batch, f)                                                                                           \
    do {                                                                                                               \
        const struct be_driver *d_ = (batch)->driver;                                                                  \
        f(rows.observation, d_->observation_bytes);                                                                    \
        f(rows.reward, sizeof(double));                                                                                \
        f(rows.terminated, 1);                                                                                         \
        f(rows.truncated, 1);                                                                                          \
        f(rows.started, 1);                                                                                            \
        for (int j_ = 0; j_ < d_->num_info; j_++) f(rows.info[j_], d_->info_bytes[j_]);                                \
        if (d_->autoreset == BE_SAME_STEP) {                                                                           \
            f(rows.final_observation, d_->observation_bytes);                                                          \
            for (int j_ = 0; j_ < d_->num_info; j_++) f(rows.final_info[j_], d_->info_bytes[j_]);                      \
        }                                                                                                              \
        if (num_episode_arrays(batch)) {                                                                               \
            f(rows.episode_return, sizeof(double));                                                                    \
            f(rows.episode_seconds, sizeof(double));                                                                   \
            f(rows.episode_length, sizeof(int64_t));                                                                   \
        }                                                                                                              \
        f(lanes, sizeof(int64_t));                                                                                     \
        f(failed, 1);                                                                                                  \
    } while (0)

static size_t lay_out(const be_batch *batch, be_results *results, size_t count, unsigned char *base) {
    size_t offset = 0;
#define PLACE(array, bytes)                                                                                            \
    do {                                                                                                               \
        if (base) results->array = (void *)(base + offset);                                                            \
        offset += (count * (bytes) + 63) / 64 * 64;                                                                    \
    } while (0)
    EACH_ARRAY(batch, PLACE);
#undef PLACE
    return offset;
}

static inline void copy_rows(void *to, const void *from, int64_t to_row, int64_t from_row, int64_t n, size_t bytes) {
    unsigned char *target = (unsigned char *)to + (size_t)to_row * bytes;
    const unsigned char *source = (const unsigned char *)from + (size_t)from_row * bytes;
    if (n == 1 && bytes == 8) {
        memcpy(target, source, 8);
    } else if (n == 1 && bytes == 1) {
        *target = *source;
    } else {
        memcpy(target, source, (size_t)n * bytes);
    }
}

static void copy_results(const be_batch *batch, const be_results *to, int64_t to_row, const be_results *from,
                         int64_t from_row, int64_t n) {
#define COPY(array, bytes) copy_rows((void *)to->array, (const void *)from->array, to_row, from_row, n, bytes)
    EACH_ARRAY(batch, COPY);
#undef COPY
}

/* `results` from row `row` on. */
static be_arrays arrays_from(const be_batch *batch, const be_results *results, int64_t row) {
    be_results moved = *results;
#define MOVE(array, bytes) moved.array = (void *)((unsigned char *)moved.array + (size_t)row * (bytes))
    EACH_ARRAY(batch, MOVE);
#undef MOVE
    return moved.rows;
}

/* ---- scattered lanes of a kernel -------------------------------------------------------------------- */

/* The lanes' columns go into a small batch, are stepped there, and go back: kernels want neighbours. */
static void move_columns(be_batch *batch, be_batch *small, const int32_t *lanes, int n, int back) {
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

static void gather_columns(be_column *few, const be_column *all, double *values, const int32_t *lanes, int n) {
    if (all->mask == 0) {
        *few = *all;
        return;
    }
    for (int k = 0; k < n; k++) values[k] = all->values[lanes[k]];
    *few = (be_column){values, -1};
}

/* Params and what follows from them, as the batch has them now. */
static void configure(const be_batch *batch, scratch *own, const int32_t *lanes, int n) {
    be_batch *small = own->batch;
    if (own->configured != batch->driver->configured) {
        own->configured = batch->driver->configured;
        small->per_lane = batch->per_lane;
        small->flags = batch->flags;
        small->observation_space = batch->observation_space;
        small->action_space = batch->action_space;
        memcpy(small->params, batch->params, sizeof small->params);
        memcpy(small->constants, batch->constants, sizeof small->constants);
        small->driver->transform = batch->driver->transform;
    }
    if (!batch->per_lane) return;
    double *values = own->columns;
    for (int j = 0; j < BE_MAX_PARAMS && batch->type->params[j].name; j++, values += CHUNK) {
        gather_columns(&small->param_columns[j], &batch->param_columns[j], values, lanes, n);
    }
    values = own->columns + BE_MAX_PARAMS * CHUNK;
    for (int j = 0; j < BE_MAX_CONSTANTS; j++, values += CHUNK) {
        gather_columns(&small->constant_columns[j], &batch->constant_columns[j], values, lanes, n);
    }
}

static int step_scattered(be_async *async, scratch *own, const int32_t *lanes, int n, be_error *error) {
    const size_t bytes = async->batch->driver->action_bytes;
    configure(async->batch, own, lanes, n);
    move_columns(async->batch, own->batch, lanes, n, 0);
    unsigned char *action = own->action;
    for (int k = 0; k < n; k++) memcpy(action + (size_t)k * bytes, async->action + (size_t)lanes[k] * bytes, bytes);
    be_arrays rows = own->out.rows;
    rows.action = action;
    own->batch->num_lanes = n; /* the last lanes of a batch may be fewer than a block */
    int status = async->isa->step_rows(own->batch, 0, n, &rows, error) < 0 ? (int)error->status : BE_OK;
    move_columns(async->batch, own->batch, lanes, n, 1);
    return status;
}

/* ---- items ------------------------------------------------------------------------------------------ */

static void lose(be_async *async, const be_results *out, int64_t k, int64_t lane, const be_error *error) {
    const struct be_driver *driver = async->batch->driver;
    be_lane_failed(async->batch, lane, error);
    memset((unsigned char *)out->rows.observation + (size_t)k * driver->observation_bytes, 0,
           driver->observation_bytes);
    for (int j = 0; j < driver->num_info; j++) {
        memset((unsigned char *)out->rows.info[j] + (size_t)k * driver->info_bytes[j], 0, driver->info_bytes[j]);
    }
    out->rows.truncated[k] = driver->pending[lane] = 1;
}

static void reset_one(be_async *async, const be_results *out, int64_t k, int64_t lane) {
    be_arrays rows = arrays_from(async->batch, out, k);
    be_error error;
    *rows.reward = 0;
    *rows.terminated = *rows.truncated = 0;
    *rows.started = 1;
    if (num_episode_arrays(async->batch)) {
        *rows.episode_return = *rows.episode_seconds = 0;
        *rows.episode_length = 0;
    }
    if (be_batch_reset_lane(async->batch, lane, async->chosen_options, &rows, &error) != BE_OK) {
        lose(async, out, k, lane, &error);
    }
}

static void step_one(be_async *async, const be_results *out, int64_t k, int64_t lane) {
    be_arrays rows = arrays_from(async->batch, out, k);
    be_error error;
    rows.action = async->action + (size_t)lane * async->batch->driver->action_bytes;
    if (async->isa->step_rows(async->batch, lane, 1, &rows, &error) < 0) lose(async, out, k, lane, &error);
}

static void work_in_mode(be_async *async, const be_item *item, int worker) {
    scratch *own = &async->scratch[worker];
    const int n = item->count;
    const double old = atomic_load_explicit(&async->lane_ns, memory_order_relaxed);
    const int timed = item->tag != RESET_LISTED && (old == 0 || own->turn++ % TIME_EVERY == 0);
    const double start = timed ? be_now_ns() : 0;
    int32_t lanes[CHUNK];
    for (int k = 0, lane = (int)item->first; k < n; k++) {
        lanes[k] = lane;
        own->out.lanes[k] = lane;
        own->out.failed[k] = 0;
        lane = item->tag == STEP_RANGE ? lane + 1 : async->next[lane];
    }
    be_error error = {0};
    if (item->tag == RESET_LISTED) {
        for (int k = 0; k < n; k++) reset_one(async, &own->out, k, lanes[k]);
    } else if (async->by_lane) {
        for (int k = 0; k < n; k++) step_one(async, &own->out, k, lanes[k]);
    } else {
        int status;
        if (item->tag == STEP_RANGE) {
            be_arrays rows = own->out.rows;
            rows.action = async->action + (size_t)item->first * async->batch->driver->action_bytes;
            status = async->isa->step_rows(async->batch, item->first, n, &rows, &error) < 0 ? (int)error.status : BE_OK;
        } else {
            status = step_scattered(async, own, lanes, n, &error);
        }
        for (int k = 0; status != BE_OK && k < n; k++) own->out.failed[k] = 1;
    }
    if (async->by_lane) {
        for (int k = 0; k < n; k++) own->out.failed[k] = (uint8_t)be_batch_take_failure(async->batch, lanes[k]);
    }
    if (!timed) return;
    /* A guess at the next steps' cost: other workers write it too, and any of them will do. A step in which the thread
     * lost its CPU for a while says little. */
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

static void deliver(void *context, const be_item *item, int64_t offset, const be_rows *rows, int worker) {
    (void)item;
    be_async *async = context;
    const be_results *out = &async->scratch[worker].out;
    const be_results *to = &async->buffers[rows->buffer];
    if (!async->ordered) {
        copy_results(async->batch, to, rows->row, out, offset, rows->count);
        return;
    }
    for (int64_t k = offset; k < offset + rows->count;) {
        int64_t n = 1;
        while (k + n < offset + rows->count && out->lanes[k + n] == out->lanes[k] + n) n++;
        copy_results(async->batch, to, out->lanes[k], out, k, n);
        k += n;
    }
}

/* ---- life ------------------------------------------------------------------------------------------- */

static int make_scratch(be_async *async, scratch *own, be_error *error) {
    const be_batch *batch = async->batch;
    const size_t chunk = async->by_lane ? ENGINE_CHUNK : CHUNK;
    const size_t columns = async->by_lane ? 0 : (BE_MAX_PARAMS + BE_MAX_CONSTANTS) * CHUNK * sizeof(double);
    const size_t actions = (chunk * batch->driver->action_bytes + 63) / 64 * 64;
    const size_t rows = lay_out(batch, &own->out, chunk, NULL);
    own->memory = aligned_alloc(64, rows + actions + columns);
    if (own->memory == NULL) return be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
    memset(own->memory, 0, rows + actions + columns);
    lay_out(batch, &own->out, chunk, own->memory);
    own->action = own->memory + rows;
    own->columns = (double *)(own->memory + rows + actions);
    own->configured = UINT64_MAX;
    if (async->by_lane) return BE_OK;
    const be_batch_options options = {
        .type = batch->type,
        .num_lanes = CHUNK,
        .autoreset = batch->driver->autoreset,
        .max_episode_steps = batch->driver->max_episode_steps == INT32_MAX ? 0 : batch->driver->max_episode_steps,
        .grid = batch->grid.cells ? &batch->grid : NULL,
        .transform = &batch->driver->transform,
    };
    own->batch = be_batch_create(&options, error);
    return own->batch ? BE_OK : (int)error->status;
}

/* On cache lines of its own. */
static void *zeroed(size_t bytes) {
    bytes = (bytes + BE_CACHE_LINE - 1) / BE_CACHE_LINE * BE_CACHE_LINE;
    void *memory = aligned_alloc(BE_CACHE_LINE, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

be_async *be_async_create(be_batch *batch, const be_isa *isa, int64_t batch_rows, int num_workers, const int *cpus,
                          int num_cpus, be_error *error) {
    const size_t n = (size_t)batch->num_lanes;
    be_async *async = zeroed(sizeof *async);
    if (async == NULL) {
        be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
        return NULL;
    }
    async->batch = batch;
    async->isa = isa;
    async->batch_rows = batch_rows;
    async->by_lane = (batch->type->flags & BE_LANE_BY_LANE) != 0;
    async->ordered = batch_rows == batch->num_lanes;
    async->placement = cpus ? NULL : be_batch_placement(batch);
    async->num_buffers = (int)((batch->num_lanes + batch_rows - 1) / batch_rows) + 1;
    async->num_scratch = num_workers + 1;
    async->buffers = calloc((size_t)async->num_buffers, sizeof *async->buffers);
    async->scratch = zeroed((size_t)async->num_scratch * sizeof *async->scratch);
    async->in_flight = calloc(n, 1);
    async->seen = calloc(n, 1);
    async->next = calloc(n, sizeof *async->next);
    async->items = calloc(n, sizeof *async->items);
    async->action = calloc((n + BE_LANE_BLOCK) * batch->driver->action_bytes, 1);
    if (!async->buffers || !async->scratch || !async->in_flight || !async->seen || !async->next || !async->items ||
        !async->action) {
        be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
        be_async_destroy(async);
        return NULL;
    }
    for (int i = 0; i < async->num_scratch; i++) {
        if (make_scratch(async, &async->scratch[i], error) != BE_OK) {
            be_async_destroy(async);
            return NULL;
        }
    }
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
    char message[256];
    async->pool = be_pool_create(&options, message, sizeof message);
    if (async->pool == NULL) {
        be_fail(error, BE_ERROR_ENGINE, -1, "cannot start %d workers: %s", num_workers, message);
        be_async_destroy(async);
        return NULL;
    }
    return async;
}

void be_async_destroy(be_async *async) {
    if (async == NULL) return;
    be_pool_destroy(async->pool, 0);
    for (int i = 0; async->scratch && i < async->num_scratch; i++) {
        be_batch_destroy(async->scratch[i].batch);
        free(async->scratch[i].memory);
    }
    free(async->buffers);
    free(async->scratch);
    free(async->in_flight);
    free(async->seen);
    free(async->next);
    free(async->items);
    free(async->action);
    free(async);
}

int be_async_num_buffers(const be_async *async) { return async->num_buffers; }

void be_async_set_buffer(be_async *async, int buffer, const be_results *results) { async->buffers[buffer] = *results; }

/* ---- submitting and receiving ----------------------------------------------------------------------- */

int64_t be_async_check(be_async *async, const int64_t *lanes, int64_t count, int *what) {
    int64_t bad = -1, k = 0;
    for (; k < count && bad < 0; k++) {
        const int64_t lane = lanes[k];
        if (lane < 0 || lane >= async->batch->num_lanes) {
            *what = BE_ASYNC_RANGE;
            bad = k;
        } else if (async->in_flight[lane] || async->seen[lane]) {
            *what = async->in_flight[lane] ? BE_ASYNC_IN_FLIGHT : BE_ASYNC_TWICE;
            bad = k;
        } else {
            async->seen[lane] = 1;
        }
    }
    for (int64_t j = 0; j < (bad < 0 ? count : bad); j++) async->seen[lanes[j]] = 0;
    return bad;
}

/* How many of the lanes listed are neighbours that a kernel can step where they are: whole 64s, or up to the end. */
static int64_t run_length(const be_async *async, const int64_t *lanes, int64_t count, int64_t most) {
    if (async->by_lane || lanes[0] % 64) return 0;
    if (count > most) count = most;
    int64_t n = 1;
    while (n < count && lanes[n] == lanes[0] + n) n++;
    return lanes[0] + n == async->batch->num_lanes ? n : n / 64 * 64;
}

/* Puts checked lanes into items of at most `most` lanes; returns how many. */
static int64_t make_items(be_async *async, const int64_t *lanes, int64_t count, int reset, int64_t most) {
    int64_t num_items = 0;
    for (int64_t k = 0; k < count;) {
        int64_t n = reset ? 0 : run_length(async, lanes + k, count - k, most);
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

/* The same, but only lanes of the same block go together. Each block has an item that is being filled. */
static int64_t make_items_by_block(be_async *async, const int64_t *lanes, int64_t count, int reset, int64_t most) {
    be_item *filling[BE_MAX_NODES] = {0};
    int64_t last[BE_MAX_NODES], num_items = 0;
    for (int64_t k = 0; k < count;) {
        const int block = be_block_of_lane(async->placement, lanes[k]);
        const int64_t left =
            async->placement->blocks[block].end_lane - lanes[k]; /* of a kernel whole 64s, or the end */
        int64_t n = reset ? 0 : run_length(async, lanes + k, count - k, most);
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

be_pool_status be_async_submit(be_async *async, const int64_t *lanes, int64_t count, const void *actions,
                               const double *options) {
    const size_t bytes = async->batch->driver->action_bytes;
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
    if (async->by_lane && lane_ns == 0) most = 1; /* not known yet */
    if (actions == NULL) {
        if (options) memcpy(async->options, options, sizeof async->options);
        async->chosen_options = options ? async->options : async->batch->driver->default_options;
        if (async->by_lane) most = 1;
    }
    const int64_t num_items = async->placement ? make_items_by_block(async, lanes, count, actions == NULL, most)
                                               : make_items(async, lanes, count, actions == NULL, most);
    if (actions) {
        const unsigned char *row = actions;
        for (int64_t k = 0; k < count; k++, row += bytes) {
            memcpy(async->action + (size_t)lanes[k] * bytes, row, bytes);
        }
    }
    for (int64_t k = 0; k < count; k++) async->in_flight[lanes[k]] = 1;
    const int now = actions && (lane_ns > 0 || !async->by_lane) && lane_ns * (double)count < NOW_NS;
    be_pool_status status = be_pool_submit(async->pool, async->items, num_items, now ? BE_POOL_NOW : 0);
    if (status != BE_POOL_OK) {
        for (int64_t k = 0; k < count; k++) async->in_flight[lanes[k]] = 0;
    }
    return status;
}

/* The caller lends a hand where that is quicker than waiting for a worker. An engine's cost is not known at first. */
static unsigned helping(const be_async *async) {
    const double lane_ns = atomic_load_explicit(&async->lane_ns, memory_order_relaxed);
    if (async->by_lane && lane_ns == 0) return 0;
    const double item_ns = lane_ns * (async->by_lane ? 1 : CHUNK);
    return item_ns < HELP_NS ? BE_POOL_HELP : 0;
}

be_pool_status be_async_recv(be_async *async, int64_t timeout, int *buffer) {
    be_rows rows;
    be_pool_status status = be_pool_recv(async->pool, timeout, helping(async), &rows);
    if (status != BE_POOL_OK) return status;
    *buffer = rows.buffer;
    const int64_t *lanes = async->buffers[rows.buffer].lanes;
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

double be_async_lane_ns(const be_async *async) { return atomic_load_explicit(&async->lane_ns, memory_order_relaxed); }
