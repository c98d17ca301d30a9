/* What users see of a lane: the forms of observations that the wrappers of the package minigrid make, and pictures. */
#include <stdio.h>
#include <string.h>

#include "envs/minigrid/grid.h"

enum { SHOW_DICT, SHOW_IMAGE, SHOW_FLAT, SHOW_FULL, SHOW_ONE_HOT, SHOW_SYMBOLIC, SHOW_RGB_PARTIAL, SHOW_RGB_FULL };
const char *const mg_shown[] = {"dict",     "image",       "flat",     "full", "one_hot",
                                "symbolic", "rgb_partial", "rgb_full", NULL};
enum { MISSION_TEXT, MISSION_TOKENS, MISSION_CODES };
const char *const mg_missions[] = {"text", "tokens", "codes", NULL};

#define KINDS 11 /* of OBJECT_TO_IDX */
#define AGENT_KIND 10
#define ONE_HOT (KINDS + MG_NUM_COLORS + 3)
#define FLAT_LENGTH 96 /* characters of a mission in a flat observation */
#define FLAT_LETTERS 28

/* ---- words ------------------------------------------------------------------------------------------ */

/* Token k + 1 is words[k]: first those of DictObservationSpaceWrapper, in its order, then those of BabyAI. */
static const char *const words[] = {
    "red",  "green",   "blue",   "yellow", "purple",   "grey",  "unseen",  "empty",  "wall",     "floor",
    "box",  "key",     "ball",   "door",   "goal",     "agent", "lava",    "pick",   "avoid",    "get",
    "find", "put",     "use",    "open",   "go",       "fetch", "reach",   "unlock", "traverse", "up",
    "the",  "a",       "at",     ",",      "square",   "and",   "then",    "to",     "of",       "rooms",
    "near", "opening", "must",   "you",    "matching", "end",   "hallway", "object", "from",     "room",
    "maze", "after",   "behind", "front",  "in",       "left",  "next",    "on",     "right",    "your",
};
_Static_assert(sizeof words / sizeof *words == MG_NUM_WORDS, "the number of words is wrong");

static int token_of(const char *word, size_t length) {
    for (int k = 0; k < MG_NUM_WORDS; k++) {
        if (strlen(words[k]) == length && memcmp(words[k], word, length) == 0) return k + 1;
    }
    return 0;
}

static void write_tokens(mg_lane *lane, const char *text, uint8_t *tokens, int size) {
    int count = 0;
    for (const char *c = text; *c;) {
        if (*c == ' ') {
            c++;
            continue;
        }
        const size_t length = *c == ',' ? 1 : strcspn(c, " ,");
        const int token = token_of(c, length);
        if (token == 0) mg_fail(lane, MG_WRONG, "its mission has a word that is no token: use mission='text'");
        if (count == size - 1) mg_fail(lane, MG_WRONG, "its mission has too many words: set max_words to more");
        if (lane->failure) return;
        tokens[count++] = (uint8_t)token;
        c += length;
    }
}

/* Characters as FlatObsWrapper numbers them, and 1 more. */
static void write_letters(mg_lane *lane, const char *text, uint8_t *letters) {
    for (int k = 0; text[k] && !lane->failure; k++) {
        const char c = (char)(text[k] >= 'A' && text[k] <= 'Z' ? text[k] - 'A' + 'a' : text[k]);
        const int number = c >= 'a' && c <= 'z' ? c - 'a' : c == ' ' ? 26 : c == ',' ? 27 : -1;
        if (k == FLAT_LENGTH) mg_fail(lane, MG_WRONG, "its mission has too many characters for observation='flat'");
        if (number < 0) mg_fail(lane, MG_WRONG, "its mission has a character that observation='flat' does not know");
        if (!lane->failure) letters[k] = (uint8_t)(number + 1);
    }
}

int mg_looks_itself(const mg_lane *lane) {
    const int shows = (int)lane->batch->constants[SHOWS];
    return shows == SHOW_FULL || shows == SHOW_SYMBOLIC || shows == SHOW_RGB_PARTIAL || shows == SHOW_RGB_FULL;
}

