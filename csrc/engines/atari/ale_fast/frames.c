/* Frames that nobody is expected to look at are not drawn; only collisions are noted, because the processor can read
 * them. What the chip is told is recorded. If somebody looks all the same (an episode has ended early), the frame is
 * drawn from the record.
 *
 * The two pictures take turns, and a frame that is cut short leaves the rest of its picture as it was two frames ago.
 * So an undrawn frame is kept until its picture has been drawn to the end again, and a frame that is cut short is drawn
 * at once.
 *
 * A frame of the game that takes too many instructions is interrupted, and what the library calls the next frame goes
 * on in the same picture.
 */
#include "engines/atari/ale_fast/ale_fast.h"

#ifdef BE_HAVE_ALE_FAST
#include "engines/atari/ale_fast/beam.h"
#include "engines/atari/ale_fast/frames.h"
#include "engines/atari/ale_fast/registers.h"

#include <string.h>

#define PICTURE_BYTES 48000 /* of the library's pictures */

static uint8_t *marks_of(be_ale_console *c, const uint8_t *picture) { return c->changed[picture == c->pictures[1]]; }

static size_t picture_bytes(const be_ale_console *c) { return (size_t)c->height * ALE_WIDTH; }

/* ---- drawing later --------------------------------------------------------------------------------------- */

/* Draws a frame into a picture: what its record says, and what is due at a clock after that. Returns the end of what it
 * has written: if the frame goes on, without what turns black at its end. */
static uint8_t *draw_record(be_ale_console *c, const ale_undrawn *frame, int32_t due, uint8_t *picture,
                            uint8_t *marks) {
    ale_picture chip = c->records->starts[frame - c->undrawn];
    ale_cpu cpu = {.last_was_read = 1};
    ale_system system = {.cpu = &cpu};
    be_ale_console other = {.cpu = &cpu, .system = &system, .picture = &chip, .draws = 1, .marks = marks};
    chip.system = &system;
    chip.current = chip.pixel = picture;
    chip.collisions = UINT16_MAX; /* none is to be noted */
    be_ale_registers_begin(&other);
    for (uint32_t k = 0; k < frame->count; k++) {
        const uint32_t record = c->records->told[frame->first + k];
        system.cycles = record >> 14;
        be_ale_writes[record >> 8 & 0x3f](&other, record & 0xff);
    }
    if (chip.due < due) chip.due = due;
    be_ale_flush_all(&other);
    if (frame != c->record) return be_ale_end_lines(&other);
    c->written = other.written;
    return chip.pixel;
}

/* The undrawn frame of a picture, or NULL. */
static ale_undrawn *undrawn_of(be_ale_console *c, const uint8_t *picture) {
    for (int k = 0; k < 3; k++) {
        if (c->undrawn[k].pixels == picture && &c->undrawn[k] != c->record) return &c->undrawn[k];
    }
    return NULL;
}

static void draw_picture(be_ale_console *c, uint8_t *picture) {
    ale_undrawn *frame = undrawn_of(c, picture);
    if (frame == NULL) return;
    frame->pixels = NULL;
    draw_record(c, frame, frame->due, picture, marks_of(c, picture));
}

static void draw_all(be_ale_console *c) {
    draw_picture(c, c->pictures[0]);
    draw_picture(c, c->pictures[1]);
}

/* ---- recording ------------------------------------------------------------------------------------------- */

/* How many records of undrawn frames there are before anything else from this one on. */
static uint32_t room_from(const be_ale_console *c, uint32_t from) {
    uint32_t end = (uint32_t)((picture_bytes(c) - sizeof *c->records) / sizeof *c->records->told);
    for (int k = 0; k < 3; k++) {
        const ale_undrawn *frame = &c->undrawn[k];
        if (frame->pixels == NULL || frame->first + frame->count <= from) continue;
        end = frame->first < end ? frame->first : end;
    }
    return end > from ? end - from : 0;
}

/* Gives a frame all the room between two others, where there is most of it. */
static void find_room(const be_ale_console *c, ale_undrawn *frame) {
    frame->first = 0;
    frame->room = room_from(c, 0);
    for (int k = 0; k < 3; k++) {
        const ale_undrawn *other = &c->undrawn[k];
        if (other->pixels == NULL) continue;
        const uint32_t from = other->first + other->count, room = room_from(c, from);
        if (room <= frame->room) continue;
        frame->first = from;
        frame->room = room;
    }
}

static void record(be_ale_console *c) {
    for (int k = 0; k < 3; k++) {
        ale_undrawn *frame = &c->undrawn[k];
        if (frame->pixels != NULL) continue;
        find_room(c, frame);
        frame->pixels = c->picture->current;
        c->records->starts[k] = *c->picture;
        frame->count = 0;
        c->record = frame;
        c->draws = 0;
        return;
    }
}

