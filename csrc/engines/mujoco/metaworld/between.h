/* Rewards of Meta-World's hand for having an object between its pads, each on its own side. */
#ifndef BE_MUJOCO_SAWYER_BETWEEN_H
#define BE_MUJOCO_SAWYER_BETWEEN_H

#include "engines/mujoco/metaworld/caging.h"

#define BETWEEN_NEAR 0.05 /* how near the pads are to be, m */

/* How well a pad is beside the object, with `away` between their middles. */
static inline double between_beside(double away, double object, double pad, double radius, double near) {
    return be_long_tail(away, radius, near, fabs(fabs(object - pad) - BETWEEN_NEAR));
}

static inline double between_pads(const be_batch *b, int64_t lane, const double *object, double radius, double near) {
    const double left = be_mujoco_read_of(b, lane, CAGING_LEFT_PAD)[1];
    const double right = be_mujoco_read_of(b, lane, CAGING_RIGHT_PAD)[1], y = object[1];
    return sawyer_both_floats(between_beside(left - y, y, left, radius, near),
                              between_beside(y - right, y, right, radius, near));
}

/* How far apart two places are along x and z. The package's ways have three numbers, of which y is 0. */
static inline double between_distance_over(const be_batch *b, const double *from, const double *to) {
    const double way[] = {from[0] - to[0], 0, from[2] - to[2]};
    return be_norm(way, 3, be_mujoco_of(b)->fused_dot);
}

/* How well the tip is over the object: within `over`, along x and z. */
static inline double between_over(const be_batch *b, int64_t lane, const double *object, double over) {
    const double *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double margin = between_distance_over(b, began, SAWYER_FIELD(b, SAWYER_TIP, lane)) - over;
    return sawyer_near(between_distance_over(b, tip, object), over, margin);
}

/* The reward of tasks that only ask where the pads are: `grip` beyond the object's radius, they hold it. */
static __attribute__((unused)) double between_judge(const be_batch *b, int64_t lane, const double *object,
                                                    double radius, double grip, double over) {
    const double beside = between_pads(b, lane, object, radius, BETWEEN_NEAR);
    const double around = sawyer_both_floats(beside, between_over(b, lane, object, over));
    const double gripping = around > 0.95 ? between_pads(b, lane, object, radius, radius + grip) : 0.0;
    return (around + gripping) / 2;
}

#endif
