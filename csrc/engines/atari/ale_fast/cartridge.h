/* Cartridges with banks of four kilobytes, of which the processor sees one at a time. */
#ifndef BE_ALE_CARTRIDGE_H
#define BE_ALE_CARTRIDGE_H

#include "engines/atari/ale_fast/console.h"

/* Gives a machine's cartridge functions that change the bank faster than the library's, if it is of a known kind. To be
 * called when the machine is made. */
void be_ale_cartridge_attach(be_ale_console *console);

/* The name of the class of an object of the library, whose first word points to its functions. */
static inline const char *be_ale_class_of(const void *object) {
    const void *const *functions = *(const void *const *const *)object;
    return ((const char *const *)functions[-1])[1]; /* in front of the functions is the class's description */
}

#endif
