/* Stacks of frames made from what has changed against stacks made from whole pictures. The pictures are those of an
 * emulator that tells what has changed whenever it knows it: even if only one picture was looked at in between, or
 * others have written a lane's frames. */
#include "engines/atari/stacks.h"

#include <stdio.h>
#include <stdlib.h>

#define HEIGHT 210
#define ROUNDS 60

static uint32_t random_state = 1;
static int random_below(int n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((uint64_t)(random_state >> 8) * (uint64_t)n >> 24);
}

/* The two pictures that the emulator draws in turns, and those that were looked at last. */
static uint8_t drawn[2][BE_SCREEN_BYTES], seen[2][BE_SCREEN_BYTES];

/* Draws the next frames: a few rows change in each. Rows of the two pictures often differ. */
static void draw(int frames, int *now) {
    while (frames-- > 0) {
        *now = !*now;
        for (int k = random_below(12); k-- > 0;) {
            memset(drawn[*now] + random_below(HEIGHT * BE_SCREEN_WIDTH - 40), 2 * random_below(128), 40);
        }
    }
}

static int play(int observation, int height, int width, int stack) {
    uint32_t palette[256];
    for (int i = 0; i < 256; i++) palette[i] = (uint32_t)random_below(1 << 24);
    const be_atari_setup setup = {.observation = observation, .height = height, .width = width, .stack = stack};
    const be_emulator machine = {.height = HEIGHT, .palette = palette};
    be_stacks stacks = {0};
    be_error error;
    if (be_stacks_open(&stacks, &setup, &machine, 2, &error) != BE_OK) return 1;
    static uint8_t screens[2][BE_SCREEN_BYTES], changed[HEIGHT], ram[BE_RAM_BYTES];
    int32_t newest[2] = {0};
    int now = 0, looked = 0, now_then = 0, differ = 0;
    memset(screens, 0, sizeof screens);
    for (int round = 0; round < ROUNDS && !differ; round++) {
        draw(1 + random_below(4), &now);
        const int both = random_below(8) > 0;
        be_pictures pictures = {.now = drawn[now], .before = both ? drawn[!now] : NULL};
        ram[0]++;
        be_stacks_add(&stacks, 0, &newest[0], &pictures, ram, screens[0]);
        if (looked) {
            for (int y = 0; y < HEIGHT; y++) {
                const size_t at = (size_t)y * BE_SCREEN_WIDTH;
                changed[y] = memcmp(drawn[0] + at, seen[0] + at, BE_SCREEN_WIDTH) != 0 ||
                             memcmp(drawn[1] + at, seen[1] + at, BE_SCREEN_WIDTH) != 0;
            }
            pictures.changed = both ? changed : NULL;
            pictures.exchanged = now != now_then;
        }
        be_stacks_add(&stacks, 1, &newest[1], &pictures, ram, screens[1]);
        if (both) memcpy(seen, drawn, sizeof seen), looked = 1, now_then = now;
        if (random_below(10) == 0) { /* as a snapshot that is loaded, or another game that is started */
            const int value = random_below(256);
            for (int lane = 0; lane < 2; lane++) {
                memset(be_stacks_ring(&stacks, lane), value, stacks.lane_bytes);
                memset(screens[lane], value, sizeof screens[lane]);
                be_stacks_forget(&stacks, lane);
            }
        } else if (random_below(10) == 0) {
            for (int lane = 0; lane < 2; lane++) be_stacks_fill(&stacks, lane, newest[lane]);
        }
        differ = memcmp(be_stacks_ring(&stacks, 0), be_stacks_ring(&stacks, 1), stacks.lane_bytes) != 0 ||
                 memcmp(screens[0], screens[1], sizeof screens[0]) != 0 || newest[0] != newest[1];
        if (differ) printf("observation %d, %d x %d, stack %d: round %d\n", observation, height, width, stack, round);
    }
    be_stacks_close(&stacks);
    return differ;
}

int main(void) {
    static const int sizes[][2] = {{84, 84}, {105, 80}, {210, 160}, {0, 0}, {209, 159}, {1, 1}};
    int differ = 0;
    for (int observation = BE_ATARI_GRAYSCALE; observation <= BE_ATARI_RAM; observation++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            for (int stack = 0; stack <= 4; stack++) differ |= play(observation, sizes[k][0], sizes[k][1], stack);
        }
    }
    return differ;
}
