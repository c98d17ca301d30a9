/* Lanes stepped in the background: any lanes are submitted with their actions, and results come back in batches of
 * `batch_rows` in the order in which they get finished. The pool does the waiting and the claiming. This file decides
 * what an item means, which lanes share one, and where the rows go.
 *
 * Only one thread at a time may call these functions. A lane that is in flight (submitted and not received) cannot be
 * submitted again. Whoever else touches lanes calls be_async_finish first. */
#ifndef BE_ASYNC_H
#define BE_ASYNC_H

#include "core/load/types.h"
#include "core/queue/pool.h"
#include "core/rows.h"

typedef struct be_async be_async;

/* The arrays of a batch of results: those that the batch of lanes has, and also `lane` and `failed` (be_batch_failure
 * says why a lane failed).
 */
const be_table *be_async_table(const be_async *async);

/* Returns NULL and fills `error` on failure. `cpus` (or NULL) are the CPUs of the workers: see be_pool_options. */
be_async *be_async_create(be_batch *batch, const be_isa *isa, int64_t batch_rows, int num_workers, const int *cpus,
                          int num_cpus, be_error *error);

/* Ends the workers; each finishes its current lane first. In a child of fork(), nothing of the parent's is touched. */
void be_async_destroy(be_async *async);

/* Where the results of a batch go: arrays of batch_rows rows. With batch_rows == num_lanes, lane i is in row i;
 * otherwise rows are in the order in which lanes get finished. Buffers 0..be_async_num_buffers()-1 must be set before
 * anything is submitted, and a buffer must be set again when be_async_recv has handed it out. */
int be_async_num_buffers(const be_async *async);
void be_async_set_buffer(be_async *async, int buffer, const be_rows *results);

/* The same as be_lanes_check; lanes in flight count as taken. */
int64_t be_async_check(be_async *async, const int64_t *lanes, int64_t count, int *what);

/* Submits checked lanes. With `actions` (checked; one row per lane in its ports of actions) they are stepped; with NULL
 * they are reset with `options` (NULL: the defaults). */
be_pool_status be_async_submit(be_async *async, const int64_t *lanes, int64_t count, const be_rows *actions,
                               const double *options);

/* Waits for a batch of results and sets `*buffer` to the buffer that holds it. Its lanes are no longer in flight. */
be_pool_status be_async_recv(be_async *async, int64_t timeout, int *buffer);

/* Waits until no lane is being worked on. */
be_pool_status be_async_finish(be_async *async, int64_t timeout);

/* Drops all results, so that nothing is in flight. To be called after be_async_finish. */
be_pool_status be_async_clear(be_async *async);

int64_t be_async_in_flight(const be_async *async);
/* Lists the lanes in flight for which `mask` (NULL: all lanes) is 1, ascending, at most `room` of them. Returns how
 * many such lanes there are. */
int64_t be_async_list_in_flight(const be_async *async, const uint8_t *mask, int64_t *lanes, int64_t room);
int be_async_num_workers(const be_async *async); /* fewer than asked for where threads are short */
int be_async_eventfd(be_async *async);

#endif
