/* A file descriptor that is readable while it is set, for select, epoll and asyncio. */
#ifndef BE_EVENT_H
#define BE_EVENT_H

/* Opens an event: ends[0] is for the one who waits, ends[1] for the one who sets it; they may be the same. Returns -1
 * and sets errno if there is none, as on Windows, where such loops wait only for sockets. */
int be_event_open(int ends[2]);
void be_event_close(int in, int out); /* -1: was never opened */
void be_event_set(int out);
void be_event_empty(int in);

#endif
