/* The registers of the TIA, the chip that makes the picture while the processor runs. A write to one of them takes
 * effect at the pixel that the beam has reached. State is kept where the library keeps it, and in the same form.
 */
#include "engines/atari/ale_fast/registers.h"

#ifdef BE_HAVE_ALE_FAST
#include "engines/atari/ale_fast/beam.h"
#include "engines/atari/ale_fast/controllers.h"
#include "engines/atari/ale_fast/frames.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* ---- time ------------------------------------------------------------------------------------------------ */

static void update_quiet(be_ale_console *c) {
    const ale_picture *t = c->picture;
    c->quiet_until = t->hmove_blank && !t->blanked ? 0 : c->stop_cycle;
}

/* After a late HMOVE, the first access in the blank part of a line makes pixels black: as many as there are from there
 * to the eighth pixel. */
static __attribute__((noinline)) void blank_line(be_ale_console *c) {
    ale_picture *t = c->picture;
    be_ale_flush_all(c);
    t->blanked = t->drawn_clock == t->due && t->clocks_left > ALE_LINE_CLOCKS - ALE_BLANK_CLOCKS;
    update_quiet(c);
}

static __attribute__((noinline)) void stop(be_ale_console *c) {
    c->system->cpu->status |= ALE_STOP;
    c->picture->partial_frame = 0;
}

/* Whether a register only changes what no pixel depends on. */
INLINE int is_invisible(unsigned number) {
    return number == 0x00 || number == 0x02 || number == 0x03 || (number >= 0x15 && number <= 0x1a) || number >= 0x2c;
}

/* What every write does first. Returns the clock. */
INLINE int32_t arrive(be_ale_console *c, unsigned number, unsigned value) {
    ale_picture *t = c->picture;
    const uint32_t cycles = c->system->cycles;
    const int32_t clock = (int32_t)(cycles * 3), due = clock + be_ale_delay_of(c, number, cycles);
    if (c->record && (!is_invisible(number) || c->quiet_until == 0)) be_ale_note(c, cycles, number, value);
    if (due > t->due) t->due = due;
    if (UNLIKELY(t->hmove_blank && !t->blanked)) blank_line(c);
    if (UNLIKELY(cycles >= c->stop_cycle)) stop(c);
    c->last[number] = (uint16_t)value;
    return clock;
}

static int32_t clock_of_line(const be_ale_console *c) {
    return (int32_t)(c->system->cycles - c->frame_cycle) % (ALE_LINE_CLOCKS / 3) * 3;
}

/* ---- what pixels depend on ------------------------------------------------------------------------------- */

/* Whether pixels that are due depend on these objects: on no object while the picture is blank. */
INLINE int are_seen(const ale_picture *t, unsigned objects) { return !(t->vblank & 2) && (t->enabled & objects); }

/* Assigns something on which only the pixels of these objects depend. */
#define SET_OF(objects, place, value)                                                                                  \
    do {                                                                                                               \
        const __typeof__(place) new_ = (__typeof__(place))(value);                                                     \
        if (new_ != (place)) {                                                                                         \
            if (are_seen(t, objects)) be_ale_flush(c);                                                                 \
            (place) = new_;                                                                                            \
        }                                                                                                              \
    } while (0)

/* Assigns something on which pixels or the ends of lines depend. */
#define SET(place, value)                                                                                              \
    do {                                                                                                               \
        const __typeof__(place) new_ = (__typeof__(place))(value);                                                     \
        if (new_ != (place)) {                                                                                         \
            be_ale_flush(c);                                                                                           \
            (place) = new_;                                                                                            \
        }                                                                                                              \
    } while (0)

INLINE void enable(be_ale_console *c, unsigned object, int on) {
    ale_picture *t = c->picture;
    const unsigned enabled = on ? t->enabled | object : t->enabled & ~object;
    if (enabled == t->enabled) return;
    if (!(t->vblank & 2)) be_ale_flush(c);
    t->enabled = (uint8_t)enabled;
}

INLINE void set_shape(be_ale_console *c, int i, unsigned graphics) {
    ale_picture *t = c->picture;
    const unsigned player = i ? ALE_P1 : ALE_P0;
    SET_OF(player, t->shape[i], t->reflect[i] ? be_ale_reversed[graphics] : graphics);
    enable(c, player, graphics != 0);
}

