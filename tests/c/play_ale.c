/* Plays a game through be_emulator_ale alone, and prints how many frames it took and a digest of everything that it
 * shows and saves. Called with the path of the library, the path of a ROM, and be_cartridge.fast. */
#include "engines/atari/emulator.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int be_fail(be_error *error, be_status status, int64_t lane, const char *format, ...) {
    va_list arguments;
    (void)lane;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const be_emulator_type *type = &be_emulator_ale;
    const be_cartridge cartridge = {.library = argv[1],
                                    .rom = argv[2],
                                    .name = argv[2],
                                    .mode = -1,
                                    .difficulty = -1,
                                    .players = 1,
                                    .fast = atoi(argv[3])};
    be_error error;
    be_emulator *machine = type->open(&cartridge, &error);
    if (machine == NULL) return printf("%s\n", error.message), 1;
    static uint8_t screen[BE_SCREEN_WIDTH * BE_SCREEN_MAX_HEIGHT], ram[BE_RAM_BYTES];
    void *state = malloc(machine->state_bytes);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    type->reset(machine);
    int frame = 0;
    for (; frame < 600 && !type->over(machine); frame++) {
        const int seen[] = {type->act(machine, frame / 7 % BE_NUM_ACTIONS), type->lives(machine)};
        type->screen(machine, screen);
        type->ram(machine, ram);
        type->save(machine, state);
        hash = mix(hash, seen, sizeof seen);
        hash = mix(hash, screen, sizeof screen);
        hash = mix(hash, ram, sizeof ram);
        hash = mix(hash, state, machine->state_bytes);
    }
    free(state);
    type->close(machine);
    printf("%d frames: %016llx\n", frame, (unsigned long long)hash);
    return 0;
}
