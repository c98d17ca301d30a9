/* Meta-World's plate-slide-back: the hand is to pull a plate out of a cabinet, towards the arm. */
#include "engines/mujoco/metaworld/plate.h"

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return plate_begin(b, lane, goal, 0, 0.15, error);
}

static const sawyer_task task = {PLATE_USUAL, .judge = plate_judge_from_above};
SAWYER_TYPE(plate_slide_back, "PlateSlideBack", "plate-slide-back");
