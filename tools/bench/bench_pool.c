/* What the pool costs and how well it keeps its workers busy, without any env.
 *
 *     gcc -O2 -std=gnu11 -Icsrc tools/bench/bench_pool.c csrc/core/{queue,system}/[a-z]*.c \
 *         -o bench_pool -lpthread
 *     ./bench_pool [workers [rounds]]        2 workers, 5 rounds of the long comparison by default
 *
 * Work is spinning by the thread's own CPU clock, so a thread that has lost its core does no work meanwhile. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/queue/pool.h"

#define SECONDS(ns) ((double)(ns) / 1e9)
#define MAX_LANES 8192

static int num_workers = 2;

static int64_t cpu_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t burn(int64_t ns) {
    int64_t start = cpu_clock(), now = start;
    while (now - start < ns) now = cpu_clock();
    return now - start;
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void describe(const char *what, int64_t *times, int count) {
    qsort(times, (size_t)count, sizeof *times, compare);
    printf("%-58s median %8.2f us, 95%% %8.2f us\n", what, (double)times[count / 2] / 1e3,
           (double)times[count * 95 / 100] / 1e3);
}

/* ---- lanes ------------------------------------------------------------------------------------------ */

typedef struct lanes {
    int64_t mean_ns; /* 0: no work */
    int tail;        /* one lane in 16 takes ten times as long, the mean stays */
    int64_t batch_rows;
    int64_t ids[MAX_LANES], rows[2 * MAX_LANES + 64];
    _Atomic int64_t busy;
} lanes;

static int64_t cost(const lanes *l, int64_t lane) {
    return !l->tail ? l->mean_ns : (lane % 16 == 0 ? 10 : 1) * l->mean_ns * 16 / 25;
}

static void work(void *context, const be_item *item, int worker) {
    lanes *l = context;
    (void)worker;
    if (!l->mean_ns) return;
    int64_t busy = 0;
    for (int32_t i = 0; i < item->count; i++) busy += burn(cost(l, l->ids[item->first + i]));
    atomic_fetch_add(&l->busy, busy);
}

static void deliver(void *context, const be_item *item, int64_t offset, const be_stretch *rows, int worker) {
    lanes *l = context;
    (void)worker;
    int64_t *to = l->rows + rows->buffer * l->batch_rows + rows->row;
    for (int64_t i = 0; i < rows->count; i++) to[i] = l->ids[item->first + offset + i];
}

static lanes *lanes_new(int64_t mean_ns, int tail, int64_t batch_rows) {
    lanes *l = calloc(1, sizeof *l);
    l->mean_ns = mean_ns;
    l->tail = tail;
    l->batch_rows = batch_rows;
    for (int64_t i = 0; i < MAX_LANES; i++) l->ids[i] = i;
    return l;
}

static be_pool *pool_new(lanes *l, int64_t num_lanes, int workers) {
    char message[256];
    be_pool_options options = {.num_workers = workers,
                               .batch_rows = l->batch_rows,
                               .batches = (int)((num_lanes + l->batch_rows - 1) / l->batch_rows + 1),
                               .context = l,
                               .work = work,
                               .deliver = deliver};
    be_pool *pool = be_pool_create(&options, message, sizeof message);
    if (!pool) {
        fprintf(stderr, "%s\n", message);
        exit(1);
    }
    return pool;
}

/* Receives and sends again for `seconds`, in items of `chunk` lanes; lane-steps per second. A lane's place in the list
 * is its number, so consecutive ids of a batch form an item. */
static int64_t kept_waiting(int main_too);

