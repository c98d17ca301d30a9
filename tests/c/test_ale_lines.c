/* Draws pieces of lines with random objects in them, in each of our ways and with the library's TIA, and compares
 * pixels and collisions. Called with the path of the library, the path of a ROM, a seed and a number of pieces. */
#define _GNU_SOURCE
#include "engines/atari/ale_fast/beam.h"
#include "engines/atari/ale_fast/drawing.c" /* for those of its ways that are not the fastest here */

#include "ale_machine.h"

#define LINE ALE_WIDTH /* where the line is in a picture with three */
#define PICTURE (3 * ALE_WIDTH)
#define BLACK 8
#define NUM_SPRITES 5

typedef void draw_scanline(ale_picture *, uint32_t columns, uint32_t first);

typedef struct way {
    const char *name;
    be_ale_drawing drawing;
    int available;
} way;

/* A piece of a line. */
typedef struct piece {
    unsigned first, columns;
    int black; /* whether the line's first pixels are black after a late HMOVE */
    ale_picture chip;
    uint8_t masks[NUM_SPRITES][ALE_WIDTH];
    uint8_t before[PICTURE], after[PICTURE]; /* the picture, and what the library makes of it */
    uint16_t collisions;
} piece;

/* How the pieces were, so that nothing is left untested. */
static struct {
    int collided, disjoint, unchanged, overdrawn, black;
} seen;

static void make_masks(piece *p, uint64_t draws) {
    static const uint8_t densities[4] = {2, 8, 32, 64}; /* so many of 64 groups of pixels are not empty */
    const unsigned density = densities[draws >> 24 & 3];
    for (unsigned i = 0; i < ALE_WIDTH; i++) {
        const uint64_t group = mix(draws ^ (uint64_t)(i / 4 * 4) << 32), pixel = mix(draws ^ (uint64_t)i << 40);
        for (int k = 0; k < NUM_SPRITES; k++) {
            const int there = (group >> k * 8 & 63) < density;
            p->masks[k][i] = (uint8_t)(!there ? 0u : k < 2 ? 1u << (pixel >> k * 8 & 7) : pixel >> k * 8 & 1u);
        }
    }
}

static void make_piece(piece *p, const ale_picture *like, draw_scanline *theirs, uint64_t draws) {
    const uint64_t objects = mix(draws), bits = mix(draws + 1), more = mix(draws + 2);
    p->first = draws % ALE_WIDTH;
    p->columns = 1 + (unsigned)(draws >> 16) % (ALE_WIDTH - p->first);
    make_masks(p, draws);
    ale_picture *t = &p->chip;
    *t = *like;
    for (int i = 0; i < 4; i++) t->colors[i] = (uint32_t)(2 + 16 * i) * 0x01010101u;
    t->color_back = &t->colors[ALE_COLOR_BACK];
    t->color_field = &t->colors[ALE_COLOR_FIELD];
    t->color_p0 = &t->colors[ALE_COLOR_P0];
    t->color_p1 = &t->colors[ALE_COLOR_P1];
    t->vblank = bits % 64 == 0 ? 2 : 0;
    t->field_mode = (uint8_t)(bits >> 8 & 0xc0);
    t->field = bits >> 16 & 1 ? 0 : (uint32_t)(objects >> 40 & (bits >> 42 & 1 ? mix(more) : ~UINT64_C(0)) & 0xfffff);
    t->shape[0] = (uint8_t)(bits >> 17 & 1 ? 0 : objects);
    t->shape[1] = (uint8_t)(bits >> 18 & 1 ? 0 : objects >> 8);
    t->enabled = (uint8_t)((t->field ? ALE_FIELD : 0) | (t->shape[0] ? ALE_P0 : 0) | (t->shape[1] ? ALE_P1 : 0) |
                           (bits >> 24 & (ALE_BALL | ALE_M0 | ALE_M1)));
    t->collisions = bits >> 40 & 1 ? 0 : 0x1234;
    for (int i = 0; i < 2; i++) t->mask_player[i] = p->masks[i], t->mask_missile[i] = p->masks[2 + i];
    t->mask_ball = p->masks[4];
    t->mask_field = LIB.fields + (bits >> 41 & 1 ? ALE_WIDTH : 0);
    t->clocks_left = ALE_WIDTH - (int32_t)p->first;
    t->drawn_clock = ALE_LINE_CLOCKS - t->clocks_left;
    t->first_clock = 0;
    p->black = more % 4 == 0 && p->first < BLACK;
    t->hmove_blank = (uint8_t)p->black;

    /* The library's piece. Most pictures are like it already, some of them but for one pixel. */
    memset(p->before, 0xee, PICTURE);
    for (int round = 0; round < 2; round++) {
        ale_picture chip = *t;
        chip.color_back = &chip.colors[ALE_COLOR_BACK];
        chip.color_field = &chip.colors[ALE_COLOR_FIELD];
        chip.color_p0 = &chip.colors[ALE_COLOR_P0];
        chip.color_p1 = &chip.colors[ALE_COLOR_P1];
        chip.pixel = p->after + LINE + p->first;
        memcpy(p->after, p->before, PICTURE);
        theirs(&chip, p->columns, p->first);
        if (p->black) memset(p->after + LINE + p->first, 0, BLACK - p->first);
        p->collisions = chip.collisions;
        if (round == 1 || more >> 8 & 1) break;
        memcpy(p->before, p->after, PICTURE);
        if (more >> 9 & 1) p->before[LINE + (more >> 16) % ALE_WIDTH] ^= 2;
    }
    const unsigned end = p->first + p->columns;
    seen.collided += p->collisions != t->collisions;
    seen.unchanged += memcmp(p->before, p->after, PICTURE) == 0;
    seen.overdrawn += end < ALE_WIDTH && memcmp(p->before + LINE + end, p->after + LINE + end, ALE_WIDTH - end) != 0;
    seen.black += p->black;
}

