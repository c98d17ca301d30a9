/* What games write to the TIA most often, and the drawing that each write brings up to date, with the library's
 * results. All other writes go to the library after the drawing, which then has nothing left to draw.
 *
 * The library draws a line pixel by pixel where three objects or more are in it; here sixteen go at a time. Fewer
 * objects it draws fast, by fours, and may reach a few pixels too far: these stay with it.
 */
#include "engines/ale_cpu.h"

#ifdef BE_HAVE_ALE_CPU
#include "engines/ale_layout.h"

#include <emmintrin.h>
#include <string.h>

ale_tia_parts be_ale_tia;

enum { PLAYER_0 = 1, MISSILE_0 = 2, PLAYER_1 = 4, MISSILE_1 = 8, BALL = 0x10, PLAYFIELD = 0x20, OBJECTS = 0x3f };
enum { SCORE = 0x40, PRIORITY = 0x80 }; /* playfield_mode */
enum { BACKGROUND, OF_PLAYFIELD, OF_PLAYER_0, OF_PLAYER_1 };
enum { LINE = 228, BLANK = 68, SEEN = 160, EDGE = 76 /* where a line begins after a late HMOVE */ };

/* Those sets of objects, with the mode, that the library's own loops are made for. */
static int drawn_by_fours(unsigned objects, unsigned mode) {
    switch (objects) {
    case PLAYER_0:
    case PLAYER_1:
    case MISSILE_0:
    case MISSILE_1:
    case BALL:
    case PLAYER_0 | PLAYER_1:
    case MISSILE_0 | MISSILE_1:
        return 1;
    case BALL | MISSILE_0:
    case BALL | PLAYER_1:
    case BALL | MISSILE_1:
    case PLAYFIELD:
        return 1;
    case PLAYFIELD | PLAYER_0:
    case PLAYFIELD | PLAYER_1:
    case PLAYFIELD | BALL:
        return !(mode & SCORE);
    default:
        return 0;
    }
}

/* 0xff where the object is. */
static __m128i at(const uint8_t *mask, uint8_t bits) {
    const __m128i there = _mm_and_si128(_mm_loadu_si128((const __m128i *)mask), _mm_set1_epi8((char)bits));
    return _mm_andnot_si128(_mm_cmpeq_epi8(there, _mm_setzero_si128()), _mm_set1_epi8(-1));
}

static __m128i playfield_at(const uint32_t *mask, uint32_t playfield) {
    const __m128i bits = _mm_set1_epi32((int)playfield), zero = _mm_setzero_si128();
    __m128i none[4];
    for (int i = 0; i < 4; i++) {
        const __m128i four = _mm_loadu_si128((const __m128i *)(mask + i * 4));
        none[i] = _mm_cmpeq_epi32(_mm_and_si128(four, bits), zero);
    }
    const __m128i all = _mm_packs_epi16(_mm_packs_epi32(none[0], none[1]), _mm_packs_epi32(none[2], none[3]));
    return _mm_andnot_si128(all, _mm_set1_epi8(-1));
}

static __m128i choose(__m128i where, uint32_t colour, __m128i otherwise) {
    return _mm_or_si128(_mm_and_si128(where, _mm_set1_epi32((int)colour)), _mm_andnot_si128(where, otherwise));
}

/* Sixteen columns of one half of the screen. */
static void draw_sixteen(ale_tia *t, uint8_t *pixels, unsigned column, unsigned right) {
    const unsigned enabled = t->enabled, mode = t->playfield_mode;
    const __m128i nowhere = _mm_setzero_si128();
    __m128i where[6];
    where[0] = at(t->player_mask[0] + column, t->player_bits[0]);
    where[1] = enabled & MISSILE_0 ? at(t->missile_mask[0] + column, 0xff) : nowhere;
    where[2] = at(t->player_mask[1] + column, t->player_bits[1]);
    where[3] = enabled & MISSILE_1 ? at(t->missile_mask[1] + column, 0xff) : nowhere;
    where[4] = enabled & BALL ? at(t->ball_mask + column, 0xff) : nowhere;
    where[5] = playfield_at(t->playfield_mask + column, t->playfield);

    __m128i any = nowhere, several = nowhere;
    for (int i = 0; i < 6; i++) {
        several = _mm_or_si128(several, _mm_and_si128(any, where[i]));
        any = _mm_or_si128(any, where[i]);
    }
    if (_mm_movemask_epi8(several)) { /* what has met: pairs of objects */
        unsigned pairs = t->collisions;
        for (int i = 1; i < 6; i++) {
            for (int j = 0; j < i; j++) {
                if (_mm_movemask_epi8(_mm_and_si128(where[i], where[j]))) {
                    pairs |= be_ale_tia.collision_table[1 << i | 1 << j];
                }
            }
        }
        t->collisions = (uint16_t)pairs;
    }

    /* From back to front; in score mode the playfield is part of the half's player. */
    __m128i first = _mm_or_si128(where[0], where[1]), second = _mm_or_si128(where[2], where[3]), field = where[4];
    __m128i *const owner = (mode & (SCORE | PRIORITY)) != SCORE ? &field : right ? &second : &first;
    *owner = _mm_or_si128(*owner, where[5]);
    __m128i colour = _mm_set1_epi32((int)t->colours[BACKGROUND]);
    if (!(mode & PRIORITY)) colour = choose(field, t->colours[OF_PLAYFIELD], colour);
    colour = choose(second, t->colours[OF_PLAYER_1], colour);
    colour = choose(first, t->colours[OF_PLAYER_0], colour);
    if (mode & PRIORITY) colour = choose(field, t->colours[OF_PLAYFIELD], colour);
    _mm_storeu_si128((__m128i *)pixels, colour);
}

