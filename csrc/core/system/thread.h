/* The CPUs of single threads, and their names. */
#ifndef BE_THREAD_H
#define BE_THREAD_H

#include <pthread.h>

int be_thread_pin(pthread_t thread, int cpu);            /* 0, or a number of errno.h */
void be_thread_name(pthread_t thread, const char *name); /* of at most 15 letters, for debuggers */
int be_thread_cpus(void);                                /* how many CPUs this process may use; at least 1 */

#endif
