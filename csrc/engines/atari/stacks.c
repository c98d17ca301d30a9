#include "engines/atari/stacks.h"

#include <stdlib.h>

static int plan_frames(be_stacks *stacks, const be_atari_setup *setup, const be_emulator *machine, be_error *error) {
    stacks->channels = setup->observation == BE_ATARI_RGB ? 3 : 1;
    stacks->of_ram = setup->observation == BE_ATARI_RAM;
    stacks->frame_bytes = BE_RAM_BYTES;
    if (stacks->of_ram) return BE_OK;
    const int height = setup->height ? setup->height : machine->height;
    const int width = setup->width ? setup->width : BE_SCREEN_WIDTH;
    if (height > machine->height || width > BE_SCREEN_WIDTH || height < 1 || width < 1) {
        return be_fail(
            error, BE_ERROR_VALUE, -1,
            "img_height=%d and img_width=%d must be between 1 and the screen's %d and %d: frames are shrunk, "
            "never enlarged",
            height, width, machine->height, BE_SCREEN_WIDTH);
    }
    if (be_pixel_plan_make(&stacks->plan, machine->height, height, width, stacks->channels, machine->palette) != 0) {
        return be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
    }
    stacks->frame_bytes = be_pixel_bytes(&stacks->plan);
    return BE_OK;
}

int be_stacks_open(be_stacks *stacks, const be_atari_setup *setup, const be_emulator *machine, int64_t num_lanes,
                   be_error *error) {
    const int status = plan_frames(stacks, setup, machine, error);
    if (status != BE_OK) return status;
    stacks->stack = setup->stack > 1 ? setup->stack : 1;
    stacks->lane_bytes = (size_t)stacks->stack * stacks->frame_bytes;
    stacks->screen_bytes = (size_t)machine->height * BE_SCREEN_WIDTH;
    stacks->rings = calloc((size_t)num_lanes, stacks->lane_bytes);
    stacks->pooled = calloc((size_t)num_lanes, 1);
    if (stacks->rings == NULL || stacks->pooled == NULL) {
        return be_fail(error, BE_ERROR_MEMORY, -1, "cannot allocate the frames of all lanes");
    }
    return BE_OK;
}

void be_stacks_close(be_stacks *stacks) {
    be_pixel_plan_free(&stacks->plan);
    free(stacks->rings);
    free(stacks->pooled);
}

static void copy_screen(const be_stacks *stacks, const be_pictures *pictures, const uint8_t *changed, uint8_t *screen) {
    if (pictures->now == screen) return;
    if (changed == NULL) {
        memcpy(screen, pictures->now, stacks->screen_bytes);
        return;
    }
    for (size_t at = 0; at < stacks->screen_bytes; at += BE_SCREEN_WIDTH) {
        if (*changed++) memcpy(screen + at, pictures->now + at, BE_SCREEN_WIDTH);
    }
}

void be_stacks_add(const be_stacks *stacks, int64_t lane, int32_t *newest, const be_pictures *pictures,
                   const uint8_t *ram, uint8_t *screen) {
    const uint8_t *changed = stacks->pooled[lane] ? pictures->changed : NULL;
    const uint8_t *last = be_stacks_ring(stacks, lane) + (size_t)*newest * stacks->frame_bytes;
    *newest = *newest + 1 == stacks->stack ? 0 : *newest + 1;
    uint8_t *frame = be_stacks_ring(stacks, lane) + (size_t)*newest * stacks->frame_bytes;
    copy_screen(stacks, pictures, pictures->exchanged ? NULL : changed, screen);
    stacks->pooled[lane] = pictures->before != NULL;
    if (stacks->of_ram) {
        memcpy(frame, ram, BE_RAM_BYTES);
        return;
    }
    /* It does not matter whether the pictures are exchanged: the brighter of two is the same either way. */
    if (changed != NULL && frame != last) memcpy(frame, last, stacks->frame_bytes);
    be_pixel_frame(&stacks->plan, pictures->now, pictures->before, changed, frame);
}

void be_stacks_fill(const be_stacks *stacks, int64_t lane, int32_t newest) {
    uint8_t *ring = be_stacks_ring(stacks, lane);
    const uint8_t *source = ring + (size_t)newest * stacks->frame_bytes;
    for (int k = 0; k < stacks->stack; k++) {
        if (k != newest) memcpy(ring + (size_t)k * stacks->frame_bytes, source, stacks->frame_bytes);
    }
}

void be_stacks_write(const be_stacks *stacks, int64_t lane, int32_t newest, uint8_t *out) {
    const uint8_t *ring = be_stacks_ring(stacks, lane);
    const size_t newer = (size_t)(newest + 1) * stacks->frame_bytes, older = stacks->lane_bytes - newer;
    memcpy(out, ring + newer, older);
    memcpy(out + older, ring, newer);
}
