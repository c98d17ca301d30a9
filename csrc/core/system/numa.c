#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/system/numa.h"

#include <stdlib.h>
#include <string.h>

/* ---- sets of CPUs ----------------------------------------------------------------------------------- */

int be_cpus_count(const be_cpus *cpus) {
    int count = 0;
    for (size_t i = 0; i < sizeof cpus->word / sizeof cpus->word[0]; i++) count += __builtin_popcountl(cpus->word[i]);
    return count;
}

/* Reads the CPU number at *text and moves *text behind it. Returns -1 if there is no number. */
static int read_cpu(const char **text) {
    int cpu = 0;
    if (**text < '0' || **text > '9') return -1;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        cpu = 10 * cpu + (**text - '0');
        if (cpu >= BE_MAX_CPUS) return -1;
    }
    return cpu;
}

int be_cpus_parse(const char *text, be_cpus *cpus) {
    memset(cpus, 0, sizeof *cpus);
    if (*text == '\n') return text[1] ? -1 : 0;
    for (;; text++) {
        int first = read_cpu(&text), last = first;
        if (*text == '-') {
            text++;
            last = read_cpu(&text);
        }
        if (first < 0 || last < first) return -1;
        for (int cpu = first; cpu <= last; cpu++) cpus->word[cpu / BE_CPU_WORD] |= 1ul << cpu % BE_CPU_WORD;
        if (*text != ',') break;
    }
    return *text == '\n' && text[1] == 0 ? be_cpus_count(cpus) : -1;
}

/* ---- blocks ----------------------------------------------------------------------------------------- */

be_placement *be_place(const be_node *nodes, int num_nodes, int workers, int64_t lanes, int64_t grain) {
    if (num_nodes < 2 || workers < 2 || lanes < 2) return NULL;
    be_placement *placement = calloc(1, sizeof *placement + (size_t)num_nodes * sizeof placement->blocks[0]);
    if (placement == NULL) return NULL;
    int64_t total = 0, before = 0, pieces = (lanes + grain - 1) / grain;
    for (int i = 0; i < num_nodes; i++) total += nodes[i].num_cpus;
    int end_worker = 0;
    int64_t end_lane = 0;
    for (int i = 0; i < num_nodes; i++) {
        before += nodes[i].num_cpus;
        int end = (int)((2 * workers * before + total) / (2 * total)); /* rounded */
        if (end == end_worker) continue;
        be_block *block = &placement->blocks[placement->num_blocks++];
        block->node = nodes[i].id;
        block->cpus = nodes[i].cpus;
        block->end_worker = end_worker = end;
        block->end_lane = pieces * end / workers * grain;
        if (block->end_lane > lanes) block->end_lane = lanes;
        if (block->end_lane == end_lane) {
            placement->num_blocks = 0;
            break;
        }
        end_lane = block->end_lane;
    }
    if (placement->num_blocks >= 2) return placement;
    free(placement);
    return NULL;
}

be_placement *be_place_here(const char *root, int workers, int64_t lanes, int64_t grain) {
    be_cpus usable;
    if (workers < 2 || lanes <= grain || be_cpus_usable(&usable) < 2) return NULL;
    /* Reading takes longer than making a small batch, so CPUs that were found to be on one node are not looked up
     * again. */
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static be_cpus on_one_node;
    pthread_mutex_lock(&mutex);
    const int single = root == NULL && memcmp(&usable, &on_one_node, sizeof usable) == 0;
    pthread_mutex_unlock(&mutex);
    be_node *nodes = single ? NULL : malloc(BE_MAX_NODES * sizeof *nodes);
    if (nodes == NULL) return NULL;
    const int num_nodes = be_nodes_read(root, &usable, nodes);
    if (root == NULL && num_nodes < 2) {
        pthread_mutex_lock(&mutex);
        on_one_node = usable;
        pthread_mutex_unlock(&mutex);
    }
    be_placement *placement = be_place(nodes, num_nodes, workers, lanes, grain);
    free(nodes);
    return placement;
}

#ifdef __linux__

#include <dirent.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HUGE_PAGE ((uintptr_t)2 << 20)
#define MAX_NODE_ID 1024

int be_cpus_usable(be_cpus *cpus) {
    memset(cpus, 0, sizeof *cpus);
    return sched_getaffinity(0, sizeof *cpus, (cpu_set_t *)cpus) == 0 ? be_cpus_count(cpus) : 0;
}

/* ---- sysfs ------------------------------------------------------------------------------------------ */

/* The number N in "nodeN", or -1. */
static int node_number(const char *name) {
    char rest;
    int id;
    if (strncmp(name, "node", 4) != 0 || name[4] < '0' || name[4] > '9') return -1;
    return sscanf(name + 4, "%d%c", &id, &rest) == 1 && id < MAX_NODE_ID ? id : -1;
}

