/* Frames that are drawn only if somebody looks at them. */
#ifndef BE_ALE_FRAMES_H
#define BE_ALE_FRAMES_H

#include "engines/atari/ale_fast/console.h"

/* To be called when a machine is made, with memory for a picture of this height. */
void be_ale_frames_open(be_ale_console *console, int height, uint8_t *unused_picture);
void be_ale_frames_close(be_ale_console *console);

/* To be called before the processor begins and after it has ended. */
void be_ale_frame_begin(be_ale_console *console);
void be_ale_frame_end(be_ale_console *console);

/* Stops recording, because there is no room: draws what has been recorded. */
void be_ale_make_room(be_ale_console *console);

/* Records a write to a register. */
static inline void be_ale_note(be_ale_console *c, uint32_t cycles, unsigned number, unsigned value) {
    ale_undrawn *record = c->record;
    if (record->count == record->room) {
        be_ale_make_room(c);
        if (c->record == NULL) return;
    }
    record->records[record->count++] = cycles << 14 | number << 8 | (value & 0xff);
}

#endif
