/* Where libale_c of multi-agent-ale-py 0.1.12 keeps what a processor deals with. This was found in the disassembly of
 * that build; attach.c makes sure that the library is that build. */
#ifndef BE_ALE_LAYOUT_H
#define BE_ALE_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ale_device ale_device;

/* The functions of a device on the bus that the processor calls; the entries before and after are not used here. */
typedef struct ale_device_functions {
    void *others[8];
    uint8_t (*peek)(ale_device *, uint16_t address);
    void (*poke)(ale_device *, uint16_t address, uint8_t value);
} ale_device_functions;

struct ale_device {
    const ale_device_functions *functions;
};

/* 64 bytes of the address space. If a pointer is NULL, the device is called instead. */
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
    uint8_t bus; /* the last byte on the bus */
} ale_system;

enum { ALE_STOP = 1, ALE_FATAL = 2, ALE_INTERRUPTS = 4 | 8 };

struct ale_cpu {
    const void *functions;
    uint8_t a, x, y, sp, opcode, pad;
    uint16_t pc;
    uint8_t n, v, b, d, i, not_z, c; /* 0 or 1 */
    uint8_t status;                  /* flags ALE_...; any of them ends execute() */
    ale_system *system;
    uint32_t system_cycles; /* how many of the system's cycles a cycle of the processor takes: 1 */
    uint32_t cycles_of[256];
    uint8_t last_was_read; /* whether the last access to the bus was a read; used when something is written */
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
    uint32_t timer, shift, set_at; /* the value that was written, and the cycle at which it was written */
} ale_riot;

/* Executes up to `number` instructions, fewer if a device stops the processor. Returns 0 after a fatal error. */
typedef uint8_t ale_execute(ale_cpu *cpu, uint32_t number);

ale_execute be_ale_cpu_execute;

/* The library's own function for interrupts, which nothing on an Atari raises. */
extern void (*be_ale_cpu_interrupt)(ale_cpu *);

/* The library's function that reads an ale_riot. If it is NULL (not known), loops that wait for the timer are executed
 * in full. */
extern uint8_t (*be_ale_cpu_riot_peek)(ale_device *, uint16_t address);

/* Games wait for the timer in loops of two instructions, which read it and branch back while it is not 0. Returns how
 * many turns of such a loop can be left out so that the timer is still not 0 afterwards, if `left` instructions are to
 * be executed. Until it is 0, reading it changes nothing. */
uint32_t be_ale_idle_turns(const ale_device *device, unsigned address, uint32_t cycles, uint32_t cycles_of_turn,
                           uint32_t left);

/* The values that be_ale_cpu_execute expects in ale_cpu.cycles_of. */
extern const uint8_t be_ale_cpu_cycles[256];

#endif
