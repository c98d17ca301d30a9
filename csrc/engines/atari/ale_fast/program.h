/* The cartridge's code, ready to be executed. */
#ifndef BE_ALE_PROGRAM_H
#define BE_ALE_PROGRAM_H

#include "engines/atari/ale_fast/console.h"

static inline int be_ale_program_attach(be_ale_console *console) { return (void)console, 0; }
static inline void be_ale_program_detach(be_ale_console *console) { (void)console; }
#define be_ale_run be_ale_cpu_execute

#endif
