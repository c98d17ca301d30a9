/* Meta-World's faucet-open. */
#include "engines/mujoco/metaworld/faucet.h"

static const be_read reads[] = FAUCET_READS("handleStartOpen");

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    (void)error;
    faucet_begin(b, lane, goal, FAUCET_LENGTH);
    return BE_OK;
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    double handle[3];
    (void)effort;
    sawyer_add(seen + 4, -0.04, 0.0, 0.03, handle);
    faucet_judge(b, lane, handle, verdict);
}

static const sawyer_task task = {
    .hand = {0, 0.4, 0.2}, SAWYER_DEEP_BOUNDS, .placed = 1, .begin = begin, .object = faucet_object, .judge = judge};
SAWYER_TYPE(faucet_open, "FaucetOpen", "faucet-open");
