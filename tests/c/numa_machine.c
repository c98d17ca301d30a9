/* The only program of a virtual machine with two NUMA nodes (see run_numa.sh). It looks on which nodes the lanes' pages
 * are, and on which CPUs lanes are stepped. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/run/async.h"
#include "core/run/loop.h"
#include "rows.h"

#define WORKERS 4
#define PATIENCE INT64_C(120000000000)

extern const be_isa BE_ISA_NAME(be_isa);
static const be_isa *const plain = &BE_ISA_NAME(be_isa);
static int failed;

static void expect(int good, const char *what) {
    printf("%s: %s\n", good ? "ok" : "FAILED", what);
    failed |= !good;
}

/* ---- who steps what --------------------------------------------------------------------------------- */

static be_node nodes[BE_MAX_NODES];
static be_batch *watched;
static be_placement *homes; /* of its lanes, whether or not it was placed */
static _Atomic int64_t near, far;

static void note(const be_batch *batch, int64_t first, int64_t n) {
    if (batch != watched) return;
    const be_cpus *cpus = &homes->blocks[be_block_of_lane(homes, first)].cpus;
    atomic_fetch_add(be_cpus_has(cpus, sched_getcpu()) ? &near : &far, n);
}

static int64_t step(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    note(batch, begin, end - begin);
    return plain->step(batch, begin, end, rows, error);
}

static double near_share(void) {
    const double a = (double)atomic_exchange(&near, 0), b = (double)atomic_exchange(&far, 0);
    return a / (a + b);
}

/* ---- where pages lie -------------------------------------------------------------------------------- */

/* Of the pages that hold only lanes of one block, the share that is on that block's node. There are two equal
 * blocks. */
static double pages_near(const be_batch *batch, int64_t *pages) {
    be_lane_column columns[BE_MAX_LANE_COLUMNS];
    const int count = be_lane_columns(batch, columns);
    int64_t good = 0, all = 0;
    for (int j = 0; j < count; j++) {
        const uintptr_t start = (uintptr_t)columns[j].data;
        const uintptr_t half = start + (uintptr_t)batch->num_lanes / 2 * columns[j].bytes;
        const uintptr_t end = start + (uintptr_t)batch->num_lanes * columns[j].bytes;
        for (uintptr_t at = (start + 4095) / 4096 * 4096; at + 4096 <= end; at += 4096) {
            if (at < half && at + 4096 > half) continue;
            void *page = (void *)at;
            int node = -1;
            if (syscall(SYS_move_pages, 0, 1ul, &page, NULL, &node, 0) != 0 || node < 0) continue;
            all++;
            good += node == nodes[at >= half].id;
        }
    }
    *pages = all;
    return all ? (double)good / (double)all : -1;
}

/* ---- batches ---------------------------------------------------------------------------------------- */

static be_batch *make_batch(const char *name, int64_t lanes, double cost_us, int place) {
    be_error error;
    const be_env_type *type = be_type_named(plain, name);
    be_batch *batch = be_batch_create(&(be_batch_options){.type = type, .num_lanes = lanes}, &error);
    double params[BE_MAX_PARAMS] = {0};
    for (int j = 0; type->params[j].name; j++) {
        params[j] = strcmp(type->params[j].name, "cost_us") ? type->params[j].value : cost_us;
    }
    if (batch == NULL || be_batch_configure(batch, params, NULL, &error) != BE_OK) {
        printf("%s\n", error.message);
        exit(1);
    }
    const int by_lane = (type->flags & BE_LANE_BY_LANE) != 0;
    free(homes);
    homes = be_place_here(NULL, WORKERS, lanes, by_lane ? 1 : 64);
    if (place) be_batch_place(batch, be_place_here(NULL, WORKERS, lanes, by_lane ? 1 : 64));
    be_batch_seed(batch, (uint32_t[]){1}, 1, 0, lanes);
    watched = batch;
    return batch;
}

/* Receives `rounds` batches and sends each back at once. Returns the sum of all observations. */
static double fly(const char *name, int64_t lanes, int64_t batch_rows, double cost_us, int rounds, int place,
                  double *share, int64_t *num_pages, double *steps_near) {
    const be_isa isa = {.step = step, .types = plain->types};
    be_batch *batch = make_batch(name, lanes, cost_us, place);
    be_error error;
    be_async *async = be_async_create(batch, &isa, batch_rows, WORKERS, NULL, 0, &error);
    const int count = be_async_num_buffers(async);
    be_rows *buffers = calloc((size_t)count, sizeof *buffers);
    for (int i = 0; i < count; i++) {
        buffers[i] = make_rows(be_async_table(async), BE_ROWS_ALL, (size_t)batch_rows);
        be_async_set_buffer(async, i, &buffers[i]);
    }
    int64_t *all = malloc((size_t)lanes * sizeof *all);
    for (int64_t i = 0; i < lanes; i++) all[i] = i;
    const be_rows actions = make_rows(be_batch_table(batch), BE_ROWS_ACTION, (size_t)lanes);
    double sum = 0;
    int buffer = 0;
    expect(be_async_submit(async, all, lanes, NULL, NULL) == BE_POOL_OK, "reset sent");
    for (int round = 0; round < rounds; round++) {
        if (be_async_recv(async, PATIENCE, &buffer) != BE_POOL_OK) {
            expect(0, "a batch comes");
            break;
        }
        const be_rows *rows = &buffers[buffer];
        const unsigned char *bytes = rows->port[be_observation_port(batch)];
        for (size_t i = 0; i < (size_t)batch_rows * batch->driver->observation_bytes; i++) sum += bytes[i];
        be_async_set_buffer(async, buffer, rows);
        if (round + 1 < rounds) be_async_submit(async, rows->lane, batch_rows, &actions, NULL);
    }
    be_async_finish(async, PATIENCE);
    *share = pages_near(batch, num_pages);
    *steps_near = near_share();
    be_async_destroy(async);
    be_batch_destroy(batch);
    return sum;
}

