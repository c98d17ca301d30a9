/* Signals go to the program's own threads and not to those that batchenv starts, except for signals that such a thread
 * causes itself, so that a crash is still reported (faulthandler). */
#ifndef BE_SIGNALS_H
#define BE_SIGNALS_H

#ifdef _WIN32

typedef int be_signals; /* Windows sends no signals to threads */

static inline void be_signals_block(be_signals *before) { *before = 0; }
static inline void be_signals_restore(const be_signals *before) { (void)before; }

#else

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

typedef sigset_t be_signals;

/* Threads that are started between the two inherit what is blocked. */
static inline void be_signals_block(be_signals *before) {
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}

static inline void be_signals_restore(const be_signals *before) { pthread_sigmask(SIG_SETMASK, before, NULL); }

#endif

#endif
