/* The TIA, the chip that makes the picture while the processor runs. A write to one of its registers takes effect at
 * the pixel that the beam has reached. State is kept where the library keeps it, and in the same form.
 *
 * Two things make this fast. First, pixels are not drawn at every access, but only when something on which they depend
 * is about to change, or something that depends on them (collisions) is read. Until then, only the clock up to which
 * they are due is kept. Second, sixteen or thirty-two pixels are drawn at a time.
 *
 * Three peculiarities of the library are kept. A stretch that ends within four pixels without sprites is drawn to the
 * end of the four (this can be seen only if a frame ends there). A score on top of everything has the players' colors
 * only as long as no sprite is enabled. After a late HMOVE, up to 56 pixels turn black until they are drawn again.
 */
#include "engines/atari/ale_fast/ale_fast.h"

#ifdef BE_HAVE_ALE_FAST
#include "engines/atari/ale_fast/picture.h"

#include <dlfcn.h>
#include <string.h>

ale_picture_library be_ale_picture_library;

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIB be_ale_picture_library

/* ---- pixels ---------------------------------------------------------------------------------------------- */

static uint8_t reversed[256];        /* bytes with their bits in reversed order */
static uint8_t field_pixels[16][16]; /* the pixels of four bits of the playfield; the lowest bit has the first four */

/* The playfield of a line, with a bit for each four pixels. */
static uint64_t field_bits(const ale_picture *t) {
    const uint32_t field = t->field, pf0 = field & 0xf, pf1 = field >> 4 & 0xff, pf2 = field >> 12 & 0xff;
    const uint64_t left = pf0 | (uint32_t)reversed[pf1] << 4 | pf2 << 12;
    if (t->mask_field == LIB.fields) return left | left << 20;
    return left | (uint64_t)(reversed[pf2] | pf1 << 8 | (uint32_t)reversed[pf0 << 4] << 16) << 20;
}

/* Whether the library has a way of its own to draw these objects: only then it draws four pixels at once. */
static int fours(unsigned objects) {
    static const uint64_t ways[4] = {
        [0] = UINT64_C(1) << 0x01 | UINT64_C(1) << 0x02 | UINT64_C(1) << 0x04 | UINT64_C(1) << 0x05 |
              UINT64_C(1) << 0x08 | UINT64_C(1) << 0x0a | UINT64_C(1) << 0x10 | UINT64_C(1) << 0x12 |
              UINT64_C(1) << 0x14 | UINT64_C(1) << 0x18 | UINT64_C(1) << 0x20 | UINT64_C(1) << 0x21 |
              UINT64_C(1) << 0x24 | UINT64_C(1) << 0x30,
        [1] = UINT64_C(1) << 0x01 | UINT64_C(1) << 0x02 | UINT64_C(1) << 0x04 | UINT64_C(1) << 0x05 |
              UINT64_C(1) << 0x08 | UINT64_C(1) << 0x0a | UINT64_C(1) << 0x10 | UINT64_C(1) << 0x12 |
              UINT64_C(1) << 0x14 | UINT64_C(1) << 0x18 | UINT64_C(1) << 0x20,
        [2] = UINT64_C(1) << 0x01 | UINT64_C(1) << 0x02 | UINT64_C(1) << 0x04 | UINT64_C(1) << 0x05 |
              UINT64_C(1) << 0x08 | UINT64_C(1) << 0x0a | UINT64_C(1) << 0x10 | UINT64_C(1) << 0x12 |
              UINT64_C(1) << 0x14 | UINT64_C(1) << 0x18 | UINT64_C(1) << 0x20 | UINT64_C(1) << 0x21 |
              UINT64_C(1) << 0x24 | UINT64_C(1) << 0x30,
        [3] = UINT64_C(1) << 0x01 | UINT64_C(1) << 0x02 | UINT64_C(1) << 0x04 | UINT64_C(1) << 0x05 |
              UINT64_C(1) << 0x08 | UINT64_C(1) << 0x0a | UINT64_C(1) << 0x10 | UINT64_C(1) << 0x12 |
              UINT64_C(1) << 0x14 | UINT64_C(1) << 0x18 | UINT64_C(1) << 0x20,
    };
    return ways[objects >> 6] >> (objects & 63) & 1;
}

