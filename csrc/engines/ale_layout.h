/* Where libale_c of multi-agent-ale-py 0.1.12 keeps things, as far as a processor deals with them: found in the
 * disassembly of that one build, which ale_attach.c makes sure of. */
#ifndef BE_ALE_LAYOUT_H
#define BE_ALE_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ale_device ale_device;

/* What the processor calls of a device on the bus; the entries before and after are none of its business. */
typedef struct ale_device_functions {
    void *others[8];
    uint8_t (*peek)(ale_device *, uint16_t address);
    void (*poke)(ale_device *, uint16_t address, uint8_t value);
} ale_device_functions;

struct ale_device {
    const ale_device_functions *functions;
};

/* 64 bytes of the address space. Where a pointer is NULL, the device is called. */
typedef struct ale_page {
    const uint8_t *peek;
    uint8_t *poke;
    ale_device *device;
} ale_page;

#define ALE_PAGE_SHIFT 6
#define ALE_PAGE_BYTES 64
#define ALE_NUM_PAGES 128

typedef struct ale_cpu ale_cpu;

typedef struct ale_system {
    const void *functions;
    ale_page *pages;
    ale_device *devices[100];
    uint32_t num_devices, pad;
    ale_cpu *cpu;
    ale_device *tia;
    uint32_t cycles;
    uint8_t null_device[20];
    uint8_t bus; /* the last byte that went over it */
} ale_system;

enum { ALE_STOP = 1, ALE_FATAL = 2, ALE_INTERRUPTS = 4 | 8 };

struct ale_cpu {
    const void *functions;
    uint8_t a, x, y, sp, opcode, pad;
    uint16_t pc;
    uint8_t n, v, b, d, i, not_z, c; /* 0 or 1 */
    uint8_t status;                  /* of ALE_...; another thing than 0 ends execute() */
    ale_system *system;
    uint32_t system_cycles; /* of a processor's cycle: 1 */
    uint32_t cycles_of[256];
    uint8_t last_was_read; /* the last access to the bus; looked at when something is written */
};

static_assert(offsetof(ale_system, num_devices) == 0x330 && offsetof(ale_system, cpu) == 0x338 &&
                  offsetof(ale_system, cycles) == 0x348 && offsetof(ale_system, bus) == 0x360,
              "the library's layout");
static_assert(offsetof(ale_cpu, pc) == 0xe && offsetof(ale_cpu, status) == 0x17 && offsetof(ale_cpu, system) == 0x18 &&
                  offsetof(ale_cpu, cycles_of) == 0x24 && offsetof(ale_cpu, last_was_read) == 0x424,
              "the library's layout");

/* The chip with the console's timer, which counts down by one every 1 << shift cycles. */
typedef struct ale_riot {
    ale_device device;
    uint8_t others[0x98 - sizeof(ale_device)];
    uint32_t timer, shift, set_at; /* the value written to it, and the cycle when it was */
} ale_riot;

/* The chip that draws. Clocks are a third of a processor's cycle; 228 make a line, of which the last 160 are seen. */
typedef struct ale_tia {
    ale_device device;
    ale_system *system;
    uint8_t others_1[0x20];
    uint8_t loses_colour, whole_frame;
    uint8_t others_2[0x16];
    uint8_t *next_pixel;
    uint32_t first_column, columns;
    uint8_t others_3[0x18];
    int32_t frame_start, display_start, display_end; /* clocks */
    int32_t drawn;                                   /* up to this clock */
    int32_t left_of_line;
    uint32_t others_4[2];
    int32_t most_lines;
    uint32_t others_5;
    uint8_t enabled; /* bits of OBJECT_... */
    uint8_t vsync, vblank, nusiz[2], playfield_mode;
    uint8_t others_6[2];
    uint32_t colours[4]; /* of background, playfield, two players: a byte, four times */
    uint8_t others_7[0x224];
    uint8_t ctrlpf, reflects[2], others_8;
    uint32_t playfield;
    uint8_t player[2], delayed_player[2], missile_on[2], ball_on, delayed_ball_on;
    int8_t motion[5];
    uint8_t delays_player[2], delays_ball, missile_follows[2];
    uint16_t collisions;
    int16_t positions[5];
    uint8_t player_bits[2];
    /* by column, where an object would be: 0 where it is not, and bits of player_bits and playfield */
    const uint8_t *ball_mask, *missile_mask[2], *player_mask[2];
    const uint32_t *playfield_mask;
    uint8_t others_9[0x14];
    uint8_t blanks_edge, can_blank_edge, moves_stars, others_10[5];
    uint8_t can_have[6]; /* players, missiles, ball, playfield: all 1 */
    uint8_t others_11, fast;
} ale_tia;

static_assert(offsetof(ale_tia, loses_colour) == 0x30 && offsetof(ale_tia, next_pixel) == 0x48 &&
                  offsetof(ale_tia, frame_start) == 0x70 && offsetof(ale_tia, left_of_line) == 0x80 &&
                  offsetof(ale_tia, most_lines) == 0x8c && offsetof(ale_tia, enabled) == 0x94 &&
                  offsetof(ale_tia, playfield_mode) == 0x99 && offsetof(ale_tia, colours) == 0x9c &&
                  offsetof(ale_tia, ctrlpf) == 0x2d0 && offsetof(ale_tia, playfield) == 0x2d4 &&
                  offsetof(ale_tia, delays_player) == 0x2e5 && offsetof(ale_tia, collisions) == 0x2ea &&
                  offsetof(ale_tia, player_bits) == 0x2f6 && offsetof(ale_tia, ball_mask) == 0x2f8 &&
                  offsetof(ale_tia, playfield_mask) == 0x320 && offsetof(ale_tia, blanks_edge) == 0x33c &&
                  offsetof(ale_tia, can_have) == 0x344 && offsetof(ale_tia, fast) == 0x34b,
              "the library's layout");

/* What ale_tia.c takes from the library; poke is NULL where it is not known. */
typedef struct ale_tia_parts {
    void (*poke)(ale_device *, uint16_t address, uint8_t value);
    void (*draw)(ale_tia *, uint32_t columns, uint32_t first); /* some columns of a line */
    const uint16_t *collision_table;                           /* by bits of OBJECT_... */
    const uint8_t *reflect_table;
    const uint8_t *player_masks;     /* [position & 3][0, 1][nusiz & 7][320] */
    const uint32_t *playfield_masks; /* [plain, reflected][160] */
} ale_tia_parts;
extern ale_tia_parts be_ale_tia;

/* tia's poke. Where it leaves the drawing for later, *pending is the clock up to which it should have gone. */
void be_ale_tia_poke(ale_device *device, unsigned address, unsigned value, int32_t *pending);
void be_ale_tia_catch_up(ale_device *device, int32_t clock);

/* Executes up to `number` instructions, fewer where a device stops the processor. 0 after a fatal error. */
typedef uint8_t ale_execute(ale_cpu *cpu, uint32_t number);

ale_execute be_ale_cpu_execute;

/* The library's own, for the interrupts that nothing on an Atari raises. */
extern void (*be_ale_cpu_interrupt)(ale_cpu *);

/* How the library reads an ale_riot; NULL: not known, and loops that wait for the timer are gone through. */
extern uint8_t (*be_ale_cpu_riot_peek)(ale_device *, uint16_t address);

/* What be_ale_cpu_execute expects in ale_cpu.cycles_of. */
extern const uint8_t be_ale_cpu_cycles[256];

#endif
