/* Meta-World's box-close: the hand is to put a lid onto a box. */
#include "engines/mujoco/metaworld/turned.h"

enum { LID = SAWYER_READS, LID_QUAT };
static const be_read reads[] = {
    SAWYER_SHARED_READS, [LID] = {"xpos", "body", "top_link"}, [LID_QUAT] = {"xquat", "body", "top_link"}, {0}};

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    const double place[] = {goal[0], goal[1], 0.02f};
    sawyer_put(b, lane, SAWYER_OBJECT, place);
    sawyer_put(b, lane, SAWYER_TARGET, goal + 3);
    return sawyer_put_object(b, lane, place, error);
}

static void object(const be_batch *b, int64_t lane, double *row) {
    (void)be_append(be_append(row, be_mujoco_read_of(b, lane, LID), 3), be_mujoco_read_of(b, lane, LID_QUAT), 4);
}

/* How well the hand is placed at the lid's handle. On its way there it is to stay above a funnel. */
static double readiness(const be_batch *b, const double *hand, const double *lid) {
    const double way[] = {hand[0] - lid[0], hand[1] - lid[1]}, near = 0.02;
    const double radius = be_norm(way, 2, be_mujoco_of(b)->fused_dot);
    const double floor = radius <= near ? 0.0 : 0.04 * be_numpy_log(radius - near) + 0.4;
    const double above = hand[2] >= floor ? 1.0 : sawyer_near(floor - hand[2], 0.01, floor / 2.0);
    return sawyer_both_floats(above, sawyer_near(sawyer_distance(b, hand, lid), 0.02, 0.5));
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    static const double scale[] = {1.0, 1.0, 3.0};
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), grab = (double)((effort + 1.0f) / 2.0f);
    double lid[3];
    sawyer_add(seen + 4, 0.0, 0.0, 0.02, lid);
    const double ready = readiness(b, seen, lid);
    const double lifted =
        0.2 * (lid[2] > 0.04) + 0.8 * sawyer_near(sawyer_scaled_distance(b, target, lid, scale), 0.05, 0.25);
    const int done = sawyer_distance(b, seen + 4, target) < 0.08;
    const double reward = done ? 10.0 : 2.0 * sawyer_both_floats(grab, ready) + 8.0 * lifted;
    *verdict =
        (sawyer_verdict){done, ready, grab >= 0.5, grab, lifted, 0, reward * turned_like(b, seen, turned_aside, 0.2)};
}

static const sawyer_task task = {.hand = {0, 0.6f, 0.2f},
                                 SAWYER_USUAL_BOUNDS,
                                 .placed = 1,
                                 .place_at = 3,
                                 .place_by = {0, 0, -0.133},
                                 .waits = 1,
                                 .begin = begin,
                                 .object = object,
                                 .judge = judge};
SAWYER_TYPE(box_close, "BoxClose", "box-close");
