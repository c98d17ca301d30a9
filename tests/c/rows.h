/* Rows of a batch, for the C tests. Each array has exactly the length that an env may use, so that AddressSanitizer
 * sees an access to the first byte beyond it. */
#ifndef TEST_ROWS_H
#define TEST_ROWS_H

#include <stdlib.h>
#include <string.h>

#include "core/batch.h"
#include "core/driver.h"
#include "core/load/types.h"
#include "core/params.h"
#include "core/space.h"

#define TRANSFORMED_REWARDS(repeat)                                                                                    \
    .record_statistics = 1, .action_repeat = repeat, .transform_reward = 1, .reward_scale = 0.5, .reward_low = -1,     \
    .reward_high = 0.4
/* All transforms at once, actions repeated so many times. */
#define EVERYTHING(repeat)                                                                                             \
    {TRANSFORMED_REWARDS(repeat),                                                                                      \
     .transform_observation = 1,                                                                                       \
     .time_aware = 1,                                                                                                  \
     .convert = 1,                                                                                                     \
     .dtype = BE_F64,                                                                                                  \
     .frame_stack = 3}

/* A small map for the types that want one. */
static inline const be_grid *grid_for(const be_env_type *type) {
    static const be_grid map = {(const uint8_t *)"SFFHFSFFHFFG", 3, 4};
    return type->grid ? &map : NULL;
}

/* `n` zeroed rows of the arrays of these groups. */
static inline be_rows make_rows(const be_table *table, int groups, size_t n) {
    be_rows rows;
    memset(&rows, 0, sizeof rows);
    for (int k = 0; k < table->count; k++) {
        if (table->arrays[k].group & groups) rows.slot[table->arrays[k].slot] = calloc(n, table->arrays[k].bytes);
    }
    return rows;
}

static inline void free_rows(const be_table *table, int groups, be_rows *rows) {
    for (int k = 0; k < table->count; k++) {
        if (table->arrays[k].group & groups) free(rows->slot[table->arrays[k].slot]);
    }
    memset(rows, 0, sizeof *rows);
}

/* The port of the actions, of a type that has only one. */
static inline int action_port(const be_batch *batch) {
    int port = 0;
    while (batch->type->ports[port].role != BE_ACTION) port++;
    return port;
}

static inline const be_space *action_space(const be_batch *batch) { return &batch->space[action_port(batch)]; }

#endif