static double go_round(be_pool *pool, lanes *l, int64_t num_lanes, int32_t chunk, unsigned flags, double seconds,
                       int64_t *took, int64_t *waited) {
    static be_item items[MAX_LANES];
    for (int64_t i = 0; i < num_lanes; i += chunk) {
        be_item item = {i, (int32_t)(num_lanes - i < chunk ? num_lanes - i : chunk), 0};
        be_pool_submit(pool, &item, 1, flags);
    }
    int64_t steps = 0, start = 0, now, busy = 0;
    for (int64_t round = 0;; round++) {
        if (round == 20) { /* warm */
            start = be_clock();
            steps = 0;
            atomic_store(&l->busy, 0);
            if (waited) *waited = kept_waiting(0);
        }
        be_stretch rows;
        be_pool_recv(pool, -1, flags & BE_POOL_HELP, &rows);
        const int64_t *ids = l->rows + rows.buffer * l->batch_rows;
        int64_t n = 0;
        for (int64_t i = 0; i < rows.count; n++) {
            int32_t run = 1;
            while (i + run < rows.count && run < chunk && ids[i + run] == ids[i] + run) run++;
            items[n] = (be_item){ids[i], run, 0};
            i += run;
        }
        be_pool_release(pool);
        steps += rows.count;
        now = be_clock();
        if (round > 20 && SECONDS(now - start) > seconds) {
            if (waited) *waited = kept_waiting(0) - *waited;
            if (took) *took = now - start;
            busy = atomic_load(&l->busy);
            break;
        }
        be_pool_submit(pool, items, n, flags);
    }
    be_pool_finish(pool, -1, 0);
    be_pool_clear(pool);
    atomic_store(&l->busy, busy);
    return (double)steps / SECONDS(now - start);
}

static void overhead(void) {
    static const struct {
        int64_t lanes, batch;
        int32_t chunk;
        unsigned flags;
        const char *how;
    } cases[] = {
        {64, 32, 1, 0, ""},
        {64, 32, 1, BE_POOL_HELP, ", caller helps"},
        {1024, 256, 1, 0, ""},
        {1024, 256, 1, BE_POOL_HELP, ", caller helps"},
        {64, 32, 32, 0, ""},
        {64, 32, 32, BE_POOL_HELP, ", caller helps"},
        {64, 32, 32, BE_POOL_NOW, ", by the caller at once"},
        {4096, 2048, 512, 0, ""},
        {4096, 2048, 512, BE_POOL_HELP, ", caller helps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lanes *l = lanes_new(0, 0, cases[i].batch);
        be_pool *pool = pool_new(l, cases[i].lanes, num_workers);
        double rate = go_round(pool, l, cases[i].lanes, cases[i].chunk, cases[i].flags, 0.3, NULL, NULL);
        char what[128];
        snprintf(what, sizeof what, "empty work: %d lanes, batch %d, items of %d%s", (int)cases[i].lanes,
                 (int)cases[i].batch, (int)cases[i].chunk, cases[i].how);
        printf("%-58s %7.1f ns per lane, %7.2f us per batch\n", what, 1e9 / rate, 1e6 / rate * (double)cases[i].batch);
        be_pool_destroy(pool, 0);
        free(l);
    }
}

/* Send one lane, receive one lane; with a pause in between in which the caller computes. */
static void turnaround(unsigned flags, int64_t pause_ns, const char *what) {
    enum { COUNT = 4000 };
    static int64_t times[COUNT];
    lanes *l = lanes_new(0, 0, 1);
    be_pool *pool = pool_new(l, 1, num_workers);
    for (int i = 0; i < COUNT; i++) {
        if (pause_ns) burn(pause_ns);
        be_item item = {0, 1, 0};
        be_stretch rows;
        int64_t start = be_clock();
        be_pool_submit(pool, &item, 1, flags);
        be_pool_recv(pool, -1, flags & BE_POOL_HELP, &rows);
        be_pool_release(pool);
        times[i] = be_clock() - start;
    }
    describe(what, times, COUNT);
    be_pool_destroy(pool, 0);
    free(l);
}

/* ---- the parallel loop ------------------------------------------------------------------------------ */

static void nothing(void *context, int64_t begin, int64_t end, int worker) {
    (void)context, (void)begin, (void)end, (void)worker;
}

static void body(void *context, int64_t begin, int64_t end, int worker) {
    be_item item = {begin, (int32_t)(end - begin), 0};
    work(context, &item, worker);
}

static void fork_join(int64_t pause_ns, const char *what) {
    enum { COUNT = 4000 };
    static int64_t times[COUNT];
    lanes *l = lanes_new(0, 0, 1);
    be_pool *pool = pool_new(l, 1, num_workers - 1);
    for (int i = 0; i < COUNT; i++) {
        if (pause_ns) burn(pause_ns);
        int64_t start = be_clock();
        be_pool_for(pool, 2 * num_workers, 1, 0, nothing, NULL);
        times[i] = be_clock() - start;
    }
    describe(what, times, COUNT);
    be_pool_destroy(pool, 0);
    free(l);
}

/* ---- uneven work, noisy neighbours ------------------------------------------------------------------ */

typedef struct figures {
    double rate, busy; /* busy: of the workers' time; or, where known, of the time in which they were given a core */
} figures;

/* How long a thread was ready to run but had no core because of other programs (on Linux; 0 elsewhere). */
static int64_t waited_in(const char *path) {
    long long waited = 0;
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*d %lld", &waited) != 1) waited = 0;
    if (file) fclose(file);
    return waited;
}

/* The same of all this process's threads. */
static int64_t kept_waiting(int main_too) {
    int64_t sum = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[64 + sizeof task->d_name];
        if (task->d_name[0] == '.' || (!main_too && atoi(task->d_name) == (int)getpid())) continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
        sum += waited_in(path);
    }
    if (tasks) closedir(tasks);
    return sum;
}

