/* Where libale_c of multi-agent-ale-py 0.1.12 keeps the state of its picture chip (TIA): see layout.h. */
#ifndef BE_ALE_PICTURE_H
#define BE_ALE_PICTURE_H

#include "engines/atari/ale_fast/layout.h"

enum { ALE_P0 = 1, ALE_M0 = 2, ALE_P1 = 4, ALE_M1 = 8, ALE_BALL = 0x10, ALE_FIELD = 0x20 };
enum { ALE_SCORE = 0x40, ALE_ON_TOP = 0x80 }; /* how the playfield is drawn */
enum { ALE_COLOR_BACK, ALE_COLOR_FIELD, ALE_COLOR_P0, ALE_COLOR_P1 };

#define ALE_WIDTH 160
#define ALE_LINE_CLOCKS 228
#define ALE_BLANK_CLOCKS 68

/* A sprite's mask over the pixels of a line: 320 bytes, of which 160 are used, from a start that depends on the
 * position. */
#define ALE_MASK_BYTES 320

/* Clocks count pixels, three per cycle of the processor. */
typedef struct ale_picture {
    ale_device device;
    ale_system *system;
    const void *media_functions;
    const struct ale_controllers *controllers;
    const void *settings;
    ale_device *sound;
    uint8_t color_loss, partial_frame, pad0[2];
    uint32_t frames;
    uint8_t *current, *previous, *pixel; /* two pictures; the next pixel to draw */
    uint32_t x_start, width, y_start, height, more[4];
    int32_t frame_clock, first_clock, end_clock; /* start of the frame and of its first visible line; end of the last */
    int32_t drawn_clock, clocks_left;            /* up to where pixels are drawn; how many are left in that line */
    int32_t last_lines, line, most_lines, sync_clock;
    uint8_t enabled; /* the objects that are not empty */
    uint8_t vsync, vblank, nusiz[2], field_mode, pad1[2];
    uint32_t colors[4];
    uint8_t color_of[2][256]; /* by the half of the line, and by objects and field_mode */
    uint8_t pad2[4];
    uint32_t *color_back, *color_field, *color_p0, *color_p1;
    uint8_t ctrlpf, reflect[2], pad3;
    uint32_t field;
    uint8_t grp[2], old_grp[2], enam[2], enabl, old_enabl;
    uint8_t hm[5], vdelp[2], vdelbl, resmp[2]; /* motion of the players, missiles and the ball */
    uint16_t collisions;
    int16_t position[5]; /* of these five objects */
    uint8_t shape[2];    /* the players' graphics as they are drawn */
    const uint8_t *mask_ball, *mask_missile[2], *mask_player[2];
    const uint32_t *mask_field;
    uint8_t audio[6], pad4[2];
    uint32_t dump_cycle;
    uint8_t dumped, pad5[3];
    int32_t hmove_clock;
    uint8_t hmove_blank, hmove_blanks, cosmic;
    uint8_t blanked; /* not used by the library: whether the effect of hmove_blank has been applied */
    uint32_t cosmic_line;
    uint8_t bits[6], grey, fast;
    int32_t due; /* not used by the library: up to where pixels are due to be drawn */
} ale_picture;

#define ALE_AT(field, offset) static_assert(offsetof(ale_picture, field) == (offset), "the library's layout")
ALE_AT(sound, 0x28);
ALE_AT(partial_frame, 0x31);
ALE_AT(pixel, 0x48);
ALE_AT(frame_clock, 0x70);
ALE_AT(drawn_clock, 0x7c);
ALE_AT(last_lines, 0x84);
ALE_AT(most_lines, 0x8c);
ALE_AT(enabled, 0x94);
ALE_AT(field_mode, 0x99);
ALE_AT(colors, 0x9c);
ALE_AT(color_of, 0xac);
ALE_AT(color_back, 0x2b0);
ALE_AT(ctrlpf, 0x2d0);
ALE_AT(field, 0x2d4);
ALE_AT(enabl, 0x2de);
ALE_AT(hm, 0x2e0);
ALE_AT(vdelbl, 0x2e7);
ALE_AT(collisions, 0x2ea);
ALE_AT(position, 0x2ec);
ALE_AT(shape, 0x2f6);
ALE_AT(mask_ball, 0x2f8);
ALE_AT(mask_player, 0x310);
ALE_AT(audio, 0x328);
ALE_AT(dump_cycle, 0x330);
ALE_AT(hmove_clock, 0x338);
ALE_AT(hmove_blank, 0x33c);
ALE_AT(cosmic_line, 0x340);
ALE_AT(bits, 0x344);
ALE_AT(fast, 0x34b);
ALE_AT(due, 0x34c);
#undef ALE_AT
static_assert(sizeof(ale_picture) == 0x350, "the library's layout");

/* What is taken from the library: tables, and functions of it. */
typedef struct ale_picture_library {
    uint8_t (*peek)(ale_device *, uint16_t address);
    void (*silence)(ale_device *, uint16_t address, uint8_t value, int32_t cycle); /* what is done if sound is off */
    const uint8_t *balls, *missiles, *players, *no_missile;
    const uint32_t *fields;      /* 160 for repeated playfields, 160 for reflected ones */
    const uint16_t *collisions;  /* indexed by the objects that share a pixel */
    const int8_t *resets;        /* when a player is drawn, indexed by nusiz, old and new position */
    const int32_t (*motion)[16]; /* indexed by the cycle of the line and the register */
    const int32_t *least_resistance, *most_resistance; /* of a paddle */
} ale_picture_library;

extern ale_picture_library be_ale_picture_library;

#endif
