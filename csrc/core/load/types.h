/* The instruction sets and env types of this build. */
#ifndef BE_TYPES_H
#define BE_TYPES_H

#include "batchenv.h"

/* Random actions: the action of lane i in step t is a function of key, i and t alone. */
typedef struct be_random_policy {
    uint64_t key, first_step;
} be_random_policy;

/* What is compiled once per instruction set. */
typedef struct be_isa {
    const char *name;
    const be_library *types;

    /* Steps lanes begin..end-1, autoreset included; row 0 of `rows` belongs to lane rows->first. begin is a multiple of
     * BE_LANE_BLOCK, and so is end unless it is num_lanes; for BE_LANE_BY_LANE types they may be any numbers. Returns
     * how many lanes have finished in this step, or -1 with `error` filled. Ranges may run in parallel, each with its
     * own `error`. */
    int64_t (*step)(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error);

    /* Takes steps first..first+steps-1 of a rollout with lanes begin..end-1, a few lanes at a time so that their state
     * stays in the cache. Arrays have shape (all steps, num_lanes, ...). With a policy, actions are drawn and written;
     * without one, they are read. */
    int64_t (*rollout)(be_batch *batch, int64_t begin, int64_t end, int64_t first, int64_t steps, const be_rows *rows,
                       const be_random_policy *policy, be_error *error);

    /* Checks `count` values for an action port (rows flattened, the first belonging to lane `first_lane`) of dtype
     * `dtype`: BE_I64 or BE_I32 where the port's space has integers, BE_F32 or BE_F64 where it has floats. Unless
     * `canonical` is NULL, writes them there in the space's own dtype. `clip` lets finite values outside a Box of
     * floats pass. Returns BE_OK or fails. */
    int (*check_actions)(const be_batch *batch, int port, const void *actions, be_dtype dtype, int64_t first_lane,
                         int64_t count, int clip, void *canonical, be_error *error);

    /* For how many of a few thousand arguments this instruction set's sin, cos, square, float32 square and remainder
     * differ from the C library's. The set is used only if all five are 0. */
    void (*probe)(int64_t mismatches[5]);
} be_isa;

/* The instruction sets that were compiled in and that this CPU has, best first, NULL at the end. */
const be_isa *const *be_isa_supported(void);

/* The built-in types: those compiled for this instruction set, then those compiled once, in an order that is the same
 * for every instruction set. Both functions return NULL if there is no such type. */
const be_env_type *be_type_at(const be_isa *isa, int64_t index);
const be_env_type *be_type_named(const be_isa *isa, const char *name);

#endif
