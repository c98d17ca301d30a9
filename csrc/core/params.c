#include "core/params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/driver.h"
#include "core/error.h"
#include "core/math/fp.h"
#include "core/space.h"
#include "core/system/memory.h"

/* The driver has room for several sets of spaces, of which the present one comes first. */
enum { PRESENT, OF_TABLE, OF_FIRST_LANE, OF_LANE, SPACES };

static be_space *spaces_of(const be_batch *batch, int which) {
    return batch->driver->space + (size_t)(which * batch->driver->num_ports);
}

static int copy_grid(be_batch *batch, const be_grid *grid) {
    uint8_t *cells = malloc((size_t)(grid->rows * grid->columns));
    if (cells == NULL) return -1;
    memcpy(cells, grid->cells, (size_t)(grid->rows * grid->columns));
    batch->grid = (be_grid){cells, grid->rows, grid->columns};
    return 0;
}

/* Copies the values of TEXT params. */
static int copy_texts(be_batch *batch, const char *const *texts) {
    const be_param *table = batch->type->params;
    char **own = batch->driver->texts;
    batch->texts = (const char *const *)own;
    for (int i = 0; table && table[i].name; i++) {
        if (table[i].kind != BE_PARAM_TEXT) continue;
        const char *text = texts ? texts[i] : table[i].text ? table[i].text : "";
        const size_t bytes = strlen(text) + 1;
        own[i] = malloc(bytes);
        if (own[i] == NULL) return -1;
        memcpy(own[i], text, bytes);
    }
    return 0;
}

int be_params_open(be_batch *batch, const be_grid *grid, const char *const *texts, be_error *error) {
    struct be_driver *driver = batch->driver;
    const be_port *ports = batch->type->ports;
    while (ports[driver->num_ports].name) driver->num_ports++;
    driver->space = calloc(SPACES * (size_t)driver->num_ports, sizeof *driver->space);
    if (driver->space == NULL) return be_out_of_memory(error);
    batch->space = driver->space;
    for (int k = 0; k < driver->num_ports; k++) spaces_of(batch, OF_TABLE)[k] = be_space_of_port(&ports[k]);
    if ((grid && copy_grid(batch, grid) != 0) || copy_texts(batch, texts) != 0) return be_out_of_memory(error);
    return BE_OK;
}

void be_params_close(be_batch *batch) {
    free((void *)batch->grid.cells);
    for (int i = 0; i < BE_MAX_PARAMS; i++) free(batch->driver->texts[i]);
    be_aligned_free(batch->driver->values);
    free(batch->driver->space);
}

/* ---- one set of params ------------------------------------------------------------------------------ */

int be_param_holds(const be_param *p, double value) {
    int count = 0;
    if (!isfinite(value) || (p->kind != BE_PARAM_FLOAT && value != floor(value))) return 0;
    switch (p->kind) {
    case BE_PARAM_TEXT:
        return value == 0;
    case BE_PARAM_BOOL:
        return value == 0 || value == 1;
    case BE_PARAM_CHOICE:
        while (p->choices[count]) count++;
        return value >= 0 && value < count;
    default:
        return value >= p->low && value <= p->high;
    }
}

static int check_value(const char *what, const be_param *p, double value, int64_t lane, be_error *error) {
    if (be_param_holds(p, value)) return BE_OK;
    const char *number = p->kind == BE_PARAM_INT ? "whole" : "finite";
    if (lane < 0) {
        return be_fail(error, BE_ERROR_VALUE, -1, "%s%s=%.17g must be a %s number between %g and %g", what, p->name,
                       value, number, p->low, p->high);
    }
    return be_fail(error, BE_ERROR_VALUE, lane, "%s%s=%.17g of lane %lld must be a %s number between %g and %g", what,
                   p->name, value, (long long)lane, number, p->low, p->high);
}

