/* Meta-World's soccer: the hand is to push a ball into a goal. */
#include "engines/mujoco/metaworld/between.h"

enum { BALL = CAGING_READS, BALL_FRAME, BALL_GEOM, BALL_RIGHT, BALL_LEFT };
static const be_read reads[] = {CAGING_SHARED_READS,
                                [BALL] = {"xpos", "body", "soccer_ball"},
                                [BALL_FRAME] = {"xmat", "body", "soccer_ball"},
                                [BALL_GEOM] = {"geom_xpos", "geom", "objGeom"},
                                [BALL_RIGHT] = {"geom_xpos", "geom", "rightpad_geom"},
                                [BALL_LEFT] = {"geom_xpos", "geom", "leftpad_geom"},
                                {0}};
#define NEAR 0.07

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    const double place[] = {goal[0], goal[1], 0.03};
    sawyer_put(b, lane, SAWYER_OBJECT, place);
    sawyer_put(b, lane, SAWYER_TARGET, goal + 3);
    return sawyer_put_object(b, lane, place, error);
}

static void object(const be_batch *b, int64_t lane, double *row) {
    sawyer_quat(be_mujoco_read_of(b, lane, BALL_FRAME), be_append(row, be_mujoco_read_of(b, lane, BALL), 3));
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    static const double scale[] = {3.0, 1.0, 1.0};
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *ball = seen + 4, line = target[1] - 0.1;
    double tip[3];
    (void)effort;
    sawyer_tip(b, lane, tip);
    const double away = sawyer_distance(b, ball, tip), left = sawyer_distance(b, ball, target);
    const double scaled = sawyer_scaled_distance(b, ball, target, scale);
    double in_place = sawyer_near(scaled, NEAR, sawyer_scaled_distance(b, ball, began, scale));
    if (ball[1] > line && fabs(ball[0] - target[0]) > 0.10) /* past the goal's line, but beside the goal */
        in_place = be_clip_one(in_place - 2 * ((ball[1] - line) / (1 - line)), 0.0, 1.0);
    const double grasp = between_judge(b, lane, ball, 0.013, 0.01, 0.005);
    *verdict = (sawyer_verdict){left <= 0.07, away <= 0.03, seen[3] > 0 && ball[2] - 0.02 > began[2],         grasp,
                                in_place,     left,         scaled < NEAR ? 10.0 : 3 * grasp + 6.5 * in_place};
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .placed = 1,
                                 .place_at = 3,
                                 .squeezed = BALL_GEOM,
                                 .begin = begin,
                                 .object = object,
                                 .judge = judge};
SAWYER_TYPE(soccer, "Soccer", "soccer");
