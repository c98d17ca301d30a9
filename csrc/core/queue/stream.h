/* Results in the order in which they get finished, in batches of `batch_rows`: the completion side of a pool.
 *
 * Think of one endless row of result slots. Whoever has finished k lanes claims the next k slots with one addition, and
 * fills them while others fill theirs. Slots 0..B-1 are batch 0, the next B batch 1, and so on; a batch is ready when
 * its last slot is committed, and batches are handed out in order. So a batch holds the lanes that were finished first,
 * and a lane that takes long is simply part of a later one.
 *
 * The rows lie in `batches` buffers that belong to the caller: batch n in buffer n % batches. A buffer is written again
 * only after the caller has released the batch in it: be_stream_reserve(), asked before work is started, says no where
 * its results would find no room. With L lanes in flight at most, ceil(L / B) + 1 buffers always do, the last one for
 * the batch that the caller is reading.
 *
 * Like a ring, a stream is one block of memory with no address in it. reserve is for one thread (who submits), next and
 * release are for one thread (who receives; it may be the same), claim and commit for any number. */
#ifndef BE_STREAM_H
#define BE_STREAM_H

#include <stdalign.h>
#include <stddef.h>

#include "core/queue/gate.h"
#include "core/queue/ring.h"

typedef struct be_stream {
    uint32_t magic;
    int32_t batches;
    int64_t batch_rows;
    alignas(BE_CACHE_LINE) _Atomic uint64_t claimed;  /* slots */
    alignas(BE_CACHE_LINE) _Atomic uint64_t reserved; /* slots */
    alignas(BE_CACHE_LINE) _Atomic uint64_t received; /* batches */
    _Atomic uint64_t released;                        /* batches */
    _Atomic uint32_t finishing;                       /* somebody waits for all that is reserved */
    alignas(BE_CACHE_LINE) be_gate ready;
    alignas(BE_CACHE_LINE) struct {
        alignas(BE_CACHE_LINE) _Atomic uint64_t committed; /* slots, in all the batches that were in this buffer */
    } buffer[];
} be_stream;

/* Rows row..row+count-1 of batch `batch`, which is in buffer `buffer`. */
typedef struct be_stretch {
    uint64_t batch;
    int buffer;
    int64_t row, count;
} be_stretch;

typedef enum be_wait {
    BE_WAIT_OK,
    BE_WAIT_TIMEOUT,
    BE_WAIT_STARVED, /* fewer slots are reserved than the next batch has: it would never come */
} be_wait;

/* How much memory it takes: a multiple of 64; 0 where batch_rows is not 1 to 2^40 or batches not 1 to 2^20. */
size_t be_stream_bytes(int64_t batch_rows, int batches);

/* Makes one in `memory`, which is 64-byte aligned and be_stream_bytes() long. Returns NULL where that is 0. */
be_stream *be_stream_init(void *memory, int64_t batch_rows, int batches, int shared);
be_stream *be_stream_attach(void *memory, size_t bytes);

/* 1 if `rows` more results have room, whenever they come; they must come. 0: release something first. */
int be_stream_reserve(be_stream *stream, int64_t rows);

/* The first of `rows` slots that are now the caller's to fill and to commit. */
uint64_t be_stream_claim(be_stream *stream, int64_t rows);

/* Where slots slot..slot+count-1 go: the part of them that lies in slot's batch. */
be_stretch be_stream_locate(const be_stream *stream, uint64_t slot, int64_t count);

/* To be called when the rows are written. Returns 1 if that makes ready the batch that is to be received next. */
int be_stream_commit(be_stream *stream, const be_stretch *rows);

/* Whether a batch is ready to be received. */
int be_stream_ready(const be_stream *stream);

/* Waits up to `timeout` ns, spinning first, until a batch is ready, and hands it out: all its rows. */
be_wait be_stream_next(be_stream *stream, be_spin *spin, int64_t timeout, be_stretch *rows);

/* Whether all that is reserved is committed; and waiting for it. */
int be_stream_finished(const be_stream *stream);
be_wait be_stream_finish(be_stream *stream, be_spin *spin, int64_t timeout);

/* Slots reserved and not received yet. */
int64_t be_stream_in_flight(const be_stream *stream);

/* The oldest batch received and not yet released may be overwritten. Without one nothing happens. */
void be_stream_release(be_stream *stream);

/* Forgets all results, received or not; only when finished. */
void be_stream_clear(be_stream *stream);

#endif
