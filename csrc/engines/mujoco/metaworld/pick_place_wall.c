/* Meta-World's pick-place-wall: the hand is to lift a puck over a wall, to a place in the air. */
#include "engines/mujoco/metaworld/past_wall.h"

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    sawyer_put(b, lane, SAWYER_TARGET, goal + 3);
    return sawyer_put_object(b, lane, goal, error);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    static const double scale[] = {1.0, 1.0, 3.0};
    const double *puck = seen + 4, above[] = {SAWYER_FIELD(b, SAWYER_TARGET, lane)[0], 0.77, 0.25};
    double tip[3];
    sawyer_tip(b, lane, tip);
    const double away = sawyer_distance(b, puck, tip);
    const past_wall_ways ways = past_wall_measure(b, lane, puck, above, scale);
    const sawyer_number grasp = caging_hold(b, lane, puck, sawyer_closed(effort), 0.015, 0.05, 0.005).held;
    sawyer_number reward = sawyer_both(grasp, sawyer_float(ways.there));
    if (away < 0.02 && seen[3] > 0 && puck[2] - 0.015 > SAWYER_FIELD(b, SAWYER_OBJECT, lane)[2])
        reward = past_wall_reward(reward, ways, puck);
    past_wall_tell(b, lane, seen, away, grasp, ways, reward, verdict);
}

static const sawyer_task task = {.hand = {0, 0.6, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .squeezed = PUCK_GEOM,
                                 .begin = begin,
                                 .object = puck_geom_object,
                                 .judge = judge};
SAWYER_TYPE(pick_place_wall, "PickPlaceWall", "pick-place-wall");
