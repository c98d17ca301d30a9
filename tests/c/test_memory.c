/* What happens if memory runs out: whichever allocation of the core fails, the call reports it, and frees everything
 * that it has allocated. Linked with --wrap for each of the functions below, so that this file decides which call
 * fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/run/async.h"
#include "rows.h"

static int before_failure = -1; /* how many allocations succeed before one fails; negative: all succeed */
static int failures;
static long held; /* how many allocations have not been freed */

static int fails(void) {
    if (before_failure < 0 || before_failure-- > 0) return 0;
    failures++;
    return 1;
}

static void *counted(void *memory) {
    held += memory != NULL;
    return memory;
}

void *__real_malloc(size_t bytes), *__real_calloc(size_t n, size_t bytes), __real_free(void *memory);
void *__real_aligned_alloc(size_t alignment, size_t bytes), *__real_mmap(void *, size_t, int, int, int, off_t);
int __real_munmap(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes), *__wrap_calloc(size_t n, size_t bytes), __wrap_free(void *memory);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes), *__wrap_mmap(void *, size_t, int, int, int, off_t);
int __wrap_munmap(void *memory, size_t bytes);

void *__wrap_malloc(size_t bytes) { return fails() ? NULL : counted(__real_malloc(bytes)); }
void *__wrap_calloc(size_t n, size_t bytes) { return fails() ? NULL : counted(__real_calloc(n, bytes)); }
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    return fails() ? NULL : counted(__real_aligned_alloc(alignment, bytes));
}
void __wrap_free(void *memory) {
    held -= memory != NULL;
    __real_free(memory);
}
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
    if (fails()) return MAP_FAILED;
    void *memory = __real_mmap(at, bytes, protection, flags, file, offset);
    held += memory != MAP_FAILED;
    return memory;
}
int __wrap_munmap(void *memory, size_t bytes) {
    held--;
    return __real_munmap(memory, bytes);
}

static void check(int good, const char *what, const char *type, const char *message) {
    if (good) return;
    fprintf(stderr, "FAILED: %s (%s: %s)\n", what, type, message);
    exit(1);
}

/* Makes a batch, gives each lane params of its own, and makes a queue. Returns 0 if one of these was refused. */
static int go(const be_isa *isa, const be_env_type *type, be_error *error) {
    enum { LANES = 70, WORKERS = 2 };
    int parts = 0, columns_of_type = 0, good = 0;
    for (int k = 0; type->ports[k].name; k++) parts += type->ports[k].role == BE_OBSERVATION;
    const be_transform transform = {.action_repeat = 1,
                                    .transform_observation = parts == 1,
                                    .frame_stack = parts == 1 ? 2 : 0,
                                    .rescale = parts == 1};
    const be_batch_options options = {.type = type,
                                      .num_lanes = LANES,
                                      .autoreset = BE_SAME_STEP,
                                      .max_episode_steps = 9,
                                      .grid = grid_for(type),
                                      .transform = &transform};
    double params[BE_MAX_PARAMS] = {0}, column[LANES];
    const double *columns[BE_MAX_PARAMS] = {0};
    for (int j = 0; type->params && type->params[j].name; j++) {
        params[j] = type->params[j].value;
        if (type->params[j].kind != BE_PARAM_FLOAT || type->params[j].shared || columns_of_type) continue;
        for (int i = 0; i < LANES; i++) column[i] = params[j];
        columns[j] = column;
        columns_of_type++;
    }
    be_batch *batch = be_batch_create(&options, error);
    if (batch == NULL) return 0;
    be_node nodes[2] = {{.id = 0}, {.id = 0}}; /* as on a machine with two nodes, where a batch has a placement */
    for (int i = 0; i < 2; i++) nodes[i].num_cpus = be_cpus_usable(&nodes[i].cpus);
    const int left = before_failure;
    before_failure = -1; /* without memory there would be no placement, which is not an error */
    be_batch_place(batch, be_place(nodes, 2, WORKERS, LANES, 1));
    before_failure = left;
    if (columns_of_type == 0 || be_batch_configure(batch, params, columns, error) == BE_OK) {
        be_async *async = be_async_create(batch, isa, 16, WORKERS, NULL, 0, error);
        good = async != NULL;
        be_async_destroy(async);
    }
    be_batch_destroy(batch);
    return good;
}

int main(void) {
    const be_isa *isa = be_isa_supported()[0];
    const be_env_type *type;
    be_error once;
    go(isa, be_type_at(isa, 0), &once); /* makes what is kept for the whole process */
    for (int t = 0; (type = be_type_at(isa, t)); t++) {
        if (type->open) continue; /* needs handles from Python */
        be_error error = {0};
        const long at_first = held;
        before_failure = -1;
        check(go(isa, type, &error), "with all memory", type->name, error.message);
        check(held == at_first, "all is given back", type->name, "");
        int failing = 0;
        for (;; failing++) {
            memset(&error, 0, sizeof error);
            before_failure = failing;
            const int refused = failures;
            const int good = go(isa, type, &error);
            if (failures == refused) break; /* there are no more allocations */
            check(!good, "a failure is told", type->name, "");
            check(error.status == BE_ERROR_MEMORY || strstr(error.message, "memory"), "why", type->name, error.message);
            check(error.message[0] != 0, "the message", type->name, "");
            check(held == at_first, "what was taken is given back", type->name, error.message);
        }
        check(failing >= 12, "allocations", type->name, "");
    }
    printf("%d failures of memory, all told\n", failures);
    return 0;
}
