/* Frames that are drawn only if somebody looks at them. */
#ifndef BE_ALE_FRAMES_H
#define BE_ALE_FRAMES_H

#include "engines/atari/ale_fast/console.h"

/* To be called when a machine is made, with aligned memory for a picture of this height. */
void be_ale_frames_open(be_ale_console *console, int height, uint8_t *unused_picture);

/* To be called before the processor begins and after it has ended. */
void be_ale_frame_begin(be_ale_console *console);
void be_ale_frame_end(be_ale_console *console);

/* Goes on drawing the frame, because there is no more room. */
void be_ale_stop_recording(be_ale_console *console);

/* Records a write to a register. */
static inline void be_ale_note(be_ale_console *c, uint32_t cycles, unsigned number, unsigned value) {
    ale_undrawn *record = c->record;
    if (record->count == record->room) {
        be_ale_stop_recording(c);
        return;
    }
    c->records->told[record->first + record->count++] = cycles << 14 | number << 8 | (value & 0xff);
}

#endif
