/* Meta-World's hammer: the hand is to drive a nail into a block. */
#include "engines/mujoco/metaworld/tool.h"

enum { HAMMER = CAGING_READS, HAMMER_QUAT, NAIL, NAIL_QUAT, GOAL, SLIDE };
static const be_read reads[] = {CAGING_SHARED_READS,
                                [HAMMER] = {"xpos", "body", "hammer"},
                                [HAMMER_QUAT] = {"xquat", "body", "hammer"},
                                [NAIL] = {"xpos", "body", "nail_link"},
                                [NAIL_QUAT] = {"xquat", "body", "nail_link"},
                                [GOAL] = {"site_xpos", "site", "goal"},
                                [SLIDE] = {"qpos", "joint", "NailSlideJoint"},
                                {0}};

static int begin(be_batch *b, int64_t lane, const double *goal, be_error *error) {
    sawyer_put(b, lane, SAWYER_TARGET, be_mujoco_read_of(b, lane, GOAL));
    sawyer_put(b, lane, SAWYER_OBJECT, goal);
    return sawyer_put_object(b, lane, goal, error);
}

static void object(const be_batch *b, int64_t lane, double *row) {
    row = be_append(be_append(row, be_mujoco_read_of(b, lane, HAMMER), 3), be_mujoco_read_of(b, lane, HAMMER_QUAT), 4);
    (void)be_append(be_append(row, be_mujoco_read_of(b, lane, NAIL), 3), be_mujoco_read_of(b, lane, NAIL_QUAT), 4);
}

static void judge(const be_batch *b, int64_t lane, const double *seen, float effort, sawyer_verdict *verdict) {
    static const double upright[] = {1.0, 0.0, 0.0, 0.0};
    double handle[3], head[3];
    tool_handle(seen, 0.14 / 2.0, handle);
    sawyer_add(seen + 4, 0.16, 0.06, 0.0, head);
    const double turned = turned_like(b, seen, upright, 0.4);
    const sawyer_number grasp = caging_reward(tool_hold(b, lane, handle, effort));
    const double left = sawyer_distance(b, SAWYER_FIELD(b, SAWYER_TARGET, lane), head);
    const double in_place = 0.1 * (head[2] > 0.02) + 0.9 * sawyer_near(left, 0.02, 0.2);
    const double reward = tool_reward(grasp, in_place, turned).value;
    const int done = be_mujoco_read_of(b, lane, SLIDE)[0] > 0.09;
    tool_tell(grasp, in_place, turned, done, done && reward > 5.0 ? 10.0 : reward, verdict);
}

static const sawyer_task task = {
    .hand = {0, 0.4, 0.2}, SAWYER_USUAL_BOUNDS, .begin = begin, .object = object, .judge = judge};
SAWYER_TYPE(hammer, "Hammer", "hammer");
