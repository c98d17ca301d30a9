/* The arrays that go into lanes and come out of them. Each batch has a table of its arrays: the ports of its type and
 * those that the driver adds. All code that moves rows (slices, copies, clears, lays them out) loops over the table and
 * knows nothing else about them. */
#ifndef BE_ROWS_H
#define BE_ROWS_H

#include "batchenv.h"

/* The index of each array in be_rows.slot. */
enum {
    BE_SLOT_REWARD,
    BE_SLOT_TERMINATED,
    BE_SLOT_TRUNCATED,
    BE_SLOT_STARTED, /* 1 where a row is an episode's first */
    BE_SLOT_FAILED,  /* queue only: 1 where a lane has failed */
    /* With record_statistics: values for the lanes that finish, 0 for the others. */
    BE_SLOT_EPISODE_RETURN,
    BE_SLOT_EPISODE_SECONDS,
    BE_SLOT_EPISODE_LENGTH,
    BE_SLOT_EPISODE_ENTRY, /* with an agenda, if it is asked for: the entry of the episode that ends, or -1 */
    BE_SLOT_LANE,          /* queue only: the lane that the row belongs to */
    BE_SLOT_PORT,          /* the type's, in the order of its table */
    /* With SAME_STEP: the observations and infos of the lanes that finish, as they were before the lanes start again.
     * The rows of other lanes are not written. */
    BE_SLOT_FINAL = BE_SLOT_PORT + BE_MAX_PORTS,
};
_Static_assert(BE_SLOT_PORT == BE_DRIVER_PORTS, "be_rows has a slot for each");

/* Groups of arrays. They are flags: a function takes the arrays of all groups that are set. */
enum {
    BE_ROWS_ACTION = 1 << BE_ACTION,
    BE_ROWS_OBSERVATION = 1 << BE_OBSERVATION,
    BE_ROWS_INFO = 1 << BE_INFO,
    BE_ROWS_RESULT = 1 << BE_REWARD, /* reward, terminated, truncated, further rewards */
    BE_ROWS_DRIVER = 16,
    BE_ROWS_FINAL = 32,
    BE_ROWS_LANE = BE_ROWS_OBSERVATION | BE_ROWS_INFO, /* what a type writes about a lane */
    BE_ROWS_ALL = 63,
    BE_ROWS_OUT = BE_ROWS_ALL & ~BE_ROWS_ACTION,
};

typedef struct be_array {
    size_t bytes; /* a row */
    int slot, group;
} be_array;

typedef struct be_table {
    int count;
    be_array arrays[BE_SLOTS];
} be_table;

/* for (each array of the table that is in one of these groups) */
#define BE_ARRAYS(array, table, groups)                                                                                \
    for (const be_array *array = (table)->arrays; array < (table)->arrays + (table)->count; array++)                   \
        if (array->group & (groups))

void be_table_add(be_table *table, int slot, int group, size_t bytes);

/* Points `to` at the same arrays from row `row` on. Sets all slots of the table; a slot that is NULL in `from`
 * becomes NULL. */
static inline void be_rows_slice(const be_table *table, be_rows *to, const be_rows *from, int64_t row) {
    for (int k = 0; k < table->count; k++) {
        const be_array *array = &table->arrays[k];
        unsigned char *rows = from->slot[array->slot];
        to->slot[array->slot] = rows ? rows + (size_t)row * array->bytes : NULL;
    }
}

/* Copies n rows of the arrays in these groups. */
void be_rows_copy(const be_table *table, int groups, const be_rows *to, int64_t to_row, const be_rows *from,
                  int64_t from_row, int64_t n);

/* Copies the rows of the lanes listed; `first` is the lane of row 0. */
void be_rows_copy_listed(const be_table *table, int groups, const be_rows *to, const be_rows *from,
                         const int64_t *lanes, int64_t count, int64_t first);

/* Zeroes row `row` of the arrays in these groups; arrays that are NULL are skipped. */
void be_rows_clear(const be_table *table, int groups, const be_rows *rows, int64_t row);

/* Lays out `count` rows of each array in these groups from `base` on, each array on cache lines of its own, and returns
 * the bytes used. If base is NULL, only counts the bytes. */
size_t be_rows_lay_out(const be_table *table, int groups, be_rows *rows, size_t count, unsigned char *base);

#endif
