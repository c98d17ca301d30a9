/* Memory that malloc does not give: on cache lines, or fresh pages of the system. */
#ifndef BE_MEMORY_H
#define BE_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

/* `bytes` bytes on a multiple of `alignment`, or NULL. be_aligned_free frees them, and free does not: Windows keeps
 * such memory apart. */
#ifdef _WIN32
#include <malloc.h>
static inline void *be_aligned_new(size_t alignment, size_t bytes) { return _aligned_malloc(bytes, alignment); }
static inline void be_aligned_free(void *memory) { _aligned_free(memory); }
#else
static inline void *be_aligned_new(size_t alignment, size_t bytes) { return aligned_alloc(alignment, bytes); }
static inline void be_aligned_free(void *memory) { free(memory); }
#endif

/* Pages that hold zeros and that nobody has touched, so each is placed where the thread runs that touches it first; or
 * NULL. `huge`: asks for huge pages. */
void *be_pages_new(size_t bytes, int huge);
void be_pages_free(void *pages, size_t bytes);

#endif
