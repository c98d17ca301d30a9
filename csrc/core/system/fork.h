/* After fork(), the child has none of the parent's OpenMP threads, and a parallel region in it would wait for them
 * forever. This also happens if other code such as torch, which shares the runtime, has started them. So a child of
 * fork() runs on one thread. */
#ifndef BE_FORK_H
#define BE_FORK_H

void be_fork_watch(void); /* must be called before the other two; may be called again */
int be_forked(void);      /* 1 in a child forked since */
int be_fork_count(void);  /* differs between a process and its children */

/* From now on the thread that forks calls `before` first, and `after` afterwards, in the parent as in the child: so
 * that no other thread has what they lock and unlock. */
void be_fork_beside(void (*before)(void), void (*after)(void));

#endif
