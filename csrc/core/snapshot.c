#include "core/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch.h"
#include "core/driver.h"
#include "core/error.h"
#include "core/math/fp.h"
#include "core/params.h"
#include "core/system/clock.h"

static const char MAGIC[8] = {'B', 'A', 'T', 'C', 'H', 'E', 'N', 'V'};

/* FNV-1a (Fowler, Noll, Vo), over words of eight bytes; the remaining bytes one by one. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *p = data;
    const uint64_t prime = UINT64_C(0x100000001b3);
    for (; bytes >= 8; bytes -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        hash = (hash ^ word) * prime;
        hash ^= hash >> 29;
    }
    for (; bytes; bytes--) hash = (hash ^ *p++) * prime;
    return hash ^ hash >> 32;
}
#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t hash_text(uint64_t hash, const char *text) { return hash_bytes(hash, text, strlen(text) + 1); }

static int count_params(const be_env_type *type) {
    int count = 0;
    while (type->params && type->params[count].name) count++;
    return count;
}

static uint64_t hash_layout(const be_batch *batch) {
    const be_env_type *type = batch->type;
    uint64_t hash = hash_text(HASH_START, type->name);
    for (int i = 0; type->state[i].name; i++) {
        hash = hash_text(hash, type->state[i].name);
        const int64_t shape[] = {type->state[i].dtype, batch->field_size[i]};
        hash = hash_bytes(hash, shape, sizeof shape);
    }
    for (int i = 0; i < count_params(type); i++) hash = hash_text(hash, type->params[i].name);
    be_lane_column columns[BE_MAX_LANE_COLUMNS];
    int count = be_lane_columns(batch, columns);
    for (int j = 0; j < count; j++) hash = hash_bytes(hash, &columns[j].bytes, sizeof columns[j].bytes);
    const uint64_t engine_bytes = be_engine_bytes(batch);
    hash = hash_bytes(hash, &engine_bytes, sizeof engine_bytes);
    const be_transform *transform = &batch->driver->transform;
    if (transform->frame_stack) {
        const be_space *space = &batch->space[be_observation_port(batch)];
        const int64_t frame[] = {transform->frame_stack, be_frame_dtype(space, transform),
                                 be_frame_size(space, transform)};
        hash = hash_bytes(hash, frame, sizeof frame);
    }
    return hash;
}

/* Of the map and of TEXT params. */
static uint64_t hash_grid(const be_batch *batch) {
    const int64_t shape[] = {batch->grid.rows, batch->grid.columns};
    uint64_t hash = hash_bytes(HASH_START, shape, sizeof shape);
    if (batch->grid.cells) hash = hash_bytes(hash, batch->grid.cells, (size_t)(shape[0] * shape[1]));
    for (int i = 0; i < count_params(batch->type); i++) {
        if (batch->texts[i]) hash = hash_text(hash, batch->texts[i]);
    }
    return hash;
}

static int has_texts(const be_batch *batch) {
    for (int i = 0; i < count_params(batch->type); i++) {
        if (batch->texts[i]) return 1;
    }
    return 0;
}

/* Columns start at multiples of eight bytes. */
static int64_t padded(int64_t bytes) { return (bytes + 7) / 8 * 8; }

static int64_t total_bytes(const be_batch *batch, int64_t count, int64_t param_rows) {
    be_lane_column columns[BE_MAX_LANE_COLUMNS];
    int num_columns = be_lane_columns(batch, columns);
    int64_t bytes = (int64_t)sizeof(be_snapshot_header) + param_rows * count_params(batch->type) * 8 + 8;
    for (int j = 0; j < num_columns; j++) bytes += padded(count * (int64_t)columns[j].bytes);
    return bytes + count * (int64_t)be_engine_bytes(batch);
}

int64_t be_snapshot_bytes(const be_batch *batch, int64_t count) {
    return total_bytes(batch, count, batch->per_lane ? count : 1);
}