static double share(const lanes *l, int64_t took, int64_t waited) {
    return SECONDS(atomic_load(&l->busy)) / SECONDS(took * num_workers - waited);
}

/* Sync: all lanes, one call, again and again. */
static figures run_sync(int tail, double seconds) {
    lanes *l = lanes_new(100000, tail, 1);
    be_pool *pool = pool_new(l, 1, num_workers - 1); /* and the caller */
    int64_t steps = 0, waited = kept_waiting(1), start = be_clock();
    while (SECONDS(be_clock() - start) < seconds) {
        be_pool_for(pool, 64, 1, 0, body, l);
        steps += 64;
    }
    int64_t took = be_clock() - start;
    figures f = {(double)steps / SECONDS(took), share(l, took, kept_waiting(1) - waited)};
    be_pool_destroy(pool, 0);
    free(l);
    return f;
}

/* The reference for lock step: each thread has a fixed share of the lanes, and all wait for the last one. */
static figures run_static(int tail, double seconds) {
    lanes *l = lanes_new(100000, tail, 1);
    be_pool *pool = pool_new(l, 1, num_workers - 1);
    int64_t steps = 0, waited = kept_waiting(1), start = be_clock();
    while (SECONDS(be_clock() - start) < seconds) {
        be_pool_for(pool, 64, 64 / num_workers, 0, body, l);
        steps += 64;
    }
    int64_t took = be_clock() - start;
    figures f = {(double)steps / SECONDS(took), share(l, took, kept_waiting(1) - waited)};
    be_pool_destroy(pool, 0);
    free(l);
    return f;
}

static figures run_async(int tail, double seconds) {
    lanes *l = lanes_new(100000, tail, 16);
    be_pool *pool = pool_new(l, 64, num_workers);
    int64_t waited = 0, took = 0;
    double rate = go_round(pool, l, 64, 1, 0, seconds, &took, &waited);
    figures f = {rate, share(l, took, waited)};
    be_pool_destroy(pool, 0);
    free(l);
    return f;
}

static pid_t neighbour(void) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        for (volatile uint64_t i = 0;; i++) {
        }
    }
    return child;
}

/* The machine's own limit: as many threads without a pool, each working for itself. Other programs also use the
 * machine, so the figures above should be compared with this one. */
