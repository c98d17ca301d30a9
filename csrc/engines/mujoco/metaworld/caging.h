/* Rewards of Meta-World's hand for holding an object. */
#ifndef BE_MUJOCO_SAWYER_CAGING_H
#define BE_MUJOCO_SAWYER_CAGING_H

#include "engines/mujoco/metaworld/sawyer.h"

/* The first rows of a task's own reads. */
enum { CAGING_RIGHT_PAD = SAWYER_READS, CAGING_LEFT_PAD, CAGING_READS };
#define CAGING_SHARED_READS                                                                                            \
    SAWYER_SHARED_READS, [CAGING_RIGHT_PAD] = {"xpos", "body", "rightpad"},                                            \
                         [CAGING_LEFT_PAD] = {"xpos", "body", "leftpad"}

/* The rows of a cylinder that is moved: where its body is, and what sawyer_task.squeezed names. */
enum { PUCK = CAGING_READS, PUCK_FRAME, PUCK_GEOM, PUCK_RIGHT, PUCK_LEFT };
#define PUCK_READS                                                                                                     \
    {CAGING_SHARED_READS,                                                                                              \
     [PUCK] = {"xpos", "body", "obj"},                                                                                 \
     [PUCK_FRAME] = {"geom_xmat", "geom", "objGeom"},                                                                  \
     [PUCK_GEOM] = {"geom_xpos", "geom", "objGeom"},                                                                   \
     [PUCK_RIGHT] = {"geom_xpos", "geom", "rightpad_geom"},                                                            \
     [PUCK_LEFT] = {"geom_xpos", "geom", "leftpad_geom"},                                                              \
     {0}}
static __attribute__((unused)) void puck_object(const be_batch *b, int64_t lane, double *row) {
    sawyer_quat(be_mujoco_read_of(b, lane, PUCK_FRAME), be_append(row, be_mujoco_read_of(b, lane, PUCK), 3));
}

/* The reward, from how well the pads are beside the object, how well the tip is over it, and how firmly the hand
 * closes. */
static inline sawyer_number caging_reward(double beside, double over, sawyer_number closed) {
    const double caging = sawyer_both_floats(beside, over);
    const sawyer_number gripping = caging > 0.97 ? closed : sawyer_float(0.0);
    const sawyer_number both = sawyer_both(sawyer_float(caging), gripping);
    return sawyer_over(sawyer_plus(both, sawyer_float(caging)), sawyer_float(2));
}

/* How well a pad is beside an object. */
static inline double caging_of_pad(double pad, double object, double began, double radius, double near) {
    return be_long_tail(fabs(pad - object), radius, near, fabs(fabs(pad - began) - near));
}

static inline double caging_distance_over(const be_batch *b, const double *from, const double *to) {
    const double way[] = {from[0] - to[0], from[2] - to[2]};
    return be_norm(way, 2, be_mujoco_of(b)->fused_dot);
}

/* The package's reward with high_density. radius: the object's; near: how near the pads are to be; over: how near the
 * tip is to be, along x and z. */
static inline sawyer_number caging_judge(const be_batch *b, int64_t lane, const double *object, float effort,
                                         double radius, double near, double over) {
    const double *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double left =
        caging_of_pad(be_mujoco_read_of(b, lane, CAGING_LEFT_PAD)[1], object[1], began[1], radius, near);
    const double right =
        caging_of_pad(be_mujoco_read_of(b, lane, CAGING_RIGHT_PAD)[1], object[1], began[1], radius, near);
    const double margin = caging_distance_over(b, began, SAWYER_FIELD(b, SAWYER_TIP, lane)) - over;
    return caging_reward(sawyer_both_floats(left, right),
                         sawyer_near(caging_distance_over(b, tip, object), over, margin), sawyer_closed(effort));
}

#endif
