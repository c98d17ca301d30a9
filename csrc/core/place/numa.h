/* Machines with several NUMA nodes: memory that is near to some CPUs and far from others.
 *
 * Lanes are split into blocks, one a node. A block's memory is asked for on its node, and its workers keep to that
 * node's CPUs and take its lanes first. All of it is about speed: results do not depend on it, and where something
 * cannot be had (no sysfs, a container that forbids mbind, another system than Linux) things are as without it. */
#ifndef BE_NUMA_H
#define BE_NUMA_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define BE_MAX_NODES 64 /* with CPUs that may be used; where there are more, none are told apart */
#define BE_MAX_CPUS 8192
#define BE_CPU_WORD (8 * (int)sizeof(unsigned long))

typedef struct be_cpus { /* laid out as a cpu_set_t */
    unsigned long word[BE_MAX_CPUS / (8 * sizeof(unsigned long))];
} be_cpus;

typedef struct be_node {
    int id, num_cpus;
    be_cpus cpus; /* those that may be used */
} be_node;

/* Lanes and workers of a node: those from the end of the block before on. */
typedef struct be_block {
    int64_t end_lane;
    int end_worker, node;
    be_cpus cpus;
} be_block;

typedef struct be_placement {
    int num_blocks; /* at least 2 */
    be_block blocks[];
} be_placement;

/* Reads a list of CPUs like "0-3,8\n" ("\n": none). Returns how many there are, or -1: it is none. */
int be_cpus_parse(const char *text, be_cpus *cpus);
int be_cpus_count(const be_cpus *cpus);
static inline int be_cpus_has(const be_cpus *cpus, int cpu) {
    return cpu >= 0 && cpu < BE_MAX_CPUS && (cpus->word[cpu / BE_CPU_WORD] >> cpu % BE_CPU_WORD & 1);
}

/* The CPUs that the calling thread may use; returns how many, 0: not known. */
int be_cpus_usable(be_cpus *cpus);

/* The nodes in `root` (NULL: /sys/devices/system/node) that have CPUs among `usable`, in the order of their numbers.
 * Returns how many, or 0 where that is not known for sure: files missing or damaged, usable CPUs in no node, or more
 * than BE_MAX_NODES nodes. */
int be_nodes_read(const char *root, const be_cpus *usable, be_node nodes[BE_MAX_NODES]);

/* Spreads workers over nodes in proportion to their CPUs, and lanes, `grain` at a time, in proportion to the workers.
 * Worker w's block includes its part of be_partition(lanes, workers, w), where the grain is 64. To be given to free();
 * NULL where fewer than two nodes would get workers, or one of these no lanes, or there is no memory. */
be_placement *be_place(const be_node *nodes, int num_nodes, int workers, int64_t lanes, int64_t grain);

/* The same with the machine's nodes, as be_nodes_read finds them. */
be_placement *be_place_here(const char *root, int workers, int64_t lanes, int64_t grain);

static inline int be_block_of_lane(const be_placement *placement, int64_t lane) {
    int block = 0;
    while (block < placement->num_blocks - 1 && lane >= placement->blocks[block].end_lane) block++;
    return block;
}

static inline int be_block_of_worker(const be_placement *placement, int worker) {
    int block = 0;
    while (block < placement->num_blocks - 1 && worker >= placement->blocks[block].end_worker) block++;
    return block;
}

/* The block of the node that the calling thread is on at the moment, or 0. No system call on most machines. */
int be_block_here(const be_placement *placement);

/* Lets a thread run on the block's CPUs only. */
void be_block_bind(const be_block *block, pthread_t thread);

/* Asks for the pages of a column, `bytes` a lane, on the blocks' nodes. Those touched before stay where they are. A
 * page with lanes of two blocks goes to one of them; blocks smaller than a page are left alone. `huge`: the system may
 * use large pages, and large blocks should not spoil that. */
void be_place_column(const be_placement *placement, void *column, size_t bytes, int huge);

/* Whether the user has told the system where this thread's memory should be (numactl): then leave it at that. */
int be_memory_policy_is_set(void);

#endif
