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

/* The same of a task that asks where the geom is, not the body. */
static __attribute__((unused)) void puck_geom_object(const be_batch *b, int64_t lane, double *row) {
    sawyer_quat(be_mujoco_read_of(b, lane, PUCK_FRAME), be_append(row, be_mujoco_read_of(b, lane, PUCK_GEOM), 3));
}

/* Begins an episode of a puck whose goal is as high as the puck has been so far. */
static __attribute__((unused)) int puck_begin_at_rest(be_batch *b, int64_t lane, const double *goal, double height,
                                                      be_error *error) {
    const double place[] = {goal[0], goal[1], height}, target[] = {goal[3], goal[4], height};
    sawyer_put(b, lane, SAWYER_OBJECT, place);
    sawyer_put(b, lane, SAWYER_TARGET, target);
    return sawyer_put_object(b, lane, place, error);
}

/* How the hand holds an object. */
typedef struct caging_grip {
    double around;      /* how well it is around the object */
    sawyer_number held; /* the same together with how firmly it closes: the package's reward with neither density */
} caging_grip;

/* beside: how well the pads are beside the object; over: how well the tip is over it; closed: how firmly the hand
 * closes. */
static inline caging_grip caging_grip_of(double beside, double over, sawyer_number closed) {
    const double around = sawyer_both_floats(beside, over);
    return (caging_grip){around, sawyer_both(sawyer_float(around), around > 0.97 ? closed : sawyer_float(0.0))};
}

static inline sawyer_number caging_mean(sawyer_number a, double b) {
    return sawyer_over(sawyer_plus(a, sawyer_float(b)), sawyer_float(2));
}

static inline sawyer_number caging_reward(caging_grip grip) { return caging_mean(grip.held, grip.around); }

/* min(max(0, effort), most) / most: how firmly the hand closes, of what is asked for at most. */
static __attribute__((unused)) sawyer_number caging_closed(float effort, float most) {
    if (effort <= 0) return sawyer_float(0);
    return effort > most ? sawyer_float(1) : (sawyer_number){(double)(effort / most), SAWYER_FLOAT32};
}

/* How well a pad is beside an object. */
static inline double caging_of_pad(double pad, double object, double began, double radius, double near) {
    return be_long_tail(fabs(pad - object), radius, near, fabs(fabs(pad - began) - near));
}

static inline double caging_distance_over(const be_batch *b, const double *from, const double *to) {
    const double way[] = {from[0] - to[0], from[2] - to[2]};
    return be_norm(way, 2, be_mujoco_of(b)->fused_dot);
}

/* What the package's rewards have in common. radius: the object's; near: how near the pads are to be; over: how near
 * the tip is to be, along x and z. */
static inline caging_grip caging_hold(const be_batch *b, int64_t lane, const double *object, sawyer_number closed,
                                      double radius, double near, double over) {
    const double *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double left =
        caging_of_pad(be_mujoco_read_of(b, lane, CAGING_LEFT_PAD)[1], object[1], began[1], radius, near);
    const double right =
        caging_of_pad(be_mujoco_read_of(b, lane, CAGING_RIGHT_PAD)[1], object[1], began[1], radius, near);
    const double margin = caging_distance_over(b, began, SAWYER_FIELD(b, SAWYER_TIP, lane)) - over;
    return caging_grip_of(sawyer_both_floats(left, right),
                          sawyer_near(caging_distance_over(b, tip, object), over, margin), closed);
}

/* The package's reward with high_density. */
static __attribute__((unused)) sawyer_number caging_judge(const be_batch *b, int64_t lane, const double *object,
                                                          float effort, double radius, double near, double over) {
    return caging_reward(caging_hold(b, lane, object, sawyer_closed(effort), radius, near, over));
}

/* The package's reward with medium_density, from the one with neither. reach: how near the tip is to come to the
 * object. */
static __attribute__((unused)) sawyer_number caging_judge_reach(const be_batch *b, int64_t lane, const double *object,
                                                                sawyer_number held, double reach) {
    const double *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double margin = fabs(sawyer_distance(b, began, SAWYER_FIELD(b, SAWYER_TIP, lane)) - reach);
    return caging_mean(held, sawyer_near(sawyer_distance(b, object, tip), reach, margin));
}

#endif
