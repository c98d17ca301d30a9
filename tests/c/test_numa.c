/* The reading of a machine's NUMA nodes, and the split of workers and lanes over them, without such a machine. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks.h"
#include "core/system/numa.h"

static void test_parse(void) {
    be_cpus cpus;
    static const struct {
        const char *text;
        int count;
    } lists[] = {{"0\n", 1},        {"0-3\n", 4},  {"0-1,4,6-7\n", 5}, {"\n", 0},       {"8190-8191\n", 2},
                 {"3,3\n", 1},      {"", -1},      {"0-3", -1},        {"3-0\n", -1},   {"8192\n", -1},
                 {"0-8192\n", -1},  {"0,\n", -1},  {",0\n", -1},       {"0-\n", -1},    {"-3\n", -1},
                 {"0--3\n", -1},    {"0 1\n", -1}, {"a\n", -1},        {"0\n1\n", -1},  {"\n\n", -1},
                 {"0-3:1/2\n", -1}, {"0x1\n", -1}, {" 0\n", -1},       {"0-1-2\n", -1}, {"99999999999999999999\n", -1}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        CHECK(be_cpus_parse(lists[i].text, &cpus) == lists[i].count);
    }
    CHECK(be_cpus_parse("0-1,64,8191\n", &cpus) == 4 && be_cpus_count(&cpus) == 4);
    CHECK(be_cpus_has(&cpus, 1) && !be_cpus_has(&cpus, 2) && be_cpus_has(&cpus, 64) && be_cpus_has(&cpus, 8191));
    CHECK(!be_cpus_has(&cpus, -1) && !be_cpus_has(&cpus, 8192));
}

/* ---- sysfs ------------------------------------------------------------------------------------------ */

static char root[] = "/tmp/batchenv-numa-XXXXXX"; /* where the process is meanwhile */

static void write_text(const char *name, const char *text, size_t length) {
    FILE *file = fopen(name, "w");
    CHECK(file && fwrite(text, 1, length, file) == length && fclose(file) == 0);
}

/* Node `id` with this list; NULL: without one. */
static void make_node(int id, const char *list) {
    char path[32];
    snprintf(path, sizeof path, "node%d", id);
    CHECK(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "node%d/cpulist", id);
    if (list) write_text(path, list, strlen(list));
}

static void clear(void) {
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s/*", root);
    CHECK(system(command) == 0);
}

static int read_nodes(const char *usable, be_node *nodes) {
    be_cpus cpus;
    CHECK(be_cpus_parse(usable, &cpus) >= 0);
    return be_nodes_read(root, &cpus, nodes);
}

static void test_read(void) {
    static be_node nodes[BE_MAX_NODES];
    CHECK(mkdtemp(root) != NULL && chdir(root) == 0);
    CHECK(read_nodes("0-3\n", nodes) == 0); /* an empty folder */
    make_node(10, "8-11\n");
    make_node(0, "0-3\n");
    make_node(2, "4-7\n");
    make_node(1, "\n"); /* memory alone */
    write_text("online", "0-2,10\n", 7);
    write_text("nodes", "damaged", 7);
    CHECK(read_nodes("0-11\n", nodes) == 3);
    CHECK(nodes[0].id == 0 && nodes[1].id == 2 && nodes[2].id == 10);
    CHECK(nodes[2].num_cpus == 4 && be_cpus_has(&nodes[2].cpus, 8) && !be_cpus_has(&nodes[2].cpus, 7));
    CHECK(read_nodes("1,9-10\n", nodes) == 2 && nodes[0].id == 0 && nodes[1].id == 10 && nodes[1].num_cpus == 2);
    CHECK(be_cpus_has(&nodes[0].cpus, 1) && !be_cpus_has(&nodes[0].cpus, 0));
    CHECK(read_nodes("5\n", nodes) == 1 && nodes[0].id == 2);
    CHECK(read_nodes("0-12\n", nodes) == 0); /* CPU 12 is in no node: workers would never run there */
    CHECK(read_nodes("\n", nodes) == 0);
    make_node(3, NULL); /* going offline just now */
    CHECK(read_nodes("0-11\n", nodes) == 0);
    clear();
    static const char *damaged[] = {"", "0-3", "0-3\n\n", "0-\n", "garbage\n"};
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        make_node(0, "0-3\n");
        make_node(1, damaged[i]);
        CHECK(read_nodes("0-3\n", nodes) == 0);
        clear();
    }
    make_node(0, "0-3\n");
    make_node(1, "\n");
    write_text("node1/cpulist", "4\0\n", 3);
    CHECK(read_nodes("0-3\n", nodes) == 0);
    char *endless = malloc(40000);
    memset(endless, '0', 40000);
    write_text("node1/cpulist", endless, 40000);
    CHECK(read_nodes("0-3\n", nodes) == 0);
    free(endless);
    clear();
    for (int i = 0; i < BE_MAX_NODES + 1; i++) {
        char list[16];
        snprintf(list, sizeof list, "%d\n", i);
        make_node(i, list);
    }
    CHECK(read_nodes("0-63\n", nodes) == 64);
    CHECK(read_nodes("0-64\n", nodes) == 0);
    clear();
    CHECK(chdir("/") == 0 && rmdir(root) == 0 && read_nodes("0-3\n", nodes) == 0);
}