void be_snapshot_save(const be_batch *batch, const int64_t *lanes, int64_t count, void *bytes) {
    const int num_params = count_params(batch->type);
    be_snapshot_header header = {
        .version = BE_SNAPSHOT_VERSION,
        .autoreset = batch->driver->autoreset,
        .bytes = (uint64_t)be_snapshot_bytes(batch, count),
        .count = count,
        .layout = hash_layout(batch),
        .grid = hash_grid(batch),
        .param_rows = batch->per_lane ? count : 1,
        .num_params = num_params,
    };
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    unsigned char *next = bytes;
    memcpy(next, &header, sizeof header);
    next += sizeof header;
    for (int64_t k = 0; k < header.param_rows; k++) {
        for (int j = 0; j < num_params; j++, next += 8) {
            double value = be_param_of(batch, j, count ? lanes[k] : 0);
            memcpy(next, &value, 8);
        }
    }
    be_lane_column columns[BE_MAX_LANE_COLUMNS];
    int num_columns = be_lane_columns(batch, columns);
    for (int j = 0; j < num_columns; j++) {
        const size_t size = columns[j].bytes;
        const unsigned char *data = columns[j].data;
        for (int64_t k = 0; k < count; k++) memcpy(next + (size_t)k * size, data + (size_t)lanes[k] * size, size);
        const size_t used = (size_t)count * size, all = (size_t)padded((int64_t)used);
        memset(next + used, 0, all - used);
        next += all;
    }
    const size_t engine_bytes = be_engine_bytes(batch);
    for (int64_t k = 0; k < count && engine_bytes; k++, next += engine_bytes) batch->type->save(batch, lanes[k], next);
    uint64_t checksum = hash_bytes(HASH_START, bytes, (size_t)(next - (unsigned char *)bytes));
    memcpy(next, &checksum, 8);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

static int foreign(be_error *error, const char *what) {
    return be_fail(error, BE_ERROR_VALUE, -1, "this is not a snapshot for this environment: %s", what);
}

static int check_params(const be_batch *batch, const be_snapshot_header *header, const unsigned char *rows,
                        be_error *error) {
    const be_param *table = batch->type->params;
    for (int64_t k = 0; k < header->param_rows; k++) {
        for (int j = 0; j < header->num_params; j++, rows += 8) {
            double value;
            memcpy(&value, rows, 8);
            if (!be_may_differ(&table[j])) {
                if (value != batch->params[j]) {
                    return be_fail(error, BE_ERROR_VALUE, -1,
                                   "the snapshot was taken with another %s (one value for all lanes)", table[j].name);
                }
            } else if (!be_param_holds(&table[j], value)) {
                return be_fail(error, BE_ERROR_VALUE, -1, "the snapshot is damaged: %s is out of range", table[j].name);
            }
        }
    }
    return BE_OK;
}

/* `count` values of a field. */
static int check_integers(const be_field *field, const unsigned char *rows, int64_t count, be_error *error) {
    if (field->low == 0 && field->high == 0 && field->dtype != BE_BOOL) return BE_OK;
    const int64_t low = field->low, high = field->dtype == BE_BOOL ? 1 : field->high;
    for (int64_t k = 0; k < count; k++) {
        int64_t value = 0;
        int32_t narrow;
        switch (field->dtype) {
        case BE_I64:
            memcpy(&value, rows + 8 * k, 8);
            break;
        case BE_I32:
            memcpy(&narrow, rows + 4 * k, 4);
            value = narrow;
            break;
        case BE_BOOL:
        case BE_U8:
            value = rows[k];
            break;
        case BE_I8:
            value = (int8_t)rows[k];
            break;
        default:
            return BE_OK;
        }
        if (value < low || value > high) {
            return be_fail(error, BE_ERROR_VALUE, -1, "%s=%lld is not in %lld..%lld", field->name, (long long)value,
                           (long long)low, (long long)high);
        }
    }
    return BE_OK;
}

/* The driver's own columns: see be_lane_columns for their order. */
static int check_driver_columns(const be_batch *batch, int autoreset, const unsigned char *const *rows, int64_t count,
                                be_error *error) {
    /* In a SAME_STEP batch, only lanes whose restart has failed are pending. */
    const int may_wait = batch->driver->autoreset != BE_SAME_STEP || autoreset == BE_SAME_STEP;
    for (int64_t k = 0; k < count; k++) {
        be_rng rng;
        int32_t elapsed;
        memcpy(&rng, rows[BE_COLUMN_RNG] + (size_t)k * sizeof rng, sizeof rng);
        memcpy(&elapsed, rows[BE_COLUMN_ELAPSED] + 4 * k, 4);
        uint8_t pending = rows[BE_COLUMN_PENDING][k];
        if (rng.has_buffered > 1 || (rng.inc_lo & 1) == 0) return foreign(error, "a random stream is damaged");
        if (elapsed < 0) return foreign(error, "a step count is damaged");
        if (pending > 1) return foreign(error, "a flag is damaged");
        if (pending && !may_wait) {
            return be_fail(error, BE_ERROR_VALUE, -1,
                           "lane %lld of the snapshot has finished and waits for its reset, which a SameStep env never "
                           "does: take the snapshot before or after",
                           (long long)k);
        }
    }
    return BE_OK;
}

/* Columns of `count` lanes of a batch with this autoreset mode, in the order of be_lane_columns. */
static int check_columns(const be_batch *batch, int autoreset, const unsigned char *const *starts, int64_t count,
                         be_error *error) {
    const be_field *fields = batch->type->state;
    int num_fields = 0;
    for (; fields[num_fields].name; num_fields++) {
        const int64_t values = count * batch->field_size[num_fields];
        const int status = check_integers(&fields[num_fields], starts[num_fields], values, error);
        if (status != BE_OK) return status;
    }
    int status = check_driver_columns(batch, autoreset, starts + num_fields, count, error);
    if (status == BE_OK && batch->type->check_state) {
        error->status = BE_OK;
        status = batch->type->check_state(batch, (const void *const *)starts, count, error);
        if (status != BE_OK) status = be_unexplained(batch->type, error);
    }
    return status;
}

/* The same for a snapshot, which is damaged if its columns are impossible. */
static int check_snapshot(const be_batch *batch, int autoreset, const unsigned char *const *starts, int64_t count,
                          be_error *error) {
    static const char damaged[] = "the snapshot is damaged: ";
    const int status = check_columns(batch, autoreset, starts, count, error);
    char message[sizeof error->message];
    if (status != BE_ERROR_VALUE || strstr(error->message, "snapshot")) return status;
    memcpy(message, error->message, sizeof message);
    snprintf(error->message, sizeof error->message, "%s%.*s", damaged, (int)(sizeof message - sizeof damaged), message);
    return status;
}

/* Where each column of a snapshot starts. */
static int find_columns(const be_batch *batch, const be_snapshot_header *header, const void *bytes,
                        const unsigned char **starts, be_lane_column *columns) {
    int num_columns = be_lane_columns(batch, columns);
    const unsigned char *next = bytes;
    next += sizeof *header + (size_t)(header->param_rows * header->num_params) * 8;
    for (int j = 0; j < num_columns; j++) {
        starts[j] = next;
        next += padded(header->count * (int64_t)columns[j].bytes);
    }
    starts[num_columns] = next; /* bytes that the type's save() has written */
    return num_columns;
}

int be_snapshot_check(const be_batch *batch, const void *bytes, int64_t num_bytes, be_error *error) {
    be_snapshot_header header;
    if (num_bytes < (int64_t)sizeof header + 8) return foreign(error, "too few bytes");
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, MAGIC, sizeof MAGIC) != 0) return foreign(error, "it does not start with BATCHENV");
    if (header.version != BE_SNAPSHOT_VERSION) {
        return be_fail(error, BE_ERROR_VALUE, -1, "the snapshot has version %u; this batchenv reads version %d",
                       header.version, BE_SNAPSHOT_VERSION);
    }
    if (header.layout != hash_layout(batch)) return foreign(error, "another env type, or other built-in options");
    if (header.grid != hash_grid(batch)) {
        if (!has_texts(batch)) return foreign(error, "another map");
        return foreign(error, batch->grid.cells ? "another map or text as a parameter" : "another text as a parameter");
    }
    /* Sizes are checked before anything is computed from them, so nothing below can overflow. */
    if (header.count < 0 || header.count > INT32_MAX) return foreign(error, "a wrong number of lanes");
    if (header.param_rows != 1 && header.param_rows != header.count) return foreign(error, "a wrong number of params");
    if (header.num_params != count_params(batch->type)) return foreign(error, "a wrong number of params");
    if (header.bytes != (uint64_t)num_bytes || num_bytes != total_bytes(batch, header.count, header.param_rows)) {
        return foreign(error, "its length is wrong");
    }
    uint64_t checksum;
    memcpy(&checksum, (const unsigned char *)bytes + num_bytes - 8, 8);
    if (checksum != hash_bytes(HASH_START, bytes, (size_t)num_bytes - 8))
        return foreign(error, "its checksum is wrong");

    int status = check_params(batch, &header, (const unsigned char *)bytes + sizeof header, error);
    if (status != BE_OK) return status;
    be_lane_column columns[BE_MAX_LANE_COLUMNS];
    const unsigned char *starts[BE_MAX_LANE_COLUMNS + 1];
    find_columns(batch, &header, bytes, starts, columns);
    return check_snapshot(batch, header.autoreset, starts, header.count, error);
}

