/* Meta-World's basketball: the hand is to lift a ball to a hoop. */
#include "engines/mujoco/metaworld/caged.h"

enum { HOOP = CAGED_READS };
static const be_read reads[] = {CAGED_SHARED_READS("bsktball"), [HOOP] = {"site_xpos", "site", "goal"}, {0}};
#define NEAR 0.08

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    const double place[] = {goal[0], goal[1], 0.03f};
    sawyer_put(b, lane, SAWYER_OBJECT, place);
    const int status = sawyer_put_object(b, lane, place, error);
    if (status == BE_OK) sawyer_put(b, lane, SAWYER_TARGET, be_mujoco_read_of(b, lane, HOOP));
    return status;
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    static const double scale[] = {1.0, 1.0, 2.0};
    const double *hoop = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *ball = seen + 4, target[] = {hoop[0], hoop[1], 0.3};
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double left = sawyer_scaled_distance(b, ball, target, scale), away = sawyer_distance(b, ball, tip);
    const double in_place = sawyer_near(left, NEAR, sawyer_scaled_distance(b, began, target, scale));
    const int opened = seen[3] > 0, lifted = away < 0.035 && opened && ball[2] - 0.01 > began[2];
    const sawyer_number grasp = lifted ? sawyer_float(1.0) : caging_judge(b, lane, ball, effort, 0.025, 0.06, 0.005);
    sawyer_number reward = sawyer_both(grasp, sawyer_float(in_place));
    if (lifted) reward = sawyer_plus(reward, sawyer_float(1.0 + 5.0 * in_place));
    if (left < NEAR) reward = sawyer_float(10.0);
    *verdict = (sawyer_verdict){left <= NEAR, away <= 0.05, opened && ball[2] - 0.03 > began[2], grasp.value, in_place,
                                left,         reward.value};
}

static const sawyer_task task = {.hand = {0, 0.6f, 0.2f},
                                 SAWYER_USUAL_BOUNDS,
                                 .placed = 1,
                                 .place_at = 3,
                                 .begin = begin,
                                 .object = caged_object,
                                 .judge = judge};
SAWYER_TYPE(basketball, "Basketball", "basketball");
