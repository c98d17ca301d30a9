/* Meta-World's handle-pull-side, where the handle is beside the arm. */
#include "engines/mujoco/metaworld/handle_pull.h"

static const be_read reads[] = HANDLE_READS("handleCenter", "goalPull");

static int begin_at_handle(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    const int status = begin(b, lane, goal, error);
    sawyer_put(b, lane, SAWYER_OBJECT, SAWYER_FIELD(b, SAWYER_MARK, lane));
    return status;
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *handle = seen + 4;
    handle_judge(b, lane, seen, sawyer_distance(b, handle, target), sawyer_distance(b, began, target), 0.08, handle[2],
                 began[2], caging_judge(b, lane, handle, effort, 0.032, 0.06, 0.01), verdict);
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .placed = 1,
                                 .begin = begin_at_handle,
                                 .object = handle_object,
                                 .judge = judge};
SAWYER_TYPE(handle_pull_side, "HandlePullSide", "handle-pull-side");