int64_t be_snapshot_count(const void *bytes) {
    be_snapshot_header header;
    memcpy(&header, bytes, sizeof header);
    return header.count;
}

void be_snapshot_params(const void *bytes, int64_t row, double *params) {
    be_snapshot_header header;
    memcpy(&header, bytes, sizeof header);
    if (header.param_rows == 1) row = 0;
    const unsigned char *rows = (const unsigned char *)bytes + sizeof header;
    memcpy(params, rows + (size_t)(row * header.num_params) * 8, (size_t)header.num_params * 8);
}

/* saved: what the type's save() has written, a row per lane. */
static void load_engine(be_batch *batch, int64_t lane, const unsigned char *saved, int64_t row) {
    const size_t engine_bytes = be_engine_bytes(batch);
    if (engine_bytes == 0) return;
    const be_fp before = be_fp_enter(); /* engines recompute what their state does not hold */
    batch->type->load(batch, lane, saved + (size_t)row * engine_bytes);
    be_fp_leave(&before);
}

/* What a lane has besides columns. */
static void load_rest(be_batch *batch, int64_t lane, const unsigned char *saved, int64_t row) {
    load_engine(batch, lane, saved, row);
    /* Seconds start again here, since clocks differ between machines. */
    if (batch->driver->episode_start) batch->driver->episode_start[lane] = be_now_seconds();
}

