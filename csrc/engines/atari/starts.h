/* The states from which a game's episodes start. Each is taken from another power-on, because memory then holds random
 * bytes, which some games show. Loading a state takes a hundredth of the time of a power-on. */
#ifndef BE_ATARI_STARTS_H
#define BE_ATARI_STARTS_H

#include "engines/atari/emulator.h"

typedef struct be_atari_starts {
    int count, frames;  /* 1 if memory's random bytes make no difference; the frames that a power-on takes */
    size_t state_bytes; /* of the emulator's state */
    size_t start_bytes; /* of all that belongs to a start */
    uint8_t *bytes;     /* (count, start_bytes): state, screen, memory */
} be_atari_starts;

/* Finds the start states of the machine's game, or remembers them from a machine opened before. */
int be_atari_starts_find(be_atari_starts *starts, be_emulator *machine, const be_cartridge *cartridge, be_error *error);
void be_atari_starts_free(be_atari_starts *starts);

/* The start that belongs to a random number below 2**32. */
static inline const uint8_t *be_atari_start(const be_atari_starts *starts, uint64_t draw) {
    return starts->bytes + (size_t)(draw * (uint64_t)starts->count >> 32) * starts->start_bytes;
}
static inline const uint8_t *be_atari_start_screen(const be_atari_starts *starts, const uint8_t *start) {
    return start + starts->state_bytes;
}
static inline const uint8_t *be_atari_start_ram(const be_atari_starts *starts, const uint8_t *start) {
    return start + starts->state_bytes + BE_SCREEN_BYTES;
}

#endif
