/* A faster drawing of small images. A game draws hundreds of them in a frame, most of a few pixels, and most of the
 * time goes into what Qt does before the first pixel. */
#ifndef BE_DRAWING_H
#define BE_DRAWING_H

#include <stdint.h>

/* Puts functions of batchenv's own into the library's linkage table, in place of some of Qt's. They draw what Qt would
 * draw, in guarded calls alone (guard.h). Where something is not as it is known to be, nothing happens. To be called
 * once, while no other thread uses the library. */
void be_drawing_install(void *library);

/* A picture of 32-bit pixels. */
typedef struct be_pixels {
    const uint32_t *first;
    int width, height, stride; /* stride: pixels from one row to the next */
    int opaque;                /* 0: pixels have an alpha, by which the colours are multiplied already */
} be_pixels;

#define BE_CANVAS_SIDE 64

/* What is kept of a game from frame to frame: the picture behind it, as it was drawn last, since in many games it stays
 * where it is. Zeroed at the beginning. */
typedef struct be_backdrop {
    int64_t key;     /* of the image */
    double place[4]; /* x, y, width, height */
    int drawn;       /* how often it was drawn there, up to 2: then `pixels` has what was drawn */
    uint32_t pixels[BE_CANVAS_SIDE * BE_CANVAS_SIDE];
} be_backdrop;

/* Says where this thread's next guarded calls keep the picture behind their game; NULL: nowhere, as is right for
 * pictures whose pixels change. */
void be_drawing_keep(be_backdrop *backdrop);

/* Draws an image, stretched to width x height pixels from (x, y) on, on a target of `side` x `side` pixels, as Qt 5.9's
 * raster engine does without smoothing. Width and height must be positive. */
void be_draw_stretched(uint32_t *target, int side, const be_pixels *image, double x, double y, double width,
                       double height);

#endif
