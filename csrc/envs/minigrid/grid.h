/* What the files of the grid core share. */
#ifndef BE_MINIGRID_GRID_H
#define BE_MINIGRID_GRID_H

#include "minigrid.h"

/* Fields of the state. */
enum { CELLS, OBJECTS, INSIDE, NUM_OBJECTS, AGENT, DIRECTION, CARRYING, MAX_STEPS, MISSION, OWN, WORDS };
/* Constants. */
enum {
    WIDTH,
    HEIGHT,
    STRIDE,
    VIEW,
    SEE_THROUGH,
    STEPS,
    NUMBERED,
    FIRST_MISSION,
    NUM_MISSIONS,
    SHOWS,
    WHOLE,
    IMAGE_BYTES,
    TOKENS
};

/* How far around the grid there are walls in a row of cells: as far as the agent can see, and what belongs to one row's
 * end belongs to the next row's beginning. Above and below the grid there is one row of walls. */
static inline int mg_margin(int view) { return view - 1; }

/* Whether a mission has this code. Codes of several numbers may be any. */
static inline int mg_is_mission(const be_batch *batch, int64_t code) {
    const double first = batch->constants[FIRST_MISSION], count = batch->constants[NUM_MISSIONS];
    return count == 0 || ((double)code >= first && (double)code < first + count);
}

#define MG_HIDDEN __attribute__((visibility("hidden")))

/* The three bytes of a cell in an image: type, color, state. By kind: */
static const uint8_t mg_type_of[16] = {0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 9};
static const uint8_t mg_state_of[16] = {[MG_CLOSED_DOOR] = 1, [MG_LOCKED_DOOR] = 2};

static inline void mg_encode(mg_cell cell, uint8_t *bytes) {
    bytes[0] = mg_type_of[mg_kind(cell)];
    bytes[1] = (uint8_t)mg_color(cell);
    bytes[2] = mg_state_of[mg_kind(cell)];
}

/* Writes what the agents of the lanes listed see; `images` is the row of lane `first`. */
#define mg_write_views BE_ISA_NAME(mg_write_views)
MG_HIDDEN void mg_write_views(const be_batch *batch, const int64_t *lanes, int64_t count, int64_t first,
                              uint8_t *images);

/* Sets the spaces of observations. The setup has what the plan decides about the view. */
#define mg_prepare_observation BE_ISA_NAME(mg_prepare_observation)
MG_HIDDEN int mg_prepare_observation(const mg_plan *plan, be_setup *setup, be_error *error);

#define MG_NUM_WORDS 60 /* that have a token */

/* Notes the words of a new mission where observations have them. */
/* Whether observations are those of a wrapper that looks at the world itself, after the level's own reset. */
#define mg_looks_itself BE_ISA_NAME(mg_looks_itself)
MG_HIDDEN int mg_looks_itself(const mg_lane *lane);

#define mg_write_words BE_ISA_NAME(mg_write_words)
MG_HIDDEN void mg_write_words(mg_lane *lane);

/* Writes the observations of the lanes listed. */
#define mg_write_observations BE_ISA_NAME(mg_write_observations)
MG_HIDDEN void mg_write_observations(const be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows);

/* The tiles of this many pixels a side; NULL: out of memory. */
#define mg_tiles BE_ISA_NAME(mg_tiles)
MG_HIDDEN const uint8_t *mg_tiles(int side);

/* One of them, in rows. agent: 0, or 1 and the direction of the agent in it; lit: whether the agent sees it. */
#define mg_tile BE_ISA_NAME(mg_tile)
MG_HIDDEN const uint8_t *mg_tile(const uint8_t *tiles, mg_cell cell, int agent, int lit, int side);

#endif
