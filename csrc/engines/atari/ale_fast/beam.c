/* Draws lines up to a clock. Pixels are not drawn at every access to the chip, but only when something on which they
 * depend is about to change, or something that depends on them (collisions) is read. Until then, only the clock up to
 * which they are due is kept. In frames that nobody looks at, only collisions are noted.
 *
 * A peculiarity of the library is kept: after a late HMOVE the first eight pixels of a line are black, and up to 56
 * pixels behind them turn black, too, until they are drawn again. The latter can be seen only if a frame ends there, so
 * that they are made black only then.
 */
#include "engines/atari/ale_fast/ale_fast.h"

#ifdef BE_HAVE_ALE_FAST
#include "engines/atari/ale_fast/beam.h"
#include "engines/atari/ale_fast/stretches.h"

#define BLACK_PIXELS 8

/* Applies what takes effect with a new line. */
static inline void end_line(ale_picture *t) {
    t->mask_field = LIB.fields + (t->ctrlpf & 1 ? ALE_WIDTH : 0);
    t->mask_player[0] = be_ale_player_mask(t, 0);
    t->mask_player[1] = be_ale_player_mask(t, 1);
    if (LIKELY(!t->cosmic)) return;
    /* The stars of Cosmic Ark are a missile that moves in every line. */
    static const int8_t steps[4] = {18, 33, 0, 17};
    t->cosmic_line = (t->cosmic_line + 1) & 3;
    t->position[2] = be_ale_wrapped(t->position[2] - steps[t->cosmic_line]);
    if (t->cosmic_line == 2) {
        t->mask_missile[0] = LIB.no_missile;
    } else {
        t->mask_missile[0] = be_ale_missile_mask(t, 0, be_ale_missile_size(t, 0) | (t->cosmic_line == 1));
    }
}

/* The pictures of many lanes do not fit into a cache, so that a line is asked for some lines before it is drawn. */
static inline void prefetch_line(const uint8_t *pixel) {
    enum { LINES_AHEAD = 6, CACHE_LINE = 64 };
    const uint8_t *line = pixel + LINES_AHEAD * ALE_WIDTH;
    for (int at = 0; at < ALE_WIDTH; at += CACHE_LINE) __builtin_prefetch(line + at);
}

/* Draws pixels of one line from x on, those before `black` black. */
static inline void draw(be_ale_console *c, uint8_t *pixel, unsigned x, unsigned number, unsigned black) {
    const ale_picture *t = c->picture;
    const int dark = (t->vblank & 2) != 0;
    if (!dark && t->enabled != 0) {
        be_ale_stretch s = {
            .x = x, .end = x + number, .black = black, .objects = t->enabled, .shared = be_ale_may_collide(t)};
        if (!c->draws && !s.shared) return;
        if (t->enabled & ALE_FIELD) s.field = be_ale_field_of_line(t);
        if (c->draws || be_ale_may_share(c, &s)) be_ale_drawing_of.draw(c, pixel - x, &s);
    } else if (c->draws) {
        const unsigned some = black <= x ? 0 : black - x < number ? black - x : number;
        if (some) be_ale_drawing_of.fill(c, pixel, some, 0);
        if (some < number) {
            const unsigned value = dark ? 0 : t->colors[ALE_COLOR_BACK] & 0xff;
            be_ale_drawing_of.fill(c, pixel + some, number - some, value);
        }
    }
}

void be_ale_draw_until(be_ale_console *c, int32_t end) {
    ale_picture *t = c->picture;
    do {
        int32_t from = ALE_LINE_CLOCKS - t->clocks_left, number = t->clocks_left;
        if (t->drawn_clock + number < end) {
            t->drawn_clock += number;
            t->clocks_left = ALE_LINE_CLOCKS;
        } else {
            number = end - t->drawn_clock;
            t->clocks_left -= number;
            t->drawn_clock = end;
        }
        if (from < ALE_BLANK_CLOCKS) {
            const int32_t blank = ALE_BLANK_CLOCKS - from < number ? ALE_BLANK_CLOCKS - from : number;
            from += blank;
            number -= blank;
        }
        unsigned black = 0;
        if (UNLIKELY(t->hmove_blank) && from < ALE_BLANK_CLOCKS + BLACK_PIXELS) {
            uint8_t *until = t->pixel + (ALE_BLANK_CLOCKS + BLACK_PIXELS - from);
            if (until > c->blackened) c->blackened = until;
            if (from + number >= ALE_BLANK_CLOCKS + BLACK_PIXELS) t->hmove_blank = 0;
            black = BLACK_PIXELS;
        }
        if (number) {
            uint8_t *pixel = t->pixel;
            t->pixel += number;
            draw(c, pixel, (unsigned)(from - ALE_BLANK_CLOCKS), (unsigned)number, black);
        }
        if (t->clocks_left == ALE_LINE_CLOCKS) {
            if (c->draws) prefetch_line(t->pixel);
            end_line(t);
        }
    } while (t->drawn_clock < end);
    c->next_pixel = be_ale_next_pixel(t);
}

uint8_t *be_ale_end_lines(be_ale_console *c) {
    const ale_picture *t = c->picture;
    uint8_t *end = t->pixel > c->written ? t->pixel : c->written;
    if (!c->draws || end >= c->blackened) return end;
    be_ale_drawing_of.fill(c, end, (unsigned)(c->blackened - end), 0);
    return c->blackened;
}

#endif
