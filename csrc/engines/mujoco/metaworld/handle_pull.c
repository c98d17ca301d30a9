/* Meta-World's handle-pull. */
#include "engines/mujoco/metaworld/handle_pull.h"

static const be_read reads[] = HANDLE_READS("handleRight", "goalPull");

/* What the package takes for the handle's height is how far it is along y. */
static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *handle = seen + 4, target = SAWYER_FIELD(b, SAWYER_TARGET, lane)[2];
    const double low = SAWYER_FIELD(b, SAWYER_OBJECT, lane)[2];
    handle_judge(b, lane, seen, fabs(target - handle[2]), fabs(target - low), HANDLE_NEAR, handle[1], low,
                 caging_judge(b, lane, handle, effort, 0.022, 0.05, 0.01), verdict);
}

static const sawyer_task task = {
    .hand = {0, 0.6, 0.2}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = handle_object, .judge = judge};
SAWYER_TYPE(handle_pull, "HandlePull", "handle-pull");
