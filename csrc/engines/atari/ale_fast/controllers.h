/* Joysticks and paddles, which the picture chip's last registers read. */
#ifndef BE_ALE_CONTROLLERS_H
#define BE_ALE_CONTROLLERS_H

#include "engines/atari/ale_fast/console.h"

/* To be called when a machine is made. */
void be_ale_find_controllers(be_ale_console *console);

/* Reads register 8 to 15 when console->system->cycles have passed. */
unsigned be_ale_read_pin(be_ale_console *console, unsigned number);

#endif
