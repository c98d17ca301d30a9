/* Games of Procgen, through the C interface of libenv.so, which the wheel of procgen2 contains. A machine is one game
 * with its own levels. Machines are independent: calls for different machines may run at the same time, calls for one
 * machine may not. Nothing here ends the process: what the library would end it for is checked before, or ends the
 * call (guard.h). */
#ifndef BE_MACHINE_H
#define BE_MACHINE_H

#include "batchenv.h"
#include "engines/procgen/procgen.h"

#define BE_FRAME_SIDE 64
#define BE_FRAME_BYTES (BE_FRAME_SIDE * BE_FRAME_SIDE * 3)
#define BE_PICTURE_SIDE 512
#define BE_PICTURE_BYTES (BE_PICTURE_SIDE * BE_PICTURE_SIDE * 3)
#define BE_ACTIONS 15      /* of all games */
#define BE_NEXT_LEVEL (-1) /* instead of an action: the episode ends with a step of doing nothing */

enum { BE_EASY, BE_HARD, BE_EXTREME, BE_MEMORY, BE_EXPLORATION };
extern const char *const be_procgen_games[], *const be_procgen_modes[]; /* NULL at the end */

/* Options that are on or off, as bits. */
enum {
    BE_SEQUENTIAL_LEVELS,
    BE_CENTER_AGENT,
    BE_BACKGROUNDS,
    BE_GENERATED_ASSETS,
    BE_MONOCHROME_ASSETS,
    BE_RESTRICT_THEMES,
    BE_PAINT_VELOCITY,
    BE_NUM_FLAGS,
};

/* What a machine is made with. Two are equal if their bytes are. */
typedef struct be_procgen_options {
    int32_t game, mode, num_levels, start_level, debug_mode, flags;
} be_procgen_options;

/* Whether the library takes these options: the game has the mode, and there are so many levels. */
int be_procgen_check(const be_procgen_options *options, be_error *error);

/* Opens the library and lets it load its images, which takes seconds. Later calls with the same library return at once.
 */
int be_procgen_open(const be_procgen_setup *setup, be_error *error);

/* What a machine shows. */
typedef struct be_machine {
    be_procgen_options options;
    int32_t level_seed, prev_level_seed;
    float reward;
    uint8_t first, prev_level_complete; /* first: an episode has ended, and all else is of the next one's first frame */
    uint8_t frame[BE_FRAME_BYTES];      /* rows of red, green and blue */
} be_machine;

/* A machine that shows the first frame of its first level. Options must have been checked, and the library be open. */
be_machine *be_machine_new(const be_procgen_options *options, uint32_t seed, be_error *error);
void be_machine_close(be_machine *machine); /* or NULL */

/* Whether it can be used. If not, it can only be closed: a call has failed, or another thread was in one when this
 * process was forked. */
int be_machine_is_whole(const be_machine *machine);

/* Takes a step. If that fails, the machine can only be closed. */
int be_machine_act(be_machine *machine, int32_t action, be_error *error);

/* The whole state. Returns its bytes; 0: it is larger than `size`, or the library cannot save it. */
size_t be_machine_save(be_machine *machine, void *bytes, size_t size);
/* Puts a machine with the same options into a state that was saved. If that fails, it can only be closed. */
int be_machine_load(be_machine *machine, const void *bytes, size_t size, be_error *error);

/* Draws the present state: BE_PICTURE_BYTES bytes. Returns 0 if that fails; then the machine can only be closed. */
int be_machine_draw(be_machine *machine, uint8_t *rgb);

#endif
