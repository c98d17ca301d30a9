/* The completion side of a pool: results in the order in which they get finished, in batches of `batch_rows`.
 *
 * Think of one endless row of result slots. A thread that has finished k lanes claims the next k slots with one
 * addition, and fills them while others fill theirs. With B = batch_rows, slots 0..B-1 are batch 0, the next B slots
 * batch 1, and so on. A batch is ready when all its slots are committed; batches are handed out in order. So a batch
 * holds the lanes that were finished first, and a lane that takes long is simply part of a later one.
 *
 * The rows lie in `batches` buffers that belong to the caller: batch n in buffer n % batches. A buffer is written again
 * only after the caller has released the batch in it: be_stream_reserve(), which is called before work is started,
 * returns 0 if there would be no room for its results. With at most L lanes in flight, ceil(L / B) + 1 buffers are
 * always enough; the additional one holds the batch that the caller is reading.
 *
 * Like a ring, a stream is one block of memory with no address in it. Only one thread (the one that submits) may
 * reserve, and only one (the one that receives; it may be the same) may call next and release. Any number of threads
 * may claim and commit. */
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
    _Atomic uint32_t finishing;                       /* 1: a thread waits until all reserved slots are committed */
    alignas(BE_CACHE_LINE) be_gate ready;
    alignas(BE_CACHE_LINE) struct {
        alignas(BE_CACHE_LINE) _Atomic uint64_t committed; /* slots of all batches that were in this buffer */
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
    BE_WAIT_STARVED, /* fewer slots are reserved than the next batch has, so it would never be complete */
} be_wait;

/* How many bytes a stream takes, a multiple of 64. Returns 0 if batch_rows is not 1 to 2^40 or batches is not 1 to
 * 2^20. */
size_t be_stream_bytes(int64_t batch_rows, int batches);

/* Makes a stream in `memory`, which is 64-byte aligned and be_stream_bytes() long. Returns NULL if be_stream_bytes
 * would return 0. */
be_stream *be_stream_init(void *memory, int64_t batch_rows, int batches, int shared);
be_stream *be_stream_attach(void *memory, size_t bytes);

/* Reserves room for `rows` more results, which must then come. Returns 0 if there is no room: release a batch first. */
int be_stream_reserve(be_stream *stream, int64_t rows);

/* Claims `rows` slots, which the caller must fill and commit, and returns the first of them. */
uint64_t be_stream_claim(be_stream *stream, int64_t rows);

/* Where slots slot..slot+count-1 go, as far as they lie in the batch of the first one. */
be_stretch be_stream_locate(const be_stream *stream, uint64_t slot, int64_t count);

/* To be called when the rows are written. Returns 1 if the batch that is to be received next is now ready. */
int be_stream_commit(be_stream *stream, const be_stretch *rows);

/* Whether a batch is ready to be received. */
int be_stream_ready(const be_stream *stream);

/* Waits for up to `timeout` ns, spinning first, until a batch is ready, and sets `rows` to all rows of it. */
be_wait be_stream_next(be_stream *stream, be_spin *spin, int64_t timeout, be_stretch *rows);

/* The first function says whether all reserved slots are committed, the second waits for that. */
int be_stream_finished(const be_stream *stream);
be_wait be_stream_finish(be_stream *stream, be_spin *spin, int64_t timeout);

/* Slots reserved and not received yet. */
int64_t be_stream_in_flight(const be_stream *stream);

/* Allows the oldest batch that was received and not yet released to be overwritten. Does nothing if there is none. */
void be_stream_release(be_stream *stream);

/* Forgets all results, received or not. Only to be called when be_stream_finished() returns 1. */
void be_stream_clear(be_stream *stream);

#endif
