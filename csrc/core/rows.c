#include "core/rows.h"

#include <string.h>

void be_table_add(be_table *table, int place, int group, size_t bytes) {
    table->arrays[table->count++] = (be_array){bytes, place, group};
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
    for (int k = 0; k < table->count; k++) {
        const be_array *array = &table->arrays[k];
        if (!(array->group & groups)) continue;
        copy((unsigned char *)to->place[array->place] + (size_t)to_row * array->bytes,
             (const unsigned char *)from->place[array->place] + (size_t)from_row * array->bytes, (size_t)n,
             array->bytes);
    }
}

void be_rows_clear(const be_table *table, int groups, const be_rows *rows, int64_t row) {
    for (int k = 0; k < table->count; k++) {
        const be_array *array = &table->arrays[k];
        if (!(array->group & groups)) continue;
        unsigned char *start = rows->place[array->place];
        if (start) memset(start + (size_t)row * array->bytes, 0, array->bytes);
    }
}

size_t be_rows_lay_out(const be_table *table, int groups, be_rows *rows, size_t count, unsigned char *base) {
    size_t offset = 0;
    for (int k = 0; k < table->count; k++) {
        const be_array *array = &table->arrays[k];
        if (!(array->group & groups)) continue;
        if (base) rows->place[array->place] = base + offset;
        offset += (count * array->bytes + 63) / 64 * 64;
    }
    return offset;
}
