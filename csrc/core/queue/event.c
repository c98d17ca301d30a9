#include "core/queue/event.h"

#include <errno.h>

#ifdef _WIN32

int be_event_open(int ends[2]) {
    ends[0] = ends[1] = -1;
    errno = ENOTSUP;
    return -1;
}

void be_event_close(int in, int out) { (void)in, (void)out; }
void be_event_set(int out) { (void)out; }
void be_event_empty(int in) { (void)in; }

#else

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#endif

int be_event_open(int ends[2]) {
#ifdef __linux__
    ends[0] = ends[1] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return ends[0] < 0 ? -1 : 0;
#else
    if (pipe(ends)) return -1;
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    }
    return 0;
#endif
}

void be_event_close(int in, int out) {
    if (in >= 0) close(in);
    if (out >= 0 && out != in) close(out);
}

void be_event_set(int out) {
    const uint64_t one = 1;
    ssize_t written;
    do written = write(out, &one, sizeof one);
    while (written < 0 && errno == EINTR); /* EAGAIN: the descriptor is readable already */
}

void be_event_empty(int in) {
    uint64_t taken[8];
    ssize_t got;
    do got = read(in, taken, sizeof taken);
    while (got == sizeof taken || (got < 0 && errno == EINTR));
}

#endif