static int check_values(const char *what, const be_param *table, const double *values, be_error *error) {
    for (int i = 0; table && table[i].name; i++) {
        int status = check_value(what, &table[i], values[i], -1, error);
        if (status != BE_OK) return status;
    }
    return BE_OK;
}

/* Checks the sizes of fields that prepare() has set. */
static int check_field_sizes(const be_env_type *type, const be_setup *setup, be_error *error) {
    for (int k = 0; type->state[k].name; k++) {
        if (setup->field_size[k] >= 1 && setup->field_size[k] <= BE_MAX_FIELD_SIZE) continue;
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "type %s: prepare() gives the field %s %d values per lane, which must be from 1 to %d",
                       type->name, type->state[k].name, setup->field_size[k], BE_MAX_FIELD_SIZE);
    }
    return BE_OK;
}

/* `space` is where the spaces go: room for all ports. */
static int prepare(const be_batch *batch, const double *params, be_setup *setup, be_space *space, be_error *error) {
    memset(setup, 0, sizeof *setup);
    setup->params = params;
    setup->texts = batch->texts;
    setup->grid = batch->grid;
    setup->engine = batch->engine;
    setup->flags = batch->type->flags;
    setup->space = space;
    memcpy(setup->space, spaces_of(batch, OF_TABLE), (size_t)batch->driver->num_ports * sizeof *setup->space);
    for (int k = 0; batch->type->state[k].name; k++) setup->field_size[k] = batch->type->state[k].size;
    error->status = BE_OK;
    if (batch->type->prepare && batch->type->prepare(setup, error) != BE_OK) return be_unexplained(batch->type, error);
    const int status = be_check_spaces(batch->type, setup->space, error);
    return status == BE_OK ? check_field_sizes(batch->type, setup, error) : status;
}

static void widen(be_space *space, const be_space *other) {
    for (int i = 0; i < BE_MAX_BOUNDS; i++) {
        if (other->low[i] < space->low[i]) space->low[i] = other->low[i];
        if (other->high[i] > space->high[i]) space->high[i] = other->high[i];
    }
}

static int same_shape(const be_space *space, const be_space *other) {
    return space->kind == other->kind && space->dtype == other->dtype && space->ndim == other->ndim &&
           memcmp(space->shape, other->shape, sizeof space->shape) == 0;
}

/* ---- the params of all lanes ------------------------------------------------------------------------ */

/* The first field that has another size in the one set than in the other; -1: none. */
static int other_size(const be_env_type *type, const int *sizes, const int *others) {
    for (int k = 0; type->state[k].name; k++) {
        if (sizes[k] != others[k]) return k;
    }
    return -1;
}

static void keep_values(be_batch *batch, double *values, size_t bytes) {
    be_aligned_free(batch->driver->values);
    batch->driver->values = values;
    batch->driver->values_bytes = bytes;
}

/* Makes columns for values that differ from lane to lane, and blocks of equal values for the others. `varies` has one
 * bit per constant. */
static int make_columns(be_batch *batch, const double *params, const double *const *columns, uint64_t varies,
                        be_error *error) {
    const size_t n = (size_t)batch->num_lanes, padded = (n + 63) / 64 * 64;
    int num_params = 0;
    size_t count = 0;
    for (; batch->type->params[num_params].name; num_params++) count += columns[num_params] ? padded : BE_LANE_BLOCK;
    for (int k = 0; k < BE_MAX_CONSTANTS; k++) count += varies >> k & 1 ? padded : BE_LANE_BLOCK;
    double *values = be_aligned_new(64, count * sizeof *values), *next = values;
    if (values == NULL) return be_fail(error, BE_ERROR_MEMORY, -1, "cannot allocate params for %zu lanes", n);
    double lane_params[BE_MAX_PARAMS];
    memcpy(lane_params, params, sizeof lane_params);
    be_setup setup;
    for (int j = 0; j < num_params; j++) {
        batch->param_columns[j] = (be_column){next, columns[j] ? -1 : 0};
        for (size_t i = 0; i < (columns[j] ? padded : BE_LANE_BLOCK); i++) {
            *next++ = columns[j] ? columns[j][i < n ? i : n - 1] : params[j];
        }
    }
    double *constants = next;
    for (int k = 0; k < BE_MAX_CONSTANTS; k++) {
        batch->constant_columns[k] = (be_column){next, varies >> k & 1 ? -1 : 0};
        next += varies >> k & 1 ? padded : BE_LANE_BLOCK;
    }
    for (size_t i = 0; i < padded; i++) {
        for (int j = 0; j < num_params && i < n; j++) {
            if (columns[j]) lane_params[j] = columns[j][i];
        }
        if (i < n) (void)prepare(batch, lane_params, &setup, spaces_of(batch, OF_LANE), error);
        next = constants;
        for (int k = 0; k < BE_MAX_CONSTANTS; k++) {
            size_t size = varies >> k & 1 ? padded : BE_LANE_BLOCK;
            if (i < size) next[i] = setup.constants[k];
            next += size;
        }
    }
    keep_values(batch, values, count * sizeof *values);
    return BE_OK;
}

