/* The Arcade Learning Environment through the C interface of libale_c, which the wheel of multi-agent-ale-py contains.
 * The library is opened where it is installed. Its palettes, which the C interface does not offer, are found by their
 * symbols; all other knowledge of its internals is behind ale_fast/ale_fast.h.
 *
 * libale_c ends the process or throws an exception if it gets wrong input. So it never gets any: the caller has checked
 * the ROM's digest, modes and difficulties are looked up before they are set, and states are loaded only if they carry
 * the digest that save() gave them.
 */
#include "core/system/shared.h"
#include "engines/atari/ale_fast/ale_fast.h"
#include "engines/atari/emulator.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void ale_machine;
typedef void ale_state;

/* X(return type, name, parameters) */
#define ALE_FUNCTIONS(X)                                                                                               \
    X(ale_machine *, ALE_new, (void))                                                                                  \
    X(void, ALE_del, (ale_machine *))                                                                                  \
    X(void, setInt, (ale_machine *, const char *, int))                                                                \
    X(void, setFloat, (ale_machine *, const char *, float))                                                            \
    X(void, loadROM, (ale_machine *, const char *))                                                                    \
    X(void, reset_game, (ale_machine *))                                                                               \
    X(int, act, (ale_machine *, int))                                                                                  \
    X(void, actMulti, (ale_machine *, int *, int *))                                                                   \
    X(int, actMultiSize, (ale_machine *))                                                                              \
    X(bool, game_over, (ale_machine *))                                                                                \
    X(void, lives, (ale_machine *, int *))                                                                             \
    X(int, livesSize, (ale_machine *))                                                                                 \
    X(int, getEpisodeFrameNumber, (ale_machine *))                                                                     \
    X(void, getScreen, (ale_machine *, unsigned char *))                                                               \
    X(int, getScreenWidth, (ale_machine *))                                                                            \
    X(int, getScreenHeight, (ale_machine *))                                                                           \
    X(void, getRAM, (ale_machine *, unsigned char *))                                                                  \
    X(int, getRAMSize, (ale_machine *))                                                                                \
    X(void, getMinimalActionSet, (ale_machine *, int *))                                                               \
    X(int, getMinimalActionSize, (ale_machine *))                                                                      \
    X(void, getAvailableModes, (ale_machine *, int *, int))                                                            \
    X(int, getAvailableModesSize, (ale_machine *, int))                                                                \
    X(void, setMode, (ale_machine *, int))                                                                             \
    X(void, getAvailableDifficulties, (ale_machine *, int *))                                                          \
    X(int, getAvailableDifficultiesSize, (ale_machine *))                                                              \
    X(void, setDifficulty, (ale_machine *, int))                                                                       \
    X(ale_state *, cloneState, (ale_machine *))                                                                        \
    X(void, restoreState, (ale_machine *, ale_state *))                                                                \
    X(void, deleteState, (ale_state *))                                                                                \
    X(void, encodeState, (ale_state *, char *, int))                                                                   \
    X(int, encodeStateLen, (ale_state *))                                                                              \
    X(ale_state *, decodeState, (const char *, int))                                                                   \
    X(void, setLoggerMode, (int))

/* The library's functions. It is opened once and stays open, because its static variables do not survive a second
 * opening. */
static struct {
    void *handle;
    const uint32_t *palettes[BE_NUM_PALETTES];
#define POINTER(type, name, parameters) type(*name) parameters;
    ALE_FUNCTIONS(POINTER)
#undef POINTER
} ale;

/* Held while the library is opened and while machines are made or taken apart. */
static pthread_mutex_t construction = PTHREAD_MUTEX_INITIALIZER;

typedef struct machine {
    be_emulator emulator;
    ale_machine *ale;
    uint64_t game; /* a digest of the game's name, by which its states differ from those of other games */
    int players, settle, lives_offset, ends_without_lives;
    be_ale_console *console; /* what the machine has of ours; NULL: nothing, and the next two are used */
    uint8_t *pictures[2];    /* of the last frame and the one before it, as far as they were expected to be looked at */
    int looks, looked;       /* whether the next frame and the last one are expected to be looked at */
} machine;

static ale_machine *ale_of(const be_emulator *emulator) { return ((const machine *)emulator)->ale; }

/* ---- the library ------------------------------------------------------------------------------------ */