void mg_write_words(mg_lane *lane) {
    const be_batch *batch = lane->batch;
    const int size = batch->field_size[WORDS];
    const be_port *port = &batch->type->ports[MG_PORT_MISSION];
    uint8_t *row = (uint8_t *)batch->state[WORDS] + lane->number * size;
    char text[2000];
    if (size == 1) return;
    memset(row, 0, (size_t)size);
    if (!mg_is_mission(batch, lane->mission[0])) {
        mg_fail(lane, MG_WRONG, "it has set a mission that is none of its missions");
    }
    if (lane->failure) return;
    if (port->texts) {
        snprintf(text, sizeof text, "%s", port->texts[lane->mission[0]]);
    } else {
        const int length = port->write_text(batch->type, lane->mission, text, sizeof text);
        if (length < 0) mg_fail(lane, MG_WRONG, "its mission has no text");
        if (length >= (int)sizeof text) mg_fail(lane, MG_WRONG, "its mission has more than 2,000 characters");
        if (lane->failure) return;
    }
    if ((int)batch->constants[SHOWS] == SHOW_FLAT) {
        write_letters(lane, text, row);
    } else {
        write_tokens(lane, text, row, size);
    }
}

/* ---- spaces ----------------------------------------------------------------------------------------- */

static void leave_out(be_space *space) {
    space->ndim = 1;
    space->shape[0] = 0;
}

static void set_mission(int form, int longest, be_setup *setup) {
    be_space *mission = &setup->space[MG_PORT_MISSION], *tokens = &setup->space[MG_PORT_TOKENS];
    if (form == MISSION_CODES && mission->ndim == 0) mission->kind = BE_SPACE_DISCRETE;
    if (form == MISSION_CODES && mission->ndim == 1) {
        be_space_box(mission, BE_I64, 1, mission->shape, -0x1p53, 0x1p53);
    }
    if (form != MISSION_TOKENS) {
        leave_out(tokens);
        return;
    }
    leave_out(mission);
    be_space_box(tokens, BE_I64, 1, (const int64_t[]){longest}, 0, MG_NUM_WORDS);
    tokens->kind = BE_SPACE_MULTI_DISCRETE;
    setup->field_size[WORDS] = longest;
}

int mg_prepare_observation(const mg_plan *plan, be_setup *setup, be_error *error) {
    const double *params = setup->params;
    const int shows = (int)params[MG_PARAM_OBSERVATION], tile = (int)params[MG_PARAM_OBSERVATION_TILE];
    const int view = (int)params[MG_PARAM_VIEW], width = plan->width, height = plan->height;
    const int whole = shows == SHOW_IMAGE || shows == SHOW_FLAT || params[MG_PARAM_IMAGE_ONLY] != 0;
    const int longest = (int)params[MG_PARAM_MAX_WORDS];
    const int64_t shapes[][3] = {
        [SHOW_DICT] = {view, view, 3},
        [SHOW_IMAGE] = {view, view, 3},
        [SHOW_FLAT] = {3 * view * view + FLAT_LENGTH * FLAT_LETTERS, 1, 1},
        [SHOW_FULL] = {width, height, 3},
        [SHOW_ONE_HOT] = {view, view, ONE_HOT},
        [SHOW_SYMBOLIC] = {width, height, 3},
        [SHOW_RGB_PARTIAL] = {view * tile, view * tile, 3},
        [SHOW_RGB_FULL] = {height * tile, width * tile, 3},
    };
    const be_dtype dtype = shows == SHOW_SYMBOLIC ? BE_I64 : BE_U8;
    be_space *image = &setup->space[whole ? MG_PORT_WHOLE : MG_PORT_IMAGE];
    setup->field_size[WORDS] = shows == SHOW_FLAT ? FLAT_LENGTH : 1;
    const be_space *mission = &setup->space[MG_PORT_MISSION];
    setup->constants[FIRST_MISSION] = mission->ndim == 0 ? mission->low[0] : 0;
    setup->constants[NUM_MISSIONS] = mission->ndim == 0 ? mission->high[0] + 1 - mission->low[0] : 0;
    if (!whole) set_mission((int)params[MG_PARAM_MISSION], longest, setup);
    be_space_box(image, dtype, shows == SHOW_FLAT ? 1 : 3, shapes[shows], shows == SHOW_SYMBOLIC ? -1 : 0,
                 shows == SHOW_SYMBOLIC ? MG_MAX_SIDE : 255);
    if (whole) {
        for (int k = MG_PORT_IMAGE; k < MG_PORT_WHOLE; k++) leave_out(&setup->space[k]);
    } else {
        leave_out(&setup->space[MG_PORT_WHOLE]);
    }
    setup->constants[SHOWS] = shows;
    setup->constants[WHOLE] = whole;
    setup->constants[IMAGE_BYTES] =
        (double)(shapes[shows][0] * shapes[shows][1] * shapes[shows][2] * (int64_t)be_dtype_size(dtype));
    setup->constants[TOKENS] = whole || (int)params[MG_PARAM_MISSION] != MISSION_TOKENS ? 0 : longest;
    if ((shows == SHOW_RGB_PARTIAL || shows == SHOW_RGB_FULL) && mg_tiles(tile) == NULL) {
        return be_fail(error, BE_ERROR_MEMORY, -1, "out of memory");
    }
    return BE_OK;
}

