/* Steps lanes that are not neighbours. Kernels can only step neighbours, so the lanes' columns are copied into a small
 * batch, stepped there and copied back. Each thread has a small batch (a part) of its own. */
#ifndef BE_SCATTERED_H
#define BE_SCATTERED_H

#include "core/load/types.h"

#define BE_SCATTERED_LANES 256 /* the most lanes that a part has room for */

typedef struct be_scattered be_scattered;

/* Returns NULL and fills `error` on failure. */
be_scattered *be_scattered_create(const be_batch *batch, int num_parts, be_error *error);
void be_scattered_destroy(be_scattered *scattered);
int be_scattered_num_parts(const be_scattered *scattered);

/* Steps n lanes (at most BE_SCATTERED_LANES) of the batch: row k of `rows` belongs to lane lanes[k]. Returns how many
 * of them have finished in this step, or -1 with `error` filled. */
int64_t be_scattered_step(be_scattered *scattered, int part, const be_isa *isa, be_batch *batch, const int64_t *lanes,
                          int n, const be_rows *rows, be_error *error);

/* Returns the position of the first listed lane that is not in 0..num_lanes-1, or for which `taken` is 1, or that was
 * listed before; `what` gets BE_LANE_*, which says why. Returns -1 if all are fine. `seen` is room for num_lanes bytes,
 * zeroed by the caller; it is zeroed again afterwards. */
enum { BE_LANE_RANGE, BE_LANE_TAKEN, BE_LANE_TWICE };
int64_t be_lanes_check(const int64_t *lanes, int64_t count, int64_t num_lanes, const uint8_t *taken, uint8_t *seen,
                       int *what);

/* How many lanes from the start of the list, at most `most`, a kernel can step where they are: neighbours from a
 * multiple of 64 on, up to another multiple of 64 or to the end of the batch. */
int64_t be_lanes_run(const be_batch *batch, const int64_t *lanes, int64_t count, int64_t most);

#endif
