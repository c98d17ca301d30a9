/* Meta-World's plate-slide: the hand is to push a plate into a cabinet, away from the arm. */
#include "engines/mujoco/metaworld/plate.h"

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return plate_begin(b, lane, goal, 0, 0, error);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    double tip[3];
    (void)effort;
    sawyer_tip(b, lane, tip);
    (void)plate_judge(b, lane, seen + 4, tip, 0, verdict);
    verdict->reward = 8 * sawyer_both_floats(verdict->grasp, verdict->in_place);
    if (verdict->to_target < PLATE_NEAR) verdict->reward = 10.0;
}

static const sawyer_task task = {PLATE_USUAL, .placed = 1, .place_at = 3, .judge = judge};
SAWYER_TYPE(plate_slide, "PlateSlide", "plate-slide");
