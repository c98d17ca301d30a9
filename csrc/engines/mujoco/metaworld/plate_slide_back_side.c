/* Meta-World's plate-slide-back-side: the hand is to pull a plate out of a cabinet, sideways. */
#include "engines/mujoco/metaworld/plate.h"

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    return plate_begin(b, lane, goal, -0.15, 0.0, error);
}

static const sawyer_task task = {PLATE_USUAL, .placed = 1, .judge = plate_judge_from_above};
SAWYER_TYPE(plate_slide_back_side, "PlateSlideBackSide", "plate-slide-back-side");
