/* How many threads can be had. An OpenMP runtime that cannot start one ends the process ("libgomp: Thread creation
 * failed"), so that has to be found out before, in the only way that is certain: by starting as many. */
#ifndef BE_TEAM_H
#define BE_TEAM_H

/* Remembers the stack size that the OpenMP runtime gives its threads (OMP_STACKSIZE). Once, at load: as the runtime. */
void be_team_init(void);

/* How many threads, this one included, the next parallel region of the calling thread may have: `wanted`, or as many as
 * can be had. The runtime's threads belong to the thread that calls it, and it ends those that a smaller region does
 * not need: only a region larger than this thread's last one starts any, and only then some are started here, all at
 * once, and ended again. To be called before each region, which then has this size. What could not be had is not asked
 * for a second time, unless `again` says so. */
int be_team_size(int wanted, int again);

/* The same for threads of the system's own stack size, whoever has how many: for workers of a pool. */
int be_workers_available(int wanted);

#endif
