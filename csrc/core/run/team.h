/* How many threads can be started. An OpenMP runtime that cannot start a thread ends the process ("libgomp: Thread
 * creation failed"). So it has to be known beforehand whether that is possible, and the only certain way is to start as
 * many threads. */
#ifndef BE_TEAM_H
#define BE_TEAM_H

/* Remembers the stack size that the OpenMP runtime gives its threads (OMP_STACKSIZE). To be called once, when the
 * module is loaded, since the runtime also reads it then. */
void be_team_init(void);

/* How many threads, including this one, the next parallel region of the calling thread may have: `wanted`, or fewer if
 * no more can be started. To be called before each region, which must then have this size. The runtime keeps a set of
 * threads for each thread that calls it, and ends those that a smaller region does not need. So only a region that is
 * larger than this thread's last one starts threads, and only then does this function start that many, all at the same
 * time, and end them again. A number that failed once is not tried a second time unless `again` is 1. */
int be_team_size(int wanted, int again);

/* The same for the workers of a pool: up to `wanted` threads of the system's default stack size, whatever other threads
 * there are. */
int be_workers_available(int wanted);

#endif
