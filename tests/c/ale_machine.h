/* A machine of the library with what ours puts in, for the tests of ale_fast. */
#ifndef TEST_ALE_MACHINE_H
#define TEST_ALE_MACHINE_H

#include "engines/atari/ale_fast/console.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Looks a function up. The program ends if it is missing. */
static inline void find_function(void *handle, const char *name, void *target) {
    *(void **)target = dlsym(handle, name);
    if (*(void **)target != NULL) return;
    printf("no %s\n", name);
    exit(2);
}

static inline void *open_library(const char *path) {
    void *handle = dlopen(path, RTLD_NOW);
    if (handle != NULL) return handle;
    printf("%s\n", dlerror());
    exit(2);
}

/* A machine with this game, as the library makes it. */
static inline void *make_machine(void *handle, const char *rom) {
    void *(*make)(void);
    void (*load)(void *, const char *), (*quiet)(int);
    find_function(handle, "ALE_new", &make);
    find_function(handle, "loadROM", &load);
    find_function(handle, "setLoggerMode", &quiet);
    quiet(2);
    void *machine = make();
    load(machine, rom);
    return machine;
}

static inline ale_system *system_of(void *machine) {
    const char *console = *(char **)(*(char **)machine + 0x28);
    return *(ale_system **)(console + 0x2e0);
}

#endif
