/* Plays a game through be_emulator_ale alone, and prints how many frames it took and a digest of everything that it
 * shows and saves. Called with the path of the library, the path of a ROM, be_cartridge.fast, how many frames are a
 * step (at whose end the last two are looked at), and the most frames. In some steps, a frame is looked at that was not
 * expected to be. Checks, too, what the emulator says of rows that have not changed. */
#include "engines/atari/emulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static size_t picture_bytes(const be_emulator *machine) { return (size_t)machine->height * BE_SCREEN_WIDTH; }

/* Looks at two pictures. Returns 0 if one of them has changed in a row that has not. */
static int look_at_both(be_emulator *machine, be_pictures *seen, uint8_t kept[2][BE_SCREEN_BYTES]) {
    machine->type->look(machine, 1, seen);
    const uint8_t *now = seen->exchanged ? seen->before : seen->now,
                  *before = seen->exchanged ? seen->now : seen->before;
    for (int y = 0; seen->changed && y < machine->height; y++) {
        const int row = y * BE_SCREEN_WIDTH;
        if (seen->changed[y]) continue;
        if (memcmp(now + row, kept[0] + row, BE_SCREEN_WIDTH) || memcmp(before + row, kept[1] + row, BE_SCREEN_WIDTH)) {
            return 0;
        }
    }
    memcpy(kept[0], seen->now, picture_bytes(machine));
    memcpy(kept[1], seen->before, picture_bytes(machine));
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    const be_emulator_type *type = &be_emulator_ale;
    const be_cartridge cartridge = {.library = argv[1],
                                    .rom = argv[2],
                                    .name = argv[2],
                                    .mode = -1,
                                    .difficulty = -1,
                                    .players = 1,
                                    .fast = atoi(argv[3])};
    const int skip = atoi(argv[4]), most = atoi(argv[5]);
    be_error error;
    be_emulator *machine = type->open(&cartridge, &error);
    if (machine == NULL) return printf("%s\n", error.message), 1;
    static uint8_t kept[2][BE_SCREEN_BYTES], ram[BE_RAM_BYTES];
    void *state = malloc(machine->state_bytes);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    be_pictures seen;
    type->reset(machine);
    int frame = 0;
    for (; frame < most && !type->over(machine); frame++) {
        const int step = frame / skip, last = frame % skip == skip - 1,
                  surprise = step % 7 == 3 && frame % skip == step % skip;
        type->expect(machine, frame % skip >= skip - 2);
        const int told[] = {type->act(machine, step * 5 / 7 % BE_NUM_ACTIONS), type->lives(machine)};
        type->ram(machine, ram);
        hash = mix(hash, told, sizeof told);
        hash = mix(hash, ram, sizeof ram);
        if (last || surprise) {
            if (last && frame > 0) {
                if (!look_at_both(machine, &seen, kept)) return printf("frame %d: a row has changed\n", frame), 1;
                hash = mix(hash, seen.before, picture_bytes(machine));
            } else {
                type->look(machine, 0, &seen);
            }
            hash = mix(hash, seen.now, picture_bytes(machine));
        }
        if (skip == 1 || step % 16 == 0) {
            type->save(machine, state);
            hash = mix(hash, state, machine->state_bytes);
        }
        if (step % 64 == 63) type->load(machine, state);
    }
    type->look(machine, 0, &seen);
    hash = mix(hash, seen.now, picture_bytes(machine));
    free(state);
    type->close(machine);
    printf("%d frames: %016llx\n", frame, (unsigned long long)hash);
    return 0;
}