int be_snapshot_waits(const be_batch *batch, const void *bytes, int64_t row) {
    be_snapshot_header header;
    memcpy(&header, bytes, sizeof header);
    be_lane_column columns[BE_MAX_LANE_COLUMNS];
    const unsigned char *starts[BE_MAX_LANE_COLUMNS + 1];
    find_columns(batch, &header, bytes, starts, columns);
    int num_fields = 0;
    while (batch->type->state[num_fields].name) num_fields++;
    return starts[num_fields + BE_COLUMN_PENDING][row];
}

void be_snapshot_load(be_batch *batch, const void *bytes, const int64_t *rows, const int64_t *lanes, int64_t count) {
    be_snapshot_header header;
    memcpy(&header, bytes, sizeof header);
    be_lane_column columns[BE_MAX_LANE_COLUMNS];
    const unsigned char *starts[BE_MAX_LANE_COLUMNS + 1];
    int num_columns = find_columns(batch, &header, bytes, starts, columns);
    for (int j = 0; j < num_columns; j++) {
        const size_t size = columns[j].bytes;
        unsigned char *data = columns[j].data;
        for (int64_t k = 0; k < count; k++) {
            memcpy(data + (size_t)lanes[k] * size, starts[j] + (size_t)rows[k] * size, size);
        }
    }
    for (int64_t k = 0; k < count; k++) load_rest(batch, lanes[k], starts[num_columns], rows[k]);
}

/* ---- single fields ---------------------------------------------------------------------------------- */

/* Puts the rows of lanes listed into a column: row k into lane lanes[k]. */
static void put_rows(unsigned char *column, size_t bytes, const void *rows, const int64_t *lanes, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
        memcpy(column + (size_t)lanes[k] * bytes, (const unsigned char *)rows + (size_t)k * bytes, bytes);
    }
}

