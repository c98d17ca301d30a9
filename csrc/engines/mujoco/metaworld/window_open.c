/* Meta-World's window-open. */
#include "engines/mujoco/metaworld/window.h"

static const be_read reads[] = WINDOW_READS("handleOpenStart");

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    (void)error;
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_add(goal, 0.2, 0.0, 0.0, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    sawyer_put(b, lane, SAWYER_MARK, be_mujoco_read_of(b, lane, WINDOW_HANDLE));
    window_put(b, lane, 0.0);
    return BE_OK;
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    (void)seen, (void)effort;
    window_judge(b, lane, SAWYER_FIELD(b, SAWYER_OBJECT, lane)[0], 0, verdict);
}

static const sawyer_task task = {
    .hand = {0, 0.4f, 0.2f}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = window_object, .judge = judge};
SAWYER_TYPE(window_open, "WindowOpen", "window-open");