static const uint8_t *mask_of(const ale_picture *t, unsigned object) {
    switch (object) {
    case ALE_P0:
        return t->mask_player[0];
    case ALE_M0:
        return t->mask_missile[0];
    case ALE_P1:
        return t->mask_player[1];
    case ALE_M1:
        return t->mask_missile[1];
    default:
        return t->mask_ball;
    }
}

/* Whether the four pixels from x on are free of enabled sprites, whatever their shape. */
static int free_of_sprites(const ale_picture *t, unsigned x) {
    for (unsigned left = t->enabled & 0x1f; left; left &= left - 1) {
        uint32_t four;
        memcpy(&four, mask_of(t, left & -left) + x, sizeof four);
        if (four) return 0;
    }
    return 1;
}

#define LANES 16
#define WIDE(name) name##_16
#define TARGET
#include "engines/atari/ale_fast/picture_lanes.h"

#define LANES 32
#define WIDE(name) name##_32
#define TARGET __attribute__((target("avx2")))
#include "engines/atari/ale_fast/picture_lanes.h"

static void (*draw_objects)(ale_picture *, uint8_t *line, unsigned x, unsigned end) = draw_objects_16;

static void draw(ale_picture *t, unsigned x, unsigned number) {
    uint8_t *pixel = t->pixel;
    t->pixel += number;
    if (t->vblank & 2) {
        memset(pixel, 0, number);
    } else if (t->enabled == 0) {
        memset(pixel, (int)(t->colors[ALE_COLOR_BACK] & 0xff), number);
    } else {
        draw_objects(t, pixel - x, x, x + number);
    }
}

/* ---- masks of sprites ------------------------------------------------------------------------------------ */

static inline const uint8_t *place(const uint8_t *masks, int position, unsigned kinds, unsigned kind) {
    const unsigned at = (uint16_t)position;
    return masks + ((at & 3) * kinds + kind) * ALE_MASK_BYTES + ALE_WIDTH - (at & 0xfc);
}

static inline const uint8_t *player_mask(const ale_picture *t, int i) {
    return place(LIB.players, t->position[i], 16, t->nusiz[i] & 7);
}

static inline const uint8_t *missile_mask(const ale_picture *t, int i, unsigned size) {
    return place(LIB.missiles, t->position[2 + i], 32, (t->nusiz[i] & 7u) * 4 + size);
}

static inline unsigned missile_size(const ale_picture *t, int i) { return t->nusiz[i] >> 4 & 3; }

static inline const uint8_t *ball_mask(const ale_picture *t) {
    return place(LIB.balls, t->position[4], 4, t->ctrlpf >> 4 & 3);
}

static inline int16_t wrapped(int position) {
    position = (int16_t)position;
    return (int16_t)(position >= ALE_WIDTH ? position - ALE_WIDTH : position < 0 ? position + ALE_WIDTH : position);
}

/* Applies what takes effect with a new line. */
static void end_line(ale_picture *t) {
    t->mask_field = LIB.fields + (t->ctrlpf & 1 ? ALE_WIDTH : 0);
    t->mask_player[0] = player_mask(t, 0);
    t->mask_player[1] = player_mask(t, 1);
    if (!t->cosmic) return;
    /* The stars of Cosmic Ark are a missile that moves in every line. */
    static const int8_t steps[4] = {18, 33, 0, 17};
    t->cosmic_line = (t->cosmic_line + 1) & 3;
    t->position[2] = wrapped(t->position[2] - steps[t->cosmic_line]);
    if (t->cosmic_line == 2) {
        t->mask_missile[0] = LIB.no_missile;
    } else {
        t->mask_missile[0] = missile_mask(t, 0, missile_size(t, 0) | (t->cosmic_line == 1));
    }
}

