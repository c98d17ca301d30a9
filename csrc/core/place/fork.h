/* A forked child has none of the parent's OpenMP threads, whoever started them (torch shares the runtime), and a
 * parallel region would wait for them for ever: a child of fork() runs on one thread. */
#ifndef BE_FORK_H
#define BE_FORK_H

void be_fork_watch(void); /* before the others mean anything; may be called again */
int be_forked(void);      /* 1 in a child forked since */
int be_fork_count(void);  /* tells a process from its children */

#endif