/* Checks the values that differ from lane to lane. Returns whether there are any, or -1. */
static int check_columns(const be_batch *batch, const double *const *columns, be_error *error) {
    const be_param *table = batch->type->params;
    int any = 0;
    for (int j = 0; columns && table[j].name; j++) {
        if (columns[j] == NULL) continue;
        any = 1;
        if (!be_may_differ(&table[j])) {
            be_fail(error, BE_ERROR_VALUE, -1, "%s must be one value for all lanes", table[j].name);
            return -1;
        }
        for (int64_t i = 0; i < batch->num_lanes; i++) {
            if (check_value("", &table[j], columns[j][i], i, error) != BE_OK) return -1;
        }
    }
    return any;
}

/* Takes into account what a lane's params have given (`setup`): notes in `varies` which constants differ from lane 0's,
 * and makes the spaces and flags of `all`, which starts as lane 0's setup, hold for this lane, too. */
static int join_lane(const be_batch *batch, int64_t lane, const be_setup *setup, be_setup *all, uint64_t *varies,
                     be_error *error) {
    for (int k = 0; k < BE_MAX_CONSTANTS; k++) {
        *varies |= (uint64_t)(memcmp(&setup->constants[k], &all->constants[k], sizeof(double)) != 0) << k;
    }
    for (int k = 0; k < batch->driver->num_ports; k++) {
        if (!same_shape(&all->space[k], &setup->space[k])) {
            return be_fail(error, BE_ERROR_VALUE, lane,
                           "the params of lane %lld give \"%s\" another shape or dtype than those of lane 0: a param "
                           "that decides about these must have one value for all lanes",
                           (long long)lane, batch->type->ports[k].name);
        }
        widen(&all->space[k], &setup->space[k]);
    }
    const int other = other_size(batch->type, all->field_size, setup->field_size);
    if (other >= 0) {
        return be_fail(error, BE_ERROR_VALUE, lane,
                       "the params of lane %lld give the state's field %s %d values, and those of lane 0 give it %d: "
                       "a param that decides about this must have one value for all lanes",
                       (long long)lane, batch->type->state[other].name, setup->field_size[other],
                       all->field_size[other]);
    }
    all->flags &= setup->flags;
    return BE_OK;
}

static int prepare_lanes(const be_batch *batch, const double *params, const double *const *columns, be_setup *all,
                         uint64_t *varies, be_error *error) {
    double lane_params[BE_MAX_PARAMS];
    memcpy(lane_params, params, sizeof lane_params);
    be_setup setup;
    int status = BE_OK;
    for (int64_t i = 0; i < batch->num_lanes && status == BE_OK; i++) {
        for (int j = 0; batch->type->params[j].name; j++) {
            if (columns[j]) lane_params[j] = columns[j][i];
        }
        status = prepare(batch, lane_params, &setup, spaces_of(batch, i ? OF_LANE : OF_FIRST_LANE), error);
        if (status != BE_OK) {
            error->lane = i;
            const size_t length = strlen(error->message);
            snprintf(error->message + length, sizeof error->message - length, " (lane %lld)", (long long)i);
            return status;
        }
        if (i == 0) *all = setup;
        status = join_lane(batch, i, &setup, all, varies, error);
    }
    return status;
}

