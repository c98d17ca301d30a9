/* Turns screens of palette indices into what the agent sees, in one pass: the brighter of two frames, grayscale or RGB,
 * resized by area as cv2.resize(..., interpolation=cv2.INTER_AREA) does it, pixel for pixel. */
#ifndef BE_PIXEL_H
#define BE_PIXEL_H

#include "batchenv.h"
#include "engines/atari/emulator.h"

#define BE_MAX_TAPS 256 /* source pixels that go into a target pixel, along one axis */

/* The share of one source row in a target row. */
typedef struct be_row_share {
    int target, source;
    float weight;
} be_row_share;

typedef struct be_pixel_plan {
    int height, out_height, out_width; /* the screen's height; the size of the frame */
    int channels;                      /* 1: grayscale, 3: RGB, interleaved */
    int resized;
    int scale_y, scale_x;   /* where both are whole numbers (pixels are then means of blocks, in integers), else 0 */
    uint8_t levels[3][256]; /* the value of each palette index, per channel */
    int taps, padded_width; /* source pixels per target in the horizontal pass; targets, rounded up to 16 */
    int *start;             /* (padded_width,): a target's first source pixel */
    float *weights;         /* (taps, padded_width): the weights of the pixels from there on, 0 beyond the last one */
    int *base;              /* (padded_width / 16,): the first pixel that 16 targets read; NULL if they span over 32 */
    int32_t *select;        /* (taps, padded_width): which of the 32 pixels from base on is read */
    int *base4;             /* the same for groups of 4 targets, if they read at most 16 pixels, else NULL */
    uint8_t *select4;       /* (taps, padded_width, 4): the same, for a shuffle of bytes that makes 32-bit numbers */
    int num_shares;
    be_row_share *shares; /* in the order of the sums */
} be_pixel_plan;

/* Fills the plan. Frames cannot be enlarged: out_height <= height and out_width <= BE_SCREEN_WIDTH. Returns 0, or -1
 * if there is no memory. */
int be_pixel_plan_make(be_pixel_plan *plan, int height, int out_height, int out_width, int channels,
                       const uint32_t *palette);
void be_pixel_plan_free(be_pixel_plan *plan);

static inline size_t be_pixel_bytes(const be_pixel_plan *plan) {
    return (size_t)plan->out_height * (size_t)plan->out_width * (size_t)plan->channels;
}

#define be_pixel_frame BE_ISA_NAME(be_pixel_frame)
/* Writes the frame made of the screens `a` and `b`, or of `a` alone if `b` is NULL. If `changed` is not NULL, it has a
 * byte for each row of the screens, and rows of the frame that are made only of screen rows with a 0 are left as they
 * are. */
void be_pixel_frame(const be_pixel_plan *plan, const uint8_t *a, const uint8_t *b, const uint8_t *changed,
                    uint8_t *out);

#endif
