/* Placement on machines with several NUMA nodes, whose memory is near to some CPUs and far from others.
 *
 * Lanes are split into blocks, one per node. The memory of a block is requested on its node, and its workers run on
 * that node's CPUs and take its lanes first. This only concerns speed; results do not depend on it. If something is
 * unavailable (no sysfs, a container that forbids mbind, a system other than Linux), everything works as without
 * placement. */
#ifndef BE_NUMA_H
#define BE_NUMA_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define BE_MAX_NODES 64 /* nodes with usable CPUs; with more of them there is no placement */
#define BE_MAX_CPUS 8192
#define BE_CPU_WORD (8 * (int)sizeof(unsigned long))

typedef struct be_cpus { /* laid out as a cpu_set_t */
    unsigned long word[BE_MAX_CPUS / (8 * sizeof(unsigned long))];
} be_cpus;

typedef struct be_node {
    int id, num_cpus;
    be_cpus cpus; /* only usable ones */
} be_node;

/* The lanes and workers of a node. Both begin where those of the block before end. */
typedef struct be_block {
    int64_t end_lane;
    int end_worker, node;
    be_cpus cpus;
} be_block;

typedef struct be_placement {
    int num_blocks; /* at least 2 */
    be_block blocks[];
} be_placement;

/* Reads a list of CPUs such as "0-3,8\n" ("\n" is an empty one). Returns how many CPUs it has, or -1 if the text is not
 * such a list. */
int be_cpus_parse(const char *text, be_cpus *cpus);
int be_cpus_count(const be_cpus *cpus);
static inline int be_cpus_has(const be_cpus *cpus, int cpu) {
    return cpu >= 0 && cpu < BE_MAX_CPUS && (cpus->word[cpu / BE_CPU_WORD] >> cpu % BE_CPU_WORD & 1);
}

/* Gets the CPUs that the calling thread may use. Returns how many there are, or 0 if that is unknown. */
int be_cpus_usable(be_cpus *cpus);

/* Reads from `root` (NULL: /sys/devices/system/node) the nodes that have CPUs among `usable`, in the order of their
 * numbers. Returns how many there are, or 0 if that is not certain: files are missing or damaged, some usable CPU is in
 * no node, or there are more than BE_MAX_NODES nodes. */
int be_nodes_read(const char *root, const be_cpus *usable, be_node nodes[BE_MAX_NODES]);

/* Spreads workers over nodes in proportion to their CPUs, and lanes, `grain` at a time, in proportion to the workers.
 * Worker w's block includes its part of be_partition(lanes, 64, workers, w). The caller frees the
 * result with free(). Returns NULL if fewer than two nodes would get workers, if one of these would get no lanes, or if
 * there is no memory. */
be_placement *be_place(const be_node *nodes, int num_nodes, int workers, int64_t lanes, int64_t grain);

/* The same with the nodes that be_nodes_read finds on this machine. */
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

/* The block of the node that the calling thread is on at the moment, or 0. Most machines need no system call for it. */
int be_block_here(const be_placement *placement);

/* Restricts a thread to the block's CPUs. */
void be_block_bind(const be_block *block, pthread_t thread);

/* Requests the pages of a column with `bytes` bytes per lane on the nodes of the blocks. Pages that were touched before
 * stay where they are. A page with lanes of two blocks goes to one of their nodes; blocks smaller than a page are left
 * alone. `huge`: the system may use huge pages here, so the boundaries between large blocks are rounded to them. */
void be_place_column(const be_placement *placement, void *column, size_t bytes, int huge);

/* Whether the user has told the system where this thread's memory should be (numactl). Then batchenv places nothing. */
int be_memory_policy_is_set(void);

/* Divides the lanes into `parts` parts and says where part `index` begins and ends: at multiples of `grain`, except for
 * the end of the last part. */
static inline void be_partition(int64_t num_lanes, int64_t grain, int parts, int index, int64_t *begin, int64_t *end) {
    const int64_t blocks = (num_lanes + grain - 1) / grain;
    *begin = blocks * index / parts * grain;
    *end = blocks * (index + 1) / parts * grain;
    if (*begin > num_lanes) *begin = num_lanes;
    if (*end > num_lanes) *end = num_lanes;
}

#endif
