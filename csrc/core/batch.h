/* Batches: they are made, placed, looked at and destroyed here. The other headers of this folder say what else there is
 * to do with them. The callers of core/ are Cython and the C tests. */
#ifndef BE_BATCH_H
#define BE_BATCH_H

#include "core/episode.h"
#include "core/rows.h"
#include "core/system/numa.h"
#include "core/transform.h"

typedef struct be_batch_options {
    const be_env_type *type;
    int64_t num_lanes;
    be_autoreset autoreset;
    int32_t max_episode_steps;     /* 0: no limit */
    const be_grid *grid;           /* copied; NULL where the type has none */
    const be_transform *transform; /* NULL: everything goes out as it is */
    const double *params;          /* as be_batch_configure takes them; NULL: the type's defaults */
    const double *const *columns;  /* the same */
    const char *const *texts;      /* of TEXT params, in the order of the table; copied; NULL: the type's defaults */
    const void *engine;            /* for the type's open() */
    int (*look)(void *context);    /* or NULL; a long open() calls it every 50 ms, and gives up if it is not 0 */
    void *look_context;
} be_batch_options;

/* A new batch of zeroed lanes. Its params choose the shapes of its spaces, which stay as they are. */
be_batch *be_batch_create(const be_batch_options *options, be_error *error);
void be_batch_destroy(be_batch *batch);

/* Puts the memory of the lanes on the NUMA nodes that `placement` says, from which workers then take their lanes: see
 * core/system/numa.h. The batch owns the placement afterwards. With NULL nothing happens. To be called once, before any
 * lane is reset and any worker is made. */
void be_batch_place(be_batch *batch, be_placement *placement);
const be_placement *be_batch_placement(const be_batch *batch);

/* SAME_STEP: points `rows` at the batch's own rows for final observations and infos. */
void be_batch_point_final(const be_batch *batch, be_rows *rows);

/* The arrays that go into lanes and come out of them, as callers see them: with transformed observations. */
const be_table *be_batch_table(const be_batch *batch);

/* The port of the observation; if the type has several, the first of them. */
int be_observation_port(const be_batch *batch);

int64_t be_batch_bytes(const be_batch *batch); /* memory held */

/* The columns that make up a lane: the type's fields first, then the driver's own, in this order. */
typedef struct be_lane_column {
    void *data;
    size_t bytes; /* per lane */
} be_lane_column;
enum { BE_COLUMN_RNG, BE_COLUMN_ELAPSED, BE_COLUMN_PENDING };
#define BE_MAX_LANE_COLUMNS (BE_MAX_FIELDS + 8)
int be_lane_columns(const be_batch *batch, be_lane_column *columns);

size_t be_engine_bytes(const be_batch *batch); /* per lane, not counting the columns */

#endif
