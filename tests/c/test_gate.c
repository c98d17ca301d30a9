/* Gates: nobody sleeps through a wake-up. */
#include "threads.h"

#include "core/queue/gate.h"

typedef struct turns {
    be_gate gate;
    _Atomic int turn;
    int count, yields;
    long plain; /* whose turn it is may write it */
} turns;

typedef struct player {
    turns *game;
    int index;
} player;

static int my_turn(void *argument) {
    player *self = argument;
    return atomic_load(&self->game->turn) % 2 == self->index;
}

/* Who does not spin has a chance in every turn to lose a wake-up between the look and the nap. */
static void *play(void *argument) {
    player *self = argument;
    uint64_t random = 99 + (uint64_t)self->index;
    be_spin spin = {.ns = self->game->yields ? 20000 : 0, .yields = self->game->yields};
    for (int i = 0; i < self->game->count; i++) {
        CHECK(be_gate_wait(&self->game->gate, my_turn, self, &spin, i % 2 ? -1 : PATIENCE));
        CHECK(self->game->plain++ == 2 * i + self->index);
        for (uint64_t n = draw(&random) % 512; n > 0; n--) __asm__ __volatile__("");
        atomic_fetch_add(&self->game->turn, 1);
        be_gate_notify(&self->game->gate, 1);
    }
    return NULL;
}

static void test_gate(void) {
    for (int kind = 0; kind < 3; kind++) {
        turns game = {.count = (kind ? 2000 : 20000) * effort, .yields = kind == 2};
        be_gate_init(&game.gate, kind > 0);
        player players[2] = {{&game, 0}, {&game, 1}};
        pthread_t other;
        pthread_create(&other, NULL, play, &players[1]);
        play(&players[0]);
        pthread_join(other, NULL);
        CHECK(game.plain == 2 * game.count && atomic_load(&game.gate.sleepers) == 0);
    }
    CHECK(be_deadline(-1) == BE_FOREVER && be_deadline(INT64_MAX) == BE_FOREVER && be_deadline(0) <= be_clock());
}

MAIN({"gate", test_gate})
