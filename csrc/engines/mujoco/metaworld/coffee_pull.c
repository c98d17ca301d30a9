/* Meta-World's coffee-pull: the hand is to pull a mug away from a coffee machine. */
#include "engines/mujoco/metaworld/coffee.h"

static const sawyer_task task = {.hand = {0, 0.4, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .placed = 1,
                                 .place_at = 0,
                                 .place_by = {0, 0.22, 0},
                                 .squeezed = MUG_GEOM,
                                 .begin = coffee_begin,
                                 .object = coffee_object,
                                 .judge = coffee_judge};
SAWYER_TYPE(coffee_pull, "CoffeePull", "coffee-pull");
