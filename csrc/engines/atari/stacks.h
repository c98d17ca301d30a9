/* What lanes show: for each lane the last frames, shrunk, of which observations are made. The functions of this file
 * are compiled once per instruction set. */
#ifndef BE_ATARI_STACKS_H
#define BE_ATARI_STACKS_H

#include <string.h>

#include "engines/atari/atari.h"
#include "engines/atari/pixel.h"

typedef struct be_stacks {
    int of_ram;          /* frames are copies of the console's memory */
    be_pixel_plan plan;  /* otherwise: how a screen becomes a frame */
    int channels, stack; /* frames in an observation, at least 1 */
    size_t frame_bytes, lane_bytes;
    size_t screen_bytes; /* that the emulator draws */
    uint8_t *rings;      /* (lanes, stack, frame) */
    uint8_t *pooled; /* for each lane: 1 if be_stacks_add has made all of its newest frame and of its screen from both
                        pictures, when they were looked at last */
} be_stacks;

#define be_stacks_open BE_ISA_NAME(be_stacks_open)
#define be_stacks_close BE_ISA_NAME(be_stacks_close)
#define be_stacks_add BE_ISA_NAME(be_stacks_add)
#define be_stacks_fill BE_ISA_NAME(be_stacks_fill)
#define be_stacks_write BE_ISA_NAME(be_stacks_write)

/* Plans frames as `setup` asks for, from machines like this one. After an error, too, be_stacks_close is to be called.
 */
int be_stacks_open(be_stacks *stacks, const be_atari_setup *setup, const be_emulator *machine, int64_t num_lanes,
                   be_error *error);
void be_stacks_close(be_stacks *stacks);

static inline uint8_t *be_stacks_ring(const be_stacks *stacks, int64_t lane) {
    return stacks->rings + (size_t)lane * stacks->lane_bytes;
}

/* To be called when a lane's frames or its screen are written by others than be_stacks_add. */
static inline void be_stacks_forget(const be_stacks *stacks, int64_t lane) { stacks->pooled[lane] = 0; }

/* Makes the next frame of a lane, which takes the oldest one's place and becomes the newest, from what the emulator
 * shows: the brighter of the two pictures, or the one that there is. Copies the last picture to `screen`, too. */
void be_stacks_add(const be_stacks *stacks, int64_t lane, int32_t *newest, const be_pictures *pictures,
                   const uint8_t *ram, uint8_t *screen);

/* Makes all frames of a lane the same as its newest one. */
void be_stacks_fill(const be_stacks *stacks, int64_t lane, int32_t newest);

/* Writes a lane's frames, the oldest first. */
void be_stacks_write(const be_stacks *stacks, int64_t lane, int32_t newest, uint8_t *out);

#endif
