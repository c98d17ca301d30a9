/* The beam of the picture chip: up to where the lines of a frame are drawn. */
#ifndef BE_ALE_BEAM_H
#define BE_ALE_BEAM_H

#include "engines/atari/ale_fast/drawing.h"

/* Draws up to this clock, which is not behind the end of the frame; pixels are not drawn yet. */
void be_ale_draw_until(be_ale_console *console, int32_t end);

/* Draws the pixels that are due. */
static inline void be_ale_flush(be_ale_console *c) {
    const ale_picture *t = c->picture;
    const int32_t end = t->due < t->end_clock ? t->due : t->end_clock;
    if (end > c->next_pixel) be_ale_draw_until(c, end);
}

/* Does the same, and also takes note of clocks without pixels. */
static inline void be_ale_flush_all(be_ale_console *c) {
    const ale_picture *t = c->picture;
    const int32_t end = t->due < t->end_clock ? t->due : t->end_clock;
    if (t->due >= t->first_clock && t->drawn_clock < end) be_ale_draw_until(c, end);
}

/* At which clock the next pixel begins. Nothing is drawn before the first visible line, even though the clock up to
 * which pixels are drawn lies far before that line while the console has not finished a frame. */
static inline int32_t be_ale_next_pixel(const ale_picture *t) {
    const int32_t blank = t->clocks_left - ALE_WIDTH, next = t->drawn_clock + (blank > 0 ? blank : 0);
    return next < t->first_clock ? t->first_clock - 1 : next;
}

/* After the last pixel of a frame: pixels behind it that are black after a late HMOVE. Returns the end of what the
 * frame has written. */
uint8_t *be_ale_end_lines(be_ale_console *console);

/* ---- where sprites are: a mask over the pixels of a line ------------------------------------------------ */

static inline const uint8_t *be_ale_place(const uint8_t *masks, int position, unsigned kinds, unsigned kind) {
    const unsigned at = (uint16_t)position;
    return masks + ((at & 3) * kinds + kind) * ALE_MASK_BYTES + ALE_WIDTH - (at & 0xfc);
}

static inline const uint8_t *be_ale_player_mask(const ale_picture *t, int i) {
    return be_ale_place(LIB.players, t->position[i], 16, t->nusiz[i] & 7);
}

static inline unsigned be_ale_missile_size(const ale_picture *t, int i) { return t->nusiz[i] >> 4 & 3; }

static inline const uint8_t *be_ale_missile_mask(const ale_picture *t, int i, unsigned size) {
    return be_ale_place(LIB.missiles, t->position[2 + i], 32, (t->nusiz[i] & 7u) * 4 + size);
}

static inline const uint8_t *be_ale_ball_mask(const ale_picture *t) {
    return be_ale_place(LIB.balls, t->position[4], 4, t->ctrlpf >> 4 & 3);
}

static inline int16_t be_ale_wrapped(int position) {
    position = (int16_t)position;
    return (int16_t)(position >= ALE_WIDTH ? position - ALE_WIDTH : position < 0 ? position + ALE_WIDTH : position);
}

#endif