__attribute__((noinline)) static void draw_until(ale_picture *t, int32_t end) {
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
        uint8_t *pixel = t->pixel;
        if (number) draw(t, (unsigned)(from - ALE_BLANK_CLOCKS), (unsigned)number);
        if (UNLIKELY(t->hmove_blank) && from < ALE_BLANK_CLOCKS + 8) {
            memset(pixel, 0, (size_t)(ALE_BLANK_CLOCKS + 8 - from));
            if (from + number >= ALE_BLANK_CLOCKS + 8) t->hmove_blank = 0;
        }
        if (t->clocks_left == ALE_LINE_CLOCKS) end_line(t);
    } while (t->drawn_clock < end);
}

/* Draws what is due. */
static inline void flush(ale_picture *t) {
    const int32_t end = t->due < t->end_clock ? t->due : t->end_clock;
    if (t->due >= t->first_clock && t->drawn_clock < end) draw_until(t, end);
}

/* After a late HMOVE, the first access in the blank part of a line makes pixels black: as many as there are from there
 * to the eighth pixel. */
static void blank_line(ale_picture *t) {
    flush(t);
    t->blanked = t->drawn_clock == t->due && t->clocks_left > ALE_LINE_CLOCKS - ALE_BLANK_CLOCKS;
}

/* ---- registers ------------------------------------------------------------------------------------------- */

/* Assigns something on which pixels depend. */
#define SET(place, value)                                                                                              \
    do {                                                                                                               \
        const __typeof__(place) new_ = (__typeof__(place))(value);                                                     \
        if (new_ != (place)) {                                                                                         \
            flush(t);                                                                                                  \
            (place) = new_;                                                                                            \
        }                                                                                                              \
    } while (0)

static inline void enable(ale_picture *t, unsigned object, int on) {
    SET(t->enabled, on ? t->enabled | object : t->enabled & ~object);
}

static void set_shape(ale_picture *t, int i, unsigned graphics) {
    SET(t->shape[i], t->reflect[i] ? reversed[graphics] : graphics);
    enable(t, i ? ALE_P1 : ALE_P0, graphics != 0);
}

static void set_color(ale_picture *t, int i, unsigned value) {
    value &= 0xfe;
    if (t->color_loss && t->last_lines & 1) value |= 1;
    SET(t->colors[i], value * 0x01010101u);
}

static void set_field(ale_picture *t, uint32_t field) {
    SET(t->field, field);
    enable(t, ALE_FIELD, field != 0);
}

static void set_reflect(ale_picture *t, int i, unsigned reflect) {
    if (reflect == t->reflect[i]) return;
    flush(t);
    t->reflect[i] = (uint8_t)reflect;
    t->shape[i] = reversed[t->shape[i]];
}

static void set_nusiz(ale_picture *t, int i, unsigned value) {
    SET(t->nusiz[i], value);
    SET(t->mask_player[i], player_mask(t, i));
    SET(t->mask_missile[i], missile_mask(t, i, missile_size(t, i)));
}

static void set_resmp(ale_picture *t, int i, unsigned locked) {
    if (t->resmp[i] && !locked) {
        /* The missile appears in the player's middle. */
        const unsigned kind = t->nusiz[i] & 7, middle = kind == 5 ? 8 : kind == 7 ? 16 : 4;
        flush(t);
        t->position[2 + i] = (int16_t)((t->position[i] + (int)middle) % ALE_WIDTH);
        t->mask_missile[i] = missile_mask(t, i, missile_size(t, i));
    }
    t->resmp[i] = (uint8_t)locked;
    enable(t, i ? ALE_M1 : ALE_M0, t->enam[i] && !locked);
}