/* ---- the split -------------------------------------------------------------------------------------- */

static void test_split(void) {
    static be_node nodes[5];
    for (int i = 0; i < 5; i++) nodes[i].id = 3 * i;
    int64_t placed = 0, refused = 0;
    for (int kind = 0; kind < 4; kind++) {
        const int sizes[][5] = {{4, 4}, {8, 3, 1}, {1, 1, 1, 1, 1}, {2, 30, 2}};
        int num_nodes = 0, total = 0;
        for (; num_nodes < 5 && sizes[kind][num_nodes]; num_nodes++) {
            nodes[num_nodes].num_cpus = sizes[kind][num_nodes];
            total += sizes[kind][num_nodes];
        }
        for (int workers = 1; workers <= 40; workers++) {
            for (int64_t lanes = 1; lanes <= 5000; lanes += 1 + lanes / 3) {
                for (int grain = 1; grain <= 64; grain += 63) {
                    be_placement *p = be_place(nodes, num_nodes, workers, lanes, grain);
                    refused += p == NULL;
                    if (p == NULL) { /* only where some block would be empty */
                        CHECK(workers < 2 || (lanes + grain - 1) / grain < workers || workers * 4 <= total);
                        continue;
                    }
                    placed++;
                    CHECK(p->num_blocks >= 2 && p->num_blocks <= num_nodes);
                    int worker = 0;
                    int64_t lane = 0;
                    for (int b = 0; b < p->num_blocks; b++) {
                        const be_block *block = &p->blocks[b];
                        const double share = nodes[block->node / 3].num_cpus * (double)workers / total;
                        CHECK(block->end_worker > worker && block->end_lane > lane);
                        CHECK(block->end_worker - worker > share - 1.01 && block->end_worker - worker < share + 1.01);
                        CHECK(block->end_lane % grain == 0 || block->end_lane == lanes);
                        for (int w = worker; w < block->end_worker; w++) {
                            int64_t begin, end;
                            be_partition(lanes, 64, workers, w, &begin, &end);
                            CHECK(be_block_of_worker(p, w) == b);
                            CHECK(grain == 1 || (begin >= lane && end <= block->end_lane)); /* the OpenMP parts' */
                        }
                        for (; lane < block->end_lane; lane++) CHECK(be_block_of_lane(p, lane) == b);
                        worker = block->end_worker;
                    }
                    CHECK(worker == workers && lane == lanes);
                    CHECK(be_block_of_worker(p, workers) == p->num_blocks - 1);
                    free(p);
                }
            }
        }
    }
    CHECK(placed > 1000 && refused > 100);
    CHECK(be_place(nodes, 1, 8, 512, 64) == NULL && be_place(nodes, 0, 8, 512, 64) == NULL);
    be_cpus usable;
    if (be_cpus_usable(&usable)) CHECK(be_cpus_count(&usable) >= 1);
    CHECK(be_place_here("/nowhere", 8, 512, 64) == NULL);
}

/* On any machine: what the system refuses (there is no node 1000) changes nothing, and memory is as it was. */
static void test_columns(void) {
    const size_t bytes = (size_t)16 << 20;
    for (int node = 0; node <= 1000; node += 1000) {
        be_placement *p = calloc(1, sizeof *p + 2 * sizeof p->blocks[0]);
        unsigned char *memory = aligned_alloc(4096, bytes);
        memset(memory, 7, bytes);
        p->num_blocks = 2;
        p->blocks[0].node = p->blocks[1].node = node;
        for (size_t lane_bytes = 1; lane_bytes <= 8192; lane_bytes *= 2) {
            for (int64_t lanes = 1; (size_t)lanes * lane_bytes <= bytes / 2; lanes = lanes * 5 + 1) {
                p->blocks[0].end_lane = lanes / 3;
                p->blocks[1].end_lane = lanes;
                be_place_column(p, memory + 64 * (size_t)(lanes % 100), lane_bytes, lanes & 1);
            }
        }
        for (size_t i = 0; i < bytes; i++) {
            if (memory[i] != 7) CHECK(0);
        }
        free(memory);
        free(p);
    }
}

int main(void) {
    test_parse();
    test_read();
    test_split();
    test_columns();
    printf("%ld passed, 0 failed\n", checks);
    return 0;
}
