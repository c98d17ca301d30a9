/* Random outcomes as Gymnasium's toy-text envs draw them: one random() each is compared with the running sums of the
 * probabilities, added up in their order in double. The outcome whose sum is the first one above the draw wins; if
 * rounding has left no sum above it, the first outcome wins. */
#ifndef BE_CATEGORICAL_H
#define BE_CATEGORICAL_H

/* Which of three outcomes the draw `u` stands for. No probability may be negative. */
static inline int be_pick3(double u, double p0, double p1, double p2) {
    double sum1 = p0 + p1, sum2 = sum1 + p2;
    int pick = (p0 <= u) + (sum1 <= u) + (sum2 <= u);
    return pick == 3 ? 0 : pick;
}

#endif
