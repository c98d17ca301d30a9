/* Meta-World's stick-pull: the hand is to pull a flask by its handle, with a stick. */
#include "engines/mujoco/metaworld/stick.h"

#define NEAR 0.05

/* The object is the flask. The mark is where the stick was. */
static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    const double stick[] = {goal[0], goal[1], 0.02};
    const double target[] = {goal[3], goal[4], 0.02};
    sawyer_put(b, lane, SAWYER_MARK, stick);
    sawyer_put(b, lane, SAWYER_TARGET, target);
    const int status = stick_put(b, lane, stick, 0.09, error);
    if (status == BE_OK) sawyer_put(b, lane, SAWYER_OBJECT, be_mujoco_read_of(b, lane, FLASK));
    return status;
}

static void object(const be_batch *b, int64_t lane, double *row) { stick_object(b, lane, 0.0, row); }

/* Whether the stick is in the handle. */
static int inserted(const double *handle, const double *end) {
    return end[0] >= handle[0] && fabs(end[1] - handle[1]) <= 0.040 && fabs(end[2] - handle[2]) <= 0.060;
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    static const double scale[] = {1.0, 1.0, 2.0};
    const double *target = SAWYER_FIELD(b, SAWYER_TARGET, lane), *began = SAWYER_FIELD(b, SAWYER_OBJECT, lane);
    const double *lay = SAWYER_FIELD(b, SAWYER_MARK, lane), *stick = seen + 4, *handle = seen + 11;
    double tip[3], flask[3], stood[3];
    sawyer_tip(b, lane, tip);
    sawyer_add(handle, 0.05, 0.0, 0.0, flask);
    sawyer_add(began, 0.05, 0.0, 0.0, stood);
    const double away = sawyer_distance(b, stick, tip), left = sawyer_distance(b, handle, target);
    const double at_flask =
        sawyer_near(sawyer_scaled_distance(b, stick, flask, scale), NEAR, sawyer_scaled_distance(b, lay, stood, scale));
    const double at_goal = sawyer_near(sawyer_distance(b, stick, target), NEAR, sawyer_distance(b, lay, target));
    const double in_place = sawyer_near(sawyer_distance(b, flask, target), NEAR, sawyer_distance(b, began, target));
    const int opened = seen[3] > 0, held = away < 0.02 && opened && stick[2] - 0.01 > lay[2];
    const int in_handle = inserted(handle, be_mujoco_read_of(b, lane, STICK_END));
    const sawyer_number grasp = held ? sawyer_float(1) : caging_judge(b, lane, stick, effort, 0.014, 0.05, 0.01);
    const double both = sawyer_both(grasp, sawyer_float(at_flask)).value;
    double reward = both;
    if (held) reward = 1.0 + both + 5.0 * at_flask;
    if (held && in_handle) reward = left <= 0.12 ? 10.0 : 1.0 + both + 5.0 + 2.0 * at_goal + 1.0 * in_place;
    *verdict = (sawyer_verdict){left <= 0.12 && in_handle,
                                away <= 0.03,
                                opened && stick[2] - 0.02 > began[2],
                                grasp.value,
                                at_flask,
                                left,
                                reward};
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 .low = {-0.5, 0.35, 0.05},
                                 .high = {0.5, 1, 0.5},
                                 .squeezed = STICK_GEOM,
                                 .begin = begin,
                                 .object = object,
                                 .judge = judge};
SAWYER_TYPE(stick_pull, "StickPull", "stick-pull");
