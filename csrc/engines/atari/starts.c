#include "engines/atari/starts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STARTS 16 /* start states, if the random memory at power-on makes any difference */

/* The start states of the games of which lanes were made lately: finding them takes longer than making a machine. A
 * state depends on what the text lists; the caller has checked what is in the ROM of that name. */
#define MAX_KNOWN 8
typedef struct known_starts {
    char of[512];
    be_atari_starts starts;
} known_starts;
static known_starts known[MAX_KNOWN];
static int oldest_known;
/* Only ever tried: who does not get it finds the states himself, as a child does that was forked while it was held. */
static pthread_mutex_t knowing = PTHREAD_MUTEX_INITIALIZER;

static int what_starts_depend_on(const be_cartridge *c, char text[static sizeof known->of]) {
    const int length = snprintf(text, sizeof known->of, "%d %d %d %d %d %s %s", c->mode, c->difficulty, c->players,
                                c->settle, c->fast, c->library, c->name);
    return length > 0 && (size_t)length < sizeof known->of;
}

/* Makes `copy` a copy of its own of `starts`; its `bytes` are NULL if there is no memory. */
static void copy_starts(be_atari_starts *copy, const be_atari_starts *starts) {
    const size_t bytes = (size_t)starts->count * starts->start_bytes;
    *copy = *starts;
    copy->bytes = malloc(bytes);
    if (copy->bytes != NULL) memcpy(copy->bytes, starts->bytes, bytes);
}

static int recall(be_atari_starts *starts, const be_cartridge *cartridge) {
    char of[sizeof known->of];
    if (!what_starts_depend_on(cartridge, of) || pthread_mutex_trylock(&knowing) != 0) return 0;
    for (int k = 0; k < MAX_KNOWN && starts->bytes == NULL; k++) {
        const be_atari_starts *found = &known[k].starts;
        if (found->bytes == NULL || found->state_bytes != starts->state_bytes || strcmp(known[k].of, of) != 0) continue;
        copy_starts(starts, found);
    }
    pthread_mutex_unlock(&knowing);
    return starts->bytes != NULL;
}

static void remember(const be_atari_starts *starts, const be_cartridge *cartridge) {
    known_starts new = {{0}};
    if (!what_starts_depend_on(cartridge, new.of) || pthread_mutex_trylock(&knowing) != 0) return;
    copy_starts(&new.starts, starts);
    if (new.starts.bytes != NULL) {
        free(known[oldest_known].starts.bytes);
        known[oldest_known] = new;
        oldest_known = (oldest_known + 1) % MAX_KNOWN;
    }
    pthread_mutex_unlock(&knowing);
}

/* Powers on several times. If the second and third state equal the first, memory's random bytes make no difference. */
int be_atari_starts_find(be_atari_starts *starts, be_emulator *machine, const be_cartridge *cartridge,
                         be_error *error) {
    const be_emulator_type *type = machine->type;
    starts->state_bytes = machine->state_bytes;
    starts->start_bytes = machine->state_bytes + BE_SCREEN_BYTES + BE_RAM_BYTES;
    if (recall(starts, cartridge)) return BE_OK;
    const size_t bytes = starts->start_bytes;
    uint8_t *first = starts->bytes = calloc(MAX_STARTS, bytes);
    if (first == NULL) return be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
    for (int k = 0; k < MAX_STARTS; k++) {
        uint8_t *start = first + (size_t)k * bytes;
        be_pictures pictures;
        type->reset(machine);
        starts->frames = type->episode_frames(machine);
        type->save(machine, start);
        type->look(machine, 0, &pictures);
        memcpy(start + starts->state_bytes, pictures.now, (size_t)machine->height * BE_SCREEN_WIDTH);
        type->ram(machine, start + starts->state_bytes + BE_SCREEN_BYTES);
        starts->count = k + 1;
        if (k == 2 && memcmp(first, first + bytes, bytes) == 0 && memcmp(first, first + 2 * bytes, bytes) == 0) {
            starts->count = 1;
            break;
        }
    }
    if (!type->load(machine, first)) {
        return be_fail(error, BE_ERROR_ENGINE, -1, "%s: the emulator's states are too large", cartridge->name);
    }
    remember(starts, cartridge);
    return BE_OK;
}

void be_atari_starts_free(be_atari_starts *starts) { free(starts->bytes); }