static int open_library(const char *path, be_error *error) {
    if (ale.handle) return BE_OK;
    void *handle = be_shared_open(path);
    if (handle == NULL) {
        return be_fail(error, BE_ERROR_VALUE, -1, "%s cannot be opened (%.300s): pip install multi-agent-ale-py", path,
                       be_shared_problem());
    }
    const char *missing = NULL;
#define FIND(type, name, parameters)                                                                                   \
    *(void **)&ale.name = be_shared_find(handle, #name);                                                               \
    if (ale.name == NULL) missing = #name;
    ALE_FUNCTIONS(FIND)
#undef FIND
    static const char *const palettes[] = {"_ZN3ale11NTSCPaletteE", "_ZN3ale10PALPaletteE", "_ZN3ale12SECAMPaletteE"};
    for (int i = 0; i < BE_NUM_PALETTES; i++) {
        ale.palettes[i] = be_shared_find(handle, palettes[i]);
        if (ale.palettes[i] == NULL) missing = palettes[i];
    }
    if (missing) {
        be_shared_close(handle);
        return be_fail(error, BE_ERROR_VALUE, -1, "%s has no %s: pip install multi-agent-ale-py==0.1.12", path,
                       missing);
    }
    be_ale_fast_open(handle);
    ale.setLoggerMode(2); /* errors only */
    ale.handle = handle;
    return BE_OK;
}

/* ---- machines --------------------------------------------------------------------------------------- */

/* Returns BE_OK if `value` is one of `count` values; otherwise sets an error that lists them. */
static int check_choice(const char *name, int value, const int *values, int count, be_error *error) {
    char list[256] = "";
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        if (values[i] == value) return BE_OK;
        if (used + 16 < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%d", i ? ", " : "", values[i]);
        }
    }
    return be_fail(error, BE_ERROR_VALUE, -1, "%s=%d is none of this game's: %s", name, value, list);
}

#define MAX_CHOICES 4096

static int set_mode(const machine *m, const be_cartridge *cartridge, be_error *error) {
    static int values[MAX_CHOICES]; /* under the lock */
    int status = BE_OK;
    if (cartridge->mode >= 0 || m->players > 1) {
        const int count = ale.getAvailableModesSize(m->ale, m->players);
        if (count > MAX_CHOICES) return be_fail(error, BE_ERROR_ENGINE, -1, "the game has %d modes", count);
        if (count == 0) {
            return be_fail(error, BE_ERROR_VALUE, -1, "players=%d: the game has no mode for so many", m->players);
        }
        ale.getAvailableModes(m->ale, values, m->players);
        const int mode = cartridge->mode >= 0 ? cartridge->mode : values[0];
        status = check_choice("mode", mode, values, count, error);
        if (status == BE_OK) ale.setMode(m->ale, mode);
    }
    if (status == BE_OK && cartridge->difficulty >= 0) {
        const int count = ale.getAvailableDifficultiesSize(m->ale);
        if (count > MAX_CHOICES) return be_fail(error, BE_ERROR_ENGINE, -1, "the game has %d difficulties", count);
        ale.getAvailableDifficulties(m->ale, values);
        status = check_choice("difficulty", cartridge->difficulty, values, count, error);
        if (status == BE_OK) ale.setDifficulty(m->ale, cartridge->difficulty);
    }
    return status;
}

static size_t encoded_bytes(const machine *m) {
    ale_state *state = ale.cloneState(m->ale);
    const int bytes = ale.encodeStateLen(state);
    ale.deleteState(state);
    return (size_t)bytes;
}

/* What comes before an encoded state. */
typedef struct state_header {
    uint64_t digest, game, bytes;
} state_header;
#define STATE_SLACK 256 /* states may grow by this much over the first one */

/* If the library gets no memory, it throws a C++ exception, which would end the process when it reaches C. So functions
 * that need memory are called only if there is enough of it. (Another thread might take it in between.) */
static int has_room(size_t bytes) {
    void *volatile room = malloc(bytes);
    free(room);
    return room != NULL;
}

#define MACHINE_ROOM ((size_t)2 << 20) /* twice what making a machine and reading its ROM took when measured */

