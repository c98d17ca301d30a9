/* DM Control's humanoid whose joints are those of the CMU's motion capture. */
#define HUMANOID_STEPS 10
#define HUMANOID_TRUNK "thorax"
#define HUMANOID_LIMBS(array)                                                                                          \
    {array, "body", "lhand"}, {array, "body", "lfoot"}, {array, "body", "rhand"}, {array, "body", "rfoot"}
#define HUMANOID_UP 7
#include "humanoid.h"

DM_TYPES(humanoid_cmu, "HumanoidCmu", 50, task, ports,
         ((const be_id[]){DM_ID("humanoid_CMU-stand", "HumanoidCMUStand", {"move_speed", 0}),
                          DM_ID("humanoid_CMU-walk", "HumanoidCMUWalk", {"move_speed", 1}),
                          DM_ID("humanoid_CMU-run", "HumanoidCMURun", {"move_speed", 10}),
                          {0}}));