static void draw(ale_tia *t, unsigned columns, unsigned first) {
    const unsigned objects = t->enabled & OBJECTS;
    if (t->vblank & 2 || objects == 0) {
        memset(t->next_pixel, t->vblank & 2 ? 0 : (int)(t->colours[BACKGROUND] & 0xff), columns);
        t->next_pixel += columns;
        return;
    }
    if (columns < 16 || drawn_by_fours(objects, t->playfield_mode)) {
        be_ale_tia.draw(t, columns, first);
        return;
    }
    uint8_t *pixels = t->next_pixel;
    const unsigned end = first + columns, middle = SEEN / 2;
    for (unsigned column = first; column < end; column += 16) {
        /* the last sixteen may overlap those before; no sixteen cross the middle but those below */
        const unsigned from = column + 16 <= end ? column : end - 16;
        if (from < middle && from + 16 > middle && t->playfield_mode & SCORE) {
            uint8_t left[16];
            draw_sixteen(t, left, from, 0);
            draw_sixteen(t, pixels + (from - first), from, 1);
            memcpy(pixels + (from - first), left, middle - from);
        } else {
            draw_sixteen(t, pixels + (from - first), from, from >= middle);
        }
    }
    t->next_pixel += columns;
}

/* At the start of a line, objects are where their positions say. */
static void start_line(ale_tia *t) {
    t->next_pixel -= SEEN - (t->first_column + t->columns);
    t->playfield_mask = be_ale_tia.playfield_masks + (t->ctrlpf & 1) * SEEN;
    for (int i = 0; i < 2; i++) {
        const unsigned position = (uint16_t)t->positions[i];
        t->player_mask[i] = be_ale_tia.player_masks + (position & 3) * (2 * 8 * 320) + (t->nusiz[i] & 7) * 320 + SEEN -
                            (position & 0xfc);
    }
}

static void draw_until(ale_tia *t, int32_t clock) {
    const int32_t begin = BLANK + (int32_t)t->first_column;
    if (clock < t->display_start) return;
    if (clock > t->display_end) clock = t->display_end;
    while (t->drawn < clock) {
        int32_t in_line = LINE - t->left_of_line, count;
        if (t->drawn + t->left_of_line < clock) {
            count = t->left_of_line;
            t->left_of_line = LINE;
        } else {
            count = clock - t->drawn;
            t->left_of_line -= count;
        }
        t->drawn += count;
        if (in_line < begin) {
            const int32_t unseen = begin - in_line < count ? begin - in_line : count;
            in_line += unseen;
            count -= unseen;
        }
        uint8_t *pixels = t->next_pixel;
        if (count) draw(t, (unsigned)count, (unsigned)(in_line - BLANK));
        if (t->blanks_edge && begin < EDGE && in_line < EDGE) {
            memset(pixels, 0, (size_t)(EDGE - in_line));
            if (in_line + count >= EDGE) t->blanks_edge = 0;
        }
        if (t->left_of_line == LINE) start_line(t);
    }
}

/* How many clocks a write takes to show. */
static int32_t delay(unsigned reg, int32_t in_frame) {
    static const uint8_t of_playfield[4] = {4, 5, 2, 3};
    if (reg >= 0x0d && reg <= 0x0f) return of_playfield[in_frame % LINE / 3 & 3];
    return reg == 0x01 || reg == 0x0b || reg == 0x0c || reg == 0x1b || reg == 0x1c ? 1
           : reg == 0x04 || reg == 0x05 || reg == 0x12 || reg == 0x13              ? 8
                                                                                   : 0;
}

static unsigned with(unsigned set, unsigned object, int on) { return on ? set | object : set & ~object; }

static unsigned reflected(const ale_tia *t, int player, unsigned bits) {
    return t->reflects[player] ? be_ale_tia.reflect_table[bits] : bits;
}

