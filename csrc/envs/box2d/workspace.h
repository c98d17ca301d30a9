/* Memory in which a thread makes its steps: some 300 KB, which is more than the whole stack of some threads. */
#ifndef BOX2D_WORKSPACE_H
#define BOX2D_WORKSPACE_H

#include <pthread.h>

#include "batchenv.h"
#include "core/system/memory.h"

static pthread_key_t workspace_key;
static pthread_once_t workspace_once = PTHREAD_ONCE_INIT;
static int workspace_failed;

static void make_workspace_key(void) { workspace_failed = pthread_key_create(&workspace_key, be_aligned_free) != 0; }

/* This thread's memory, aligned for vectors and as the last step has left it. It is freed when the thread ends. Each
 * env asks for one size only. Returns NULL and fills `error` if memory has run out. */
static inline void *workspace(size_t bytes, be_error *error) {
    pthread_once(&workspace_once, make_workspace_key);
    void *memory = workspace_failed ? NULL : pthread_getspecific(workspace_key);
    if (memory != NULL) return memory;
    if (!workspace_failed) memory = be_aligned_new(64, (bytes + 63) / 64 * 64);
    if (memory != NULL && pthread_setspecific(workspace_key, memory) == 0) return memory;
    be_aligned_free(memory);
    be_fail(error, BE_ERROR_MEMORY, -1, "cannot allocate %zu bytes for a step", bytes);
    return NULL;
}

#endif