INLINE void set_color(be_ale_console *c, int i, unsigned value) {
    static const uint8_t of[4] = {
        [ALE_COLOR_FIELD] = ALE_BALL | ALE_FIELD, [ALE_COLOR_P0] = ALE_P0 | ALE_M0, [ALE_COLOR_P1] = ALE_P1 | ALE_M1};
    ale_picture *t = c->picture;
    value &= 0xfe;
    if (UNLIKELY(t->color_loss && t->last_lines & 1)) value |= 1;
    value *= 0x01010101u;
    if (value == t->colors[i]) return;
    const int is_players = i == ALE_COLOR_P0 || i == ALE_COLOR_P1;
    const unsigned objects = is_players && t->field_mode & ALE_SCORE ? of[i] | ALE_FIELD : of[i];
    if (i == ALE_COLOR_BACK ? !(t->vblank & 2) : are_seen(t, objects)) be_ale_flush(c);
    t->colors[i] = value;
}

INLINE void set_field(be_ale_console *c, uint32_t field) {
    ale_picture *t = c->picture;
    SET_OF(ALE_FIELD, t->field, field);
    enable(c, ALE_FIELD, field != 0);
}

INLINE void set_reflect(be_ale_console *c, int i, unsigned reflect) {
    ale_picture *t = c->picture;
    if (reflect == t->reflect[i]) return;
    be_ale_flush(c);
    t->reflect[i] = (uint8_t)reflect;
    t->shape[i] = be_ale_reversed[t->shape[i]];
}

INLINE void place_missile(ale_picture *t, int i) {
    t->mask_missile[i] = be_ale_missile_mask(t, i, be_ale_missile_size(t, i));
}

/* Draws what is due before something is compared with where missile 0 is, if that changes with each line. */
INLINE void settle_missile(be_ale_console *c, int i) {
    if (UNLIKELY(i == 0 && c->picture->cosmic)) be_ale_flush(c);
}

INLINE void set_nusiz(be_ale_console *c, int i, unsigned value) {
    ale_picture *t = c->picture;
    settle_missile(c, i);
    SET(t->nusiz[i], value);
    SET(t->mask_player[i], be_ale_player_mask(t, i));
    SET(t->mask_missile[i], be_ale_missile_mask(t, i, be_ale_missile_size(t, i)));
}

INLINE void enable_missile(be_ale_console *c, int i) {
    enable(c, i ? ALE_M1 : ALE_M0, c->picture->enam[i] && !c->picture->resmp[i]);
}

INLINE void set_resmp(be_ale_console *c, int i, unsigned locked) {
    ale_picture *t = c->picture;
    if (t->resmp[i] && !locked) {
        /* The missile appears in the player's middle. */
        const unsigned kind = t->nusiz[i] & 7, middle = kind == 5 ? 8 : kind == 7 ? 16 : 4;
        be_ale_flush(c);
        t->position[2 + i] = (int16_t)((t->position[i] + (int)middle) % ALE_WIDTH);
        place_missile(t, i);
    }
    t->resmp[i] = (uint8_t)locked;
    enable_missile(c, i);
}

INLINE void set_ctrlpf(be_ale_console *c, unsigned value) {
    ale_picture *t = c->picture;
    SET(t->ctrlpf, value);
    SET(t->field_mode, value << 5 & 0xc0);
    if (clock_of_line(c) <= 146) SET(t->mask_field, LIB.fields + (value & 1 ? ALE_WIDTH : 0));
    SET(t->mask_ball, be_ale_ball_mask(t));
}

/* ---- where things are ------------------------------------------------------------------------------------ */

static void move(be_ale_console *c, int32_t clock) {
    ale_picture *t = c->picture;
    const unsigned cycle = (unsigned)clock_of_line(c) / 3;
    const int32_t *by = LIB.motion[cycle];
    be_ale_flush(c);
    if (t->hmove_blanks && (cycle < 21 || cycle == 75)) {
        t->hmove_blank = 1;
        t->blanked = 0;
        c->quiet_until = 0;
    }
    const int moved[5] = {by[t->hm[0]], by[t->hm[1]], by[t->hm[2]], by[t->hm[3]], by[t->hm[4]]};
    for (int i = 0; i < 5; i++) {
        if (moved[i]) t->position[i] = be_ale_wrapped(t->position[i] + moved[i]);
    }
    /* A player's first copy may have been left out. */
    t->mask_player[0] = be_ale_player_mask(t, 0);
    t->mask_player[1] = be_ale_player_mask(t, 1);
    if (moved[2] || c->stale) place_missile(t, 0);
    if (moved[3] || c->stale) place_missile(t, 1);
    if (moved[4] || c->stale) t->mask_ball = be_ale_ball_mask(t);
    c->stale = 0;
    t->hmove_clock = clock;
    t->cosmic = 0;
}