/* Whether two lanes have the same params, those that the agenda sets excepted. */
static int same_others(const be_batch *batch, const double *const *columns, int64_t lane, int64_t other) {
    const be_agenda *agenda = batch->driver->agenda;
    for (int j = 0; batch->type->params[j].name; j++) {
        int planned = 0;
        for (int k = 0; k < agenda->num_params; k++) planned |= agenda->params[k] == j;
        if (!planned && columns[j] && columns[j][lane] != columns[j][other]) return 0;
    }
    return 1;
}

/* Takes into account what the entries of the batch's agenda give a lane: see join_lane. */
static int join_entries(const be_batch *batch, const double *params, const double *const *columns, int64_t lane,
                        be_setup *all, uint64_t *varies, be_error *error) {
    const be_agenda *agenda = batch->driver->agenda;
    double own[BE_MAX_PARAMS];
    for (int j = 0; batch->type->params[j].name; j++) own[j] = columns[j] ? columns[j][lane] : params[j];
    be_setup setup;
    int status = BE_OK;
    for (int64_t e = 0; e < agenda->count && status == BE_OK; e++) {
        for (int k = 0; k < agenda->num_params && status == BE_OK; k++) {
            const int j = agenda->params[k];
            own[j] = agenda->values[e * agenda->num_params + k];
            status = check_value("", &batch->type->params[j], own[j], -1, error);
        }
        if (status == BE_OK) status = prepare(batch, own, &setup, spaces_of(batch, OF_LANE), error);
        if (status == BE_OK) status = join_lane(batch, lane, &setup, all, varies, error);
        if (status == BE_OK) continue;
        error->lane = -1;
        const size_t length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, " (entry %lld of the plan, in lane %lld)",
                 (long long)e, (long long)lane);
    }
    return status;
}

/* Whether a batch that is made already can have these params: its rows and columns stay as they are. */
static int check_sizes(const be_batch *batch, const be_setup *setup, be_error *error) {
    if (batch->driver->inner.count == 0) return BE_OK;
    for (int k = 0; k < batch->driver->num_ports; k++) {
        if (same_shape(&setup->space[k], &batch->space[k])) continue;
        return be_fail(error, BE_ERROR_VALUE, -1, "these params change the shape of a space: make a new env with them");
    }
    if (other_size(batch->type, setup->field_size, batch->field_size) < 0) return BE_OK;
    return be_fail(error, BE_ERROR_VALUE, -1,
                   "these params change the size of a lane's state: make a new env with them");
}

/* The columns of params with a value per lane: those given, and those that an agenda sets, which have one, too. Returns
 * memory to be freed, or NULL if there is none; `listed` is where the columns are listed. */
static double *list_columns(const be_batch *batch, const double *params, const double *const *columns,
                            const double **listed) {
    const be_agenda *agenda = batch->driver->agenda;
    const size_t n = (size_t)batch->num_lanes;
    for (int j = 0; j < BE_MAX_PARAMS && batch->type->params[j].name; j++) listed[j] = columns ? columns[j] : NULL;
    double *values = malloc(n * (size_t)agenda->num_params * sizeof *values), *next = values;
    for (int k = 0; values && k < agenda->num_params; k++) {
        const int j = agenda->params[k];
        if (listed[j]) continue;
        for (size_t i = 0; i < n; i++) next[i] = params[j];
        listed[j] = next;
        next += n;
    }
    return values;
}

