#include "engines/atari/frames.h"

#include <stdlib.h>

static int plan_frames(be_frames *frames, const be_atari_setup *setup, const be_emulator *machine, be_error *error) {
    frames->channels = setup->observation == BE_ATARI_RGB ? 3 : 1;
    frames->of_ram = setup->observation == BE_ATARI_RAM;
    frames->frame_bytes = BE_RAM_BYTES;
    if (frames->of_ram) return BE_OK;
    const int height = setup->height ? setup->height : machine->height;
    const int width = setup->width ? setup->width : BE_SCREEN_WIDTH;
    if (height > machine->height || width > BE_SCREEN_WIDTH || height < 1 || width < 1) {
        return be_fail(
            error, BE_ERROR_VALUE, -1,
            "img_height=%d and img_width=%d must be between 1 and the screen's %d and %d: frames are shrunk, "
            "never enlarged",
            height, width, machine->height, BE_SCREEN_WIDTH);
    }
    if (be_pixel_plan_make(&frames->plan, machine->height, height, width, frames->channels, machine->palette) != 0) {
        return be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
    }
    frames->frame_bytes = be_pixel_bytes(&frames->plan);
    return BE_OK;
}

int be_frames_open(be_frames *frames, const be_atari_setup *setup, const be_emulator *machine, int64_t num_lanes,
                   be_error *error) {
    const int status = plan_frames(frames, setup, machine, error);
    if (status != BE_OK) return status;
    frames->stack = setup->stack > 1 ? setup->stack : 1;
    frames->lane_bytes = (size_t)frames->stack * frames->frame_bytes;
    frames->screen_bytes = (size_t)machine->height * BE_SCREEN_WIDTH;
    frames->rings = calloc((size_t)num_lanes, frames->lane_bytes);
    frames->pooled = calloc((size_t)num_lanes, 1);
    if (frames->rings == NULL || frames->pooled == NULL) {
        return be_fail(error, BE_ERROR_MEMORY, -1, "cannot allocate the frames of all lanes");
    }
    return BE_OK;
}

void be_frames_close(be_frames *frames) {
    be_pixel_plan_free(&frames->plan);
    free(frames->rings);
    free(frames->pooled);
}

static void copy_screen(const be_frames *frames, const be_pictures *pictures, const uint8_t *changed, uint8_t *screen) {
    if (pictures->now == screen) return;
    if (changed == NULL) {
        memcpy(screen, pictures->now, frames->screen_bytes);
        return;
    }
    for (size_t at = 0; at < frames->screen_bytes; at += BE_SCREEN_WIDTH) {
        if (*changed++) memcpy(screen + at, pictures->now + at, BE_SCREEN_WIDTH);
    }
}

void be_frames_add(const be_frames *frames, int64_t lane, int32_t *newest, const be_pictures *pictures,
                   const uint8_t *ram, uint8_t *screen) {
    const uint8_t *changed = frames->pooled[lane] ? pictures->changed : NULL;
    const uint8_t *last = be_frames_ring(frames, lane) + (size_t)*newest * frames->frame_bytes;
    *newest = *newest + 1 == frames->stack ? 0 : *newest + 1;
    uint8_t *frame = be_frames_ring(frames, lane) + (size_t)*newest * frames->frame_bytes;
    copy_screen(frames, pictures, pictures->exchanged ? NULL : changed, screen);
    frames->pooled[lane] = pictures->before != NULL;
    if (frames->of_ram) {
        memcpy(frame, ram, BE_RAM_BYTES);
        return;
    }
    /* It does not matter whether the pictures are exchanged: the brighter of two is the same either way. */
    if (changed != NULL && frame != last) memcpy(frame, last, frames->frame_bytes);
    be_pixel_frame(&frames->plan, pictures->now, pictures->before, changed, frame);
}

void be_frames_fill(const be_frames *frames, int64_t lane, int32_t newest) {
    uint8_t *ring = be_frames_ring(frames, lane);
    const uint8_t *source = ring + (size_t)newest * frames->frame_bytes;
    for (int k = 0; k < frames->stack; k++) {
        if (k != newest) memcpy(ring + (size_t)k * frames->frame_bytes, source, frames->frame_bytes);
    }
}

void be_frames_write(const be_frames *frames, int64_t lane, int32_t newest, uint8_t *out) {
    const uint8_t *ring = be_frames_ring(frames, lane);
    const size_t newer = (size_t)(newest + 1) * frames->frame_bytes, older = frames->lane_bytes - newer;
    memcpy(out, ring + newer, older);
    memcpy(out + older, ring, newer);
}
