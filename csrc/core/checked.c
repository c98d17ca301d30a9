#include "core/checked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/driver.h"
#include "core/error.h"

typedef struct be_checked {
    be_env_type type; /* first: a pointer to it is one to this */
    const be_env_type *real;
} be_checked;

static const be_env_type *real_of(const be_batch *batch) { return ((const be_checked *)batch->type)->real; }

/* A byte that no flag has, and of which four make no number that an env is likely to write. */
#define PATTERN 0xA5

enum { IN_RESET, IN_OBSERVE, IN_STEP };
static const char *const calls[] = {"reset()", "observe()", "step()"};

static int is_checked(const be_array *array, int call, const be_rows *rows) {
    static const int groups[] = {BE_ROWS_LANE, BE_ROWS_OBSERVATION, BE_ROWS_LANE | BE_ROWS_RESULT};
    return (array->group & groups[call]) && rows->slot[array->slot];
}

static void spoil(const be_batch *batch, int call, const be_rows *rows, int64_t lane) {
    const be_table *table = &batch->driver->inner;
    for (int k = 0; k < table->count; k++) {
        const be_array *array = &table->arrays[k];
        if (!is_checked(array, call, rows)) continue;
        memset((char *)rows->slot[array->slot] + (size_t)(lane - rows->first) * array->bytes, PATTERN, array->bytes);
    }
}

/* Which value of a row of `count` values is as spoil() has left it, or -1. Of small integers, which may have any value,
 * only a whole row tells. */
static int64_t find_spoilt(const unsigned char *row, int64_t count, be_dtype dtype) {
    const size_t size = be_dtype_size(dtype);
    const int any_value = dtype == BE_U8 || dtype == BE_I8;
    if (any_value && count < 4) return -1;
    int64_t spoilt = 0;
    for (int64_t j = 0; j < count; j++) {
        size_t same = 0;
        while (same < size && row[(size_t)j * size + same] == PATTERN) same++;
        if (same == size && !any_value) return j;
        spoilt += same == size;
    }
    return spoilt == count ? 0 : -1;
}

static int look(const be_batch *batch, int call, const be_rows *rows, int64_t lane, be_error *error) {
    static const char *const roles[] = {"action ", "observation ", "info ", "reward "};
    const be_table *table = &batch->driver->inner;
    for (int k = 0; k < table->count; k++) {
        const be_array *array = &table->arrays[k];
        if (!is_checked(array, call, rows)) continue;
        const int port = array->slot - BE_SLOT_PORT;
        const be_dtype dtype = port >= 0 ? batch->space[port].dtype : array->slot == BE_SLOT_REWARD ? BE_F64 : BE_BOOL;
        const unsigned char *row =
            (unsigned char *)rows->slot[array->slot] + (size_t)(lane - rows->first) * array->bytes;
        const char *name = port >= 0                           ? batch->type->ports[port].name
                           : array->slot == BE_SLOT_REWARD     ? "rows->reward"
                           : array->slot == BE_SLOT_TERMINATED ? "rows->terminated"
                                                               : "rows->truncated";
        if (port < 0 && array->slot != BE_SLOT_REWARD && *row > 1 && *row != PATTERN) {
            return be_fail(error, BE_ERROR_VALUE, lane,
                           "step() of type %s has set %s of lane %lld to %d: it must be 0 or 1", batch->type->name,
                           name, (long long)lane, *row);
        }
        if (array->slot == BE_SLOT_REWARD && isnan(*(const double *)(const void *)row)) {
            return be_fail(error, BE_ERROR_VALUE, lane,
                           "step() of type %s has set rows->reward of lane %lld to NaN (as "
                           "comes of a param whose row is missing in .params)",
                           batch->type->name, (long long)lane);
        }
        const int64_t value = find_spoilt(row, (int64_t)(array->bytes / be_dtype_size(dtype)), dtype);
        if (value < 0) continue;
        return be_fail(
            error, BE_ERROR_VALUE, lane,
            "%s of type %s has not written %s\"%s\" of lane %lld (value %lld of its row): it has to write every "
            "output of every lane that it is called for; in step(), lane begin + k has row k",
            calls[call], batch->type->name, port >= 0 ? roles[batch->type->ports[port].role] : "", name,
            (long long)lane, (long long)value);
    }
    return BE_OK;
}