/* ---- pictures --------------------------------------------------------------------------------------- */

/* Where cell (i, j) of the agent's view is. */
static mg_point place_of(const be_batch *batch, int64_t lane, int i, int j) {
    const int view = (int)batch->constants[VIEW];
    const int32_t *agent = (const int32_t *)batch->state[AGENT] + 2 * lane;
    const mg_point f = mg_ahead((mg_point){0, 0}, ((const int32_t *)batch->state[DIRECTION])[lane]);
    return (mg_point){agent[0] + f.x * (view - 1 - j) - f.y * (i - view / 2),
                      agent[1] + f.y * (view - 1 - j) + f.x * (i - view / 2)};
}

static mg_cell cell_at(const be_batch *batch, int64_t lane, int x, int y) {
    const int width = (int)batch->constants[WIDTH], height = (int)batch->constants[HEIGHT];
    const int stride = (int)batch->constants[STRIDE], origin = mg_margin((int)batch->constants[VIEW]) + stride;
    if ((unsigned)x >= (unsigned)width || (unsigned)y >= (unsigned)height) return MG_CELL(MG_WALL, MG_GREY);
    return ((const mg_cell *)batch->state[CELLS])[lane * batch->field_size[CELLS] + origin + y * stride + x];
}

/* Compilers copy with memcpy in vectors of 16 bytes, which takes longer. */
typedef uint8_t pixels __attribute__((vector_size(32), aligned(1), may_alias));

/* Puts tiles beside each other, from left to right; returns where the next row of tiles begins. */
static inline uint8_t *put_tiles(uint8_t *rgb, const uint8_t *const *tiles, int count, int side) {
    const int whole = 3 * side / (int)sizeof(pixels), rest = 3 * side % (int)sizeof(pixels);
    for (int k = 0; k < side; k++) {
        for (int x = 0; x < count; x++, rgb += rest) {
            const uint8_t *row = tiles[x] + 3 * side * k;
            for (int n = 0; n < whole; n++, rgb += sizeof(pixels), row += sizeof(pixels)) {
                *(pixels *)rgb = *(const pixels *)row;
            }
            memcpy(rgb, row, (size_t)rest);
        }
    }
    return rgb;
}

static uint8_t *put_row(uint8_t *rgb, const uint8_t *const *tiles, int count, int side) {
    if (side == 32) return put_tiles(rgb, tiles, count, 32); /* the usual sizes, for which no memcpy is called */
    if (side == 8) return put_tiles(rgb, tiles, count, 8);
    return put_tiles(rgb, tiles, count, side);
}

