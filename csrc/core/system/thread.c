#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/system/thread.h"

#include <errno.h>
#include <stddef.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <sched.h>
#include <unistd.h>
#endif

#ifdef __linux__

int be_thread_pin(pthread_t thread, int cpu) {
    if (cpu < 0 || cpu >= 1 << 16) return EINVAL;
    cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
    if (!set) return ENOMEM;
    size_t bytes = CPU_ALLOC_SIZE((size_t)cpu + 1);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S((size_t)cpu, bytes, set);
    int error = pthread_setaffinity_np(thread, bytes, set);
    CPU_FREE(set);
    return error;
}

void be_thread_name(pthread_t thread, const char *name) { pthread_setname_np(thread, name); }

#else

int be_thread_pin(pthread_t thread, int cpu) {
    (void)thread, (void)cpu;
    return ENOTSUP;
}

void be_thread_name(pthread_t thread, const char *name) { (void)thread, (void)name; }

#endif

int be_thread_cpus(void) {
#ifdef _WIN32
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    const long online = (long)system.dwNumberOfProcessors;
#else
#ifdef __linux__
    cpu_set_t set; /* fails on machines with more than 1024 CPUs; then the number of CPUs online is used */
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    return online > 0 ? (int)online : 1;
}
