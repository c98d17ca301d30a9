/* Random outcomes as Gymnasium's toy-text envs draw them: one random() each, compared with the running sums of the
 * probabilities in their order, added up in double. The first sum above it wins; where rounding has left none above it,
 * the first outcome does. */
#ifndef BE_CATEGORICAL_H
#define BE_CATEGORICAL_H

/* Which of three outcomes, none of negative probability, the draw `u` stands for. */
static inline int be_pick3(double u, double p0, double p1, double p2) {
    double sum1 = p0 + p1, sum2 = sum1 + p2;
    int pick = (p0 <= u) + (sum1 <= u) + (sum2 <= u);
    return pick == 3 ? 0 : pick;
}

#endif
