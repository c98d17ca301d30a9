#include "engines/procgen/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/system/linkage.h"
#include "core/system/shared.h"

/* The guarded call of this thread. */
static _Thread_local struct {
    jmp_buf *end; /* NULL: there is none */
    char said[200];
} present;

int be_guard_run(void (*call)(void *), void *context) {
    jmp_buf end;
    present.said[0] = '\0';
    if (setjmp(end) != 0) {
        present.end = NULL;
        return 0;
    }
    present.end = &end;
    call(context);
    present.end = NULL;
    return 1;
}

int be_guard_is_running(void) { return present.end != NULL; }

const char *be_guard_said(void) { return present.said; }

/* ---- functions in place of others ------------------------------------------------------------------- */

static void end_call(const char *why) {
    if (present.end == NULL) return;
    if (present.said[0] == '\0') snprintf(present.said, sizeof present.said, "%s", why);
    longjmp(*present.end, 1);
}

/* X(name, symbol): functions that do not return. All arguments are in registers. */
#define ENDS(X)                                                                                                        \
    X(exit, "exit")                                                                                                    \
    X(abort, "abort")                                                                                                  \
    X(exception, "__cxa_throw")                                                                                        \
    X(bad_alloc, "_ZSt17__throw_bad_allocv")                                                                           \
    X(bad_cast, "_ZSt16__throw_bad_castv")                                                                             \
    X(bad_function_call, "_ZSt25__throw_bad_function_callv")                                                           \
    X(logic_error, "_ZSt19__throw_logic_errorPKc")                                                                     \
    X(length_error, "_ZSt20__throw_length_errorPKc")                                                                   \
    X(out_of_range, "_ZSt20__throw_out_of_rangePKc")                                                                   \
    X(out_of_range_fmt, "_ZSt24__throw_out_of_range_fmtPKcz")                                                          \
    X(system_error, "_ZSt20__throw_system_errori")

typedef void ending(uintptr_t, uintptr_t, uintptr_t, uintptr_t);
#define OWN(name, symbol)                                                                                              \
    static be_any_function *their_##name;                                                                              \
    static void own_##name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {                                       \
        end_call(#name);                                                                                               \
        ((ending *)their_##name)(a, b, c, d);                                                                          \
    }
ENDS(OWN)
#undef OWN

/* X(name, symbol): C++'s `new`, which throws where none of the libraries' tables shows it. */
#define NEWS(X)                                                                                                        \
    X(new, "_Znwm")                                                                                                    \
    X(new_array, "_Znam")

typedef void *allocation(size_t);
#define OWN(name, symbol)                                                                                              \
    static be_any_function *their_##name;                                                                              \
    static void *own_##name(size_t size) {                                                                             \
        if (present.end) {                                                                                             \
            void *volatile room = malloc(size + !size); /* which is what it gets below */                              \
            free(room);                                                                                                \
            if (room == NULL) end_call("out of memory");                                                               \
        }                                                                                                              \
        return ((allocation *)their_##name)(size);                                                                     \
    }
NEWS(OWN)
#undef OWN

/* What a guarded call prints is kept, since it says why the call is about to be ended. */
static int keep(FILE *file, const char *format, va_list arguments) {
    const int count = present.end ? vsnprintf(present.said, sizeof present.said, format, arguments)
                                  : vfprintf(file, format, arguments);
    if (present.end) present.said[strcspn(present.said, "\n")] = '\0';
    return count;
}

__attribute__((format(printf, 1, 2))) static int own_printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int count = keep(stdout, format, arguments);
    va_end(arguments);
    return count;
}

__attribute__((format(printf, 2, 0))) static int own_vfprintf(FILE *file, const char *format, va_list arguments) {
    return keep(file, format, arguments);
}

/* The first words of a message, whose others go through the functions above. */
static size_t own_fwrite(const void *bytes, size_t size, size_t count, FILE *file) {
    return present.end && (file == stdout || file == stderr) ? count : fwrite(bytes, size, count, file);
}

static int replace_in(void *library) {
    static const be_replacement ends[] = {
#define ROW(name, symbol) {symbol, (be_any_function *)own_##name, &their_##name},
        ENDS(ROW) NEWS(ROW)
#undef ROW
    };
    return be_linkage_replace(library, ends, sizeof ends / sizeof ends[0]);
}

int be_guard_install(void *library) {
    static const be_replacement prints[] = {
        {"printf", (be_any_function *)own_printf, NULL},
        {"vfprintf", (be_any_function *)own_vfprintf, NULL},
        {"fwrite", (be_any_function *)own_fwrite, NULL},
    };
    static const char *const of_qt[] = {"_ZN8QPainter4saveEv", "_Z9qBadAllocv"}; /* a function of each library */
    for (size_t k = 0; k < sizeof of_qt / sizeof of_qt[0]; k++) {
        const void *address = be_shared_find(library, of_qt[k]);
        void *qt = address ? be_shared_holder(address) : NULL;
        if (qt) (void)replace_in(qt);
    }
    (void)be_linkage_replace(library, prints, sizeof prints / sizeof prints[0]);
    return replace_in(library) > 0 && their_exit != NULL;
}
