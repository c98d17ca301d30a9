/* What the caller hands to the Atari type's open(); batchenv/_core/atari.pxi fills it. */
#ifndef BE_ATARI_H
#define BE_ATARI_H

#include "engines/atari/emulator.h"

enum { BE_ATARI_GRAYSCALE, BE_ATARI_RGB, BE_ATARI_RAM };

typedef struct be_atari_setup {
    be_cartridge cartridge;
    int32_t observation;                          /* BE_ATARI_... */
    int32_t height, width;                        /* of a frame; 0: the screen's */
    int32_t stack;                                /* frames in an observation; 0: one frame, and no axis of frames */
    int32_t num_actions, actions[BE_NUM_ACTIONS]; /* what the agent may do; num_actions 0: the game's minimal actions */
    uint64_t layout;                              /* envs with different values cannot exchange snapshots */
} be_atari_setup;

#endif
