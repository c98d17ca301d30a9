/* The C interface of gym3's environment libraries, restated: only what Procgen's libenv.so needs. */
#ifndef BE_LIBENV_H
#define BE_LIBENV_H

#include <stdint.h>

#define LIBENV_VERSION 1
#define LIBENV_NAME_BYTES 128
#define LIBENV_MAX_DIMS 16

typedef void libenv_env;

enum { LIBENV_U8 = 1, LIBENV_I32 = 2, LIBENV_F32 = 3 };              /* the type of an element */
enum { LIBENV_OBSERVATION = 1, LIBENV_ACTION = 2, LIBENV_INFO = 3 }; /* what arrays are asked for */
typedef union libenv_value {
    uint8_t u8;
    int32_t i32;
    float f32;
} libenv_value;

typedef struct libenv_array {
    char name[LIBENV_NAME_BYTES];
    int scalar_type, dtype;
    int shape[LIBENV_MAX_DIMS];
    int ndim;
    libenv_value low, high;
} libenv_array;

typedef struct libenv_option {
    char name[LIBENV_NAME_BYTES];
    int dtype, count;
    void *data;
} libenv_option;

typedef struct libenv_options {
    libenv_option *items;
    int count;
} libenv_options;

/* Where an environment reads and writes: a pointer per array. */
typedef struct libenv_buffers {
    void **observations;
    float *reward;
    uint8_t *first; /* 1: the observation is an episode's first */
    void **infos, **actions;
} libenv_buffers;

/* X(return type, name, parameters) */
#define LIBENV_FUNCTIONS(X)                                                                                            \
    X(int, libenv_version, (void))                                                                                     \
    X(libenv_env *, libenv_make, (int, libenv_options))                                                                \
    X(int, libenv_get_tensortypes, (libenv_env *, int, libenv_array *))                                                \
    X(void, libenv_set_buffers, (libenv_env *, libenv_buffers *))                                                      \
    X(void, libenv_act, (libenv_env *))                                                                                \
    X(void, libenv_observe, (libenv_env *))                                                                            \
    X(void, libenv_close, (libenv_env *))                                                                              \
    X(int, get_state, (libenv_env *, int, char *, int))                                                                \
    X(void, set_state, (libenv_env *, int, const char *, int))

#endif
