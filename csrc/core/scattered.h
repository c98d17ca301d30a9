/* Lanes of a kernel that are no neighbours: their columns go into a small batch, are stepped there, and go back, since
 * kernels want neighbours. For one thread or several, each with a small batch (a part) of its own. */
#ifndef BE_SCATTERED_H
#define BE_SCATTERED_H

#include "core/batch.h"

#define BE_SCATTERED_LANES 256 /* that a part has room for */

typedef struct be_scattered be_scattered;

/* NULL with `error` filled. */
be_scattered *be_scattered_create(const be_batch *batch, int num_parts, be_error *error);
void be_scattered_destroy(be_scattered *scattered);
int be_scattered_num_parts(const be_scattered *scattered);

/* Steps n lanes (at most BE_SCATTERED_LANES) of the batch: row k of `rows` is that of lane lanes[k]. Returns how many
 * of them are finished by this step, or -1 with `error` filled. */
int64_t be_scattered_step(be_scattered *scattered, int part, const be_isa *isa, be_batch *batch, const int32_t *lanes,
                          int n, const be_rows *rows, be_error *error);

/* Of the lanes listed: the first that is not in 0..num_lanes-1, or that `taken` has a 1 for, or that was listed before;
 * BE_LANE_* says which. -1: all are fine. `seen`: zeroed room for num_lanes bytes, and zeroed again. */
enum { BE_LANE_RANGE, BE_LANE_TAKEN, BE_LANE_TWICE };
int64_t be_lanes_check(const int64_t *lanes, int64_t count, int64_t num_lanes, const uint8_t *taken, uint8_t *seen,
                       int *what);

/* How many of the lanes listed, at most `most`, a kernel can step where they are: whole 64s of neighbours, or up to the
 * batch's end. */
int64_t be_lanes_run(const be_batch *batch, const int64_t *lanes, int64_t count, int64_t most);

#endif
