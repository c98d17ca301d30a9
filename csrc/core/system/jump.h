/* be_setjmp(jump) is setjmp that neither saves signals nor, on Windows, calls handlers of the frames that longjmp
 * leaves: these may be a library's. */
#ifndef BE_JUMP_H
#define BE_JUMP_H

#include <setjmp.h>

#ifdef _WIN32
#define be_setjmp(jump) _setjmp((jump), NULL)
#else
#define be_setjmp(jump) _setjmp(jump)
#endif

#endif