static void set_ctrlpf(ale_picture *t, unsigned value, int32_t x) {
    SET(t->ctrlpf, value);
    SET(t->field_mode, value << 5 & 0xc0);
    if (x <= 146) SET(t->mask_field, LIB.fields + (value & 1 ? ALE_WIDTH : 0));
    SET(t->mask_ball, ball_mask(t));
}

static void move(ale_picture *t, int32_t clock, unsigned cycle) {
    flush(t);
    if (t->hmove_blanks && (cycle < 21 || cycle == 75)) {
        t->hmove_blank = 1;
        t->blanked = 0;
    }
    for (int i = 0; i < 5; i++) t->position[i] = wrapped(t->position[i] + LIB.motion[cycle][t->hm[i]]);
    t->mask_ball = ball_mask(t);
    for (int i = 0; i < 2; i++) {
        t->mask_player[i] = player_mask(t, i);
        t->mask_missile[i] = missile_mask(t, i, missile_size(t, i));
    }
    t->hmove_clock = clock;
    t->cosmic = 0;
}

/* A player appears where the beam is. Its first copy is left out of this line if the beam has passed it. */
static void reset_player(ale_picture *t, int i, int32_t clock, int32_t x) {
    const int position = x < ALE_BLANK_CLOCKS ? 3 : (x - 63) % ALE_WIDTH;
    const int8_t when = LIB.resets[((t->nusiz[i] & 7) * ALE_WIDTH + t->position[i]) * ALE_WIDTH + position];
    if (when < -1 || when > 1) return;
    if (when == 1) { /* the beam is within a copy, which is drawn to its end */
        if (clock + 11 > t->due) t->due = clock + 11;
        flush(t);
    }
    SET(t->position[i], position);
    SET(t->mask_player[i], player_mask(t, i) + (when < 0 ? 0 : 8 * ALE_MASK_BYTES));
}

static void reset_missile(ale_picture *t, int i, int32_t since_move, int32_t x) {
    int position = x < ALE_BLANK_CLOCKS ? 2 : (x - 64) % ALE_WIDTH;
    if (i == 0 && since_move == 60 && x == 69) position = 8;
    if (i == 1 && since_move == 9 && x == 18) position = 3;
    SET(t->position[2 + i], position);
    SET(t->mask_missile[i], missile_mask(t, i, missile_size(t, i)));
}

static void reset_ball(ale_picture *t, int32_t since_move, int32_t x) {
    int position = x < ALE_BLANK_CLOCKS ? 2 : (x - 64) % ALE_WIDTH;
    if (since_move == 54 && (x == 60 || x == 69)) position = 10;
    if (since_move == 9 && x == 18) position = 3;
    if (since_move == 21 && x == 30) position = 6;
    if (since_move == 18 && x == 27) position = 5;
    SET(t->position[4], position);
    SET(t->mask_ball, ball_mask(t));
}

static void stop(ale_picture *t) {
    t->system->cpu->status |= ALE_STOP;
    t->partial_frame = 0;
}

static void set_vsync(ale_picture *t, unsigned value, int32_t clock) {
    t->vsync = (uint8_t)value;
    if (value & 2) {
        t->sync_clock = clock + ALE_LINE_CLOCKS;
    } else if (t->sync_clock <= clock) {
        t->sync_clock = INT32_MAX;
        stop(t);
    }
}

static void set_vblank(ale_picture *t, unsigned value) {
    if (t->vblank & ~value & 0x80) {
        t->dumped = 0;
        t->dump_cycle = t->system->cycles;
    } else if (value & ~t->vblank & 0x80) {
        t->dumped = 1;
    }
    if ((t->vblank ^ value) & 2) flush(t);
    t->vblank = (uint8_t)value;
}

static void wait_for_line(ale_picture *t) {
    if (!t->system->cpu->last_was_read) return;
    const uint32_t spent = (t->system->cycles - (uint32_t)(t->frame_clock / 3)) % 76;
    if (spent) t->system->cycles += 76 - spent;
}

