/* Meta-World's window-close. */
#include "engines/mujoco/metaworld/window.h"

static const be_read reads[] = WINDOW_READS("handleCloseStart");

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    (void)error;
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_put(b, lane, SAWYER_TARGET, goal);
    sawyer_add(be_mujoco_read_of(b, lane, WINDOW_HANDLE), 0.2, 0.0, 0.0, SAWYER_FIELD(b, SAWYER_MARK, lane));
    window_put(b, lane, 0.2);
    return BE_OK;
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    (void)seen, (void)effort;
    window_judge(b, lane, SAWYER_FIELD(b, SAWYER_MARK, lane)[0], 1, verdict);
}

static const sawyer_task task = {
    .hand = {0, 0.4f, 0.2f}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = window_object, .judge = judge};
SAWYER_TYPE(window_close, "WindowClose", "window-close");
