#include "core/rows.h"

#include <string.h>

void be_table_add(be_table *table, int slot, int group, size_t bytes) {
    table->arrays[table->count++] = (be_array){bytes, slot, group};
}

static inline void copy(unsigned char *target, const unsigned char *source, size_t n, size_t bytes) {
    if (n == 1 && bytes == 8) {
        memcpy(target, source, 8);
    } else if (n == 1 && bytes == 1) {
        *target = *source;
    } else {
        memcpy(target, source, n * bytes);
    }
}

void be_rows_copy(const be_table *table, int groups, const be_rows *to, int64_t to_row, const be_rows *from,
                  int64_t from_row, int64_t n) {
    BE_ARRAYS(array, table, groups) {
        copy((unsigned char *)to->slot[array->slot] + (size_t)to_row * array->bytes,
             (const unsigned char *)from->slot[array->slot] + (size_t)from_row * array->bytes, (size_t)n, array->bytes);
    }
}

void be_rows_copy_listed(const be_table *table, int groups, const be_rows *to, const be_rows *from,
                         const int64_t *lanes, int64_t count, int64_t first) {
    BE_ARRAYS(array, table, groups) {
        unsigned char *target = to->slot[array->slot];
        const unsigned char *source = from->slot[array->slot];
        const size_t bytes = array->bytes;
#define COPY(n) /* a constant number of bytes is an instruction or two */                                              \
    for (int64_t k = 0; k < count; k++) {                                                                              \
        const size_t at = (size_t)(lanes[k] - first) * bytes;                                                          \
        memcpy(target + at, source + at, n);                                                                           \
    }
        switch (bytes) {
        case 8:
            COPY(8);
            break;
        case 16:
            COPY(16);
            break;
        default:
            COPY(bytes);
        }
#undef COPY
    }
}

void be_rows_clear(const be_table *table, int groups, const be_rows *rows, int64_t row) {
    BE_ARRAYS(array, table, groups) {
        unsigned char *start = rows->slot[array->slot];
        if (start) memset(start + (size_t)row * array->bytes, 0, array->bytes);
    }
}

size_t be_rows_lay_out(const be_table *table, int groups, be_rows *rows, size_t count, unsigned char *base) {
    size_t offset = 0;
    BE_ARRAYS(array, table, groups) {
        if (base) rows->slot[array->slot] = base + offset;
        offset += (count * array->bytes + 63) / 64 * 64;
    }
    return offset;
}
