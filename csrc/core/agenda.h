/* Agendas: what the next episodes of lanes are, entry by entry, as `BatchEnv.plan` has it. (A be_plan is something
 * else: how a call is shared among threads.)
 *
 * Which entry a lane takes next depends on the agenda, the lane's stream, and how many entries the stream has given,
 * and on nothing else: not on other lanes, threads, or time. So lanes may ask at the same time. Item number t of stream
 * s is item s + t * streams of a sequence that is dealt to all streams as cards are or, with lists, item t of the list
 * of the stream. All arrays belong to the caller. */
#ifndef BE_AGENDA_H
#define BE_AGENDA_H

#include "batchenv.h"
#include "random_state.h"

typedef enum be_agenda_order { BE_IN_ORDER, BE_SHUFFLED, BE_SAMPLED } be_agenda_order;

/* What `next` and `entry` of a lane may be instead of the number of an entry. */
enum {
    BE_NO_ENTRY = -1, /* an episode that is not of the agenda */
    BE_UNDECIDED = -2,
    BE_BEGUN = -3, /* the entry has been taken: the lane only needs to start */
};

/* Where a lane is in its agenda. */
typedef struct be_agenda_place {
    int64_t stream;
    int64_t taken; /* how many entries the stream has given to this lane */
    int64_t entry; /* of the present episode, or BE_NO_ENTRY */
    int64_t next;  /* of the next one, if that is decided */
} be_agenda_place;

typedef struct be_agenda {
    /* Which entries come. */
    be_agenda_order order;
    int repeat;             /* 0: each comes once, and then streams go on as without an agenda */
    uint64_t key;           /* of the random order */
    int64_t streams, count; /* count: entries */
    const double *sums;     /* SAMPLED: running sums of the weights, (sum_rows, count) */
    const int64_t *guides;  /* the same shape: row by row, what be_agenda_guide has written */
    int64_t sum_rows;       /* 1, or one per stream */
    const int64_t *starts;  /* lists: stream s has members[starts[s]] up to members[starts[s + 1]]; NULL: none */
    const int64_t *members;

    /* What they say. Arrays have a row per entry; NULL: nothing is said. */
    const be_rng *rng;          /* what the seed gives */
    const uint8_t *seeded;      /* whether there is a seed; NULL: everywhere, if there is an rng */
    const uint32_t *words;      /* the seeds of types with BE_RANDOM_STATE: words[word_starts[e]] and so on */
    const int64_t *word_starts; /* count + 1 */
    const double *options;      /* of resets, rows of num_options */
    const uint8_t *has_options;
    const int *params;            /* the numbers of those that entries set */
    const double *values;         /* rows of num_params */
    const void *const *snapshots; /* checked, or NULL where an entry has none */
    const int64_t *snapshot_rows;
    int num_options, num_params;
    /* Does what else an entry asks of a lane before its episode starts. Returns BE_OK, or fills `error`. Or NULL. */
    int (*prepare)(void *context, int64_t lane, int64_t entry, be_error *error);
    void *context;

    be_agenda_place *places; /* of lanes */
} be_agenda;

/* From running sums of `count` weights, writes where to begin to look for a number that is drawn: guide k is at most
 * the first entry whose sum is above k / count of the total ("indexed search" of Chen and Asau, 1974). */
void be_agenda_guide(const double *sums, int64_t count, int64_t *guides);

/* The entry that is item `taken` of a stream, or BE_NO_ENTRY after the last. */
int64_t be_agenda_item(const be_agenda *agenda, int64_t stream, int64_t taken);

/* Decides which entry a lane takes next, if that is not decided, and returns it. */
int64_t be_agenda_decide(be_agenda *agenda, int64_t lane);

/* Decides it for the lanes listed, which are about to be reset, and has memory fetched that they will need then. */
void be_agenda_look_ahead(be_batch *batch, const int64_t *lanes, int64_t count);

/* Lets the lanes listed take their next entries: their seeds and params change as these say. A lane for which the entry
 * cannot be taken fails, as single lanes of BE_LANE_BY_LANE types may (rows NULL: that is only noted); for others the
 * call does. The caller resets the lanes then. */
int be_agenda_begin(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error);

/* Whether entries have something that concerns the reset of each lane by itself. */
static inline int be_agenda_is_apart(const be_agenda *agenda) {
    return agenda->has_options != NULL || agenda->snapshots != NULL;
}

/* Puts a lane into the state that its entry's snapshot says. Returns 0 if the entry has none: the lane is to be reset.
 */
int be_agenda_load(be_batch *batch, int64_t lane);

/* Gives a batch an agenda, or takes it away (NULL). No lane may be stepped meanwhile. tells: callers may ask for the
 * entries of episodes that end, in rows->episode_entry. */
void be_batch_set_agenda(be_batch *batch, be_agenda *agenda, int tells);

#endif
