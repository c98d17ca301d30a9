/* Streams: rows are claimed, committed and handed out in whole batches, in their order. */
#include "threads.h"

#include "core/queue/stream.h"

static void test_stream(void) {
    be_spin none = {.ns = 0};
    CHECK(be_stream_bytes(0, 1) == 0 && be_stream_bytes(1, 0) == 0);
    size_t bytes = be_stream_bytes(4, 3);
    void *memory = block(bytes);
    be_stream *stream = be_stream_init(memory, 4, 3, 0);
    CHECK(be_stream_attach(memory, bytes) == stream && be_stream_attach(memory, bytes - 64) == NULL);
    CHECK(be_stream_attach(memory, sizeof *stream - 1) == NULL);
    stream->magic ^= 1;
    CHECK(be_stream_attach(memory, bytes) == NULL);
    stream->magic ^= 1;
    be_stretch rows, first, second;
    CHECK(be_stream_next(stream, &none, -1, &rows) == BE_WAIT_STARVED);
    CHECK(be_stream_reserve(stream, 12) && !be_stream_reserve(stream, 1) && be_stream_in_flight(stream) == 12);
    CHECK(be_stream_claim(stream, 3) == 0 && be_stream_claim(stream, 6) == 3);
    rows = be_stream_locate(stream, 0, 3);
    CHECK(rows.batch == 0 && rows.buffer == 0 && rows.row == 0 && rows.count == 3);
    CHECK(be_stream_commit(stream, &rows) == 0);
    first = be_stream_locate(stream, 3, 6);
    CHECK(first.batch == 0 && first.row == 3 && first.count == 1);
    second = be_stream_locate(stream, 4, 5);
    CHECK(second.batch == 1 && second.buffer == 1 && second.row == 0 && second.count == 4);
    CHECK(be_stream_commit(stream, &second) == 0); /* complete, but not its turn */
    CHECK(be_stream_next(stream, &none, 5 * MS, &rows) == BE_WAIT_TIMEOUT && !be_stream_ready(stream));
    CHECK(be_stream_commit(stream, &first) == 1 && be_stream_ready(stream));
    for (uint64_t batch = 0; batch < 2; batch++) {
        CHECK(be_stream_next(stream, &none, 0, &rows) == BE_WAIT_OK);
        CHECK(rows.batch == batch && rows.buffer == (int)batch && rows.row == 0 && rows.count == 4);
    }
    CHECK(be_stream_next(stream, &none, 0, &rows) == BE_WAIT_TIMEOUT && be_stream_in_flight(stream) == 4);
    CHECK(!be_stream_reserve(stream, 1));
    be_stream_release(stream);
    CHECK(!be_stream_reserve(stream, 5) && be_stream_reserve(stream, 4));
    CHECK(!be_stream_finished(stream) && be_stream_finish(stream, &none, 1 * MS) == BE_WAIT_TIMEOUT);
    rows = be_stream_locate(stream, 8, 1); /* the rest of the second claim */
    CHECK(rows.batch == 2 && rows.buffer == 2 && rows.row == 0 && be_stream_commit(stream, &rows) == 0);
    for (uint64_t slot = be_stream_claim(stream, 7), end = slot + 7; slot < end; slot += (uint64_t)rows.count) {
        rows = be_stream_locate(stream, slot, (int64_t)(end - slot));
        be_stream_commit(stream, &rows);
    }
    CHECK(be_stream_finished(stream) && be_stream_finish(stream, &none, -1) == BE_WAIT_OK);
    for (int i = 0; i < 9; i++) be_stream_release(stream); /* no further than what was received */
    CHECK(be_stream_next(stream, &none, 0, &rows) == BE_WAIT_OK && rows.batch == 2 && rows.buffer == 2);
    CHECK(be_stream_next(stream, &none, 0, &rows) == BE_WAIT_OK && rows.batch == 3 && rows.buffer == 0);
    be_stream_clear(stream);
    CHECK(be_stream_in_flight(stream) == 0 && be_stream_next(stream, &none, -1, &rows) == BE_WAIT_STARVED);
    be_aligned_free(memory);
}

MAIN({"stream", test_stream})
