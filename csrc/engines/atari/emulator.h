/* What the Atari envs need from an emulator of the Atari 2600: a table of functions. ale/ale.c fills it from libale_c;
 * another emulator can take its place by filling another table.
 *
 * A machine is one emulated console with a game. Machines are independent: calls for different machines may run at the
 * same time, calls for one machine may not.
 * open() may be called from any thread. Nothing here prints, throws or ends the process.
 */
#ifndef BE_EMULATOR_H
#define BE_EMULATOR_H

#include "batchenv.h"

#define BE_SCREEN_WIDTH 160
#define BE_SCREEN_MAX_HEIGHT 256
#define BE_SCREEN_BYTES (BE_SCREEN_WIDTH * BE_SCREEN_MAX_HEIGHT + 64) /* vectors may be read beyond the end */
#define BE_RAM_BYTES 128
#define BE_MAX_PLAYERS 4
#define BE_NUM_ACTIONS 18 /* of a joystick: 0 no-op, 1 fire, 2 up and so on, in ALE's order */

/* A game to be loaded. The caller has checked that the file is one that the emulator knows. */
typedef struct be_cartridge {
    const char *library;      /* path of the emulator's shared library */
    const char *rom;          /* path of the ROM, which is read now */
    const char *name;         /* its path, for messages; saved states are marked with the last part of it */
    int32_t mode, difficulty; /* -1: the game's own */
    int32_t players;          /* 1..BE_MAX_PLAYERS, for which the mode must be; mode -1: the first such mode */
    int32_t palette;          /* BE_PALETTE_... */
    int32_t fast;             /* 1: use faster replacements for parts of the emulator, which have the same results */
    /* The next two apply to games for one player. */
    int32_t lives;              /* added to the emulator's count of lives; -1: report one life until the game is over */
    int32_t ends_without_lives; /* 1: the emulator may miss the end of the game, which comes when no lives are left */
    int32_t settle; /* no-op frames that a reset takes in addition, because states before them cannot be restored */
} be_cartridge;

enum { BE_PALETTE_NTSC, BE_PALETTE_PAL, BE_PALETTE_SECAM, BE_NUM_PALETTES };

typedef struct be_emulator be_emulator;

/* Pictures are height x BE_SCREEN_WIDTH palette indices, which are even in all games but one. They are valid until the
 * next frame. */
typedef struct be_pictures {
    const uint8_t *now, *before; /* `before` is NULL if it was not asked for */
    /* For each row: 0 if it has the same values, in the one picture and in the other, as when both pictures were looked
     * at last. NULL if that is not known, or if only one was asked for now or then. */
    const uint8_t *changed;
    int exchanged; /* with `changed`: `now` is to be compared with what was `before` then, and `before` with `now` */
} be_pictures;

typedef struct be_emulator_type {
    const char *name;

    /* Returns a new machine with the game in it, not started yet; or NULL, and sets `error` (an unknown mode, ...). */
    be_emulator *(*open)(const be_cartridge *cartridge, be_error *error);
    void (*close)(be_emulator *);

    void (*reset)(be_emulator *);               /* power on, then what the game needs to start */
    int (*act)(be_emulator *, int action);      /* emulates a frame of a game for one player; returns the points */
    int (*over)(const be_emulator *);           /* whether the game is over: then only reset() or load() may follow */
    int (*lives)(const be_emulator *);          /* player one's lives; 0 if the game has none */
    int (*episode_frames)(const be_emulator *); /* frames since the reset began, including those of reset() itself */

    /* For games of any number of players. act_players emulates a frame with an action of each player, and writes the
     * points of each. player_lives writes the lives of each, -1 for a player who is out while others go on. */
    void (*act_players)(be_emulator *, const int *actions, int *points);
    void (*player_lives)(const be_emulator *, int *lives);

    /* Says whether the pictures of the next frames will be looked at (1, as after open, reset and load) or not (0). It
     * changes no result: a frame is only drawn later if it is looked at although nobody expected it. */
    void (*expect)(be_emulator *, int looks);

    /* Gives the picture of the last frame, and of the frame before it if `both` is 1. The frame before it must have
     * been expected to be looked at, or there is none (after reset and load). */
    void (*look)(be_emulator *, int both, be_pictures *pictures);
    void (*ram)(const be_emulator *, uint8_t *bytes); /* writes BE_RAM_BYTES bytes */

    /* save() writes the machine's whole state, without the screen, as at most state_bytes bytes. load() returns 0 and
     * does nothing unless save() wrote these bytes for the same game. After load(), pictures and ram are those of
     * the loaded state only once the next frame has been emulated. */
    void (*save)(const be_emulator *, void *bytes);
    int (*load)(be_emulator *, const void *bytes);
} be_emulator_type;

/* The first member of every implementation's machine. */
struct be_emulator {
    const be_emulator_type *type;
    int height;
    int num_minimal, minimal[BE_NUM_ACTIONS]; /* the actions that have an effect in this game */
    size_t state_bytes;                       /* a multiple of 8 */
    const uint32_t *palette; /* 256 entries: 0xRRGGBB of index i is entry i; its grey level is entry i + 1's low byte */
};

extern const be_emulator_type be_emulator_ale;

#endif