/* A player appears where the beam is. Its first copy is left out of this line if the beam has passed it. */
INLINE void reset_player(be_ale_console *c, int i, int32_t clock) {
    ale_picture *t = c->picture;
    const int32_t x = clock_of_line(c);
    const int position = x < ALE_BLANK_CLOCKS ? 3 : (x - 63) % ALE_WIDTH;
    const int8_t when = LIB.resets[((t->nusiz[i] & 7) * ALE_WIDTH + t->position[i]) * ALE_WIDTH + position];
    if (when < -1 || when > 1) return;
    if (when == 1) { /* the beam is within a copy, which is drawn to its end */
        if (clock + 11 > t->due) t->due = clock + 11;
        be_ale_flush(c);
    }
    SET(t->position[i], position);
    SET(t->mask_player[i], be_ale_player_mask(t, i) + (when < 0 ? 0 : 8 * ALE_MASK_BYTES));
}

INLINE void reset_missile(be_ale_console *c, int i, int32_t clock) {
    ale_picture *t = c->picture;
    const int32_t x = clock_of_line(c), since_move = clock - t->hmove_clock;
    int position = x < ALE_BLANK_CLOCKS ? 2 : (x - 64) % ALE_WIDTH;
    if (i == 0 && since_move == 60 && x == 69) position = 8;
    if (i == 1 && since_move == 9 && x == 18) position = 3;
    settle_missile(c, i);
    SET(t->position[2 + i], position);
    SET(t->mask_missile[i], be_ale_missile_mask(t, i, be_ale_missile_size(t, i)));
}

INLINE void reset_ball(be_ale_console *c, int32_t clock) {
    ale_picture *t = c->picture;
    const int32_t x = clock_of_line(c), since_move = clock - t->hmove_clock;
    int position = x < ALE_BLANK_CLOCKS ? 2 : (x - 64) % ALE_WIDTH;
    if (since_move == 54 && (x == 60 || x == 69)) position = 10;
    if (since_move == 9 && x == 18) position = 3;
    if (since_move == 21 && x == 30) position = 6;
    if (since_move == 18 && x == 27) position = 5;
    SET(t->position[4], position);
    SET(t->mask_ball, be_ale_ball_mask(t));
}

/* A missile whose motion is changed in the midst of its move goes on moving in every line: see end_line in beam.c. */
INLINE void move_missile_0(be_ale_console *c, unsigned motion, int32_t clock) {
    ale_picture *t = c->picture;
    if (t->hmove_clock + 63 == clock && t->hm[2] == 7 && motion == 6) {
        be_ale_flush(c);
        t->cosmic = c->stale = 1;
        t->cosmic_line = 0;
    }
    t->hm[2] = (uint8_t)motion;
}

/* ---- the frame, and sound -------------------------------------------------------------------------------- */

INLINE void set_vsync(be_ale_console *c, unsigned value, int32_t clock) {
    ale_picture *t = c->picture;
    t->vsync = (uint8_t)value;
    if (value & 2) {
        t->sync_clock = clock + ALE_LINE_CLOCKS;
    } else if (t->sync_clock <= clock) {
        t->sync_clock = INT32_MAX;
        stop(c);
    }
}

INLINE void set_vblank(be_ale_console *c, unsigned value) {
    ale_picture *t = c->picture;
    if (t->vblank & ~value & 0x80) {
        t->dumped = 0;
        t->dump_cycle = c->system->cycles;
    } else if (value & ~t->vblank & 0x80) {
        t->dumped = 1;
    }
    if ((t->vblank ^ value) & 2) be_ale_flush(c);
    t->vblank = (uint8_t)value;
}

INLINE void wait_for_line(be_ale_console *c) {
    if (!c->system->cpu->last_was_read) return;
    const uint32_t spent = (c->system->cycles - c->frame_cycle) % 76;
    if (spent) c->system->cycles += 76 - spent;
}