static int configure_lanes(be_batch *batch, const double *given, const double *const *columns, be_error *error) {
    const be_param *table = batch->type->params;
    double params[BE_MAX_PARAMS] = {0};
    for (int j = 0; table && table[j].name; j++) params[j] = given ? given[j] : table[j].value;
    be_setup setup;
    uint64_t varies = 0;
    int status = check_values("", table, params, error);
    if (status == BE_OK) status = prepare(batch, params, &setup, spaces_of(batch, OF_FIRST_LANE), error);
    if (status != BE_OK) return status;
    const int differ = check_columns(batch, columns, error);
    if (differ < 0) return (int)error->status;
    if (differ) status = prepare_lanes(batch, params, columns, &setup, &varies, error);
    const be_agenda *agenda = batch->driver->agenda;
    for (int64_t i = 0; status == BE_OK && agenda && agenda->num_params && i < batch->num_lanes; i++) {
        if (i && same_others(batch, columns, i, i - 1)) continue;
        status = join_entries(batch, params, columns, i, &setup, &varies, error);
    }
    if (status == BE_OK) status = check_sizes(batch, &setup, error);
    if (status == BE_OK && differ) status = make_columns(batch, params, columns, varies, error);
    if (status != BE_OK) return status;
    if (!differ) keep_values(batch, NULL, 0);
    batch->per_lane = differ;
    batch->driver->configured++;
    memcpy(batch->params, params, sizeof batch->params);
    memcpy(batch->constants, setup.constants, sizeof batch->constants);
    memcpy(batch->field_size, setup.field_size, sizeof batch->field_size);
    memcpy(spaces_of(batch, PRESENT), setup.space, (size_t)batch->driver->num_ports * sizeof *setup.space);
    batch->flags = setup.flags;
    return BE_OK;
}

static int configure(be_batch *batch, const double *given, const double *const *columns, be_error *error) {
    const be_agenda *agenda = batch->driver->agenda;
    if (agenda == NULL || agenda->num_params == 0) return configure_lanes(batch, given, columns, error);
    const double *listed[BE_MAX_PARAMS];
    double *memory = list_columns(batch, given, columns, listed);
    if (memory == NULL) return be_out_of_memory(error);
    const int status = configure_lanes(batch, given, listed, error);
    free(memory);
    return status;
}

int be_lane_configure(be_batch *batch, int64_t lane, const int *which, const double *values, int count,
                      be_error *error) {
    be_space space[BE_MAX_PORTS];
    const be_param *table = batch->type->params;
    double params[BE_MAX_PARAMS];
    for (int j = 0; table[j].name; j++) params[j] = be_param_of(batch, j, lane);
    for (int k = 0; k < count; k++) params[which[k]] = values[k];
    be_setup setup;
    const int status = prepare(batch, params, &setup, space, error);
    if (status != BE_OK) return status;
    for (int k = 0; k < count; k++) ((double *)batch->param_columns[which[k]].values)[lane] = values[k];
    for (int k = 0; k < BE_MAX_CONSTANTS; k++) {
        const be_column *column = &batch->constant_columns[k];
        if (column->mask) ((double *)column->values)[lane] = setup.constants[k];
    }
    return BE_OK;
}

int be_batch_configure(be_batch *batch, const double *params, const double *const *columns, be_error *error) {
    const be_fp before = be_fp_enter();
    const int status = configure(batch, params, columns, error);
    be_fp_leave(&before);
    return status;
}

int be_batch_check_options(const be_batch *batch, const double *options, be_error *error) {
    int status = check_values("reset option ", batch->type->options, options, error);
    if (status != BE_OK || batch->type->check_options == NULL) return status;
    error->status = BE_OK;
    return batch->type->check_options(batch, options, error) == BE_OK ? BE_OK : be_unexplained(batch->type, error);
}

int be_check_low_high(const be_batch *batch, const double *options, be_error *error) {
    (void)batch;
    if (options[0] > options[1]) {
        return be_fail(error, BE_ERROR_VALUE, -1, "Lower bound (%.17g) must be lower than higher bound (%.17g).",
                       options[0], options[1]);
    }
    return BE_OK;
}