/* The agent's view: get_pov_render. */
static void draw_view(const be_batch *batch, int64_t lane, int side, uint8_t *rgb) {
    const int view = (int)batch->constants[VIEW];
    const uint8_t *tiles = mg_tiles(side);
    const uint8_t *row[MG_MAX_VIEW];
    uint8_t image[3 * MG_MAX_VIEW * MG_MAX_VIEW];
    mg_write_views(batch, &lane, 1, lane, image);
    for (int j = 0; j < view; j++) {
        for (int i = 0; i < view; i++) {
            const int here = i == view / 2 && j == view - 1, lit = image[3 * (i * view + j)] != 0;
            const mg_point place = place_of(batch, lane, i, j);
            mg_cell cell = lit ? cell_at(batch, lane, place.x, place.y) : MG_EMPTY; /* what is hidden is not drawn */
            if (here) cell = ((const uint8_t *)batch->state[CARRYING])[2 * lane];
            row[i] = mg_tile(tiles, cell, here ? 1 + MG_NORTH : 0, lit, side);
        }
        rgb = put_row(rgb, row, view, side);
    }
}

/* The whole grid: get_full_render. */
static void draw_grid(const be_batch *batch, int64_t lane, int side, int highlight, uint8_t *rgb) {
    const int width = (int)batch->constants[WIDTH], height = (int)batch->constants[HEIGHT];
    const int view = (int)batch->constants[VIEW];
    const int32_t *agent = (const int32_t *)batch->state[AGENT] + 2 * lane;
    const uint8_t *tiles = mg_tiles(side), *row[MG_MAX_SIDE];
    uint8_t image[3 * MG_MAX_VIEW * MG_MAX_VIEW], lit[MG_MAX_SIDE * MG_MAX_SIDE] = {0};
    if (highlight) mg_write_views(batch, &lane, 1, lane, image);
    for (int k = 0; highlight && k < view * view; k++) {
        const mg_point place = place_of(batch, lane, k / view, k % view);
        if ((unsigned)place.x >= (unsigned)width || (unsigned)place.y >= (unsigned)height) continue;
        lit[place.y * width + place.x] = image[3 * k] != 0;
    }
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            const int here = x == agent[0] && y == agent[1];
            const int looks = here ? 1 + ((const int32_t *)batch->state[DIRECTION])[lane] : 0;
            row[x] = mg_tile(tiles, cell_at(batch, lane, x, y), looks, lit[y * width + x], side);
        }
        rgb = put_row(rgb, row, width, side);
    }
}

void mg_picture(const be_batch *batch, int64_t lane, int *rows, int *columns, uint8_t *rgb) {
    const int side = (int)batch->params[MG_PARAM_TILE], pov = batch->params[MG_PARAM_AGENT_POV] != 0;
    *rows = side * (int)batch->constants[pov ? VIEW : HEIGHT];
    *columns = side * (int)batch->constants[pov ? VIEW : WIDTH];
    if (rgb == NULL) return;
    if (mg_tiles(side) == NULL) {
        memset(rgb, 0, (size_t)3 * (size_t)*rows * (size_t)*columns);
    } else if (pov) {
        draw_view(batch, lane, side, rgb);
    } else {
        draw_grid(batch, lane, side, batch->params[MG_PARAM_HIGHLIGHT] != 0, rgb);
    }
}

/* ---- observations ----------------------------------------------------------------------------------- */

static void write_flat(const be_batch *batch, int64_t lane, uint8_t *row) {
    const int view = (int)batch->constants[VIEW];
    const uint8_t *letters = (const uint8_t *)batch->state[WORDS] + lane * FLAT_LENGTH;
    mg_write_views(batch, &lane, 1, lane, row);
    row += 3 * view * view;
    memset(row, 0, FLAT_LENGTH * FLAT_LETTERS);
    for (int k = 0; k < FLAT_LENGTH && letters[k]; k++, row += FLAT_LETTERS) {
        if (letters[k] <= FLAT_LETTERS) row[letters[k] - 1] = 1;
    }
}