void be_ale_tia_catch_up(ale_device *device, int32_t clock) {
    ale_tia *t = (ale_tia *)device;
    if (!t->moves_stars && !t->fast) draw_until(t, clock);
}

void be_ale_tia_poke(ale_device *device, unsigned address, unsigned value, int32_t *pending) {
    ale_tia *t = (ale_tia *)device;
    ale_system *system = t->system;
    const unsigned reg = address & 0x3f;
    const int32_t clock = (int32_t)(system->cycles * 3), in_frame = clock - t->frame_start;
    if (t->moves_stars || t->fast || t->loses_colour || (uint32_t)in_frame >= (uint32_t)(t->most_lines + 1) * LINE) {
        be_ale_tia.poke(device, (uint16_t)address, (uint8_t)value);
        return;
    }
    /* What is seen, as the write will leave it. Where it leaves it as it was, drawing can wait for the next write. */
    uint32_t field = t->playfield, colour = (value & 0xfe) * 0x01010101u;
    unsigned bits[2] = {t->player_bits[0], t->player_bits[1]}, enabled = t->enabled;
    uint32_t *coloured = &colour;
    switch (reg) {
    case 0x02: /* WSYNC: the processor waits for the next line */
        if (system->cpu->last_was_read) {
            const uint32_t in_line = (system->cycles - (uint32_t)(t->frame_start / 3)) % 76;
            if (in_line) system->cycles += 76 - in_line;
        }
        break;
    case 0x06: /* COLUP0, COLUP1, COLUPF, COLUBK */
        coloured = &t->colours[OF_PLAYER_0];
        break;
    case 0x07:
        coloured = &t->colours[OF_PLAYER_1];
        break;
    case 0x08:
        coloured = &t->colours[OF_PLAYFIELD];
        break;
    case 0x09:
        coloured = &t->colours[BACKGROUND];
        break;
    case 0x0d: /* PF0, PF1, PF2 */
    case 0x0e:
    case 0x0f:
        field = reg == 0x0d   ? (field & 0xffff0) | value >> 4
                : reg == 0x0e ? (field & 0xff00f) | value << 4
                              : (field & 0x00fff) | value << 12;
        enabled = with(enabled, PLAYFIELD, t->can_have[5] == 1 && field != 0);
        break;
    case 0x1b: /* GRP0: also what a delayed GRP1 shows */
        t->player[0] = (uint8_t)(t->can_have[0] ? value : 0);
        t->delayed_player[1] = t->player[1];
        bits[0] = reflected(t, 0, t->delays_player[0] ? t->delayed_player[0] : t->player[0]);
        bits[1] = reflected(t, 1, t->player[1]);
        enabled = with(with(enabled, PLAYER_0, bits[0] != 0), PLAYER_1, bits[1] != 0);
        break;
    case 0x1c: /* GRP1: also what a delayed GRP0 and ball show */
        t->player[1] = (uint8_t)(t->can_have[1] ? value : 0);
        t->delayed_player[0] = t->player[0];
        t->delayed_ball_on = t->ball_on;
        bits[0] = reflected(t, 0, t->player[0]);
        bits[1] = reflected(t, 1, t->delays_player[1] ? t->delayed_player[1] : t->player[1]);
        enabled = with(with(enabled, PLAYER_0, bits[0] != 0), PLAYER_1, bits[1] != 0);
        enabled = with(enabled, BALL, t->ball_on);
        break;
    case 0x1d: /* ENAM0, ENAM1 */
    case 0x1e: {
        const int i = reg == 0x1e;
        t->missile_on[i] = t->can_have[2 + i] ? value >> 1 & 1 : 0;
        enabled = with(enabled, i ? MISSILE_1 : MISSILE_0, t->missile_on[i] && !t->missile_follows[i]);
        break;
    }
    case 0x1f: /* ENABL */
        t->ball_on = t->can_have[4] ? value >> 1 & 1 : 0;
        enabled = with(enabled, BALL, t->delays_ball ? t->delayed_ball_on : t->ball_on);
        break;
    default:
        draw_until(t, clock + delay(reg, in_frame));
        be_ale_tia.poke(device, (uint16_t)address, (uint8_t)value);
        return;
    }
    if (*coloured == colour && field == t->playfield && enabled == t->enabled && bits[0] == t->player_bits[0] &&
        bits[1] == t->player_bits[1]) {
        *pending = clock + delay(reg, in_frame);
        return;
    }
    draw_until(t, clock + delay(reg, in_frame));
    *coloured = colour;
    t->playfield = field;
    t->player_bits[0] = (uint8_t)bits[0];
    t->player_bits[1] = (uint8_t)bits[1];
    t->enabled = (uint8_t)enabled;
}

#endif
