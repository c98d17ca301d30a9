/* What the caller hands to the Procgen type's open(); batchenv/_core/procgen.pxi fills it. */
#ifndef BE_PROCGEN_H
#define BE_PROCGEN_H

#include <stdint.h>

typedef struct be_procgen_setup {
    const char *library; /* path of libenv.so */
    const char *assets;  /* path of the folder with the images, with a / at its end */
    int32_t fast;        /* 1: use batchenv's own drawing of images, which has the same results */
} be_procgen_setup;

/* To be called before the first open(), under the interpreter's lock: a fork of Python's that has begun, and does not
 * wait for what is opened, has then ended. */
void be_procgen_watch_forks(void);

#endif
