/* Snapshots: everything that decides the future of some lanes, as bytes.
 *
 * Layout, all numbers little-endian: a be_snapshot_header; the values of all params, one row of doubles per lane (or a
 * single row if all lanes have the same); the lane columns one after the other, with `count` rows each; a checksum.
 * Reading trusts nothing: sizes, names, the ranges of values that are used as an index, flags and the checksum are
 * checked first.
 */
#ifndef BE_SNAPSHOT_H
#define BE_SNAPSHOT_H

#include "batchenv.h"

#define BE_SNAPSHOT_VERSION 1

typedef struct be_snapshot_header {
    char magic[8];      /* "BATCHENV" */
    uint32_t version;   /* BE_SNAPSHOT_VERSION */
    uint32_t autoreset; /* the mode of the batch that it was taken from */
    uint64_t bytes;     /* of the whole snapshot */
    int64_t count;      /* lanes */
    uint64_t layout;    /* hash of the type's tables and the driver's columns */
    uint64_t grid;      /* hash of the map and of texts among the params */
    int64_t param_rows; /* 1 or count */
    int64_t num_params;
} be_snapshot_header;

int64_t be_snapshot_bytes(const be_batch *batch, int64_t count);

/* Writes the `count` lanes listed to `bytes`, which has room for be_snapshot_bytes(batch, count) bytes. */
void be_snapshot_save(const be_batch *batch, const int64_t *lanes, int64_t count, void *bytes);

/* Checks that `bytes` is a complete and valid snapshot for batches like this one. Fails with BE_ERROR_VALUE if not. */
int be_snapshot_check(const be_batch *batch, const void *bytes, int64_t num_bytes, be_error *error);

/* How many lanes a checked snapshot holds, and the params of row `row`. */
int64_t be_snapshot_count(const void *bytes);
void be_snapshot_params(const void *bytes, int64_t row, double *params);

/* Whether the lane in row `row` of a checked snapshot has finished its episode and waits for its reset. */
int be_snapshot_waits(const be_batch *batch, const void *bytes, int64_t row);

/* Puts row rows[k] of a checked snapshot into lane lanes[k]. Params are not touched. */
void be_snapshot_load(be_batch *batch, const void *bytes, const int64_t *rows, const int64_t *lanes, int64_t count);

/* Sets fields of the state of the `count` lanes listed, each once: fields[j] has a row per lane listed, in the order of
 * `lanes`; NULL leaves field j as it is. `elapsed` likewise. The lanes as they would be then are checked as a snapshot
 * of them is; if they cannot be so, returns the error and changes nothing. */
int be_state_set(be_batch *batch, const void *const *fields, const int32_t *elapsed, const int64_t *lanes,
                 int64_t count, be_error *error);

/* The state of all lanes as columns: the bytes of one lane after the other's, in each; with an agenda, also their
 * places in it. Writes the bytes of a lane in each column, and returns how many columns there are, BE_MAX_LANE_COLUMNS
 * + 1 at most. */
int be_columns_sizes(const be_batch *batch, size_t *sizes);
void be_columns_save(const be_batch *batch, unsigned char *const *to);

/* If the columns cannot be those of lanes of this batch, returns the error and changes nothing. */
int be_columns_load(be_batch *batch, const unsigned char *const *from, be_error *error);

#endif