void be_ale_stop_recording(be_ale_console *c) {
    ale_undrawn *frame = c->record;
    draw_picture(c, frame->pixels);
    draw_record(c, frame, c->picture->drawn_clock, frame->pixels, c->marks);
    frame->pixels = NULL;
    c->record = NULL;
    c->draws = 1;
}

/* ---- frames ---------------------------------------------------------------------------------------------- */

void be_ale_frame_begin(be_ale_console *c) {
    ale_picture *t = c->picture;
    t->due = c->touched = INT32_MIN; /* clocks start again with each frame */
    c->executes = 1;
    c->known_pins = 0;
    c->draws = 1;
    c->marks = marks_of(c, t->current);
    be_ale_registers_begin(c);
    c->goes_on = c->system->cycles != 0; /* the library begins a new frame with 0 */
    if (c->goes_on) {
        draw_all(c);
        c->looked_at = NULL;
        memcpy(c->kept, t->current, picture_bytes(c));
        return;
    }
    c->blackened = c->written = NULL;
    if (!c->looks) record(c);
}

/* The rest of a picture whose frame was cut short at `from` is that of the frame before, if that was not drawn. */
static void draw_rest(be_ale_console *c, const ale_undrawn *before, uint8_t *picture, const uint8_t *from) {
    uint8_t whole[PICTURE_BYTES], marks[BE_SCREEN_MAX_HEIGHT];
    const size_t offset = (size_t)(from - picture), bytes = picture_bytes(c);
    draw_record(c, before, before->due, whole, marks);
    if (offset >= bytes) return;
    memcpy(picture + offset, whole + offset, bytes - offset);
    memset(marks_of(c, picture) + offset / ALE_WIDTH, 1, (size_t)c->height - offset / ALE_WIDTH);
}

void be_ale_frame_end(be_ale_console *c) {
    ale_picture *t = c->picture;
    if (t->due < c->touched) t->due = c->touched;
    be_ale_flush_all(c);
    ale_undrawn *frame = c->record, *before = undrawn_of(c, t->current);
    const int whole = t->drawn_clock >= t->end_clock && !t->partial_frame;
    c->record = NULL;
    if (frame) frame->due = t->due;
    if (!whole && frame) {
        if (before) draw_record(c, before, before->due, t->current, c->marks);
        draw_record(c, frame, frame->due, t->current, c->marks);
        frame->pixels = NULL;
    } else if (!whole) {
        const uint8_t *end = be_ale_end_lines(c);
        if (before) draw_rest(c, before, t->current, end);
    }
    if (before) before->pixels = NULL;
    if (t->partial_frame) c->looked_at = NULL; /* the library changes the rest of the picture */
    t->due = INT32_MIN;
    c->executes = 0;
}

/* ---- looking --------------------------------------------------------------------------------------------- */

void be_ale_fast_expect(be_ale_console *c, int looks) { c->looks = looks; }

void be_ale_fast_interrupt(be_ale_console *c) {
    if (c->executes) { /* in a process that was forked in the midst of a frame, which ends here */
        if (c->record) c->record->pixels = NULL;
        c->record = NULL;
        c->executes = c->picture->partial_frame = 0;
        c->picture->pixel = c->picture->current;
    }
    draw_all(c);
    c->looked_at = NULL;
}

void be_ale_fast_look(be_ale_console *c, int both, be_pictures *pictures) {
    const ale_picture *t = c->picture;
    draw_picture(c, t->current);
    *pictures = (be_pictures){.now = t->current};
    if (!both) {
        c->looked_at = NULL;
        return;
    }
    draw_picture(c, t->previous);
    pictures->before = c->goes_on ? c->kept : t->previous;
    if (c->looked_at) {
        uint8_t *changed = c->changed_lines;
        for (int y = 0; y < BE_SCREEN_MAX_HEIGHT; y++) changed[y] = c->changed[0][y] | c->changed[1][y];
        pictures->changed = changed;
        pictures->exchanged = c->looked_at != t->current;
    }
    memset(c->changed, 0, sizeof c->changed);
    c->looked_at = c->goes_on ? NULL : t->current;
}

void be_ale_frames_open(be_ale_console *c, int height, uint8_t *unused_picture) {
    c->records = (ale_records *)(void *)unused_picture;
    c->kept = unused_picture;
    c->pictures[0] = c->picture->current;
    c->pictures[1] = c->picture->previous;
    c->height = height;
    c->looks = 1;
}

#endif
