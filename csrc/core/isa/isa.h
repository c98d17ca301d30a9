/* The files of this folder are compiled once per instruction set, as env kernels are. Functions that they call in each
 * other have the instruction set in their names. All other code calls them through be_isa. */
#ifndef BE_ISA_H
#define BE_ISA_H

#include "core/driver.h"
#include "core/load/types.h"

#define be_isa_step BE_ISA_NAME(be_isa_step)
#define be_isa_rollout BE_ISA_NAME(be_isa_rollout)
#define be_isa_check_actions BE_ISA_NAME(be_isa_check_actions)
#define be_isa_probe BE_ISA_NAME(be_isa_probe)

/* See be_isa for what each of these does. */
int64_t be_isa_step(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error);
int64_t be_isa_rollout(be_batch *batch, int64_t begin, int64_t end, int64_t first, int64_t steps, const be_rows *rows,
                       const be_random_policy *policy, be_error *error);
int be_isa_check_actions(const be_batch *batch, int port, const void *actions, be_dtype dtype, int64_t first_lane,
                         int64_t count, int clip, void *canonical, be_error *error);
void be_isa_probe(int64_t mismatches[5]);

/* How many lanes are stepped before their flags are looked at: so few that their rows stay in the L1 cache. */
#define BLOCK BE_LIST

#endif
