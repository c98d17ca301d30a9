/* Snapshots: everything that decides the future of some lanes, as bytes.
 *
 * Layout, all numbers little-endian: a be_snapshot_header; the values of all params, one row of doubles a lane (or one
 * row in all, when every lane has the same); the lane columns one after the other, each `count` rows; a checksum.
 * Reading trusts nothing: sizes, names, ranges of what is used as an index, flags and the checksum are looked at first.
 */
#ifndef BE_SNAPSHOT_H
#define BE_SNAPSHOT_H

#include "core/batch.h"

#define BE_SNAPSHOT_VERSION 1

typedef struct be_snapshot_header {
    char magic[8];      /* "BATCHENV" */
    uint32_t version;   /* BE_SNAPSHOT_VERSION */
    uint32_t autoreset; /* of the batch it was taken from */
    uint64_t bytes;     /* of the whole snapshot */
    int64_t count;      /* lanes */
    uint64_t layout;    /* hash of the type's tables and the driver's columns */
    uint64_t grid;      /* hash of the map */
    int64_t param_rows; /* 1 or count */
    int64_t num_params;
} be_snapshot_header;

int64_t be_snapshot_bytes(const be_batch *batch, int64_t count);

/* Writes the `count` lanes listed to `bytes`, be_snapshot_bytes(batch, count) long. */
void be_snapshot_save(const be_batch *batch, const int64_t *lanes, int64_t count, void *bytes);

/* Whether `bytes` is a whole and sound snapshot for batches like this one; fails with BE_ERROR_VALUE otherwise. */
int be_snapshot_check(const be_batch *batch, const void *bytes, int64_t num_bytes, be_error *error);

/* How many lanes a checked snapshot holds, and the params of row `row`. */
int64_t be_snapshot_count(const void *bytes);
void be_snapshot_params(const void *bytes, int64_t row, double *params);

/* Puts row rows[k] of a checked snapshot into lane lanes[k]. Params are not touched. */
void be_snapshot_load(be_batch *batch, const void *bytes, const int64_t *rows, const int64_t *lanes, int64_t count);

#endif