/* Draws a piece in one of our ways. Returns whether it is right. */
static int draws_right(const piece *p, const way *w, int drawn) {
    static _Alignas(64) uint8_t picture[PICTURE];
    uint8_t marks[BE_SCREEN_MAX_HEIGHT] = {0};
    ale_picture chip = p->chip;
    be_ale_console console = {.picture = &chip, .draws = (uint8_t)drawn, .marks = marks};
    memcpy(picture, p->before, PICTURE);
    chip.current = picture;
    chip.pixel = picture + LINE + p->first;
    be_ale_drawing_of = w->drawing;
    be_ale_draw_until(&console, chip.drawn_clock + (int32_t)p->columns);
    /* What turns black behind a piece, be_ale_end_lines does. */
    const unsigned end = p->first + p->columns, until = p->black ? LINE + end : PICTURE;
    const uint8_t *expected = drawn ? p->after : p->before;
    const int changes = memcmp(p->before, picture, PICTURE) != 0;
    int right = memcmp(expected, picture, until) == 0 && chip.collisions == p->collisions &&
                chip.pixel == picture + LINE + end && !marks[0] && !marks[2] && marks[1] == changes;
    if (p->black && drawn) {
        const uint8_t *to = be_ale_end_lines(&console);
        right &= to >= chip.pixel && memcmp(p->after, picture, PICTURE) == 0;
        right &= marks[1] == (memcmp(p->before, picture, PICTURE) != 0);
    }
    return right;
}

/* Whether the groups of four pixels tell that no objects can collide in this piece. */
static int is_disjoint(const piece *p) {
    ale_picture chip = p->chip;
    be_ale_console console = {.picture = &chip};
    be_ale_stretch s = {.x = p->first, .end = p->first + p->columns, .objects = chip.enabled};
    if (chip.vblank & 2 || !be_ale_may_collide(&chip)) return 0;
    if (chip.enabled & ALE_FIELD) s.field = be_ale_field_of_line(&chip);
    return !be_ale_may_share(&console, &s);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    void *handle = open_library(argv[1]);
    be_ale_fast_open(handle);
    const ale_picture *like = (const ale_picture *)system_of(make_machine(handle, argv[2]))->tia;
    draw_scanline *theirs;
    find_function(handle, "_ZN3TIA19updateFrameScanlineEjj", &theirs);
    const way ways[] = {
        {"16 lanes", {draw_16, fill_16}, 1},
        {"32 lanes", {draw_32, fill_32}, __builtin_cpu_supports("avx2")},
        {"sets of bits", be_ale_drawing_bits,
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2")}};
    const uint64_t seed = strtoull(argv[3], NULL, 0);
    const int runs = atoi(argv[4]);
    static piece p;
    int failed = 0;
    for (int run = 0; run < runs; run++) {
        make_piece(&p, like, theirs, mix(seed + (uint64_t)run));
        seen.disjoint += is_disjoint(&p);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            for (int drawn = 0; drawn < 2 && ways[k].available; drawn++) {
                if (draws_right(&p, &ways[k], drawn) || failed++ >= 10) continue;
                printf("%s, %s: %u columns from %u, objects %x, mode %x, black %d: theirs collide %x\n", ways[k].name,
                       drawn ? "drawn" : "not drawn", p.columns, p.first, p.chip.enabled, p.chip.field_mode, p.black,
                       p.collisions);
            }
        }
    }
    printf("%d pieces of lines, collisions in %d, none possible in %d, unchanged %d, drawn too far %d, black %d: %d "
           "differ\n",
           runs, seen.collided, seen.disjoint, seen.unchanged, seen.overdrawn, seen.black, failed);
    const int all = seen.collided > runs / 10 && seen.disjoint > runs / 50 && seen.unchanged > runs / 10 &&
                    seen.overdrawn > runs / 500 && seen.black > runs / 200;
    return failed || !all;
}