static int load_game(machine *m, const be_cartridge *cartridge, be_error *error) {
    be_emulator *emulator = &m->emulator;
    if (!has_room(MACHINE_ROOM)) return be_fail(error, BE_ERROR_MEMORY, -1, "out of memory for one more machine");
    if (cartridge->fast) be_ale_fast_begin();
    m->ale = ale.ALE_new();
    ale.setFloat(m->ale, "repeat_action_probability", 0.0f);
    ale.setInt(m->ale, "max_num_frames_per_episode", 0);
    ale.setInt(m->ale, "frame_skip", 1);
    /* In games for several players, a player who lets the others wait loses a point. Video Checkers does this with one
     * player, too, so it is turned off there. */
    if (cartridge->players == 1) ale.setInt(m->ale, "max_turn_time", 0);
    ale.setInt(m->ale, "random_seed", 1); /* with 0, the library would take the clock */
    ale.loadROM(m->ale, cartridge->rom);
    emulator->height = ale.getScreenHeight(m->ale);
    if (cartridge->fast) m->console = be_ale_fast_finish(m->ale);
    emulator->num_minimal = ale.getMinimalActionSize(m->ale);
    m->looks = 1;
    for (int i = 0; i < 2 && m->console == NULL; i++) {
        m->pictures[i] = calloc(1, BE_SCREEN_BYTES);
        if (m->pictures[i] == NULL) return be_fail(error, BE_ERROR_MEMORY, -1, "out of memory for one more machine");
    }
    if (ale.getScreenWidth(m->ale) != BE_SCREEN_WIDTH || emulator->height > BE_SCREEN_MAX_HEIGHT ||
        ale.getRAMSize(m->ale) != BE_RAM_BYTES || emulator->num_minimal > BE_NUM_ACTIONS) {
        return be_fail(error, BE_ERROR_VALUE, -1, "%s is no game with a usual screen", cartridge->name);
    }
    ale.getMinimalActionSet(m->ale, emulator->minimal);
    emulator->palette = ale.palettes[cartridge->palette];
    m->players = cartridge->players;
    m->settle = cartridge->settle;
    m->lives_offset = cartridge->lives;
    m->ends_without_lives = cartridge->ends_without_lives;
    emulator->state_bytes = (sizeof(state_header) + encoded_bytes(m) + STATE_SLACK + 7) / 8 * 8;
    m->game = UINT64_C(0xcbf29ce484222325);
    for (const char *c = strrchr(cartridge->name, '/') ? strrchr(cartridge->name, '/') : cartridge->name; *c; c++) {
        m->game = (m->game ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    }
    const int status = set_mode(m, cartridge, error);
    if (status != BE_OK) return status;
    if (m->players < 1 || m->players > BE_MAX_PLAYERS || ale.actMultiSize(m->ale) != m->players ||
        ale.livesSize(m->ale) != m->players) {
        return be_fail(error, BE_ERROR_VALUE, -1, "%s is no game for players=%d in this mode", cartridge->name,
                       m->players);
    }
    return BE_OK;
}

static void close_machine(be_emulator *emulator) {
    if (emulator == NULL) return;
    pthread_mutex_lock(&construction);
    machine *m = (machine *)emulator;
    if (m->ale) ale.ALE_del(m->ale);
    be_ale_fast_close(m->console);
    pthread_mutex_unlock(&construction);
    free(m->pictures[0]);
    free(m->pictures[1]);
    free(m);
}

static be_emulator *open_machine(const be_cartridge *cartridge, be_error *error) {
    machine *m = calloc(1, sizeof *m);
    if (m == NULL) {
        be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
        return NULL;
    }
    m->emulator.type = &be_emulator_ale;
    pthread_mutex_lock(&construction);
    int status = open_library(cartridge->library, error);
    if (status == BE_OK) status = load_game(m, cartridge, error);
    pthread_mutex_unlock(&construction);
    if (status == BE_OK) return &m->emulator;
    close_machine(&m->emulator);
    return NULL;
}

/* ---- pictures --------------------------------------------------------------------------------------- */

static void expect(be_emulator *emulator, int looks) {
    machine *m = (machine *)emulator;
    m->looks = looks;
    if (m->console) be_ale_fast_expect(m->console, looks);
}

/* To be called before a frame: keeps the last one's picture, if both will be looked at. */
static void keep_picture(machine *m) {
    const int keep = m->looked && m->looks && m->console == NULL;
    m->looked = m->looks;
    if (!keep) return;
    uint8_t *oldest = m->pictures[1];
    m->pictures[1] = m->pictures[0];
    m->pictures[0] = oldest;
    ale.getScreen(m->ale, m->pictures[1]);
}

static void look(be_emulator *emulator, int both, be_pictures *pictures) {
    machine *m = (machine *)emulator;
    if (m->console) {
        be_ale_fast_look(m->console, both, pictures);
        return;
    }
    ale.getScreen(m->ale, m->pictures[0]);
    *pictures = (be_pictures){.now = m->pictures[0], .before = both ? m->pictures[1] : NULL};
}

/* ---- frames ----------------------------------------------------------------------------------------- */

static int act(be_emulator *emulator, int action) {
    keep_picture((machine *)emulator);
    return ale.act(ale_of(emulator), action);
}

static int episode_frames(const be_emulator *emulator) { return ale.getEpisodeFrameNumber(ale_of(emulator)); }
static void ram(const be_emulator *emulator, uint8_t *bytes) { ale.getRAM(ale_of(emulator), bytes); }

static void act_players(be_emulator *emulator, const int *actions, int *points) {
    int joysticks[BE_MAX_PLAYERS]; /* the library's parameter is not const */
    keep_picture((machine *)emulator);
    memcpy(joysticks, actions, (size_t)((const machine *)emulator)->players * sizeof *joysticks);
    ale.actMulti(ale_of(emulator), joysticks, points);
}

static void player_lives(const be_emulator *emulator, int *lives) { ale.lives(ale_of(emulator), lives); }

static void reset(be_emulator *emulator) {
    const machine *m = (const machine *)emulator;
    expect(emulator, 1);
    if (m->console) be_ale_fast_interrupt(m->console);
    int points[BE_MAX_PLAYERS];
    ale.reset_game(m->ale);
    for (int i = 0; i < m->settle; i++) act_players(emulator, (const int[BE_MAX_PLAYERS]){0}, points);
}

static int count_lives(const be_emulator *emulator) {
    int counts[BE_MAX_PLAYERS]; /* load_game has checked that there are no more players */
    ale.lives(ale_of(emulator), counts);
    return counts[0];
}

static int over(const be_emulator *emulator) {
    if (ale.game_over(ale_of(emulator))) return 1;
    return ((const machine *)emulator)->ends_without_lives && count_lives(emulator) == 0;
}

static int lives(const be_emulator *emulator) {
    const machine *m = (const machine *)emulator;
    return m->lives_offset < 0 ? !over(emulator) : count_lives(emulator) + m->lives_offset;
}

/* ---- states ----------------------------------------------------------------------------------------- */

/* FNV-1a, by bytes. */
static uint64_t digest(const state_header *header, const unsigned char *bytes) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ header->game ^ header->bytes << 32;
    for (uint64_t i = 0; i < header->bytes; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void save(const be_emulator *emulator, void *bytes) {
    const machine *m = (const machine *)emulator;
    unsigned char *target = (unsigned char *)bytes + sizeof(state_header);
    ale_state *state = ale.cloneState(m->ale);
    state_header header = {.game = m->game, .bytes = (uint64_t)ale.encodeStateLen(state)};
    memset(bytes, 0, emulator->state_bytes);
    if (header.bytes <= emulator->state_bytes - sizeof header) { /* otherwise load() will refuse it */
        ale.encodeState(state, (char *)target, (int)header.bytes);
        header.digest = digest(&header, target);
        memcpy(bytes, &header, sizeof header);
    }
    ale.deleteState(state);
}

static int load(be_emulator *emulator, const void *bytes) {
    const machine *m = (const machine *)emulator;
    const unsigned char *source = (const unsigned char *)bytes + sizeof(state_header);
    state_header header;
    memcpy(&header, bytes, sizeof header);
    if (header.game != m->game || header.bytes == 0 || header.bytes > emulator->state_bytes - sizeof header ||
        header.digest != digest(&header, source) || !has_room(8 * emulator->state_bytes)) {
        return 0;
    }
    expect(emulator, 1);
    if (m->console) be_ale_fast_interrupt(m->console);
    ale_state *state = ale.decodeState((const char *)source, (int)header.bytes);
    ale.restoreState(m->ale, state);
    ale.deleteState(state);
    return 1;
}

const be_emulator_type be_emulator_ale = {
    .name = "ALE",
    .open = open_machine,
    .close = close_machine,
    .reset = reset,
    .act = act,
    .over = over,
    .lives = lives,
    .act_players = act_players,
    .player_lives = player_lives,
    .episode_frames = episode_frames,
    .expect = expect,
    .look = look,
    .ram = ram,
    .save = save,
    .load = load,
};
