/* Meta-World's dial-turn: the hand is to turn a dial. */
#include "engines/mujoco/metaworld/sawyer.h"

enum { DIAL = SAWYER_READS, QUAT, KNOB };
static const be_read reads[] = {SAWYER_SHARED_READS,
                                [DIAL] = {"xpos", "body", "dial"},
                                [QUAT] = {"xquat", "body", "dial"},
                                [KNOB] = {"qpos", "joint", "knob_Joint_1"},
                                {0}};
#define NEAR 0.07

/* Where the dial's hand ends. */
static void end(const be_batch *b, int64_t lane, double *place) {
    const double angle = be_mujoco_read_of(b, lane, KNOB)[0], length = 0.05;
    sawyer_add(be_mujoco_read_of(b, lane, DIAL), be_numpy_sin(angle) * length, -be_numpy_cos(angle) * length, 0, place);
}

/* From where it is pushed. */
static void beside(const double *place, double *row) { sawyer_add(place, 0.05, 0.02, 0.09, row); }

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    double place[3];
    (void)error;
    end(b, lane, place);
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_add(goal, 0, 0.03, 0.03, SAWYER_FIELD(b, SAWYER_TARGET, lane));
    beside(place, SAWYER_FIELD(b, SAWYER_MARK, lane));
    return BE_OK;
}

static void object(const be_batch *b, int64_t lane, double *row) {
    end(b, lane, row);
    (void)be_append(row + 3, be_mujoco_read_of(b, lane, QUAT), 4);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_MARK, lane);
    const double radius = 0.005;
    double place[3], push[3], tip[3];
    (void)seen;
    end(b, lane, place);
    beside(place, push);
    sawyer_tip(b, lane, tip);
    const double left = sawyer_distance(b, place, target);
    const double in_place = sawyer_near(left, NEAR, fabs(sawyer_distance(b, began, target) - NEAR));
    const double away = sawyer_distance(b, push, tip);
    const double margin = fabs(sawyer_distance(b, began, SAWYER_FIELD(b, SAWYER_TIP, lane)) - radius);
    const double near = be_gaussian(away, 0, radius, margin, be_constant_of(b, SAWYER_SCALE, 0));
    const sawyer_number reach = sawyer_both(sawyer_float(near), sawyer_closed(effort));
    const sawyer_number reward = sawyer_times(sawyer_float(10), sawyer_both(reach, sawyer_float(in_place)));
    *verdict = (sawyer_verdict){left <= NEAR, away <= 0.01, 1, reach.value, in_place, left, reward.value};
}

static const sawyer_task task = {
    .hand = {0, 0.6f, 0.2f}, SAWYER_USUAL_BOUNDS, .placed = 1, .begin = begin, .object = object, .judge = judge};
SAWYER_TYPE(dial_turn, "DialTurn", "dial-turn");
