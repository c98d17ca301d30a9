/* Lanes stepped in the background: any lanes are submitted with their actions, and results come back in batches of
 * `batch_rows` in the order in which they get finished. The pool does the waiting and claiming; here is what an item
 * means, which lanes go together, and where the rows go.
 *
 * Who calls: one thread. A lane that is in flight (submitted and not received) cannot be submitted again; everything
 * else that touches lanes calls be_async_finish first. */
#ifndef BE_ASYNC_H
#define BE_ASYNC_H

#include "core/batch.h"
#include "core/queue/pool.h"

typedef struct be_async be_async;

/* The arrays of a batch of results: those of the batch of lanes, and `lane` and `failed` (be_batch_failure says why).
 */
const be_table *be_async_table(const be_async *async);

/* NULL with `error` filled. `cpus` (or NULL) are the workers', see be_pool_options. */
be_async *be_async_create(be_batch *batch, const be_isa *isa, int64_t batch_rows, int num_workers, const int *cpus,
                          int num_cpus, be_error *error);

/* Ends the workers; each finishes the lane that it is at. In a child of fork() the parent's is left alone. */
void be_async_destroy(be_async *async);

/* Where the results of a batch go: arrays of batch_rows rows. With batch_rows == num_lanes a lane's row is that of its
 * number, otherwise rows come as they get finished. Buffers 0..be_async_num_buffers()-1 must be there before anything
 * is submitted, and again when be_async_recv has handed one out. */
int be_async_num_buffers(const be_async *async);
void be_async_set_buffer(be_async *async, int buffer, const be_rows *results);

/* be_lanes_check, where those that are in flight are taken. */
int64_t be_async_check(be_async *async, const int64_t *lanes, int64_t count, int *what);

/* Submits checked lanes: with `actions` (checked, in its ports of actions; a row for each) to be stepped, with NULL to
 * be reset with `options` (NULL: the defaults). */
be_pool_status be_async_submit(be_async *async, const int64_t *lanes, int64_t count, const be_rows *actions,
                               const double *options);

/* Waits for a batch, which is in results `*buffer`; its lanes are then no longer in flight. */
be_pool_status be_async_recv(be_async *async, int64_t timeout, int *buffer);

/* Waits until no lane is being worked on. */
be_pool_status be_async_finish(be_async *async, int64_t timeout);

/* Drops all results; nothing is in flight then. After be_async_finish. */
be_pool_status be_async_clear(be_async *async);

int64_t be_async_in_flight(const be_async *async);
/* The lanes in flight that `mask` (NULL: all) has a 1 for, ascending, at most `room` of them; returns how many. */
int64_t be_async_list_in_flight(const be_async *async, const uint8_t *mask, int64_t *lanes, int64_t room);
int be_async_num_workers(const be_async *async); /* fewer than asked for where threads are short */
int be_async_eventfd(be_async *async);

#endif