static void sound(ale_picture *t, unsigned address, unsigned value) {
    static const uint8_t places[6] = {2, 3, 4, 5, 0, 1}, bits[6] = {0xf, 0xf, 0x1f, 0x1f, 0xf, 0xf};
    t->audio[places[address - 0x15]] = value & bits[address - 0x15];
    typedef void set(ale_device *, uint16_t, uint8_t, int32_t);
    set *function;
    memcpy(&function, (void *const *)t->sound->functions + 11, sizeof function);
    function(t->sound, (uint16_t)address, (uint8_t)value, (int32_t)t->system->cycles);
}

static void write_register(ale_device *device, uint16_t where, uint8_t value) {
    static const uint8_t delays[0x40] = {[0x01] = 1, [0x04] = 8, [0x05] = 8, [0x0b] = 1, [0x0c] = 1,
                                         [0x12] = 8, [0x13] = 8, [0x1b] = 1, [0x1c] = 1};
    static const uint8_t field_delays[4] = {4, 5, 2, 3};
    ale_picture *t = (ale_picture *)device;
    const unsigned address = where & 0x3f;
    const int32_t clock = (int32_t)(t->system->cycles * 3), since = clock - t->frame_clock;
    int32_t due = clock + delays[address];
    if (address - 0xd < 3) due = clock + field_delays[since % ALE_LINE_CLOCKS / 3 & 3];
    if (due > t->due) t->due = due;
    if (t->hmove_blank && !t->blanked) blank_line(t);
    if (UNLIKELY(since >= (t->most_lines + 1) * ALE_LINE_CLOCKS)) stop(t);
    switch (address) {
    case 0x00:
        set_vsync(t, value, clock);
        break;
    case 0x01:
        set_vblank(t, value);
        break;
    case 0x02:
        wait_for_line(t);
        break;
    case 0x04:
        set_nusiz(t, 0, value);
        break;
    case 0x05:
        set_nusiz(t, 1, value);
        break;
    case 0x06:
        set_color(t, ALE_COLOR_P0, value);
        break;
    case 0x07:
        set_color(t, ALE_COLOR_P1, value);
        break;
    case 0x08:
        set_color(t, ALE_COLOR_FIELD, value);
        break;
    case 0x09:
        set_color(t, ALE_COLOR_BACK, value);
        break;
    case 0x0a:
        set_ctrlpf(t, value, since % ALE_LINE_CLOCKS);
        break;
    case 0x0b:
        set_reflect(t, 0, value >> 3 & 1);
        break;
    case 0x0c:
        set_reflect(t, 1, value >> 3 & 1);
        break;
    case 0x0d:
        set_field(t, (t->field & 0xffff0) | value >> 4);
        break;
    case 0x0e:
        set_field(t, (t->field & 0xff00f) | (uint32_t)value << 4);
        break;
    case 0x0f:
        set_field(t, (t->field & 0x00fff) | (uint32_t)value << 12);
        break;
    case 0x10:
        reset_player(t, 0, clock, since % ALE_LINE_CLOCKS);
        break;
    case 0x11:
        reset_player(t, 1, clock, since % ALE_LINE_CLOCKS);
        break;
    case 0x12:
        reset_missile(t, 0, clock - t->hmove_clock, since % ALE_LINE_CLOCKS);
        break;
    case 0x13:
        reset_missile(t, 1, clock - t->hmove_clock, since % ALE_LINE_CLOCKS);
        break;
    case 0x14:
        reset_ball(t, clock - t->hmove_clock, since % ALE_LINE_CLOCKS);
        break;
    case 0x15:
    case 0x16:
    case 0x17:
    case 0x18:
    case 0x19:
    case 0x1a:
        sound(t, address, value);
        break;
    case 0x1b:
        t->grp[0] = value;
        t->old_grp[1] = t->grp[1];
        set_shape(t, 0, t->vdelp[0] ? t->old_grp[0] : value);
        set_shape(t, 1, t->grp[1]);
        break;
    case 0x1c:
        set_shape(t, 1, t->vdelp[1] ? t->old_grp[1] : value);
        t->grp[1] = value;
        t->old_grp[0] = t->grp[0];
        set_shape(t, 0, t->grp[0]);
        t->old_enabl = t->enabl;
        enable(t, ALE_BALL, t->enabl);
        break;
    case 0x1d:
        t->enam[0] = value >> 1 & 1;
        enable(t, ALE_M0, t->enam[0] && !t->resmp[0]);
        break;
    case 0x1e:
        t->enam[1] = value >> 1 & 1;
        enable(t, ALE_M1, t->enam[1] && !t->resmp[1]);
        break;
    case 0x1f:
        t->enabl = value >> 1 & 1;
        enable(t, ALE_BALL, t->vdelbl ? t->old_enabl : t->enabl);
        break;
    case 0x22:
        if (t->hmove_clock + 63 == clock && t->hm[2] == 7 && value >> 4 == 6) {
            flush(t);
            t->cosmic = 1;
            t->cosmic_line = 0;
        }
        t->hm[2] = value >> 4;
        break;
    case 0x20:
    case 0x21:
    case 0x23:
    case 0x24:
        t->hm[address - 0x20] = value >> 4;
        break;
    case 0x25:
        t->vdelp[0] = value & 1;
        set_shape(t, 0, value & 1 ? t->old_grp[0] : t->grp[0]);
        break;
    case 0x26:
        t->vdelp[1] = value & 1;
        set_shape(t, 1, value & 1 ? t->old_grp[1] : t->grp[1]);
        break;
    case 0x27:
        t->vdelbl = value & 1;
        enable(t, ALE_BALL, value & 1 ? t->old_enabl : t->enabl);
        break;
    case 0x28:
        set_resmp(t, 0, value >> 1 & 1);
        break;
    case 0x29:
        set_resmp(t, 1, value >> 1 & 1);
        break;
    case 0x2a:
        move(t, clock, (unsigned)(since % ALE_LINE_CLOCKS) / 3);
        break;
    case 0x2b:
        memset(t->hm, 0, sizeof t->hm);
        break;
    case 0x2c:
        flush(t);
        t->collisions = 0;
        break;
    default:
        break;
    }
}

