/* What a machine has of ours besides the library's objects. */
#ifndef BE_ALE_CONSOLE_H
#define BE_ALE_CONSOLE_H

#include "engines/atari/ale_fast/ale_fast.h"
#include "engines/atari/ale_fast/picture.h"

/* The tables of virtual functions of the processor and of the picture chip: two words, and then the functions; an
 * object points to the first function. */
#define ALE_TABLE_FRONT 2
#define ALE_CPU_WORDS 13
#define ALE_PICTURE_WORDS 20
#define ALE_CARTRIDGE_WORDS 17

/* Where a device's functions are in its table. */
#define ALE_PEEK (ALE_TABLE_FRONT + 8)
#define ALE_POKE (ALE_TABLE_FRONT + 9)

typedef struct be_ale_program be_ale_program;

/* A frame that was not drawn: what is needed to draw it later, besides its records. */
typedef struct ale_undrawn {
    uint8_t *pixels;             /* the picture that it belongs to; NULL: nothing is undrawn */
    uint32_t first, count, room; /* what the chip was told: these of console->records->told */
    int32_t due;                 /* up to where pixels were due at its end */
} ale_undrawn;

typedef struct ale_records {
    ale_picture starts[3]; /* the chip when each undrawn frame began */
    uint32_t told[];       /* in order: cycles << 14 | register << 8 | value */
} ale_records;

struct be_ale_console {
    /* Copies of the library's, in which some functions are ours. The objects of this machine point to them. */
    void *cpu_table[ALE_CPU_WORDS], *picture_table[ALE_PICTURE_WORDS], *cartridge_table[ALE_CARTRIDGE_WORDS];
    ale_cpu *cpu;
    ale_system *system;
    ale_picture *picture;
    const struct ale_bank_kind *cartridge_kind; /* see cartridge.c; NULL: the cartridge keeps the library's functions */

    /* ---- the processor ---- */
    const be_ale_program *program; /* the cartridge's code, ready to be executed; NULL: there is the interpreter only */
    const uint8_t *image;          /* the cartridge's memory in this machine, from which `program` was made */

    /* ---- the picture chip's registers, while the processor executes: see registers.h ---- */
    uint16_t last[64];    /* what was written to a register last, if writing it again would change nothing */
    uint32_t quiet_until; /* before this cycle, writes that change nothing can be left out */
    uint32_t stop_cycle;  /* what quiet_until is when there is no other reason against it */
    uint32_t frame_cycle; /* lines begin at this cycle and every 76 cycles later; it may be "negative" */
    uint8_t stale;        /* whether masks may not fit what they are made from: they are not part of saved states */
    int32_t touched;      /* up to where pixels are due because of writes that were left out */
    uint32_t known_pins;  /* what is known of the controllers' pins in this frame: see controllers.c */
    uint32_t pins[6];
    int plain_pins[2]; /* whether reading the left and right controller changes nothing */

    /* ---- the frame that is executed ---- */
    int32_t next_pixel;        /* the clock at which the next pixel that has not been drawn begins */
    uint8_t executes;          /* whether the processor executes it now */
    uint8_t draws;             /* whether pixels are drawn, or only collisions are noted */
    uint8_t *marks;            /* a byte for each line, 1 if its pixels have changed */
    uint8_t *blackened;        /* up to where pixels are black after a late HMOVE, unless they are drawn again */
    uint8_t *written;          /* up to where the last pixels were written: a bit farther than they are drawn */
    ale_undrawn *record;       /* where the frame is recorded, or NULL */
    const uint8_t *grouped[5]; /* masks of sprites, and in which groups of pixels they have some: see stretches.h */
    uint64_t groups[5];

    /* ---- frames and pictures: see frames.c ---- */
    int looks;              /* whether the next frame is expected to be looked at */
    ale_undrawn undrawn[3]; /* at most one for each picture, and the frame that is being executed */
    uint8_t changed[2]
                   [BE_SCREEN_MAX_HEIGHT]; /* lines of the two pictures that have changed since they were looked at */
    uint8_t changed_lines[BE_SCREEN_MAX_HEIGHT];
    uint8_t *pictures[2]; /* the library's two pictures; frames take turns */
    uint8_t *looked_at;   /* the newer of the pictures when both were looked at; NULL: what changed is not known */
    int height;
    int goes_on; /* whether the last frame is the rest of an interrupted one, and so has the same picture */
    /* Two uses for a picture that the library would copy each frame into: if not goes_on, what undrawn frames were
     * told; if goes_on, the picture when the frame was interrupted. */
    ale_records *records;
    uint8_t *kept;
};

/* The console whose processor this is. */
static inline be_ale_console *be_ale_console_of(const ale_cpu *cpu) {
    return (be_ale_console *)((char *)cpu->functions - ALE_TABLE_FRONT * sizeof(void *) -
                              offsetof(be_ale_console, cpu_table));
}

#endif
