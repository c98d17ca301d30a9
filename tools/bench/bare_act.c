/* The bare limit of an Atari step: a loop of libale_c's act() alone, several frames per step, and nothing else. Built
 * and called by tools/bench/bench_atari.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static void *(*machine_new)(void);
static void (*set_float)(void *, const char *, float);
static void (*set_int)(void *, const char *, int);
static void (*load_rom)(void *, const char *);
static void (*reset_game)(void *);
static int (*act)(void *, int);
static bool (*game_over)(void *);
static int (*action_count)(void *);
static void (*action_set)(void *, int *);
static void (*logger_mode)(int);

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Opens `lanes` machines of a game; NULL on failure. */
void **bare_open(const char *library, const char *rom, int lanes) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return NULL;
    *(void **)&machine_new = dlsym(handle, "ALE_new");
    *(void **)&set_float = dlsym(handle, "setFloat");
    *(void **)&set_int = dlsym(handle, "setInt");
    *(void **)&load_rom = dlsym(handle, "loadROM");
    *(void **)&reset_game = dlsym(handle, "reset_game");
    *(void **)&act = dlsym(handle, "act");
    *(void **)&game_over = dlsym(handle, "game_over");
    *(void **)&action_count = dlsym(handle, "getMinimalActionSize");
    *(void **)&action_set = dlsym(handle, "getMinimalActionSet");
    *(void **)&logger_mode = dlsym(handle, "setLoggerMode");
    logger_mode(2);
    void **machines = calloc((size_t)lanes, sizeof *machines);
    for (int i = 0; i < lanes; i++) {
        machines[i] = machine_new();
        set_float(machines[i], "repeat_action_probability", 0.0f);
        set_int(machines[i], "max_num_frames_per_episode", 0);
        load_rom(machines[i], rom);
        reset_game(machines[i]);
    }
    return machines;
}

/* `steps` steps of all lanes with random actions; returns the seconds of CPU spent in act(), resets left out. */
double bare_run(void **machines, int lanes, int steps, int skip, uint64_t seed) {
    int actions[32];
    double spent = 0;
    action_set(machines[0], actions);
    const int count = action_count(machines[0]);
    for (int t = 0; t < steps; t++) {
        double start = now(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < lanes; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            const int action = actions[(seed >> 33) % (uint64_t)count];
            for (int frame = 0; frame < skip; frame++) act(machines[i], action);
        }
        spent += now(CLOCK_THREAD_CPUTIME_ID) - start;
        for (int i = 0; i < lanes; i++) {
            if (game_over(machines[i])) reset_game(machines[i]);
        }
    }
    return spent;
}
