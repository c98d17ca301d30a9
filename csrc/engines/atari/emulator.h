/* What the Atari envs ask of an emulator of the Atari 2600: a table of functions, of which ale/ale.c has the first
 * implementation. Another core takes its place by filling another table.
 *
 * Machines are independent: calls for different machines may run at the same time, calls for one machine may not.
 * open() may be called from any thread. Nothing here prints, throws or ends the process.
 */
#ifndef BE_EMULATOR_H
#define BE_EMULATOR_H

#include "batchenv.h"

#define BE_SCREEN_WIDTH 160
#define BE_SCREEN_MAX_HEIGHT 256
#define BE_RAM_BYTES 128
#define BE_MAX_PLAYERS 4
#define BE_NUM_ACTIONS 18 /* of a joystick: 0 no-op, 1 fire, 2 up, ... in the order that all of ALE uses */

/* A game to be loaded. The caller has checked that the file is one that the emulator knows. */
typedef struct be_cartridge {
    const char *library;      /* path of the emulator's shared library */
    const char *rom;          /* path of the ROM */
    int32_t mode, difficulty; /* -1: the game's own */
    int32_t players;          /* 1..BE_MAX_PLAYERS: what the mode is for; mode -1: the first that is for so many */
    int32_t palette;          /* BE_PALETTE_... */
    int32_t fast;             /* 0: nothing of the emulator is replaced by what is faster, with the same results */
    int32_t lives; /* what to add to the emulator's count of lives; -1: it counts none, one until the game is over */
    int32_t ends_without_lives; /* 1: the emulator may miss the end; it comes when no lives are left */
                                /* (both for one player) */
    int32_t settle; /* frames of doing nothing that belong to a reset: states before them cannot be restored */
} be_cartridge;

enum { BE_PALETTE_NTSC, BE_PALETTE_PAL, BE_PALETTE_SECAM, BE_NUM_PALETTES };

typedef struct be_emulator be_emulator;

typedef struct be_emulator_type {
    const char *name;

    /* A new machine with the game in it, not started yet; NULL: `error` says why (the mode is not the game's, ...). */
    be_emulator *(*open)(const be_cartridge *cartridge, be_error *error);
    void (*close)(be_emulator *);

    void (*reset)(be_emulator *);               /* power on, then what the game needs to start */
    int (*act)(be_emulator *, int action);      /* one frame of a game for one; the points it brought */
    int (*over)(const be_emulator *);           /* the game is over: only reset() or load() go on */
    int (*lives)(const be_emulator *);          /* player one's; 0: the game has none */
    int (*episode_frames)(const be_emulator *); /* counted since the reset, some of which reset() itself has taken */

    /* For games of any number of players: a frame with an action of each, and the points it brought to each; the lives
     * of each, -1 where a player is out while others go on. */
    void (*act_players)(be_emulator *, const int *actions, int *points);
    void (*player_lives)(const be_emulator *, int *lives);

    void (*screen)(const be_emulator *,
                   uint8_t *pixels); /* height x BE_SCREEN_WIDTH palette indices (even but for one game) */
    void (*ram)(const be_emulator *, uint8_t *bytes); /* BE_RAM_BYTES */

    /* The machine's whole state, without the screen, as at most state_bytes bytes. load() returns 0 and does nothing
     * where the bytes are not what save() has written, of the same game. The screen and ram are the new ones after the
     * next act. */
    void (*save)(const be_emulator *, void *bytes);
    int (*load)(be_emulator *, const void *bytes);
} be_emulator_type;

/* What all implementations have in front of their own. */
struct be_emulator {
    const be_emulator_type *type;
    int height;
    int num_minimal, minimal[BE_NUM_ACTIONS]; /* the actions that mean something in this game */
    size_t state_bytes;                       /* a multiple of 8 */
    const uint32_t *palette; /* 256 entries: 0xRRGGBB of index i; the low byte of entry i + 1 is its grey level */
};

extern const be_emulator_type be_emulator_ale;

#endif