INLINE void sound(be_ale_console *c, unsigned number, unsigned value) {
    static const uint8_t places[6] = {2, 3, 4, 5, 0, 1}, bits[6] = {0xf, 0xf, 0x1f, 0x1f, 0xf, 0xf};
    ale_picture *t = c->picture;
    t->audio[places[number - 0x15]] = value & bits[number - 0x15];
    typedef void set(ale_device *, uint16_t, uint8_t, int32_t);
    set *function;
    memcpy(&function, (void *const *)t->sound->functions + 11, sizeof function);
    if (LIKELY(function == LIB.silence)) return;
    function(t->sound, (uint16_t)number, (uint8_t)value, (int32_t)c->system->cycles);
}

/* ---- writes ---------------------------------------------------------------------------------------------- */

#define WRITE(number, ...)                                                                                             \
    void be_ale_write_##number(be_ale_console *c, unsigned value) {                                                    \
        ale_picture *const t = c->picture;                                                                             \
        const int32_t clock = arrive(c, 0x##number, value);                                                            \
        (void)t;                                                                                                       \
        (void)clock;                                                                                                   \
        __VA_ARGS__;                                                                                                   \
    }
#define NOTHING(number) WRITE(number, (void)0)

/* clang-format off */
WRITE(00, set_vsync(c, value, clock))
WRITE(01, set_vblank(c, value))
WRITE(02, wait_for_line(c))
NOTHING(03)
WRITE(04, set_nusiz(c, 0, value))
WRITE(05, set_nusiz(c, 1, value))
WRITE(06, set_color(c, ALE_COLOR_P0, value))
WRITE(07, set_color(c, ALE_COLOR_P1, value))
WRITE(08, set_color(c, ALE_COLOR_FIELD, value))
WRITE(09, set_color(c, ALE_COLOR_BACK, value))
WRITE(0a, set_ctrlpf(c, value))
WRITE(0b, set_reflect(c, 0, value >> 3 & 1))
WRITE(0c, set_reflect(c, 1, value >> 3 & 1))
WRITE(0d, set_field(c, (t->field & 0xffff0) | value >> 4))
WRITE(0e, set_field(c, (t->field & 0xff00f) | value << 4))
WRITE(0f, set_field(c, (t->field & 0x00fff) | value << 12))
WRITE(10, reset_player(c, 0, clock))
WRITE(11, reset_player(c, 1, clock))
WRITE(12, reset_missile(c, 0, clock))
WRITE(13, reset_missile(c, 1, clock))
WRITE(14, reset_ball(c, clock))
WRITE(15, sound(c, 0x15, value))
WRITE(16, sound(c, 0x16, value))
WRITE(17, sound(c, 0x17, value))
WRITE(18, sound(c, 0x18, value))
WRITE(19, sound(c, 0x19, value))
WRITE(1a, sound(c, 0x1a, value))
WRITE(1b, t->grp[0] = (uint8_t)value;
          t->old_grp[1] = t->grp[1];
          set_shape(c, 0, t->vdelp[0] ? t->old_grp[0] : value);
          set_shape(c, 1, t->grp[1]))
WRITE(1c, set_shape(c, 1, t->vdelp[1] ? t->old_grp[1] : value);
          t->grp[1] = (uint8_t)value;
          t->old_grp[0] = t->grp[0];
          set_shape(c, 0, t->grp[0]);
          t->old_enabl = t->enabl;
          enable(c, ALE_BALL, t->enabl))
WRITE(1d, t->enam[0] = value >> 1 & 1; enable_missile(c, 0))
WRITE(1e, t->enam[1] = value >> 1 & 1; enable_missile(c, 1))
WRITE(1f, t->enabl = value >> 1 & 1; enable(c, ALE_BALL, t->vdelbl ? t->old_enabl : t->enabl))
WRITE(20, t->hm[0] = (uint8_t)(value >> 4))
WRITE(21, t->hm[1] = (uint8_t)(value >> 4))
WRITE(22, move_missile_0(c, value >> 4, clock))
WRITE(23, t->hm[3] = (uint8_t)(value >> 4))
WRITE(24, t->hm[4] = (uint8_t)(value >> 4))
WRITE(25, t->vdelp[0] = value & 1; set_shape(c, 0, value & 1 ? t->old_grp[0] : t->grp[0]))
WRITE(26, t->vdelp[1] = value & 1; set_shape(c, 1, value & 1 ? t->old_grp[1] : t->grp[1]))
WRITE(27, t->vdelbl = value & 1; enable(c, ALE_BALL, value & 1 ? t->old_enabl : t->enabl))
WRITE(28, set_resmp(c, 0, value >> 1 & 1))
WRITE(29, set_resmp(c, 1, value >> 1 & 1))
WRITE(2a, move(c, clock))
WRITE(2b, memset(t->hm, 0, sizeof t->hm); memset(c->last + 0x20, 0, 5 * sizeof *c->last))
WRITE(2c, be_ale_flush(c); t->collisions = 0)
NOTHING(2d) NOTHING(2e) NOTHING(2f)
NOTHING(30) NOTHING(31) NOTHING(32) NOTHING(33) NOTHING(34) NOTHING(35) NOTHING(36) NOTHING(37)
NOTHING(38) NOTHING(39) NOTHING(3a) NOTHING(3b) NOTHING(3c) NOTHING(3d) NOTHING(3e) NOTHING(3f)
/* clang-format on */

