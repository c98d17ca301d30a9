/* A forked child has none of the parent's OpenMP threads, and a parallel region would wait for them for ever. */
#ifndef BE_FORK_H
#define BE_FORK_H

void be_fork_watch(void); /* call before the first parallel region; any number of times */
int be_forked(void);      /* 1 in a child of a process that had watched: run on one thread */

#endif
