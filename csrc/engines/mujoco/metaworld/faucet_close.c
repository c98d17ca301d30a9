/* Meta-World's faucet-close. */
#include "engines/mujoco/metaworld/faucet.h"

static const be_read reads[] = FAUCET_READS("handleStartClose");

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    faucet_begin(b, lane, goal, -FAUCET_LENGTH);
    return be_mujoco_evaluate(b, lane, NULL, error);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    (void)effort;
    faucet_judge(b, lane, seen + 4, verdict);
}

static const sawyer_task task = {
    .hand = {0, 0.4, 0.2}, SAWYER_DEEP_BOUNDS, .placed = 1, .begin = begin, .object = faucet_object, .judge = judge};
SAWYER_TYPE(faucet_close, "FaucetClose", "faucet-close");
