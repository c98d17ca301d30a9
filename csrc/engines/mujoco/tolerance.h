/* dm_control.utils.rewards.tolerance: 1 within bounds, and less the farther outside of them, as a margin says.
 * Meta-World has a copy of it. Roundings are NumPy's. */
#ifndef BE_MUJOCO_TOLERANCE_H
#define BE_MUJOCO_TOLERANCE_H

#include <math.h>

#include "libm.h"
#include "numpy_loops.h"

/* How far x is outside of the bounds, in margins; inside, 0 or less. */
static inline double be_beyond(double x, double lower, double upper, double margin) {
    return (x < lower ? lower - x : x - upper) / margin;
}
#define BE_WITHIN(x, lower, upper) ((lower) <= (x) && (x) <= (upper))

/* With a margin of 0. */
static inline double be_within(double x, double lower, double upper) { return BE_WITHIN(x, lower, upper) ? 1.0 : 0.0; }

/* Of a number, whose square is NumPy's power, a gaussian that is 0.1 at the margin. scale: be_gaussian_scale(). */
static inline double be_gaussian_scale(void) { return sqrt(-2 * be_numpy_log(0.1)); }
static inline double be_gaussian(double x, double lower, double upper, double margin, double scale) {
    if (BE_WITHIN(x, lower, upper)) return 1.0;
    return be_numpy_exp(-0.5 * be_math.pow(be_beyond(x, lower, upper, margin) * scale, 2));
}

/* The same with a longer tail. */
static inline double be_long_tail(double x, double lower, double upper, double margin) {
    if (BE_WITHIN(x, lower, upper)) return 1.0;
    const double scaled = be_beyond(x, lower, upper, margin) * sqrt(1 / 0.1 - 1);
    return 1 / (be_math.pow(scaled, 2) + 1);
}

#endif
