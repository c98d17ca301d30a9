#include "core/queue/stream.h"

#define MAGIC 0x62657374u /* "best" */

size_t be_stream_bytes(int64_t batch_rows, int batches) {
    if (batch_rows < 1 || batch_rows > INT64_C(1) << 40 || batches < 1 || batches > 1 << 20) return 0;
    return sizeof(be_stream) + (size_t)batches * sizeof(((be_stream *)0)->buffer[0]);
}

be_stream *be_stream_init(void *memory, int64_t batch_rows, int batches, int shared) {
    if (!be_stream_bytes(batch_rows, batches)) return NULL;
    be_stream *stream = memory;
    stream->magic = MAGIC;
    stream->batches = batches;
    stream->batch_rows = batch_rows;
    be_gate_init(&stream->ready, shared);
    be_stream_clear(stream);
    return stream;
}

be_stream *be_stream_attach(void *memory, size_t bytes) {
    be_stream *stream = memory;
    if (bytes < sizeof(be_stream) || stream->magic != MAGIC) return NULL;
    size_t needed = be_stream_bytes(stream->batch_rows, stream->batches);
    return needed && needed <= bytes ? stream : NULL;
}

void be_stream_clear(be_stream *stream) {
    atomic_store(&stream->claimed, 0);
    atomic_store(&stream->reserved, 0);
    atomic_store(&stream->received, 0);
    atomic_store(&stream->released, 0);
    atomic_store(&stream->finishing, 0);
    for (int i = 0; i < stream->batches; i++) atomic_store(&stream->buffer[i].committed, 0);
}

/* ---- the thread that submits ------------------------------------------------------------------------------------ */

int be_stream_reserve(be_stream *stream, int64_t rows) {
    uint64_t reserved = atomic_load(&stream->reserved);
    uint64_t room = (atomic_load(&stream->released) + (uint64_t)stream->batches) * (uint64_t)stream->batch_rows;
    if ((uint64_t)rows > room - reserved) return 0;
    atomic_store(&stream->reserved, reserved + (uint64_t)rows);
    return 1;
}

/* ---- the threads that work -------------------------------------------------------------------------------------- */

/* A late item may claim slots that were released long after it was submitted. It learns that they are free from items
 * that claimed before it, some of which were submitted after the release. That is why a claim both acquires and
 * releases. */
uint64_t be_stream_claim(be_stream *stream, int64_t rows) {
    return atomic_fetch_add_explicit(&stream->claimed, (uint64_t)rows, memory_order_acq_rel);
}

be_stretch be_stream_locate(const be_stream *stream, uint64_t slot, int64_t count) {
    uint64_t batch = slot / (uint64_t)stream->batch_rows;
    int64_t row = (int64_t)(slot % (uint64_t)stream->batch_rows);
    if (count > stream->batch_rows - row) count = stream->batch_rows - row;
    return (be_stretch){batch, (int)(batch % (uint64_t)stream->batches), row, count};
}

/* The value of `committed` of the batch's buffer when the batch is complete. It keeps counting from batch to batch, so
 * that nobody has to reset it. */
static uint64_t complete_at(const be_stream *stream, uint64_t batch) {
    return (batch / (uint64_t)stream->batches + 1) * (uint64_t)stream->batch_rows;
}

int be_stream_commit(be_stream *stream, const be_stretch *rows) {
    uint64_t count = (uint64_t)rows->count;
    uint64_t committed = atomic_fetch_add(&stream->buffer[rows->buffer].committed, count) + count;
    /* The receiver is not told about a batch that is complete before its turn, because it looks itself when that batch
     * is next. */
    int ready = committed == complete_at(stream, rows->batch) && rows->batch == atomic_load(&stream->received);
    if (ready || atomic_load(&stream->finishing)) be_gate_notify(&stream->ready, 1);
    return ready;
}

/* ---- the thread that receives ----------------------------------------------------------------------------------- */

int be_stream_ready(const be_stream *stream) {
    uint64_t batch = atomic_load(&stream->received);
    return atomic_load(&stream->buffer[batch % (uint64_t)stream->batches].committed) == complete_at(stream, batch);
}

static int ready(void *stream) { return be_stream_ready(stream); }

be_wait be_stream_next(be_stream *stream, be_spin *spin, int64_t timeout, be_stretch *rows) {
    uint64_t batch = atomic_load(&stream->received);
    if (!be_stream_ready(stream)) {
        if (atomic_load(&stream->reserved) < (batch + 1) * (uint64_t)stream->batch_rows) return BE_WAIT_STARVED;
        if (!be_gate_wait(&stream->ready, ready, stream, spin, timeout)) return BE_WAIT_TIMEOUT;
    }
    *rows = be_stream_locate(stream, batch * (uint64_t)stream->batch_rows, stream->batch_rows);
    atomic_store(&stream->received, batch + 1);
    return BE_WAIT_OK;
}

int be_stream_finished(const be_stream *stream) {
    uint64_t committed = 0;
    for (int i = 0; i < stream->batches; i++) committed += atomic_load(&stream->buffer[i].committed);
    return committed == atomic_load(&stream->reserved);
}

static int finished(void *stream) { return be_stream_finished(stream); }

be_wait be_stream_finish(be_stream *stream, be_spin *spin, int64_t timeout) {
    atomic_store(&stream->finishing, 1);
    int done = be_gate_wait(&stream->ready, finished, stream, spin, timeout);
    atomic_store(&stream->finishing, 0);
    return done ? BE_WAIT_OK : BE_WAIT_TIMEOUT;
}

int64_t be_stream_in_flight(const be_stream *stream) {
    uint64_t received = atomic_load(&stream->received) * (uint64_t)stream->batch_rows;
    return (int64_t)(atomic_load(&stream->reserved) - received);
}

void be_stream_release(be_stream *stream) {
    uint64_t released = atomic_load(&stream->released);
    if (released < atomic_load(&stream->received)) atomic_store(&stream->released, released + 1);
}
