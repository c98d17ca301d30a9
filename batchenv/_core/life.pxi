# A process that must not outlive another one.

cdef extern from *:
    """
    #include <errno.h>
    #include <poll.h>
    #include <pthread.h>
    #include <signal.h>
    #include <unistd.h>
    #ifndef POLLRDHUP
    #define POLLRDHUP 0
    #endif

    static struct pollfd be_life[2];

    static void *be_watch_life(void *nothing) {
        (void)nothing;
        for (;;) {
            int count = poll(be_life, 2, -1);
            if (count == 0 || (count < 0 && errno == EINTR)) continue;
            if (getpgrp() == getpid()) kill(0, SIGKILL); /* what envs have started, too */
            _exit(1);
        }
        return NULL;
    }

    static int be_end_with(int channel, int process) {
        pthread_t thread;
        sigset_t all, before;
        be_life[0].fd = channel, be_life[0].events = POLLRDHUP;
        be_life[1].fd = process, be_life[1].events = POLLIN;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int status = pthread_create(&thread, NULL, be_watch_life, NULL);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (status == 0) pthread_detach(thread);
        return status;
    }
    """
    int be_end_with(int channel, int process) nogil


def end_with(int channel, int process):
    """Ends this process when the other end of the socket `channel` is closed, or when another process has ended, of
    which `process` is a pidfd (-1: none). A thread of C does it, so it works while an env keeps the GIL."""
    cdef int status = be_end_with(channel, process)
    if status != 0:
        raise OSError(status, "no thread can be started that ends this worker together with its parent")