/* The same rows without ports that the table does not have, and the batch without such params: an enum may have names
 * without a row. */
static be_rows without_others(be_batch *batch, const be_rows *rows) {
    be_rows own = *rows;
    int num_params = 0;
    while (batch->type->params && batch->type->params[num_params].name) num_params++;
    for (int k = num_params; k < BE_MAX_PARAMS; k++) batch->params[k] = NAN;
    for (int k = batch->driver->num_ports; k < BE_MAX_PORTS; k++) own.port[k] = NULL;
    return own;
}

static int check_listed(be_batch *batch, int call, const int64_t *lanes, int64_t count, const be_rows *rows,
                        be_error *error) {
    const be_env_type *real = real_of(batch);
    for (int64_t k = 0; k < count; k++) spoil(batch, call, rows, lanes[k]);
    const be_rows own = without_others(batch, rows);
    const int status = (call == IN_RESET ? real->reset : real->observe)(batch, lanes, count, &own, error);
    for (int64_t k = 0; k < count && status == BE_OK; k++) {
        if (look(batch, call, rows, lanes[k], error) != BE_OK) return error->status;
    }
    return status;
}

static int reset(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    return check_listed(batch, IN_RESET, lanes, count, rows, error);
}

static int observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    return check_listed(batch, IN_OBSERVE, lanes, count, rows, error);
}

static int step(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    const size_t bytes = (size_t)(end - begin) * sizeof(be_rng);
    be_rng *before = malloc(bytes);
    if (before == NULL) return be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
    memcpy(before, batch->rng + begin, bytes);
    const int64_t last = end < batch->num_lanes ? end : batch->num_lanes;
    for (int64_t i = begin; i < last; i++) {
        if (!rows->skip[i - rows->first]) spoil(batch, IN_STEP, rows, i);
    }
    const be_rows own = without_others(batch, rows);
    int status = real_of(batch)->step(batch, begin, end, &own, error);
    for (int64_t i = begin; i < last && status == BE_OK; i++) {
        if (!rows->skip[i - rows->first]) {
            status = look(batch, IN_STEP, rows, i, error);
        } else if (memcmp(&before[i - begin], &batch->rng[i], sizeof *before) != 0) {
            status = be_fail(error, BE_ERROR_VALUE, i,
                             "step() of type %s has drawn random numbers for lane %lld, which has ended: leave out "
                             "lanes with rows->skip[k]",
                             batch->type->name, (long long)i);
        }
    }
    for (int64_t i = last; i < end && status == BE_OK; i++) {
        if (memcmp(&before[i - begin], &batch->rng[i], sizeof *before) == 0) continue;
        status =
            be_fail(error, BE_ERROR_VALUE, -1,
                    "step() of type %s has drawn random numbers for lane %lld of %lld, which only fills up a block "
                    "of %d: leave out lanes with rows->skip[k]",
                    batch->type->name, (long long)i, (long long)batch->num_lanes, BE_LANE_BLOCK);
    }
    free(before);
    return status;
}

int be_checked_open(be_batch *batch, be_error *error) {
    const char *asked = getenv("BATCHENV_CHECK_WRITES");
    const be_env_type *real = batch->type;
    if (asked == NULL || strcmp(asked, "1") != 0 || real->step == step) return BE_OK;
    be_checked *checked = batch->driver->checked = malloc(sizeof *checked);
    if (checked == NULL) return be_out_of_memory(error);
    *checked = (be_checked){.type = *real, .real = real};
    checked->type.reset = reset;
    checked->type.observe = observe;
    checked->type.step = step;
    batch->type = &checked->type;
    return BE_OK;
}
