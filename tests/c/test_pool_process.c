/* The pool and the process around it: CPUs, signals, idleness, forks. */
#include "world.h"

#include <signal.h>
#include <sys/wait.h>

#ifdef __linux__
/* Counts workers (of two) whose affinity is not the first allowed CPU alone. */
static void where(void *context, int64_t begin, int64_t end, int worker) {
    (void)begin, (void)end;
    burn(20000);
    cpu_set_t mine;
    if (worker == 2) return;
    CHECK(pthread_getaffinity_np(pthread_self(), sizeof mine, &mine) == 0);
    if (CPU_COUNT(&mine) != 1) atomic_fetch_add((_Atomic int64_t *)context, 1);
}
#endif

static void test_options(void) {
    char message[128];
    be_pool_options options = {.num_workers = -1};
    CHECK(!be_pool_create(&options, message, sizeof message) && strstr(message, "num_workers is -1"));
    world w;
    world_open(&w, 4, 2);
    options = (be_pool_options){.num_workers = 1, .batch_rows = -5, .batches = 1, .deliver = deliver};
    CHECK(!be_pool_create(&options, message, sizeof message) && strstr(message, "batch_rows is -5"));
    options = (be_pool_options){.num_workers = 1, .batch_rows = 1 << 20, .batches = 1 << 20, .deliver = deliver};
    CHECK(!be_pool_create(&options, message, sizeof message) && strstr(message, "items"));
#ifdef __linux__
    int far = 9999;
    options = (be_pool_options){.num_workers = 2, .cpus = &far, .num_cpus = 1};
    CHECK(!be_pool_create(&options, message, sizeof message) && strstr(message, "CPU 9999"));
    cpu_set_t allowed;
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &allowed)) cpu++;
    options.cpus = &cpu;
    be_pool *pool = be_pool_create(&options, message, sizeof message);
    CHECK(pool != NULL);
    _Atomic int64_t elsewhere_count = 0;
    CHECK(be_pool_for(pool, 200, 1, 0, where, (void *)&elsewhere_count) == BE_POOL_OK);
    CHECK(atomic_load(&elsewhere_count) == 0);
    be_pool_destroy(pool, 0);
#endif
    world_close(&w);
}

static pthread_t main_thread;
static volatile sig_atomic_t in_main, elsewhere;

static void on_signal(int number) {
    (void)number;
    if (pthread_equal(pthread_self(), main_thread)) {
        in_main++;
    } else {
        elsewhere++;
    }
}

static void test_signals_and_idleness(void) {
    main_thread = pthread_self();
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigaction(SIGUSR1, &action, &before);
    world w;
    world_open(&w, 4, 2);
    be_pool *pool = world_pool(&w, 3);
    int64_t lanes[4] = {0, 1, 2, 3}, expected[4] = {0};
    send_lanes(&w, pool, lanes, 4, 1, 0);
    receive_batch(&w, pool, lanes, expected);
    for (int i = 0; i < 50; i++) kill(getpid(), SIGUSR1);
    CHECK(in_main > 0 && elsewhere == 0);
    sigaction(SIGUSR1, &before, NULL);

    nanosleep(&(struct timespec){0, 20 * MS}, NULL);
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    int64_t used = -(cpu.tv_sec * 1000 * MS + cpu.tv_nsec);
    nanosleep(&(struct timespec){0, 200 * MS}, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    used += cpu.tv_sec * 1000 * MS + cpu.tv_nsec;
    CHECK(used < 40 * MS);
    be_pool_destroy(pool, 0);
    world_close(&w);
    printf("idle pool: %lld us of CPU in 200 ms\n", (long long)(used / 1000));
}

static int child_sees_fork(be_pool *pool) {
    be_stretch rows;
    be_item item = {0, 1, 0};
    _Atomic int64_t sum = 0;
    int good = be_pool_recv(pool, -1, BE_POOL_HELP, &rows) == BE_POOL_FORKED &&
               be_pool_submit(pool, &item, 1, 0) == BE_POOL_FORKED && be_pool_release(pool) == BE_POOL_FORKED &&
               be_pool_finish(pool, -1, 0) == BE_POOL_FORKED && be_pool_clear(pool) == BE_POOL_FORKED &&
               be_pool_for(pool, 100, 1, 0, add_range, (void *)&sum) == BE_POOL_FORKED && sum == 0 &&
               be_pool_eventfd(pool) == -1;
    be_pool_destroy(pool, 1);
#ifndef __SANITIZE_THREAD__                       /* which allows no threads here */
    be_pool_options options = {.num_workers = 2}; /* the child may have its own */
    pool = be_pool_create(&options, NULL, 0);
    good = good && pool && be_pool_for(pool, 100, 1, 0, add_range, (void *)&sum) == BE_POOL_OK && sum == 100;
    be_pool_destroy(pool, 0);
#endif
    return good;
}

static void test_fork(void) {
    world w;
    world_open(&w, 8, 2);
    be_pool *pool = world_pool(&w, 2);
    int64_t lanes[8] = {0, 1, 2, 3, 4, 5, 6, 7}, expected[8] = {0};
    for (int round = 0; round < 5; round++) {
        send_lanes(&w, pool, lanes, round ? 2 : 8, 1, 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) _exit(child_sees_fork(pool) ? 0 : 1);
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        receive_batch(&w, pool, lanes, expected); /* the parent goes on */
        CHECK(be_pool_release(pool) == BE_POOL_OK);
    }
    be_pool_destroy(pool, 1);
    world_close(&w);
}

MAIN({"options", test_options}, {"signals, idleness", test_signals_and_idleness}, {"fork", test_fork})