static int read_cpus(const char *root, int id, be_cpus *cpus) {
    char path[4096], text[16384];
    if (snprintf(path, sizeof path, "%s/node%d/cpulist", root, id) >= (int)sizeof path) return -1;
    FILE *file = fopen(path, "re");
    if (file == NULL) return -1;
    size_t length = fread(text, 1, sizeof text - 1, file);
    int complete = !ferror(file) && feof(file) && memchr(text, 0, length) == NULL;
    fclose(file);
    text[length] = 0;
    return complete ? be_cpus_parse(text, cpus) : -1;
}

int be_nodes_read(const char *root, const be_cpus *usable, be_node nodes[BE_MAX_NODES]) {
    if (root == NULL) root = "/sys/devices/system/node";
    DIR *folder = opendir(root);
    if (folder == NULL) return 0;
    int count = 0;
    be_cpus found = {{0}};
    be_node node;
    for (struct dirent *entry; count >= 0 && (entry = readdir(folder));) {
        node.id = node_number(entry->d_name);
        if (node.id < 0) continue;
        if (read_cpus(root, node.id, &node.cpus) < 0) {
            count = -1;
            break;
        }
        for (size_t i = 0; i < sizeof found.word / sizeof found.word[0]; i++) {
            node.cpus.word[i] &= usable->word[i];
            found.word[i] |= node.cpus.word[i];
        }
        node.num_cpus = be_cpus_count(&node.cpus);
        if (node.num_cpus == 0) continue; /* it has only memory, or only CPUs that this process may not use */
        if (count == BE_MAX_NODES) {
            count = -1;
            break;
        }
        int at = count++;
        for (; at > 0 && nodes[at - 1].id > node.id; at--) nodes[at] = nodes[at - 1];
        nodes[at] = node;
    }
    closedir(folder);
    return count > 0 && memcmp(&found, usable, sizeof found) == 0 ? count : 0;
}

/* ---- threads and pages ------------------------------------------------------------------------------ */

int be_block_here(const be_placement *placement) {
    const int cpu = sched_getcpu();
    for (int i = 0; i < placement->num_blocks; i++) {
        if (be_cpus_has(&placement->blocks[i].cpus, cpu)) return i;
    }
    return 0;
}

void be_block_bind(const be_block *block, pthread_t thread) {
    (void)pthread_setaffinity_np(thread, sizeof block->cpus, (const cpu_set_t *)&block->cpus);
}

static uintptr_t within(uintptr_t value, uintptr_t low, uintptr_t high) {
    return value < low ? low : value > high ? high : value;
}

void be_place_column(const be_placement *placement, void *column, size_t bytes, int huge) {
    const int64_t lanes = placement->blocks[placement->num_blocks - 1].end_lane;
    const size_t share = (size_t)lanes * bytes / (size_t)placement->num_blocks;
    const uintptr_t start = (uintptr_t)column, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t unit = huge && share >= HUGE_PAGE ? HUGE_PAGE : page;
    const uintptr_t first = (start + unit - 1) / unit * unit, last = (start + (size_t)lanes * bytes) / unit * unit;
    if (share < page || first >= last) return;
    uintptr_t from = first;
    for (int i = 0; i < placement->num_blocks; i++) {
        const be_block *block = &placement->blocks[i];
        uintptr_t to = start + (size_t)block->end_lane * bytes;
        to = within((to + unit / 2) / unit * unit, from, last);
        unsigned long mask[MAX_NODE_ID / (8 * sizeof(unsigned long))] = {0};
        mask[block->node / BE_CPU_WORD] = 1ul << block->node % BE_CPU_WORD;
        if (to > from) syscall(SYS_mbind, from, to - from, MPOL_PREFERRED, mask, MAX_NODE_ID + 1, 0);
        from = to;
    }
}

int be_memory_policy_is_set(void) {
    int mode = MPOL_DEFAULT;
    return syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) == 0 && mode != MPOL_DEFAULT;
}

#else

int be_cpus_usable(be_cpus *cpus) {
    memset(cpus, 0, sizeof *cpus);
    return 0;
}

int be_nodes_read(const char *root, const be_cpus *usable, be_node nodes[BE_MAX_NODES]) {
    (void)root, (void)usable, (void)nodes;
    return 0;
}

int be_block_here(const be_placement *placement) {
    (void)placement;
    return 0;
}

void be_block_bind(const be_block *block, pthread_t thread) { (void)block, (void)thread; }

void be_place_column(const be_placement *placement, void *column, size_t bytes, int huge) {
    (void)placement, (void)column, (void)bytes, (void)huge;
}

int be_memory_policy_is_set(void) { return 0; }

#endif