static uint8_t read_register(ale_device *device, uint16_t where) {
    ale_picture *t = (ale_picture *)device;
    const unsigned address = where & 0xf;
    const int32_t clock = (int32_t)(t->system->cycles * 3);
    if (clock > t->due) t->due = clock;
    if (t->hmove_blank && !t->blanked) blank_line(t);
    if (address >= 8) {
        /* The library reads joysticks and paddles. It would draw first, but does not if the picture has not begun. */
        const int32_t first_clock = t->first_clock;
        t->first_clock = INT32_MAX;
        const uint8_t value = LIB.peek(device, where);
        t->first_clock = first_clock;
        return value;
    }
    flush(t);
    const unsigned two = address < 7 ? t->collisions >> 2 * address & 3 : t->collisions >> 13 & 3;
    return (uint8_t)((t->system->bus & 0x3f) | (two & 1) << 7 | (address == 6 ? 0 : (two & 2) << 5));
}

/* ---- putting it into place ------------------------------------------------------------------------------- */

/* The table of virtual functions has twenty words: two, and then the functions; an object points to the first
 * function. */
#define PICTURE_WORDS 20
#define PICTURE_FRONT 2
#define PICTURE_PEEK (PICTURE_FRONT + 8)
#define PICTURE_POKE (PICTURE_FRONT + 9)

static void *const *their_picture;
static void *picture_table[PICTURE_WORDS];

