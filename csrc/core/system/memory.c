#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif
#include "core/system/memory.h"

#ifdef _WIN32

#include <windows.h>

/* Windows gives huge pages only to those who have a privilege for them. */
void *be_pages_new(size_t bytes, int huge) {
    (void)huge;
    return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void be_pages_free(void *pages, size_t bytes) {
    (void)bytes;
    VirtualFree(pages, 0, MEM_RELEASE);
}

#else

#include <sys/mman.h>

void *be_pages_new(size_t bytes, int huge) {
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    if (huge) (void)madvise(pages, bytes, MADV_HUGEPAGE);
#else
    (void)huge;
#endif
    return pages;
}

void be_pages_free(void *pages, size_t bytes) { munmap(pages, bytes); }

#endif
