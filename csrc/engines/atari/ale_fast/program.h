/* The cartridge's code, decoded: for each byte of the cartridge there is an entry that says how to execute the
 * instruction that begins there, alone or together with the instructions behind it. Programs do not depend on the
 * machine, so all machines with the same cartridge share one.
 */
#ifndef BE_ALE_PROGRAM_H
#define BE_ALE_PROGRAM_H

#include "engines/atari/ale_fast/console.h"

typedef struct ale_entry {
    int32_t handler;  /* where its code is in run.c */
    uint16_t operand; /* the two bytes behind the opcode */
    uint8_t low;      /* the operand's last seven bits: an index into the console's memory; for ROM, what is there */
    uint8_t opcode;
} ale_entry;

/* The code that is executed lies in a region: a part of the cartridge that is switched as a whole, and that begins at a
 * multiple of its size, in the cartridge as well as in the address space. */
typedef struct ale_cartridge_kind {
    const char *class_name; /* of the library's object, as the compiler writes it */
    uint32_t image;         /* where its memory begins in the object */
    uint32_t bytes, region_bytes;
    /* What is decoded of a region: the rest belongs to devices. The last region of a cartridge may end earlier. */
    uint16_t first, end, last_end;
    /* So many bytes of the address space, from 0x1000 + first on, show the region that the executed code is in. */
    uint16_t window;
    uint8_t by_address; /* whether bit 13 of an address selects the bank; then the pages have no pointers to memory */
} ale_cartridge_kind;

struct be_ale_program {
    be_ale_program *next;
    uint32_t users;
    const ale_cartridge_kind *kind;
    const uint8_t *image; /* a copy */
    ale_entry entries[];
};

/* To be called when a machine is made, by one thread at a time. Sets console->program and console->image if the
 * cartridge can be decoded; otherwise both are NULL. Returns whether it can. */
int be_ale_program_attach(be_ale_console *console);

/* To be called when the machine goes, by one thread at a time. */
void be_ale_program_detach(be_ale_console *console);

/* Executes instructions, as be_ale_cpu_execute does. */
ale_execute be_ale_run;

/* Where the code of each handler is (ale_entry.handler): first of the one for what is not decoded, then in the order of
 * handlers.h and sequences.h. */
const int32_t *be_ale_run_handlers(void);

#endif
