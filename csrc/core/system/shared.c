#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, RTLD_DEFAULT */
#endif
#include "core/system/shared.h"

#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32

#include <stdio.h>
#include <string.h>
#include <windows.h>

void *be_shared_open(const char *path) { return (void *)LoadLibraryA(path); }

void be_shared_close(void *library) { FreeLibrary(library); }

void *be_shared_find(void *library, const char *name) {
    const FARPROC function = GetProcAddress(library, name);
    void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

/* Python's mathematics are those of the C library that Windows has. */
void *be_shared_math(const char *name) {
    HMODULE library = LoadLibraryA("ucrtbase.dll");
    return library ? be_shared_find(library, name) : NULL;
}

int be_shared_holds(const void *address) {
    HMODULE module;
    const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    return GetModuleHandleExA(flags, address, &module) != 0;
}

void *be_shared_holder(const void *address) {
    HMODULE module;
    return GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, address, &module) ? (void *)module : NULL;
}

/* A library of Windows names the module that each of its functions comes from, so nothing can be shown to it. */
int be_shared_show(void) {
    SetLastError(ERROR_NOT_SUPPORTED);
    return 0;
}

const char *be_shared_problem(void) {
    static _Thread_local char text[40];
    snprintf(text, sizeof text, "error %u of Windows", (unsigned)GetLastError());
    return text;
}

#else

#include <dlfcn.h>

void *be_shared_open(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

void be_shared_close(void *library) { dlclose(library); }

void *be_shared_find(void *library, const char *name) { return dlsym(library, name); }

void *be_shared_math(const char *name) {
    void *address = dlsym(RTLD_DEFAULT, name);
    if (address == NULL) {
        void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL); /* never closed: its functions are in use */
        if (library) address = dlsym(library, name);
    }
    return address;
}

int be_shared_holds(const void *address) {
    Dl_info info;
    return dladdr(address, &info) != 0;
}

void *be_shared_holder(const void *address) {
    Dl_info info;
    return dladdr(address, &info) ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
}

/* Python loads modules so that they cannot see each other. */
int be_shared_show(void) {
    Dl_info here;
    return dladdr((void *)(uintptr_t)&be_shared_show, &here) &&
           dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) != NULL;
}

const char *be_shared_problem(void) {
    const char *problem = dlerror();
    return problem ? problem : "the system gives no reason";
}

#endif