#define POINTER(number) be_ale_write_##number,
        void (*const be_ale_writes[64])(be_ale_console *, unsigned) = {BE_ALE_REGISTERS(POINTER)};
#undef POINTER

/* ---- reads ----------------------------------------------------------------------------------------------- */

unsigned be_ale_read(be_ale_console *c, unsigned address) {
    ale_picture *t = c->picture;
    const uint32_t cycles = c->system->cycles;
    const int32_t clock = (int32_t)(cycles * 3);
    address &= 0xf;
    if (clock > t->due) t->due = clock;
    if (UNLIKELY(t->hmove_blank && !t->blanked)) {
        if (c->record) be_ale_note(c, cycles, 0x3f, 0);
        blank_line(c);
    }
    if (address >= 8) return be_ale_read_pin(c, address);
    be_ale_flush(c);
    const unsigned two = address < 7 ? t->collisions >> 2 * address & 3 : t->collisions >> 13 & 3;
    return (c->system->bus & 0x3f) | (two & 1) << 7 | (address == 6 ? 0 : (two & 2) << 5);
}

/* ---- as the library's functions ------------------------------------------------------------------------- */

static be_ale_console *console_of(ale_device *device) {
    return (be_ale_console *)((char *)device->functions - ALE_TABLE_FRONT * sizeof(void *) -
                              offsetof(be_ale_console, picture_table));
}

void be_ale_picture_poke(ale_device *device, uint16_t address, uint8_t value) {
    be_ale_writes[address & 0x3f](console_of(device), value);
}

uint8_t be_ale_picture_peek(ale_device *device, uint16_t address) {
    return (uint8_t)be_ale_read(console_of(device), address);
}

/* ---- a frame's beginning -------------------------------------------------------------------------------- */

void be_ale_registers_begin(be_ale_console *c) {
    const ale_picture *t = c->picture;
    uint16_t *last = c->last;
    static const uint8_t color_registers[4] = {0x09, 0x08, 0x06, 0x07};
    /* With color loss, what was written last is not known from the colors. */
    for (int k = 0; k < 4; k++) last[color_registers[k]] = t->color_loss ? UINT16_MAX : (uint8_t)t->colors[k];
    last[0x0a] = t->mask_ball == be_ale_ball_mask(t) ? t->ctrlpf : UINT16_MAX;
    last[0x0b] = (uint8_t)(t->reflect[0] << 3);
    last[0x0c] = (uint8_t)(t->reflect[1] << 3);
    last[0x0d] = (uint8_t)(t->field << 4);
    last[0x0e] = (uint8_t)(t->field >> 4);
    last[0x0f] = (uint8_t)(t->field >> 12);
    last[0x1d] = (uint8_t)(t->enam[0] << 1);
    last[0x1e] = (uint8_t)(t->enam[1] << 1);
    last[0x1f] = (uint8_t)(t->enabl << 1);
    for (int k = 0; k < 5; k++) last[0x20 + k] = (uint8_t)(t->hm[k] << 4);
    last[0x25] = t->vdelp[0];
    last[0x26] = t->vdelp[1];
    last[0x27] = t->vdelbl;
    last[0x28] = (uint8_t)(t->resmp[0] << 1);
    last[0x29] = (uint8_t)(t->resmp[1] << 1);
    c->stale = 1;
    c->next_pixel = be_ale_next_pixel(t);
    c->frame_cycle = (uint32_t)(t->frame_clock / 3);
    c->stop_cycle = c->frame_cycle + (uint32_t)(t->most_lines + 1) * (ALE_LINE_CLOCKS / 3);
    update_quiet(c);
}

#endif