int be_state_set(be_batch *batch, const void *const *fields, const int32_t *elapsed, const int64_t *lanes,
                 int64_t count, be_error *error) {
    be_lane_column columns[BE_MAX_LANE_COLUMNS];
    const unsigned char *future[BE_MAX_LANE_COLUMNS]; /* all lanes, so that errors name them by their numbers */
    const void *given[BE_MAX_LANE_COLUMNS] = {NULL};
    const int num_columns = be_lane_columns(batch, columns);
    const size_t lane_count = (size_t)batch->num_lanes, engine_bytes = be_engine_bytes(batch);
    size_t bytes = engine_bytes;
    for (int j = 0; j < num_columns; j++) bytes += (size_t)padded((int64_t)(lane_count * columns[j].bytes));
    unsigned char *const buffer = malloc(bytes);
    if (buffer == NULL) return be_out_of_memory(error);
    int num_fields = 0;
    for (; batch->type->state[num_fields].name; num_fields++) given[num_fields] = fields[num_fields];
    given[num_fields + BE_COLUMN_ELAPSED] = elapsed;
    unsigned char *next = buffer + engine_bytes;
    for (int j = 0; j < num_columns; j++) {
        future[j] = memcpy(next, columns[j].data, lane_count * columns[j].bytes);
        if (given[j]) put_rows(next, columns[j].bytes, given[j], lanes, count);
        next += padded((int64_t)(lane_count * columns[j].bytes));
    }
    const int status = check_columns(batch, (int)batch->driver->autoreset, future, batch->num_lanes, error);
    for (int64_t k = 0; k < count && status == BE_OK; k++) {
        if (engine_bytes) batch->type->save(batch, lanes[k], buffer);
        for (int j = 0; j < num_columns; j++) {
            const size_t size = columns[j].bytes;
            if (given[j]) put_rows(columns[j].data, size, (const char *)given[j] + (size_t)k * size, &lanes[k], 1);
        }
        load_engine(batch, lanes[k], buffer, 0);
    }
    free(buffer);
    return status;
}

/* ---- all lanes, column by column -------------------------------------------------------------------- */

int be_columns_sizes(const be_batch *batch, size_t *sizes) {
    be_lane_column columns[BE_MAX_LANE_COLUMNS];
    int count = be_lane_columns(batch, columns);
    for (int j = 0; j < count; j++) sizes[j] = columns[j].bytes;
    sizes[count] = be_engine_bytes(batch);
    count += sizes[count] > 0;
    if (batch->driver->agenda) sizes[count++] = sizeof(be_agenda_place);
    return count;
}

void be_columns_save(const be_batch *batch, unsigned char *const *to) {
    be_lane_column columns[BE_MAX_LANE_COLUMNS];
    const int count = be_lane_columns(batch, columns);
    for (int j = 0; j < count; j++) memcpy(to[j], columns[j].data, (size_t)batch->num_lanes * columns[j].bytes);
    const size_t engine_bytes = be_engine_bytes(batch);
    for (int64_t k = 0; k < batch->num_lanes && engine_bytes; k++) {
        batch->type->save(batch, k, to[count] + (size_t)k * engine_bytes);
    }
    const be_agenda *agenda = batch->driver->agenda;
    if (agenda)
        memcpy(to[count + (engine_bytes > 0)], agenda->places, (size_t)batch->num_lanes * sizeof *agenda->places);
}

/* Whether these are places that lanes of the agenda may have. */
static int check_places(const be_agenda *agenda, const unsigned char *rows, int64_t count, be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        be_agenda_place place;
        memcpy(&place, rows + (size_t)k * sizeof place, sizeof place);
        if (place.stream >= 0 && place.stream < agenda->streams && place.taken >= 0 && place.entry >= BE_NO_ENTRY &&
            place.entry < agenda->count && place.next >= BE_UNDECIDED && place.next < agenda->count) {
            continue;
        }
        return be_fail(error, BE_ERROR_VALUE, k, "lane %lld has a place in a plan that there is not", (long long)k);
    }
    return BE_OK;
}

int be_columns_load(be_batch *batch, const unsigned char *const *from, be_error *error) {
    be_lane_column columns[BE_MAX_LANE_COLUMNS];
    const int count = be_lane_columns(batch, columns);
    int status = check_snapshot(batch, (int)batch->driver->autoreset, from, batch->num_lanes, error);
    const be_agenda *agenda = batch->driver->agenda;
    const unsigned char *places = agenda ? from[count + (be_engine_bytes(batch) > 0)] : NULL;
    if (status == BE_OK && agenda) status = check_places(agenda, places, batch->num_lanes, error);
    if (status != BE_OK) return status;
    if (agenda) memcpy(agenda->places, places, (size_t)batch->num_lanes * sizeof *agenda->places);
    for (int j = 0; j < count; j++) memcpy(columns[j].data, from[j], (size_t)batch->num_lanes * columns[j].bytes);
    if (!be_engine_bytes(batch) && !batch->driver->episode_start) return BE_OK;
    for (int64_t k = 0; k < batch->num_lanes; k++) load_rest(batch, k, from[count], k);
    return BE_OK;
}