int be_ale_picture_open(void *handle) {
    void *const *table = dlsym(handle, "_ZTV3TIA");
    *(void **)&LIB.peek = dlsym(handle, "_ZN3TIA4peekEt");
    void *const poke_entry = dlsym(handle, "_ZN3TIA4pokeEth");
    LIB.balls = dlsym(handle, "_ZN3TIA16ourBallMaskTableE");
    LIB.missiles = dlsym(handle, "_ZN3TIA18ourMissleMaskTableE");
    LIB.players = dlsym(handle, "_ZN3TIA18ourPlayerMaskTableE");
    LIB.no_missile = dlsym(handle, "_ZN3TIA20ourDisabledMaskTableE");
    LIB.fields = dlsym(handle, "_ZN3TIA17ourPlayfieldTableE");
    LIB.collisions = dlsym(handle, "_ZN3TIA17ourCollisionTableE");
    LIB.resets = dlsym(handle, "_ZN3TIA31ourPlayerPositionResetWhenTableE");
    LIB.motion = dlsym(handle, "_ZN3TIA22ourCompleteMotionTableE");
    if (!table || !LIB.peek || !poke_entry || !LIB.balls || !LIB.missiles || !LIB.players || !LIB.no_missile ||
        !LIB.fields || !LIB.collisions || !LIB.resets || !LIB.motion) {
        return 0;
    }
    void *peek_entry;
    memcpy(&peek_entry, &LIB.peek, sizeof peek_entry);
    if (table[PICTURE_PEEK] != peek_entry || table[PICTURE_POKE] != poke_entry) return 0;
    for (unsigned i = 0; i < 256; i++) {
        for (unsigned bit = 0; bit < 8; bit++) reversed[i] |= (uint8_t)((i >> bit & 1) << (7 - bit));
    }
    for (unsigned i = 0; i < 16; i++) {
        for (unsigned x = 0; x < 16; x++) field_pixels[i][x] = i >> x / 4 & 1 ? 255 : 0;
    }
    uint8_t (*const own_peek)(ale_device *, uint16_t) = read_register;
    void (*const own_poke)(ale_device *, uint16_t, uint8_t) = write_register;
    memcpy(picture_table, table, sizeof picture_table);
    memcpy(&picture_table[PICTURE_PEEK], &own_peek, sizeof own_peek);
    memcpy(&picture_table[PICTURE_POKE], &own_poke, sizeof own_poke);
    if (__builtin_cpu_supports("avx2")) draw_objects = draw_objects_32;
    their_picture = table;
    return 1;
}

void be_ale_picture_attach(ale_device *device) {
    ale_picture *t = (ale_picture *)device;
    static const uint8_t all[6] = {1, 1, 1, 1, 1, 1}; /* no object has been switched off */
    if (!their_picture || (const void *)device->functions != their_picture + PICTURE_FRONT || t->x_start != 0 ||
        t->width != ALE_WIDTH || t->fast || memcmp(t->bits, all, sizeof all) != 0 ||
        t->color_back != &t->colors[ALE_COLOR_BACK] || t->color_field != &t->colors[ALE_COLOR_FIELD] ||
        t->color_p0 != &t->colors[ALE_COLOR_P0] || t->color_p1 != &t->colors[ALE_COLOR_P1]) {
        return;
    }
    t->due = INT32_MIN;
    t->blanked = 0;
    device->functions = (const ale_device_functions *)(picture_table + PICTURE_FRONT);
}

uint8_t be_ale_picture_execute(ale_cpu *cpu, uint32_t number) {
    const uint8_t done = be_ale_cpu_execute(cpu, number);
    ale_picture *t = (ale_picture *)cpu->system->tia;
    if ((const void *)t->device.functions == picture_table + PICTURE_FRONT) {
        flush(t);
        t->due = INT32_MIN; /* clocks start again with each frame */
    }
    return done;
}

#endif
