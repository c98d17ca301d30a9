/* The tables for resizing by area; the loops that use them are in pixel.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engines/atari/pixel.h"

/* Writes the source pixels of one target pixel and their weights, in the order of addition; returns how many there are.
 * Each target pixel covers `scale` source pixels; parts smaller than a thousandth do not count. */
static int cover(int target, double scale, int source_size, int *first, float *weights) {
    const double start = target * scale, end = start + scale;
    const double width = fmin(scale, source_size - start);
    int last_whole = (int)floor(end), first_whole = (int)ceil(start), count = 0;
    if (last_whole > source_size - 1) last_whole = source_size - 1;
    if (first_whole > last_whole) first_whole = last_whole;
    *first = first_whole;
    if (first_whole - start > 1e-3) {
        *first = first_whole - 1;
        weights[count++] = (float)((first_whole - start) / width);
    }
    for (int i = first_whole; i < last_whole; i++) weights[count++] = (float)(1.0 / width);
    if (end - last_whole > 1e-3) weights[count++] = (float)(fmin(fmin(end - last_whole, 1.0), width) / width);
    return count;
}

/* As OpenCV computes it: 210 rows to one or two are no whole number for it, but 209.99999999999997 and half of that. */
static double scale_of(int source, int target) { return 1.0 / ((double)target / source); }

static int plan_columns(be_pixel_plan *plan) {
    const int width = plan->out_width, padded = (width + 15) / 16 * 16;
    const double scale = scale_of(BE_SCREEN_WIDTH, width);
    float weights[BE_MAX_TAPS];
    int first;
    plan->padded_width = padded;
    plan->taps = 0;
    for (int x = 0; x < width; x++) {
        const int count = cover(x, scale, BE_SCREEN_WIDTH, &first, weights);
        if (count > plan->taps) plan->taps = count;
    }
    const size_t cells = (size_t)plan->taps * (size_t)padded;
    plan->start = calloc((size_t)padded, sizeof *plan->start);
    plan->weights = calloc(cells, sizeof *plan->weights);
    plan->base = calloc((size_t)padded / 16, sizeof *plan->base);
    plan->select = calloc(cells, sizeof *plan->select);
    plan->base4 = calloc((size_t)padded / 4, sizeof *plan->base4);
    plan->select4 = calloc(cells, 4);
    if (!plan->start || !plan->weights || !plan->base || !plan->select || !plan->base4 || !plan->select4) return -1;
    for (int x = 0; x < width; x++) {
        const int count = cover(x, scale, BE_SCREEN_WIDTH, &plan->start[x], weights);
        for (int t = 0; t < count; t++) plan->weights[t * padded + x] = weights[t];
    }
    for (int x = width; x < padded; x++) plan->start[x] = plan->start[width - 1];
    int fits = 1, fits4 = 1;
    for (int x = 0; x < padded; x++) {
        if (x % 16 == 0) plan->base[x / 16] = plan->start[x];
        if (x % 4 == 0) plan->base4[x / 4] = plan->start[x];
        for (int t = 0; t < plan->taps; t++) {
            const int cell = t * padded + x, used = plan->weights[cell] != 0; /* one without weight may be any pixel */
            const int select = plan->start[x] + t - plan->base[x / 16];
            const int select4 = plan->start[x] + t - plan->base4[x / 4];
            if (used && select >= 32) fits = 0;
            if (used && select4 >= 16) fits4 = 0;
            plan->select[cell] = select < 32 ? select : 0;
            const uint8_t bytes[] = {(uint8_t)(select4 < 16 ? select4 : 0), 0x80, 0x80, 0x80};
            memcpy(plan->select4 + 4 * (size_t)cell, bytes, 4);
        }
    }
    if (!fits) {
        free(plan->base);
        plan->base = NULL;
    }
    if (!fits4) {
        free(plan->base4);
        plan->base4 = NULL;
    }
    return 0;
}

static int plan_rows(be_pixel_plan *plan) {
    const double scale = scale_of(plan->height, plan->out_height);
    float weights[BE_MAX_TAPS];
    plan->shares = calloc((size_t)(plan->height + 2 * plan->out_height), sizeof *plan->shares);
    if (plan->shares == NULL) return -1;
    for (int y = 0; y < plan->out_height; y++) {
        int first;
        const int count = cover(y, scale, plan->height, &first, weights);
        for (int t = 0; t < count; t++) plan->shares[plan->num_shares++] = (be_row_share){y, first + t, weights[t]};
    }
    return 0;
}

int be_pixel_plan_make(be_pixel_plan *plan, int height, int out_height, int out_width, int channels,
                       const uint32_t *palette) {
    memset(plan, 0, sizeof *plan);
    plan->height = height;
    plan->out_height = out_height;
    plan->out_width = out_width;
    plan->channels = channels;
    plan->resized = out_height != height || out_width != BE_SCREEN_WIDTH;
    for (int i = 0; i < 256; i++) {
        if (channels == 1) {
            plan->levels[0][i] = i < 255 ? (uint8_t)palette[i + 1] : 0;
        } else {
            for (int c = 0; c < 3; c++) plan->levels[c][i] = (uint8_t)(palette[i] >> (16 - 8 * c));
        }
    }
    if (!plan->resized) return 0;
    const double scale_y = scale_of(height, out_height), scale_x = scale_of(BE_SCREEN_WIDTH, out_width);
    if (scale_y == nearbyint(scale_y) && scale_x == nearbyint(scale_x)) {
        plan->scale_y = (int)scale_y;
        plan->scale_x = (int)scale_x;
        return 0;
    }
    if (plan_columns(plan) == 0 && plan_rows(plan) == 0) return 0;
    be_pixel_plan_free(plan);
    return -1;
}

void be_pixel_plan_free(be_pixel_plan *plan) {
    free(plan->start);
    free(plan->weights);
    free(plan->base);
    free(plan->select);
    free(plan->base4);
    free(plan->select4);
    free(plan->shares);
    memset(plan, 0, sizeof *plan);
}