static void see(const char *name, int64_t lanes, int64_t batch_rows, double cost_us, int rounds) {
    double share[2], near_steps[2], sum[2];
    int64_t pages[2];
    for (int place = 0; place < 2; place++) {
        sum[place] =
            fly(name, lanes, batch_rows, cost_us, rounds, place, &share[place], &pages[place], &near_steps[place]);
    }
    printf("%s, %lld lanes in batches of %lld; on their own node, without placement and with it:", name,
           (long long)lanes, (long long)batch_rows);
    if (pages[1]) printf(" %.0f%% and %.0f%% of %lld pages,", 100 * share[0], 100 * share[1], (long long)pages[1]);
    printf(" %.0f%% and %.0f%% of the steps\n", 100 * near_steps[0], 100 * near_steps[1]);
    /* Of a large arena, the ends of columns share huge pages and are not placed. */
    if (pages[1]) expect(pages[1] < 4096 ? share[1] == 1 : share[1] > 0.8, "pages are where they should be");
    expect(near_steps[1] > 0.5, "most steps are done on the lanes' own node");
    if (batch_rows == lanes) expect(sum[0] == sum[1], "the same results either way");
}

/* What engines' step() uses. */
static void see_loop(void) {
    const int64_t lanes = 64;
    const be_isa isa = {.step = step, .types = plain->types};
    be_batch *batch = make_batch("Synthetic", lanes, 500, 1);
    const be_rows rows = make_rows(be_batch_table(batch), BE_ROWS_ALL, (size_t)lanes);
    char message[256];
    be_pool *pool = be_pool_create(
        &(be_pool_options){.num_workers = WORKERS - 1, .placement = batch->driver->placement}, message, sizeof message);
    be_plan plans[BE_NUM_PLANS];
    be_plans_start(plans, lanes, WORKERS, 1);
    for (int i = 0; i < BE_NUM_PLANS; i++) plans[i].parallel = plans[i].fixed = 1;
    int good = pool != NULL;
    for (int t = 0; t <= 20; t++) {
        be_call call;
        be_call_init(&call, t == 0 ? BE_RESET : BE_STEP, batch, &isa, &rows);
        be_call_begin(&call, plans, WORKERS, pool);
        good &= be_call_run(&call) == BE_OK;
    }
    const double share = near_share();
    printf("parallel loop: %.0f%% of the steps on the lanes' own node\n", 100 * share);
    expect(good && share > 0.5, "most of the loop's steps are done on the lanes' own node");
    be_pool_destroy(pool, 0);
    be_batch_destroy(batch);
}

/* A memory policy that numactl has set must stay. */
static void see_policy(void) {
    unsigned long both = 3;
    syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &both, 65ul);
    double share, steps;
    int64_t pages;
    fly("CartPole", 65536, 65536, 0, 2, 1, &share, &pages, &steps);
    syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0ul);
    printf("interleaved by the user: %.0f%% of the pages on their own node\n", 100 * share);
    expect(share > 0.3 && share < 0.7, "a policy that the user has set is left alone"); /* placed: above 0.9 */
}

int main(void) {
    mkdir("/sys", 0755);
    mount("sysfs", "/sys", "sysfs", 0, NULL);
    setvbuf(stdout, NULL, _IONBF, 0);
    be_cpus usable;
    be_cpus_usable(&usable);
    const int count = be_nodes_read(NULL, &usable, nodes);
    for (int i = 0; i < count; i++) printf("node %d: %d CPUs\n", nodes[i].id, nodes[i].num_cpus);
    expect(count == 2, "two nodes");
    see("CartPole", 65536, 65536, 0, 8);
    see("CartPole", 65536, 16384, 0, 24);
    see("CartPole", 1000000, 1000000, 0, 3);
    see("Synthetic", 256, 64, 300, 60);
    see_loop();
    see_policy();
    printf("two nodes: %s\n", failed ? "FAILED" : "all good");
    reboot(RB_POWER_OFF);
}