static void write_one_hot(const be_batch *batch, int64_t lane, uint8_t *row) {
    const int view = (int)batch->constants[VIEW];
    uint8_t image[3 * MG_MAX_VIEW * MG_MAX_VIEW];
    mg_write_views(batch, &lane, 1, lane, image);
    memset(row, 0, (size_t)(ONE_HOT * view * view));
    for (int k = 0; k < view * view; k++, row += ONE_HOT) {
        row[image[3 * k]] = row[KINDS + image[3 * k + 1]] = row[KINDS + MG_NUM_COLORS + image[3 * k + 2]] = 1;
    }
}

/* FullyObsWrapper's image, or SymbolicObsWrapper's. */
static void write_grid(const be_batch *batch, int64_t lane, uint8_t *full, int64_t *symbols) {
    const int width = (int)batch->constants[WIDTH], height = (int)batch->constants[HEIGHT];
    const int32_t *agent = (const int32_t *)batch->state[AGENT] + 2 * lane;
    const uint8_t looks = (uint8_t)((const int32_t *)batch->state[DIRECTION])[lane];
    for (int x = 0; x < width; x++) {
        for (int y = 0; y < height; y++) {
            uint8_t bytes[3] = {AGENT_KIND, MG_RED, looks};
            const mg_cell cell = cell_at(batch, lane, x, y);
            const int here = x == agent[0] && y == agent[1];
            if (!here) mg_encode(cell, bytes);
            if (full) {
                memcpy(full, bytes, 3);
                full += 3;
            } else {
                *symbols++ = x;
                *symbols++ = y;
                *symbols++ = !here && mg_kind(cell) == MG_EMPTY ? -1 : bytes[0];
            }
        }
    }
}

static void write_image(const be_batch *batch, int64_t lane, void *row) {
    const int tile = (int)batch->params[MG_PARAM_OBSERVATION_TILE];
    switch ((int)batch->constants[SHOWS]) {
    case SHOW_FLAT:
        write_flat(batch, lane, row);
        break;
    case SHOW_FULL:
        write_grid(batch, lane, row, NULL);
        break;
    case SHOW_ONE_HOT:
        write_one_hot(batch, lane, row);
        break;
    case SHOW_SYMBOLIC:
        write_grid(batch, lane, NULL, row);
        break;
    case SHOW_RGB_PARTIAL:
        draw_view(batch, lane, tile, row);
        break;
    default:
        draw_grid(batch, lane, tile, batch->params[MG_PARAM_HIGHLIGHT] != 0, row);
    }
}

/* The mission: tokens, or the code that stands for a text. */
static void write_mission(const be_batch *batch, int64_t lane, const be_rows *rows) {
    const int64_t length = (int64_t)batch->constants[TOKENS], size = batch->field_size[MISSION];
    if (length == 0) {
        memcpy(BE_ROW(int64_t, rows->port[MG_PORT_MISSION], rows, lane, size),
               (const int64_t *)batch->state[MISSION] + lane * size, (size_t)size * sizeof(int64_t));
        return;
    }
    const uint8_t *tokens = (const uint8_t *)batch->state[WORDS] + lane * length;
    int64_t *row = BE_ROW(int64_t, rows->port[MG_PORT_TOKENS], rows, lane, length);
    for (int64_t k = 0; k < length; k++) row[k] = tokens[k];
}

void mg_write_observations(const be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows) {
    const int shows = (int)batch->constants[SHOWS], whole = batch->constants[WHOLE] != 0;
    const int64_t bytes = (int64_t)batch->constants[IMAGE_BYTES];
    uint8_t *images = rows->port[whole ? MG_PORT_WHOLE : MG_PORT_IMAGE];
    if (shows <= SHOW_IMAGE) {
        mg_write_views(batch, lanes, count, rows->first, images);
    } else {
        for (int64_t k = 0; k < count; k++) write_image(batch, lanes[k], images + (lanes[k] - rows->first) * bytes);
    }
    for (int64_t k = 0; k < count && !whole; k++) {
        *BE_ROW(int64_t, rows->port[MG_PORT_DIRECTION], rows, lanes[k], 1) =
            ((const int32_t *)batch->state[DIRECTION])[lanes[k]];
        write_mission(batch, lanes[k], rows);
    }
}