typedef struct lonely {
    pthread_t thread;
    int tail;
    int64_t until, steps, busy, waited;
} lonely;

static void *burn_alone(void *argument) {
    lonely *self = argument;
    lanes l = {.mean_ns = 100000, .tail = self->tail};
    while (be_clock() < self->until) self->busy += burn(cost(&l, self->steps++));
    self->waited = waited_in("/proc/thread-self/schedstat");
    return NULL;
}

static figures run_bare(int tail, double seconds) {
    static lonely threads[64];
    int64_t start = be_clock(), steps = 0, busy = 0, waited = 0;
    for (int i = 0; i < num_workers && i < 64; i++) {
        threads[i] = (lonely){.tail = tail, .until = start + (int64_t)(seconds * 1e9)};
        pthread_create(&threads[i].thread, NULL, burn_alone, &threads[i]);
    }
    for (int i = 0; i < num_workers && i < 64; i++) {
        pthread_join(threads[i].thread, NULL);
        steps += threads[i].steps;
        busy += threads[i].busy;
        waited += threads[i].waited;
    }
    int64_t took = be_clock() - start;
    return (figures){(double)steps / SECONDS(took), SECONDS(busy) / SECONDS(took * num_workers - waited)};
}

/* All take turns, so that other programs disturb them equally; the best of a few rounds counts. */
static void uneven(int rounds) {
    enum { WAYS = 4 };
    static const struct {
        const char *name;
        figures (*run)(int, double);
    } ways[WAYS] = {{"threads alone", run_bare},
                    {"fixed shares", run_static},
                    {"parallel loop", run_sync},
                    {"queue, batches of 16", run_async}};
    figures best[2][2][WAYS] = {0};
    for (int round = 0; round < rounds; round++) {
        for (int noisy = 0; noisy < 2; noisy++) {
            pid_t child = noisy ? neighbour() : 0;
            for (int tail = 0; tail < 2; tail++) {
                for (int way = 0; way < WAYS; way++) {
                    figures f = ways[way].run(tail, 0.3);
                    if (f.rate > best[noisy][tail][way].rate) best[noisy][tail][way] = f;
                }
            }
            if (child) {
                kill(child, SIGKILL);
                waitpid(child, NULL, 0);
            }
        }
    }
    for (int tail = 0; tail < 2; tail++) {
        printf("64 lanes of 100 us%s\n", tail ? ", one in 16 takes ten times as long" : "");
        for (int way = 0; way < WAYS; way++) {
            figures quiet = best[0][tail][way], noisy = best[1][tail][way], bare = best[0][tail][0];
            printf("    %-22s %7.0f lane-steps/s, %5.1f%% of alone, busy %5.1f%%; with a neighbour %5.1f%% of it, "
                   "%5.1f%% of alone\n",
                   ways[way].name, quiet.rate, 100 * quiet.rate / bare.rate, 100 * quiet.busy,
                   100 * noisy.rate / quiet.rate, 100 * noisy.rate / best[1][tail][0].rate);
        }
    }
}

int main(int argc, char **argv) {
    if (argc > 1) num_workers = atoi(argv[1]);
    if (num_workers < 1) num_workers = 2;
    printf("%d workers, %ld CPUs\n", num_workers, sysconf(_SC_NPROCESSORS_ONLN));
    overhead();
    turnaround(0, 0, "turnaround, batch of 1");
    turnaround(0, 10000, "turnaround, batch of 1, 10 us pause");
    turnaround(0, 200000, "turnaround, batch of 1, 200 us pause");
    turnaround(BE_POOL_NOW, 0, "turnaround, batch of 1, by the caller at once");
    fork_join(0, "parallel loop, empty");
    fork_join(10000, "parallel loop, empty, 10 us pause");
    fork_join(200000, "parallel loop, empty, 200 us pause");
    uneven(argc > 2 ? atoi(argv[2]) : 5);
    return 0;
}
