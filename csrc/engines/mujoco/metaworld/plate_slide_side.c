/* Meta-World's plate-slide-side: the hand is to push a plate into a cabinet, sideways. */
#include "engines/mujoco/metaworld/plate.h"

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return plate_begin(b, lane, goal, 0, 0, error);
}

static const sawyer_task task = {PLATE_USUAL, .judge = plate_judge_from_above};
SAWYER_TYPE(plate_slide_side, "PlateSlideSide", "plate-slide-side");
