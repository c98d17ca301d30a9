/* What the caller hands to the Procgen type's open(); batchenv/_core/procgen.pxi fills it. */
#ifndef BE_PROCGEN_H
#define BE_PROCGEN_H

typedef struct be_procgen_setup {
    const char *library; /* path of libenv.so */
    const char *assets;  /* path of the folder with the images, with a / at its end */
} be_procgen_setup;

#endif
