/* What the driver (isa/step.c, episode.c) keeps of a batch, for the files of core/ and for engines that step lanes
 * ahead. */
#ifndef BE_DRIVER_H
#define BE_DRIVER_H

#include "core/agenda.h"
#include "core/episode.h"
#include "core/params.h"
#include "core/rows.h"
#include "core/system/numa.h"
#include "core/transform.h"

/* What a BE_LANE_BY_LANE type may do for several lanes at once, before the same thread calls step() for each of them.
 * The action of lane lanes[k] is row places[k] of `rows`. It may leave out any lane. */
typedef void be_ahead(be_batch *batch, const int64_t *lanes, const int64_t *places, int64_t count, const be_rows *rows);
typedef void be_starting(be_batch *batch, const int64_t *lanes, int64_t count);

struct be_driver {
    struct be_checked *checked; /* what batch->type points to, if the batch has made it; or NULL */
    int (*look)(void *context); /* during open() */
    void *look_context;
    double next_look; /* seconds */
    be_autoreset autoreset;
    int32_t max_episode_steps;              /* INT32_MAX: none (elapsed stops there) */
    uint8_t *pending;                       /* finished, waiting for a reset */
    int num_ports, observation;             /* the latter: the first port of an observation */
    int num_rewards, rewards[BE_MAX_PORTS]; /* ports of further rewards */
    be_space *space; /* by port: what batch->space points at, and room for those of a configuration */
    be_table inner;  /* what kernels read and write */
    be_table outer;  /* what comes in and goes out */
    size_t raw_bytes, observation_bytes; /* a row of the observation that is transformed, before and after */
    be_rows final;                       /* SAME_STEP: the batch's own rows */
    double default_options[BE_MAX_OPTIONS];
    be_transform transform;
    double *coefficients;         /* with rescale: transform.gradient and transform.intercept point into it */
    uint64_t configured;          /* how often params have been set */
    be_agenda *agenda;            /* what the next episodes are, or NULL; the caller's */
    int tells_entries;            /* 1: `outer` has the entries of episodes that end */
    uint8_t *raw_observation;     /* with transform_observation: what kernels write */
    uint8_t *frames;              /* with frame_stack: each lane's frames, oldest first */
    double *episode_return;       /* with record_statistics: the return of the episode so far */
    double *episode_start;        /* seconds */
    int64_t *game_steps;          /* for types with goes_on(): the steps of the game's earlier episodes */
    void *stopped[BE_MAX_FIELDS]; /* with action_repeat: see repeat */
    be_rows stopped_rows;
    void *arena;
    size_t arena_bytes;
    be_placement *placement; /* or NULL */
    be_error *failures;      /* if lanes may fail: the last error of each */
    uint8_t *failed;         /* 1: the lane has failed, and this was not reported yet */
    uint8_t *lost;           /* 1: the lane has failed in this step, or its type has truncated it */
    int64_t any_failed;
    be_ahead *ahead;         /* BE_LANE_BY_LANE: what open() has set; or NULL */
    be_starting *starting;   /* the same: called for lanes that are about to be reset, before the first of them is */
    int64_t together, group; /* with `ahead`: how many lanes are best taken at once, and how many gain by that at all */
    _Atomic double lane_ns;  /* what a step of a lane took lately; noted with `ahead` and in rollouts; 0: not known */
    char *texts[BE_MAX_PARAMS]; /* of TEXT params; NULL for others */
    double *values;             /* what param_columns and constant_columns point into */
    size_t values_bytes;
    /* One padded block for the lanes after the last whole BE_LANE_BLOCK. */
    be_rows tail;
    uint8_t tail_skip[BE_LANE_BLOCK];
};

/* What a field of the state takes in each lane. */
static inline size_t be_field_bytes(const be_batch *batch, int field) {
    return be_dtype_size(batch->type->state[field].dtype) * (size_t)batch->field_size[field];
}

/* How many steps a lane's episode has taken; with action_repeat, a repeated action counts as one step. */
static inline int64_t be_decisions(const be_batch *batch, int64_t lane) {
    const int64_t repeat = batch->driver->transform.action_repeat;
    return repeat == 1 ? batch->elapsed[lane] : (batch->elapsed[lane] + repeat - 1) / repeat;
}

/* Whether an episode of `elapsed` steps has reached the time limit. */
static inline int be_is_at_limit(const struct be_driver *driver, int32_t elapsed) {
    return driver->max_episode_steps != INT32_MAX && elapsed >= driver->max_episode_steps;
}

#endif
