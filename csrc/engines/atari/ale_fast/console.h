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

typedef struct be_ale_program be_ale_program;

/* A frame that has not been drawn. */
typedef struct ale_frame_log {
    ale_picture start; /* the chip when it began */
    uint32_t *records; /* its writes: cycle << 14 | register << 8 | value */
    uint32_t count, room;
    int32_t due;    /* up to where pixels were due at its end */
    uint8_t *pixels; /* the picture that it belongs to; NULL: there is none */
} ale_frame_log;

struct be_ale_console {
    /* Copies of the library's, in which some functions are ours. The objects of this machine point to them. */
    void *cpu_table[ALE_CPU_WORDS], *picture_table[ALE_PICTURE_WORDS];
    ale_cpu *cpu;
    ale_system *system;
    ale_picture *picture; /* NULL: the machine keeps the library's picture chip (then there is no program either) */

    /* ---- the processor ---- */
    const be_ale_program *program; /* the cartridge's code, ready to be executed; NULL: there is the interpreter only */
    const uint8_t *image;          /* the cartridge's memory in this machine, from which `program` was made */

    /* ---- the picture chip, while a frame is executed ---- */
    uint8_t last[64];       /* what was written to a register last, if writing it again would change nothing */
    uint32_t quiet_until;   /* before this cycle, writes that change nothing can be left out */
    uint32_t stop_cycle;    /* what quiet_until is when there is no other reason against it */
    uint32_t frame_cycle;   /* lines begin at this cycle and every 76 cycles later (it may be "negative") */
    int32_t touched;        /* up to where a write that was left out would have made pixels due */
};

#endif
