/* DM Control's humanoid. */
#define HUMANOID_STEPS 5
#define HUMANOID_TRUNK "torso"
#define HUMANOID_LIMBS(array)                                                                                          \
    {array, "body", "left_hand"}, {array, "body", "left_foot"}, {array, "body", "right_hand"},                         \
        {array, "body", "right_foot"}
#define HUMANOID_UP 8
#include "humanoid.h"

DM_TYPES(humanoid, "Humanoid", 40, task, ports,
         ((const be_id[]){DM_ID("humanoid-stand", "HumanoidStand", {"move_speed", 0}),
                          DM_ID("humanoid-walk", "HumanoidWalk", {"move_speed", 1}),
                          DM_ID("humanoid-run", "HumanoidRun", {"move_speed", 10}),
                          {0}}));

static const dm_task pure_task = {2, dm_state_sizes, dm_start_anywhere_clear, dm_write_state, reward};
DM_TYPES(humanoid_pure, "HumanoidPureState", 40, pure_task, dm_state_ports,
         ((const be_id[]){DM_ID("humanoid-run_pure_state", "HumanoidRunPureState", {"move_speed", 10}), {0}}));
